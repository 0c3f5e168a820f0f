//! Products, and what else a program does all the time, on a GPU, as another program asks: `products.py` and `peers.py` have
//! PyTorch, CuPy and this one work in turn, burst by burst, on one GPU, since apart by seconds the power state alone moves such
//! figures by a tenth.
//!
//! Each line of the standard input is answered by the microseconds of one:
//!
//! | line | what is timed |
//! |---|---|
//! | `FRONT TYPE N COUNT` (`blas f32 4096 8`) | `COUNT` chained products of `N x N`, with the wait for the last |
//! | `submit COUNT`, `isolated COUNT` | the submission of as many products of 64 x 64 in f32, here or to a worker |
//! | `round COUNT` | the same with a wait for each |
//! | `alloc COUNT` | allocations of 4 KiB, each dropped |
//! | `up COUNT`, `down COUNT` | copies of 256 MiB from a slice to a new buffer, and to a new `Vec` |
//!
//! Without a GPU it says so and ends.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark that cannot run should stop")]

use std::any::Any;
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};
use windlass::blas::GemmElement;
use windlass::tensor::Layout;
use windlass::{Device, DeviceBuffer, Element, Gemm, Matmul, PendingDispatch, Wait, bf16, f16};

/// Two matrices, and one that products go to.
struct Square<T: Element> {
    n: usize,
    a: DeviceBuffer<T>,
    b: DeviceBuffer<T>,
    c: Option<DeviceBuffer<T>>,
}

impl<T: Element> Square<T> {
    fn new(device: &Device, n: usize, of: impl Fn(f64) -> T) -> Self {
        let mut state = 1u64;
        let mut matrix = || {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                of((state >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
            };
            device.upload((0..n * n).map(|_| next()).collect::<Vec<_>>()).unwrap().await_result().unwrap()
        };
        Square { n, a: matrix(), b: matrix(), c: Some(device.zeros(n * n).unwrap().into_buffer()) }
    }

    /// Microseconds of one.
    fn burst(
        &mut self,
        count: usize,
        next: impl Fn(&Self, DeviceBuffer<T>) -> PendingDispatch<DeviceBuffer<T>>,
    ) -> f64 {
        let mut c = self.c.take().unwrap();
        let start = Instant::now();
        for _ in 1..count {
            c = next(self, c).into_output();
        }
        self.c = Some(next(self, c).await_result().unwrap());
        start.elapsed().as_secs_f64() * 1e6 / count as f64
    }
}

fn product<T: GemmElement<Out = T>>(
    device: &Device,
    s: &Square<T>,
    c: DeviceBuffer<T>,
) -> PendingDispatch<DeviceBuffer<T>> {
    let square = Layout::columns(s.n, s.n);
    let (a, b, c) = (s.a.view(square).unwrap(), s.b.view(square).unwrap(), c.with_layout(square).unwrap());
    device.blas().gemm(Gemm::new(), a, b, c).unwrap().into()
}

macro_rules! bursts { ($device:expr, $kept:expr, $words:expr, $($t:ident $of:expr),*) => {
    match $words {
        $([front, stringify!($t), n, count] => {
            let (n, count) = (n.parse::<usize>().unwrap(), count.parse::<usize>().unwrap());
            let device = &$device;
            let slot = $kept.entry((stringify!($t), n)).or_insert_with(|| {
                Box::new(Square::<$t>::new(device, n, $of)) as Box<dyn Any>
            });
            let square = slot.downcast_mut::<Square<$t>>().unwrap();
            match *front {
                "blas" => square.burst(count, |s, c| product(device, s, c)),
                "lt" => square.burst(count, |s, c| {
                    let lines = Layout::rows(s.n, s.n);
                    let (a, b, c) = (s.a.view(lines).unwrap(), s.b.view(lines).unwrap(), c.with_layout(lines).unwrap());
                    device.blas_lt().matmul(Matmul::new(), a, b, c).unwrap().into()
                }),
                other => panic!("no front {other}"),
            }
        })*
        other => panic!("not understood: {other:?}"),
    }
} }

/// Products of 64 x 64, and 256 MiB.
struct Peers {
    device: Device,
    small: Option<Square<f32>>,
    large: Vec<f32>,
    there: DeviceBuffer<f32>,
}

impl Peers {
    fn new(device: &Device) -> Self {
        let large: Vec<f32> = (0..64 << 20).map(|n| n as f32).collect();
        let there = device.upload(&large[..]).unwrap().await_result().unwrap();
        Peers { device: device.clone(), small: Some(Square::new(device, 64, |x| x as f32)), large, there }
    }

    /// Microseconds of one of `count`.
    fn time(&mut self, what: &str, count: usize) -> f64 {
        let device = self.device.clone();
        let mut small = self.small.take().unwrap();
        let product = |s: &Square<f32>, c| product(&device, s, c);
        let mut c = small.c.take().unwrap();
        let start = Instant::now();
        for _ in 0..count {
            match what {
                "submit" => c = product(&small, c).into_output(),
                "round" => c = product(&small, c).await_result().unwrap(),
                "alloc" => drop(device.uninit::<u8>(4096).unwrap()),
                "up" => drop(device.upload(&self.large[..]).unwrap().await_result().unwrap()),
                "down" => drop(device.download(&self.there).unwrap().await_result().unwrap()),
                other => panic!("not understood: {other}"),
            }
        }
        let took = start.elapsed().as_secs_f64() * 1e6 / count as f64;
        device.synchronize(Duration::from_secs(60)).unwrap();
        small.c = Some(c);
        self.small = Some(small);
        took
    }
}

fn main() {
    windlass::worker::init();
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(error) => return println!("no GPU, so nothing is measured: {error}"),
    };
    let (mut here, mut isolated) = (None, None);
    let peers = device.clone();
    let device = device.waiting(Wait::Spin);
    println!("ready");
    let mut kept: HashMap<(&str, usize), Box<dyn Any>> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        if words == ["forget"] {
            kept.clear();
            continue;
        }
        if let [what, count] = words.as_slice() {
            let count = count.parse().unwrap();
            let took = match *what {
                "isolated" => {
                    let open = || Peers::new(&Device::builder().cuda(0).isolated().open().unwrap());
                    isolated.get_or_insert_with(open).time("submit", count)
                }
                what => here.get_or_insert_with(|| Peers::new(&peers)).time(what, count),
            };
            println!("{took}");
            std::io::stdout().flush().unwrap();
            continue;
        }
        let took = bursts!(device, kept, words.as_slice(), f32 |x| x as f32, f64 |x| x, f16 f16::from_f64, bf16 bf16::from_f64);
        println!("{took}");
        std::io::stdout().flush().unwrap();
    }
}
