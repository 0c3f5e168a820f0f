//! Fourier transforms on the CPU: one-dimensional ones of the crates `rustfft` and `realfft`, and our own driver around
//! them for any number of axes, strides and batches.
//!
//! A transform is a few passes, one for each axis: every line along the axis is gathered into a packed block,
//! transformed there, and scattered (packed lines are transformed where they lie). The blocks are shared among the
//! threads of the caller's pool. How the lines are shared out does not change the results, so the same call gives the
//! same bits for any number of threads.
//!
//! | file | what it does |
//! |---|---|
//! | `threads` | ranges over threads |
//! | `plans` | cached plans of transforms |
//! | `lines` | the lines along an axis, and how their elements are gathered and scattered |
//! | `pass` | the transforms of all lines along one axis |
//! | `transform` | passes over all axes: complex, real to complex, complex to real |
//! | `trigonometric` | cosine and sine transforms |
//! | `convolve`, `frames` | convolutions; short-time transforms |
//! | `roll` | arrays rotated along their axes |
//! | `portable` | plans for the unit tests, which compile faster |
//! | `halves` | transforms of f16 and bf16, in f32 |
//!
//! Data that does not fit its slices is left alone: the checks have reported it before.

mod convolve;
mod frames;
mod halves;
mod lines;
mod pass;
mod plans;
#[cfg(test)]
mod portable;
mod roll;
mod threads;
mod transform;
mod trigonometric;

use crate::core::room::filled;
use num_complex::Complex;
use plans::Plans;
#[cfg(not(test))]
use realfft::RealFftPlanner;
use realfft::{ComplexToReal, RealToComplex};
#[cfg(not(test))]
use rustfft::FftPlanner;
use rustfft::num_traits::Float;
use rustfft::{Fft, FftDirection};
use std::sync::Arc;
#[cfg(test)]
use {portable::RealPlanner as RealFftPlanner, rustfft::FftPlannerScalar as FftPlanner};

pub(super) use convolve::{convolve, convolve_complex};
pub(super) use frames::{istft, istft_halves, stft, stft_halves};
pub(super) use halves::run_halves;
pub(super) use roll::roll;
pub(super) use transform::Data;
pub(super) use transform::{prepare, run};
pub(super) use trigonometric::{trigonometric, trigonometric_halves};

/// A type that transforms are computed in.
pub(super) trait Real: rustfft::FftNum + Float + Default {
    /// Its cached plans.
    fn plans() -> &'static Plans<Self>;
    /// The nearest number.
    fn nearest(x: f64) -> Self;
    /// Makes a new plan. This is a method of each type and not a generic function: otherwise each program that uses
    /// transforms would compile the planner and all its kernels again.
    fn complex(n: usize, direction: FftDirection) -> Arc<dyn Fft<Self>>;
    /// As [`complex`](Self::complex).
    fn forward(n: usize) -> Arc<dyn RealToComplex<Self>>;
    /// As [`complex`](Self::complex).
    fn backward(n: usize) -> Arc<dyn ComplexToReal<Self>>;
}

macro_rules! reals { ($($t:ty)*) => { $(
    impl Real for $t {
        fn plans() -> &'static Plans<Self> {
            static PLANS: Plans<$t> = Plans::new();
            &PLANS
        }
        fn nearest(x: f64) -> Self {
            x as $t
        }
        #[inline(never)]
        fn complex(n: usize, direction: FftDirection) -> Arc<dyn Fft<Self>> {
            FftPlanner::<$t>::new().plan_fft(n, direction)
        }
        #[inline(never)]
        fn forward(n: usize) -> Arc<dyn RealToComplex<Self>> {
            RealFftPlanner::<$t>::new().plan_fft_forward(n)
        }
        #[inline(never)]
        fn backward(n: usize) -> Arc<dyn ComplexToReal<Self>> {
            RealFftPlanner::<$t>::new().plan_fft_inverse(n)
        }
    }
)* } }
reals! { f32 f64 }

fn zero<T: Real>() -> Complex<T> {
    Complex::new(T::zero(), T::zero())
}
