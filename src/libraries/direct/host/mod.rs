//! Direct solvers of sparse systems: an order with little fill, the elimination tree that follows from it, and the
//! numerical part.
//!
//! The structure of a factor is known from the analysis, before any value of it: LU and LDL do not exchange rows while they compute.
//! Instead the analysis brings large entries to the diagonal (`matching`), or into pairs beside it, and small pivots are replaced and
//! counted (`pivot`).
//!
//! | file | what it does |
//! |---|---|
//! | `matching` | large entries to the diagonal, scales, pairs |
//! | `order`, `tree` | orders with little fill; elimination trees, and the structure of a factor |
//! | `plan` | the analysis: what the factorizations and solutions read |
//! | `columns`, `pivot` | what LU and LDL share |
//! | `cholesky`, `ldl`, `lu` | the factorizations |
//! | `solve`, `refine` | solutions, and solutions that are refined and checked |
//! | `qr` | least squares by rotations |

pub(crate) mod cholesky;
mod columns;
mod ldl;
mod lu;
mod matching;
mod order;
mod pivot;
pub(crate) mod plan;
pub(crate) mod qr;
pub(crate) mod refine;
pub(crate) mod solve;
mod tree;

use super::Factorization;
use super::factor::{Pivots, Stopped};
use crate::core::room::{OrUnwind, collected, filled, push, with_capacity};
use crate::libraries::flags::Symmetry;
use crate::libraries::sparse::host::{at, put};
use crate::libraries::sparse::{SolveElement, SparseIndex};
use order::Graph;
pub(crate) use plan::Plan;
pub(crate) use tree::{Above, NONE, Reach, Tree};

/// Row, column and number of an entry.
pub(crate) type Entry = (usize, usize, usize);

/// The entries of a matrix that its factorization reads, row after row, and all values. The entries are copied as places, so that
/// little is compiled for each type: a factor is larger.
pub(crate) struct Matrix<'a, T> {
    pub(crate) entries: Vec<Entry>,
    values: &'a [T],
}

/// The entries in the first `n` columns that a factorization reads.
fn entries<I: SparseIndex>(how: Factorization, n: usize, offsets: &[I], indices: &[I]) -> Vec<Entry> {
    let mut entries = with_capacity(indices.len()).or_unwind();
    for row in 0..offsets.len().saturating_sub(1) {
        let end = at(offsets, row + 1).place().min(indices.len());
        let first = at(offsets, row).place().min(end);
        for (entry, column) in (first..end).zip(indices.get(first..end).unwrap_or_default()) {
            let column = column.place();
            if column < n && how.reads(row, column) {
                push(&mut entries, (row, column, entry)).or_unwind();
            }
        }
    }
    entries
}

impl<'a, T: SolveElement> Matrix<'a, T> {
    pub(crate) fn new<I: SparseIndex>(
        how: Factorization,
        n: usize,
        (offsets, indices): (&[I], &[I]),
        values: &'a [T],
    ) -> Self {
        Matrix { entries: entries(how, n, offsets, indices), values }
    }

    /// The value of an entry.
    fn finite(&self, (row, _, entry): Entry) -> Result<T, Stopped> {
        let value = at(self.values, entry);
        let (re, im) = value.parts();
        if re.is_finite() && im.is_finite() { Ok(value) } else { Err(Stopped::NotFinite(row + 1)) }
    }

    /// The first row, from 1, with a value that is not finite.
    pub(crate) fn not_finite(&self) -> Option<usize> {
        self.entries.iter().find(|entry| self.finite(**entry).is_err()).map(|(row, ..)| row + 1)
    }

    /// The logarithms of the sizes of the entries.
    fn logs(&self) -> Vec<f64> {
        collected(self.entries.iter().map(|(.., entry)| matching::logarithm(at(self.values, *entry).parts())))
            .or_unwind()
    }
}

/// Times a power of two, which rounds nothing unless the result leaves the range of the type.
fn scaled<T: SolveElement>(x: T, power: i32) -> T {
    if power == 0 {
        return x;
    }
    // Half of it at a time: a power of two itself may lie outside the range.
    let half = f64::from(power / 2).exp2();
    let rest = f64::from(power - power / 2).exp2();
    let (re, im) = x.parts();
    T::from_parts(re * half * rest, im * half * rest)
}

/// The inverse of a permutation: the position of each element in `order`.
pub(crate) fn places(order: &[usize]) -> Vec<usize> {
    let mut places = filled(order.len(), 0).or_unwind();
    order.iter().enumerate().for_each(|(place, i)| put(&mut places, *i, place));
    places
}

/// For each row of A, pairs of the place of its first eliminated column and of another one: such a star causes the same fill as the
/// clique of the row in `A^H * A`.
pub(crate) fn stars(entries: &[Entry], places: &[usize]) -> Vec<(usize, usize)> {
    let mut stars = Vec::new();
    for row in entries.chunk_by(|a, b| a.0 == b.0) {
        let first = row.iter().map(|(_, column, _)| at(places, *column)).min().unwrap_or(0);
        for (_, column, _) in row {
            let place = at(places, *column);
            if place != first {
                push(&mut stars, (first, place)).or_unwind();
            }
        }
    }
    stars
}

/// The plan for `A^H * A`, whose factor has the structure of R in `A = Q * R`.
fn normal(entries: &[Entry], n: usize) -> Plan {
    let mut cliques = Vec::new();
    for row in entries.chunk_by(|a, b| a.0 == b.0).filter(|row| row.len() > 1) {
        push(&mut cliques, collected(row.iter().map(|(_, column, _)| *column)).or_unwind()).or_unwind();
    }
    let order = Graph { edges: filled(n, Vec::new()).or_unwind(), cliques }.order();
    let tree = Tree::new(n, &Above::new(n, &stars(entries, &places(&order))));
    Plan { order, tree, mates: Vec::new(), scales: Default::default() }
}

/// The plan for a factorization of a matrix of `n` columns.
///
/// # Errors
/// A row, from 0, that no permutation brings an entry of to the diagonal: the matrix is singular.
pub(crate) fn analysed<T: SolveElement>(how: Factorization, a: &Matrix<'_, T>, n: usize) -> Result<Plan, usize> {
    match how {
        Factorization::Cholesky(_) => Ok(plan::symmetric(n, &a.entries)),
        Factorization::Ldl(..) => plan::indefinite(n, &a.entries, &a.logs()),
        Factorization::Lu => plan::general(n, &a.entries, &a.logs()),
        Factorization::Qr => Ok(normal(&a.entries, n)),
    }
}

/// Writes the row indices and the values of a factor.
pub(crate) fn factor<T: SolveElement, I: SparseIndex>(
    how: Factorization,
    plan: &Plan,
    a: &Matrix<'_, T>,
    rows: &mut [I],
    values: &mut [T],
) -> Result<Pivots, Stopped> {
    let (of_rows, pivots) = match how {
        Factorization::Cholesky(_) => cholesky::factor(plan, a, values)?,
        Factorization::Ldl(_, symmetry) => ldl::factor(plan, a, symmetry == Symmetry::Hermitian, values)?,
        _ => lu::factor(plan, a, values)?,
    };
    rows.iter_mut().zip(&of_rows).for_each(|(to, row)| *to = I::from_place(*row));
    Ok(pivots)
}
