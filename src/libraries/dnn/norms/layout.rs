//! Which axes are normalised, and which elements share a weight.

use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;

/// The axes that one call normalises, with the operands' layouts split for them.
pub(super) struct Axes {
    /// The axes that are reduced.
    pub(super) reduced: Vec<i32>,
    /// The extents with the split axes, and as the caller has them.
    pub(super) split: Vec<usize>,
    pub(super) whole: Vec<usize>,
    kind: Kind,
}

/// How many elements of an axis.
enum Kind {
    /// The last axes.
    Last(usize),
    /// Groups of channels, axis 1, with all axes behind: so many.
    Groups(usize),
    /// All axes but the channels.
    Channels,
}

fn channels(extents: &[usize]) -> Result<usize> {
    extents
        .get(1)
        .copied()
        .ok_or_else(|| Error::invalid("x", format!("extents {extents:?}: there is no axis 1, which has the channels")))
}

impl Axes {
    /// The last `count` axes.
    pub(super) fn last(extents: &[usize], count: usize) -> Result<Self> {
        let rank = extents.len();
        if count == 0 || count > rank {
            let what = format!("the last {count} axes of {extents:?}: one at least, and all {rank} at most");
            return Err(Error::invalid("norm", what));
        }
        let reduced = (rank - count..rank).map(|axis| axis as i32).collect();
        Ok(Axes { reduced, split: extents.to_vec(), whole: extents.to_vec(), kind: Kind::Last(count) })
    }

    /// Groups of the channels.
    pub(super) fn groups(extents: &[usize], groups: usize) -> Result<Self> {
        let all = channels(extents)?;
        if groups == 0 || all % groups != 0 {
            return Err(Error::invalid(
                "norm",
                format!("{groups} groups of {all} channels: it must divide their number"),
            ));
        }
        let mut split = extents.to_vec();
        split.splice(1..2, [groups, all / groups]);
        let reduced = (2..split.len()).map(|axis| axis as i32).collect();
        Ok(Axes { reduced, split, whole: extents.to_vec(), kind: Kind::Groups(groups) })
    }

    /// All axes but the channels.
    pub(super) fn channels(extents: &[usize]) -> Result<Self> {
        channels(extents)?;
        let reduced = (0..extents.len()).filter(|axis| *axis != 1).map(|axis| axis as i32).collect();
        Ok(Axes { reduced, split: extents.to_vec(), whole: extents.to_vec(), kind: Kind::Channels })
    }

    /// The number of elements that share moments.
    pub(super) fn count(&self) -> usize {
        self.reduced.iter().filter_map(|axis| self.split.get(*axis as usize)).product()
    }

    /// The axes over which the gradients of weights are summed.
    pub(super) fn shared(&self) -> Vec<i32> {
        let rank = self.split.len();
        let shared = |axis: &usize| match self.kind {
            Kind::Last(count) => *axis < rank - count,
            Kind::Groups(_) => *axis == 0 || *axis > 2,
            Kind::Channels => *axis != 1,
        };
        (0..rank).filter(shared).map(|axis| axis as i32).collect()
    }

    /// The extents of weights.
    pub(super) fn weights(&self) -> Vec<usize> {
        match self.kind {
            Kind::Last(count) => self.whole.iter().skip(self.whole.len() - count).copied().collect(),
            _ => self.whole.get(1).copied().into_iter().collect(),
        }
    }

    /// The layout of a tensor of the caller's extents with the axes split.
    pub(super) fn tensor(&self, name: &'static str, layout: &Layout) -> Result<Layout> {
        if layout.shape() != self.whole {
            let what = format!("extents {:?} instead of {:?}", layout.shape(), self.whole);
            return Err(Error::invalid(name, what));
        }
        let Kind::Groups(groups) = self.kind else { return Ok(layout.clone()) };
        if layout.is_empty() {
            return Layout::row_major(&self.split);
        }
        let mut strides = layout.strides().to_vec();
        let own = strides.get(1).copied().unwrap_or(0);
        let each = self.whole.get(1).copied().unwrap_or(0) / groups;
        strides.splice(1..2, [own * each as isize, own]);
        Layout::new(&self.split, strides, layout.offset())
    }

    /// The layout of weights, broadcast to all elements.
    pub(super) fn weight(&self, name: &'static str, layout: &Layout) -> Result<Layout> {
        let own = self.weights();
        if layout.shape() != own {
            return Err(Error::invalid(name, format!("extents {:?} instead of {own:?}", layout.shape())));
        }
        let stride = layout.strides().first().copied().unwrap_or(0);
        match self.kind {
            Kind::Last(_) => layout.broadcast(&self.split),
            Kind::Groups(groups) => {
                let each = own.first().copied().unwrap_or(0) / groups;
                let mut strides = vec![0; self.split.len()];
                strides.iter_mut().skip(1).zip([stride * each as isize, stride]).for_each(|(s, own)| *s = own);
                self.over(&strides, layout)
            }
            Kind::Channels => {
                let mut strides = vec![0; self.split.len()];
                strides.iter_mut().skip(1).take(1).for_each(|s| *s = stride);
                self.over(&strides, layout)
            }
        }
    }

    fn over(&self, strides: &[isize], layout: &Layout) -> Result<Layout> {
        if self.split.contains(&0) {
            return Layout::row_major(&self.split);
        }
        Layout::new(&self.split, strides, layout.offset())
    }

    /// The extents of moments: 1 along the axes that are normalised.
    pub(super) fn moments(&self) -> Vec<usize> {
        let one = |(axis, n): (usize, &usize)| if self.reduced.contains(&(axis as i32)) { 1 } else { *n };
        self.split.iter().enumerate().map(one).collect()
    }

    /// The layout of moments, broadcast to all elements.
    pub(super) fn moment(&self, name: &'static str, layout: &Layout) -> Result<Layout> {
        let own = self.moments();
        if layout.shape() != own {
            return Err(Error::invalid(name, format!("extents {:?} instead of {own:?}", layout.shape())));
        }
        layout.broadcast(&self.split)
    }
}
