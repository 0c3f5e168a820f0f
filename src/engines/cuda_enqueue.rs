//! The types that an op's CUDA half works with.

#[cfg(feature = "cuda")]
pub use crate::engines::cuda::{Enqueue, EnqueueOn, PlanBuilder};

/// A leased stream with a dispatch's operands, for an op's CUDA half. This build has no CUDA engine (feature `cuda`),
/// so no value of this type exists.
#[cfg(not(feature = "cuda"))]
pub struct Enqueue<'q, O> {
    never: std::convert::Infallible,
    _op: std::marker::PhantomData<&'q O>,
}

#[cfg(not(feature = "cuda"))]
impl<O> std::fmt::Debug for Enqueue<'_, O> {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.never {}
    }
}

/// The leased stream of one device of a dispatch over several. This build has no CUDA engine, so no value of this type
/// exists.
#[cfg(not(feature = "cuda"))]
#[derive(Debug)]
pub struct EnqueueOn<'q> {
    never: std::convert::Infallible,
    _place: std::marker::PhantomData<&'q ()>,
}

/// The context that a plan is built in. This build has no CUDA engine, so no value of this type exists.
#[cfg(not(feature = "cuda"))]
#[derive(Debug)]
pub struct PlanBuilder<'b> {
    never: std::convert::Infallible,
    _place: std::marker::PhantomData<&'b ()>,
}
