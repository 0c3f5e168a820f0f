//! Reads and writes of a module's variables, as operations.

use super::loaded::Loaded;
#[cfg(target_os = "linux")]
use crate::core::arena::Block;
use crate::core::buffer::DeviceBuffer;
use crate::core::element::Element;
#[cfg(target_os = "linux")]
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::op::raw::Landed;
use crate::core::op::{Cost, OperandNames, Output, Spans};
#[cfg(target_os = "linux")]
use crate::core::op::{Incoming, Outgoing, Wire};
use crate::core::sync::Mutex;
#[cfg(target_os = "linux")]
use crate::engines::cuda::CudaEngine;
use crate::engines::cuda::{Reserved, Staging};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// A range of bytes of a variable.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) address: u64,
    pub(super) bytes: usize,
}

/// The host memory of an access.
pub(super) enum Room<H> {
    /// Pinned, of this process.
    Here(H),
    /// Shared with the worker.
    #[cfg(target_os = "linux")]
    There(Block),
    Gone,
}

impl<H> Room<H> {
    fn take(room: &Mutex<Self>) -> Self {
        std::mem::replace(&mut *room.lock(), Room::Gone)
    }
}

/// The output of a read; the token stays inside.
pub(super) struct GlobalData<T>(PhantomData<T>);

impl<T: Element> Output for GlobalData<T> {
    type Writes = (u8,);
    type Host = Landed<T>;
    const EAGER: crate::core::op::Internal = crate::core::op::Internal::YES;
    fn join(_: (DeviceBuffer<u8>,), _: Landed<T>) -> Result<Self> {
        Ok(GlobalData(PhantomData))
    }
}

pub(super) struct GlobalRead<T> {
    pub(super) module: Loaded,
    pub(super) part: Part,
    pub(super) room: Mutex<Room<Reserved>>,
    pub(super) _type: PhantomData<T>,
}

impl<T: Element> Op for GlobalRead<T> {
    const NAME: &'static str = "read_global";
    const OPERANDS: OperandNames = (&[], &["variable"]);
    const LIBRARY: &'static str = "nvrtc";
    const GATED: crate::core::op::Internal = crate::core::op::Internal::YES;
    /// The buffer that it writes only stands for the variables.
    const PRESERVES_ON_FAILURE: crate::core::op::Internal = crate::core::op::Internal::YES;
    type Reads = ();
    type Output = GlobalData<T>;
    type Raw = Landed<T>;

    fn check(&self, (): &Spans<()>, _: &Spans<(u8,)>) -> Result<()> {
        Ok(())
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: self.part.bytes as u64 }
    }

    fn host(&self, (): Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<Landed<T>> {
        Err(Error::unsupported("a host device loads no modules"))
    }

    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        admitted(&self.module, queue)?;
        match Room::take(&self.room) {
            // SAFETY: a variable of a module that this op holds and that is of this epoch (admitted), with the length
            // that the driver reported; the token ensures that nothing else uses the module's variables at the same
            // time.
            Room::Here(reserved) => unsafe { queue.copy_to_staging(self.part.address, None, reserved) },
            _ => Err(Error::library("internal error: a read without staging memory")),
        }
    }

    #[cfg(target_os = "linux")]
    fn wire() -> Option<Wire<Self>> {
        Some(Wire {
            encode: |op, out| send(&op.module, op.part, &op.room, out),
            decode: |incoming| {
                let (module, part): (_, Part) = receive(&incoming)?;
                let room = Mutex::new(Room::Here(gpu(incoming.epoch)?.reserve(incoming.epoch, part.bytes)?));
                Ok(GlobalRead { module, part, room, _type: PhantomData })
            },
        })
    }

    fn finish(&self, landed: Landed<T>) -> Result<Landed<T>> {
        Ok(landed)
    }
}

pub(super) struct GlobalWrite {
    pub(super) module: Loaded,
    pub(super) part: Part,
    /// Whether this is the first piece of a write.
    pub(super) first: bool,
    pub(super) room: Mutex<Room<Staging>>,
}

impl Op for GlobalWrite {
    const NAME: &'static str = "write_global";
    const OPERANDS: OperandNames = (&[], &["variable"]);
    const LIBRARY: &'static str = "nvrtc";
    const GATED: crate::core::op::Internal = crate::core::op::Internal::YES;
    type Reads = ();
    type Output = DeviceBuffer<u8>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(u8,)>) -> Result<()> {
        Ok(())
    }

    /// The next write repairs a failed one. The next piece of the same write does not: it fails with it.
    fn overwrites(&self, _: &Spans<(u8,)>) -> bool {
        self.first
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: self.part.bytes as u64 }
    }

    fn host(&self, (): Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("a host device loads no modules"))
    }

    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        admitted(&self.module, queue)?;
        match Room::take(&self.room) {
            // SAFETY: as for a read; a piece of the variable, whose length was compared with the data's.
            Room::Here(staging) => unsafe { queue.copy_from_staging(self.part.address, None, staging) },
            _ => Err(Error::library("internal error: a write without staging memory")),
        }
    }

    #[cfg(target_os = "linux")]
    fn wire() -> Option<Wire<Self>> {
        Some(Wire {
            encode: |op, out| send(&op.module, (op.part, op.first), &op.room, out),
            decode: |incoming| {
                let (module, (part, first)): (_, (Part, bool)) = receive(&incoming)?;
                let lent = incoming.lent.ok_or_else(|| Error::library("internal error: a write without its data"))?;
                let data = lent.bytes().get(..part.bytes);
                let data =
                    data.ok_or_else(|| Error::library("internal error: less data arrived than was announced"))?;
                let room = Mutex::new(Room::Here(gpu(incoming.epoch)?.stage(incoming.epoch, data)?));
                Ok(GlobalWrite { module, part, first, room })
            },
        })
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Checks, under the lease, that the module is of this epoch.
fn admitted(module: &Loaded, queue: &crate::engines::cuda::Queue<'_>) -> Result<()> {
    match module {
        Loaded::Here(module) => module.admit(queue),
        #[cfg(target_os = "linux")]
        Loaded::There(_) => Err(Error::library("internal error: a module of a worker in this process")),
    }
}

/// Sends to the worker: its identifier of the module, the range of bytes, and the shared memory for them.
#[cfg(target_os = "linux")]
fn send<H>(module: &Loaded, part: impl Serialize, room: &Mutex<Room<H>>, out: &mut Outgoing) -> Result<()> {
    let Loaded::There(module) = module else {
        return Err(Error::library("internal error: a module of this process cannot be sent to a worker"));
    };
    if let Room::There(block) = Room::take(room) {
        out.block = Some(block);
    }
    out.value(&(module.address, part))
}

/// In the worker: the module and the bytes of a message.
#[cfg(target_os = "linux")]
fn receive<P: for<'de> Deserialize<'de>>(incoming: &Incoming<'_>) -> Result<(Loaded, P)> {
    let (id, part): (u64, P) = incoming.value()?;
    Ok((Loaded::Here(incoming.loaded()?.module(id)?), part))
}

#[cfg(target_os = "linux")]
fn gpu(epoch: &Epoch) -> Result<&CudaEngine> {
    epoch.engine.as_cuda().ok_or_else(|| Error::unsupported("the worker's device loads no modules"))
}
