//! Small matrices by the definition, to hold answers against.

use crate::common::{down, up};
use windlass::solver::SolverElement;
use windlass::tensor::Layout;
use windlass::{Complex, Device, Tensor};

/// A complex number, whatever the type under test.
pub(super) type C = Complex<f64>;

/// An element type of the library.
pub(super) trait Number: SolverElement {
    /// What counts as equal, of numbers around one.
    const NEAR: f64;
    fn of(wide: C) -> Self;
    fn as_double(self) -> C;
    fn real_as_double(value: Self::Real) -> f64;
}

impl Number for f32 {
    const NEAR: f64 = 2e-5;
    fn of(wide: C) -> Self {
        wide.re as f32
    }
    fn as_double(self) -> C {
        C::new(self.into(), 0.0)
    }
    fn real_as_double(value: f32) -> f64 {
        value.into()
    }
}

impl Number for f64 {
    const NEAR: f64 = 1e-12;
    fn of(wide: C) -> Self {
        wide.re
    }
    fn as_double(self) -> C {
        C::new(self, 0.0)
    }
    fn real_as_double(value: f64) -> f64 {
        value
    }
}

impl Number for Complex<f32> {
    const NEAR: f64 = 2e-5;
    fn of(wide: C) -> Self {
        Complex::new(wide.re as f32, wide.im as f32)
    }
    fn as_double(self) -> C {
        C::new(self.re.into(), self.im.into())
    }
    fn real_as_double(value: f32) -> f64 {
        value.into()
    }
}

impl Number for C {
    const NEAR: f64 = 1e-12;
    fn of(wide: C) -> Self {
        wide
    }
    fn as_double(self) -> C {
        self
    }
    fn real_as_double(value: f64) -> f64 {
        value
    }
}

/// Columns one after the other.
#[derive(Clone, Debug)]
pub(super) struct Dense {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) numbers: Vec<C>,
}

impl Dense {
    pub(super) fn by(rows: usize, cols: usize, each: impl Fn(usize, usize) -> C) -> Self {
        let numbers = (0..rows * cols).map(|at| each(at % rows, at / rows)).collect();
        Dense { rows, cols, numbers }
    }

    /// The first `cols` columns of an identity.
    pub(super) fn identity(rows: usize, cols: usize) -> Self {
        Dense::by(rows, cols, |i, j| C::new(f64::from(u8::from(i == j)), 0.0))
    }

    /// Numbers of no pattern, as the type holds them.
    pub(super) fn sample<T: Number>(rows: usize, cols: usize) -> Self {
        Dense::by(rows, cols, |i, j| {
            let (x, y) = (i as f64, j as f64);
            T::of(C::new((0.9 + 1.3 * x * x + 2.1 * y + 0.7 * x * y).sin(), (0.4 * x + 1.1 * y * y + x * y).cos()))
                .as_double()
        })
    }

    pub(super) fn of<T: Number>(rows: usize, cols: usize, from: &[T]) -> Self {
        assert_eq!(from.len(), rows * cols);
        Dense { rows, cols, numbers: from.iter().map(|x| x.as_double()).collect() }
    }

    pub(super) fn elements<T: Number>(&self) -> Vec<T> {
        self.numbers.iter().map(|x| T::of(*x)).collect()
    }

    /// As a column-major tensor.
    pub(super) fn up<T: Number>(&self, device: &Device) -> Tensor<T> {
        up(device, self.elements::<T>()).with_layout(Layout::columns(self.rows, self.cols)).unwrap()
    }

    pub(super) fn down<T: Number>(device: &Device, x: &Tensor<T>) -> Self {
        let [rows, cols] = *x.shape() else { panic!("{x:?} is no matrix") };
        Dense::of(rows, cols, &down(device, x.transpose()))
    }

    pub(super) fn at(&self, i: usize, j: usize) -> C {
        self.numbers[i + j * self.rows]
    }

    pub(super) fn adjoint(&self) -> Self {
        Dense::by(self.cols, self.rows, |i, j| self.at(j, i).conj())
    }

    pub(super) fn times(&self, other: &Dense) -> Self {
        assert_eq!(self.cols, other.rows);
        Dense::by(self.rows, other.cols, |i, j| {
            (0..self.cols).fold(C::new(0.0, 0.0), |sum, k| sum + self.at(i, k) * other.at(k, j))
        })
    }

    /// The first columns.
    pub(super) fn columns(&self, count: usize) -> Self {
        Dense { rows: self.rows, cols: count, numbers: self.numbers[..self.rows * count].to_vec() }
    }

    #[track_caller]
    pub(super) fn assert_near(&self, want: &Dense, near: f64, what: &str) {
        assert_eq!((self.rows, self.cols), (want.rows, want.cols), "{what}");
        let most = self.numbers.iter().zip(&want.numbers).map(|(x, y)| (x - y).norm());
        // A NaN is no number that is near.
        assert!(most.clone().all(|apart| apart < near), "{what}: {:?} apart", most.fold(0.0, f64::max));
    }

    /// The columns are orthogonal, and as long as one.
    #[track_caller]
    pub(super) fn assert_orthonormal(&self, near: f64, what: &str) {
        self.adjoint().times(self).assert_near(&Dense::identity(self.cols, self.cols), near, what);
    }
}
