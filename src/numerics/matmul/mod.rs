//! Matrix products with an epilogue: scales, C, bias, activation, auxiliary results.
//!
//! `D = scale_d * epilogue(alpha * scale_a * scale_b * op(A) * op(B) + beta * C + bias)`, for every type that cuBLASLt
//! has. D is computed in panels of columns: first the unscaled sums of products in the accumulator's type (f32 for
//! narrower types), then, column by column, everything else in the type of the scalars, with one rounding when D is
//! stored.
//!
//! | file | what it does |
//! |---|---|
//! | `job` | one problem: turns row-major order into column-major order, loops over batches and panels |
//! | `matrix` | a matrix as it is stored, and as a factor of the product |
//! | `column` | the epilogue of a column of sums |
//! | `sum` | sums that are written in addition to D |
//! | `work` | the arithmetic of each scalar type: ReLU, GELU and its derivative |
//! | `stored` | the types of C, D, bias and auxiliary values, and their conversions to and from scalars |
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
