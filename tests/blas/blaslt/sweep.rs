//! Random products of every type with every epilogue.

use super::case::{Factor, Freedom, Kind, Num, Plan};
use super::check::check;
use crate::common::{devices, is_host, seeds};
use std::cell::Cell;
use windlass::blaslt::Order;
use windlass::{Complex, DType, F8E4M3, F8E5M2, Transpose, bf16, f16};

/// What cuBLASLt may refuse, case by case. Everything else must work on a GPU.
pub fn may_refuse(plan: &Plan, types: [DType; 4]) -> bool {
    let [a, _, _, d] = types;
    let [.., lay_c, lay_d] = &plan.lay;
    let half = matches!(a, DType::F16 | DType::Bf16);
    let float = half || a == DType::F32;
    let mixed = d != a;
    match () {
        // Its kernels for bytes want columns, A transposed and B not, and multiples of 16.
        () if matches!(a, DType::I8 | DType::F8E4M3 | DType::F8E5M2) && !plan.tidy => true,
        // ... and have few epilogues; the networks' own are in `refusals.rs`.
        () if matches!(a, DType::I8 | DType::F8E4M3 | DType::F8E5M2) => {
            plan.kind != Kind::None || plan.batch > 1 || plan.outer || plan.on_device || plan.separate
        }
        // Nothing but the product.
        () if a == DType::F64 || a.is_complex() => {
            plan.kind != Kind::None || conjugated_rows(plan) || lay_c.order != lay_d.order
        }
        // C and D in different orders, a bias along the rows of a row-major D, two types of halves' sums.
        () if plan.separate && lay_c.order != lay_d.order => true,
        () if lay_d.order == Order::Row && plan.kind.biased() => true,
        () if mixed && plan.kind != Kind::None => true,
        // Auxiliary matrices and gradients: in multiples of 16, and one at a time.
        () if plan.kind.has_aux() || plan.kind.gradient() => {
            !(plan.tidy && half) || plan.batch > 1 || plan.on_device || matches!(plan.kind, Kind::BgradA | Kind::BgradB)
        }
        () if plan.kind != Kind::None => !(plan.tidy && float) || plan.on_device,
        () => !float,
    }
}

/// A conjugated factor that is not transposed in memory: no operation of the library says that.
fn conjugated_rows(plan: &Plan) -> bool {
    plan.trans.contains(&Transpose::Conjugate) && plan.lay.iter().any(|lay| lay.order == Order::Row)
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
                let free = Freedom {
                    tidy: seed % 3 == 0,
                    complex: A::COMPLEX,
                    fp8: eight(A::DTYPE),
                    fp8_out: eight(D::DTYPE),
                    in_place: C::DTYPE == D::DTYPE,
                    integer: C::DTYPE == DType::I32,
                };
                let plan = Plan::random(rng, kind, free);
                let answered = check::<A, B, C, D>(&device, &plan, rng, may_refuse(&plan, types));
                let count = if answered { &done } else { &refused };
                count.set(count.get() + 1);
            });
        }
        let (done, refused) = (done.get(), refused.get());
        println!("{types:?} on {device:?}: {done} products, {refused} refused");
        assert!(done > 0 && (!is_host(&device) || refused == 0));
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
