//! The cuSPARSE handle of a slot: the first one of a process takes 9 ms; it uses no device memory.

use super::functions::{CusparseFunctions, CusparseTyped, RawHandle};
use super::kept::{self, Kept};
use super::status;
use crate::core::buffer::Span;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::engines::cuda::{Native, Queue};
use crate::engines::library::{Called, Code, CudaLibrary, LoadError, Refusal, Seat, Status};
use std::ffi::c_void;
use std::sync::OnceLock;

/// cuSPARSE, as the core sees it.
pub(crate) struct Cusparse;

/// All functions of the library.
pub(crate) struct Functions {
    pub(in super::super) regular: &'static CusparseFunctions,
    pub(in super::super) typed: &'static CusparseTyped,
}

/// The handle, and where it reads scalars; `None` if that is not known.
pub(crate) struct Handle {
    raw: Native<RawHandle>,
    pointer: Option<u32>,
    pub(super) kept: Kept,
}

impl CudaLibrary for Cusparse {
    const NAME: &'static str = "sparse";
    const STATUS: &'static [Status] = status::STATUS;
    type Api = Functions;
    type Handle = Handle;
    type Shared = ();

    fn kernels() -> &'static [&'static crate::engines::cuda::Ptx] {
        super::kernels::AHEAD
    }

    fn load() -> Result<&'static Functions, LoadError> {
        static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
        if let Some(functions) = FUNCTIONS.get() {
            return Ok(functions);
        }
        let (regular, typed) = (CusparseFunctions::load()?, CusparseTyped::load()?);
        Ok(FUNCTIONS.get_or_init(|| Functions { regular, typed }))
    }

    fn create(api: &'static Functions, seat: &mut Seat<'_>) -> Result<Handle, Refusal> {
        let api = api.regular;
        let mut raw = RawHandle::NULL;
        // SAFETY: `raw` is valid for the write; the context is current.
        unsafe { api.create(&mut raw) }.by("cusparseCreate")?;
        // SAFETY: handle and stream are alive.
        if let Err(refusal) = unsafe { api.set_stream(raw, seat.stream()) }.by("cusparseSetStream") {
            // SAFETY: made above, not used yet.
            let _ = unsafe { api.destroy(raw) };
            return Err(refusal);
        }
        Ok(Handle { raw: Native(raw), pointer: Some(0), kept: kept::none() })
    }

    fn destroy(api: &'static Functions, handle: Handle) -> Code {
        let Handle { raw, kept, .. } = handle;
        drop(kept);
        // SAFETY: made by `create`, destroyed once, idle.
        unsafe { api.regular.destroy(raw.0) }
    }
}

/// A scalar in the form that the library reads: in host memory for the duration of one call, aligned as C aligns
/// complex numbers; or in device memory.
#[repr(C, align(16))]
pub(in super::super) struct Factor<S> {
    value: S,
    at: Option<u64>,
}

impl<S: Element> Factor<S> {
    pub(in super::super) fn new(value: S, at: &Option<Span<S>>) -> Self {
        Factor { value, at: at.as_ref().map(Span::address) }
    }

    /// Both for one call, which reads either from host memory or either from the device's: if one is there, the other's value is
    /// written beside it, in scratch.
    pub(in super::super) fn beside(queue: &mut Queue<'_>, alpha: Self, beta: Self) -> Result<(Self, Self)> {
        Ok(match (alpha.at, beta.at) {
            (Some(_), None) => (alpha, beta.moved(queue)?),
            (None, Some(_)) => (alpha.moved(queue)?, beta),
            _ => (alpha, beta),
        })
    }

    fn moved(self, queue: &mut Queue<'_>) -> Result<Self> {
        let to = queue.scratch(size_of::<S>())?;
        // SAFETY: scratch of this dispatch, which has as many bytes.
        unsafe { queue.fill(to, 1, bytemuck::bytes_of(&self.value)) }?;
        Ok(Factor { at: Some(to), ..self })
    }

    pub(in super::super) fn pointer(&self) -> *const c_void {
        self.at.map_or((&raw const self.value).cast(), |at| at as *const c_void)
    }

    /// Whether the scalar is in device memory.
    pub(in super::super) fn on_device(&self) -> bool {
        self.at.is_some()
    }

    /// Whether the scalar is known to be zero.
    pub(in super::super) fn is_zero(&self) -> bool {
        self.at.is_none() && self.value == S::default()
    }
}

/// The result of a function whose name contains the letter of an element type.
pub(in super::super) fn called(queue: &Queue<'_>, Called { name, code }: Called) -> Result<()> {
    match code {
        Some(code) => queue.status::<Cusparse>(name, code),
        None => Err(Error::unsupported(format!("this cuSPARSE has no {name}"))),
    }
}

/// The functions and the slot's handle, set to read scalars from device memory or from host memory. Nothing is
/// enqueued yet.
pub(in super::super) fn sparse(
    queue: &mut Queue<'_>,
    scalars_on_device: bool,
) -> Result<(&'static Functions, RawHandle)> {
    let mode = u32::from(scalars_on_device);
    let (api, handle) = queue.consult::<Cusparse>()?;
    let raw = handle.raw.0;
    if handle.pointer != Some(mode) {
        handle.pointer = None;
        // SAFETY: the handle is alive, and this slot's under its lease.
        let code = unsafe { api.regular.set_pointer_mode(raw, mode) };
        if code.is_success() {
            handle.pointer = Some(mode);
        }
        queue.status::<Cusparse>("cusparseSetPointerMode", code)?;
    }
    Ok((api, raw))
}
