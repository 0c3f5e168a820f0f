//! The calls of a device.

use super::op::Scan;
use crate::core::buffer::{AnyBuffers, AnyIns};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{Layout, ReadableTensor, Tensor};
use crate::libraries::expressions::build::{Symbol, sealed};
use crate::libraries::expressions::operands::Read;
use crate::libraries::reductions::{AllTrue, AnyTrue, Max, Min, Prod, Reduction, ReductionKind, Sum};
use crate::libraries::tensor_routine::TensorRoutine;

/// A kind of reductions that a scan can have: [`Sum`], [`Prod`], [`Max`], [`Min`], [`AllTrue`], [`AnyTrue`].
pub trait Cumulative<T>: Reduction<T> {}

macro_rules! cumulative { ($($kind:ident)*) => { $( impl<T> Cumulative<T> for $kind where $kind: Reduction<T> {} )* } }
cumulative!(Sum Prod Max Min AllTrue AnyTrue);

/// The axis of a scan, and how it goes along it. A number is an axis that is scanned from its beginning, inclusively.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::reductions::scans::Along;
/// let device = windlass::Device::best()?;
/// let x = device.tensor([4], [3i32, 1, 2, 5])?;
/// let scan = |along: Along| -> Result<Vec<i32>, windlass::Error> {
///     device.download(&device.cummax(&x, along)?.await_result()?)?.await_result()
/// };
/// assert_eq!(scan(Along::axis(0))?, [3, 3, 3, 5]);
/// assert_eq!(scan(Along::axis(0).exclusive())?, [i32::MIN, 3, 3, 3]);
/// assert_eq!(scan(Along::axis(0).reverse())?, [5, 5, 5, 5]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Along {
    axis: isize,
    exclusive: bool,
    reverse: bool,
}

impl Along {
    /// From the beginning of an axis, each element with itself; a negative number counts from the last axis.
    pub fn axis(axis: isize) -> Self {
        Along { axis, exclusive: false, reverse: false }
    }

    /// Each element without itself.
    #[must_use = "this returns a new description"]
    pub fn exclusive(self) -> Self {
        Along { exclusive: true, ..self }
    }

    /// From the end of the axis.
    #[must_use = "this returns a new description"]
    pub fn reverse(self) -> Self {
        Along { reverse: true, ..self }
    }
}

impl From<isize> for Along {
    fn from(axis: isize) -> Self {
        Along::axis(axis)
    }
}

/// The operation, and the layout of the new tensor.
fn operation(dtype: DType, x: Layout, along: Along, kind: ReductionKind) -> Result<(Scan, Layout)> {
    let rank = x.rank();
    let axis =
        if along.axis < 0 { rank.checked_sub(along.axis.unsigned_abs()) } else { Some(along.axis.unsigned_abs()) };
    let missing = || Error::invalid("axis", format!("axis {}, but the rank is {rank}", along.axis));
    let axis = axis.filter(|axis| *axis < rank).ok_or_else(missing)?;
    let layout = Layout::row_major(x.shape())?;
    let turned = |layout: &Layout| if along.reverse { layout.flip(axis as isize) } else { Ok(layout.clone()) };
    let (x, output) = (turned(&x)?, turned(&layout)?);
    Ok((Scan { kind, dtype, exclusive: along.exclusive, axis, x, output }, layout))
}

/// Compiled once for each type of results.
pub(in crate::libraries) fn submit<R: Element>(
    device: &Device,
    dtype: DType,
    (x, layout): Read<'_>,
    along: Along,
    kind: ReductionKind,
) -> Result<PendingDispatch<Tensor<R>>> {
    let (scan, layout) = operation(dtype, layout, along, kind).map_err(Scan::refused)?;
    let buffer = device.unwritten::<R>(layout.len())?;
    let reads: AnyIns<'_> = [x].into_iter().collect();
    let submitted = device.dispatch(scan, reads, [buffer.into()].into_iter().collect());
    let pending = submitted.map_err(Rejected::into_error)?;
    pending
        .retype(|buffers| <Symbol<R> as sealed::Outputs>::tie(buffers, &layout))
        .map_err(|any: AnyBuffers| Error::from(any))
}

/// Running sums.
impl Device {
    /// Scans a tensor along an axis: element `i` of the result is the reduction of the elements 0 to `i`. See
    /// [`scans`](crate::reductions::scans) for the order in which they are taken.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::reductions::{Sum, scans::Along};
    /// let device = windlass::Device::best()?;
    /// let lengths = device.tensor([3], [4u32, 0, 7])?;
    /// let starts = device.scan(&lengths, Along::axis(0).exclusive(), Sum)?.await_result()?;
    /// assert_eq!(device.show(&starts)?.to_string(), "[0 4 4]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there, or truth values of complex numbers; a stale tensor, or one of
    /// another device; [`Error::OutOfMemory`].
    pub fn scan<'a, T: Element, K: Cumulative<T>>(
        &self,
        x: impl ReadableTensor<'a, T>,
        along: impl Into<Along>,
        kind: K,
    ) -> Result<PendingDispatch<Tensor<K::Output>>> {
        let x = x.into();
        let (part, layout) = x.operand()?;
        submit(self, T::DTYPE, (part.into(), layout), along.into(), kind.kind())
    }
}

macro_rules! calls { ($($(#[$meta:meta])* $name:ident $kind:ident;)*) => {
    impl Device { $(
        $(#[$meta])*
        ///
        /// # Errors
        /// As [`scan`](Self::scan).
        pub fn $name<'a, T: Element>(
            &self,
            x: impl ReadableTensor<'a, T>,
            along: impl Into<Along>,
        ) -> Result<PendingDispatch<Tensor<<$kind as Reduction<T>>::Output>>>
        where
            $kind: Reduction<T>,
        {
            self.scan(x, along, $kind)
        }
    )* }
} }

calls! {
    /// The sums of the elements up to each one along an axis: NumPy's `cumsum`.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [1u8, 2, 3, 4])?;
    /// let sums = device.cumsum(&x, 0)?.await_result()?;
    /// assert_eq!(device.show(&sums)?.to_string(), "[[1 2]\n [4 6]]");
    /// # Ok(()) }
    /// ```
    cumsum Sum;
    /// The products of the elements up to each one along an axis: NumPy's `cumprod`.
    cumprod Prod;
    /// The largest of the elements up to each one along an axis; from a NaN on, NaN.
    cummax Max;
    /// The smallest of the elements up to each one along an axis; from a NaN on, NaN.
    cummin Min;
    /// Whether none of the elements up to each one along an axis is zero.
    cumall AllTrue;
    /// Whether one of the elements up to each one along an axis is not zero.
    cumany AnyTrue;
}
