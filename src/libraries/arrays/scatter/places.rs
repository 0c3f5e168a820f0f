//! The numbers of slices, of the indices of a call: `slots`, which no slice has, for an index that is out of range.

use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{Layout, Tensor, TensorRef};
use crate::libraries::expressions::build::{Symbol, position};
use crate::libraries::moves::{Extents, Place, Told};

/// Slices of a tensor, and the numbers of those that are put.
pub(super) struct Places {
    pub(super) numbers: Tensor<i64>,
    pub(super) slots: usize,
    pub(super) width: usize,
    /// The extents of the elements that are put.
    pub(super) updates: Vec<usize>,
    /// What is told of an index that is out of range.
    pub(super) told: Told,
}

/// An index that counts from the end if it is negative, and whether there is such an element.
fn from_start<I: Element>(index: Symbol<I>, n: i64) -> (Symbol<i64>, Symbol<crate::core::truth::Bool>) {
    let index = index.cast::<i64>();
    let index = index.lt(0).select(index + n, index);
    (index, index.ge(0) & index.lt(n))
}

/// The place of an axis; a negative one counts from the end.
fn place(axis: isize, rank: usize) -> Result<usize> {
    let place = if axis < 0 { rank.checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
    let missing = || Error::invalid("axis", format!("axis {axis}, but the rank is {rank}"));
    place.filter(|place| *place < rank).ok_or_else(missing)
}

fn product(extents: &[usize]) -> usize {
    // At most the elements of a tensor, if no extent is 0, and then no element.
    extents.iter().product()
}

impl Places {
    /// Slices along an axis, by a vector of indices.
    pub(super) fn along<I: Place>(
        device: &Device,
        x: &[usize],
        indices: &TensorRef<'_, I>,
        axis: isize,
    ) -> Result<Self> {
        let axis = place(axis, x.len())?;
        let [count] = *indices.shape() else {
            return Err(Error::invalid("indices", format!("{} axes, but it is a vector", indices.rank())));
        };
        let (before, behind) = (x.get(..axis).unwrap_or_default(), x.get(axis + 1..).unwrap_or_default());
        let n = x.get(axis).copied().unwrap_or(0);
        let (outer, width) = (product(before), product(behind));
        let (slots, rows) = (outer * n, n as i64);
        let all = indices.broadcast([outer, count])?;
        let numbers = device.map(&all, |index| {
            let (index, fits) = from_start(index, rows);
            fits.select(position(0) * rows + index, slots as i64)
        })?;
        let updates = [before, &[count], behind].concat();
        Ok(Places { numbers: numbers.into_output(), slots, width, updates, told: Told::Along { axis, len: n } })
    }

    /// Single elements: at their own places, but with the index in that of an axis.
    pub(super) fn each<I: Place>(
        device: &Device,
        x: &[usize],
        indices: &TensorRef<'_, I>,
        axis: isize,
    ) -> Result<Self> {
        let axis = place(axis, x.len())?;
        let own = indices.shape();
        let fits = own.len() == x.len() && own.iter().zip(x).enumerate().all(|(a, (own, all))| a == axis || own <= all);
        if !fits {
            let what = format!("extents {own:?}, but x has {x:?}: beside axis {axis} they are at most as large");
            return Err(Error::invalid("indices", what));
        }
        let layout = Layout::row_major(x)?;
        let len = x.get(axis).copied().unwrap_or(0);
        let (slots, n) = (layout.len(), len as i64);
        let strides: Vec<i64> = layout.strides().iter().map(|stride| *stride as i64).collect();
        let own_stride = strides.get(axis).copied().unwrap_or(0);
        let numbers = device.map(indices, |index| {
            let (index, fits) = from_start(index, n);
            let others = (0u8..).zip(&strides).filter(|(a, _)| usize::from(*a) != axis);
            let at = others.fold(index * own_stride, |sum, (a, stride)| sum + position(a) * *stride);
            fits.select(at, slots as i64)
        })?;
        let told = Told::Along { axis, len };
        Ok(Places { numbers: numbers.into_output(), slots, width: 1, updates: own.to_vec(), told })
    }

    /// Slices by the last axis of the indices, which names the places along the first axes.
    pub(super) fn many<I: Place>(device: &Device, x: &[usize], indices: &TensorRef<'_, I>) -> Result<Self> {
        let depth = indices.shape().last().copied().filter(|depth| *depth <= x.len());
        let wrong = || {
            let what = format!(
                "extents {:?}: the last axis has at most as many places as x has axes: {}",
                indices.shape(),
                x.len()
            );
            Error::invalid("indices", what)
        };
        let depth = depth.ok_or_else(wrong)?;
        let own = indices.shape().get(..indices.rank() - 1).unwrap_or_default();
        let (before, behind) = (x.get(..depth).unwrap_or_default(), x.get(depth..).unwrap_or_default());
        let slots = product(before);
        let mut numbers = device.full(own, 0i64)?;
        for (column, n) in (0..).zip(before) {
            let (index, n) = (indices.index(-1, column)?, *n as i64);
            let next = device.map((&numbers, &index), |(before, index)| {
                let (index, fits) = from_start(index, n);
                (fits & before.ge(0)).select(before * n + index, -1)
            })?;
            numbers = next.into_output();
        }
        let numbers = device.map(&numbers, |number| number.ge(0).select(number, slots as i64))?.into_output();
        let told = Told::Tuple(Extents::new(before));
        Ok(Places { numbers, slots, width: product(behind), updates: [own, behind].concat(), told })
    }
}
