//! The order of a tensor's elements in memory: channels before the spatial axes, or after them; and copies into an order.

use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, Layout};
use crate::libraries::dnn::maybe_copied::MaybeCopied;
use smallvec::{SmallVec, smallvec};

/// The axis of a tensor of some rank that comes at a place, counted from the fastest. A number, not a list: each call asks for many.
fn axis(rank: usize, last: bool, place: usize) -> usize {
    match (last, rank - 1 - place) {
        (false, from_slowest) => from_slowest,
        (true, 0) => 0,
        (true, _) if place == 0 => 1,
        (true, from_slowest) => from_slowest + 1,
    }
}

/// The packed layout of these extents in an order.
pub(super) fn packed(extents: &[usize], last: bool) -> Result<Layout> {
    let mut strides: SmallVec<[isize; 5]> = smallvec![0; extents.len()];
    let mut step = 1usize;
    for place in 0..extents.len() {
        let axis = axis(extents.len(), last, place);
        if let (Some(stride), Some(extent)) = (strides.get_mut(axis), extents.get(axis)) {
            let too_large =
                || Error::invalid("extents", format!("{extents:?}: more elements than there are addresses"));
            *stride = isize::try_from(step).map_err(|_| too_large())?;
            step = step.checked_mul((*extent).max(1)).ok_or_else(too_large)?;
        }
    }
    Layout::new(extents, strides, 0)
}

/// Whether the elements lie one after the other in an order. The strides of axes with one element do not matter.
fn is_packed(layout: &Layout, last: bool) -> bool {
    let (extents, strides) = (layout.shape(), layout.strides());
    let mut step = 1usize;
    for place in 0..extents.len() {
        let axis = axis(extents.len(), last, place);
        let (Some(&extent), Some(&stride)) = (extents.get(axis), strides.get(axis)) else { return layout.is_empty() };
        if extent > 1 {
            if usize::try_from(stride) != Ok(step) {
                return layout.is_empty();
            }
            step = step.saturating_mul(extent);
        }
    }
    true
}

/// The order of a tensor; `None` if it is in both, or in neither and does not say.
pub(super) fn order(layout: &Layout) -> Option<bool> {
    match (is_packed(layout, false), is_packed(layout, true)) {
        (true, true) => None,
        (first, last) if first != last => Some(last),
        _ => {
            let strides = layout
                .strides()
                .iter()
                .zip(layout.shape())
                .map(|(stride, n)| (*n > 1).then_some(stride.unsigned_abs()));
            let all: SmallVec<[Option<usize>; 5]> = strides.collect();
            let of_channels = all.get(1).copied().flatten()?;
            Some(all.iter().skip(2).flatten().all(|stride| *stride > of_channels))
        }
    }
}

/// The elements of a view one after the other, in an order.
pub(super) fn ordered<'a>(device: &Device, view: &AnyTensorRef<'a>, last: bool) -> Result<MaybeCopied<'a>> {
    let (part, layout) = view.operand()?;
    if is_packed(&layout, last) {
        return Ok(MaybeCopied::Own(part));
    }
    MaybeCopied::copied(device, view, packed(layout.shape(), last)?)
}

/// Whether a target can be written in an order.
pub(super) fn check_target(name: &'static str, layout: &Layout, last: bool) -> Result<()> {
    if is_packed(layout, last) {
        return Ok(());
    }
    let what = "its elements do not lie one after the other, with the channels before or after the spatial axes; write a new tensor \
                and `assign` it";
    Err(Error::invalid(name, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_of_one_element_do_not_decide_the_order() {
        let rows = Layout::row_major([2, 3, 4, 5]).unwrap();
        assert_eq!(order(&rows), Some(false));
        assert_eq!(order(&packed(&[2, 3, 4, 5], true).unwrap()), Some(true));
        assert_eq!(packed(&[2, 3, 4, 5], true).unwrap().strides(), [60, 1, 15, 3]);
        assert_eq!(packed(&[2, 3, 4, 5, 6], true).unwrap().strides(), [360, 1, 90, 18, 3]);
        assert_eq!(packed(&[2, 3, 4, 5, 6], false).unwrap().strides(), [360, 120, 30, 6, 1]);
        let odd = |extents: &[usize], strides: &[isize]| order(&Layout::new(extents, strides, 0).unwrap());
        assert_eq!(odd(&[1, 3, 1, 1], &[3_331_333, 1, 3_331_333, 99_990_001]), None);
        assert_eq!(odd(&[1, 3, 1, 5], &[3_331_333, 5, 3_331_333, 1]), Some(false));
        assert_eq!(odd(&[1, 3, 1, 5], &[3_331_333, 1, 3_331_333, 3]), Some(true));
        // In neither: the closest.
        assert_eq!(odd(&[2, 3, 4, 5], &[120, 1, 15, 3]), Some(true));
        assert_eq!(odd(&[2, 3, 4, 5], &[120, 20, 5, 1]), Some(false));
        assert_eq!(odd(&[2, 0, 4, 5], &[7, 1, 15, 3]), None);
    }
}
