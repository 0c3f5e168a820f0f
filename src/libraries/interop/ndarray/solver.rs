//! Factorizations of arrays: views in, arrays out. cuSOLVER is column-major, so a row-major array is rearranged when it
//! is uploaded.

use crate::core::buffer::DeviceBuffer;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::libraries::flags::{Order, Uplo};
use crate::libraries::solver::{EighSpec, Matrix, Solver, SolverElement, Structure, Vectors};
use ndarray::{Array1, Array2, ArrayRef2, s};

impl Matrix {
    /// The layout of the matrix of an array in a buffer that was uploaded from it in [`Order::Column`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Order, ndarray::array, solver::Matrix};
    /// let (device, a) = (Device::host()?, array![[4.0, 2.0], [2.0, 3.0]]);
    /// let on_a = device.upload_array(&a, Order::Column)?.into_output();
    /// let lu = device.solver().lu(Matrix::of_array(&a), on_a)?.await_result()?;
    /// let det = lu.det(&device.solver())?.await_result()?;
    /// assert!((det[0].value().re - 8.0).abs() < 1e-12);
    /// # Ok(()) }
    /// ```
    pub fn of_array<T>(array: &ArrayRef2<T>) -> Self {
        Matrix::new(array.nrows(), array.ncols())
    }
}

impl Solver {
    fn columns<T: Element>(&self, array: &ArrayRef2<T>) -> Result<DeviceBuffer<T>> {
        Ok(self.device().upload_array(array, Order::Column)?.into_output())
    }

    fn array<T: Element>(&self, of: &DeviceBuffer<T>, shape: Matrix) -> Result<Array2<T>> {
        self.device().download_array(of, (shape.rows(), shape.cols()), Order::Column)?.await_result()
    }

    /// The X of `A * X = B`, by the factorization for the given structure of A ([`solve`](Self::solve)). If A is not
    /// square: the X that minimizes `||A * X - B||`, or the smallest such X; A must have full rank (for others see
    /// [`pinv`](Self::pinv)). A single right-hand side is a matrix of one column: `b.insert_axis(Axis(1))`. Views in
    /// any order; waits.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when B has not as many rows as A; else as [`solve`](Self::solve).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::array, solver::Structure};
    /// let (a, b) = (array![[3.0, 1.0], [1.0, 2.0]], array![[9.0], [8.0]]);
    /// let x = Device::host()?.solver().solve_array(Structure::General, &a, &b)?;
    /// assert!((x - array![[2.0], [3.0]]).iter().all(|x: &f64| x.abs() < 1e-14));
    /// # Ok(()) }
    /// ```
    pub fn solve_array<T: SolverElement>(
        &self,
        structure: Structure,
        a: &ArrayRef2<T>,
        b: &ArrayRef2<T>,
    ) -> Result<Array2<T>> {
        let ((m, n), (rows, sides)) = (a.dim(), b.dim());
        if rows != m {
            return Err(Error::invalid("b", format!("it is {rows} x {sides}, but a is {m} x {n}")));
        }
        let of_b = Matrix::new(m.max(n), sides);
        // X replaces B, and may be longer.
        let on_b = if m < n {
            let mut long = Array2::from_elem((n, sides), T::default());
            long.slice_mut(s![..m, ..]).assign(b);
            self.columns(&long)?
        } else {
            self.columns(b)?
        };
        let solved = self.solve(structure, Matrix::of_array(a), self.columns(a)?, of_b, on_b)?.await_result()?;
        let x = self.array(&solved.x, of_b)?;
        Ok(if m > n { x.slice(s![..n, ..]).to_owned() } else { x })
    }

    /// The inverse of a square matrix ([`lu`](Self::lu), [`getri`](Self::getri)). A view in any order; waits.
    ///
    /// # Errors
    /// As [`lu`](Self::lu) and [`getri`](Self::getri).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::array};
    /// let inverse = Device::host()?.solver().inverse_array(&array![[2.0, 0.0], [0.0, 4.0]])?;
    /// assert_eq!(inverse, array![[0.5, 0.0], [0.0, 0.25]]);
    /// # Ok(()) }
    /// ```
    pub fn inverse_array<T: SolverElement>(&self, a: &ArrayRef2<T>) -> Result<Array2<T>> {
        let lu = self.lu(Matrix::of_array(a), self.columns(a)?)?.await_result()?;
        let inverse = lu.inverse(self)?.await_result()?;
        self.array(&inverse.matrix, inverse.shape)
    }

    /// The factor of a positive definite matrix of which only this triangle is read: `L * L^H` or `U^H * U`, with zeros
    /// in the other triangle ([`cholesky`](Self::cholesky)). A view in any order; waits.
    ///
    /// # Errors
    /// As [`cholesky`](Self::cholesky).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, ndarray::array};
    /// let l = Device::host()?.solver().cholesky_array(Uplo::Lower, &array![[4.0, 99.0], [2.0, 10.0]])?;
    /// assert_eq!(l, array![[2.0, 0.0], [1.0, 3.0]]);
    /// # Ok(()) }
    /// ```
    pub fn cholesky_array<T: SolverElement>(&self, uplo: Uplo, a: &ArrayRef2<T>) -> Result<Array2<T>> {
        let of_a = Matrix::of_array(a);
        let factor = self.cholesky(uplo, of_a, self.columns(a)?)?.await_result()?;
        let mut factor = self.array(factor.factor(), of_a)?;
        for ((i, j), x) in factor.indexed_iter_mut() {
            if (uplo == Uplo::Lower && i < j) || (uplo == Uplo::Upper && i > j) {
                *x = T::default();
            }
        }
        Ok(factor)
    }

    /// Eigenvalues, ascending, and vectors, as columns, of a symmetric or Hermitian matrix of which only this triangle
    /// is read ([`eigh`](Self::eigh)). A view in any order; waits.
    ///
    /// # Errors
    /// As [`eigh`](Self::eigh).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, ndarray::array};
    /// let (values, vectors) = Device::host()?.solver().eigh_array(Uplo::Lower, &array![[2.0, 0.0], [0.0, 1.0]])?;
    /// assert_eq!((values, vectors.dim()), (array![1.0, 2.0], (2, 2)));
    /// # Ok(()) }
    /// ```
    pub fn eigh_array<T: SolverElement>(&self, uplo: Uplo, a: &ArrayRef2<T>) -> Result<(Array1<T::Real>, Array2<T>)> {
        let of_a = Matrix::of_array(a);
        let eigh = self.eigh(EighSpec::new(uplo, of_a), self.columns(a)?)?.await_result()?;
        let values = self.device().download_array(&eigh.values, of_a.rows(), Order::Row)?.await_result()?;
        Ok((values, self.array(&eigh.vectors, of_a)?))
    }

    /// Singular values and vectors ([`svd`](Self::svd)): U, the values, `V^H`. A view in any order; waits.
    ///
    /// # Errors
    /// As [`svd`](Self::svd).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::array, solver::Vectors};
    /// let (u, values, vh) = Device::host()?.solver().svd_array(Vectors::Thin, &array![[0.0, 3.0, 0.0], [2.0, 0.0, 0.0]])?;
    /// assert!((values - array![3.0, 2.0]).iter().all(|x: &f64| x.abs() < 1e-14));
    /// assert_eq!((u.map(|u| u.dim()), vh.map(|v| v.dim())), (Some((2, 2)), Some((2, 3))));
    /// # Ok(()) }
    /// ```
    #[expect(clippy::type_complexity, reason = "three arrays, two of them where they were asked for")]
    pub fn svd_array<T: SolverElement>(
        &self,
        vectors: Vectors,
        a: &ArrayRef2<T>,
    ) -> Result<(Option<Array2<T>>, Array1<T::Real>, Option<Array2<T>>)> {
        let of_a = Matrix::of_array(a);
        let svd = self.svd(vectors, of_a, self.columns(a)?)?.await_result()?;
        let count = of_a.rows().min(of_a.cols());
        let values = self.device().download_array(&svd.values, count, Order::Row)?.await_result()?;
        let u = svd.u.as_ref().map(|u| self.array(u, svd.u_matrix())).transpose()?;
        let vh = svd.vh.as_ref().map(|vh| self.array(vh, svd.vh_matrix())).transpose()?;
        Ok((u, values, vh))
    }
}
