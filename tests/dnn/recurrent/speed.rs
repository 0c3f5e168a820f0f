//! How long an LSTM takes: `--ignored recurrent::speed --nocapture`. Prints; asserts nothing.

use crate::common::{LONG, devices, is_host};
use std::time::Instant;
use windlass::dnn::{DnnElement, Recurrent, RecurrentCell, Sequences};
use windlass::{Device, Tensor, f16};

/// Microseconds of a call: the least of some rounds, each of many calls.
fn least(device: &Device, counts: [u32; 2], mut call: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    for round in 0..counts[0] {
        let begin = Instant::now();
        (0..counts[1]).for_each(|_| call());
        device.synchronize(LONG).unwrap();
        if round > 0 {
            least = least.min(begin.elapsed().as_secs_f64() * 1e6 / f64::from(counts[1]));
        }
    }
    least
}

fn filled<T: DnnElement>(device: &Device, extents: &[usize], of: fn(f32) -> T, factor: f32) -> Tensor<T> {
    let len = extents.iter().product();
    let all: Vec<T> = (0..len).map(|k: usize| of(((k * 7919 % 1024) as f32 / 1024.0 - 0.5) * factor)).collect();
    device.tensor(extents, all).unwrap()
}

fn of<T: DnnElement>(device: &Device, sizes: [usize; 5], tf32: bool, of: fn(f32) -> T) {
    let [_, _, input, hidden, layers] = sizes;
    let name = if tf32 { "lstm with TF32" } else { "lstm" };
    by(device, name, Recurrent::lstm(input, hidden).layers(layers).tf32(tf32), sizes, of);
}

/// Nets that cuDNN lacks.
fn beyond_cudnn<T: DnnElement>(device: &Device, sizes: [usize; 5], of: fn(f32) -> T) {
    let [_, _, input, hidden, layers] = sizes;
    by(device, "lstm with peepholes", Recurrent::lstm(input, hidden).layers(layers).peepholes(true), sizes, of);
    let gru = Recurrent::new(RecurrentCell::GruResetFirst, input, hidden).layers(layers);
    by(device, "gru with reset first", gru, sizes, of);
}

fn by<T: DnnElement>(device: &Device, name: &str, net: Recurrent, sizes: [usize; 5], of: fn(f32) -> T) {
    let [time, batch, input, hidden, layers] = sizes;
    let counts = if is_host(device) { [3, 1] } else { [6, 10] };
    let x = filled(device, &[time, batch, input], of, 2.0);
    let w = filled(device, &[net.parameter_count().unwrap()], of, 0.06);
    let (sequences, dnn) = (Sequences::new(&x), device.dnn());
    let begin = Instant::now();
    drop(dnn.recur(&net, &sequences, &w).unwrap().await_result().unwrap());
    let first = begin.elapsed().as_secs_f64() * 1e3;
    let forward = least(device, counts, || drop(dnn.recur(&net, &sequences, &w).unwrap().into_output()));
    let dy = filled(device, &[time, batch, hidden], of, 2.0);
    let both = least(device, counts, || {
        let (made, training) = dnn.recur_training(&net, &sequences, &w).unwrap();
        let (y, ..) = made.into_output();
        drop(dnn.recur_gradients(&net, &sequences, &w, &y, &dy, [None, None], training).unwrap().into_output());
    });
    println!(
        "{:?} {name} {} t{time} b{batch} i{input} h{hidden} l{layers}: first {first:.1} ms, forward {forward:.1} us, forward + backward {both:.1} us",
        device.kind(),
        T::DTYPE
    );
}

#[test]
#[ignore = "a measurement"]
fn lstm() {
    for device in &devices() {
        if is_host(device) && std::env::var_os("WINDLASS_TEST_DEVICE").is_some() {
            continue;
        }
        if is_host(device) {
            of(device, [32, 64, 1024, 1024, 1], false, |x| x);
            of(device, [64, 16, 256, 256, 2], false, |x| x);
            continue;
        }
        beyond_cudnn(device, [128, 64, 1024, 1024, 1], |x| x);
        beyond_cudnn(device, [128, 64, 1024, 1024, 1], f16::from_f32);
        for layers in [1, 2] {
            of(device, [128, 64, 1024, 1024, layers], false, |x| x);
            of(device, [128, 64, 1024, 1024, layers], true, |x| x);
            of(device, [128, 64, 1024, 1024, layers], false, f16::from_f32);
        }
        of(device, [32, 8, 128, 128, 1], false, f16::from_f32);
    }
}
