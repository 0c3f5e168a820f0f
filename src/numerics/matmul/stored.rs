//! The types of C, D, bias and auxiliary values.

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::super::widen::{Narrow, Widen};
use crate::core::fp8::{F8E4M3, F8E5M2};

/// A type whose values can be converted to scalars of type `W`, and to which such scalars can be rounded.
pub trait Stored<W>: Copy + Default + Send + Sync + 'static {
    /// Converts `src` to `dst`, up to the shorter length.
    fn up(src: &[Self], dst: &mut [W]);
    /// Rounds `src` to `dst`, up to the shorter length: to nearest, ties to even.
    fn down(src: &[W], dst: &mut [Self]);
}

macro_rules! same { ($($t:ty)*) => { $(
    impl Stored<$t> for $t {
        fn up(src: &[Self], dst: &mut [Self]) {
            dst.iter_mut().zip(src).for_each(|(y, x)| *y = *x);
        }
        fn down(src: &[Self], dst: &mut [Self]) {
            Self::up(src, dst);
        }
    }
)* } }
same! { f32 f64 Complex32 Complex64 i32 }

macro_rules! narrow { ($($t:ty)*) => { $(
    impl Stored<f32> for $t {
        fn up(src: &[Self], dst: &mut [f32]) {
            Widen::widen(src, dst);
        }
        fn down(src: &[f32], dst: &mut [Self]) {
            Narrow::narrow(src, dst);
        }
    }
)* } }
narrow! { f16 bf16 F8E4M3 F8E5M2 }

impl Stored<f32> for i8 {
    fn up(src: &[Self], dst: &mut [f32]) {
        Widen::widen(src, dst);
    }
    /// Saturates; NaN becomes 0.
    fn down(src: &[f32], dst: &mut [Self]) {
        dst.iter_mut().zip(src).for_each(|(y, x)| *y = x.round_ties_even() as i8);
    }
}

impl Stored<i32> for i8 {
    fn up(src: &[Self], dst: &mut [i32]) {
        dst.iter_mut().zip(src).for_each(|(y, x)| *y = (*x).into());
    }
    fn down(src: &[i32], dst: &mut [Self]) {
        dst.iter_mut().zip(src).for_each(|(y, x)| *y = (*x).clamp(-128, 127) as i8);
    }
}
