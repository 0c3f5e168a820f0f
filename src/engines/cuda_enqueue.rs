//! What an op's CUDA half works with.

#[cfg(feature = "cuda")]
pub use crate::cuda::{Enqueue, PlanBuilder};

/// What an op's CUDA half would work with; this build has no CUDA engine (feature `cuda`), so there are no values.
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

/// What a plan would be built with; this build has no CUDA engine, so there are no values.
#[cfg(not(feature = "cuda"))]
#[derive(Debug)]
pub struct PlanBuilder<'b> {
    never: std::convert::Infallible,
    _place: std::marker::PhantomData<&'b ()>,
}
