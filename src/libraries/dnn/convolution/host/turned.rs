//! The gradient of the input as a forward pass: of the gradient of the result, by the filters turned around.
//!
//! Where no place is skipped, an element of the input meets the same distances from window to window as an element of a result
//! does, so that the forward pass's blocks compute it, without panels that are added back.

use super::super::problem::{Direction, Problem};
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::Real;
use crate::numerics::parallel::{Parts, each_part};

/// Places of all images, at least: turning the filters costs as much as some products by them.
const LEAST: usize = 32;
/// Filters that are read together: as many lines as a cache holds.
const TILE: usize = 16;

impl Problem {
    /// The forward problem whose result is the gradient of the input. `None` where places are skipped, where the padding is wider
    /// than the window reaches, or where panels are as good.
    pub(super) fn turned(&self) -> Option<Self> {
        let few = self.batch.saturating_mul(self.places()) < LEAST;
        if self.stride != [1; 3] || self.is_plain() || few {
            return None;
        }
        let (mut before, mut after) = (self.before, self.after);
        for (axis, (before, after)) in before.iter_mut().zip(&mut after).enumerate() {
            let reach = self.kernel.get(axis)?.checked_sub(1)?.checked_mul(*self.dilation.get(axis)?)?;
            *before = reach.checked_sub(*before)?;
            *after = reach.checked_sub(*after)?;
        }
        let (input, output, channels, filters) = (self.output, self.input, self.filters, self.channels);
        let direction = Direction::Forward;
        Some(Problem { direction, input, output, channels, filters, before, after, ..self.clone() })
    }

    /// The filters of [`Problem::turned`]: one for each channel, with the elements of the window in the opposite order.
    pub(super) fn turn<A: Real>(&self, w: &[A]) -> Result<Vec<A>> {
        let taps: usize = self.kernel.iter().product();
        let (each, filters) = (self.each(), self.of_group());
        let mut turned = room::zeroed(w.len())?;
        // Of a filter: the distance from channel to channel, and from one element of the window to the next.
        let distances = |channels: usize| if self.channels_last { (1, channels) } else { (taps, 1) };
        let ((channel, tap), (filter, element)) = (distances(each), distances(filters));
        let size = filters * taps;
        each_part(&mut turned, Parts::with_size(size * TILE), &|part, to| {
            for first in (0..filters).step_by(TILE) {
                for (of, to) in to.chunks_exact_mut(size.max(1)).enumerate() {
                    let (group, own) = ((part * TILE + of) / each.max(1), (part * TILE + of) % each.max(1));
                    for k in first..filters.min(first + TILE) {
                        let from = w.get((group * filters + k) * each * taps + own * channel..).unwrap_or_default();
                        let to = to.get_mut(k * filter..).unwrap_or_default();
                        reversed((from, tap), (to, element), taps);
                    }
                }
            }
        });
        Ok(turned)
    }
}

/// Copies `taps` elements in the opposite order. Those of a window that lie side by side have a loop without steps: most windows have few
/// elements, and steps cost several times as much as the elements.
fn reversed<A: Copy>((from, tap): (&[A], usize), (to, element): (&mut [A], usize), taps: usize) {
    if let ((1, Some(from)), (1, Some(to))) = ((tap, from.get(..taps)), (element, to.get_mut(..taps))) {
        return to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from);
    }
    let from = from.iter().step_by(tap).take(taps);
    let to = to.iter_mut().step_by(element).take(taps);
    to.zip(from.rev()).for_each(|(to, from)| *to = *from);
}
