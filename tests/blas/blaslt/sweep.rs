//! Random products of every type with every epilogue: the first of each, and a sample of the others.

use super::case::{Factor, Freedom, Kind, Num, Plan};
use super::check::check;
use crate::common::{devices, seed_left_out, seeds};
use std::cell::Cell;
use windlass::{Complex, DType, Device, F8E4M3, F8E5M2, bf16, f16};

/// Whether this device may refuse products of these factors. A GPU may only where its library has none of them in any form:
/// 8-bit floats before Ada (8.9). What it has is done whatever the sizes, orders, distances, alignments and epilogues.
pub fn may_refuse(device: &Device, a: DType) -> bool {
    let eight = matches!(a, DType::F8E4M3 | DType::F8E5M2);
    eight && device.info().compute_capability.is_some_and(|capability| capability < (8, 9))
}

fn sweep<A, B, C, D>(count: u64, kinds: impl Fn(Kind) -> bool)
where
    A: Factor<B, C, D>,
    B: Num,
    C: Num,
    D: Num,
{
    let types = [A::DTYPE, B::DTYPE, C::DTYPE, D::DTYPE];
    let eight = |t: DType| matches!(t, DType::F8E4M3 | DType::F8E5M2);
    for device in devices() {
        let (done, refused) = (Cell::new(0), Cell::new(0));
        for kind in Kind::ALL.into_iter().filter(|kind| kinds(*kind)) {
            seeds(count, |rng, seed| {
                if seed_left_out(seed, 4) {
                    return;
                }
                let free = Freedom {
                    tidy: seed % 3 == 0,
                    fp8: eight(A::DTYPE),
                    fp8_out: eight(D::DTYPE),
                    in_place: C::DTYPE == D::DTYPE,
                    integer: C::DTYPE == DType::I32,
                };
                let plan = Plan::random(rng, kind, free);
                let answered = check::<A, B, C, D>(&device, &plan, rng, may_refuse(&device, A::DTYPE));
                let count = if answered { &done } else { &refused };
                count.set(count.get() + 1);
            });
        }
        let (done, refused) = (done.get(), refused.get());
        println!("{types:?} on {device:?}: {done} products, {refused} refused");
        assert!(may_refuse(&device, A::DTYPE) || (done > 0 && refused == 0));
    }
}

macro_rules! sweeps { ($($name:ident: $a:ty, $b:ty, $c:ty => $d:ty, $kinds:expr;)*) => { $(
    #[test]
    fn $name() {
        sweep::<$a, $b, $c, $d>(9, $kinds);
    }
)* } }
sweeps! {
    products_of_f32: f32, f32, f32 => f32, |_| true;
    products_of_f64: f64, f64, f64 => f64, |_| true;
    products_of_c32: Complex<f32>, Complex<f32>, Complex<f32> => Complex<f32>, Kind::plain;
    products_of_c64: Complex<f64>, Complex<f64>, Complex<f64> => Complex<f64>, Kind::plain;
    products_of_f16: f16, f16, f16 => f16, |_| true;
    products_of_bf16: bf16, bf16, bf16 => bf16, |_| true;
    products_of_f16_into_f32: f16, f16, f32 => f32, |_| true;
    products_of_bf16_into_f32: bf16, bf16, f32 => f32, |_| true;
    products_of_i8_into_i32: i8, i8, i32 => i32, |kind| kind.plain() || matches!(kind, Kind::Relu | Kind::ReluBias);
    products_of_i8_into_i8: i8, i8, i8 => i8, |kind| kind.plain() || matches!(kind, Kind::Relu | Kind::ReluBias);
    products_of_e4m3_into_bf16: F8E4M3, F8E4M3, bf16 => bf16, |_| true;
    products_of_e4m3_into_f32: F8E4M3, F8E4M3, f32 => f32, |_| true;
    products_of_e4m3_into_e4m3: F8E4M3, F8E4M3, bf16 => F8E4M3, |_| true;
    products_of_e4m3_into_e4m3_beside_f16: F8E4M3, F8E4M3, f16 => F8E4M3, |_| true;
    products_of_e4m3_and_e5m2_into_e5m2: F8E4M3, F8E5M2, bf16 => F8E5M2, |_| true;
    products_of_e5m2_and_e4m3_into_f16: F8E5M2, F8E4M3, f16 => f16, |_| true;
    products_of_e5m2_and_e4m3_into_e5m2_beside_f16: F8E5M2, F8E4M3, f16 => F8E5M2, |_| true;
}
