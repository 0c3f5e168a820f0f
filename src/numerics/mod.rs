//! The arithmetic of the host engine: dense products and vector operations over plain slices.
//!
//! Nothing here knows of devices, streams or buffers. A function takes slices that its caller has already validated,
//! works in them in place, and returns nothing or a scalar. Rules for every function here:
//!
//! * **Safe for any input.** The front checks the arguments and reports a bad one. Here, a function does nothing if a
//!   shape does not fit its slices. No input causes an access outside a slice, or a panic.
//! * **Runs in the caller's pool.** Parallel parts call `parallel`, and through it rayon, so they run in the thread
//!   pool of the caller, and only if the work is large enough. In a batch of small problems only the loop over the batch
//!   is parallel.
//! * **Column-major, conventions of cuBLAS**, quirks included (`beta == 0` never reads C, increments may be negative).
//! * **Halves are computed in f32** (`f16`, `bf16`, and their scalars) and rounded once, when the result is stored.
//!
//! | file | what it does |
//! |---|---|
//! | `spec` | the shape of a product, and the slice lengths that it needs |
//! | `gemm` | products of f32, f64 and their complex types, by crate `gemm` |
//! | `widen` | products of halves, into halves or f32: panels widened to f32, one rounding |
//! | `integer` | i8 x i8 -> i32, exact |
//! | `matmul` | products with scales, bias, activation and auxiliary results, of every type of cuBLASLt |
//! | `level1` | vector operations |
//! | `level2` | matrices and vectors |
//! | `level3` | products with special matrices, solutions, small factorizations, batches |
//! | `parallel` | loops over threads, compiled once for each type of element |
//! | `isa` | loops with the same bits, whatever instructions they are compiled for |
//! | `simd` | loops compiled for more instructions than the target's baseline; SIMD vectors of any width |
//! | `reference` | slow oracles in double-double, and the error bounds that tests use |
//!
//! A new narrow type needs `Widen` and `Narrow` in `widen`; a new level-1 operation needs a kernel in
//! `level1::kernel` and its walk over the vector in `level1`.

#[cfg(feature = "blas")]
pub(crate) mod gemm;
#[cfg(feature = "blas")]
mod integer;
#[cfg(any(feature = "rng", feature = "dnn", feature = "solver"))]
pub(crate) mod isa;
#[cfg(feature = "blas")]
pub(crate) mod level1;
#[cfg(feature = "blas")]
pub(crate) mod level2;
#[cfg(feature = "blas")]
pub(crate) mod level3;
#[cfg(feature = "blaslt")]
pub(crate) mod matmul;
pub(crate) mod parallel;
#[cfg(feature = "blas")]
pub(crate) mod reference;
#[cfg(feature = "blas")]
mod simd;
#[cfg(feature = "blas")]
mod spec;
#[cfg(feature = "blas")]
pub(crate) mod widen;

#[cfg(feature = "blas")]
pub(crate) use level1::Field;
#[cfg(feature = "blas")]
pub use spec::{GemmSpec, Trans};

#[cfg(test)]
#[cfg(all(feature = "blas", feature = "blaslt"))]
mod tests;
