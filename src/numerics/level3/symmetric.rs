//! Products with a symmetric or Hermitian matrix: symm, hemm.
//!
//! A is multiplied panel by panel. A panel of `PANEL` columns is expanded from the stored triangle to a full one, which
//! crate `gemm` multiplies. The product reads each copied element `n` times, so the copies are cheap. The scratch
//! memory is one panel.

use super::super::gemm::Native;
use super::super::parallel::{Parts, each_part};
use super::view::{Mat, MatMut};
use crate::core::room::{OrUnwind, filled};

/// Columns of a panel: about the depth at which crate `gemm` itself splits a product.
const PANEL: usize = 256;

/// `C = alpha * S * B + beta * C`, where the lower triangle of S is stored.
pub(super) fn multiply<T: Native>(
    c: &mut MatMut<'_, T>,
    alpha: T,
    s: Mat<'_, T>,
    hermitian: bool,
    b: Mat<'_, T>,
    beta: T,
    threads: usize,
) {
    let m = s.rows();
    let mut room = filled(m * m.min(PANEL), T::default()).or_unwind();
    for from in (0..m).step_by(PANEL) {
        let width = PANEL.min(m - from);
        fill(&mut room, s, hermitian, from, width, threads);
        let Some(panel) = Mat::new(&room, m, width, m) else { return };
        let rows = b.split_rows(from).1.split_rows(width).0;
        c.product(alpha, panel, rows, if from == 0 { beta } else { T::ONE }, threads);
    }
}

/// Columns that one task expands: the mirrored elements come from as many adjacent rows, which share cache lines.
const STRIP: usize = 16;

/// Expands `width` columns of S from column `from`.
fn fill<T: Native>(room: &mut [T], s: Mat<'_, T>, hermitian: bool, from: usize, width: usize, threads: usize) {
    let m = s.rows();
    let strip = |index: usize, strip: &mut [T]| {
        let first = from + index * STRIP;
        let Some(mut strip) = MatMut::new(strip, m, STRIP.min(from + width - first), m) else { return };
        let (count, mirrored) = (strip.cols(), s.t().conj(hermitian));
        // Above the diagonal, mirrored from the rows of the triangle; below it, copied from its columns.
        for i in 0..first + count {
            for j in 0..count {
                let column = first + j;
                if i < column {
                    strip.set(i, j, mirrored.get(i, column));
                } else if i == column {
                    let x = s.get(i, i);
                    let [re, _] = x.parts();
                    let [zero, _] = T::default().parts();
                    strip.set(i, j, if hermitian { T::of_parts([re, zero]) } else { x });
                }
            }
        }
        for j in 0..count {
            let below = first + j + 1;
            let source = s.split_rows(below).1;
            if let (Some(to), Some(x)) =
                (strip.column_mut(j).and_then(|c| c.get_mut(below..)), source.column(first + j))
                && !s.is_conj()
            {
                to.copy_from_slice(x);
                continue;
            }
            for i in below..m {
                strip.set(i, j, s.get(i, first + j));
            }
        }
    };
    let strips = m.saturating_mul(STRIP).max(1);
    let count = width.div_ceil(STRIP);
    if threads > 1 {
        each_part(room, Parts::with_size(strips).take(count), &strip);
    } else {
        room.chunks_mut(strips).enumerate().take(count).for_each(|(index, room)| strip(index, room));
    }
}
