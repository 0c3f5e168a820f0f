//! Slices of a tensor by their numbers.

use super::within::{self, Numbers};
use crate::core::buffer::AnyIns;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::Rejected;
use crate::core::op::Verdict;
use crate::core::truth::Bool;
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, Layout, ReadableTensor, Tensor, TensorRef, fused};
use crate::libraries::tensor_routine::one_tensor;
use crate::libraries::tensor_routine::prelude::*;

/// An element that can be the number of a slice: `i32`, `i64`, `u32`, `u64`. Negative ones count from the end. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of indices, labels and counts",
    label = "expected i32, i64, u32 or u64",
    note = "numbers of another type are converted by `cast`, as in `(&x).cast::<i64>().eval(&device)?`"
)]
pub trait Place: Element + sealed::Place {}

mod sealed {
    pub trait Place {}
}

macro_rules! places { ($($t:ty),*) => { $(
    impl sealed::Place for $t {}
    impl Place for $t {}
)* } }
places!(i32, i64, u32, u64);

/// What is told of a number that is out of range. Programs in files have it as these variants, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Told {
    /// Its place among the indices.
    Index,
    /// Its place; the slices are those of so many planes, and the caller has added where its plane begins to each number.
    Plane(usize),
    /// That edges of bins fall: see [`Device::histogram_between`].
    FallingEdges,
    /// Its place; the caller has made numbers of elements of the indices along an axis of so many.
    Along { axis: usize, len: usize },
    /// Its place among the tuples of indices, of which the caller has made numbers of slices along axes of these extents.
    Tuple(Extents),
    /// That weights add up to zero: see [`Device::average`].
    NoWeight,
}

/// The extents of a few axes, as data that is copied: so many, and those of the first ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extents(usize, [usize; 4]);

impl Extents {
    #[allow(dead_code, reason = "a build may have no library that calls it")]
    pub(crate) fn new(extents: &[usize]) -> Self {
        let mut first = [0; 4];
        first.iter_mut().zip(extents).for_each(|(to, n)| *to = *n);
        Extents(extents.len(), first)
    }
}

impl Told {
    /// What is wrong with index `number`: its name, and the reason.
    pub(crate) fn reason(self, number: u64) -> (&'static str, String) {
        let out_of_range = |of: String| format!("number {number} of them is out of range for {of}");
        match self {
            Told::Index => ("indices", out_of_range("its axis".to_owned())),
            Told::Plane(len) => ("places", out_of_range(format!("planes of {len} elements"))),
            Told::FallingEdges => ("edges", "an edge is below the one before it, but they rise".to_owned()),
            Told::Along { axis, len } => ("indices", out_of_range(format!("axis {axis} of {len} elements"))),
            Told::Tuple(Extents(rank, first)) => {
                let more = if rank > first.len() { ", and more" } else { "" };
                let first = first.get(..rank).unwrap_or(&first);
                ("indices", out_of_range(format!("axes of {first:?} elements{more}")))
            }
            Told::NoWeight => {
                ("weights", "they add up to zero, and nothing is divided by that: see `Device::sum`".to_owned())
            }
        }
    }
}

/// Takes the slices of these numbers along an axis. All is plain data, and admitted by [`TensorRoutine::check`], wherever it comes from.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Take {
    pub(super) dtype: DType,
    pub(super) index: DType,
    pub(super) axis: usize,
    pub(super) x: Layout,
    pub(super) indices: Layout,
    pub(super) told: Told,
    /// Whether a number that is out of range is told; else it is undefined behaviour.
    pub(super) checked: bool,
}

/// The loops over the result.
pub(super) struct Loops {
    /// Of the result, of the tensor at number 0, of the indices, and of the numbers of the indices themselves.
    pub(super) layouts: Vec<Layout>,
    /// The slices that there are, and the distance between neighbours, in elements.
    pub(super) slices: usize,
    pub(super) stride: isize,
}

impl Take {
    /// The extents of the result: those of the tensor, with those of the indices in the place of the axis.
    fn shape(&self) -> Vec<usize> {
        let before = self.x.shape().iter().take(self.axis);
        let behind = self.x.shape().iter().skip(self.axis + 1);
        before.chain(self.indices.shape()).chain(behind).copied().collect()
    }

    pub(super) fn loops(&self) -> Result<Loops> {
        let extents = self.shape();
        let (before, own) = (self.axis, self.indices.rank());
        let numbers = Layout::row_major(self.indices.shape())?;
        let spread = |strides: &[isize]| -> Vec<isize> {
            let behind = extents.len().saturating_sub(before + own);
            std::iter::repeat_n(0, before)
                .chain(strides.iter().copied())
                .chain(std::iter::repeat_n(0, behind))
                .collect()
        };
        let strides = self.x.strides();
        let of_x = strides.iter().take(before).copied().chain(std::iter::repeat_n(0, own));
        let of_x: Vec<isize> = of_x.chain(strides.iter().skip(before + 1).copied()).collect();
        let layouts = match extents.contains(&0) {
            true => vec![Layout::row_major(&extents)?; 4],
            false => vec![
                Layout::row_major(&extents)?,
                Layout::new(&extents, of_x, self.x.offset())?,
                Layout::new(&extents, spread(self.indices.strides()), self.indices.offset())?,
                Layout::new(&extents, spread(numbers.strides()), 0)?,
            ],
        };
        Ok(Loops {
            layouts: fused(&layouts.iter().collect::<Vec<_>>()),
            slices: self.x.shape().get(before).copied().unwrap_or(0),
            stride: strides.get(before).copied().unwrap_or(0),
        })
    }

    /// The elements of the result; `usize::MAX`, which no buffer has, if they are too many.
    fn len(&self) -> usize {
        self.shape().into_iter().fold(1, usize::saturating_mul)
    }
}

impl TensorRoutine for Take {
    const NAME: &'static str = "take";
    const LIBRARY: &'static str = "copy";
    const OVERWRITES: bool = true;
    /// 0, or the complement of the number of the first index that is out of range.
    type Raw = u64;

    fn operands(&self) -> Operands<'_> {
        let (x, indices) =
            (Operand::inside("x", self.dtype, &self.x), Operand::inside("indices", self.index, &self.indices));
        Operands::new([x, indices], [Operand::exactly("target", self.dtype, self.len())])
    }

    fn check_data(&self) -> Result<()> {
        if !matches!(self.index, DType::I32 | DType::I64 | DType::U32 | DType::U64) {
            return Err(Error::invalid("indices", format!("{} is no type of a number of a slice", self.index)));
        }
        if self.axis >= self.x.rank() {
            return Err(Error::invalid("axis", format!("axis {}, but the rank is {}", self.axis, self.x.rank())));
        }
        if self.x.is_empty() && self.len() > 0 {
            let what = format!("{} of them, but there is no slice: extents {:?}", self.indices.len(), self.x.shape());
            return Err(Error::invalid("indices", what));
        }
        Ok(())
    }

    fn cost(&self) -> Cost {
        let indices = self.indices.len() as u64 * self.index.size() as u64;
        let moved = (self.len() as u64).saturating_mul(2 * self.dtype.size() as u64);
        Cost { flops: 0, bytes: moved.saturating_add(indices) }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<u64> {
        let ([x, indices], [target]) = operands.places()?;
        // SAFETY: the operands were checked: the layouts lie inside them, and the target is exclusively ours.
        unsafe { super::take_host::take(self, x, indices, target) }
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
        for key in super::take_cuda::keys(self).unwrap_or_default() {
            plans.plan(&key);
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::take_cuda::enqueue(self, queue)
    }

    fn finish(&self, raw: u64) -> Result<()> {
        if raw == 0 {
            return Ok(());
        }
        let slices = self.x.shape().get(self.axis).copied().unwrap_or(0);
        let told = match self.told {
            Told::Index => Told::Along { axis: self.axis, len: slices },
            Told::Plane(planes) => Told::Plane(slices / planes.max(1)),
            told => told,
        };
        let (name, what) = told.reason(!raw);
        Err(Error::invalid(name, what))
    }
}

tensor_routines!(Take);

fn take<T: Element>(
    device: &Device,
    (x, indices): (AnyRead<'_>, AnyRead<'_>),
    index: DType,
    (axis, told): (isize, Told),
    checked: bool,
) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
    let ((x, layout), (numbers, indices)) = (x, indices);
    let axis = super::join::place(axis, layout.rank()).map_err(Take::refused)?;
    let take = Take { dtype: T::DTYPE, index, axis, x: layout, indices, told, checked };
    let target = Layout::row_major(take.shape()).map_err(Take::refused)?;
    let buffer = device.unwritten::<T>(target.len())?;
    if checked && target.is_empty() && !take.indices.is_empty() {
        let result = Tensor::from_buffer(buffer, target.shape()).map_err(|rejected| rejected.error)?;
        return of_nothing(device, result, numbers, &take);
    }
    let reads: AnyIns<'_> = [x, numbers].into_iter().collect();
    let submitted = device.dispatch(take, reads, [buffer.into()].into_iter().collect());
    one_tensor(submitted.map_err(Rejected::into_error)?, target)
}

/// Slices without elements: their numbers are looked at all the same.
fn of_nothing<T: Element>(
    device: &Device,
    result: Tensor<T>,
    numbers: crate::core::buffer::AnyIn<'_>,
    take: &Take,
) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
    let slices = take.x.shape().get(take.axis).copied().unwrap_or(0);
    let numbers = AnyTensorRef::of(numbers, take.indices.clone());
    within::checked(device, result, &numbers, (Numbers::Slices { axis: take.axis }, slices)).map_err(Take::refused)
}

type AnyRead<'a> = (crate::core::buffer::AnyIn<'a>, Layout);

/// Slices by number.
impl Device {
    /// The slices of `x` along an axis whose numbers are `indices`, in their order: NumPy's `take`. The extents of the indices stand
    /// in the place of the axis. Negative numbers count from the end.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([3, 2], [1, 2, 3, 4, 5, 6])?;
    /// let rows = device.take(&x, &device.tensor([3], [2i64, 0, -1])?, 0)?.await_result()?;
    /// assert_eq!(device.show(&rows)?.to_string(), "[[5 6]\n [1 2]\n [5 6]]");
    /// let wrong = device.take(&x, &device.tensor([2], [0i32, 3])?, 0)?.await_result().unwrap_err();
    /// assert!(wrong.to_string().contains("number 1 of them is out of range for axis 0 of 3 elements"), "{wrong}");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there, or indices where there is no slice; a stale tensor, or one of another
    /// device; [`Error::OutOfMemory`]. The wait returns [`Error::InvalidArgument`] with the place of the first index that is out of
    /// range.
    pub fn take<'a, 'i, T: Element, I: Place>(
        &self,
        x: impl ReadableTensor<'a, T>,
        indices: impl ReadableTensor<'i, I>,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
        let (x, indices) = (x.into(), indices.into());
        let ((x, layout), (numbers, places)) = (x.operand()?, indices.operand()?);
        take(self, ((x.into(), layout), (numbers.into(), places)), I::DTYPE, (axis, Told::Index), true)
    }

    /// As [`take`](Self::take), of a vector of planes one after the other; the numbers count in all of them. What is out of range is
    /// told as an element of a plane.
    #[allow(dead_code, reason = "a build may have no library that calls it")]
    pub(crate) fn take_of_planes<'a, 'i, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        places: impl ReadableTensor<'i, i64>,
        planes: usize,
    ) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
        self.take_told(&x.into(), &places.into(), Told::Plane(planes))
    }

    /// As [`take`](Self::take) along the first axis, by numbers that the library has made of what the caller gave; of one that is out
    /// of range this is told.
    pub(crate) fn take_told<T: Element>(
        &self,
        x: &TensorRef<'_, T>,
        numbers: &TensorRef<'_, i64>,
        told: Told,
    ) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
        let ((x, layout), (numbers, places)) = (x.operand()?, numbers.operand()?);
        take(self, ((x.into(), layout), (numbers.into(), places)), DType::I64, (0, told), true)
    }

    /// A copy of a tensor, whose wait tells what is wrong where `bad`, one truth value, is true: the verdict of what several
    /// operations compute.
    pub(crate) fn copied_unless<T: Element>(
        &self,
        x: &Tensor<T>,
        bad: &Tensor<Bool>,
        told: Told,
    ) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
        let all = x.unsqueeze(0)?;
        let number = self.map(bad, |bad| bad.select(1i64, 0i64))?.into_output();
        let number = number.view();
        let ((part, layout), (numbers, places)) = (all.operand()?, number.operand()?);
        take(self, ((part.into(), layout), (numbers.into(), places)), DType::I64, (0, told), true)
    }

    /// As [`take`](Self::take), without looking whether the indices are in range.
    ///
    /// # Safety
    /// Each index `i` is in range: `-n <= i < n` for an axis of `n` elements.
    ///
    /// # Errors
    /// As [`take`](Self::take), but for the wait.
    pub unsafe fn take_unchecked<'a, 'i, T: Element, I: Place>(
        &self,
        x: impl ReadableTensor<'a, T>,
        indices: impl ReadableTensor<'i, I>,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (x, indices) = (x.into(), indices.into());
        let ((x, layout), (numbers, places)) = (x.operand()?, indices.operand()?);
        take(self, ((x.into(), layout), (numbers.into(), places)), I::DTYPE, (axis, Told::Index), false)
            .map(PendingDispatch::never_reports)
    }
}

#[cfg(test)]
mod tests {
    use super::Told;

    #[test]
    fn programs_of_earlier_releases_say_what_is_told_in_the_same_bytes() {
        let bytes = |told: Told| postcard::to_stdvec(&told).unwrap();
        assert_eq!(bytes(Told::Index), postcard::to_stdvec(&None::<usize>).unwrap());
        assert_eq!(bytes(Told::Plane(300)), postcard::to_stdvec(&Some(300usize)).unwrap());
    }
}
