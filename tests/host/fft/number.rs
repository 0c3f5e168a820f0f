//! The element types as the oracle sees them.

use crate::common::{Rng, up};
use windlass::fft::FftReal;
use windlass::{Complex, Device, Tensor, bf16, f16};

pub type C64 = Complex<f64>;

/// A real type whose buffers can be compared with numbers.
pub trait Real: FftReal {
    /// Half the distance from 1 to the next number.
    const UNIT: f64;
    const NAN: Self;
    fn wide(self) -> f64;
    fn near(x: f64) -> Self;
    /// A complex buffer as numbers.
    fn numbers(x: &[Self::Complex]) -> Vec<C64>;
    /// Numbers as a complex buffer.
    fn buffer(x: &[C64]) -> Vec<Self::Complex>;
    /// Elements of a buffer of so many complex numbers.
    fn elements(numbers: usize) -> usize {
        Self::buffer(&vec![C64::default(); numbers]).len()
    }
    /// The extents of a tensor of complex numbers.
    fn extents(of: &[usize]) -> Vec<usize> {
        if Self::elements(1) == 2 { [of, &[2]].concat() } else { of.to_vec() }
    }
    /// Numbers as a complex tensor.
    fn tensor(device: &Device, x: &[C64], extents: &[usize]) -> Tensor<Self::Complex> {
        Tensor::from_buffer(up(device, Self::buffer(x)), Self::extents(extents)).unwrap()
    }
    /// A complex tensor that was never written.
    fn room(device: &Device, extents: &[usize]) -> Tensor<Self::Complex> {
        device.uninit(Self::extents(extents)).unwrap()
    }
    /// A number that this type holds.
    fn sample(rng: &mut Rng) -> f64 {
        Self::near(rng.real()).wide()
    }
}

macro_rules! full { ($($t:ident)*) => { $(
    impl Real for $t {
        const UNIT: f64 = $t::EPSILON as f64 / 2.0;
        const NAN: Self = $t::NAN;
        fn wide(self) -> f64 {
            self.into()
        }
        fn near(x: f64) -> Self {
            x as $t
        }
        fn numbers(x: &[Complex<$t>]) -> Vec<C64> {
            x.iter().map(|x| C64::new(x.re.into(), x.im.into())).collect()
        }
        fn buffer(x: &[C64]) -> Vec<Complex<$t>> {
            x.iter().map(|x| Complex::new(x.re as $t, x.im as $t)).collect()
        }
    }
)* } }
full! { f32 f64 }

macro_rules! halves { ($($t:ident)*) => { $(
    impl Real for $t {
        const UNIT: f64 = $t::EPSILON.to_f64_const() / 2.0;
        const NAN: Self = $t::NAN;
        fn wide(self) -> f64 {
            self.to_f64()
        }
        fn near(x: f64) -> Self {
            $t::from_f64(x)
        }
        fn numbers(x: &[$t]) -> Vec<C64> {
            x.chunks(2).map(|x| C64::new(x[0].to_f64(), x[1].to_f64())).collect()
        }
        fn buffer(x: &[C64]) -> Vec<$t> {
            x.iter().flat_map(|x| [$t::from_f64(x.re), $t::from_f64(x.im)]).collect()
        }
    }
)* } }
halves! { f16 bf16 }

/// Asserts that `got` is `want` but for an error whose norm is `bound` of that of `want`.
#[track_caller]
pub fn assert_close(got: &[C64], want: &[C64], bound: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let norm = |x: &mut dyn Iterator<Item = C64>| x.map(|x| x.norm_sqr()).sum::<f64>().sqrt();
    let size = norm(&mut want.iter().copied());
    let error = norm(&mut got.iter().zip(want).map(|(got, want)| got - want));
    assert!(error <= bound * size + f64::MIN_POSITIVE, "{what}: error {error:e} of {size:e}, allowed {bound:e} of it");
}

/// Real numbers as complex ones.
pub fn complex(x: &[f64]) -> Vec<C64> {
    x.iter().map(|x| C64::new(*x, 0.0)).collect()
}

/// The last axes of a tensor, by negative numbers.
pub fn last(axes: usize) -> Vec<isize> {
    (1..=axes as isize).rev().map(|axis| -axis).collect()
}
