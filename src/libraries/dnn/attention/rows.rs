//! Operands as a library takes them: rows of neighbours, at distances that it knows.

use super::problem::Rows;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, Layout};
use crate::libraries::dnn::maybe_copied::MaybeCopied;

/// Elements that rows begin at multiples of, where a library reads them: 16 bytes.
pub(super) fn granule(dtype: DType) -> usize {
    16 / dtype.size().max(1)
}

/// Packed rows: batches, heads, places; or batches, places, heads.
pub(super) fn packed([_, heads, places, width]: [usize; 4], heads_last: bool) -> Rows {
    match heads_last {
        true => [places * heads * width, width, heads * width],
        false => [heads * places * width, places * width, width],
    }
}

/// Whether the heads of a place are neighbours.
pub(super) fn heads_last(layout: &Layout) -> bool {
    match (layout.shape(), layout.strides()) {
        ([_, heads, places, _], [_, of_head, of_place, _]) => {
            *heads > 1 && *places > 1 && of_head.unsigned_abs() < of_place.unsigned_abs()
        }
        _ => false,
    }
}

/// The distances of rows whose elements are neighbours; those of axes with one element are as if all were packed.
pub(super) fn rows_of(layout: &Layout, extents: [usize; 4]) -> Option<Rows> {
    let [.., width] = extents;
    if width > 1 && layout.strides().last() != Some(&1) {
        return None;
    }
    let mut rows = packed(extents, heads_last(layout));
    for ((to, stride), n) in rows.iter_mut().zip(layout.strides()).zip(extents) {
        if n > 1 {
            *to = usize::try_from(*stride).ok()?;
        }
    }
    Some(rows)
}

/// Where an operand is read: the distances, and whether it lies so; else it is copied. `dense`: without gaps, for what is written has the
/// same order.
pub(super) fn placed(dtype: DType, layout: &Layout, dense: bool) -> Result<(Rows, bool)> {
    let extents = four("operand", layout.shape())?;
    let (packed, granule) = (packed(extents, heads_last(layout)), granule(dtype));
    let takes = |rows: Rows| rows.iter().all(|step| step.is_multiple_of(granule) && *step >= extents[3]);
    let own = rows_of(layout, extents).filter(|rows| *rows == packed || (!dense && takes(*rows)));
    Ok((own.unwrap_or(packed), own.is_some()))
}

/// An operand as a library takes it.
pub(super) fn rows_or_copy<'a>(
    device: &Device,
    view: &AnyTensorRef<'a>,
    dense: bool,
) -> Result<(MaybeCopied<'a>, Rows)> {
    let (part, layout) = view.operand()?;
    match placed(view.dtype(), &layout, dense)? {
        (rows, true) => Ok((MaybeCopied::Own(part), rows)),
        (_, false) => copied(device, view, heads_last(&layout)),
    }
}

pub(super) fn copied<'a>(device: &Device, view: &AnyTensorRef<'a>, last: bool) -> Result<(MaybeCopied<'a>, Rows)> {
    let extents = four("operand", view.shape())?;
    let rows = packed(extents, last);
    Ok((MaybeCopied::copied(device, view, layout_of(extents, rows)?)?, rows))
}

pub(super) fn layout_of(extents: [usize; 4], [b, h, s]: Rows) -> Result<Layout> {
    let step = |n: usize| isize::try_from(n).map_err(|_| Error::invalid("q", "the sizes are too large"));
    Layout::new(extents, [step(b)?, step(h)?, step(s)?, 1], 0)
}

pub(super) fn four(name: &'static str, extents: &[usize]) -> Result<[usize; 4]> {
    <[usize; 4]>::try_from(extents)
        .map_err(|_| Error::invalid(name, format!("extents {extents:?}; batch, heads, places and width are needed")))
}
