//! Sums and diagonal scalings, element by element: geam, dgmm.

use super::super::gemm::Native;
use super::super::level1::view::View;
use super::super::parallel::{Parts, each_part};
use super::spec::{DgmmSpec, GeamSpec, Side};
use super::view::{Mat, MatMut};

/// From this many elements, it pays to wake other threads.
const PARALLEL: usize = 1 << 17;
/// Rows and columns of a tile. The tile of a transposed operand stays in the cache from one column to the next.
const TILE: usize = 32;

/// Calls `f` with parts of C of up to `TILE` columns, and the first column of each.
fn strips<T: Native>(c: &mut [T], (m, n, ld): (usize, usize, usize), f: impl Fn(usize, MatMut<'_, T>) + Sync) {
    let ld = ld.max(1);
    let strip = |index: usize, part: &mut [T]| {
        let first = index * TILE;
        if let Some(part) = MatMut::new(part, m, TILE.min(n - first), ld) {
            f(first, part);
        }
    };
    let (size, count) = (ld.saturating_mul(TILE), n.div_ceil(TILE));
    if m.saturating_mul(n) >= PARALLEL {
        each_part(c, Parts::with_size(size).take(count), &strip);
    } else {
        c.chunks_mut(size).enumerate().take(count).for_each(|(index, part)| strip(index, part));
    }
}

pub(super) fn geam<T: Native>(spec: &GeamSpec<T>, a: Option<Mat<'_, T>>, b: Option<Mat<'_, T>>, c: &mut [T]) {
    let (alpha, beta) = (spec.alpha, spec.beta);
    strips(c, (spec.m, spec.n, spec.ldc), |first, mut c| {
        for at in (0..c.rows()).step_by(TILE) {
            let (rows, cols) = (TILE.min(c.rows() - at), c.cols());
            let mut c = c.reborrow().split_rows(at).1;
            let (a, b) = [a, b].map(|x| x.map(|x| x.block((at, first), (rows, cols)))).into();
            for j in 0..cols {
                for i in 0..rows {
                    let x = match (a, b) {
                        (Some(a), Some(b)) => alpha * a.get(i, j) + beta * b.get(i, j),
                        (Some(a), None) => alpha * a.get(i, j),
                        (None, Some(b)) => beta * b.get(i, j),
                        (None, None) => T::default(),
                    };
                    c.set(i, j, x);
                }
            }
        }
    });
}

pub(super) fn dgmm<T: Native>(spec: &DgmmSpec, a: Mat<'_, T>, x: &[T], c: &mut [T]) {
    let Some(view) = View::new(spec.len(), spec.incx, x.len()) else { return };
    let factor = |i: usize| x.get(view.at(i)).copied().unwrap_or_default();
    strips(c, (spec.m, spec.n, spec.ldc), |first, mut c| {
        for j in 0..c.cols() {
            let column = first + j;
            for i in 0..c.rows() {
                let factor = factor(if spec.side == Side::Left { i } else { column });
                c.set(i, j, factor * a.get(i, column));
            }
        }
    });
}
