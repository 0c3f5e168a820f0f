//! The types that an op's CUDA half works with.

#[cfg(feature = "cuda")]
pub use crate::engines::cuda::EnqueueOn;
pub use crate::engines::op::{Enqueue, PlanBuilder};

/// The leased stream of one device of a dispatch over several. This build has no CUDA engine, so no value of this type
/// exists.
#[cfg(not(feature = "cuda"))]
#[derive(Debug)]
pub struct EnqueueOn<'q> {
    never: std::convert::Infallible,
    _place: std::marker::PhantomData<&'q ()>,
}
