//! The fast routines against the oracle, on seeded random input.

mod fourier;
mod gemm;
mod level1;
mod level2;
mod level3;
mod reference;

use half::{bf16, f16};
use num_complex::{Complex, Complex32, Complex64};

use super::reference::Value;

/// SplitMix64: short, and the same on every machine.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// One of `choices`.
    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A number in -1..1 times one of a few factors, so that sums have terms of different sizes.
    pub(super) fn real(&mut self) -> f64 {
        let x = (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        x * self.pick(&[1.0, 1.0, 1.0, 0.25, 4.0])
    }
}

/// Runs `case` with the seed in `WINDLASS_TEST_SEED`, or with seeds 1 to `count`. Prints the seed that fails.
pub(super) fn with_seeds(count: u64, case: impl Fn(&mut Rng) + std::panic::RefUnwindSafe) {
    let named = std::env::var("WINDLASS_TEST_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seeds = named.map_or(1..count + 1, |seed| seed..seed + 1);
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| case(&mut Rng(seed)));
        if let Err(cause) = outcome {
            eprintln!("failed with WINDLASS_TEST_SEED={seed}");
            std::panic::resume_unwind(cause);
        }
    }
}

/// What a generic test needs of an element type.
pub(super) trait Sample: Value + bytemuck::Pod + Send + Sync + std::fmt::Debug {
    const NAN: Self;
    fn sample(rng: &mut Rng) -> Self;
    fn from_real(x: f64) -> Self;
}

macro_rules! sample {
    ($($t:ty, $nan:expr, |$x:ident| $real:expr, |$rng:ident| $sample:expr;)*) => {$(
        impl Sample for $t {
            const NAN: Self = $nan;
            fn sample($rng: &mut Rng) -> Self {
                $sample
            }
            fn from_real($x: f64) -> Self {
                $real
            }
        }
    )*};
}
const NAN32: Complex32 = Complex::new(f32::NAN, f32::NAN);
const NAN64: Complex64 = Complex::new(f64::NAN, f64::NAN);
sample! {
    f32, f32::NAN, |x| x as f32, |rng| rng.real() as f32;
    f64, f64::NAN, |x| x, |rng| rng.real();
    f16, f16::NAN, |x| f16::from_f64(x), |rng| f16::from_f64(rng.real());
    bf16, bf16::NAN, |x| bf16::from_f64(x), |rng| bf16::from_f64(rng.real());
    Complex32, NAN32, |x| Complex::new(x as f32, 0.0), |rng| Complex::new(rng.real() as f32, rng.real() as f32);
    Complex64, NAN64, |x| Complex::new(x, 0.0), |rng| Complex::new(rng.real(), rng.real());
}

/// Asserts that both parts of `got` are within `bound` of those of `want`.
#[track_caller]
pub(super) fn assert_near<T: Value + std::fmt::Debug>(got: T, want: T, bound: f64, what: &dyn std::fmt::Debug) {
    let near = got.parts().iter().zip(want.parts()).all(|(got, want)| (got - want).abs() <= bound);
    assert!(near, "{got:?} is not within {bound:e} of {want:?}: {what:?}");
}
