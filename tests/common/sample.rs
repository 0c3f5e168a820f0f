//! Seeded random numbers of every element type.

use windlass::reference::Value;
use windlass::{Complex, Element, F8E4M3, F8E5M2, bf16, f16};

/// SplitMix64: short, and the same everywhere.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// One of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A number in -4..4, small ones more often, so that sums mix sizes.
    pub fn real(&mut self) -> f64 {
        let x = (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        x * self.pick(&[1.0, 1.0, 0.25, 4.0])
    }

    /// Random elements, every bit pattern possible.
    pub fn bits<T: Element>(&mut self, n: usize) -> Vec<T> {
        let mut data = vec![T::default(); n];
        bytemuck::cast_slice_mut::<T, u8>(&mut data).iter_mut().for_each(|b| *b = self.next() as u8);
        data
    }

    /// Random elements of moderate size.
    pub fn samples<T: Sample>(&mut self, n: usize) -> Vec<T> {
        (0..n).map(|_| T::sample(self)).collect()
    }
}

/// Runs `case` with seeds from 1 to `count`, or with `WINDLASS_TEST_SEED` alone; the failing seed is printed last.
pub fn seeds(count: u64, case: impl Fn(&mut Rng, u64)) {
    let named = std::env::var("WINDLASS_TEST_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    for seed in named.map_or(1..count + 1, |seed| seed..seed + 1) {
        println!("WINDLASS_TEST_SEED={seed}");
        case(&mut Rng::new(seed), seed);
    }
}

/// What a generic test of arithmetic needs of an element type.
pub trait Sample: Element + Value {
    const NAN: Self;
    const INFINITY: Self;
    fn sample(rng: &mut Rng) -> Self;
    fn real(x: f64) -> Self;
    /// With this imaginary part, where the type has one.
    fn complex(re: f64, _im: f64) -> Self {
        Self::real(re)
    }
}

macro_rules! real { ($($t:ty, |$x:ident| $real:expr;)*) => { $(
    impl Sample for $t {
        const NAN: Self = <$t>::NAN;
        const INFINITY: Self = <$t>::INFINITY;
        fn sample(rng: &mut Rng) -> Self {
            <$t>::real(rng.real())
        }
        fn real($x: f64) -> Self {
            $real
        }
    }
)* } }
real! { f32, |x| x as f32; f64, |x| x; f16, |x| f16::from_f64(x); bf16, |x| bf16::from_f64(x); }

macro_rules! eight { ($($t:ty, $infinity:expr;)*) => { $(
    impl Sample for $t {
        const NAN: Self = <$t>::NAN;
        const INFINITY: Self = $infinity;
        fn sample(rng: &mut Rng) -> Self {
            <$t>::from_f64(rng.real())
        }
        fn real(x: f64) -> Self {
            <$t>::from_f64(x)
        }
    }
)* } }
// e4m3 has no infinity: the largest value stands for it.
eight! { F8E4M3, F8E4M3::MAX; F8E5M2, F8E5M2::from_bits(0x7c); }

macro_rules! complex { ($($p:ty)*) => { $(
    impl Sample for Complex<$p> {
        const NAN: Self = Complex { re: <$p>::NAN, im: <$p>::NAN };
        const INFINITY: Self = Complex { re: <$p>::INFINITY, im: 0.0 };
        fn sample(rng: &mut Rng) -> Self {
            Complex::new(<$p>::sample(rng), <$p>::sample(rng))
        }
        fn real(x: f64) -> Self {
            Complex::new(x as $p, 0.0)
        }
        fn complex(re: f64, im: f64) -> Self {
            Complex::new(re as $p, im as $p)
        }
    }
)* } }
complex! { f32 f64 }
