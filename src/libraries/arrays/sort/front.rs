//! The calls of a device.

use super::op::Sort;
use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIn, AnyIns};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected, Result};
use crate::core::fp8::{F8E4M3, F8E5M2};
use crate::core::truth::Bool;
use crate::device::Device;
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::expressions::build::{Symbol, sealed::Outputs};
use crate::libraries::expressions::operands::Read;
use crate::libraries::tensor_routine::TensorRoutine;
use half::{bf16, f16};

/// An element whose values have an order: all but complex numbers. A NaN comes last in both directions; zeros of either sign are
/// equal. Sealed.
#[diagnostic::on_unimplemented(
    message = "elements of `{Self}` have no order",
    note = "sort the parts or magnitudes of complex numbers"
)]
pub trait Ordered: Element + sealed::Ordered {}

mod sealed {
    pub trait Ordered {}
}

macro_rules! ordered { ($($t:ty)*) => { $(
    impl sealed::Ordered for $t {}
    impl Ordered for $t {}
)* } }
ordered!(i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 F8E4M3 F8E5M2 f32 f64 Bool);

/// The axis of a sort, and its direction. A number is an axis whose smallest element comes first.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::arrays::By;
/// let device = windlass::Device::best()?;
/// let x = device.tensor([4], [2.0f32, f32::NAN, 3.0, 1.0])?;
/// assert_eq!(device.show(&device.sort(&x, 0)?.await_result()?)?.to_string(), "[ 1.  2.  3. nan]");
/// let falling = device.sort(&x, By::axis(0).descending())?.await_result()?;
/// assert_eq!(device.show(&falling)?.to_string(), "[ 3.  2.  1. nan]");
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct By {
    axis: isize,
    descending: bool,
}

impl By {
    /// The smallest element of the axis first; a negative number counts from the last axis.
    pub fn axis(axis: isize) -> Self {
        By { axis, descending: false }
    }

    /// The largest element first. Equal ones keep their order, and a NaN is last.
    #[must_use = "this returns a new description"]
    pub fn descending(self) -> Self {
        By { descending: true, ..self }
    }
}

impl From<isize> for By {
    fn from(axis: isize) -> Self {
        By::axis(axis)
    }
}

/// Compiled once for each tuple of results.
fn submit<O: Outputs>(
    device: &Device,
    dtype: DType,
    (x, layout): Read<'_>,
    (by, k): (By, Option<usize>),
    [values, indices]: [bool; 2],
) -> Result<PendingDispatch<O::Tensors>> {
    let rank = layout.rank();
    let axis = if by.axis < 0 { rank.checked_sub(by.axis.unsigned_abs()) } else { Some(by.axis.unsigned_abs()) };
    let missing = || Error::invalid("axis", format!("axis {}, but the rank is {rank}", by.axis));
    let axis = axis.filter(|axis| *axis < rank).ok_or_else(missing).map_err(Sort::refused)?;
    let keep = k.unwrap_or_else(|| layout.shape().get(axis).copied().unwrap_or(0));
    let sort = Sort { dtype, axis, x: layout, keep, descending: by.descending, values, indices, bytes: None };
    run::<O>(device, sort, x)
}

/// Sorts a vector of numbers from 0 to `most`, and gives their places.
pub(in crate::libraries::arrays) fn sort_numbers(
    device: &Device,
    x: &TensorRef<'_, i64>,
    most: usize,
) -> Result<PendingDispatch<(Tensor<i64>, Tensor<i64>)>> {
    let (part, layout) = x.operand()?;
    let (keep, bytes) = (layout.len(), (usize::BITS - most.leading_zeros()).div_ceil(8).max(1));
    let bytes = Some(bytes as usize);
    let sort =
        Sort { dtype: DType::I64, axis: 0, x: layout, keep, descending: false, values: true, indices: true, bytes };
    run::<(Symbol<i64>, Symbol<i64>)>(device, sort, part.into())
}

fn run<O: Outputs>(device: &Device, sort: Sort, x: AnyIn<'_>) -> Result<PendingDispatch<O::Tensors>> {
    sort.check_data().map_err(Sort::refused)?;
    let output = sort.output().map_err(Sort::refused)?;
    let mut written = AnyBuffers::default();
    for dtype in [sort.values.then_some(sort.dtype), sort.indices.then_some(DType::I64)].into_iter().flatten() {
        written.push(buffer(device, dtype, &output)?);
    }
    let reads: AnyIns<'_> = [x].into_iter().collect();
    let pending = device.dispatch(sort, reads, written).map_err(Rejected::into_error)?;
    pending.retype(|buffers| O::tie(buffers, &output)).map_err(|any: AnyBuffers| Error::from(any))
}

fn buffer(device: &Device, dtype: DType, layout: &Layout) -> Result<AnyBuffer> {
    Ok(device.uninit_any(dtype, layout.shape())?.into_parts().0)
}

/// Sorting.
impl Device {
    /// The elements in order along an axis, the smallest first: NumPy's stable `sort`.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 3], [3, 1, 2, 6, 5, 4])?;
    /// assert_eq!(device.show(&device.sort(&x, -1)?.await_result()?)?.to_string(), "[[1 2 3]\n [4 5 6]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there, or that has more than 2^32 - 1 elements; a stale tensor, or one of
    /// another device; [`Error::OutOfMemory`].
    pub fn sort<'a, T: Ordered>(
        &self,
        x: impl ReadableTensor<'a, T>,
        by: impl Into<By>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x = x.into();
        let (part, layout) = x.operand()?;
        submit::<Symbol<T>>(self, T::DTYPE, (part.into(), layout), (by.into(), None), [true, false])
    }

    /// The numbers of the elements in their order along an axis: NumPy's stable `argsort`. Of equal elements the first one comes
    /// first, in both directions.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::arrays::By;
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([4], [7u8, 9, 7, 1])?;
    /// assert_eq!(device.show(&device.argsort(&x, 0)?.await_result()?)?.to_string(), "[3 0 2 1]");
    /// let falling = device.argsort(&x, By::axis(0).descending())?.await_result()?;
    /// assert_eq!(device.show(&falling)?.to_string(), "[1 0 2 3]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`sort`](Self::sort).
    pub fn argsort<'a, T: Ordered>(
        &self,
        x: impl ReadableTensor<'a, T>,
        by: impl Into<By>,
    ) -> Result<PendingDispatch<Tensor<i64>>> {
        let x = x.into();
        let (part, layout) = x.operand()?;
        submit::<Symbol<i64>>(self, T::DTYPE, (part.into(), layout), (by.into(), None), [false, true])
    }

    /// The elements in order along an axis, and their numbers: [`sort`](Self::sort) and [`argsort`](Self::argsort) at once.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([3], [0.5f32, -1.0, 0.0])?;
    /// let (values, indices) = device.sort_with_indices(&x, 0)?.await_result()?;
    /// assert_eq!(device.show(&values)?.to_string(), "[-1.   0.   0.5]");
    /// assert_eq!(device.show(&indices)?.to_string(), "[1 2 0]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`sort`](Self::sort).
    pub fn sort_with_indices<'a, T: Ordered>(
        &self,
        x: impl ReadableTensor<'a, T>,
        by: impl Into<By>,
    ) -> Result<PendingDispatch<(Tensor<T>, Tensor<i64>)>> {
        let x = x.into();
        let (part, layout) = x.operand()?;
        submit::<(Symbol<T>, Symbol<i64>)>(self, T::DTYPE, (part.into(), layout), (by.into(), None), [true, true])
    }

    /// The `k` largest elements along an axis, the largest first, and their numbers; of equal ones those that come first. A NaN is
    /// taken after all numbers.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 4], [3, 9, 9, 1, 0, 5, 2, 7])?;
    /// let (values, indices) = device.top_k(&x, 2, -1)?.await_result()?;
    /// assert_eq!(device.show(&values)?.to_string(), "[[9 9]\n [7 5]]");
    /// assert_eq!(device.show(&indices)?.to_string(), "[[1 2]\n [3 1]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`sort`](Self::sort); [`Error::InvalidArgument`] if the axis has fewer than `k` elements.
    pub fn top_k<'a, T: Ordered>(
        &self,
        x: impl ReadableTensor<'a, T>,
        k: usize,
        axis: isize,
    ) -> Result<PendingDispatch<(Tensor<T>, Tensor<i64>)>> {
        let x = x.into();
        let ((part, layout), by) = (x.operand()?, By::axis(axis).descending());
        submit::<(Symbol<T>, Symbol<i64>)>(self, T::DTYPE, (part.into(), layout), (by, Some(k)), [true, true])
    }

    /// The `k` smallest elements along an axis, the smallest first, and their numbers: see [`top_k`](Self::top_k).
    ///
    /// # Errors
    /// As [`top_k`](Self::top_k).
    pub fn bottom_k<'a, T: Ordered>(
        &self,
        x: impl ReadableTensor<'a, T>,
        k: usize,
        axis: isize,
    ) -> Result<PendingDispatch<(Tensor<T>, Tensor<i64>)>> {
        let x = x.into();
        let ((part, layout), by) = (x.operand()?, By::axis(axis));
        submit::<(Symbol<T>, Symbol<i64>)>(self, T::DTYPE, (part.into(), layout), (by, Some(k)), [true, true])
    }
}
