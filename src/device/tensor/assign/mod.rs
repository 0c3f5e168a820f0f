//! Copies of views into views, and fills: the one operation that moves the elements of tensors.
//!
//! An [`Assign`] has no element type at compile time. It copies elements of 1, 2, 4, 8 or 16 bytes, so that one instance of
//! it serves all types. `host.rs` is its host half. `plan.rs` chooses how a GPU does it, and `cuda.rs` enqueues that:
//! the driver's copies where they can, else our own kernels (`kernels/assign.cu`).

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[cfg(feature = "host")]
pub(crate) mod host;
#[cfg(any(feature = "cuda", test))]
pub(crate) mod plan;
#[cfg(feature = "host")]
mod turn;

use super::layout::fused;
use super::{Layout, Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::core::buffer::{AnyBuffers, AnyIns, AnySpan, DeviceBuffer, Dyn};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::{Cost, Spans, Wire};
use crate::core::sync::Ordering;
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};
use serde::{Deserialize, Serialize};

/// The elements that are copied.
#[derive(Debug, Serialize, Deserialize)]
enum Source {
    /// Those of the operand that is read.
    Layout(Layout),
    /// One value: the bytes of an element, repeated.
    Value([u8; 16]),
}

/// Copies a view into a view of the same extents, or fills one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Assign {
    dtype: DType,
    target: Layout,
    source: Source,
}

impl Assign {
    const OP: &'static str = "assign";

    /// Whether an operand is one of this element type that holds the layout.
    fn check_operand(&self, name: &'static str, spans: &[AnySpan], layout: &Layout) -> Result<()> {
        let [span] = spans else {
            return Err(Error::invalid(name, format!("{} operands instead of one", spans.len())));
        };
        layout.check_operand(name, span, self.dtype)
    }
}

impl Op for Assign {
    const NAME: &'static str = Assign::OP;
    const LIBRARY: &'static str = "copy";
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.check_operand("target", writes, &self.target)?;
        self.target.check_distinct("target")?;
        match &self.source {
            Source::Layout(source) if source.shape() != self.target.shape() => {
                let what = format!("extents {:?}, but the target has {:?}", source.shape(), self.target.shape());
                Err(Error::invalid("source", what))
            }
            Source::Layout(source) => self.check_operand("source", reads, source),
            Source::Value(_) if reads.is_empty() => Ok(()),
            Source::Value(_) => Err(Error::invalid("source", "an operand beside the value")),
        }
    }

    fn overwrites(&self, writes: &Spans<Dyn>) -> bool {
        // Of a layout whose elements are at different places inside the operand.
        writes.first().is_some_and(|target| target.len() == self.target.len()) && self.target.is_distinct()
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let one = one(self.dtype);
        if matches!(self.source, Source::Value(_)) { (&[], one) } else { (one, one) }
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        Some(if index < read_count { "source" } else { "target" }.to_owned())
    }

    fn cost(&self) -> Cost {
        let operands = if matches!(self.source, Source::Value(_)) { 1 } else { 2 };
        Cost { flops: 0, bytes: (self.target.len() as u64).saturating_mul(operands * self.dtype.size() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        let missing = || Error::library("internal error: an operand is missing");
        let target = writes.into_iter().next().ok_or_else(missing)?;
        let (value, words): (_, [u64; 2]);
        let (source, bytes) = match &self.source {
            Source::Layout(source) => (source, reads.first().ok_or_else(missing)?.bytes()),
            Source::Value(bytes) => {
                // Aligned for every element.
                (value, words) = (self.target.broadcast_of_one()?, bytemuck::cast(*bytes));
                (&value, bytemuck::bytes_of(&words))
            }
        };
        host::assign(self.dtype.size(), (target, &self.target), (bytes, source))
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        cuda::enqueue(self, queue)
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no CUDA engine"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// A list of one type.
fn one(dtype: DType) -> &'static [DType] {
    DType::ALL.iter().find(|d| **d == dtype).map(std::slice::from_ref).unwrap_or_default()
}

/// Registers the operation in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<Assign>();
}

/// Copies and fills.
impl Device {
    /// Copies a view into a tensor, or into a [`part`](Tensor::part) of one: `target[..] = source`. The source is broadcast
    /// to the extents of the target; both may have any strides.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the source does not broadcast, or the part to be written meets itself (an axis that
    /// was broadcast, windows that overlap); a stale tensor, or one of another device. The target is returned.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, tensor::AxisSlice};
    /// let device = Device::host()?;
    /// let (x, row) = (device.zeros::<i32>([3, 2])?, device.tensor([2], [7, 8])?);
    /// let every_second = |all: &windlass::tensor::Layout| all.slice(AxisSlice::from(..).step(2));
    /// let x = device.assign(x.part(every_second)?, &row)?.await_result()?; // x[::2] = row
    /// assert_eq!(device.show(&x)?.to_string(), "[[7 8]\n [0 0]\n [7 8]]");
    /// # Ok(()) }
    /// ```
    pub fn assign<'a, T: Element>(
        &self,
        target: impl WritableTensor<T>,
        source: impl ReadableTensor<'a, T>,
    ) -> Submitted<Tensor<T>> {
        let (target, source) = (target.into(), source.into());
        let operands = source.operand().and_then(|(part, layout)| match layout.broadcast(target.layout().shape()) {
            Ok(layout) => Ok((part, layout)),
            Err(Error::InvalidArgument { reason, .. }) => Err(Error::invalid("source", reason)),
            Err(other) => Err(other),
        });
        match operands {
            Ok((part, layout)) => self.write(target, Some(&layout), [part.into()].into_iter().collect(), &[]),
            Err(error) => Err(Rejected::new(error.in_op(Assign::OP, Assign::LIBRARY), (target.tensor,))),
        }
    }

    /// Sets every element of a tensor, or of a [`part`](Tensor::part) of one, to `value`.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn fill<T: Element>(&self, target: impl WritableTensor<T>, value: T) -> Submitted<Tensor<T>> {
        let target = target.into();
        if !target.layout().is_run() {
            return self.write(target, None, AnyIns::new(), bytemuck::bytes_of(&value));
        }
        let (buffer, whole) = target.window();
        whole.submitted(self.filled(buffer, value))
    }

    /// Copies a view into a tensor, or into a [`part`](Tensor::part) of one, of the same shape; both may have any strides.
    /// ([`assign`](Self::assign) broadcasts.)
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes differ; else as [`assign`](Self::assign). The target is returned.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([2, 2], [1, 2, 3, 4])?;
    /// let y = device.copy(x.transpose(), device.zeros([2, 2])?)?;
    /// assert_eq!(device.to_vec(&y)?, [1, 3, 2, 4]);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "copyto")]
    pub fn copy<'a, T: Element>(
        &self,
        source: impl ReadableTensor<'a, T>,
        target: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (source, target) = (source.into(), target.into());
        if !source.layout().runs_as(target.layout()) {
            return match source.layout().check_same_shape(target.layout()) {
                Ok(()) => self.assign(target, source),
                Err(error) => Err(Rejected::new(error.in_op("copy", Assign::LIBRARY), (target.tensor,))),
            };
        }
        target.submit(("copy", "copy"), source.operand(), |(source, _), target| self.copied_into(source, target))
    }

    /// A new row-major tensor with the elements of a view.
    ///
    /// # Errors
    /// As [`uninit`](Self::uninit); a stale view, or one of another device.
    #[doc(alias = "clone")]
    pub fn duplicate<'a, T: Element>(&self, source: impl ReadableTensor<'a, T>) -> Result<PendingDispatch<Tensor<T>>> {
        let source = source.into();
        let target = self.uninit(source.shape())?;
        Ok(self.copy(source, target)?)
    }

    fn write<T: Element>(
        &self,
        target: Part<T>,
        source: Option<&Layout>,
        reads: AnyIns<'_>,
        value: &[u8],
    ) -> Submitted<Tensor<T>> {
        let (buffer, part, whole) = target.operand();
        let mut layouts = match source {
            Some(source) => fused(&[&part, source]),
            None => fused(&[&part]),
        };
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(value.iter().cycle()).for_each(|(to, from)| *to = *from);
        let source = source.and_then(|_| layouts.pop()).map_or(Source::Value(bytes), Source::Layout);
        let op = Assign { dtype: T::DTYPE, target: layouts.pop().unwrap_or(part), source };
        let back = move |any: AnyBuffers| {
            let (buffer,) = any.downcast::<DeviceBuffer<T>>()?;
            Ok((whole.tensor(buffer),))
        };
        match self.dispatch(op, reads, [buffer.into()].into_iter().collect()) {
            Ok(pending) => pending.retype(back).map_err(|any: AnyBuffers| Error::from(any).into()),
            Err(Rejected { error, back: buffers }) => {
                Err(Rejected { error, back: buffers.and_then(|any| back(any).ok()) })
            }
        }
    }

    /// [`duplicate`](Self::duplicate), as what an operation needs that refuses strides. Of a transposed matrix it is the
    /// transposition itself.
    ///
    /// # Errors
    /// As there.
    pub fn contiguous<'a, T: Element>(&self, source: impl ReadableTensor<'a, T>) -> Result<PendingDispatch<Tensor<T>>> {
        self.duplicate(source)
    }

    /// As [`contiguous`](Self::contiguous), for a call that cannot read an operand as it lies: counted
    /// ([`Stats::operand_copies`](crate::Stats::operand_copies)).
    pub(crate) fn copied<T: Element>(&self, source: &TensorRef<'_, T>) -> Result<PendingDispatch<Tensor<T>>> {
        self.counts_copy();
        self.contiguous(source)
    }

    pub(crate) fn counts_copy(&self) {
        self.inner().counters.operand_copies.fetch_add(1, Ordering::Relaxed);
    }

    /// As [`contiguous`](Self::contiguous), with the matrices of the last two axes column-major, as the dense solvers need
    /// them: the elements of a column are neighbours, and the columns of a matrix, and the matrices, lie one after the other.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous); [`Error::InvalidArgument`] with less than two axes.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([2, 3], [1, 2, 3, 4, 5, 6])?;
    /// let columns = device.contiguous_columns(&x)?.await_result()?;
    /// assert_eq!((columns.shape(), columns.layout().strides()), (&[2, 3][..], &[1, 2][..]));
    /// assert_eq!(device.download(columns.buffer())?.await_result()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok(()) }
    /// ```
    pub fn contiguous_columns<'a, T: Element>(
        &self,
        source: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let source = source.into();
        let turned = source.swap_axes(-1, -2)?;
        let (buffer, layout) = self.uninit(turned.shape())?.into_parts();
        let target = Tensor::from_parts(buffer, layout.swap_axes(-1, -2)?);
        Ok(self.assign(target, source)?)
    }
}
