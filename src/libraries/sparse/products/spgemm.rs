//! Products of two sparse matrices: complete, or only at the entries of a mask.

use super::super::element::{Number, SparseElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::{Rows, spgemm};
use super::super::made::Producer;
#[cfg(feature = "cuda")]
use super::super::native::{PRODUCTS, Pick};
use super::super::operands::check_vector;
use super::super::routine::{Call, Routine};
use super::super::{Compressed, Major, Sparse};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Tensor, WritableTensor};
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// The sizes of a matrix in compressed rows.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(in super::super) struct Side {
    pub(in super::super) count: usize,
    pub(in super::super) width: usize,
}

impl Side {
    /// The sizes of the compressed rows of a matrix, or of its transpose if columns are compressed.
    pub(in super::super) fn from_compressed<T: SparseElement, I: SparseIndex, M: Major>(
        a: &Compressed<T, I, M>,
    ) -> Self {
        let (rows, cols) = (a.rows(), a.cols());
        if M::ROWS { Side { count: rows, width: cols } } else { Side { count: cols, width: rows } }
    }

    pub(in super::super) fn check(&self, offsets: usize, indices: usize, values: usize) -> Result<()> {
        let Side { count, width } = *self;
        if count.checked_add(1) != Some(offsets) {
            return Err(Error::invalid("offsets", format!("{offsets} elements for {count} rows of {width}")));
        }
        if indices != values {
            return Err(Error::invalid("values", format!("{values} elements for {indices} indices")));
        }
        Ok(())
    }

    #[cfg(feature = "host")]
    pub(in super::super) fn rows<'a, T, I>(
        &self,
        offsets: &'a [I],
        indices: &'a [I],
        values: &'a [T],
    ) -> Rows<'a, T, I> {
        Rows { count: self.count, width: self.width, offsets, indices, values }
    }
}

/// `alpha * A * B`.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Product<T: SparseElement, I> {
    a: Side,
    b: Side,
    alpha: T::Scalar,
    _index: PhantomData<fn() -> I>,
}

impl<T: SparseElement, I: SparseIndex> Producer for Product<T, I> {
    const NAMES: [&'static str; 2] = ["spgemm_count", "spgemm"];
    const READS: &'static [&'static str] = &["a", "a", "a", "b", "b", "b"];
    type Reads = (I, I, T, I, I, T);
    type Value = T;
    type Index = I;

    fn count_of_rows(&self) -> usize {
        self.a.count
    }

    fn check(&self, (a0, a1, a2, b0, b1, b2): &Spans<Self::Reads>) -> Result<()> {
        self.a.check(a0.len(), a1.len(), a2.len())?;
        self.b.check(b0.len(), b1.len(), b2.len())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "cuda")]
    fn cuda<O: crate::engines::op::Op>(
        &self,
        queue: &mut Enqueue<'_, O>,
        (a0, a1, a2, b0, b1, b2): &Spans<Self::Reads>,
        offsets: u64,
        [indices, values]: [u64; 2],
    ) -> Result<()> {
        // The current position in a row of B, for each entry of A.
        let next = queue.scratch(a1.bytes())?;
        let (rows, table) = (self.a.count, PRODUCTS(T::DTYPE)?);
        let first = [
            a0.address().into(),
            a1.address().into(),
            a2.address().into(),
            a1.len().into(),
            b0.address().into(),
            b1.address().into(),
            b2.address().into(),
            b1.len().into(),
            self.alpha.into(),
            rows.into(),
        ];
        let last = [offsets.into(), indices.into(), values.into()];
        // Rows that a warp handles in one pass. There are a few more warps than run at once, but not many.
        let each = (rows >> 18).clamp(1, 32);
        let by_thread = [first.as_slice(), &[I::from_place(I::LARGEST).into()], &last].concat();
        let by_warp = [first.as_slice(), &[each.into(), next.into()], &last].concat();
        // SAFETY: the parameters have this order and these types; columns of A are rows of B, since both were validated
        // and their sizes compared; the number of stored entries was counted. Each row belongs to one thread or to one
        // warp.
        unsafe {
            kernels::each(queue, table, I::pick([c"multiply_short_4", c"multiply_short_8"]), rows, &by_thread)?;
            kernels::warps(queue, table, I::pick([c"multiply_4", c"multiply_8"]), rows.div_ceil(each), &by_warp)
        }
    }

    #[cfg(feature = "host")]
    fn count(&self, (a0, a1, a2, b0, b1, b2): (&[I], &[I], &[T], &[I], &[I], &[T]), offsets: &mut [I]) -> usize {
        spgemm::count(&self.a.rows(a0, a1, a2), &self.b.rows(b0, b1, b2), offsets)
    }

    #[cfg(feature = "host")]
    fn fill(
        &self,
        (a0, a1, a2, b0, b1, b2): (&[I], &[I], &[T], &[I], &[I], &[T]),
        offsets: &[I],
        indices: &mut [I],
        values: &mut [T],
    ) {
        spgemm::fill(&self.a.rows(a0, a1, a2), &self.b.rows(b0, b1, b2), self.alpha, offsets, indices, values);
    }
}

/// The values of `alpha * A * B` at the entries of a mask.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Masked<T: SparseElement, I> {
    a: Side,
    b: Side,
    alpha: T::Scalar,
    _index: PhantomData<fn() -> I>,
}

impl<T: SparseElement, I: SparseIndex> Routine for Masked<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "spgemm_masked";
    const OPERANDS: OperandNames = (&["a", "a", "a", "b", "b", "b", "mask", "mask"], &["values"]);
    type Reads = (I, I, T, I, I, T, I, I);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a0, a1, a2, b0, b1, b2, m0, m1): &Spans<Self::Reads>, (values,): &Spans<(T,)>) -> Result<()> {
        self.a.check(a0.len(), a1.len(), a2.len())?;
        self.b.check(b0.len(), b1.len(), b2.len())?;
        Side { count: self.a.count, width: self.b.width }.check(m0.len(), m1.len(), values.len())
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (a0, a1, a2, b0, b1, b2, m0, m1): <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
        (values,): (&mut [T],),
    ) -> Result<()> {
        spgemm::masked(&self.a.rows(a0, a1, a2), &self.b.rows(b0, b1, b2), self.alpha, (m0, m1), values);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((a0, a1, a2, b0, b1, b2, m0, m1), (values,)) = (*queue.reads(), *queue.writes());
        let args = [
            a0.into(),
            a1.into(),
            a2.into(),
            a1.len().into(),
            b0.into(),
            b1.into(),
            b2.into(),
            b1.len().into(),
            self.alpha.into(),
            self.a.count.into(),
            m0.into(),
            m1.into(),
            m1.len().into(),
            values.into(),
        ];
        // SAFETY: the parameters in order and type; A's columns are rows of B, for both were validated and their sizes
        // compared; there is a value for each entry of the mask (checked).
        unsafe { kernels::warps(queue, PRODUCTS(T::DTYPE)?, I::pick([c"masked_4", c"masked_8"]), self.a.count, &args) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Checks that the sizes of A and B fit, and that the mask, if there is one, has the size of the product.
fn check_shapes(a: (usize, usize), b: (usize, usize), mask: Option<(usize, usize)>) -> Result<()> {
    if a.1 != b.0 {
        return Err(Error::invalid("b", format!("{} rows, but A has {} columns", b.0, a.1)));
    }
    match mask {
        Some(mask) if mask != (a.0, b.1) => {
            let reason = format!("{} x {}, but the product is {} x {}", mask.0, mask.1, a.0, b.1);
            Err(Error::invalid("mask", reason))
        }
        _ => Ok(()),
    }
}

impl Sparse {
    /// `alpha * A * B` of two sparse matrices in the same format, with sorted indices. An entry is stored wherever at
    /// least one product contributes, even if the sum is zero. The call waits for the number of entries.
    ///
    /// On a GPU our own kernels compute it, not `cusparseSpGEMM`. They support all types of values and of indices, give
    /// the same bits each time, also run in a worker process, and need only one index for each entry of A as workspace.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the sizes do not fit, or if the product has more entries than the index type can
    /// count; a stale or foreign matrix; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(2, 2, &[0, 2, 3], &[0, 1, 1], &[1.0f32, 2.0, 3.0])?; // [1 2; 0 3]
    /// let c = device.sparse().spgemm(1.0, &a, &a)?;
    /// assert_eq!(device.download(c.indices())?.await_result()?, [0, 1, 1]);
    /// assert_eq!(device.download(c.values())?.await_result()?, [1.0, 8.0, 9.0]);
    /// # Ok(()) }
    /// ```
    pub fn spgemm<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        alpha: T::Scalar,
        a: &Compressed<T, I, M>,
        b: &Compressed<T, I, M>,
    ) -> Result<Compressed<T, I, M>> {
        check_shapes((a.rows(), a.cols()), (b.rows(), b.cols()), None)?;
        let (rows, cols) = (a.rows(), b.cols());
        // The transpose of a product is the product of the transposes in reverse order.
        let (a, b) = if M::ROWS { (a, b) } else { (b, a) };
        let product =
            Product::<T, I> { a: Side::from_compressed(a), b: Side::from_compressed(b), alpha, _index: PhantomData };
        let reads = || {
            let of_a = (a.offsets().as_in(), a.indices().as_in(), a.values().as_in());
            (of_a.0, of_a.1, of_a.2, b.offsets().as_in(), b.indices().as_in(), b.values().as_in())
        };
        let (offsets, indices, values) = self.produce(product, reads)?;
        // SAFETY: the columns of each row come from valid rows of B, without repetition and sorted.
        unsafe { Compressed::assume_valid(rows, cols, offsets, indices, values) }
    }

    /// The values of `alpha * A * B` at the entries of `mask`; nothing else is computed or stored. The values of `mask`
    /// are not read. The results, a tensor of one axis whose elements must be neighbours, have the order of the entries of the mask:
    /// [`with_values`](Compressed::with_values) makes a matrix from their buffer.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the sizes do not fit, or the elements of `values` are not neighbours; a stale or foreign
    /// matrix. `values` comes back.
    pub fn spgemm_masked<T: SparseElement, I: SparseIndex, M: Major, U: SparseElement>(
        &self,
        alpha: T::Scalar,
        a: &Compressed<T, I, M>,
        b: &Compressed<T, I, M>,
        mask: &Compressed<U, I, M>,
        values: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (values, shape) = (values.into(), Some((mask.rows(), mask.cols())));
        let fit = check_shapes((a.rows(), a.cols()), (b.rows(), b.cols()), shape);
        let fit = fit.and_then(|()| check_vector("values", &values));
        let (a, b) = if M::ROWS { (a, b) } else { (b, a) };
        let masked =
            Masked::<T, I> { a: Side::from_compressed(a), b: Side::from_compressed(b), alpha, _index: PhantomData };
        let of_a = (a.offsets().as_in(), a.indices().as_in(), a.values().as_in());
        let of_b = (b.offsets().as_in(), b.indices().as_in(), b.values().as_in());
        let of_mask = (mask.offsets().as_in(), mask.indices().as_in());
        let reads = (of_a.0, of_a.1, of_a.2, of_b.0, of_b.1, of_b.2, of_mask.0, of_mask.1);
        values.submit(("spgemm_masked", "sparse"), fit, |(), values| self.submit(masked, reads, (values,)))
    }

    /// `A * A^T`, for complex elements `A * A^H`: as [`spgemm`](Self::spgemm) of A and its [`adjoint`](Self::adjoint).
    ///
    /// # Errors
    /// As [`spgemm`](Self::spgemm).
    pub fn gram<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
    ) -> Result<Compressed<T, I, M>> {
        self.spgemm(T::Scalar::ONE, a, &self.adjoint(a)?)
    }
}
