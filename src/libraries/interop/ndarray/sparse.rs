//! Sparse matrices from arrays, and their products with arrays, in any order.

use super::Coming;
use crate::core::error::Result;
use crate::libraries::sparse::{Csr, Sparse, SparseElement, SparseIndex, SparseMatrix, Spmm, Spmv};
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
        self.from_dense(&self.device().tensor_of_array(a)?, threshold)
    }

    /// An array of all elements ([`to_dense`](Self::to_dense)).
    ///
    /// # Errors
    /// As [`to_dense`](Self::to_dense).
    pub fn to_array<T: SparseElement, I: SparseIndex>(&self, a: &impl SparseMatrix<T, I>) -> Coming<T, Ix2> {
        let dense = self.device().uninit_tensor([a.rows(), a.cols()])?;
        self.device().download_tensor_array(&self.to_dense(a, dense)?)
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
        let (x, y) = (self.device().tensor_of_array(x)?, self.device().uninit_tensor([a.rows()])?);
        self.device().download_tensor_array(&self.spmv(Spmv::new(), a, &x, y)?)
    }

    /// The product with a matrix ([`spmm`](Self::spmm)): a view in any order.
    ///
    /// # Errors
    /// As [`spmm`](Self::spmm).
    pub fn spmm_array<T: SparseElement, I: SparseIndex>(
        &self,
        a: &impl SparseMatrix<T, I>,
        b: &ArrayRef2<T>,
    ) -> Coming<T, Ix2> {
        let (b, c) = (self.device().tensor_of_array(b)?, self.device().uninit_tensor([a.rows(), b.ncols()])?);
        self.device().download_tensor_array(&self.spmm(Spmm::new(), a, &b, c)?)
    }
}
