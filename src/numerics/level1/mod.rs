//! Vector operations with the increments of BLAS.
//!
//! Increments: element `i` lies at `i * inc`. With a negative increment, element 0 lies at `(1 - n) * inc`, so the
//! vector is read backwards. A zero increment means the same element `n` times; for scal, nrm2, asum, iamax and iamin it
//! means an empty vector.
//!
//! Sums do not depend on the number of threads: a vector is cut into leaves of 4096 elements, each summed in a fixed
//! set of lanes, and the leaves are added along a binary tree in f64. The error grows with the number of terms per lane
//! (128, or 512 of complex elements) and the depth of the tree, not with `n`. Norms are computed in f64 throughout.
//! Threads process branches of the tree.
//!
//! | module | what it does |
//! |---|---|
//! | `kernel` | the loops over contiguous reals, compiled for AVX2 too |
//! | `element` | how each type becomes contiguous reals |
//! | `view` | increments |
//! | `reduce` | the tree; dot, nrm2 and asum |
//! | `extreme` | iamax and iamin |
//! | `update` | axpy and scal |
//! | `pairs` | copy, swap and rotations |
//! | `field` | the operations of the four types of BLAS, for these routines and for level 2 |

mod element;
mod extreme;
mod field;
mod kernel;
mod pairs;
mod reduce;
mod update;
pub(crate) mod view;

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

pub(crate) use extreme::find_extreme;
pub(crate) use field::Field;
use kernel::Factor;
pub(crate) use pairs::{copy, rot, rot_real, rotm, rotmg, swap};

/// From this many elements, it pays to wake other threads. Below, one core gets nearly the full memory bandwidth.
const PARALLEL: usize = 1 << 17;
/// Elements that are gathered or converted at a time.
const PIECE: usize = 256;

/// An element type for which the host engine has vector operations.
///
/// Each function does nothing, or returns zero, if a slice is too short for its vector. `n` counts elements.
pub(crate) trait HostLevel1: Copy + Send + Sync {
    /// The type of `alpha`: f32 for halves.
    type Scalar: Copy;
    /// The type of a norm: the real type.
    type Norm: Copy;

    /// `y = alpha * x + y`. With a zero `alpha`, y does not change, whatever x holds.
    fn axpy(n: usize, alpha: Self::Scalar, x: &[Self], incx: isize, y: &mut [Self], incy: isize);

    /// `x = alpha * x`. A zero `alpha` is not a special case: a NaN stays a NaN. Does nothing for `incx == 0`.
    fn scal(n: usize, alpha: Self::Scalar, x: &mut [Self], incx: isize);

    /// The sum of `x_i * y_i`, neither conjugated.
    fn dot(n: usize, x: &[Self], incx: isize, y: &[Self], incy: isize) -> Self;

    /// The sum of `conj(x_i) * y_i`; for real types the same as `dot`.
    fn dotc(n: usize, x: &[Self], incx: isize, y: &[Self], incy: isize) -> Self;

    /// The Euclidean norm; it overflows or underflows only if the result does. Zero for `incx == 0`; NaN if x holds a
    /// NaN, else infinity if x holds one.
    fn nrm2(n: usize, x: &[Self], incx: isize) -> Self::Norm;
}

macro_rules! level1 {
    ($($t:ty, $scalar:ty, $norm:ty, |$a:ident| $factor:expr, |$sum:ident| $finish:expr, |$s:ident| $root:expr;)*) => {$(
        impl HostLevel1 for $t {
            type Scalar = $scalar;
            type Norm = $norm;

            fn axpy(n: usize, $a: $scalar, x: &[$t], incx: isize, y: &mut [$t], incy: isize) {
                update::axpy(n, $factor, x, incx, y, incy);
            }

            fn scal(n: usize, $a: $scalar, x: &mut [$t], incx: isize) {
                update::scal(n, $factor, x, incx);
            }

            fn dot(n: usize, x: &[$t], incx: isize, y: &[$t], incy: isize) -> $t {
                let $sum = reduce::dot(n, x, incx, y, incy, false);
                $finish
            }

            fn dotc(n: usize, x: &[$t], incx: isize, y: &[$t], incy: isize) -> $t {
                let $sum = reduce::dot(n, x, incx, y, incy, true);
                $finish
            }

            fn nrm2(n: usize, x: &[$t], incx: isize) -> $norm {
                let $s = reduce::nrm2(n, x, incx);
                $root
            }
        }
    )*};
}
level1! {
    f32, f32, f32, |a| Factor::real(a), |s| s.re as f32, |r| r as f32;
    f64, f64, f64, |a| Factor::real(a), |s| s.re, |r| r;
    Complex32, Complex32, f32, |a| Factor::complex(a), |s| Complex32::new(s.re as f32, s.im as f32), |r| r as f32;
    Complex64, Complex64, f64, |a| Factor::complex(a), |s| s, |r| r;
    f16, f32, f16, |a| Factor::real(a), |s| f16::from_f32(s.re as f32), |r| f16::from_f32(r as f32);
    bf16, f32, bf16, |a| Factor::real(a), |s| bf16::from_f32(s.re as f32), |r| bf16::from_f32(r as f32);
}
