//! Products with what is done to them on the way out: scales, C, bias, activation, auxiliary results.
//!
//! `D = scale_d * epilogue(alpha * scale_a * scale_b * op(A) * op(B) + beta * C + bias)`, for every type that cuBLASLt
//! has. A panel of D's columns at a time: its sums of products unscaled in the accumulator's type (f32 for what is
//! narrower), then column by column everything else in the type of the scalars, and one rounding where D is stored.
//!
//! | file | what it does |
//! |---|---|
//! | `job` | one problem: row order turned into column order, batches, panels |
//! | `matrix` | a matrix as it is stored, and as a factor of the product |
//! | `column` | what is done to a column of sums |
//! | `sum` | sums that are written beside D |
//! | `work` | the arithmetic of each scalar type: ReLU, GELU and its derivative |
//! | `stored` | the types of C, D, bias and auxiliary values, and how they become scalars and back |
//! | `product` | the sums of products of each pair of types |

mod column;
mod job;
mod matrix;
mod product;
mod stored;
mod sum;
mod work;

pub(crate) use column::Activation;
pub(crate) use job::{Grad, Job, Scale};
pub(crate) use matrix::Matrix;
