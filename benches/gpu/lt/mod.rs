//! Fused products: our dispatch beside `cublasLtMatmul` alone, in every kind of type, and 8-bit floats beside bf16.

mod raw_product;

use crate::harness::{Bench, Goal, Unit, timed};
use crate::random::Random;
use crate::raw::{Memory, NO_TIMING, Raw};
use cudarc::driver::sys::{CUevent, CUstream};
use raw_product::Lt;
use windlass::blaslt::{MatmulElement, MatmulTypes};
use windlass::tensor::{Layout, Lines};
use windlass::{Complex, Element, F8E4M3, Matmul, Tensor, Wait, bf16, f16};

/// Products of a batch whose enqueueing is measured.
const BATCH: usize = 64;

pub(crate) fn run(bench: &mut Bench) {
    bench.device.blas_lt().warm().unwrap();
    each::<bf16, bf16>(bench, "bf16", |random| bf16::from_f64(random.unit()));
    each::<f16, f16>(bench, "f16", |random| f16::from_f64(random.unit()));
    each::<f32, f32>(bench, "f32", |random| random.unit() as f32);
    each::<f64, f64>(bench, "f64", Random::unit);
    each::<Complex<f32>, Complex<f32>>(bench, "c32", |r| Complex::new(r.unit() as f32, r.unit() as f32));
    each::<Complex<f64>, Complex<f64>>(bench, "c64", |random| Complex::new(random.unit(), random.unit()));
    each::<F8E4M3, bf16>(bench, "f8e4m3 into bf16", |random| F8E4M3::from_f32(random.unit() as f32));
    each::<i8, i32>(bench, "i8 into i32", |random| (100.0 * random.unit()) as i8);
    eight_bits(bench);
}

type ScalarOf<A, D> = <<A as MatmulElement<A, D>>::Types as MatmulTypes>::Scalar;

/// Both sides of `D = A^T * B` with square matrices of `A` and a D of `D`.
struct Sides<A: MatmulElement<A, D>, D: Element> {
    raw: Raw,
    stream: CUstream,
    a: Tensor<A>,
    b: Tensor<A>,
    d: Option<Tensor<D>>,
    memory: [Memory; 3],
    lt: Lt<ScalarOf<A, D>>,
}

impl<A: MatmulElement<A, D>, D: Element> Sides<A, D> {
    fn new(bench: &Bench, n: usize, of: fn(&mut Random) -> A) -> Self {
        let (device, raw, stream) = (&bench.device, bench.raw, bench.raw.stream());
        let mut random = Random(5);
        let mut matrix = || -> Vec<A> { (0..n * n).map(|_| of(&mut random)).collect() };
        let (a, b) = (matrix(), matrix());
        let theirs = |data: &[A]| raw.upload(bytemuck::cast_slice::<A, u8>(data), stream);
        let memory = [theirs(&a), theirs(&b), Memory::new(&raw, n * n * size_of::<D>(), stream)];
        let ours = |data: Vec<A>, lines: Lines| device.buffer(data).unwrap().with_layout(lines).unwrap();
        let (by_rows, by_columns) = (Layout::rows(n, n), Layout::columns(n, n));
        let d = device.zeros(n * n).unwrap().with_layout(by_columns).unwrap();
        let lt = Lt::new::<A::Types>(&raw, stream, n);
        Sides { raw, stream, a: ours(a, by_rows), b: ours(b, by_columns), d: Some(d), memory, lt }
    }

    #[inline(always)]
    fn floor(&self, event: CUevent) {
        self.lt.matmul(self.memory.each_ref());
        self.raw.record(event, self.stream);
    }

    /// What both sides have left in D is the same.
    fn check(mut self, bench: &Bench) {
        let d = bench.device.download(self.d.take().unwrap().buffer()).unwrap().await_result().unwrap();
        let theirs = self.raw.download::<u8>(&self.memory[2]);
        assert!(theirs == bytemuck::cast_slice::<D, u8>(&d), "ours and the raw call differ");
    }
}

/// The rows of one kind of types.
fn each<A: MatmulElement<A, D>, D: Element>(bench: &mut Bench, text: &str, of: fn(&mut Random) -> A) {
    let [n, few] = if bench.tiny { [32, 16] } else { [4096, 128] };
    let name = format!("matmul {n}^3 {text}, A transposed, one, spinning wait");
    if bench.wants(&name) {
        large(bench, &name, Sides::new(bench, n, of));
    }
    let name = format!("matmul {few}^3 {text}, enqueue, chained, warm cache");
    if bench.wants(&name) {
        small(bench, &name, Sides::new(bench, few, of));
    }
}

/// Large products: the library's own time must vanish beside the device's.
fn large<A: MatmulElement<A, D>, D: Element>(bench: &mut Bench, name: &str, mut sides: Sides<A, D>) {
    let (raw, event, spinning) = (bench.raw, bench.raw.event(NO_TIMING), bench.device.waiting(Wait::Spin));
    let mut d = sides.d.take();
    let floor = || {
        timed(1, || {
            sides.floor(event);
            raw.synchronize(event);
        }) / 1e3
    };
    let ours = || {
        timed(1, || {
            let product = spinning.blas_lt().matmul(Matmul::new(), &sides.a, &sides.b, d.take().unwrap());
            d = Some(product.unwrap().await_result().unwrap());
        }) / 1e3
    };
    bench.pair(name, Unit::Us, Goal::TimesAtMost(1.01), 40, ours, floor);
    sides.d = d;
    sides.check(bench);
}

/// Small products: what enqueueing costs, the plan known.
fn small<A: MatmulElement<A, D>, D: Element>(bench: &mut Bench, name: &str, mut sides: Sides<A, D>) {
    let (raw, device) = (bench.raw, bench.device.clone());
    let events: Vec<_> = (0..BATCH).map(|_| raw.event(NO_TIMING)).collect();
    let mut d = sides.d.take();
    let floor = || {
        let sample = timed(BATCH, || events.iter().for_each(|event| sides.floor(*event)));
        raw.settle();
        sample
    };
    let ours = || {
        let blas_lt = device.blas_lt();
        let next = |d| blas_lt.matmul(Matmul::new(), &sides.a, &sides.b, d).unwrap();
        let mut last = d.take();
        let sample = timed(BATCH, || {
            last = Some((0..BATCH).fold(last.take().unwrap(), |d, _| next(d).into_output()));
        });
        d = Some(next(last.unwrap()).await_result().unwrap());
        sample
    };
    bench.pair(name, Unit::Ns, Goal::Over(1000.0), 300, ours, floor);
    sides.d = d;
    sides.check(bench);
}

/// Products of 8-bit floats, and how much faster than those of bf16 they are; both through windlass.
fn eight_bits(bench: &mut Bench) {
    let n = if bench.tiny { 32 } else { 8192 };
    let text = format!("matmul {n}^3: f8e4m3 into bf16 (ours) beside bf16 (raw)");
    if !bench.wants(&text) {
        return;
    }
    let device = bench.device.waiting(Wait::Spin);
    let mut random = Random(7);
    let values: Vec<f32> = (0..n * n).map(|_| random.unit() as f32).collect();
    let narrow: Vec<F8E4M3> = values.iter().map(|x| F8E4M3::from_f32(*x)).collect();
    let wide: Vec<bf16> = values.iter().map(|x| bf16::from_f32(*x)).collect();
    let (narrow, wide) = (device.tensor([n, n], narrow).unwrap(), device.tensor([n, n], wide).unwrap());
    let d = || Some(device.zeros::<bf16>([n, n]).unwrap());
    let (mut d8, mut d16) = (d(), d());
    let lt = device.blas_lt();
    let rate = |nanoseconds: f64| 1e9 / nanoseconds;
    let of_eight = || {
        rate(timed(1, || {
            d8 = Some(
                lt.matmul(Matmul::new(), &narrow, narrow.transpose(), d8.take().unwrap())
                    .unwrap()
                    .await_result()
                    .unwrap(),
            );
        }))
    };
    let of_sixteen = || {
        rate(timed(1, || {
            d16 = Some(
                lt.matmul(Matmul::new(), &wide, wide.transpose(), d16.take().unwrap()).unwrap().await_result().unwrap(),
            );
        }))
    };
    bench.pair(&text, Unit::OpsPerSecond, Goal::TimesAtLeast(1.6), 20, of_eight, of_sixteen);
}
