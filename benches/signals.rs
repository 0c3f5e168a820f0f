//! What transforms and random numbers take, beside other libraries: `cargo bench --bench signals`.
//!
//! Each row is the median of some calls with their wait, out of place, on buffers that are there before the clock starts. The
//! script `benches/signals.py` prints the same rows for SciPy, FFTW and NumPy on the CPU, or for PyTorch and CuPy on a GPU: run
//! both in one go on one machine, and compare row by row.
//!
//! ```text
//! cargo bench --bench signals -- [--only NAME]         # on the host device
//! WINDLASS_DEVICE=cuda:0 cargo bench --bench signals
//! python3 benches/signals.py                           # SciPy, FFTW (pyfftw), NumPy
//! python3 benches/signals.py cuda                      # PyTorch, CuPy
//! ```
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot run should stop")]

#[path = "gpu/random.rs"]
#[expect(dead_code, reason = "the GPU's benchmarks use more of it")]
mod random;

use random::Random;
use std::time::{Duration, Instant};
use windlass::fft::{Convolve, FftReal, FftSpec, Mode, RealTransform, Trig};
use windlass::rng::{Distribution, Generator, Normal, Stream, Uniform};
use windlass::{Complex, Device, Tensor};

/// Rounds of a row, and the time after which no further one begins.
const ROUNDS: usize = 31;
const ENOUGH: Duration = Duration::from_secs(3);

/// Arrays, and their shape: as the script has them.
const SHAPES: [(usize, &[usize]); 13] = [
    (1, &[1 << 10]),
    (1, &[1 << 16]),
    (1, &[1 << 20]),
    (1, &[1 << 22]),
    (1, &[1_000_003]),
    (1, &[1_000_000]),
    (10_000, &[256]),
    (1000, &[4096]),
    (100, &[65_536]),
    (1, &[1024, 1024]),
    (1, &[1000, 1000]),
    (1, &[128, 128, 128]),
    (1, &[100, 100, 100]),
];

struct Bench {
    device: Device,
    only: Option<String>,
}

fn main() {
    let mut given = std::env::args().skip(1);
    let mut only = None;
    while let Some(arg) = given.next() {
        if arg == "--only" {
            only = given.next();
        }
    }
    let device = Device::from_env().expect("a device");
    println!("# {} ({}), medians in ms", device.name(), device.info().name);
    let bench = Bench { device, only };
    bench.transforms::<f32>("f32", |x| x as f32, |x| Complex::new(x as f32, -x as f32));
    bench.transforms::<f64>("f64", |x| x, |x| Complex::new(x, -x));
    bench.others();
    bench.numbers();
}

fn name(count: usize, shape: &[usize]) -> String {
    let shape = shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
    if count > 1 { format!("{count} * {shape}") } else { shape }
}

impl Bench {
    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only.as_str()))
    }

    fn row(&self, name: &str, mut call: impl FnMut()) {
        // The first call makes the plan.
        call();
        let (start, mut times) = (Instant::now(), Vec::new());
        while times.len() < ROUNDS && (times.is_empty() || start.elapsed() < ENOUGH) {
            let began = Instant::now();
            call();
            times.push(began.elapsed());
        }
        times.sort();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        println!("{name:<36} {:>10.4}", median.as_secs_f64() * 1e3);
    }

    fn transforms<R: FftReal>(&self, text: &str, real: fn(f64) -> R, complex: fn(f64) -> R::Complex) {
        let fft = self.device.fft();
        for (count, shape) in SHAPES {
            let label = name(count, shape);
            let spec = FftSpec::new().axes((1..=shape.len() as isize).map(|axis| -axis).rev().collect::<Vec<_>>());
            let real_of = [&[count], shape].concat();
            let mut half_of = real_of.clone();
            half_of.iter_mut().last().into_iter().for_each(|n| *n = *n / 2 + 1);
            if self.wants(&format!("c2c {label} {text}")) {
                let (x, y) = self.tensors::<R::Complex, R::Complex>(&real_of, &real_of, complex);
                let mut y = Some(y);
                self.row(&format!("c2c {label} {text}"), || {
                    y = Some(fft.c2c(&spec, &x, y.take().unwrap()).unwrap().await_result().unwrap());
                });
            }
            if self.wants(&format!("r2c {label} {text}")) {
                let (x, y) = self.tensors::<R, R::Complex>(&real_of, &half_of, real);
                let mut y = Some(y);
                self.row(&format!("r2c {label} {text}"), || {
                    y = Some(fft.r2c(&spec, &x, y.take().unwrap()).unwrap().await_result().unwrap());
                });
            }
            if self.wants(&format!("c2r {label} {text}")) {
                let (x, y) = self.tensors::<R::Complex, R>(&half_of, &real_of, complex);
                let mut y = Some(y);
                self.row(&format!("c2r {label} {text}"), || {
                    y = Some(fft.c2r(&spec, &x, y.take().unwrap()).unwrap().await_result().unwrap());
                });
            }
        }
    }

    fn tensors<T: windlass::Element, U: windlass::Element>(
        &self,
        from: &[usize],
        to: &[usize],
        of: fn(f64) -> T,
    ) -> (Tensor<T>, Tensor<U>) {
        let mut random = Random(1);
        let x: Vec<T> = (0..from.iter().product()).map(|_| of(random.unit() - 0.5)).collect();
        (self.device.tensor(from, x).unwrap(), self.device.zeros(to).unwrap())
    }

    /// Cosine transforms, and a convolution.
    fn others(&self) {
        let fft = self.device.fft();
        for (trig, text) in [(Trig::Dct2, "dct2"), (Trig::Dct4, "dct4"), (Trig::Dst1, "dst1")] {
            for shape in [&[1 << 20][..], &[1024, 1024]] {
                let label = format!("{text} {} f64", name(1, shape));
                if self.wants(&label) {
                    let (x, y) = self.tensors::<f64, f64>(shape, shape, |x| x);
                    let (spec, mut y) = (RealTransform::new(trig), Some(y));
                    self.row(&label, || {
                        let pending = fft.real_transform(&spec, &x, y.take().unwrap()).unwrap();
                        y = Some(pending.await_result().unwrap());
                    });
                }
            }
        }
        if self.wants("convolve 1024x1024 with 64x64 f64") {
            let spec = Convolve::new().mode(Mode::Same);
            let (x, y) = self.tensors::<f64, f64>(&[1024; 2], &[1024; 2], |x| x);
            let (h, mut y) = (self.tensors::<f64, f64>(&[64; 2], &[0], |x| x).0, Some(y));
            self.row("convolve 1024x1024 with 64x64 f64", || {
                y = Some(fft.convolve(&spec, &x, &h, y.take().unwrap()).unwrap().await_result().unwrap());
            });
        }
    }

    /// Random numbers, 2^24 of them.
    fn numbers(&self) {
        for (generator, text) in [(Generator::Philox, "philox"), (Generator::Mt19937, "mt19937")] {
            self.draws::<f32>(generator, text, "uniform f32", Uniform::below_one());
            self.draws::<f64>(generator, text, "uniform f64", Uniform::below_one());
            self.draws::<f32>(generator, text, "normal f32", Normal::standard());
            self.draws::<f64>(generator, text, "normal f64", Normal::standard());
        }
    }

    fn draws<T: windlass::rng::Random>(&self, generator: Generator, text: &str, what: &str, of: impl Distribution<T>) {
        let label = format!("{text} {what}");
        if !self.wants(&label) {
            return;
        }
        let mut rng = self.device.rng_of(Stream::new(generator, 42));
        let mut out = Some(self.device.zeros::<T>([1 << 24]).unwrap());
        match rng.fill(of, out.take().unwrap()).map_err(|rejected| rejected.error).and_then(|x| Ok(x.await_result()?)) {
            Ok(x) => out = Some(x),
            Err(error) => return println!("{label:<36} {error}"),
        }
        self.row(&label, || {
            out = Some(rng.fill(of, out.take().unwrap()).unwrap().await_result().unwrap());
        });
    }
}
