//! Other extents for the same elements in the same order.

use super::{Axes, Layout, dense, too_many};
use crate::core::error::{Error, Result};

impl Layout {
    /// The same elements, the last axis fastest, with other extents. No element moves, so the strides must allow it:
    /// axes can be split as they are, and merged if each continues the next one.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the number of elements differs, and when the elements would have to be copied:
    /// `contiguous` makes a copy that has every shape.
    pub fn reshape(&self, extents: impl AsRef<[usize]>) -> Result<Self> {
        let extents = extents.as_ref();
        Self::check_rank(extents.len())?;
        let full = extents.iter().try_fold(1usize, |all, n| all.checked_mul((*n).max(1)));
        let full = full.filter(|full| isize::try_from(*full).is_ok()).ok_or_else(|| too_many(extents))?;
        let wanted = if extents.contains(&0) { 0 } else { full };
        if wanted != self.len() {
            let what = format!("{extents:?} are {wanted} elements, but {:?} are {}", self.extents, self.len());
            return Err(Error::invalid("extents", what));
        }
        let strides = match wanted {
            0 => dense(extents, true),
            _ => self.strides_of(extents),
        };
        let strides = strides.ok_or_else(|| {
            Error::invalid(
                "extents",
                format!(
                    "{:?} with strides {:?} cannot become {extents:?} without a copy: call `contiguous` first",
                    self.extents, self.strides
                ),
            )
        })?;
        Self::admit(extents.into(), strides, self.offset as i128)
    }

    /// The strides of these extents, which have as many elements (at least one), if no element has to move.
    fn strides_of(&self, extents: &[usize]) -> Option<Axes<isize>> {
        // From the last axis to the first, in runs of elements at even distances: an axis that continues the one after
        // it belongs to its run.
        let mut runs = Axes::<(usize, isize)>::new();
        for (n, stride) in self.extents.iter().zip(&self.strides).rev().filter(|(n, _)| **n != 1) {
            match runs.last_mut() {
                Some((len, step)) if step.checked_mul(*len as isize) == Some(*stride) => *len *= n,
                _ => runs.push((*n, *stride)),
            }
        }
        let mut runs = runs.into_iter();
        let (mut left, mut stride) = runs.next().unwrap_or((1, 1));
        let mut strides = Axes::new();
        for n in extents.iter().rev() {
            // An axis of extent 1 takes what the next stride would be, as in a dense layout.
            if *n > 1 && left == 1 {
                (left, stride) = runs.next()?;
            }
            if !left.is_multiple_of(*n) {
                return None;
            }
            strides.push(stride);
            left /= n;
            stride = stride.saturating_mul(*n as isize);
        }
        strides.reverse();
        Some(strides)
    }
}
