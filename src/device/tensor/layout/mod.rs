//! Where the elements of a tensor lie in its buffer.
//!
//! A [`Layout`] is plain data: extents, strides, offset. Every one, whether it is made, derived or received, passes
//! through [`Layout::admit`], which bounds the rank, the number of elements and the reachable offsets. So no later
//! computation with them can overflow.
//!
//! `lines.rs` has matrices in the words of BLAS, `pairs.rs` complex numbers as pairs of real ones. `views.rs`, `slice.rs`, `reshape.rs` and
//! `broadcast.rs` derive layouts; `nest.rs` prepares several of them for a loop; `operand.rs` compares one with an operand;
//! `model_tests.rs` compares all of that with a list of indices (`model.rs`).

mod broadcast;
mod lines;
#[cfg(test)]
mod model;
#[cfg(test)]
mod model_tests;
mod nest;
mod operand;
mod pairs;
mod reshape;
mod slice;
mod views;

pub use lines::{IntoLayout, Lines};
pub(crate) use nest::fused;
pub use slice::{AxisSlice, AxisSlices};

use crate::core::error::{Error, Result};
use smallvec::SmallVec;

/// One value for each axis.
pub(super) type Axes<T> = SmallVec<[T; 6]>;

/// Where the elements of a tensor lie in its buffer, counted in elements: element `(i, j, ..)` is at
/// `offset + i * strides[0] + j * strides[1] + ..`.
///
/// Strides may be negative or zero. A layout has at most 64 axes; without an axis (rank 0) it has one element, with an
/// extent of zero none. The product of its extents (an extent of zero counts as one) and its largest offset fit `isize`.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::tensor::Layout;
/// let layout = Layout::row_major([2, 3])?;
/// assert_eq!((layout.strides(), layout.len()), (&[3, 1][..], 6));
/// let turned = layout.transpose();
/// assert_eq!((turned.shape(), turned.strides()), (&[3, 2][..], &[1, 3][..]));
/// assert_eq!(turned.slice((1.., -1))?.reach(), Some((4, 5))); // the last two elements of the second row
/// # Ok(()) }
/// ```
#[derive(PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Plain", into = "Plain")]
pub struct Layout {
    extents: Axes<usize>,
    strides: Axes<isize>,
    offset: usize,
}

/// Copies of memory: the derived one would collect the axes one by one, and a call clones each of its layouts some times.
impl Clone for Layout {
    #[inline]
    fn clone(&self) -> Self {
        let (extents, strides) = (Axes::from_slice(&self.extents), Axes::from_slice(&self.strides));
        Layout { extents, strides, offset: self.offset }
    }
}

/// A layout that is not admitted yet.
#[derive(serde::Serialize, serde::Deserialize)]
struct Plain(Vec<usize>, Vec<isize>, usize);

impl TryFrom<Plain> for Layout {
    type Error = Error;
    fn try_from(Plain(extents, strides, offset): Plain) -> Result<Self> {
        Layout::new(extents, strides, offset)
    }
}

impl From<Layout> for Plain {
    fn from(layout: Layout) -> Self {
        Plain(layout.extents.into_vec(), layout.strides.into_vec(), layout.offset)
    }
}

impl Layout {
    /// The largest rank.
    pub const MAX_RANK: usize = 64;

    /// A layout of these strides, whose first element is at `offset`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for more than 64 axes, another number of strides than of extents, more elements than
    /// `isize` can count, and for elements before the beginning of the buffer or beyond `isize`.
    pub fn new(extents: impl AsRef<[usize]>, strides: impl AsRef<[isize]>, offset: usize) -> Result<Self> {
        let (extents, strides) = (extents.as_ref(), strides.as_ref());
        if extents.len() != strides.len() {
            return Err(Error::invalid("strides", format!("{} strides for {} axes", strides.len(), extents.len())));
        }
        Self::check_rank(extents.len())?;
        Self::admit(extents.into(), strides.into(), offset as i128)
    }

    /// Without gaps, the last axis fastest, as NumPy's order "C".
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for more than 64 axes, or more elements than `isize` can count.
    pub fn row_major(extents: impl AsRef<[usize]>) -> Result<Self> {
        let extents = extents.as_ref();
        Self::check_rank(extents.len())?;
        Self::without_gaps(extents, true)
    }

    /// Without gaps, the first axis fastest, as NumPy's order "F".
    ///
    /// # Errors
    /// As [`row_major`](Self::row_major).
    pub fn column_major(extents: impl AsRef<[usize]>) -> Result<Self> {
        let extents = extents.as_ref();
        Self::check_rank(extents.len())?;
        Self::without_gaps(extents, false)
    }

    /// It reaches as many elements as it has, so there is no more to [admit](Self::admit).
    fn without_gaps(extents: &[usize], is_last_fastest: bool) -> Result<Self> {
        let strides = dense(extents, is_last_fastest).ok_or_else(|| too_many(extents))?;
        Ok(Layout { extents: Axes::from_slice(extents), strides, offset: 0 })
    }

    /// All elements of a buffer of `len`, which has been made, so that no size overflows.
    pub(super) fn vector(len: usize) -> Self {
        let (extents, strides) = (Axes::from_buf_and_len([len, 0, 0, 0, 0, 0], 1), Axes::from_buf_and_len([1; 6], 1));
        Layout { extents, strides, offset: 0 }
    }

    fn check_rank(rank: usize) -> Result<()> {
        if rank <= Self::MAX_RANK {
            return Ok(());
        }
        Err(Error::invalid("extents", format!("{rank} axes, but a tensor has at most {}", Self::MAX_RANK)))
    }

    /// The one way to a layout: see the documentation of this file. There are as many strides as extents.
    pub(super) fn admit(extents: Axes<usize>, strides: Axes<isize>, offset: i128) -> Result<Self> {
        Self::check_rank(extents.len())?;
        let all = extents.iter().try_fold(1usize, |all, n| all.checked_mul((*n).max(1)));
        if all.is_none_or(|all| isize::try_from(all).is_err()) {
            return Err(too_many(&extents));
        }
        let (mut lowest, mut highest) = (Some(offset), Some(offset));
        if !extents.contains(&0) {
            for (n, stride) in extents.iter().zip(&strides) {
                // Both factors have less than 64 bits.
                let far = (*n as i128 - 1) * (*stride as i128);
                let end = if far < 0 { &mut lowest } else { &mut highest };
                *end = end.and_then(|end| end.checked_add(far));
            }
        }
        let inside = |at: Option<i128>| at.and_then(|at| isize::try_from(at).ok()).filter(|at| *at >= 0);
        match (inside(lowest), inside(highest), usize::try_from(offset)) {
            (Some(_), Some(_), Ok(offset)) => Ok(Layout { extents, strides, offset }),
            _ => Err(Error::invalid(
                "strides",
                format!(
                    "extents {extents:?} with strides {strides:?} and offset {offset} reach elements before the \
                     beginning, or overflow"
                ),
            )),
        }
    }

    /// The number of elements along each axis.
    pub fn shape(&self) -> &[usize] {
        &self.extents
    }

    /// The distance between neighbours along each axis, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The offset of the first element.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.extents.len()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        // No overflow: `admit` has multiplied them.
        self.extents.iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.extents.contains(&0)
    }

    /// The smallest and the largest offset of an element; `None` if there are no elements.
    pub fn reach(&self) -> Option<(usize, usize)> {
        if self.is_empty() {
            return None;
        }
        let far = |(n, stride): (&usize, &isize)| (*n as isize - 1).saturating_mul(*stride);
        let (mut lowest, mut highest) = (self.offset, self.offset);
        for far in self.extents.iter().zip(&self.strides).map(far) {
            // Inside `isize`: `admit` has added them.
            if far < 0 { lowest -= far.unsigned_abs() } else { highest += far.unsigned_abs() }
        }
        Some((lowest, highest))
    }

    /// The offset of the element that comes first in the buffer, and the number of elements from there to the last one.
    pub(crate) fn span(&self) -> (usize, usize) {
        self.reach().map_or((0, 0), |(lowest, highest)| (lowest, highest - lowest + 1))
    }

    /// Whether the elements lie without gaps in the order of the last axis fastest. The strides of axes of extent 1 do
    /// not matter.
    pub fn is_row_major(&self) -> bool {
        self.is_dense(self.extents.iter().zip(&self.strides).rev())
    }

    /// Whether the elements lie without gaps in the order of the first axis fastest.
    pub fn is_column_major(&self) -> bool {
        self.is_dense(self.extents.iter().zip(&self.strides))
    }

    /// Whether the elements are all those between the first and the last, in some order of the axes: a copy or a fill of them is one of
    /// a run of memory.
    pub(crate) fn is_run(&self) -> bool {
        self.is_row_major() || self.span().1 == self.len() && self.is_distinct()
    }

    /// Whether this layout and that of a target, of one shape, are runs of memory in the same order.
    pub(crate) fn runs_as(&self, target: &Layout) -> bool {
        let alike = || {
            let steps = self.strides.iter().zip(&target.strides);
            steps.zip(&self.extents).all(|((a, b), n)| *n <= 1 || a == b)
        };
        self.extents == target.extents && (self.is_row_major() && target.is_row_major() || alike() && target.is_run())
    }

    /// # Errors
    /// [`Error::InvalidArgument`] for a target of another shape.
    pub(crate) fn check_same_shape(&self, target: &Layout) -> Result<()> {
        if self.extents == target.extents {
            return Ok(());
        }
        Err(Error::invalid("target", format!("shape {:?}, but `source` has {:?}", target.shape(), self.shape())))
    }

    fn is_dense<'a>(&self, from_the_fastest: impl Iterator<Item = (&'a usize, &'a isize)>) -> bool {
        let mut next = 1;
        self.is_empty()
            || from_the_fastest.filter(|(n, _)| **n != 1).all(|(n, stride)| {
                let as_expected = *stride == next;
                next = next.saturating_mul(*n as isize);
                as_expected
            })
    }

    /// Whether different indices are known to be at different offsets, as an operation requires of what it writes. An axis
    /// of stride 0, or windows that overlap, make it false. So do some crossed strides that no view of a dense tensor has,
    /// though their offsets differ.
    pub fn is_distinct(&self) -> bool {
        let mut axes: Axes<(usize, usize)> =
            self.extents.iter().zip(&self.strides).map(|(n, s)| (s.unsigned_abs(), *n)).filter(|a| a.1 != 1).collect();
        axes.sort_unstable();
        let mut span = 0usize; // the largest distance between two elements of the axes before
        self.is_empty()
            || axes.iter().all(|(stride, n)| {
                let apart = *stride > span;
                span = span.saturating_add((n - 1).saturating_mul(*stride));
                apart
            })
    }

    /// The offsets of all elements, the last axis fastest.
    #[cfg(test)]
    pub(crate) fn offsets(&self) -> Offsets<'_> {
        let left = self.len();
        Offsets { layout: self, index: self.extents.iter().map(|_| 0).collect(), at: self.offset as isize, left }
    }

    /// The same, moved so that offset `origin` becomes 0. `origin` is not above the smallest offset.
    pub(crate) fn moved_down(&self, origin: usize) -> Self {
        Layout { offset: self.offset.saturating_sub(origin), ..self.clone() }
    }

    /// The number of the axis; a negative one counts from the end.
    fn axis(&self, name: &'static str, axis: isize) -> Result<usize> {
        place(axis, self.rank()).ok_or_else(|| {
            Error::invalid(name, format!("axis {axis}, but the rank is {}: {:?}", self.rank(), self.extents))
        })
    }
}

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", &self.extents[..])?;
        if !self.is_row_major() {
            write!(f, " strides {:?}", &self.strides[..])?;
        }
        if self.offset != 0 {
            write!(f, " offset {}", self.offset)?;
        }
        Ok(())
    }
}

/// The position `at` of `len`; a negative one counts from the end.
fn place(at: isize, len: usize) -> Option<usize> {
    let from_start = if at < 0 { len.checked_sub(at.unsigned_abs()) } else { Some(at.unsigned_abs()) };
    from_start.filter(|at| *at < len)
}

/// Strides without gaps; `None` if there are more elements than `isize` can count.
fn dense(extents: &[usize], is_last_fastest: bool) -> Option<Axes<isize>> {
    let mut strides = Axes::from_elem(1, extents.len());
    let mut next = 1isize;
    let mut step = |(stride, n): (&mut isize, &usize)| {
        *stride = next;
        next = next.checked_mul(isize::try_from((*n).max(1)).ok()?)?;
        Some(())
    };
    let mut axes = strides.iter_mut().zip(extents);
    if is_last_fastest {
        axes.rev().try_for_each(&mut step)?
    } else {
        axes.try_for_each(&mut step)?
    }
    Some(strides)
}

fn too_many(extents: &[usize]) -> Error {
    Error::invalid("extents", format!("{extents:?} are more elements than a tensor can have"))
}

/// Enumerates the offsets of a layout.
#[cfg(test)]
pub(crate) struct Offsets<'a> {
    layout: &'a Layout,
    index: Axes<usize>,
    at: isize,
    left: usize,
}

#[cfg(test)]
impl Iterator for Offsets<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let now = self.at.unsigned_abs();
        let axes = self.layout.extents.iter().zip(&self.layout.strides).zip(&mut self.index);
        for ((n, stride), index) in axes.rev() {
            if *index + 1 < *n {
                *index += 1;
                self.at = self.at.wrapping_add(*stride);
                break;
            }
            // Back to the first: what is passed on the way may lie outside, where it ends does not.
            self.at = self.at.wrapping_sub(stride.wrapping_mul(*index as isize));
            *index = 0;
        }
        Some(now)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}
