//! Vectors laid out in buffers, with what lies between their elements watched.

use super::{Sample, assert_same_bits};
use windlass::reference::Value;
use windlass::tensor::Layout;
use windlass::{Device, DeviceBuffer, Tensor, TensorRef};

/// The increments of the published BLAS tests.
pub const INCREMENTS: [isize; 4] = [1, 2, -1, -2];

/// A vector in a buffer of NaN, with one more place behind it.
#[derive(Clone, Debug)]
pub struct Laid<T> {
    pub data: Vec<T>,
    pub n: usize,
    pub inc: isize,
}

impl<T: Sample> Laid<T> {
    /// These elements, `inc` apart.
    pub fn new(elements: &[T], inc: isize) -> Self {
        let (n, step) = (elements.len(), inc.unsigned_abs());
        let len = if n == 0 { 0 } else { (n - 1) * step + 1 };
        let mut laid = Laid { data: vec![T::NAN; len + 1], n, inc };
        for (i, x) in elements.iter().enumerate() {
            let at = laid.at(i);
            laid.data[at] = *x;
        }
        laid
    }

    /// Where element `i` is.
    pub fn at(&self, i: usize) -> usize {
        (if self.inc < 0 { self.n - 1 - i } else { i }) * self.inc.unsigned_abs()
    }

    /// The elements, in order, of a buffer laid out like this one.
    pub fn elements(&self, data: &[T]) -> Vec<T> {
        (0..self.n).map(|i| data[self.at(i)]).collect()
    }

    pub fn up(&self, device: &Device) -> DeviceBuffer<T> {
        super::up(device, &self.data[..])
    }

    /// Where the elements are.
    pub fn layout(&self) -> Layout {
        let offset = if self.n > 0 { self.at(0) } else { 0 };
        Layout::new([self.n], [self.inc], offset).expect("a layout")
    }

    /// To be read.
    pub fn tensor<'a>(&self, buffer: &'a DeviceBuffer<T>) -> TensorRef<'a, T> {
        buffer.view(self.layout()).expect("a view")
    }

    /// To be written; its buffer is the whole.
    pub fn tensor_mut(&self, device: &Device) -> Tensor<T> {
        self.up(device).with_layout(self.layout()).expect("a tensor")
    }

    /// That `got` differs from this buffer in the elements alone. Gives these.
    #[track_caller]
    pub fn changed(&self, got: &[T], what: &str) -> Vec<T> {
        assert_eq!(got.len(), self.data.len(), "{what}");
        let mut rest = got.to_vec();
        for i in 0..self.n {
            rest[self.at(i)] = self.data[self.at(i)];
        }
        assert_same_bits(&rest, &self.data, &format!("between the elements: {what}"));
        self.elements(got)
    }
}

/// The unit of the arithmetic: halves compute in f32.
pub fn unit<T: Value>() -> f64 {
    T::UNIT.min(f32::UNIT)
}

/// The sum of the magnitudes of the parts.
pub fn magnitude<T: Value>(x: T) -> f64 {
    x.parts().iter().map(|x| x.abs()).sum()
}

/// Both parts within `bound`, or the same NaN or infinity.
#[track_caller]
pub fn assert_near<T: Value + std::fmt::Debug>(got: T, want: T, bound: f64, what: &str) {
    let near = |(got, want): (&f64, f64)| (got - want).abs() <= bound || got.is_nan() && want.is_nan() || *got == want;
    assert!(got.parts().iter().zip(want.parts()).all(near), "{got:?} is not within {bound:e} of {want:?}: {what}");
}
