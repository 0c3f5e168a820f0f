//! Nets of sizes for which cuDNN has other algorithms: against those of the host in f64.

use super::{Case, difference, down, none_differs};
use crate::common::{Rng, devices, is_host};
use crate::convolution::oracle::Real;
use windlass::dnn::{RecurrentBias, RecurrentCell, Sequences};
use windlass::{DType, Device, bf16, f16};

/// What both passes make.
fn made<T: Real>(device: &Device, case: &Case, [x, w, dy]: [&[f64]; 3]) -> Vec<Vec<f64>> {
    let up = |extents: &[usize], all: &[f64]| {
        device.tensor(extents, all.iter().map(|x| T::of(*x)).collect::<Vec<T>>()).unwrap()
    };
    let (x, w, dy) = (up(&case.x(), x), up(&[w.len()], w), up(&case.y(), dy));
    let (net, dnn) = (case.net(), device.dnn());
    let mut sequences = Sequences::new(&x);
    if let Some(lengths) = &case.lengths {
        sequences = sequences.lengths(lengths);
    }
    let what = format!("{} {:?} {case:?}", T::DTYPE, device.kind());
    let (once, ..) = dnn.recur(&net, &sequences, &w).expect(&what).await_result().expect(&what);
    let (pending, training) = dnn.recur_training(&net, &sequences, &w).expect(&what);
    let (y, h, _) = pending.await_result().expect(&what);
    let gradients = dnn.recur_gradients(&net, &sequences, &w, &y, &dy, [None, None], training);
    let (dx, dw, dh, _) = gradients.expect(&what).await_result().expect(&what);
    [once, y, h, dx, dw, dh].iter().map(|x| down(device, x)).collect()
}

fn compare<T: Real>(host: &Device, device: &Device, case: &Case) -> Option<String> {
    let rng = &mut Rng::new(5);
    let mut list =
        |n: usize, factor: f64| -> Vec<f64> { (0..n).map(|_| T::of(rng.real() * factor).number()).collect() };
    let count = |e: [usize; 3]| e.iter().product::<usize>();
    let w = list(case.net().parameter_count().unwrap(), 1.0 / (case.hidden as f64).sqrt());
    let (x, dy) = (list(count(case.x()), 1.0), list(count(case.y()), 1.0));
    let want = made::<f64>(host, case, [&x, &w, &dy]);
    let got = made::<T>(device, case, [&x, &w, &dy]);
    let names = ["y alone", "y", "h", "dx", "dparameters", "dh0"];
    let slack = if T::DTYPE == DType::F32 { 20.0 } else { 1.0 };
    // A clipped sum beside 0 has a slope or none, by its rounding.
    let count = if case.cell == RecurrentCell::Relu { 3 } else { names.len() };
    let all = (0..count).map(|k| difference::<T>(names[k], &got[k], &want[k], slack));
    none_differs(&format!("{} {:?} {case:?}", T::DTYPE, device.kind()), all)
}

#[test]
fn larger_nets_are_those_of_the_host() {
    let host = Device::host().unwrap();
    let mut wrong = vec![];
    for device in &devices() {
        let gated = [RecurrentCell::Lstm, RecurrentCell::Gru, RecurrentCell::GruResetFirst];
        let plain = [RecurrentCell::Relu, RecurrentCell::Tanh].into_iter().chain(gated).map(|cell| (cell, false));
        for (cell, peepholes) in plain.chain([(RecurrentCell::Lstm, true)]) {
            let all = [(8, 128, 128, 1, false), (16, 128, 256, 1, false), (3, 40, 96, 2, true), (5, 33, 129, 1, true)];
            // That of the host is the same for the first two.
            for (batch, input, hidden, layers, both_ways) in all.into_iter().skip(if is_host(device) { 2 } else { 0 }) {
                let (time, bias) = (6, RecurrentBias::Both);
                let case = Case {
                    cell,
                    time,
                    batch,
                    input,
                    hidden,
                    projection: None,
                    layers,
                    both_ways,
                    bias,
                    peepholes,
                    lengths: None,
                    initial: [false; 2],
                };
                wrong.extend(compare::<f32>(&host, device, &case));
                wrong.extend(compare::<f16>(&host, device, &case));
                if hidden == 129 {
                    let lengths = Some(vec![6, 2, 0, 5, 1]);
                    wrong.extend(compare::<bf16>(&host, device, &Case { lengths, ..case }));
                }
            }
        }
    }
    super::report(&wrong);
}
