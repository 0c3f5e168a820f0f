//! Softmax, normalisations and pooling: microseconds of a call from the first submission to the end of the last, and of one on the
//! device. `benches/networks.py` has the same rows for PyTorch.

use crate::core::clock::Clock;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::core::op::Output;
use crate::device::Device;
use crate::device::tensor::Tensor;
use crate::libraries::dnn::{Affine, NormKind, Pool};
use crate::libraries::reductions::SoftmaxElement;
use half::bf16;

const BATCH: usize = 20;
/// Bytes that take about a millisecond.
const AHEAD: usize = 3 << 30;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2] * 1e6
}

fn row<O: Output>(device: &Device, name: &str, bytes: usize, call: impl Fn(&Device) -> Result<PendingDispatch<O>>) {
    let timed = device.timed();
    let mut times = vec![];
    for _ in 0..12 {
        let began = Clock::SYSTEM.start();
        for k in 0..BATCH {
            let pending = call(device).unwrap();
            if k + 1 == BATCH {
                drop(pending.await_result().unwrap_or_else(|_| panic!("{name}")));
            }
        }
        times.push(began.elapsed().as_secs_f64() / BATCH as f64);
    }
    let all = median(times.split_off(2));
    // Behind work that takes longer than all submissions, so that nothing waits for the host.
    let mut own = vec![];
    for _ in 0..4 {
        let ahead = device.zeros::<u8>(AHEAD).unwrap();
        let pending: Vec<_> = (0..5).map(|_| call(&timed).unwrap()).collect();
        for pending in pending {
            let timed = pending.await_timed().unwrap_or_else(|_| panic!("{name}"));
            own.extend(timed.device.map(|took| took.as_secs_f64()));
        }
        drop(ahead);
    }
    let own = median(own);
    println!("{name:<44} {all:9.1} us {own:9.1} {:8.0} GB/s", bytes as f64 / own / 1e3);
}

/// A tensor of numbers from 0 to 1.
fn filled<T: Element>(device: &Device, extents: [usize; 2]) -> Tensor<T> {
    let x = device.tabulate(extents, || {
        let noise = (crate::libraries::expressions::index() * 2_654_435_761i64) & 0xffffi64;
        (noise.cast::<f32>() / 65536.0f32).cast::<T>()
    });
    x.unwrap().await_result().unwrap()
}

fn rows<T: SoftmaxElement>(device: &Device, name: &str) {
    let size = size_of::<T>();
    for [n, m] in [[8192, 128], [8192, 4096], [8192, 32000]] {
        let x = filled::<T>(device, [n, m]);
        row(device, &format!("softmax {n} x {m} {name}"), 2 * n * m * size, |device| device.softmax(&x, 1));
        row(device, &format!("log_softmax {n} x {m} {name}"), 2 * n * m * size, |device| device.log_softmax(&x, 1));
    }
    for [n, m] in [[8192, 4096], [1024, 12288]] {
        let (x, dy) = (filled::<T>(device, [n, m]), filled::<T>(device, [n, m]));
        let [w, b] = [0, 1].map(|_| filled::<T>(device, [1, m]));
        let (w, b) = (w.reshape([m]).unwrap(), b.reshape([m]).unwrap());
        let affine = Affine::new(&w, &b);
        for (what, norm) in [("layer norm", NormKind::Layer(1)), ("rms norm", NormKind::Rms(1))] {
            row(device, &format!("{what} {n} x {m} {name}"), 2 * n * m * size, |device| {
                device.dnn().norm(&x, norm, 1e-5, &affine)
            });
            let (_, moments) = device.dnn().norm(&x, norm, 1e-5, &affine).unwrap().await_result().unwrap();
            let back = format!("{what} gradient {n} x {m} {name}");
            row(device, &back, 3 * n * m * size, |device| device.dnn().norm_gradient(&x, &dy, &moments, norm, &affine));
            let weights = format!("{what} weight gradient {n} x {m} {name}");
            row(device, &weights, 2 * n * m * size, |device| {
                device.dnn().norm_weight_gradient(&x, &dy, &moments, norm)
            });
        }
    }
}

fn pools(device: &Device) {
    let flat = filled::<f32>(device, [32 * 64, 112 * 112]);
    let x = flat.reshape([32, 64, 112, 112]).unwrap();
    let pool = Pool::new([3, 3]).stride([2]).padding([1]);
    let bytes = 4 * (x.len() + x.len() / 4);
    row(device, "max pool 3 s 2, 32 x 64 x 112 x 112 f32", bytes, |device| device.dnn().max_pool(&x, &pool));
    row(device, "max pool with places", bytes + 2 * x.len(), |device| device.dnn().max_pool_places(&x, &pool));
    row(device, "average pool", bytes, |device| device.dnn().average_pool(&x, &pool));
    let (y, places) = device.dnn().max_pool_places(&x, &pool).unwrap().await_result().unwrap();
    row(device, "max pool gradient", bytes + 2 * x.len(), |device| {
        device.dnn().max_pool_gradient(&y, &places, x.shape(), &pool)
    });
    row(device, "average pool gradient", bytes, |device| device.dnn().average_pool_gradient(&y, x.shape(), &pool));
}

#[test]
#[ignore = "prints times"]
fn times() {
    let device = Device::builder().cuda(0).slots(1).open().unwrap();
    println!("{:?}", device.info().name);
    rows::<f32>(&device, "f32");
    rows::<bf16>(&device, "bf16");
    pools(&device);
}
