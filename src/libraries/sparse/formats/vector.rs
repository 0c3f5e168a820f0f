//! Sparse vectors.

use super::super::Sparse;
use super::super::element::{SparseElement, SparseIndex};
use super::super::fault::Fault;
#[cfg(feature = "host")]
use super::super::host;
#[cfg(feature = "cuda")]
use super::super::native::{Pick, STRUCTURE};
use super::super::routine::{Call, Routine};
use crate::core::buffer::{DeviceBuffer, GpuRef, Shareable};
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Output, Spans, Verdict};
use crate::device::dispatch::Submitted;
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// A sparse vector of `len` elements: the sorted indices of the stored elements, none repeated, and their values.
pub struct SparseVector<T: SparseElement, I: SparseIndex = i32> {
    len: usize,
    indices: GpuRef<I>,
    values: GpuRef<T>,
}

impl<T: SparseElement, I: SparseIndex> SparseVector<T, I> {
    /// Takes the arrays without validating their contents: only their lengths are checked.
    ///
    /// # Safety
    /// The indices must be below `len`, sorted, and not repeated.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lengths differ or the index type cannot represent a size.
    pub unsafe fn assume_valid(len: usize, indices: impl Shareable<I>, values: impl Shareable<T>) -> Result<Self> {
        let (indices, values) = (indices.into(), values.into());
        check::<I>(len, indices.len(), values.len())?;
        Ok(SparseVector { len, indices, values })
    }

    /// Number of elements, those that are not stored included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the vector has a length of 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of stored elements.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// The indices of the stored elements.
    pub fn indices(&self) -> &GpuRef<I> {
        &self.indices
    }

    /// The values of the stored elements.
    pub fn values(&self) -> &GpuRef<T> {
        &self.values
    }

    /// The same indices with other values.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the number of values differs.
    pub fn with_values<U: SparseElement>(&self, values: impl Shareable<U>) -> Result<SparseVector<U, I>> {
        let (indices, values) = (self.indices.clone(), values.into());
        check::<I>(self.len, indices.len(), values.len())?;
        Ok(SparseVector { len: self.len, indices, values })
    }
}

impl<T: SparseElement, I: SparseIndex> Clone for SparseVector<T, I> {
    fn clone(&self) -> Self {
        SparseVector { len: self.len, indices: self.indices.clone(), values: self.values.clone() }
    }
}

impl<T: SparseElement, I: SparseIndex> std::fmt::Debug for SparseVector<T, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SparseVector<{}, {}>({}, {} stored)", T::DTYPE, I::DTYPE, self.len, self.nnz())
    }
}

impl<T: SparseElement, I: SparseIndex> Output for SparseVector<T, I> {
    type Writes = (I, T);
    type Host = usize;
    fn join((indices, values): (DeviceBuffer<I>, DeviceBuffer<T>), len: usize) -> Result<Self> {
        Ok(SparseVector { len, indices: indices.share(), values: values.share() })
    }
}

fn check<I: SparseIndex>(len: usize, indices: usize, values: usize) -> Result<()> {
    if indices != values {
        return Err(Error::invalid("values", format!("{values} elements, but there are {indices} indices")));
    }
    if len > I::LARGEST {
        return Err(Error::invalid("len", format!("{len} exceeds the limit of {} indices, {}", I::DTYPE, I::LARGEST)));
    }
    Ok(())
}

/// Reads and checks the indices of a vector.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in super::super) struct ValidateVector<T, I> {
    len: usize,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SparseElement, I: SparseIndex> Routine for ValidateVector<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "validate_vector";
    const OPERANDS: OperandNames = (&[], &["indices", "values"]);
    type Reads = ();
    type Output = SparseVector<T, I>;
    type Raw = u64;

    fn check(&self, (): &(), (indices, values): &Spans<(I, T)>) -> Result<()> {
        check::<I>(self.len, indices.len(), values.len())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (indices, _): (&mut [I], &mut [T])) -> Result<u64> {
        Ok(Fault::encode(host::check::sorted(self.len, indices)))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((indices, _), verdict) = (*queue.writes(), queue.result()?);
        let args = [indices.into(), indices.len().into(), self.len.into(), verdict.into()];
        // SAFETY: the result is a u64; the parameters in order and type.
        unsafe {
            queue.fill(verdict, 1, &[0xff; 8])?;
            kernels::each(queue, STRUCTURE, I::pick([c"check_list_4", c"check_list_8"]), indices.len(), &args)
        }
    }

    fn finish(&self, raw: u64) -> Result<usize> {
        let len = self.len;
        match Fault::decode(raw) {
            None => Ok(len),
            Some((place, Fault::Order)) => {
                Err(Error::invalid("indices", format!("index {place} is not larger than the one before it")))
            }
            Some((place, _)) => Err(Error::invalid("indices", format!("index {place} is not below {len}"))),
        }
    }
}

impl Sparse {
    /// Makes a sparse vector of `len` elements: validates the indices on the device.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] from this call if the lengths differ; from the wait if an index is not below `len` or
    /// not larger than the one before it. The arrays are returned with the error.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.sparse().vector(4, device.buffer([1i32, 3])?, device.buffer([5.0f32, 7.0])?)?.await_result()?;
    /// let y = device.sparse().scatter(&x, device.zeros([4])?)?.await_result()?;
    /// assert_eq!(device.to_vec(&y)?, [0.0, 5.0, 0.0, 7.0]);
    /// # Ok(()) }
    /// ```
    pub fn vector<T: SparseElement, I: SparseIndex>(
        &self,
        len: usize,
        indices: DeviceBuffer<I>,
        values: DeviceBuffer<T>,
    ) -> Submitted<SparseVector<T, I>, Verdict> {
        self.submit(ValidateVector::<T, I> { len, _types: PhantomData }, (), (indices, values))
    }
}
