//! Layouts of the same elements with their axes rearranged, and of some of them.

use super::slice::AxisSlice;
use super::{Axes, Layout, place};
use crate::core::error::{Error, Result};

impl Layout {
    /// The axes in the order of `axes`, which names each once; a negative number counts from the end.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when an axis is missing, named twice, or does not exist.
    pub fn permute(&self, axes: impl AsRef<[isize]>) -> Result<Self> {
        let axes = axes.as_ref();
        let rank = self.rank();
        let mut seen: Axes<bool> = (0..rank).map(|_| false).collect();
        let (mut extents, mut strides) = (Axes::new(), Axes::new());
        for axis in axes {
            let axis = self.axis("axes", *axis)?;
            if seen.get_mut(axis).is_some_and(|seen| std::mem::replace(seen, true)) {
                return Err(Error::invalid("axes", format!("{axes:?} names axis {axis} twice")));
            }
            extents.extend(self.extents.get(axis).copied());
            strides.extend(self.strides.get(axis).copied());
        }
        if extents.len() != rank {
            return Err(Error::invalid("axes", format!("{axes:?} names {} of {rank} axes", axes.len())));
        }
        Ok(Layout { extents, strides, offset: self.offset })
    }

    /// The axes in reverse order; for a matrix its transpose.
    #[must_use = "this returns a new layout"]
    pub fn transpose(&self) -> Self {
        let mut turned = self.clone();
        turned.extents.reverse();
        turned.strides.reverse();
        turned
    }

    /// Two axes change places; a negative number counts from the end.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no such axis.
    pub fn swap_axes(&self, one: isize, other: isize) -> Result<Self> {
        let (one, other) = (self.axis("one", one)?, self.axis("other", other)?);
        let mut swapped = self.clone();
        swapped.extents.swap(one, other);
        swapped.strides.swap(one, other);
        Ok(swapped)
    }

    /// The elements along `axis` in reverse order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no such axis.
    pub fn flip(&self, axis: isize) -> Result<Self> {
        self.along("axis", axis, AxisSlice::from(..).step(-1))
    }

    /// Without the axes of extent 1.
    #[must_use = "this returns a new layout"]
    pub fn squeeze(&self) -> Self {
        let axes = || self.extents.iter().zip(&self.strides).filter(|(n, _)| **n != 1);
        let (extents, strides) = (axes().map(|a| *a.0).collect(), axes().map(|a| *a.1).collect());
        Layout { extents, strides, offset: self.offset }
    }

    /// Without one axis, whose extent is 1.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no such axis, or its extent is not 1.
    pub fn squeeze_axis(&self, axis: isize) -> Result<Self> {
        let at = self.axis("axis", axis)?;
        match self.extents.get(at) {
            Some(1) => self.index(axis, 0),
            n => {
                let n = n.copied().unwrap_or_default();
                Err(Error::invalid("axis", format!("axis {axis} of {:?} has {n} elements, not 1", self.extents)))
            }
        }
    }

    /// With a new axis of extent 1, which becomes axis `axis`; a negative number counts from the end of the new axes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `axis` is beyond the rank, or the rank was 64.
    pub fn unsqueeze(&self, axis: isize) -> Result<Self> {
        let Some(at) = place(axis, self.rank() + 1) else {
            let what = format!("a new axis {axis}, but the rank is {}: {:?}", self.rank(), self.extents);
            return Err(Error::invalid("axis", what));
        };
        let (mut extents, mut strides) = (self.extents.clone(), self.strides.clone());
        extents.insert(at, 1);
        strides.insert(at, 0);
        Self::admit(extents, strides, self.offset as i128)
    }

    /// The diagonal of two axes, which vanish; it is the new last axis. `above` moves it: element `i` has the index `i` on
    /// axis `one` and `i + above` on axis `other`. NumPy's `diagonal`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no such axis, both are the same, or the diagonal begins outside of them.
    pub fn diagonal(&self, above: isize, one: isize, other: isize) -> Result<Self> {
        let (one, other) = (self.axis("one", one)?, self.axis("other", other)?);
        if one == other {
            return Err(Error::invalid("other", format!("both are axis {one}")));
        }
        let part = |axis: usize, from: isize| {
            let n = self.extents.get(axis).copied().unwrap_or_default();
            let from = from.max(0).unsigned_abs();
            let stride = self.strides.get(axis).copied().unwrap_or_default();
            n.checked_sub(from)
                .map(|len| (len, from as i128 * stride as i128, stride))
                .ok_or_else(|| Error::invalid("above", format!("{above} is beyond the {n} elements of axis {axis}")))
        };
        let (down, right) = (part(one, above.saturating_neg())?, part(other, above)?);
        let len = down.0.min(right.0);
        let rest = |axis: usize| axis != one && axis != other;
        let mut extents: Axes<usize> = (0..).zip(&self.extents).filter(|a| rest(a.0)).map(|a| *a.1).collect();
        let mut strides: Axes<isize> = (0..).zip(&self.strides).filter(|a| rest(a.0)).map(|a| *a.1).collect();
        extents.push(len);
        // With one element any stride will do; with two, the sum is a distance between elements.
        strides.push(if len > 1 { down.2.saturating_add(right.2) } else { 0 });
        let moved = if extents.contains(&0) { 0 } else { down.1 + right.1 };
        Self::admit(extents, strides, self.offset as i128 + moved)
    }

    /// The first `mid` elements along `axis`, and the others.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no such axis, or `mid` is past its end.
    pub fn split(&self, axis: isize, mid: usize) -> Result<(Self, Self)> {
        let n = self.extents.get(self.axis("axis", axis)?).copied().unwrap_or_default();
        if mid > n {
            return Err(Error::invalid("mid", format!("{mid} is past the end of axis {axis}, which has {n} elements")));
        }
        let first = self.along("axis", axis, AxisSlice::from(..mid))?;
        Ok((first, self.along("axis", axis, AxisSlice::from(mid..))?))
    }

    /// Windows of `size` elements along `axis`, one every `step` elements: the extent of the axis becomes the number of
    /// windows that fit, and a new last axis counts the elements of a window. NumPy's `sliding_window_view`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no such axis, it is shorter than a window, or `size` or `step` is zero.
    pub fn windows(&self, axis: isize, size: usize, step: usize) -> Result<Self> {
        let at = self.axis("axis", axis)?;
        let (n, stride) = (self.extents.get(at).copied(), self.strides.get(at).copied().unwrap_or_default());
        let n = n.unwrap_or_default();
        if step == 0 {
            return Err(Error::invalid("step", "0, but each window begins behind the one before it"));
        }
        let Some(last) = n.checked_sub(size).filter(|_| size > 0) else {
            let what =
                format!("windows of {size} elements on axis {axis}, which has {n}: they have from 1 to that many");
            return Err(Error::invalid("size", what));
        };
        let (mut extents, mut strides) = (self.extents.clone(), self.strides.clone());
        let count = last / step + 1;
        if let (Some(n), Some(stride)) = (extents.get_mut(at), strides.get_mut(at)) {
            *n = count;
            if count > 1 {
                *stride = stride.saturating_mul(isize::try_from(step).unwrap_or(isize::MAX));
            }
        }
        extents.push(size);
        strides.push(stride);
        Self::admit(extents, strides, self.offset as i128)
    }
}
