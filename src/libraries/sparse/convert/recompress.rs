//! Compressed rows to compressed columns and back.

use super::super::element::{SparseElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::{self, Rows};
#[cfg(feature = "cuda")]
use super::super::native::{Cusparse, CusparseFunctions, ENTRIES, RawHandle};
use super::super::routine::{Call, Routine};
use super::super::{Compressed, Csc, Csr, Major, Sparse};
use crate::core::buffer::DeviceBuffer;
#[cfg(feature = "cuda")]
use crate::core::buffer::Span;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
#[cfg(feature = "cuda")]
use crate::engines::cuda::Queue;
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::engines::library::Code;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::align;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::handle;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// Computes the compressed rows of the transpose.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Recompress<T, I> {
    count: usize,
    width: usize,
    conj: bool,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SparseElement, I: SparseIndex> Routine for Recompress<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "csr_to_csc";
    const OPERANDS: OperandNames = (&["a", "a", "a"], &["offsets", "indices", "values"]);
    type Reads = (I, I, T);
    type Output = (DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<T>);
    type Raw = ();

    fn check(
        &self,
        (offsets, indices, values): &Spans<Self::Reads>,
        (to_offsets, to_indices, to_values): &Spans<(I, I, T)>,
    ) -> Result<()> {
        let nnz = indices.len();
        let lengths = [
            ("offsets", offsets.len(), self.count.checked_add(1)),
            ("values", values.len(), Some(nnz)),
            ("offsets", to_offsets.len(), self.width.checked_add(1)),
            ("indices", to_indices.len(), Some(nnz)),
            ("values", to_values.len(), Some(nnz)),
        ];
        for (name, is, need) in lengths {
            if Some(is) != need {
                return Err(Error::invalid(
                    name,
                    format!("{is} elements do not fit a matrix of {} x {}", self.count, self.width),
                ));
            }
        }
        Ok(())
    }

    fn overwrites_each(&self, _: &Spans<(I, I, T)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: self.count.saturating_add(self.width).saturating_mul(size_of::<I>()) as u64 }
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (offsets, indices, values): (&[I], &[I], &[T]),
        (to_offsets, to_indices, to_values): (&mut [I], &mut [I], &mut [T]),
    ) -> Result<()> {
        let rows = Rows { count: self.count, width: self.width, offsets, indices, values };
        host::transpose::transpose(&rows, self.conj, to_offsets, to_indices, to_values);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((offsets, indices, values), (to_offsets, to_indices, to_values)) = (*queue.reads(), *queue.writes());
        if indices.is_empty() {
            // SAFETY: an operand that this dispatch writes.
            return unsafe { queue.fill(to_offsets.address(), to_offsets.bytes(), &[0]) };
        }
        let narrow = |size: usize| {
            let reason =
                || format!("converting a matrix with a size of {size} on a GPU: cuSPARSE supports only 32 bits here");
            i32::try_from(size).map_err(|_| Error::unsupported(reason()))
        };
        let (m, n, nnz) = (narrow(self.count)?, narrow(self.width)?, narrow(indices.len())?);
        // Indices that fit into 32 bits are converted as i32, and widened afterwards.
        let wide = size_of::<I>() != size_of::<i32>();
        let index = |queue: &mut Queue<'_>, of: &Span<I>| match wide {
            true => align::narrowed(queue, of),
            false => align::aligned(queue, of),
        };
        let to_index = |queue: &mut Queue<'_>, of: &Span<I>| match wide {
            true => queue.scratch(of.len().saturating_mul(size_of::<i32>())),
            false => align::aligned_output(queue, of),
        };
        let from = [align::aligned(queue, &values)?, index(queue, &offsets)?, index(queue, &indices)?];
        let (to_offsets_at, to_indices_at) = (to_index(queue, &to_offsets)?, to_index(queue, &to_indices)?);
        let to = [align::aligned_output(queue, &to_values)?, to_offsets_at, to_indices_at];
        let (api, handle) = handle::sparse(queue, false)?;
        let calls = Calls { api: api.regular, handle, sizes: [m, n, nnz], from, to, element: T::CODES.element };
        let mut bytes = 0;
        queue.status::<Cusparse>("cusparseCsr2cscEx2_bufferSize", calls.size(&mut bytes))?;
        let buffer = queue.workspace(bytes)?;
        queue.stream();
        queue.status::<Cusparse>("cusparseCsr2cscEx2", calls.run(buffer))?;
        let [values_at, offsets_at, indices_at] = to;
        align::put_back(queue, &to_values, values_at)?;
        for (to, computed) in [(&to_offsets, offsets_at), (&to_indices, indices_at)] {
            if wide { align::widened(queue, computed, to)? } else { align::put_back(queue, to, computed)? }
        }
        if self.conj && T::DTYPE.is_complex() {
            let args = [to_values.into(), to_values.len().into()];
            // SAFETY: the parameters in order and type.
            unsafe { kernels::each(queue, ENTRIES(T::DTYPE)?, c"conjugate_all", to_values.len(), &args) }?;
        }
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// The library's calls of a conversion: what they have in common. The handle is that of a leased slot. The arrays lie in operands or
/// scratch, which live until the work is done, have the lengths that were checked, and were validated.
#[cfg(feature = "cuda")]
struct Calls {
    api: &'static CusparseFunctions,
    handle: RawHandle,
    /// Rows, columns and entries.
    sizes: [i32; 3],
    /// Values, offsets and indices.
    from: [u64; 3],
    to: [u64; 3],
    element: u32,
}

#[cfg(feature = "cuda")]
impl Calls {
    /// `CUSPARSE_ACTION_NUMERIC`: the values too.
    const NUMERIC: u32 = 1;
    /// `CUSPARSE_CSR2CSC_ALG1`: deterministic.
    const ALGORITHM: u32 = 1;

    /// The bytes of the buffer.
    fn size(&self, bytes: &mut usize) -> Code {
        let Calls { api, handle, sizes: [m, n, nnz], from, to, element: t } = *self;
        let ([x, rows, cols], [x_at, rows_at, cols_at]) = (from.map(|at| at as *const _), to.map(|at| at as *mut _));
        let (action, algorithm) = (Self::NUMERIC, Self::ALGORITHM);
        // SAFETY: see `Calls`; it enqueues nothing.
        unsafe {
            api.csr2csc_size(handle, m, n, nnz, x, rows, cols, x_at, rows_at, cols_at, t, action, 0, algorithm, bytes)
        }
    }

    fn run(&self, buffer: u64) -> Code {
        let Calls { api, handle, sizes: [m, n, nnz], from, to, element: t } = *self;
        let ([x, rows, cols], [x_at, rows_at, cols_at]) = (from.map(|at| at as *const _), to.map(|at| at as *mut _));
        let (action, algorithm, buffer) = (Self::NUMERIC, Self::ALGORITHM, buffer as *mut _);
        // SAFETY: see `Calls`; the workspace has the size that was asked for.
        unsafe {
            api.csr2csc(handle, m, n, nnz, x, rows, cols, x_at, rows_at, cols_at, t, action, 0, algorithm, buffer)
        }
    }
}

impl Sparse {
    /// The same matrix with the other dimension compressed; its values are conjugated if `conj` is set.
    pub(in super::super) fn recompress<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
        conj: bool,
    ) -> Result<Compressed<T, I, M::Turned>> {
        let (count, width) = if M::ROWS { (a.rows(), a.cols()) } else { (a.cols(), a.rows()) };
        let len = width.checked_add(1).ok_or_else(|| Error::invalid("cols", "the number of columns overflows"))?;
        let made = (self.device.unwritten(len)?, self.device.unwritten(a.nnz())?, self.device.unwritten(a.nnz())?);
        let reads = (a.offsets().as_in(), a.indices().as_in(), a.values().as_in());
        let op = Recompress::<T, I> { count, width, conj, _types: PhantomData };
        let (offsets, indices, values) = self.submit(op, reads, made)?.into_output();
        // SAFETY: the entries of a valid matrix, counted by the other index: sorted, without repetition.
        unsafe { Compressed::assume_valid(a.rows(), a.cols(), offsets, indices, values) }
    }

    /// Converts compressed rows to compressed columns (`cusparseCsr2cscEx2`). The matrix is returned at once, while the
    /// device still computes it.
    ///
    /// # Errors
    /// A stale or foreign matrix; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(2, 3, &[0, 2, 3], &[0, 2, 0], &[1.0f32, 2.0, 3.0])?; // [1 0 2; 3 0 0]
    /// let a = device.sparse().to_csc(&a)?;
    /// assert_eq!(device.download(a.offsets())?.await_result()?, [0, 2, 2, 3]);
    /// assert_eq!(device.download(a.values())?.await_result()?, [1.0, 3.0, 2.0]);
    /// # Ok(()) }
    /// ```
    pub fn to_csc<T: SparseElement, I: SparseIndex>(&self, a: &Csr<T, I>) -> Result<Csc<T, I>> {
        self.recompress(a, false)
    }

    /// Converts compressed columns to compressed rows; as [`to_csc`](Self::to_csc).
    ///
    /// # Errors
    /// As [`to_csc`](Self::to_csc).
    pub fn to_csr<T: SparseElement, I: SparseIndex>(&self, a: &Csc<T, I>) -> Result<Csr<T, I>> {
        self.recompress(a, false)
    }

    /// The transpose in the same format. [`Compressed::transposed`] gives it in the other format without a copy.
    ///
    /// # Errors
    /// As [`to_csc`](Self::to_csc).
    pub fn transpose<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
    ) -> Result<Compressed<T, I, M>> {
        Ok(self.recompress(a, false)?.transposed())
    }

    /// The conjugate transpose in the same format.
    ///
    /// # Errors
    /// As [`to_csc`](Self::to_csc).
    pub fn adjoint<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
    ) -> Result<Compressed<T, I, M>> {
        Ok(self.recompress(a, true)?.transposed())
    }
}
