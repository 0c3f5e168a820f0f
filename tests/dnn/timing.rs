//! How long a convolution and an attention take on a GPU: `--ignored timing --nocapture`. Prints; asserts nothing.

use crate::common::{LONG, devices, is_host};
use std::time::Instant;
use windlass::dnn::{Attention, Convolution, Corner};
use windlass::tensor::Layout;
use windlass::{Device, Element, Tensor, bf16, f16};

/// Microseconds of a call: the least of some rounds, each of many calls.
fn least(device: &Device, mut call: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    for round in 0..8 {
        let count = if round == 0 { 3 } else { 20 };
        let begin = Instant::now();
        (0..count).for_each(|_| call());
        device.synchronize(LONG).unwrap();
        if round > 0 {
            least = least.min(begin.elapsed().as_secs_f64() * 1e6 / f64::from(count));
        }
    }
    least
}

fn filled<T: Element>(device: &Device, len: usize, of: impl Fn(f32) -> T) -> Tensor<T> {
    let all: Vec<T> = (0..len).map(|k| of((k * 7919 % 1024) as f32 / 1024.0 - 0.5)).collect();
    device.upload(all).unwrap().into_output().into()
}

#[test]
#[ignore = "a measurement"]
fn timing() {
    for device in devices().iter().filter(|device| !is_host(device)) {
        let (n, c, s) = (32isize, 64isize, 56isize);
        let last = |n: isize, c: isize, s: isize| {
            Layout::new([n, c, s, s].map(|n| n as usize), [c * s * s, 1, c * s, c], 0).unwrap()
        };
        let x = filled(device, (n * c * s * s) as usize, f16::from_f32).with_layout(last(n, c, s)).unwrap();
        let w = filled(device, (c * c * 9) as usize, f16::from_f32).with_layout(last(c, c, 3)).unwrap();
        let conv = Convolution::new().padding(1);
        let dnn = device.dnn();
        let begin = Instant::now();
        dnn.convolve(&conv, &x, &w).unwrap().await_result().unwrap();
        println!("convolve, first: {:.0} us", begin.elapsed().as_secs_f64() * 1e6);
        let forward = least(device, || drop(dnn.convolve(&conv, &x, &w).unwrap().into_output()));
        let dy = dnn.convolve(&conv, &x, &w).unwrap().await_result().unwrap();
        let data = least(device, || drop(dnn.convolve_data(&conv, &dy, &w, [56, 56]).unwrap().into_output()));
        let filter = least(device, || drop(dnn.convolve_filter(&conv, &x, &dy, [3, 3]).unwrap().into_output()));
        println!("convolve 32x64x56x56 3x3 f16 NHWC: {forward:.1} us, data {data:.1}, filter {filter:.1}");
        for s in [2048usize, 4096, 8192] {
            let rows = |heads: usize| filled(device, heads * s * 128, bf16::from_f32);
            let tensor =
                |heads: usize| rows(heads).with_layout(Layout::row_major([1, heads, s, 128]).unwrap()).unwrap();
            let (q, k, v, dy) = (tensor(64), tensor(8), tensor(8), tensor(64));
            let spec = Attention::new().causal(Corner::TopLeft);
            let begin = Instant::now();
            let (o, sums) = dnn.attend_training(&spec, &q, &k, &v).unwrap().await_result().unwrap();
            let first = begin.elapsed().as_secs_f64() * 1e3;
            let forward = least(device, || drop(dnn.attend(&spec, &q, &k, &v).unwrap().into_output()));
            let call = || dnn.attend_gradients(&spec, &q, &k, &v, &o, &dy, &sums).unwrap();
            let backward = least(device, || drop(call().into_output()));
            let flops = 4.0 * 64.0 * (s * s) as f64 * 128.0 / 2.0;
            let rate = |us: f64, times: f64| flops * times / us / 1e6;
            let (of_forward, of_backward) = (rate(forward, 1.0), rate(backward, 2.5));
            println!(
                "attend s {s}: first {first:.0} ms, {forward:.0} us ({of_forward:.0} TFLOP/s), gradients {backward:.0} us ({of_backward:.0})"
            );
            // What lies behind the lengths is copied, with zeros there.
            let lengths: Tensor<i32> = device.upload(vec![s as i32]).unwrap().into_output().into();
            let spec = Attention::new().causal(Corner::TopLeft).lengths(&lengths, &lengths);
            let (o, sums) = dnn.attend_training(&spec, &q, &k, &v).unwrap().await_result().unwrap();
            let forward = least(device, || drop(dnn.attend(&spec, &q, &k, &v).unwrap().into_output()));
            let call = || dnn.attend_gradients(&spec, &q, &k, &v, &o, &dy, &sums).unwrap();
            let backward = least(device, || drop(call().into_output()));
            println!("attend s {s} with lengths: {forward:.0} us, gradients {backward:.0} us");
        }
    }
}
