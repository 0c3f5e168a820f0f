//! Registers the products that a worker executable can run: one line per family of types.

use super::beside::{Amax, Extra, Keeps, Sums};
use super::op::Fused;
use super::operands::{All, Two};
use super::types::MatmulTypes;
use crate::core::fp8::{F8E4M3, F8E5M2};
use crate::engines::worker::Registry;
use half::{bf16, f16};
use num_complex::Complex;

/// Products of types without activations other than ReLU.
fn plain<T: MatmulTypes>(registry: &mut Registry) {
    registry.add::<Fused<T, Two, ()>>();
    registry.add::<Fused<T, All, ()>>();
}

/// The same, and with the additional outputs of epilogues.
fn real<T: MatmulTypes>(registry: &mut Registry) {
    plain::<T>(registry);
    second::<T, Keeps<u8>>(registry);
    second::<T, Keeps<T::Aux>>(registry);
    second::<T, Sums<T::Bias>>(registry);
}

/// The same, and with the largest magnitude of D.
fn eight<T: MatmulTypes>(registry: &mut Registry) {
    real::<T>(registry);
    second::<T, Amax<()>>(registry);
    second::<T, Amax<Keeps<u8>>>(registry);
    second::<T, Amax<Keeps<T::Aux>>>(registry);
    second::<T, Amax<Sums<T::Bias>>>(registry);
}

fn second<T: MatmulTypes, W: Extra<T::D>>(registry: &mut Registry) {
    registry.add::<Fused<T, All, W>>();
}

pub(crate) fn register(registry: &mut Registry) {
    macro_rules! each { ($($family:ident: $(($a:ty, $b:ty, $c:ty => $d:ty)),*;)*) => {
        $($($family::<($a, $b, $c, $d)>(registry);)*)*
    } }
    macro_rules! eights { ($($a:ty, $b:ty => $($d:ty),*;)*) => { $( each! {
        real: ($a, $b, bf16 => bf16), ($a, $b, f16 => f16), ($a, $b, f32 => f32);
        eight: $(($a, $b, bf16 => $d), ($a, $b, f16 => $d)),*;
    } )* } }
    each! {
        plain: (Complex<f32>, Complex<f32>, Complex<f32> => Complex<f32>),
            (Complex<f64>, Complex<f64>, Complex<f64> => Complex<f64>), (i8, i8, i32 => i32), (i8, i8, i8 => i8);
        real: (f32, f32, f32 => f32), (f64, f64, f64 => f64), (f16, f16, f16 => f16), (bf16, bf16, bf16 => bf16),
            (f16, f16, f32 => f32), (bf16, bf16, f32 => f32);
    }
    eights! {
        F8E4M3, F8E4M3 => F8E4M3;
        F8E4M3, F8E5M2 => F8E4M3, F8E5M2;
        F8E5M2, F8E4M3 => F8E4M3, F8E5M2;
    }
}
