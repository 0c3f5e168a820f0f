//! A module's own variables: `__device__` and `__constant__` memory.
//!
//! **The order.** A read or a write of a variable follows every launch of its module, and every other access to any of
//! the module's variables, that was submitted before; and every later launch and access follows it. Launches among
//! themselves are ordered by their buffers alone: two that meet in a variable only are in no order, as two streams are
//! in CUDA. So an access of the host never meets a kernel, whatever the kernel does with the variable.
//!
//! **Not on a host device.** A twin is a Rust closure: what is constant for a program it captures, and what changes between
//! launches it takes as a parameter, which the kernel's own source can do as well. A variable that both could reach
//! would be a hidden operand of every launch of its module, with a type and a size that nothing on the host could
//! compare with the source. So the request is refused, with that for a reason.
//!
//! It is done with a buffer of no bytes that stands for all variables of the module: launches read it, accesses write it.
//! Nobody owns it, so a gate keeps the submission of an access apart from other submissions: see `cuda/submit.rs`.

use super::module::Module;
use crate::{Element, Error, HostData, PendingDispatch, Result};

/// A variable of a module on a GPU: one element, or an array of them. Made by [`Module::global`].
///
/// Accesses are ordered with the launches of the module: each follows all that were submitted before it, and is followed
/// by all that are submitted later. Launches among themselves are ordered by their buffers alone.
pub struct Global<T: Element> {
    #[cfg(feature = "cuda")]
    place: on_gpu::GlobalMemory<T>,
    #[cfg(not(feature = "cuda"))]
    never: std::convert::Infallible,
    #[cfg(not(feature = "cuda"))]
    _type: std::marker::PhantomData<T>,
}

impl Module {
    /// The variable `name`, as elements of `T`: `__device__` or `__constant__` memory. Loads the module.
    ///
    /// A program that NVRTC compiles keeps only the variables that were asked for among its name expressions, by their
    /// address: `Program::expression("&factor")`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no such variable, or its bytes are no whole number of `T`;
    /// [`Error::Unsupported`] on a host device: what is constant a twin captures, and what changes between launches it
    /// takes as a parameter; as [`load`](Self::load).
    pub fn global<T: Element>(&self, name: &str) -> Result<Global<T>> {
        #[cfg(feature = "cuda")]
        {
            let found = self.held().global(name)?;
            let place = found.ok_or_else(|| Error::invalid("name", format!("no variable `{name}` in the module")))?;
            let bytes = place.2;
            if !bytes.is_multiple_of(size_of::<T>()) {
                let reason = format!("`{name}` has {bytes} bytes, which are no elements of {}", T::DTYPE);
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
    /// Elements.
    #[expect(clippy::len_without_is_empty, reason = "a variable has an element at least")]
    pub fn len(&self) -> usize {
        #[cfg(feature = "cuda")]
        return self.place.len();
        #[cfg(not(feature = "cuda"))]
        match self.never {}
    }

    /// What it holds at this point of the program's order.
    ///
    /// # Errors
    /// [`Error::GpuRefStale`] after a rebuild; [`Error::OutOfMemory`] when the staging limit does not hold it.
    pub fn read(&self) -> Result<PendingDispatch<Vec<T>>> {
        #[cfg(feature = "cuda")]
        return self.place.read();
        #[cfg(not(feature = "cuda"))]
        match self.never {}
    }

    /// Sets all of it. A slice is copied before this returns.
    ///
    /// Much data goes in pieces: where this fails, or its pending does, the first of them may have been written. Launches
    /// and reads that come after a failed write fail until one succeeds.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the lengths differ; [`Error::GpuRefStale`] after a rebuild.
    pub fn write<'a>(&self, data: impl Into<HostData<'a, T>>) -> Result<PendingDispatch<()>> {
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
    use super::super::loaded::{Loaded, distant};
    use super::super::module::{Module, SharedModule};
    use super::super::variable::{GlobalRead, GlobalWrite, Part, Room};
    use crate::sync::{Arc, Mutex};
    use crate::{Device, DeviceBuffer, Element, Error, PendingDispatch, Result};
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

        /// The right to all of the module's variables, as a buffer that is written.
        fn token(&self) -> Result<DeviceBuffer<u8>> {
            let Some(globals) = self.held.globals() else {
                return Err(Error::library("a variable of a module that declares none"));
            };
            // SAFETY: it has no bytes, so nothing can overlap; its gate keeps accesses that are submitted at the same
            // time apart.
            Ok(unsafe { globals.alias() })
        }

        pub(super) fn read(&self) -> Result<PendingDispatch<Vec<T>>> {
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
                let reason = format!("{} elements for a variable of {}", data.len(), self.len);
                return Err(Error::invalid("data", reason));
            }
            let epoch = self.held.epoch();
            epoch.admit()?;
            let bytes: &[u8] = bytemuck::cast_slice(data);
            let (mut last, mut going_on) = (None, None);
            // Each piece follows the one before, as any two accesses do.
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
            last.ok_or_else(|| Error::library("a variable without bytes"))?.retype(|_| Ok(()))
        }

        /// How many bytes go at a time.
        fn piece_of(&self, bytes: usize) -> Result<usize> {
            let epoch = self.held.epoch();
            #[cfg(target_os = "linux")]
            if let Some(engine) = distant(epoch) {
                return Ok(engine.piece_of(bytes));
            }
            Ok(epoch.engine.as_cuda().ok_or_else(nowhere)?.piece_of(bytes))
        }

        /// A copy of a piece, where the device can read it.
        fn stage(&self, piece: &[u8]) -> Result<Room<crate::cuda::Staging>> {
            let epoch = self.held.epoch();
            #[cfg(target_os = "linux")]
            if let Some(engine) = distant(epoch) {
                return engine.stage(epoch, piece).map(Room::There);
            }
            epoch.engine.as_cuda().ok_or_else(nowhere)?.stage(epoch, piece).map(Room::Here)
        }
    }

    fn nowhere() -> Error {
        Error::library("a variable on a host device")
    }
}
