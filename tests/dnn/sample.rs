//! Seeded tensors in any layout, whose other memory is poison, and what one knows of elements.

use windlass::tensor::Layout;
use windlass::{Device, Element, Tensor, TensorRef, bf16, f16, tensor::AnyTensor};

/// Numbers by a seed (xorshift, multiplied).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// Below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn among<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Between -1 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.below(1 << 20) as f64 / (1 << 19) as f64 - 1.0
    }
}

/// An element that is made of a number, and is one.
pub(crate) trait Number: Element {
    const FLOAT: bool;
    const LOWEST: f64;
    fn of(x: f64) -> Self;
    fn number(self) -> f64;
    /// In the type in which it is computed.
    fn rounded(x: f64) -> f64;
}

macro_rules! numbers { ($($t:ty, $float:expr, $lowest:expr, |$x:ident| $of:expr, |$y:ident| $number:expr, |$z:ident| $rounded:expr;)*) => { $(
    impl Number for $t {
        const FLOAT: bool = $float;
        const LOWEST: f64 = $lowest;
        fn of($x: f64) -> Self {
            $of
        }
        fn number(self) -> f64 {
            let $y = self;
            $number
        }
        fn rounded($z: f64) -> f64 {
            $rounded
        }
    }
)* } }
numbers! {
    f32, true, f64::NEG_INFINITY, |x| x as f32, |x| x.into(), |x| x as f32 as f64;
    f64, true, f64::NEG_INFINITY, |x| x, |x| x, |x| x;
    f16, true, f64::NEG_INFINITY, |x| f16::from_f32(x as f32), |x| x.into(), |x| x as f32 as f64;
    bf16, true, f64::NEG_INFINITY, |x| bf16::from_f32(x as f32), |x| x.into(), |x| x as f32 as f64;
    u8, false, 0.0, |x| (x * 100.0).abs() as u8, |x| x.into(), |x| x;
    i8, false, -128.0, |x| (x * 100.0) as i8, |x| x.into(), |x| x;
}

/// Elements in logical order, and where they lie.
pub(crate) struct Laid<T> {
    pub(crate) elements: Vec<T>,
    pub(crate) layout: Layout,
    memory: Vec<T>,
}

impl<T: Number> Laid<T> {
    /// Of random strides: dense, with gaps, turned, axes in another order.
    pub(crate) fn random(rng: &mut Rng, extents: &[usize], mut element: impl FnMut(&mut Rng) -> f64) -> Self {
        let mut order: Vec<usize> = (0..extents.len()).collect();
        if rng.below(3) == 0 {
            order.reverse();
        }
        let mut strides = vec![0isize; extents.len()];
        let (mut next, mut offset) = (1isize, 0isize);
        for axis in order.into_iter().rev() {
            let gap = rng.among(&[1, 1, 1, 2]);
            let n = extents[axis].max(1) as isize;
            strides[axis] = next * gap;
            next = strides[axis] * n + rng.among(&[0, 0, 1]);
            if rng.below(5) == 0 {
                offset += (n - 1) * strides[axis];
                strides[axis] = -strides[axis];
            }
        }
        offset += rng.below(3) as isize;
        let layout = Layout::new(extents, &strides, offset as usize).unwrap();
        let mut memory = vec![T::of(if T::FLOAT { f64::NAN } else { 1.27 }); (next + 4) as usize];
        let len = extents.iter().product();
        let elements: Vec<T> = (0..len).map(|_| T::of(element(rng))).collect();
        for (k, x) in elements.iter().enumerate() {
            let mut rest = k;
            let mut at = layout.offset() as isize;
            for (n, stride) in extents.iter().zip(&strides).rev() {
                at += (rest % n) as isize * stride;
                rest /= n;
            }
            memory[at as usize] = *x;
        }
        Laid { elements, layout, memory }
    }

    pub(crate) fn up(&self, device: &Device) -> AnyTensor {
        let buffer = crate::common::up(device, &self.memory[..]);
        AnyTensor::from_buffer(buffer, self.layout.clone()).unwrap()
    }
}

pub(crate) fn typed<T: Element>(x: &AnyTensor) -> TensorRef<'_, T> {
    x.view().downcast().unwrap()
}

pub(crate) fn read<T: Element>(device: &Device, x: &Tensor<T>) -> Vec<T> {
    device.download(x).unwrap().await_result().unwrap()
}

/// That two lists of numbers are the same, NaN for NaN.
#[track_caller]
pub(crate) fn same<T: Number>(got: &[T], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (k, (got, want)) in got.iter().zip(want).enumerate() {
        let (got, want) = (got.number(), if T::FLOAT { T::of(*want).number() } else { *want });
        assert!(got == want || (got.is_nan() && want.is_nan()), "{what}: element {k} is {got:?}, not {want:?}");
    }
}

/// That devices have made the same bits.
#[track_caller]
pub(crate) fn same_bits<T: Element>(all: &[Vec<T>], what: &str) {
    for other in all {
        let bytes = |x: &[T]| bytemuck::cast_slice::<T, u8>(x).to_vec();
        assert!(bytes(other) == bytes(&all[0]), "{what}: other bits");
    }
}
