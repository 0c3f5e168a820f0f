//! Normalisation: layer, RMS, group, instance and batch, forward and back, by reductions and formulas of the crate.

// A normalisation is a reduction of moments, followed by a formula of elements and moments: `moments.rs` has these formulas, once
// for all element types, and `layout.rs` the axes. Where the elements of a row lie side by side, both are one dispatch
// (`reductions/rows`). Gradients need two sums of a row, which are the parts of one complex sum. `front.rs` has the calls.

mod affine;
mod front;
mod layout;
mod lrn;
mod moments;
mod statistics;

pub use affine::Affine;
pub use front::NormKind;
pub use lrn::ResponseNorm;
pub use statistics::Running;
