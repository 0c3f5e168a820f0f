//! Level 3, every routine in every type: large matrices against the raw call, small ones by what their enqueue costs.
//!
//! `letters` has the raw functions by their signatures, `side` the operands of both sides and the measurement, `squares`
//! `batches` and `systems` the rows: a row is a name, our call and the raw one, written once for all types.
//!
//! To add a routine, add its row; the letter of its type is put into its name.

mod batches;
mod letters;
mod side;
mod squares;
mod systems;

use crate::harness::Bench;
use windlass::blas::GemmElement;
use windlass::{Complex, bf16, f16};

/// What the rows need to know of an element type.
pub(crate) trait Kind: GemmElement<Out = Self> {
    const TEXT: &'static str;
    /// The error of one rounding.
    const EPSILON: f64;
    fn of(re: f64, im: f64) -> Self;
    fn parts(self) -> [f64; 2];
}

macro_rules! kinds { ($($t:ty, $text:literal, $epsilon:expr, |$re:ident, $im:ident| $of:expr, |$x:ident| $parts:expr;)*) => { $(
    impl Kind for $t {
        const TEXT: &'static str = $text;
        const EPSILON: f64 = $epsilon;
        fn of($re: f64, $im: f64) -> Self {
            $of
        }
        fn parts(self) -> [f64; 2] {
            let $x = self;
            $parts
        }
    }
)* } }
kinds! {
    f32, "f32", f32::EPSILON as f64, |re, _im| re as f32, |x| [x.into(), 0.0];
    f64, "f64", f64::EPSILON, |re, _im| re, |x| [x, 0.0];
    Complex<f32>, "c32", f32::EPSILON as f64, |re, im| Complex::new(re as f32, im as f32), |x| [x.re.into(), x.im.into()];
    Complex<f64>, "c64", f64::EPSILON, |re, im| Complex::new(re, im), |x| [x.re, x.im];
    f16, "f16", 1.0 / 1024.0, |re, _im| f16::from_f64(re), |x| [x.into(), 0.0];
    bf16, "bf16", 1.0 / 128.0, |re, _im| bf16::from_f64(re), |x| [x.into(), 0.0];
}

/// Rounds of a row: enough for a median, few enough that all rows take less than two minutes.
const ROUNDS: [(usize, usize); 2] = [(1000, 24), (0, 60)];

pub(crate) fn run(bench: &mut Bench) {
    for n in if bench.tiny { [16, 8] } else { [4096, 128] } {
        squares::every::<f32>(bench, n);
        squares::every::<f64>(bench, n);
        squares::every::<Complex<f32>>(bench, n);
        squares::every::<Complex<f64>>(bench, n);
        squares::hermitian::<Complex<f32>>(bench, n);
        squares::hermitian::<Complex<f64>>(bench, n);
        squares::products::<f16>(bench, n);
        squares::products::<bf16>(bench, n);
    }
    // As much work as a product of 2048, and as little as is done at once.
    for (n, count) in if bench.tiny { [(4, 3), (2, 2)] } else { [(512, 64), (128, 16)] } {
        batches::every::<f32>(bench, n, count);
        batches::every::<f64>(bench, n, count);
        batches::every::<Complex<f32>>(bench, n, count);
        batches::every::<Complex<f64>>(bench, n, count);
        batches::products::<f16>(bench, n, count);
        batches::products::<bf16>(bench, n, count);
    }
    let (n, count) = if bench.tiny { (4, 3) } else { (32, 4096) };
    batches::strided::<f32>(bench, n, count);
    for (n, count) in if bench.tiny { [(4, 3), (2, 2)] } else { [(32, 4096), (128, 512)] } {
        systems::every::<f32>(bench, n, count);
        systems::every::<f64>(bench, n, count);
        systems::every::<Complex<f32>>(bench, n, count);
        systems::every::<Complex<f64>>(bench, n, count);
    }
}
