//! New tensors of the elements of others: [`concat`](crate::Device::concat), [`stack`](crate::Device::stack),
//! [`pad`](crate::Device::pad), [`roll`](crate::Device::roll), [`tile`](crate::Device::tile), [`repeat`](crate::Device::repeat),
//! [`take`](crate::Device::take).

// `compose.rs` is the operation behind `join.rs`, `roll.rs` and `pad.rs`: pieces of a new tensor. `take.rs` is that of slices by number, with its
// halves in `take_host.rs` and `take_cuda.rs`. `repeat.rs` copies views. `within.rs` looks at numbers alone.

mod compose;
pub(super) mod join;
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
pub(crate) use take::{Extents, Told};

use crate::core::buffer::AnyIns;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{Layout, Tensor};
use crate::libraries::tensor_routine::one_tensor;
use compose::{Compose, Piece};

/// Submits, and makes the tensor of the buffer.
fn compose<T: Element>(
    device: &Device,
    target: Layout,
    value: Option<T>,
    pieces: Vec<Piece>,
    reads: AnyIns<'_>,
) -> Result<PendingDispatch<Tensor<T>>> {
    let buffer = device.unwritten::<T>(target.len())?;
    let value = value.map(|value| {
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(bytemuck::bytes_of(&value).iter().cycle()).for_each(|(to, from)| *to = *from);
        bytes
    });
    let compose = Compose { dtype: T::DTYPE, target: target.clone(), value, pieces };
    let submitted = device.dispatch(compose, reads, [buffer.into()].into_iter().collect());
    one_tensor(submitted.map_err(Rejected::into_error)?, target)
}

/// Registers the operation of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<Compose>();
    registry.add::<take::Take>();
    registry.add::<within::Within>();
}
