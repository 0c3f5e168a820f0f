//! The chunks of an axis, the chunks of their totals, and so on, as loops over tasks of one chunk each.

use super::op::Scan;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, fused};

/// The elements of a chunk.
pub(super) const CHUNK: usize = 32;

/// A level: what is scanned, and its chunks.
#[derive(Debug)]
pub(super) struct Level {
    /// Over the chunks: where each begins in the target and in what is read, the number of its total, and of its first element.
    pub(super) loops: Vec<Layout>,
    /// The elements of the axis.
    pub(super) len: usize,
    /// The distances between neighbours along the axis, in the target and in what is read.
    pub(super) strides: [isize; 2],
}

fn missing() -> Error {
    Error::library("internal error: a scan without its axis")
}

impl Level {
    fn new(target: &Layout, x: &Layout, axis: usize) -> Result<Self> {
        let len = x.shape().get(axis).copied().ok_or_else(missing)?;
        let chunks = len.div_ceil(CHUNK);
        let along = |layout: &Layout| layout.strides().get(axis).copied().unwrap_or(0);
        let mut extents = x.shape().to_vec();
        extents.get_mut(axis).into_iter().for_each(|n| *n = chunks);
        let of_chunks = |layout: &Layout| {
            let mut strides = layout.strides().to_vec();
            // The distance between chunks means nothing if there is only one, and may be beyond all numbers.
            let step = if chunks == 1 { Some(0) } else { along(layout).checked_mul(CHUNK as isize) };
            let step = step.ok_or_else(missing)?;
            strides.get_mut(axis).into_iter().for_each(|stride| *stride = step);
            Layout::new(&extents, strides, layout.offset())
        };
        let first: Vec<isize> = (0..extents.len()).map(|a| if a == axis { CHUNK as isize } else { 0 }).collect();
        let first = if chunks == 1 { vec![0; extents.len()] } else { first };
        let all = [of_chunks(target)?, of_chunks(x)?, totals(&extents, axis)?, Layout::new(&extents, first, 0)?];
        let loops = fused(&all.iter().collect::<Vec<_>>());
        Ok(Level { loops, len, strides: [along(target), along(x)] })
    }

    /// The number of chunks, of all lines together.
    pub(super) fn tasks(&self) -> usize {
        self.loops.first().map_or(0, Layout::len)
    }
}

/// One value for each chunk, those of a line side by side.
fn totals(extents: &[usize], axis: usize) -> Result<Layout> {
    let mut strides = vec![0; extents.len()];
    let others = (0..extents.len()).rev().filter(|other| *other != axis);
    let mut next = 1isize;
    for place in std::iter::once(axis).chain(others) {
        strides.get_mut(place).into_iter().for_each(|stride| *stride = next);
        next = next.saturating_mul(extents.get(place).copied().unwrap_or(1) as isize);
    }
    Layout::new(extents, strides, 0)
}

/// The elements as parts: of complex ones the parts are along one more axis. The stride of an axis of one element, which may be any
/// number, becomes 0.
pub(super) fn parts(layout: &Layout, is_complex: bool) -> Result<Layout> {
    let mut extents = layout.shape().to_vec();
    let own = extents.iter().zip(layout.strides()).map(|(n, stride)| if *n == 1 { 0 } else { *stride });
    if !is_complex {
        return Layout::new(&extents, own.collect::<Vec<_>>(), layout.offset());
    }
    let twice: Vec<isize> = own.map(|stride| stride.saturating_mul(2)).chain([1]).collect();
    extents.push(2);
    Layout::new(extents, twice, layout.offset().saturating_mul(2))
}

/// The levels of an operation that was checked: that of the elements, then those of totals. None if there is no element.
pub(super) fn levels(scan: &Scan) -> Result<Vec<Level>> {
    let mut levels = Vec::new();
    if scan.x.is_empty() {
        return Ok(levels);
    }
    let is_complex = scan.dtype.is_complex();
    let (mut target, mut x) = (parts(&scan.output, is_complex)?, parts(&scan.x, is_complex)?);
    loop {
        let level = Level::new(&target, &x, scan.axis)?;
        let chunks = level.len.div_ceil(CHUNK);
        levels.push(level);
        if chunks <= 1 {
            return Ok(levels);
        }
        let mut extents = x.shape().to_vec();
        extents.get_mut(scan.axis).into_iter().for_each(|n| *n = chunks);
        x = totals(&extents, scan.axis)?;
        target = x.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::element::DType;
    use crate::libraries::reductions::ReductionKind;

    #[test]
    fn the_stride_of_an_axis_of_one_element_means_nothing() {
        for (dtype, stride) in [(DType::F32, isize::MAX), (DType::C64, isize::MIN), (DType::C32, isize::MAX / 3)] {
            for axis in [0, 1] {
                let mut extents = [70, 70];
                let mut strides = [1, 1];
                (extents[axis], strides[axis]) = (1, stride);
                let x = Layout::new(extents, strides, 0).unwrap();
                let output = Layout::row_major(extents).unwrap();
                for along in [0, 1] {
                    let (x, output) = (x.clone(), output.clone());
                    let scan = Scan { kind: ReductionKind::Sum, dtype, exclusive: false, axis: along, x, output };
                    let levels = levels(&scan).unwrap();
                    assert!(levels.iter().all(|level| level.strides.iter().all(|stride| stride.unsigned_abs() <= 140)));
                }
            }
        }
    }
}
