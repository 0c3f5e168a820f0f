//! What must hold for any shape: plain products and those with a bias are within the bounds of the oracle, whatever the
//! sizes, orders, transposes, gaps, batches and factors.

use super::case::{Factor, Freedom, Kind, Num, Plan};
use super::check::check;
use super::sweep::may_refuse;
use crate::common::{Rng, devices, down, is_host, up};
use proptest::prelude::*;
use windlass::tensor::Layout;
use windlass::{Complex, DType, F8E4M3, Matmul, bf16, f16};

fn products<A, D>(kind: Kind, sizes: [usize; 3], seed: u64)
where
    A: Factor<A, D, D>,
    D: Num,
{
    let free = Freedom {
        fp8: A::DTYPE == DType::F8E4M3,
        in_place: true,
        integer: D::DTYPE == DType::I32,
        ..Freedom::default()
    };
    for device in devices() {
        let rng = &mut Rng::new(seed);
        let plan = Plan::of_sizes(rng, kind, free, sizes);
        // See `blaslt`, "What a GPU's library leaves".
        let left = plan.on_device.contains(&true) && (plan.alpha, plan.beta) == (0.0, 1.0) && sizes[..2].contains(&1);
        if left && !is_host(&device) {
            continue;
        }
        check::<A, A, D, D>(&device, &plan, rng, may_refuse(&device, A::DTYPE));
    }
}

/// No epilogue more often: it is what every type has.
fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![3 => Just(Kind::None), 1 => Just(Kind::Bias)]
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![3 => 1usize..20, 1 => 20usize..100]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn products_are_those_of_the_oracle(
        kind in kind(), m in size(), n in size(), k in prop_oneof![1 => Just(0usize), 15 => size()], seed in any::<u64>()
    ) {
        let sizes = [m, n, k];
        products::<f32, f32>(kind, sizes, seed);
        products::<f64, f64>(kind, sizes, seed);
        products::<Complex<f32>, Complex<f32>>(kind, sizes, seed);
        products::<Complex<f64>, Complex<f64>>(kind, sizes, seed);
        products::<f16, f16>(kind, sizes, seed);
        products::<bf16, bf16>(kind, sizes, seed);
        products::<f16, f32>(kind, sizes, seed);
        products::<i8, i32>(kind, sizes, seed);
        products::<i8, i8>(kind, sizes, seed);
        products::<F8E4M3, bf16>(kind, sizes, seed);
        products::<F8E4M3, f32>(kind, sizes, seed);
    }
}

/// What has no elements lies nowhere, however far apart its matrices are said to be.
#[test]
fn factors_without_elements_may_be_said_to_lie_apart() {
    for device in devices() {
        let (none, d) = (up(&device, Vec::<f32>::new()), up(&device, [1.0f32, 2.0, 3.0]));
        let (a, b) = (Layout::columns(1, 0).batch(3, 5), Layout::columns(0, 1).batch(3, 9));
        let (a, b) = (none.view(a).unwrap(), none.view(b).unwrap());
        let d = d.with_layout(Layout::columns(1, 1).batch(3, 1)).unwrap();
        let d = device.blas_lt().matmul(Matmul::new().beta(2.0), a, b, d).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &d), [2.0, 4.0, 6.0], "{device:?}");
    }
}

/// Of a hunt through 4000 seeds for each type on an H200 (cuBLASLt 13.1): a D of an odd leading dimension beside a C of an
/// even one was a device fault in halves; where alpha is 0, beta 1 and D a vector, the library left D as it was.
#[test]
fn what_once_went_wrong_is_right() {
    const WRONG: [(u64, Kind, [usize; 3]); 5] = [
        (31, Kind::None, [24, 34, 12]),
        (153, Kind::None, [50, 18, 10]),
        (181, Kind::None, [50, 18, 10]),
        (2134, Kind::Bias, [1, 57, 7]),
        (3298, Kind::Bias, [1, 21, 14]),
    ];
    for (seed, kind, sizes) in WRONG {
        products::<f16, f16>(kind, sizes, seed);
        products::<bf16, bf16>(kind, sizes, seed);
        products::<f32, f32>(kind, sizes, seed);
    }
}
