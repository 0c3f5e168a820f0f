//! Sparse matrices from arrays, and their products with arrays, in any order.

use super::Coming;
use super::dense::lay;
use crate::core::error::{Error, Result};
use crate::libraries::flags::Order;
use crate::libraries::sparse::{Csr, Dense, Sparse, SparseElement, SparseIndex, SparseMatrix, Spmm, Spmv};
use ndarray::{ArrayRef1, ArrayRef2, Ix1, Ix2};

impl Sparse {
    /// Compressed rows of the elements of a matrix whose magnitude is larger than `threshold`
    /// ([`from_dense`](Self::from_dense)). A view in any order; waits for the number of these elements.
    ///
    /// # Errors
    /// As [`from_dense`](Self::from_dense).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::array, sparse::Csr};
    /// let (sparse, a) = (Device::host()?.sparse(), array![[0.0f32, 3.0], [0.0, 0.0], [1.0, 0.0]]);
    /// let csr: Csr<f32> = sparse.from_array(&a.t(), 0.0)?;
    /// assert_eq!((csr.rows(), csr.nnz()), (2, 2));
    /// assert_eq!(sparse.to_array(&csr)?.await_result()?, a.t());
    /// # Ok(()) }
    /// ```
    pub fn from_array<T: SparseElement, I: SparseIndex>(&self, a: &ArrayRef2<T>, threshold: f64) -> Result<Csr<T, I>> {
        let (on_a, order) = lay(self.device(), a)?;
        self.from_dense(a.nrows(), a.ncols(), Dense::new(order), threshold, &on_a)
    }

    /// An array of all elements ([`to_dense`](Self::to_dense)).
    ///
    /// # Errors
    /// As [`to_dense`](Self::to_dense).
    pub fn to_array<T: SparseElement, I: SparseIndex>(&self, a: &impl SparseMatrix<T, I>) -> Coming<T, Ix2> {
        let (m, n) = (a.rows(), a.cols());
        let dense = self.device().uninit(elements(m, n)?)?;
        let dense = self.to_dense(a, Dense::new(Order::Row), dense)?.into_output();
        self.device().download_array(&dense, (m, n), Order::Row)
    }

    /// The product with a vector ([`spmv`](Self::spmv)).
    ///
    /// # Errors
    /// As [`spmv`](Self::spmv).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::array};
    /// let sparse = Device::host()?.sparse();
    /// let a = sparse.upload_csr(2, 3, &[0, 2, 3], &[0, 2, 1], &[1.0f32, 2.0, 3.0])?; // [1 0 2; 0 3 0]
    /// assert_eq!(sparse.spmv_array(&a, &array![1.0, 10.0, 100.0])?.await_result()?, array![201.0, 30.0]);
    /// let b = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// assert_eq!(sparse.spmm_array(&a, &b.t())?.await_result()?, array![[7.0, 16.0], [6.0, 15.0]]);
    /// # Ok(()) }
    /// ```
    pub fn spmv_array<T: SparseElement, I: SparseIndex>(
        &self,
        a: &impl SparseMatrix<T, I>,
        x: &ArrayRef1<T>,
    ) -> Coming<T, Ix1> {
        let on_x = self.device().upload_array(x, Order::Row)?.into_output();
        let y = self.spmv(Spmv::new(), a, &on_x, self.device().uninit(a.rows())?)?.into_output();
        self.device().download_array(&y, a.rows(), Order::Row)
    }

    /// The product with a matrix ([`spmm`](Self::spmm)): a view in any order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when B has not as many rows as A has columns; else as [`spmm`](Self::spmm).
    pub fn spmm_array<T: SparseElement, I: SparseIndex>(
        &self,
        a: &impl SparseMatrix<T, I>,
        b: &ArrayRef2<T>,
    ) -> Coming<T, Ix2> {
        let (m, (rows, n)) = (a.rows(), b.dim());
        if rows != a.cols() {
            return Err(Error::invalid("b", format!("it is {rows} x {n}, but a is {m} x {}", a.cols())));
        }
        let (on_b, order) = lay(self.device(), b)?;
        let c = self.device().uninit(elements(m, n)?)?;
        let c = self.spmm(Spmm::new(n).order_b(order).order_c(Order::Row), a, &on_b, c)?.into_output();
        self.device().download_array(&c, (m, n), Order::Row)
    }
}

fn elements(m: usize, n: usize) -> Result<usize> {
    m.checked_mul(n).ok_or_else(|| Error::invalid("a", format!("{m} x {n} elements overflow")))
}
