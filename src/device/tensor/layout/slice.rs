//! Parts of a layout by ranges, steps and indices.

use super::{Axes, Layout, place};
use crate::core::error::{Error, Result};
use std::ops::{Bound, RangeBounds};

/// What a slice does along one axis: a range (with a step), one index, a new axis, or all of the axes in the middle.
///
/// Made from ranges and integers: `1..`, `..=4`, `-3..`, `2`. A negative number counts from the end. Bounds must lie
/// inside the axis: unlike NumPy, nothing is cut off silently.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::tensor::{AxisSlice, Layout};
/// let x = Layout::row_major([4, 5, 6])?;
/// assert_eq!(x.slice((1..3, 0))?.shape(), [2, 6]);                       // x[1:3, 0]
/// assert_eq!(x.slice((AxisSlice::Rest, ..2))?.shape(), [4, 5, 2]);        // x[..., :2]
/// assert_eq!(x.slice((.., AxisSlice::New))?.shape(), [4, 1, 5, 6]);       // x[:, None]
/// assert_eq!(x.slice(AxisSlice::from(..).step(-2))?.reach(), Some((30, 119))); // x[::-2]: rows 3 and 1
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AxisSlice {
    /// The elements from `start` to before `end`; every `step`-th of them, from the last one if `step` is negative.
    Range {
        /// The first one.
        start: isize,
        /// The one after the last; `None` for all that follow.
        end: Option<isize>,
        /// Not zero.
        step: isize,
    },
    /// One element; the axis vanishes.
    Index(isize),
    /// A new axis of extent 1.
    New,
    /// All axes that the other members leave: NumPy's `...`. At most once; without it, axes at the end are left.
    Rest,
}

impl AxisSlice {
    /// Every `step`-th element of the range, from its last one if `step` is negative. No effect on anything but a range.
    ///
    /// NumPy's `a[2:7:-2]` is empty; this takes the elements 6, 4 and 2, which NumPy writes as `a[6:1:-2]`.
    #[must_use = "this returns a new slice"]
    pub fn step(self, step: isize) -> Self {
        match self {
            AxisSlice::Range { start, end, .. } => AxisSlice::Range { start, end, step },
            other => other,
        }
    }

    fn of_range<I: Copy + TryInto<isize>>(range: &impl RangeBounds<I>) -> Self {
        // What does not fit is out of bounds for every axis.
        let number = |i: I| i.try_into().unwrap_or(isize::MAX);
        let start = match range.start_bound() {
            Bound::Included(start) => number(*start),
            Bound::Excluded(before) => number(*before).saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            // `..=-1` ends at the last element.
            Bound::Included(last) => Some(number(*last)).filter(|last| *last != -1).map(|last| last.saturating_add(1)),
            Bound::Excluded(end) => Some(number(*end)),
            Bound::Unbounded => None,
        };
        AxisSlice::Range { start, end, step: 1 }
    }
}

macro_rules! from_numbers { ($($i:ty)*) => { $(
    impl From<$i> for AxisSlice {
        fn from(index: $i) -> Self { AxisSlice::Index(index.try_into().unwrap_or(isize::MAX)) }
    }
    from_numbers!(@ $i: std::ops::Range<$i>, std::ops::RangeFrom<$i>, std::ops::RangeTo<$i>, std::ops::RangeInclusive<$i>,
        std::ops::RangeToInclusive<$i>);
)* }; (@ $i:ty: $($range:ty),*) => { $(
    impl From<$range> for AxisSlice {
        fn from(range: $range) -> Self { AxisSlice::of_range::<$i>(&range) }
    }
)* } }
from_numbers!(i32 i64 isize usize);

impl From<std::ops::RangeFull> for AxisSlice {
    fn from(_: std::ops::RangeFull) -> Self {
        AxisSlice::Range { start: 0, end: None, step: 1 }
    }
}

/// What [`slice`](Layout::slice) takes: one [`AxisSlice`] or what makes one, a tuple of up to eight, or a list.
pub trait AxisSlices {
    /// One after the other.
    fn list(self) -> Vec<AxisSlice>;
}

impl AxisSlices for &[AxisSlice] {
    fn list(self) -> Vec<AxisSlice> {
        self.to_vec()
    }
}

impl AxisSlices for Vec<AxisSlice> {
    fn list(self) -> Vec<AxisSlice> {
        self
    }
}

impl<S: Into<AxisSlice>> AxisSlices for S {
    fn list(self) -> Vec<AxisSlice> {
        vec![self.into()]
    }
}

macro_rules! tuples { ($(($($s:ident)*))*) => { $(
    #[expect(non_snake_case, reason = "the members have the names of their types")]
    impl<$($s: Into<AxisSlice>),*> AxisSlices for ($($s,)*) {
        fn list(self) -> Vec<AxisSlice> {
            let ($($s,)*) = self;
            vec![$($s.into()),*]
        }
    }
)* } }
tuples! { (A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F)(A B C D E F G)(A B C D E F G H) }

impl Layout {
    /// A part, by ranges with steps, and indices, which make an axis vanish: NumPy's basic indexing. See [`AxisSlice`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], with the axis, for a bound or an index outside of it, a step of zero, and more members
    /// than axes.
    pub fn slice(&self, slices: impl AxisSlices) -> Result<Self> {
        self.sliced(&slices.list())
    }

    fn sliced(&self, list: &[AxisSlice]) -> Result<Self> {
        let taken = list.iter().filter(|s| matches!(s, AxisSlice::Range { .. } | AxisSlice::Index(_))).count();
        let rests = list.iter().filter(|s| matches!(s, AxisSlice::Rest)).count();
        let Some(left) = self.rank().checked_sub(taken).filter(|_| rests <= 1) else {
            let what = format!("{taken} ranges and indices, {rests} times `Rest`, for the {} axes", self.rank());
            return Err(Error::invalid("slices", format!("{what} of {:?}", self.extents)));
        };
        let (mut extents, mut strides) = (Axes::new(), Axes::new());
        let mut offset = self.offset as i128;
        let mut axis = 0;
        let implied = Some(AxisSlice::Rest).filter(|_| rests == 0);
        for slice in list.iter().copied().chain(implied) {
            if slice == AxisSlice::New {
                extents.push(1);
                strides.push(0);
                continue;
            }
            for _ in 0..if slice == AxisSlice::Rest { left } else { 1 } {
                let (Some(n), Some(stride)) = (self.extents.get(axis), self.strides.get(axis)) else { break };
                let (first, part) = along(slice, *n, axis)?;
                // Without elements there is no first one to move to.
                if !self.is_empty() && part.is_none_or(|(len, _)| len > 0) {
                    offset += first as i128 * *stride as i128;
                }
                if let Some((len, step)) = part {
                    extents.push(len);
                    // With one element, or none, any stride will do; else it is a distance between two elements.
                    strides.push(if len > 1 { stride.saturating_mul(step) } else { *stride });
                }
                axis += 1;
            }
        }
        Self::admit(extents, strides, offset)
    }

    /// Element `index` along `axis`, which vanishes. Both count from the end if negative.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is none.
    pub fn index(&self, axis: isize, index: isize) -> Result<Self> {
        self.along("axis", axis, AxisSlice::Index(index)).map_err(|error| error.renamed(&[("slices", "index")]))
    }

    /// One [`AxisSlice`] along one axis; all of the others.
    pub(super) fn along(&self, name: &'static str, axis: isize, slice: AxisSlice) -> Result<Self> {
        let axis = self.axis(name, axis)?;
        let mut list = vec![AxisSlice::from(..); axis];
        list.push(slice);
        self.sliced(&list)
    }
}

/// The first element that is taken of an axis of `n`; unless the axis vanishes, also how many there are, and the step from
/// one to the next.
fn along(slice: AxisSlice, n: usize, axis: usize) -> Result<(usize, Option<(usize, isize)>)> {
    let outside =
        |what: String| Err(Error::invalid("slices", format!("{what} on axis {axis}, which has {n} elements")));
    match slice {
        AxisSlice::Index(index) => match place(index, n) {
            Some(at) => Ok((at, None)),
            None => outside(format!("index {index}")),
        },
        AxisSlice::Range { start, end, step } => {
            // A bound may be `n` itself.
            let bound = |at: isize| if at < 0 { place(at, n) } else { Some(at.unsigned_abs()).filter(|at| *at <= n) };
            let (from, to) = (bound(start), end.map_or(Some(n), bound));
            let (Some(from), Some(to)) = (from, to) else {
                let end = end.map(|end| end.to_string()).unwrap_or_default();
                return outside(format!("the range {start}..{end}"));
            };
            if from > to {
                return outside(format!("the range {from}..{to}"));
            }
            if step == 0 {
                return outside("a step of 0, which leads nowhere,".to_owned());
            }
            let len = (to - from).div_ceil(step.unsigned_abs());
            let first = if step < 0 { to.saturating_sub(1).max(from) } else { from };
            Ok((first, Some((len, step))))
        }
        AxisSlice::Rest | AxisSlice::New => Ok((0, Some((n, 1)))),
    }
}
