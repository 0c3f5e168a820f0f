//! `C = alpha * op(A) * op(B) + beta * C`, with dense B and C.

use super::super::element::{Number, SparseElement, SparseIndex};
use super::spmv::update;
use super::{Rows, at, split};
use crate::core::room::{OrUnwind, filled};
use crate::numerics::isa;
use std::ops::Range;

/// The layout of a dense matrix: element `(i, j)` is at `i * row + j * column`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    pub(crate) row: usize,
    pub(crate) column: usize,
}

impl Steps {
    #[inline]
    pub(crate) fn place(&self, row: usize, column: usize) -> usize {
        row * self.row + column * self.column
    }

    /// The steps of the transpose.
    pub(crate) fn flipped(self) -> Self {
        Steps { row: self.column, column: self.row }
    }
}

/// The number of columns computed at a time.
const WIDE: usize = 8;

/// Copies `WIDE` columns of B, beginning with `first`, so that they are contiguous for each row.
fn pack<T: SparseElement>(
    b: &[T],
    rows: usize,
    steps: Steps,
    conj: bool,
    first: usize,
    n: usize,
) -> Vec<[T::Scalar; WIDE]> {
    let mut panel = filled(rows, [T::Scalar::default(); WIDE]).or_unwind();
    split::each(&split::evenly(rows, WIDE), &mut panel, 1, &|rows, panel| {
        for (row, panel) in rows.zip(panel) {
            for (column, element) in (first..n).zip(panel) {
                *element = at(b, steps.place(row, column)).widen().conj_if(conj);
            }
        }
    });
    panel
}

/// The product of the stored rows with the columns of B; values are conjugated if the flags are set.
#[expect(clippy::too_many_arguments, reason = "the routine's own")]
pub(crate) fn spmm<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    conj_a: bool,
    n: usize,
    alpha: T::Scalar,
    (b, steps_b, conj_b): (&[T], Steps, bool),
    beta: T::Scalar,
    c: &mut [T],
    steps_c: Steps,
) {
    if steps_b.column == 1 && steps_c.column == 1 {
        return by_rows(a, conj_a, n, alpha, (b, steps_b.row, conj_b), beta, c, steps_c.row);
    }
    let bounds = split::by_entries(a.offsets, a.count, WIDE);
    let mut sums = filled(a.count, [T::Scalar::default(); WIDE]).or_unwind();
    for first in (0..n).step_by(WIDE) {
        let panel = pack(b, a.width, steps_b, conj_b, first, n);
        split::each(&bounds, &mut sums, 1, &|rows, sums| {
            for (row, sums) in rows.zip(sums) {
                let mut sum = [T::Scalar::default(); WIDE];
                for (column, value) in a.entries(row) {
                    let value = value.widen().conj_if(conj_a);
                    if let Some(b) = panel.get(column) {
                        for (sum, b) in sum.iter_mut().zip(b) {
                            *sum = *sum + value * *b;
                        }
                    }
                }
                *sums = sum;
            }
        });
        store(&sums, first, n, alpha, beta, c, steps_c);
    }
}

/// The product for contiguous rows of B and C: nothing is copied. The sums have the same bits.
#[expect(clippy::too_many_arguments, reason = "the routine's own")]
fn by_rows<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    conj_a: bool,
    n: usize,
    alpha: T::Scalar,
    (b, ldb, conj_b): (&[T], usize, bool),
    beta: T::Scalar,
    c: &mut [T],
    ldc: usize,
) {
    let bounds = split::by_entries(a.offsets, a.count, n);
    split::each(&bounds, c, ldc, &|rows, c| {
        isa::run(Part { a, rows, conj_a, n, alpha, b: Dense { elements: b, step: ldb, conj: conj_b }, beta, c, ldc });
    });
}

/// Contiguous rows of B.
#[derive(Clone, Copy)]
struct Dense<'a, T> {
    elements: &'a [T],
    step: usize,
    conj: bool,
}

/// Some rows of the product of contiguous rows.
struct Part<'a, T: SparseElement, I> {
    a: &'a Rows<'a, T, I>,
    rows: Range<usize>,
    conj_a: bool,
    n: usize,
    alpha: T::Scalar,
    b: Dense<'a, T>,
    beta: T::Scalar,
    c: &'a mut [T],
    ldc: usize,
}

/// The most columns whose sums stay in registers together.
const MOST: usize = 4 * WIDE;

impl<T: SparseElement, I: SparseIndex> isa::Loop for Part<'_, T, I> {
    type Output = ();

    #[inline(always)]
    fn body(self) {
        let Part { a, rows, conj_a, n, alpha, b, beta, c, ldc } = self;
        for (row, c) in rows.zip(c.chunks_mut(ldc.max(1))) {
            let (columns, values) = a.row(row);
            let entries = Entries { columns, values, conj: conj_a };
            let width = n.min(c.len());
            let (most, rest) = c.get_mut(..width).unwrap_or_default().as_chunks_mut::<MOST>();
            let mut first = 0;
            for c in most {
                let sums: [_; MOST] = entries.sums(b, first);
                c.iter_mut().zip(&sums).for_each(|(c, sum)| update(c, alpha, *sum, beta));
                first += MOST;
            }
            let (some, rest) = rest.as_chunks_mut::<WIDE>();
            for c in some {
                let sums: [_; WIDE] = entries.sums(b, first);
                c.iter_mut().zip(&sums).for_each(|(c, sum)| update(c, alpha, *sum, beta));
                first += WIDE;
            }
            if !rest.is_empty() {
                let sums = entries.few(b, first, rest.len());
                rest.iter_mut().zip(&sums).for_each(|(c, sum)| update(c, alpha, *sum, beta));
            }
        }
    }
}

/// The entries of one row of A.
#[derive(Clone, Copy)]
struct Entries<'a, T, I> {
    columns: &'a [I],
    values: &'a [T],
    conj: bool,
}

impl<T: SparseElement, I: SparseIndex> Entries<'_, T, I> {
    /// The sums for the `COUNT` columns of B from `first` on: of a number that the compiler knows, so that they stay in registers.
    #[inline(always)]
    fn sums<const COUNT: usize>(self, b: Dense<'_, T>, first: usize) -> [T::Scalar; COUNT] {
        let mut sums = [T::Scalar::default(); COUNT];
        for (column, value) in self.columns.iter().zip(self.values) {
            let value = value.widen().conj_if(self.conj);
            let start = column.place().saturating_mul(b.step).saturating_add(first);
            let Some(row) = b.elements.get(start..).and_then(|row| row.first_chunk::<COUNT>()) else { continue };
            for (sum, x) in sums.iter_mut().zip(row) {
                *sum = *sum + value * x.widen().conj_if(b.conj);
            }
        }
        sums
    }

    /// The sums for fewer than `WIDE` columns.
    #[inline(always)]
    fn few(self, b: Dense<'_, T>, first: usize, count: usize) -> [T::Scalar; WIDE] {
        let mut sums = [T::Scalar::default(); WIDE];
        for (column, value) in self.columns.iter().zip(self.values) {
            let value = value.widen().conj_if(self.conj);
            let start = column.place().saturating_mul(b.step).saturating_add(first);
            let Some(row) = b.elements.get(start..start.saturating_add(count)) else { continue };
            for (sum, x) in sums.iter_mut().zip(row) {
                *sum = *sum + value * x.widen().conj_if(b.conj);
            }
        }
        sums
    }
}

/// Writes the sums of `WIDE` columns, beginning with `first`, to C.
fn store<T: SparseElement>(
    sums: &[[T::Scalar; WIDE]],
    first: usize,
    n: usize,
    alpha: T::Scalar,
    beta: T::Scalar,
    c: &mut [T],
    steps: Steps,
) {
    if steps.column == 1 {
        // C is row-major.
        return split::each(&split::evenly(sums.len(), WIDE), c, steps.row, &|rows, c| {
            for (row, c) in rows.zip(c.chunks_mut(steps.row.max(1))) {
                let row = sums.get(row).copied().unwrap_or_default();
                let columns = c.get_mut(first..n).unwrap_or_default();
                columns.iter_mut().zip(row).for_each(|(c, sum)| update(c, alpha, sum, beta));
            }
        });
    }
    let columns = c.chunks_mut(steps.column.max(1)).enumerate().take(n).skip(first).take(WIDE);
    for (column, c) in columns {
        split::each(&split::evenly(sums.len(), 4), c, 1, &|rows, c| {
            for (sum, c) in sums.get(rows).unwrap_or_default().iter().zip(c) {
                update(c, alpha, at(sum, column - first), beta);
            }
        });
    }
}
