//! What the CUDA implementations share: a call with its workspaces, infos, and how infos become a verdict.

use super::super::verdict::First;
use super::functions::cusolverDnHandle_t;
use super::handle::{Cusolver, Functions};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::engines::cuda::Queue;
use crate::engines::library::{Called, Code};
use crate::libraries::flags::Uplo;
use crate::libraries::solver::native::kernels;
use std::ffi::c_void;

/// `cudaDataType` of an element type.
pub(in crate::libraries::solver) const fn code<T: crate::libraries::blas::VectorElement>() -> u32 {
    T::CODES.element
}

/// The workspaces of one call.
#[derive(Clone, Copy)]
pub(in crate::libraries::solver) struct Room {
    pub(in crate::libraries::solver) device: *mut c_void,
    pub(in crate::libraries::solver) device_bytes: usize,
    pub(in crate::libraries::solver) host: *mut c_void,
    pub(in crate::libraries::solver) host_bytes: usize,
}

/// Sizes for the older routines; the checks have ensured that they fit.
pub(in crate::libraries::solver) fn i32s<const N: usize>(sizes: [usize; N]) -> [i32; N] {
    sizes.map(|size| i32::try_from(size).unwrap_or(i32::MAX))
}

/// A routine of the 64-bit form: the arguments between the handle and the workspaces are the same in the query for the
/// sizes of the workspaces and in the call. The size of a batch comes after the info.
macro_rules! sized {
    ($queue:expr, $size:ident, $call:ident, $name:literal, ($($arg:expr),* $(,)?), $info:expr $(, $count:expr)?) => {
        crate::libraries::solver::native::calls::call_sized(
            $queue,
            $name,
            // SAFETY: see the head of `dense.rs`.
            |api, h, device, host| unsafe { api.regular.$size(h, $($arg,)* device, host $(, $count)?).into() },
            // SAFETY: see the head of `dense.rs`.
            |api, h, room| unsafe {
                let info = $info as *mut i32;
                let (device, host) = ((room.device, room.device_bytes), (room.host, room.host_bytes));
                api.regular.$call(h, $($arg,)* device.0, device.1, host.0, host.1, info $(, $count)?).into()
            },
        )
    };
}
pub(super) use sized;

/// A routine by letter: query and call have the same arguments and count the workspace in elements. `$last` ends both
/// lists.
macro_rules! lettered {
    ($queue:expr, $T:ty, $size:ident, $call:ident, ($($arg:expr),* $(,)?), $info:expr $(, $last:expr)*) => {
        crate::libraries::solver::native::calls::call_lettered::<$T>(
            $queue,
            // SAFETY: see the head of `dense.rs`.
            |api, h, len| unsafe { api.typed.$size(<$T>::LETTER, h, $($arg,)* len $(, $last)*) },
            // SAFETY: see the head of `dense.rs`.
            |api, h, room, len| unsafe {
                api.typed.$call(<$T>::LETTER, h, $($arg,)* room, len, $info as *mut i32 $(, $last)*)
            },
        )
    };
}
pub(super) use lettered;

/// An address that is read or written.
pub(super) fn pointer(at: u64) -> *mut c_void {
    at as *mut c_void
}

impl Uplo {
    /// `cublasFillMode_t`.
    pub(in crate::libraries::solver) fn fill_mode(self) -> u32 {
        match self {
            Uplo::Lower => 0,
            Uplo::Upper => 1,
        }
    }
}

/// The functions and the slot's handle, for calls that enqueue nothing.
fn solver(queue: &mut Queue<'_>) -> Result<(&'static Functions, cusolverDnHandle_t)> {
    let (api, handle) = queue.consult::<Cusolver>()?;
    Ok((api, handle.raw.0))
}

fn answered(queue: &Queue<'_>, name: &'static str, code: Option<Code>) -> Result<()> {
    match code {
        Some(code) => queue.status::<Cusolver>(name, code),
        None => Err(Error::unsupported(format!("the cuSOLVER of this machine has no function {name}"))),
    }
}

/// A routine of the 64-bit form: queries the sizes of its workspaces, then calls it.
pub(in crate::libraries::solver) fn call_sized(
    queue: &mut Queue<'_>,
    name: &'static str,
    sizes: impl FnOnce(&Functions, cusolverDnHandle_t, &mut usize, &mut usize) -> Option<Code>,
    call: impl FnOnce(&Functions, cusolverDnHandle_t, Room) -> Option<Code>,
) -> Result<()> {
    call_sized_if_cleared(queue, name, |_| false, sizes, call)
}

/// The same for a routine of which some releases read their workspace before they write it.
pub(in crate::libraries::solver) fn call_sized_if_cleared(
    queue: &mut Queue<'_>,
    name: &'static str,
    clears: impl FnOnce(&Functions) -> bool,
    sizes: impl FnOnce(&Functions, cusolverDnHandle_t, &mut usize, &mut usize) -> Option<Code>,
    call: impl FnOnce(&Functions, cusolverDnHandle_t, Room) -> Option<Code>,
) -> Result<()> {
    let (api, handle) = solver(queue)?;
    let (mut device_bytes, mut host_bytes) = (0, 0);
    let asked = sizes(api, handle, &mut device_bytes, &mut host_bytes);
    answered(queue, name, asked)?;
    // The library may require an address even if it asks for no bytes.
    let device = queue.workspace(device_bytes.max(1))? as *mut c_void;
    let host = queue.keep_host(host_bytes.max(16));
    if clears(api) {
        // SAFETY: the workspace that was just taken, which has as many bytes.
        unsafe { queue.fill(device as u64, device_bytes, &[0]) }?;
    }
    queue.touch();
    let code = call(api, handle, Room { device, device_bytes, host, host_bytes });
    answered(queue, name, code)
}

/// A routine by letter: queries how many elements of workspace it needs, then calls it with their address and
/// number.
pub(in crate::libraries::solver) fn call_lettered<T: Element>(
    queue: &mut Queue<'_>,
    size: impl FnOnce(&Functions, cusolverDnHandle_t, &mut i32) -> Called,
    call: impl FnOnce(&Functions, cusolverDnHandle_t, *mut c_void, i32) -> Called,
) -> Result<()> {
    let (api, handle) = solver(queue)?;
    let mut len = 0;
    let asked = size(api, handle, &mut len);
    answered(queue, asked.name, asked.code)?;
    let Ok(elements) = usize::try_from(len) else {
        return Err(Error::unsupported(format!("{}: its workspace overflows 32-bit integers", asked.name)));
    };
    let room = queue.workspace(elements.saturating_mul(size_of::<T>()).max(1))? as *mut c_void;
    queue.touch();
    let called = call(api, handle, room, len);
    answered(queue, called.name, called.code)
}

/// A routine without workspace.
pub(in crate::libraries::solver) fn plain(
    queue: &mut Queue<'_>,
    name: &'static str,
    call: impl FnOnce(&Functions, cusolverDnHandle_t) -> Code,
) -> Result<()> {
    let (api, handle) = solver(queue)?;
    queue.touch();
    let code = call(api, handle);
    queue.status::<Cusolver>(name, code)
}

/// Sets the infos to zero, for matrices without elements.
pub(in crate::libraries::solver) fn no_infos(queue: &mut Queue<'_>, info: u64, count: usize) -> Result<()> {
    // SAFETY: an operand of at least `count` numbers (checked), or scratch of as many.
    unsafe { queue.fill(info, count, &[0; 4]) }
}

/// Writes the first of `count` infos that is not zero to the result, or to its first eight bytes.
pub(in crate::libraries::solver) fn verdict(queue: &mut Queue<'_>, info: u64, count: usize) -> Result<()> {
    queue.zero_result()?;
    let result = queue.result()?;
    match count {
        0 => Ok(()),
        // The lower half of a `First` is the info, and the number of the matrix is zero.
        // SAFETY: one info, and a result that holds a `First`.
        1 => unsafe { queue.copy(result, info, 4) },
        _ => kernels::first_info(queue, info, count, result),
    }
}

const _: () = assert!(cfg!(target_endian = "little") && size_of::<First>() == 8);
