//! Slow, plain reference implementations (oracles), and the error bounds that fast results must keep.
//!
//! Everything is computed in double-double (about 106 bits) from the exact values of the inputs and rounded once, so an
//! oracle's own error is that of the last rounding. The bounds are the standard ones (Higham, *Accuracy and Stability
//! of Numerical Algorithms*, chapter 3). They hold for every order of summation, with or without fused multiply-adds,
//! so they apply to this engine and to CUDA's libraries alike.

mod bound;
mod double;
mod fourier;
mod fused;
mod level1;
mod level2;
mod level3;
mod matmul;
mod terms;
mod value;

pub use bound::{dot_error_bound, gamma, gemm_error_bound, nrm2_error_bound};
pub use double::Double;
pub use fourier::{dft, dft_error_bound, root_of_unity};
pub use fused::{Sum, gelu, gelu_slope, sum_of_products};
pub use level1::{asum, axpy, dot, dotc, extreme, nrm2, rot, rotm, scal};
pub use level2::{Update, residual};
pub use level3::{Bounded, Exact};
pub use matmul::{gemm, gemm_i8};
pub use value::{Pair, Value};
