//! Contractions of tensors: `einsum`, and what is made of it.
//!
//! | call of [`TensorOps`] | result |
//! |---|---|
//! | [`einsum`](TensorOps::einsum) | a sum of products of any number of tensors, by an [expression](Einsum) |
//! | [`contract`](TensorOps::contract), [`contract3`](TensorOps::contract3) | `C = alpha * A * B + beta * C` by an expression, in place; the same of three |
//! | [`matmul`](TensorOps::matmul) | NumPy's `@` |
//! | [`tensordot`](TensorOps::tensordot) | the sum over pairs of axes |
//! | [`outer`](TensorOps::outer), [`kron`](TensorOps::kron) | all products of two elements, as axes or as blocks |
//! | [`trace`](TensorOps::trace) | the sum of diagonals |
//! | [`explain`](TensorOps::explain), [`autotune`](TensorOps::autotune) | what a call will do; which of its ways is the fastest |
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! let device = windlass::Device::best()?;
//! let ops = device.tensor_ops();
//! let a = device.tensor([2, 2, 3], (0..12).map(|x| x as f32).collect::<Vec<_>>())?;
//! let b = device.full([2, 3, 1], 1.0f32)?;
//! let c = ops.einsum("bij,bjk->bik", (&a, &b))?.await_result()?;
//! assert_eq!((c.shape(), device.show(&c)?.to_string()), (&[2, 2, 1][..], "[[[ 3.]\n  [12.]]\n\n [[21.]\n  [30.]]]".into()));
//! println!("{}", ops.explain("bij,bjk->bik", (&a, &b))?); // gemm, 2 x (2 x 3) (3 x 1)
//! # Ok(()) }
//! ```
//!
//! # What a call does
//! A call is made of operations of other fronts, so that it runs on both engines, in worker processes, and in recorded programs.
//! Nothing waits on the host. Operands may be any views; diagonals, transposes and broadcast axes are not copied.
//!
//! - Several operands are contracted in pairs, in the order of a [`Path`]. For up to eight operands the one of fewest operations is
//!   found, for more a good one. [`Einsum::path`] sets another one, [`Einsum::memory_limit`] bounds the intermediates.
//! - A pair that shares a summed letter is a product of matrices, by [`Blas`](crate::Blas), whose axes are several letters where
//!   strides allow it. What does not fit is copied into order before and after; the order that copies least is taken.
//! - On a GPU whose machine has cuTENSOR, it computes what would need such copies ([`Backend`]).
//! - Everything else is one pass without a copy, whatever the strides and the number of letters: a
//!   [formula](crate::expressions) where nothing is summed, else a [reduction](crate::reductions) of one. So are integers, inner
//!   products, and products of a matrix with a vector of strides that BLAS does not take.
//!
//! # Arithmetic
//! Products of matrices have the accuracy of [`Blas`](crate::Blas), in the order of its engine; the others have the same bits on both
//! engines. `f16` and `bf16` are computed in `f32` and rounded once for each step of the path. Integers wrap. Sums of no element
//! are 0. An extent of 1 is broadcast to the extent that the letter has in other operands, as NumPy does. Products of
//! f32 are computed in f32, in another mode only if [`TensorOps::math`] asks for it. Not supported: types of 8 bits that are not
//! integers, results in another type.

// `einsum.rs` is an expression, which `parse.rs` reads; `network.rs` what it becomes when it meets extents: modes are numbers from
// there on. `path/` orders the operands. `pair.rs` gives two operands the form of a product of matrices, `planner.rs` makes a plan
// (`plan.rs`) of all that, whose steps are calls of other fronts (`call.rs`); `known.rs` keeps it, `run.rs` submits it; nothing of it
// has a type parameter. `contraction/` is the one operation of our own, `native/` cuTENSOR, which computes it. `element.rs` has the few
// functions that are compiled for each type. `front.rs`, `contract.rs`, `autotune.rs` and `products.rs` are the caller's side.

mod autotune;
mod call;
mod contract;
mod contraction;
mod einsum;
mod element;
mod formula;
mod front;
mod known;
mod label;
mod modes;
#[cfg(feature = "cuda")]
pub(crate) mod native;
mod network;
mod operands;
mod pair;
mod parse;
mod path;
mod plan;
mod planner;
mod products;
mod run;
mod settings;
mod short;

pub use autotune::TunedRoute;
pub use contract::Contract;
pub use einsum::{Einsum, Expression, Minimize};
pub use element::TensorElement;
pub use front::TensorOps;
pub use label::Label;
pub use operands::TensorOperands;
pub use path::Path;
pub use plan::{Plan, Route};
pub use settings::Backend;

/// The operations, for worker programs.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<contraction::Contraction>();
    registry.add::<contraction::Probe>();
}
