//! Matrices with poison where nothing may be read, and what is looked at in an answer.

use crate::common::{Rng, Sample, down, up};
use windlass::blas::BlasElement;
use windlass::reference::{Bounded, Exact, Trans};
use windlass::tensor::{Layout, Lines};
use windlass::{Device, DeviceBuffer, Tensor, TensorRef, Transpose, Uplo};

/// What every test of a type needs.
pub(crate) trait Number: Sample + BlasElement {}
impl<T: Sample + BlasElement> Number for T {}

pub(crate) const TRANSPOSES: [Transpose; 3] = [Transpose::No, Transpose::Yes, Transpose::Conjugate];
pub(crate) const TRIANGLES: [Uplo; 2] = [Uplo::Upper, Uplo::Lower];

/// The sizes of the published test programs, and a few that are larger than every block.
pub(crate) const SIZES: [usize; 9] = [0, 1, 2, 3, 5, 9, 33, 70, 130];

/// Calls a generic function for the four types.
macro_rules! each_type {
    ($f:ident($($arg:expr),*)) => {
        $f::<f32>($($arg),*);
        $f::<f64>($($arg),*);
        $f::<windlass::Complex<f32>>($($arg),*);
        $f::<windlass::Complex<f64>>($($arg),*);
    };
}
pub(crate) use each_type;

/// For the oracle.
pub(crate) fn trans(transpose: Transpose) -> Trans {
    match transpose {
        Transpose::No => Trans::No,
        Transpose::Yes => Trans::Yes,
        Transpose::Conjugate => Trans::Conj,
    }
}

/// The unit of a type's arithmetic.
pub(crate) fn unit<T: Number>() -> f64 {
    T::UNIT
}

/// A real number.
pub(crate) fn real<T: Number>(x: f64) -> T {
    <T as Sample>::real(x)
}

/// One of 0, 1, 0.7, and a number with an imaginary part where there is one.
pub(crate) fn scalar<T: Number>(rng: &mut Rng) -> T {
    let (zero, one) = (T::default(), real::<T>(1.0));
    let other = T::sample(rng);
    rng.pick(&[zero, one, one, real::<T>(0.7), other, other])
}

/// A column-major matrix in a buffer, with NaN between the columns, behind the last and wherever it is told to.
#[derive(Clone, Debug)]
pub(crate) struct Matrix<T> {
    pub(crate) data: Vec<T>,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) ld: usize,
}

impl<T: Number> Matrix<T> {
    /// Random elements, with a gap more often than not.
    pub(crate) fn random(rng: &mut Rng, rows: usize, cols: usize) -> Self {
        let gap = rng.pick(&[0, 1, 3, 8]);
        let mut matrix = Self::poison(rows, cols, rows.max(1) + gap, gap);
        (0..cols).for_each(|j| (0..rows).for_each(|i| matrix.data[i + j * matrix.ld] = T::sample(rng)));
        matrix
    }

    /// Nothing but NaN.
    pub(crate) fn poison(rows: usize, cols: usize, ld: usize, behind: usize) -> Self {
        let len = if rows == 0 || cols == 0 { 0 } else { ld * (cols - 1) + rows };
        Matrix { data: vec![T::NAN; len + behind], rows, cols, ld }
    }

    /// NaN outside one triangle, and on its diagonal if `unit`.
    pub(crate) fn only(mut self, uplo: Uplo, unit: bool) -> Self {
        for (i, j) in self.places() {
            if !inside(uplo, i, j) || (unit && i == j) {
                self.data[i + j * self.ld] = T::NAN;
            }
        }
        self
    }

    /// A triangle that is easy to solve with: a large diagonal.
    pub(crate) fn dominant(mut self) -> Self {
        let n = self.rows.max(1) as f64;
        for (i, j) in self.places() {
            let at = i + j * self.ld;
            let factor = if i == j { real::<T>(1.0) } else { real::<T>(1.0 / n) };
            let more = if i == j { real::<T>(if i % 3 == 0 { -6.0 } else { 6.0 }) } else { T::default() };
            self.data[at] = self.data[at] * factor + more;
        }
        self
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<T> {
        let (rows, cols) = (self.rows, self.cols);
        (0..cols).flat_map(move |j| (0..rows).map(move |i| (i, j)))
    }

    pub(crate) fn exact(&self) -> Exact {
        Exact::stored(&self.data, self.rows, self.cols, self.ld)
    }

    pub(crate) fn upload(&self, device: &Device) -> DeviceBuffer<T> {
        up(device, &self.data[..])
    }

    /// Where the elements lie.
    pub(crate) fn layout(&self) -> Lines {
        Layout::columns(self.rows, self.cols).ld(self.ld)
    }

    /// To be read; transposed unless `trans` is `No`. A conjugate is the specification's.
    pub(crate) fn op<'a>(&self, buffer: &'a DeviceBuffer<T>, trans: Transpose) -> TensorRef<'a, T> {
        let view = self.view(buffer);
        if trans == Transpose::No { view } else { view.transpose() }
    }

    /// To be read.
    pub(crate) fn view<'a>(&self, buffer: &'a DeviceBuffer<T>) -> TensorRef<'a, T> {
        buffer.view(self.layout()).unwrap()
    }

    /// To be written.
    pub(crate) fn tensor(&self, device: &Device) -> Tensor<T> {
        self.upload(device).with_layout(self.layout()).unwrap()
    }

    /// Asserts that what the device left here is within the bounds of `want` in the elements that `touched` says, and as it
    /// was, bit for bit, everywhere else. Returns the elements.
    #[track_caller]
    pub(crate) fn assert_became(
        &self,
        device: &Device,
        got: &DeviceBuffer<T>,
        want: &Bounded,
        touched: impl Fn(usize, usize) -> bool,
        what: &dyn std::fmt::Debug,
    ) -> Vec<T> {
        let got = down(device, got);
        assert_eq!(got.len(), self.data.len());
        for (place, (got, before)) in got.iter().zip(&self.data).enumerate() {
            let (i, j) = (place % self.ld, place / self.ld);
            if i < self.rows && j < self.cols && touched(i, j) {
                let ratio = want.ratio(i, j, *got, unit::<T>());
                let exact = want.exact().get(i, j);
                assert!(
                    ratio <= 1.0,
                    "({i}, {j}) is {got:?} for {exact:?}, {ratio} bounds off: {what:?} on {device:?}"
                );
            } else {
                let same = bytemuck::bytes_of(got) == bytemuck::bytes_of(before);
                assert!(same, "place {place} was {before:?} and became {got:?}: {what:?} on {device:?}");
            }
        }
        got
    }
}

/// Whether (`i`, `j`) lies in a triangle.
pub(crate) fn inside(uplo: Uplo, i: usize, j: usize) -> bool {
    if uplo == Uplo::Upper { i <= j } else { i >= j }
}
