//! What cuDNN's notes of 9.24 say was wrong before: shapes of depthwise convolutions that take turns, products of tensors with gaps.
//! The results are compared with the definition, so a wrong engine of the library shows here. With 9.19 on an H100 none did: no engine
//! is left out by its release.

use crate::attention::gaps;
use crate::common::{Rng, devices, is_host};
use crate::convolution::oracle::{Case, Numbers, Order, Real, down, near, up};
use windlass::{Device, Tensor, bf16, f16};

/// A convolution with its operands and what is expected: results, magnitudes, terms.
struct Turn<T: Real> {
    case: Case,
    x: Tensor<T>,
    w: Tensor<T>,
    dy: Tensor<T>,
    want: [(Numbers, Numbers, usize); 3],
}

impl<T: Real> Turn<T> {
    fn new(device: &Device, rng: &mut Rng, case: Case, order: Order) -> Self {
        let [x, w, dy] = [&case.x, &case.w, &case.y()].map(|extents| Numbers::random::<T>(rng, extents));
        let [ax, aw, ay] = [&x, &w, &dy].map(Numbers::magnitudes);
        let window: usize = case.w[2..].iter().product();
        let results: usize = case.y().iter().product();
        let want = [
            (case.forward(&x, &w), case.forward(&ax, &aw), window),
            (case.data(&dy, &w), case.data(&ay, &aw), window),
            (case.filter(&x, &dy), case.filter(&ax, &ay), results / case.w[0]),
        ];
        let mut tensor = |numbers: &Numbers| up::<T>(device, rng, numbers, order);
        let (x, w, dy) = (tensor(&x), tensor(&w), tensor(&dy));
        Turn { case, x, w, dy, want }
    }
}

/// All turns are submitted before the first is looked at: nothing but the device's own order lies between them.
fn turns<T: Real>(device: &Device, order: Order) {
    let mut rng = Rng::new(24);
    let shapes = [[1, 32, 28, 28], [1, 32, 14, 17], [1, 32, 7, 7], [1, 32, 31, 5]];
    let turns: Vec<Turn<T>> = shapes
        .iter()
        .map(|x| {
            let case = Case { groups: 32, padding: vec![(1, 1); 2], ..Case::new(x, &[32, 1, 3, 3]) };
            Turn::new(device, &mut rng, case, order)
        })
        .collect();
    let dnn = device.dnn();
    let mut all = Vec::new();
    for round in 0..if is_host(device) { 2 } else { 50 } {
        for (k, turn) in turns.iter().enumerate() {
            let (spec, case) = (turn.case.spec().deterministic(round % 2 == 1), &turn.case);
            let results = [
                dnn.convolve(&spec, &turn.x, &turn.w).unwrap(),
                dnn.convolve_data(&spec, &turn.dy, &turn.w, &case.x[2..]).unwrap(),
                dnn.convolve_filter(&spec, &turn.x, &turn.dy, &case.w[2..]).unwrap(),
            ];
            all.push((round, k, results));
        }
    }
    for (round, k, results) in all {
        for (direction, (result, (want, scale, terms))) in results.into_iter().zip(&turns[k].want).enumerate() {
            let what = format!("{} {order:?} round {round}, shape {k}, direction {direction}", T::DTYPE);
            near(&down(device, &result.await_result().unwrap()), want, scale, *terms, &what);
        }
    }
}

#[test]
fn depthwise_convolutions_of_changing_sizes_in_sequence_are_right() {
    for device in devices() {
        turns::<f16>(&device, Order::Last);
        turns::<f32>(&device, Order::First);
    }
}

#[test]
fn fused_products_of_tensors_with_gaps_are_right() {
    for device in devices() {
        gaps::<f16>(&device, 0..2);
        gaps::<bf16>(&device, 2..3);
    }
}
