//! A module's own variables: `__device__` and `__constant__` memory.
//!
//! **Order.** A read or write of a variable runs after every launch of its module, and every other access to a variable
//! of the module, that was submitted before it. Later launches and accesses run after it. Launches are ordered among
//! themselves only by their buffers: two launches that use the same variable and no common buffer have no order, like
//! two streams in CUDA. So an access from the host never runs at the same time as a kernel of the module.
//!
//! **Not on a host device.** A twin is a Rust closure. It captures what is constant for a program, and takes what
//! changes between launches as a parameter; the source of the kernel can do the same. A variable that both could access
//! would be a hidden operand of every launch of its module, and nothing on the host could compare its type and size
//! with the source. So the request is refused, with this reason.
//!
//! **Implementation.** A buffer of zero bytes stands for all variables of the module: launches read it, accesses write
//! it. It has no owner, so a gate keeps the submission of an access apart from other submissions: see `cuda/submit.rs`.

use super::module::Module;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::Verdict;
use crate::device::copy::Uploadable;

/// A variable of a module on a GPU: one element, or an array of them. Made by [`Module::global`].
///
/// Accesses are ordered with the launches of the module: each access runs after everything that was submitted before
/// it, and before everything that is submitted later. Launches are ordered among themselves only by their buffers.
pub struct Global<T: Element> {
    #[cfg(feature = "cuda")]
    place: on_gpu::GlobalMemory<T>,
    #[cfg(not(feature = "cuda"))]
    never: std::convert::Infallible,
    #[cfg(not(feature = "cuda"))]
    _type: std::marker::PhantomData<T>,
}

impl Module {
    /// The variable `name` (`__device__` or `__constant__` memory), as elements of `T`. Loads the module.
    ///
    /// NVRTC keeps only those variables of a program whose address was requested as a name expression:
    /// `Source::expression("&factor")`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such variable, or its size is not a multiple of the size of `T`;
    /// [`Error::Unsupported`] on a host device (let the twin capture a constant, or pass a value that changes as a
    /// parameter); as [`load`](Self::load).
    pub fn global<T: Element>(&self, name: &str) -> Result<Global<T>> {
        #[cfg(feature = "cuda")]
        {
            let found = self.held().global(name)?;
            let place = found.ok_or_else(|| Error::invalid("name", format!("no variable `{name}` in the module")))?;
            let bytes = place.2;
            if !bytes.is_multiple_of(size_of::<T>()) {
                let reason = format!("`{name}` has {bytes} bytes, which is not a multiple of the size of {}", T::DTYPE);
                return Err(Error::invalid("T", reason));
            }
            Ok(Global { place: on_gpu::GlobalMemory::new(self, place) })
        }
        #[cfg(not(feature = "cuda"))]
        {
            let _ = name;
            Err(Error::unsupported("this build has no CUDA engine"))
        }
    }
}

impl<T: Element> Global<T> {
    /// The number of elements.
    #[expect(clippy::len_without_is_empty, reason = "a variable has an element at least")]
    pub fn len(&self) -> usize {
        #[cfg(feature = "cuda")]
        return self.place.len();
        #[cfg(not(feature = "cuda"))]
        match self.never {}
    }

    /// Reads the variable. The result contains all writes and launches that were submitted before.
    ///
    /// # Errors
    /// [`Error::GpuRefStale`] after a rebuild; [`Error::OutOfMemory`] if the data exceeds the staging limit.
    pub fn read(&self) -> Result<PendingDispatch<Vec<T>, Verdict>> {
        #[cfg(feature = "cuda")]
        return self.place.read();
        #[cfg(not(feature = "cuda"))]
        match self.never {}
    }

    /// Writes all elements of the variable. A slice is copied before the call returns.
    ///
    /// Large data is written in pieces: if this call or its pending fails, the first pieces may already be written.
    /// After a failed write, launches and reads fail until a write succeeds.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lengths differ; [`Error::GpuRefStale`] after a rebuild.
    pub fn write<'a>(&self, data: impl Uploadable<'a, T>) -> Result<PendingDispatch<()>> {
        #[cfg(feature = "cuda")]
        return self.place.write(data.into().as_slice());
        #[cfg(not(feature = "cuda"))]
        match self.never {}
    }
}

impl<T: Element> std::fmt::Debug for Global<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Global<{}>({})", T::DTYPE, self.len())
    }
}

#[cfg(feature = "cuda")]
mod on_gpu {
    use super::super::loaded::Loaded;
    #[cfg(target_os = "linux")]
    use super::super::loaded::distant;
    use super::super::module::{Module, SharedModule};
    use super::super::variable::{GlobalRead, GlobalWrite, Part, Room};
    use crate::core::buffer::DeviceBuffer;
    use crate::core::dispatch::PendingDispatch;
    use crate::core::element::Element;
    use crate::core::error::{Error, Result};
    use crate::core::op::Verdict;
    use crate::core::sync::{Arc, Mutex};
    use crate::device::Device;
    use std::marker::PhantomData;

    pub(super) struct GlobalMemory<T> {
        device: Device,
        held: Arc<SharedModule>,
        module: Loaded,
        address: u64,
        len: usize,
        _type: PhantomData<T>,
    }

    impl<T: Element> GlobalMemory<T> {
        pub(super) fn new(module: &Module, (loaded, address, bytes): (Loaded, u64, usize)) -> Self {
            let (device, held) = (module.device().clone(), module.held().clone());
            GlobalMemory { device, held, module: loaded, address, len: bytes / size_of::<T>(), _type: PhantomData }
        }

        pub(super) fn len(&self) -> usize {
            self.len
        }

        /// The token for access to all of the module's variables, as a buffer that is written.
        fn token(&self) -> Result<DeviceBuffer<u8>> {
            let Some(globals) = self.held.globals() else {
                return Err(Error::library("internal error: a variable of a module that declares none"));
            };
            // SAFETY: it has no bytes, so nothing can overlap; its gate keeps accesses that are submitted at the same
            // time apart.
            Ok(unsafe { globals.alias() })
        }

        pub(super) fn read(&self) -> Result<PendingDispatch<Vec<T>, Verdict>> {
            let (token, epoch) = (self.token()?, self.held.epoch());
            epoch.admit()?;
            let bytes = self.len * size_of::<T>();
            #[cfg(target_os = "linux")]
            let there = distant(epoch).map(|engine| engine.block(epoch, bytes).map(Room::There)).transpose()?;
            #[cfg(not(target_os = "linux"))]
            let there = None;
            let room = match (there, epoch.engine.as_cuda()) {
                (Some(room), _) => room,
                (None, Some(engine)) => Room::Here(engine.reserve(epoch, bytes)?),
                (None, None) => return Err(nowhere()),
            };
            let part = Part { address: self.address, bytes };
            let op = GlobalRead { module: self.module.clone(), part, room: Mutex::new(room), _type: PhantomData };
            self.device.dispatch(op, (), (token,))?.retype(|_| Ok(()))
        }

        pub(super) fn write(&self, data: &[T]) -> Result<PendingDispatch<()>> {
            if data.len() != self.len {
                let reason = format!("{} elements, but the variable has {}", data.len(), self.len);
                return Err(Error::invalid("data", reason));
            }
            let epoch = self.held.epoch();
            epoch.admit()?;
            let bytes: &[u8] = bytemuck::cast_slice(data);
            let (mut last, mut going_on) = (None, None);
            // Each piece runs after the one before it, as any two accesses do.
            let most = self.piece_of(bytes.len())?;
            for (i, piece) in bytes.chunks(most).enumerate() {
                let part = Part { address: self.address + (i * most) as u64, bytes: piece.len() };
                let room = Mutex::new(self.stage(piece)?);
                let op = GlobalWrite { module: self.module.clone(), part, first: i == 0, room };
                let device = match i {
                    0 => &self.device,
                    _ => going_on.get_or_insert_with(|| self.device.going_on()),
                };
                last = Some(device.dispatch(op, (), (self.token()?,))?);
            }
            last.ok_or_else(|| Error::library("the variable has no bytes"))?.retype(|_| Ok(()))
        }

        /// The size of a piece in bytes.
        fn piece_of(&self, bytes: usize) -> Result<usize> {
            let epoch = self.held.epoch();
            #[cfg(target_os = "linux")]
            if let Some(engine) = distant(epoch) {
                return Ok(engine.piece_of(bytes));
            }
            Ok(epoch.engine.as_cuda().ok_or_else(nowhere)?.piece_of(bytes))
        }

        /// A copy of a piece in memory that the device can read.
        fn stage(&self, piece: &[u8]) -> Result<Room<crate::engines::cuda::Staging>> {
            let epoch = self.held.epoch();
            #[cfg(target_os = "linux")]
            if let Some(engine) = distant(epoch) {
                return engine.stage(epoch, piece).map(Room::There);
            }
            epoch.engine.as_cuda().ok_or_else(nowhere)?.stage(epoch, piece).map(Room::Here)
        }
    }

    fn nowhere() -> Error {
        Error::library("internal error: a variable on a host device")
    }
}
