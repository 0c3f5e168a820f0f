//! Large matrix products: the library's own time must vanish beside the device's.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::random::Random;
use crate::raw::{Blas, Memory, NO_TIMING};
use windlass::blas::GemmElement;
use windlass::tensor::Layout;
use windlass::{Device, Gemm, Tensor, Wait, bf16};

/// Products of a chain.
const CHAIN: usize = 8;

/// What the raw call and the check need to know of an element type.
trait Kind: GemmElement<Out = Self> {
    const TEXT: &'static str;
    /// Error of one rounding of the result, and of one in the sum.
    const EPSILON: [f64; 2];
    fn of(value: f64) -> Self;
    fn value(self) -> f64;
}

macro_rules! kinds { ($($t:ty, $text:literal, $epsilon:expr, $of:expr, $value:expr;)*) => { $(
    impl Kind for $t {
        const TEXT: &'static str = $text;
        const EPSILON: [f64; 2] = $epsilon;
        fn of(value: f64) -> Self {
            ($of)(value)
        }
        fn value(self) -> f64 {
            ($value)(self)
        }
    }
)* } }
kinds! {
    f32, "f32", [f32::EPSILON as f64; 2], |v| v as f32, f64::from;
    bf16, "bf16", [1.0 / 128.0, f32::EPSILON as f64], bf16::from_f64, bf16::to_f64;
    f64, "f64", [f64::EPSILON; 2], |v| v, |v| v;
}

pub(crate) fn run(bench: &mut Bench) {
    let n = if bench.tiny { 64 } else { 4096 };
    products::<f32>(bench, n);
    products::<bf16>(bench, n);
    products::<f64>(bench, n);
}

fn products<T: Kind>(bench: &mut Bench, n: usize) {
    let text = format!("gemm {n}^3 {}", T::TEXT);
    if !bench.wants(&text) {
        return;
    }
    let (device, raw) = (bench.device.clone(), bench.raw);
    let (stream, event) = (raw.stream(), raw.event(NO_TIMING));
    let mut random = Random(2);
    let mut matrix = || -> Vec<T> { (0..n * n).map(|_| T::of(random.unit())).collect() };
    let (a, b) = (matrix(), matrix());
    let square = Layout::columns(n, n);
    let upload = |data: &[T]| device.buffer(data).unwrap().with_layout(square).unwrap();
    let (ours_a, ours_b) = (upload(&a), upload(&b));
    let mut ours_c = Some(device.zeros::<T>(n * n).unwrap().with_layout(square).unwrap());
    let (raw_a, raw_b) =
        (raw.upload(bytemuck::cast_slice::<T, u8>(&a), stream), raw.upload(bytemuck::cast_slice::<T, u8>(&b), stream));
    let raw_c = Memory::new(&raw, n * n * size_of::<T>(), stream);
    let blas = Blas::new(&raw, stream);

    let floor = |count: usize| {
        timed(count, || {
            for _ in 0..count {
                blas.gemm(
                    n,
                    (T::CODES.input, T::CODES.compute),
                    &T::ONE,
                    &T::Scalar::default(),
                    [&raw_a, &raw_b, &raw_c],
                );
            }
            raw.record(event, stream);
            raw.synchronize(event);
        }) / 1e3
    };
    let mut ours = |device: &Device, count: usize| {
        let next = |c: Tensor<T>| device.blas().gemm(Gemm::new(), &ours_a, &ours_b, c).unwrap();
        timed(count, || {
            let last = (1..count).fold(ours_c.take().unwrap(), |c, _| next(c).into_output());
            ours_c = Some(next(last).await_result().unwrap());
        }) / 1e3
    };
    let spinning = device.waiting(Wait::Spin);
    let goal = Goal::TimesAtMost(1.01);
    bench.pair(
        &format!("{text}, {CHAIN} chained, spinning wait"),
        Unit::Us,
        goal,
        20,
        || ours(&spinning, CHAIN),
        || floor(CHAIN),
    );
    bench.pair(&format!("{text}, one, spinning wait"), Unit::Us, goal, 40, || ours(&spinning, 1), || floor(1));
    bench.pair(&format!("{text}, one, adaptive wait"), Unit::Us, Goal::None, 40, || ours(&device, 1), || floor(1));

    let c = device.download(&ours_c.unwrap()).unwrap().await_result().unwrap();
    let raw_c: Vec<u8> = raw.download(&raw_c);
    assert!(raw_c == bytemuck::cast_slice::<T, u8>(&c), "ours and the raw call differ");
    check(n, &a, &b, &c);
}

/// A sample of entries against products in f64. The roundings of a sum of `n` random terms grow as the root of `n`; the
/// result is rounded once more.
fn check<T: Kind>(n: usize, a: &[T], b: &[T], c: &[T]) {
    let mut random = Random(3);
    let [result, sum] = T::EPSILON;
    for _ in 0..64 {
        let (i, j) = (random.bits() as usize % n, random.bits() as usize % n);
        let terms = || (0..n).map(|l| a[i + l * n].value() * b[l + j * n].value());
        let (exact, size): (f64, f64) = (terms().sum(), terms().map(f64::abs).sum());
        let bound = 8.0 * (n as f64).sqrt() * sum * size + result * exact.abs();
        let got = c[i + j * n].value();
        assert!((got - exact).abs() <= bound, "entry ({i}, {j}) is {got}, not {exact}");
    }
}
