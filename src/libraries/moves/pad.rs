//! Tensors with borders.

use super::compose;
use super::compose::Compose;
use super::compose::{MOST, Piece};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{Layout, ReadableTensor, Tensor};
use crate::libraries::tensor_routine::TensorRoutine;

/// What the border of a padded tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pad<T> {
    /// This value.
    Constant(T),
    /// The nearest element of the tensor.
    Edge,
    /// The elements behind the edge, mirrored; the edge itself is not repeated.
    Reflect,
    /// The elements from the other end.
    Wrap,
}

/// A range along an axis of the new tensor: where it begins, its length, the offset of its first element and the stride, in the
/// tensor.
type Segment = (usize, usize, isize, isize);

/// The ranges along one axis.
fn segments<T>(
    pad: &Pad<T>,
    axis: usize,
    (n, stride): (usize, isize),
    (before, after): (usize, usize),
) -> Result<Vec<Segment>> {
    let (last, far) = (n as isize - 1, stride);
    let beyond = |most: usize, what: &str| match before.max(after) > most {
        true => {
            let text = format!("({before}, {after}) on axis {axis} of {n} elements: {what} has at most {most} of them");
            Err(Error::invalid("widths", text))
        }
        false => Ok(()),
    };
    let own = (before, n, 0, stride);
    let (front, back) = match pad {
        Pad::Constant(_) => return Ok(vec![own]),
        Pad::Edge => {
            if n == 0 {
                beyond(0, "an edge")?
            };
            ((0, before, 0, 0), (before + n, after, last * far, 0))
        }
        Pad::Reflect => {
            beyond(n.saturating_sub(1), "a mirror")?;
            ((0, before, before as isize * far, -stride), (before + n, after, (last - 1) * far, -stride))
        }
        Pad::Wrap => {
            beyond(n, "the other end")?;
            ((0, before, (n - before) as isize * far, stride), (before + n, after, 0, stride))
        }
    };
    let border = |segment: Segment| (segment.1 > 0).then_some(segment);
    Ok(border(front).into_iter().chain([own]).chain(border(back)).collect())
}

/// The boxes of the new tensor, each with the elements of the tensor that it gets.
fn pieces<T>(layout: &Layout, widths: &[(usize, usize)], pad: &Pad<T>) -> Result<Vec<Piece>> {
    let mut boxes: Vec<Vec<Segment>> = vec![Vec::new()];
    for (axis, (own, widths)) in layout.shape().iter().zip(layout.strides()).zip(widths).enumerate() {
        let own = segments(pad, axis, (*own.0, *own.1), *widths)?;
        let with = |one: &Vec<Segment>, segment: &Segment| one.iter().copied().chain([*segment]).collect();
        boxes = boxes.iter().flat_map(|one| own.iter().map(move |segment| with(one, segment))).collect();
    }
    let piece = |one: Vec<Segment>| {
        let offset = layout.offset() as isize + one.iter().map(|segment| segment.2).sum::<isize>();
        let extents: Vec<usize> = one.iter().map(|segment| segment.1).collect();
        let strides: Vec<isize> = one.iter().map(|segment| segment.3).collect();
        let is_empty = extents.contains(&0);
        let nothing = vec![0; strides.len()];
        let layout = match is_empty {
            true => Layout::new(extents, nothing, 0)?,
            false => Layout::new(extents, strides, offset.unsigned_abs())?,
        };
        Ok(Piece { start: one.iter().map(|segment| segment.0).collect(), source: 0, layout })
    };
    boxes.into_iter().map(piece).collect()
}

/// The widths of a call, and of one that follows it, where one dispatch would make too many pieces: axes are padded by themselves.
fn in_two(widths: &[(usize, usize)]) -> Option<[Vec<(usize, usize)>; 2]> {
    let sides = |(before, after): &(usize, usize)| 1 + usize::from(*before > 0) + usize::from(*after > 0);
    let pieces = |widths: &[(usize, usize)]| widths.iter().fold(1, |all: usize, own| all.saturating_mul(sides(own)));
    if pieces(widths) <= MOST {
        return None;
    }
    let end = (0..widths.len()).rev().find(|end| widths.get(..*end).is_some_and(|first| pieces(first) <= MOST))?;
    let of = |range: std::ops::Range<usize>| {
        let own = widths.iter().enumerate();
        own.map(|(axis, own)| if range.contains(&axis) { *own } else { (0, 0) }).collect()
    };
    Some([of(0..end), of(end..widths.len())])
}

/// Tensors padded.
impl Device {
    /// A new tensor with a border: `widths` has the numbers of elements before and after for each axis.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::moves::Pad;
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([3], [1, 2, 3])?;
    /// let padded = |pad| device.show(&device.pad(&x, &[(2, 1)], pad)?.await_result()?).map(|shown| shown.to_string());
    /// assert_eq!(padded(Pad::Constant(0))?, "[0 0 1 2 3 0]");
    /// assert_eq!(padded(Pad::Edge)?, "[1 1 1 2 3 3]");
    /// assert_eq!(padded(Pad::Reflect)?, "[3 2 1 2 3 2]");
    /// assert_eq!(padded(Pad::Wrap)?, "[2 3 1 2 3 1]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number of widths than axes, and for a border that is wider than what it is made of; a
    /// stale tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn pad<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        widths: &[(usize, usize)],
        pad: Pad<T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x = x.into();
        let several = if matches!(pad, Pad::Constant(_)) || widths.len() != x.rank() { None } else { in_two(widths) };
        if let Some([first, then]) = several {
            let padded = self.pad(&x, &first, pad)?.into_output();
            return self.pad(&padded, &then, pad);
        }
        let made = || -> Result<_> {
            if widths.len() != x.rank() {
                let what = format!("{} pairs for {} axes", widths.len(), x.rank());
                return Err(Error::invalid("widths", what));
            }
            let too_many = || Error::invalid("widths", "more elements than `usize` can count");
            let wide = |(n, (before, after)): (&usize, &(usize, usize))| n.checked_add(*before)?.checked_add(*after);
            let extents: Option<Vec<usize>> = x.shape().iter().zip(widths).map(wide).collect();
            let target = Layout::row_major(extents.ok_or_else(too_many)?)?;
            let (read, layout) = x.operand()?;
            Ok((target, pieces(&layout, widths, &pad)?, [read.into()].into_iter().collect()))
        };
        let (target, pieces, reads) = made().map_err(Compose::refused)?;
        let value = if let Pad::Constant(value) = pad { Some(value) } else { None };
        compose(self, target, value, pieces, reads).map_err(Compose::refused)
    }
}
