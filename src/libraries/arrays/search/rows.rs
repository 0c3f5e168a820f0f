//! Places in many sorted vectors: each value is searched in the vector of its own row, by steps of halving size.

use super::SearchSide;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::truth::Bool;
use crate::device::Device;
use crate::device::tensor::{Tensor, TensorRef};
use crate::libraries::arrays::{Ordered, select_flat};
use crate::libraries::expressions::build::{Symbol, position};

/// Whether an element comes before a value.
fn is_before<T: Ordered>(element: Symbol<T>, value: Symbol<T>, side: SearchSide) -> Symbol<Bool> {
    if T::DTYPE == DType::Bool {
        return is_before(element.cast::<u8>(), value.cast::<u8>(), side);
    }
    match side {
        SearchSide::Left => element.lt(value) | (value.ne(value) & element.eq(element)),
        SearchSide::Right => element.le(value) | value.ne(value),
    }
}

/// The places of values in the vectors along the last axis of `sorted`; all other axes are those of the values.
pub(super) fn search<T: Ordered>(
    device: &Device,
    sorted: &TensorRef<'_, T>,
    values: &TensorRef<'_, T>,
    side: SearchSide,
) -> Result<PendingDispatch<Tensor<i64>>> {
    let (before, own) = (sorted.shape().split_last(), values.shape().split_last());
    let (n, before) = match (before, own) {
        (Some((n, before)), Some((_, own))) if before == own => (*n, before),
        _ => {
            let what = format!(
                "shape {:?}, but `values` has {:?}: a vector for all values, or one for each row of them",
                sorted.shape(),
                values.shape()
            );
            return Err(Error::invalid("sorted", what));
        }
    };
    let extents = values.shape();
    let flat = select_flat(device, sorted)?;
    let begin = || {
        let rows = (0u8..).zip(before);
        let row = rows.fold(None, |row: Option<Symbol<i64>>, (axis, n)| {
            Some(row.map_or(position(axis), |row| row * (*n as i64) + position(axis)))
        });
        row.unwrap_or_else(|| position(0)) * (n as i64)
    };
    // The place grows by each power of two that leaves the element before it before the value.
    let mut step = n.checked_ilog2().map_or(0, |bits| 1i64 << bits);
    #[expect(clippy::erasing_op, reason = "a zero in each place")]
    let mut place = device.tabulate(extents, || position(0) * 0i64)?;
    let len = n as i64;
    while step > 0 {
        let numbers = device.map(&place, |place| begin() + (place + (step - 1)).minimum(len - 1))?.into_output();
        // Numbers of elements of the row.
        let element = device.take(&flat, &numbers, 0)?.never_reports().into_output();
        place = device.map((&place, &element, values), |(place, element, value)| {
            let next = place + step;
            (next.le(len) & is_before(element, value, side)).select(next, place)
        })?;
        step /= 2;
    }
    Ok(place)
}
