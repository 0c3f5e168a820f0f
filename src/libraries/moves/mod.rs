//! New tensors of the elements of others: [`concat`](crate::Device::concat), [`stack`](crate::Device::stack),
//! [`pad`](crate::Device::pad), [`roll`](crate::Device::roll), [`tile`](crate::Device::tile), [`repeat`](crate::Device::repeat),
//! [`take`](crate::Device::take).

// `compose.rs` is the operation behind `join.rs`, `roll.rs` and `pad.rs`: pieces of a new tensor. `take.rs` is that of slices by number, with its
// halves in `take_host.rs` and `take_cuda.rs`. `repeat.rs` copies views. `within.rs` looks at numbers alone.

mod compose;
mod join;
mod pad;
mod repeat;
mod roll;
mod take;
#[cfg(feature = "cuda")]
mod take_cuda;
#[cfg(feature = "host")]
mod take_host;
pub(super) mod within;

pub use pad::Pad;
pub use take::Place;
pub(crate) use take::Told;

use crate::core::buffer::{AnyBuffers, AnyIns};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{Layout, Tensor};
use compose::{Compose, Piece};

/// Submits, and makes the tensor of the buffer.
fn compose<T: Element>(
    device: &Device,
    target: Layout,
    value: Option<T>,
    pieces: Vec<Piece>,
    reads: AnyIns<'_>,
) -> Result<PendingDispatch<Tensor<T>>> {
    let buffer = device.uninit::<T>(target.len())?;
    let value = value.map(|value| {
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(bytemuck::bytes_of(&value).iter().cycle()).for_each(|(to, from)| *to = *from);
        bytes
    });
    let extents = target.extents().to_vec();
    let compose = Compose { dtype: T::DTYPE, target, value, pieces };
    let submitted = device.dispatch(compose, reads, [buffer.into()].into_iter().collect());
    let back = |any: AnyBuffers| {
        let (buffer,) = any.downcast::<crate::core::buffer::DeviceBuffer<T>>()?;
        let tensor = Tensor::from_buffer(buffer, &extents);
        tensor.map(|tensor| (tensor,)).map_err(|rejected| rejected.back.into_iter().map(Into::into).collect())
    };
    submitted.map_err(Rejected::into_error)?.retype(back).map_err(|any: AnyBuffers| Error::from(any))
}

/// The error of a call.
fn told(error: Error) -> Error {
    error.in_op(Compose::OP, "copy")
}

/// Registers the operation of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<Compose>();
    registry.add::<take::Take>();
    registry.add::<within::Within>();
}
