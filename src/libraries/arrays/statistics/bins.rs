//! Counts by bins: where the edges stand among the sorted elements, or on the CPU a search that counts.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::op::Verdict;
use crate::core::truth::Bool;
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::search::{count_between, count_numbers, counts_at_once};
use crate::libraries::arrays::{Ordered, SearchSide};
use crate::libraries::arrays::{first, select_vector};
use crate::libraries::expressions::build::{Symbol, position};
use crate::libraries::moves::within::{Numbers, checked};
use crate::libraries::moves::{Place, Told};
use crate::libraries::reductions::front::{Call, itself, submit};
use crate::libraries::reductions::{All, AnyTrue, ReductionKind};
use half::{bf16, f16};

/// A floating-point element that bins have edges of, and quantiles lie between: `f32`, `f64`, `f16`, `bf16`. Cast integers to one
/// of them. Sealed.
pub trait Measured: Ordered + sealed::Measured {}

mod sealed {
    pub trait Measured {}
    impl Measured for f32 {}
    impl Measured for f64 {}
    impl Measured for half::f16 {}
    impl Measured for half::bf16 {}
}

impl Measured for f32 {}
impl Measured for f64 {}
impl Measured for half::f16 {}
impl Measured for half::bf16 {}

/// How many elements lie between neighbours of the edges, the last bin with its end.
fn counts<T: Ordered>(
    device: &Device,
    x: &TensorRef<'_, T>,
    edges: &Tensor<T>,
) -> Result<PendingDispatch<Tensor<i64>>> {
    if counts_at_once(device) {
        return count_between(device, edges, x);
    }
    let sorted = device.sort(&select_vector(device, x)?, 0)?.into_output();
    let (front, end) = edges.split(0, edges.len() - 1)?;
    let begins = device.searchsorted(&sorted, &front, SearchSide::Left)?.into_output();
    let end = device.searchsorted(&sorted, &end, SearchSide::Right)?.into_output();
    let ends = device.concat([begins.split(0, 1)?.1, end.view()], 0)?.into_output();
    device.map((&begins, &ends), |(begin, end)| end - begin)
}

/// Refuses edges that are no edges.
pub(super) fn edges_between<T: Element>(edges: &TensorRef<'_, T>) -> Result<()> {
    if edges.rank() != 1 || edges.len() < 2 {
        return Err(Error::invalid("edges", format!("extents {:?}, but a vector of 2 or more", edges.shape())));
    }
    Ok(())
}

/// Whether edges fall: a NaN is above all numbers.
pub(super) fn fall<T: Ordered>(device: &Device, edges: &Tensor<T>) -> Result<Tensor<Bool>> {
    let (before, after) = (edges.split(0, edges.len() - 1)?.0, edges.split(0, 1)?.1);
    let falls = device.reduce((&before, &after), All, |(a, b)| a.gt(b) | (a.ne(a) & b.eq(b)), AnyTrue)?;
    Ok(falls.into_output())
}

/// The first `bins` of what is counted of some numbers, unless one of these is negative. There is one bin at least.
pub(super) fn counted<T: Element>(
    device: &Device,
    counts: Tensor<T>,
    numbers: &AnyTensorRef<'_>,
    bins: usize,
) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
    checked(device, counts, numbers, (Numbers::Bins, 0))?.retype(|(all,)| Ok((first(all, 0, bins)?,)))
}

/// Whether an element of this type can be as large.
fn holds(dtype: DType, x: f64) -> bool {
    match dtype {
        DType::F16 => f16::from_f64(x).is_finite(),
        DType::Bf16 => bf16::from_f64(x).is_finite(),
        DType::F32 => (x as f32).is_finite(),
        _ => x.is_finite(),
    }
}

/// The edges of bins of the same width: see [`Device::histogram`].
pub(super) fn ends<T: Measured>(
    device: &Device,
    x: &TensorRef<'_, T>,
    bins: usize,
    range: Option<[f64; 2]>,
) -> Result<Tensor<T>> {
    if bins == 0 {
        return Err(Error::invalid("bins", "0, but at least one is needed"));
    }
    let end = |kind| -> Result<f64> {
        let read = [x.operand().map(|(part, layout)| (part.into(), layout))?].into_iter().collect();
        let call = Call { kind, less: 0, axes: &All, formula: itself::<T>(), finish: None };
        let end = submit::<T>(device, call, Ok(read))?.into_output();
        device.item(&device.map(&end, |end| end.cast::<f64>())?.into_output())
    };
    let [low, high] = match range {
        Some(range) => range,
        None if x.is_empty() => return Err(Error::invalid("range", "no element and no range")),
        None => [end(ReductionKind::Min)?, end(ReductionKind::Max)?],
    };
    if !(low <= high && holds(T::DTYPE, low) && holds(T::DTYPE, high)) {
        if range.is_none() && low.is_nan() {
            return Err(Error::invalid(
                "range",
                "an element is NaN, so they have no range: give one, and NaN is in no bin",
            ));
        }
        let whose = if range.is_some() { "" } else { "of the elements: " };
        return Err(Error::invalid("range", format!("{whose}{low} to {high} is no range of {}", T::DTYPE)));
    }
    let ends = device.tensor([2], [low, high])?;
    edges(device, &ends, bins)
}

/// Counts and histograms.
impl Device {
    /// How many elements lie in each of the bins between neighbouring edges, which rise: NumPy's `histogram` with given edges. A bin
    /// has its beginning and not its end; the last one has both. NaN lies in none.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([6], [0.0f32, 0.5, 1.0, 1.5, 2.0, 9.0])?;
    /// let edges = device.tensor([3], [0.0f32, 1.0, 2.0])?;
    /// assert_eq!(device.show(&device.histogram_between(&x, &edges)?.await_result()?)?.to_string(), "[2 3]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `edges` is a vector of at least 2; a stale tensor, or one of another device;
    /// [`Error::OutOfMemory`]. The wait returns [`Error::InvalidArgument`] for edges that fall.
    pub fn histogram_between<'a, 'e, T: Ordered>(
        &self,
        x: impl ReadableTensor<'a, T>,
        edges: impl ReadableTensor<'e, T>,
    ) -> Result<PendingDispatch<Tensor<i64>, Verdict>> {
        let edges = edges.into();
        edges_between(&edges)?;
        let edges = select_vector(self, &edges)?;
        let counts = counts(self, &x.into(), &edges)?.into_output();
        self.copied_unless(&counts, &fall(self, &edges)?, Told::FallingEdges)
    }

    /// How many elements lie in each of `bins` bins of the same width, and their edges: NumPy's `histogram`. The bins reach from the
    /// first to the second number of `range`, or from the smallest to the largest element. A range of one number is widened by a half
    /// to either side. The last bin has its end.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([5], [1.0f64, 2.0, 2.0, 3.0, 5.0])?;
    /// let (counts, edges) = device.histogram(&x, 4, None)?;
    /// assert_eq!(device.show(&counts.await_result()?)?.to_string(), "[1 2 1 1]");
    /// assert_eq!(device.show(&edges)?.to_string(), "[1. 2. 3. 4. 5.]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no bin; a range that falls, is not finite, or is beyond what the type of the elements has, also
    /// that of the elements themselves; no element and no range; a stale tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn histogram<'a, T: Measured>(
        &self,
        x: impl ReadableTensor<'a, T>,
        bins: usize,
        range: Option<[f64; 2]>,
    ) -> Result<(PendingDispatch<Tensor<i64>>, Tensor<T>)> {
        let x = x.into();
        let edges = ends(self, &x, bins, range)?;
        Ok((counts(self, &x, &edges)?, edges))
    }

    /// How often each number from 0 to `bins - 1` comes: NumPy's `bincount`. Larger numbers are not counted.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([5], [0i32, 3, 1, 1, 7])?;
    /// assert_eq!(device.show(&device.bincount(&x, 4)?.await_result()?)?.to_string(), "[1 2 0 1]");
    /// assert!(device.bincount(&device.tensor([1], [-1])?, 4)?.await_result().is_err());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A stale tensor, or one of another device; [`Error::OutOfMemory`]. The wait returns [`Error::InvalidArgument`] with the
    /// place of the first number that is negative.
    pub fn bincount<'a, I: Place>(
        &self,
        x: impl ReadableTensor<'a, I>,
        bins: usize,
    ) -> Result<PendingDispatch<Tensor<i64>, Verdict>> {
        let (x, most, all) = (x.into(), bins as i64, bins.max(1));
        if counts_at_once(self) {
            return count_numbers(self, &x, bins);
        }
        let x = select_vector(self, &x)?;
        // What is not counted comes behind all that is.
        let numbers = self.map(&x, |x| {
            let x = x.cast::<i64>();
            (x.ge(0) & x.lt(most)).select(x, most)
        })?;
        let (sorted, _) =
            crate::libraries::arrays::sort::sort_numbers(self, &numbers.into_output().view(), bins)?.into_output();
        let all = self.tabulate([all], || position(0))?.into_output();
        let begins = self.searchsorted(&sorted, &all, SearchSide::Left)?.into_output();
        let ends = self.searchsorted(&sorted, &all, SearchSide::Right)?.into_output();
        let counts = self.map((&begins, &ends), |(begin, end)| end - begin)?.into_output();
        counted(self, counts, &(&x).into(), bins)
    }
}

/// `bins + 1` numbers at equal distances.
fn edges<T: Element>(device: &Device, ends: &Tensor<f64>, bins: usize) -> Result<Tensor<T>> {
    let (low, high) = (ends.index(0, 0)?.broadcast([bins + 1])?, ends.index(0, 1)?.broadcast([bins + 1])?);
    let all = bins as i64;
    let edges = device.map((&low, &high), |(low, high)| {
        let one = low.eq(high).select(0.5f64, 0.0);
        let (low, high) = (low - one, high + one);
        let number = position(0).cast::<f64>();
        let inner = |low: Symbol<f64>, high: Symbol<f64>| number * ((high - low) / all as f64) + low;
        // A range that is wider than the largest number is halved first.
        let halved = inner(low * 0.5, high * 0.5) * 2.0;
        let inner = (high - low).isfinite().select(inner(low, high), halved);
        // A width of a few of the smallest numbers is rounded up as well.
        position(0).eq(all).select(high, inner.minimum(high)).cast::<T>()
    })?;
    Ok(edges.into_output())
}
