//! The geometry of a specification: for every axis its sizes and strides on both sides, checked.
//!
//! Both engines work from this alone: transformed axes, and loops around them. Batches, axes that are not transformed
//! and embedding are all loops and strides here.

use super::dims::{Dims, MOST_AXES};
use super::problem::{DataLayout, Problem};
use super::spec::{Direction, Kind};
use crate::core::error::{Error, Result};
use smallvec::SmallVec;

/// A transformed axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Axis {
    /// Length of the transform.
    pub(super) n: usize,
    /// Elements that are read along it; the rest of the transform's input is zero.
    pub(super) read: usize,
    /// Elements that are written along it.
    pub(super) written: usize,
    /// Strides of both sides.
    pub(super) from: usize,
    pub(super) to: usize,
}

/// An axis that is not transformed, or the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Loop {
    pub(super) count: usize,
    /// Strides of both sides.
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The input or the output in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Side {
    /// Elements (complex numbers count as one) that a buffer must hold.
    pub(super) span: usize,
    /// There are no gaps: every one of the `span` elements is used.
    pub(super) dense: bool,
    /// No two elements overlap.
    pub(super) disjoint: bool,
    /// A layout was given: the buffer may be longer than `span`.
    pub(super) explicit: bool,
}

/// A transform with all its sizes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Geometry {
    pub(super) kind: Kind,
    pub(super) direction: Direction,
    /// In the order given: real transforms halve the last.
    pub(super) axes: SmallVec<[Axis; 4]>,
    pub(super) loops: SmallVec<[Loop; 4]>,
    pub(super) input: Side,
    pub(super) output: Side,
    /// The product of the lengths.
    pub(super) points: usize,
    /// How many transforms of `points` there are.
    pub(super) count: usize,
    pub(super) hermitian: bool,
}

fn check_dims(name: &'static str, dims: &Dims) -> Result<()> {
    if dims.is_too_long() {
        return Err(Error::invalid(name, format!("more than {MOST_AXES} axes")));
    }
    Ok(())
}

fn overflow(name: &'static str) -> Error {
    Error::invalid(name, "the number of elements overflows")
}

impl Problem {
    /// The input's own shape, the logical shape of the transform, and its axes.
    fn shapes(&self) -> Result<(Dims, Dims, Dims)> {
        check_dims("shape", &self.shape)?;
        let rank = self.shape.len();
        let axes = self.axes.unwrap_or_else(|| (0..rank).collect::<SmallVec<[usize; MOST_AXES]>>().into());
        check_dims("axes", &axes)?;
        if axes.len() == 0 {
            return Err(Error::invalid("axes", "a transform needs at least one axis"));
        }
        for (i, &axis) in axes.as_slice().iter().enumerate() {
            if axis >= rank {
                return Err(Error::invalid("axes", format!("axis {axis} does not exist: the shape has {rank} axes")));
            }
            if axes.as_slice().iter().take(i).any(|other| *other == axis) {
                return Err(Error::invalid("axes", format!("axis {axis} is named twice")));
            }
        }
        let (mut input, shape) = (self.shape, self.shape);
        if let (Kind::C2r, Some(&last)) = (self.kind, axes.as_slice().last()) {
            input.set(last, input.get(last).unwrap_or(0) / 2 + 1);
        }
        if let Some(given) = &self.input_shape {
            check_dims("input_shape", given)?;
            if given.len() != rank {
                return Err(Error::invalid("input_shape", format!("{} axes, but the shape has {rank}", given.len())));
            }
            for (axis, (&given, &want)) in given.as_slice().iter().zip(input.as_slice()).enumerate() {
                if given != want && !axes.as_slice().contains(&axis) {
                    let what = format!("{given} along axis {axis}, but that axis has {want} and is not transformed");
                    return Err(Error::invalid("input_shape", what));
                }
            }
            input = *given;
        }
        Ok((input, shape, axes))
    }

    /// All sizes, checked.
    pub(super) fn geometry(&self) -> Result<Geometry> {
        let (read, shape, axes) = self.shapes()?;
        let last = axes.as_slice().last().copied();
        let mut written = shape;
        if let (Kind::R2c, Some(last)) = (self.kind, last) {
            written.set(last, shape.get(last).unwrap_or(0) / 2 + 1);
        }
        let mut points = 1usize;
        for &axis in axes.as_slice() {
            let n = shape.get(axis).unwrap_or(0);
            if n == 0 {
                return Err(Error::invalid("x", format!("0 points along the transformed axis {axis}")));
            }
            points = points.checked_mul(n).ok_or_else(|| overflow("shape"))?;
        }
        let (from, input) = place("input", &read, self.batch, self.input.as_ref(), false)?;
        let (to, output) = place("output", &written, self.batch, self.output.as_ref(), true)?;
        let at = |dims: &Dims, axis| dims.get(axis).unwrap_or(0);
        let transformed = axes.as_slice().iter().map(|&axis| {
            let needed =
                if self.kind == Kind::C2r && Some(axis) == last { at(&shape, axis) / 2 + 1 } else { at(&shape, axis) };
            Axis {
                n: at(&shape, axis),
                read: at(&read, axis).min(needed),
                written: at(&written, axis),
                from: at(&from.strides, axis),
                to: at(&to.strides, axis),
            }
        });
        let transformed: SmallVec<[Axis; 4]> = transformed.collect();
        let mut loops: SmallVec<[Loop; 4]> = SmallVec::new();
        if self.batch != 1 {
            loops.push(Loop { count: self.batch, from: from.dist.unwrap_or(0), to: to.dist.unwrap_or(0) });
        }
        for axis in (0..shape.len()).filter(|axis| !axes.as_slice().contains(axis)) {
            let (from, to) = (at(&from.strides, axis), at(&to.strides, axis));
            loops.push(Loop { count: at(&shape, axis), from, to });
        }
        let count = loops.iter().try_fold(1usize, |all, one| all.checked_mul(one.count));
        let count = count.ok_or_else(|| overflow("batch"))?;
        count.checked_mul(points).filter(|all| isize::try_from(*all).is_ok()).ok_or_else(|| overflow("shape"))?;
        let (kind, direction, hermitian) = (self.kind, self.direction, self.hermitian);
        Ok(Geometry { kind, direction, axes: transformed, loops, input, output, points, count, hermitian })
    }
}

/// The layout of an array of this shape, and how much of a buffer it takes.
fn place(
    name: &'static str,
    shape: &Dims,
    batch: usize,
    layout: Option<&DataLayout>,
    written: bool,
) -> Result<(DataLayout, Side)> {
    let sizes = shape.as_slice();
    let total = sizes.iter().try_fold(batch, |all, n| all.checked_mul(*n)).ok_or_else(|| overflow(name))?;
    let explicit = layout.is_some();
    let layout = match layout {
        Some(layout) => {
            check_dims(name, &layout.strides)?;
            if layout.strides.len() != sizes.len() {
                let what = format!("{} strides for {} axes", layout.strides.len(), sizes.len());
                return Err(Error::invalid(name, what));
            }
            if batch > 1 && layout.dist.is_none() {
                return Err(Error::invalid(
                    name,
                    format!("a layout of {batch} arrays needs a distance: set `DataLayout::dist`"),
                ));
            }
            *layout
        }
        None => DataLayout::embedded(*shape, 1),
    };
    if total == 0 {
        return Ok((layout, Side { span: 0, dense: true, disjoint: true, explicit }));
    }
    let mut steps: SmallVec<[(usize, usize); 9]> = SmallVec::new();
    steps.push((layout.dist.unwrap_or(0), batch));
    steps.extend(layout.strides.as_slice().iter().copied().zip(sizes.iter().copied()));
    steps.retain(|(_, n)| *n > 1);
    steps.sort_unstable();
    let far = steps.iter().try_fold(0usize, |far, (stride, n)| far.checked_add(stride.checked_mul(n - 1)?));
    let span = far.and_then(|far| far.checked_add(1)).filter(|span| isize::try_from(*span).is_ok());
    let span = span.ok_or_else(|| overflow(name))?;
    let disjoint = are_disjoint(&steps);
    if written && !disjoint {
        return Err(Error::invalid(name, format!("elements overlap with the strides and sizes {steps:?}")));
    }
    Ok((layout, Side { span, dense: disjoint && span == total, disjoint, explicit }))
}

/// Whether no two elements overlap: each stride is larger than all that the smaller ones reach. (Some rare layouts
/// without an overlap are refused too.)
fn are_disjoint(steps: &[(usize, usize)]) -> bool {
    let mut reach = 0usize;
    steps.iter().all(|(stride, n)| {
        let free = *stride > reach;
        reach = reach.saturating_add(stride.saturating_mul(n - 1));
        free
    })
}
