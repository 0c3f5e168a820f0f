//! The calls of a device.

use super::op::Put;
use super::places::Places;
use crate::core::buffer::{AnyBuffers, AnyIns};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::Verdict;
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::sort::sort_numbers;
use crate::libraries::moves::Place;
use crate::libraries::moves::within::{Numbers, checked};
use crate::libraries::reductions::ReductionKind;
use crate::libraries::tensor_routine::TensorRoutine;
use serde::{Deserialize, Serialize};

/// What becomes of an element that is there, and of several that come to one place: in their row-major order, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Combine {
    /// The last one stays.
    Replace,
    /// They are added. Integers wrap; halves are accumulated in `f32` and rounded once.
    Add,
    /// They are multiplied.
    Mul,
    /// The smallest one stays; NaN if one is.
    Min,
    /// The largest one stays; NaN if one is.
    Max,
}

impl Combine {
    pub(super) fn kind(self) -> Option<ReductionKind> {
        match self {
            Combine::Replace => None,
            Combine::Add => Some(ReductionKind::Sum),
            Combine::Mul => Some(ReductionKind::Prod),
            Combine::Min => Some(ReductionKind::Min),
            Combine::Max => Some(ReductionKind::Max),
        }
    }
}

type Submitted<T> = Result<PendingDispatch<Tensor<T>, Verdict>, Rejected<Tensor<T>>>;

/// What is read: sorted numbers, their places, and the elements without gaps.
type Ready<T> = (Put, Tensor<i64>, Tensor<i64>, Option<Tensor<T>>);

fn ready<T: Element>(
    device: &Device,
    x: &Tensor<T>,
    places: Places,
    updates: &TensorRef<'_, T>,
    combine: Combine,
) -> Result<Ready<T>> {
    if !x.layout().is_row_major() || x.len() != x.buffer().len() {
        return Err(Error::invalid("x", "it does not lie without gaps in row-major order: use `Device::contiguous`"));
    }
    if updates.shape() != places.updates {
        let what = format!("extents {:?}, but the indices name {:?}", updates.shape(), places.updates);
        return Err(Error::invalid("updates", what));
    }
    let (slots, width, count) = (places.slots, places.width, places.numbers.len());
    let put = Put { dtype: T::DTYPE, combine, slots, width, count, told: places.told };
    put.check_data()?;
    let dense = if updates.layout().is_row_major() { None } else { Some(device.contiguous(updates)?.into_output()) };
    let (numbers, order) = sort_numbers(device, &places.numbers.reshape([count])?, slots)?.into_output();
    Ok((put, numbers, order, dense))
}

fn submit<T: Element>(
    device: &Device,
    x: Tensor<T>,
    places: Result<Places>,
    updates: &TensorRef<'_, T>,
    combine: Combine,
) -> Submitted<T> {
    let places = match places {
        // Slices without elements: their numbers are looked at all the same.
        Ok(Places { numbers, slots, width: 0, updates: wanted, .. })
            if !numbers.is_empty() && updates.shape() == wanted =>
        {
            let of = (Numbers::Slices { axis: 0 }, slots);
            let looked = checked(device, x, &AnyTensorRef::from(&numbers.view()), of);
            return looked.map_err(|error| Rejected { error: Put::refused(error), back: None });
        }
        places => places,
    };
    let ready = places.and_then(|places| ready(device, &x, places, updates, combine));
    let (put, numbers, order, dense) = match ready {
        Ok(ready) => ready,
        Err(error) => return Err(Rejected::new(Put::refused(error), x)),
    };
    let dense = dense.as_ref().map(Tensor::view);
    let operand = dense.as_ref().unwrap_or(updates).operand().map(|(part, _)| part.into());
    let operand = match operand {
        Ok(operand) => operand,
        Err(error) => return Err(Rejected::new(Put::refused(error), x)),
    };
    let extents = x.shape().to_vec();
    let tensor = |any: AnyBuffers| -> Result<Tensor<T>, AnyBuffers> {
        let (buffer,) = any.downcast::<crate::core::buffer::DeviceBuffer<T>>()?;
        let tensor = Tensor::from_buffer(buffer, &extents);
        tensor.map_err(|rejected| rejected.back.into_iter().map(Into::into).collect())
    };
    let reads: AnyIns<'_> =
        [numbers.buffer().as_in().into(), order.buffer().as_in().into(), operand].into_iter().collect();
    let submitted = device.dispatch(put, reads, [x.into_buffer().into()].into_iter().collect());
    match submitted {
        Ok(pending) => pending
            .retype(|any| tensor(any).map(|tensor| (tensor,)))
            .map_err(|any: AnyBuffers| Rejected { error: Error::from(any), back: None }),
        Err(Rejected { error, back }) => Err(Rejected { error, back: back.and_then(|any| tensor(any).ok()) }),
    }
}

/// Elements written by number.
impl Device {
    /// Writes slices of `x` along an axis, by their numbers: the counterpart of [`take`](Self::take). `updates` has the extents of
    /// `x` with the number of indices on the axis. `x` is moved in, and comes back from the wait; it is row-major. Negative numbers
    /// count from the end.
    ///
    /// Elements for one place are combined in their order, so the result has the same bits each time, on both engines.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::arrays::Combine;
    /// let device = windlass::Device::best()?;
    /// let sums = device.zeros::<f32>([3, 2])?;
    /// let rows = device.tensor([3, 2], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let groups = device.tensor([3], [2i64, 0, -1])?;
    /// let sums = device.put(sums, &groups, &rows, 0, Combine::Add)?.await_result()?;
    /// assert_eq!(device.show(&sums)?.to_string(), "[[3. 4.]\n [0. 0.]\n [6. 8.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Costs
    /// A sort of the numbers, of as many bytes as they need. Elements for one place are taken one after the other, on a GPU by one
    /// thread for each element of the slice; where a place gets 64 of them or more on average, by one warp, which loads many at once.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there, indices that are no vector, other extents of `updates`, an `x` with
    /// gaps, sums of complex numbers or truth values; a stale tensor, or one of another device; [`Error::OutOfMemory`]. `x` comes
    /// back. The wait returns [`Error::InvalidArgument`] with the place of the first index that is out of range.
    pub fn put<'i, 'u, T: Element, I: Place>(
        &self,
        x: Tensor<T>,
        indices: impl ReadableTensor<'i, I>,
        updates: impl ReadableTensor<'u, T>,
        axis: isize,
        combine: Combine,
    ) -> Submitted<T> {
        let places = Places::along(self, x.shape(), &indices.into(), axis);
        submit(self, x, places, &updates.into(), combine)
    }

    /// Writes single elements of `x`: each one of `updates` at its own place, but with the index in that of the axis. NumPy's
    /// `put_along_axis`, ONNX's `ScatterElements`. For costs and errors see [`put`](Self::put).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::arrays::Combine;
    /// let device = windlass::Device::best()?;
    /// let x = device.zeros::<i32>([2, 3])?;
    /// let indices = device.tensor([2, 2], [0i64, 2, 1, 1])?;
    /// let updates = device.tensor([2, 2], [1, 2, 3, 4])?;
    /// let x = device.put_along_axis(x, &indices, &updates, 1, Combine::Replace)?.await_result()?;
    /// assert_eq!(device.show(&x)?.to_string(), "[[1 0 2]\n [0 4 0]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`put`](Self::put); indices that have more elements than `x` on another axis.
    #[doc(alias = "scatter_add")]
    pub fn put_along_axis<'i, 'u, T: Element, I: Place>(
        &self,
        x: Tensor<T>,
        indices: impl ReadableTensor<'i, I>,
        updates: impl ReadableTensor<'u, T>,
        axis: isize,
        combine: Combine,
    ) -> Submitted<T> {
        let places = Places::each(self, x.shape(), &indices.into(), axis);
        submit(self, x, places, &updates.into(), combine)
    }

    /// Writes slices of `x` whose places the last axis of `indices` names: ONNX's `ScatterND`, and NumPy's `x[i, j] = updates`. For
    /// costs and errors see [`put`](Self::put).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::arrays::Combine;
    /// let device = windlass::Device::best()?;
    /// let x = device.zeros::<i32>([2, 2])?;
    /// let x = device.put_nd(x, &device.tensor([2, 2], [0i64, 1, 1, 0])?, &device.tensor([2], [5, 6])?, Combine::Add)?;
    /// assert_eq!(device.show(&x.await_result()?)?.to_string(), "[[0 5]\n [6 0]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`put`](Self::put); indices whose last axis has more places than `x` has axes.
    pub fn put_nd<'i, 'u, T: Element, I: Place>(
        &self,
        x: Tensor<T>,
        indices: impl ReadableTensor<'i, I>,
        updates: impl ReadableTensor<'u, T>,
        combine: Combine,
    ) -> Submitted<T> {
        let places = Places::many(self, x.shape(), &indices.into());
        submit(self, x, places, &updates.into(), combine)
    }
}
