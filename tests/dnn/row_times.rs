//! Times beside `benches/networks.py`: `dnn --ignored --nocapture times`, on a GPU.

use std::time::Instant;
use windlass::dnn::{Affine, NormKind, Pool};
use windlass::reductions::SoftmaxElement;
use windlass::{Device, Element, Tensor, bf16};

const BATCH: usize = 20;

fn row(name: &str, bytes: usize, mut call: impl FnMut(bool)) {
    let mut times = vec![];
    for _ in 0..12 {
        let began = Instant::now();
        (0..BATCH).for_each(|k| call(k + 1 == BATCH));
        times.push(began.elapsed().as_secs_f64() / BATCH as f64);
    }
    let times = &mut times[2..];
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    println!("{name:<44} {:9.1} us {:8.0} GB/s", median * 1e6, bytes as f64 / median / 1e9);
}

/// A tensor of numbers from 0 to 1.
fn filled<T: Element>(device: &Device, extents: [usize; 2]) -> Tensor<T> {
    let x = device.tabulate(extents, || {
        let noise = (windlass::expressions::index() * 2_654_435_761i64) & 0xffffi64;
        (noise.cast::<f32>() / 65536.0f32).cast::<T>()
    });
    x.unwrap().await_result().unwrap()
}

macro_rules! calls {
    ($name:expr, $bytes:expr, $call:expr) => {
        row($name, $bytes, |last| {
            let pending = $call.unwrap();
            if last {
                drop(pending.await_result().unwrap());
            }
        })
    };
}

fn rows<T: SoftmaxElement>(device: &Device, name: &str) {
    let (dnn, size) = (device.dnn(), size_of::<T>());
    for [n, m] in [[8192, 128], [8192, 4096], [8192, 32000]] {
        let x = filled::<T>(device, [n, m]);
        calls!(&format!("softmax {n} x {m} {name}"), 2 * n * m * size, device.softmax(&x, 1));
        calls!(&format!("log_softmax {n} x {m} {name}"), 2 * n * m * size, device.log_softmax(&x, 1));
    }
    for [n, m] in [[8192, 4096], [1024, 12288]] {
        let (x, dy) = (filled::<T>(device, [n, m]), filled::<T>(device, [n, m]));
        let [w, b] = [0, 1].map(|_| filled::<T>(device, [1, m]));
        let (w, b) = (w.reshape([m]).unwrap(), b.reshape([m]).unwrap());
        let affine = Affine::new(&w, &b);
        for (what, norm) in [("layer norm", NormKind::Layer(1)), ("rms norm", NormKind::Rms(1))] {
            calls!(&format!("{what} {n} x {m} {name}"), 2 * n * m * size, dnn.norm(&x, norm, 1e-5, &affine));
            let (_, moments) = dnn.norm(&x, norm, 1e-5, &affine).unwrap().await_result().unwrap();
            let back = format!("{what} gradient {n} x {m} {name}");
            calls!(&back, 3 * n * m * size, dnn.norm_gradient(&x, &dy, &moments, norm, &affine));
            let weights = format!("{what} weight gradient {n} x {m} {name}");
            calls!(&weights, 2 * n * m * size, dnn.norm_weight_gradient(&x, &dy, &moments, norm));
        }
    }
}

fn pools(device: &Device) {
    let (dnn, flat) = (device.dnn(), filled::<f32>(device, [32 * 64, 112 * 112]));
    let x = flat.reshape([32, 64, 112, 112]).unwrap();
    let pool = Pool::new([3, 3]).stride([2]).padding([1]);
    let bytes = 4 * (x.len() + x.len() / 4);
    calls!("max pool 3 s 2, 32 x 64 x 112 x 112 f32", bytes, dnn.max_pool(&x, &pool));
    calls!("max pool with places", bytes + 2 * x.len(), dnn.max_pool_places(&x, &pool));
    calls!("average pool", bytes, dnn.average_pool(&x, &pool));
    let (y, places) = dnn.max_pool_places(&x, &pool).unwrap().await_result().unwrap();
    calls!("max pool gradient", bytes + 2 * x.len(), dnn.max_pool_gradient(&y, &places, x.extents(), &pool));
    calls!("average pool gradient", bytes, dnn.average_pool_gradient(&y, x.extents(), &pool));
}

#[test]
#[ignore = "prints times"]
fn times() {
    let device = crate::common::builders().remove(0).open().unwrap();
    println!("{:?}", device.info().name);
    rows::<f32>(&device, "f32");
    rows::<bf16>(&device, "bf16");
    pools(&device);
}
