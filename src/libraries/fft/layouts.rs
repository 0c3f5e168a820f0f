//! A specification and the layouts of two tensors as a [`Problem`]: the one place of the transforms that reads layouts.

use super::dims::MOST_AXES;
use super::problem::{DataLayout, Problem};
use super::spec::{Direction, FftSpec, Kind};
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;
use smallvec::SmallVec;

/// One value for each axis.
pub(super) type Axes = SmallVec<[usize; MOST_AXES]>;

/// The layout of numbers of `per` elements each, real numbers or the pairs that complex numbers of halves are.
///
/// # Errors
/// That of [`Layout::of_pairs`].
pub(super) fn numbers(name: &'static str, layout: Layout, per: usize) -> Result<Layout> {
    if per == 1 { Ok(layout) } else { layout.of_pairs(name) }
}

/// The axes counted from the front; all if none is named.
pub(super) fn places(axes: &[isize], name: &'static str, shape: &[usize]) -> Result<Axes> {
    let rank = shape.len();
    if rank > MOST_AXES {
        return Err(Error::invalid(
            name,
            format!("{shape:?} has {rank} axes, but a transform takes {MOST_AXES} at most"),
        ));
    }
    let place = |axis: &isize| {
        let place = if *axis < 0 { rank.checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
        let place = place.filter(|place| *place < rank);
        place.ok_or_else(|| Error::invalid("axes", format!("axis {axis}, but {shape:?} has {rank} axes")))
    };
    let places: Axes =
        if axes.is_empty() { (0..rank).collect() } else { axes.iter().map(place).collect::<Result<_>>()? };
    let twice = |(i, place): (usize, &usize)| places.iter().take(i).any(|other| other == place);
    match places.iter().enumerate().find(|one| twice(*one)) {
        Some((_, axis)) => Err(Error::invalid("axes", format!("axis {axis} is named twice"))),
        None if places.is_empty() => Err(Error::invalid(name, "a transform needs at least one axis")),
        None => Ok(places),
    }
}

/// The extents with others along these axes.
fn with(shape: &[usize], changed: impl IntoIterator<Item = (usize, usize)>) -> Axes {
    let mut extents = Axes::from_slice(shape);
    for (axis, n) in changed {
        extents.iter_mut().skip(axis).take(1).for_each(|extent| *extent = n);
    }
    extents
}

/// Checks that a tensor has the extents that follow from those of another.
fn check_extents(name: &'static str, extents: &[usize], want: &[usize], why: impl FnOnce() -> String) -> Result<()> {
    match extents.iter().zip(want).position(|(n, want)| n != want) {
        None => Ok(()),
        Some(axis) => {
            let what = format!("{extents:?}, not {want:?}: they differ along axis {axis}; {}", why());
            Err(Error::invalid(name, what))
        }
    }
}

/// Where the numbers of a tensor lie that begins at its smallest offset; `None` for row-major order without gaps.
fn strides(name: &'static str, layout: &Layout) -> Result<Option<DataLayout>> {
    if layout.is_row_major() {
        return Ok(None);
    }
    let steps = layout.strides().iter().zip(layout.shape());
    // What an axis of extent 1 has as its stride does not matter.
    let steps = steps.map(|(step, n)| if *n == 1 { Some(1) } else { usize::try_from(*step).ok() });
    match steps.collect::<Option<Axes>>() {
        Some(steps) => Ok(Some(DataLayout::strided(steps))),
        None => Err(Error::invalid(name, format!("{layout:?}: it is flipped; `contiguous` makes a copy that is not"))),
    }
}

impl FftSpec {
    /// The extents of a transform's output, for numbers of these extents; `n` is the length from complex to real.
    pub(super) fn output(&self, kind: Kind, x: &[usize], n: usize) -> Result<Axes> {
        let last = places(&self.axes, "x", x)?.last().copied().unwrap_or_default();
        let of_x = x.get(last).copied().unwrap_or_default();
        match kind {
            Kind::C2c => Ok(Axes::from_slice(x)),
            Kind::R2c => Ok(with(x, [(last, of_x / 2 + 1)])),
            Kind::C2r if of_x == n / 2 + 1 || of_x == 0 => Ok(with(x, [(last, n)])),
            Kind::C2r => {
                let (half, most) = (n / 2 + 1, of_x.saturating_mul(2) - 1);
                let what =
                    format!("{n} points have a half spectrum of {half}, but x, {x:?}, has {of_x} along axis {last}");
                Err(Error::invalid("n", what + &format!(": that of {most} points, or of one less")))
            }
        }
    }

    /// The transform from numbers of one layout to numbers of another. Each begins at its smallest offset. Those that are read may
    /// overlap.
    pub(super) fn problem(&self, kind: Kind, [x, y]: [&Layout; 2]) -> Result<Problem> {
        let (of_x, of_y) = (x.shape(), y.shape());
        let axes = places(&self.axes, "x", of_x)?;
        if of_x.len() != of_y.len() {
            let what = format!("{of_y:?} has {} axes, but x {of_x:?} has {}", of_y.len(), of_x.len());
            return Err(Error::invalid("y", what));
        }
        let half = |shape: &[usize]| {
            let last = axes.last().copied().unwrap_or_default();
            with(shape, shape.get(last).map(|n| (last, n / 2 + 1)))
        };
        let lengths = |of: &[usize]| axes.iter().filter_map(|axis| Some((*axis, *of.get(*axis)?))).collect::<Vec<_>>();
        // The extents on the logical side.
        let shape = match (self.n.len(), kind) {
            (0, Kind::C2r) => with(of_x, lengths(of_y)),
            (0, _) => Axes::from_slice(of_x),
            (given, _) if given == axes.len() && !self.n.contains(&0) => {
                with(of_x, axes.iter().copied().zip(self.n.iter().copied()))
            }
            (_, _) => {
                let what =
                    format!("lengths {:?} for {} axes: each needs one, of one point at least", self.n, axes.len());
                return Err(Error::invalid("n", what));
            }
        };
        let read = if kind == Kind::C2r { half(&shape) } else { shape.clone() };
        if self.n.is_empty() && kind == Kind::C2r {
            check_extents("x", of_x, &read, || format!("half the spectra of y, {of_y:?}, have n / 2 + 1 points"))?;
        }
        let written = if kind == Kind::R2c { half(&shape) } else { shape.clone() };
        check_extents("y", of_y, &written, || format!("x is {of_x:?}"))?;
        y.check_distinct("y")?;
        let natural = if kind == Kind::C2r { Direction::Inverse } else { Direction::Forward };
        let problem = Problem::new(kind, &shape);
        Ok(Problem {
            direction: self.direction.unwrap_or(natural),
            norm: self.norm,
            axes: Some(axes.into()),
            input_shape: (read.as_slice() != of_x).then(|| of_x.into()),
            input: strides("x", x)?,
            output: strides("y", y)?,
            hermitian: self.hermitian,
            ..problem
        })
    }

    /// The real and the complex side of a real transform in place, of real numbers whose lines along the halved axis have
    /// the places of all their points.
    pub(super) fn sides(&self, x: &Layout) -> Result<[Layout; 2]> {
        let (extents, refused) = (x.shape(), |what: String| Err(Error::invalid("x", format!("{x:?}: {what}"))));
        let last = places(&self.axes, "x", extents)?.last().copied().unwrap_or_default();
        let (Some(there), Some(step)) = (extents.get(last).copied(), x.strides().get(last)) else {
            return refused("a transform needs at least one axis".into());
        };
        let Some(n) = self.n.last().copied() else {
            let what = "say how many of the places along the halved axis are numbers: `FftSpec::n` of the real side";
            return Err(Error::invalid(
                "n",
                format!("{what}; {there} places have {} or one more", there.saturating_sub(2)),
            ));
        };
        if n == 0 || n / 2 + 1 != there / 2 || !there.is_multiple_of(2) {
            let what = format!("{there} places along axis {last}, but {n} numbers and their half spectrum take");
            return refused(format!("{what} {}", (n / 2 + 1).saturating_mul(2)));
        }
        let others = x.strides().iter().zip(extents).enumerate().filter(|(axis, (_, n))| *axis != last && **n != 1);
        if !x.is_empty() && (*step != 1 || others.map(|(_, (step, _))| step).any(|step| step % 2 != 0)) {
            return refused(
                "lines of neighbours at even distances are transformed in place; `contiguous` makes a copy".into(),
            );
        }
        let halves = x.strides().iter().enumerate().map(|(axis, step)| if axis == last { 1 } else { step / 2 });
        let halves: SmallVec<[isize; MOST_AXES]> = halves.collect();
        let side = |n: usize, strides: &[isize], at: usize| Layout::new(with(extents, [(last, n)]), strides, at);
        Ok([side(n, x.strides(), x.offset())?, side(n / 2 + 1, &halves, x.offset() / 2)?])
    }
}
