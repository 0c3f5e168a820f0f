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

use super::factor::{Pivots, Stopped};
use super::{Factorization, Uplo};
use crate::core::room::{OrUnwind, collected, filled};
use crate::libraries::flags::Symmetry;
use crate::libraries::sparse::host::{at, put};
use crate::libraries::sparse::{SolveElement, SparseIndex};
use order::Graph;
pub(crate) use plan::Plan;
pub(crate) use tree::{Above, NONE, Reach, Tree};

/// A matrix of compressed rows. Its structure is copied as places, so that little is compiled for each type of indices: a factor is
/// larger than both.
pub(crate) struct Matrix<'a, T> {
    offsets: Vec<usize>,
    columns: Vec<usize>,
    values: &'a [T],
}

impl<'a, T: SolveElement> Matrix<'a, T> {
    pub(crate) fn new<I: SparseIndex>(offsets: &[I], indices: &[I], values: &'a [T]) -> Self {
        let places = |x: &[I]| collected(x.iter().map(|place| place.place())).or_unwind();
        Matrix { offsets: places(offsets), columns: places(indices), values }
    }

    /// Row, column and number of each entry of the first `n` rows and columns.
    fn entries(&self, n: usize) -> impl Iterator<Item = (usize, usize, usize)> + Clone {
        rows(&self.offsets, &self.columns, n).flat_map(move |(row, first, columns)| {
            columns.iter().enumerate().map(move |(k, c)| (row, *c, first + k)).filter(move |(_, c, _)| *c < n)
        })
    }

    /// The entries of a triangle, with the diagonal.
    fn triangle(&self, n: usize, upper: bool) -> impl Iterator<Item = (usize, usize, usize)> + Clone {
        self.entries(n).filter(move |(i, j, _)| if upper { j >= i } else { j <= i })
    }

    /// The first row, from 1, with a value that is not finite.
    pub(crate) fn not_finite(&self, count: usize) -> Option<usize> {
        let finite = |value: &T| value.parts().0.is_finite() && value.parts().1.is_finite();
        let entry = self.values.iter().position(|value| !finite(value))?;
        // The rows that begin at the entry or before it.
        let rows = self.offsets.iter().take(count).take_while(|offset| **offset <= entry);
        Some(rows.count())
    }

    /// The value of an entry of this row.
    fn finite(&self, row: usize, entry: usize) -> Result<T, Stopped> {
        let value = at(self.values, entry);
        let (re, im) = value.parts();
        if re.is_finite() && im.is_finite() { Ok(value) } else { Err(Stopped::NotFinite(row + 1)) }
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

/// The number, the first entry and the columns of each row.
fn rows<'a>(
    offsets: &'a [usize],
    columns: &'a [usize],
    count: usize,
) -> impl Iterator<Item = (usize, usize, &'a [usize])> + Clone {
    (0..count).map(move |row| {
        let end = at(offsets, row + 1).min(columns.len());
        let first = at(offsets, row).min(end);
        (row, first, columns.get(first..end).unwrap_or_default())
    })
}

/// The plan for `A^H * A` of an `m x n` matrix, whose factor has the structure of R in `A = Q * R`.
fn normal(offsets: &[usize], columns: &[usize], m: usize, n: usize) -> Plan {
    let inside = |all: &[usize]| collected(all.iter().copied().filter(|c| *c < n)).or_unwind();
    let cliques = rows(offsets, columns, m).map(|(.., row)| inside(row)).filter(|row| row.len() > 1);
    let cliques = collected(cliques).or_unwind();
    let order = Graph { edges: filled(n, Vec::new()).or_unwind(), cliques }.order();
    let places = places(&order);
    // A clique causes the same fill as a star around its first eliminated member.
    let stars = rows(offsets, columns, m).flat_map(|(.., row)| {
        let row = row.iter().filter(|c| **c < n).map(|c| at(&places, *c));
        let first = row.clone().min().unwrap_or(0);
        row.filter(move |place| *place != first).map(move |place| (first, place))
    });
    let tree = Tree::new(n, &Above::new(n, stars));
    Plan { order, tree, mates: Vec::new(), scales: Default::default() }
}

/// The plan for a factorization of an `m x n` matrix.
///
/// # Errors
/// A row, from 0, that no permutation brings an entry of to the diagonal: the matrix is singular.
pub(crate) fn analysed<T: SolveElement>(
    how: Factorization,
    a: &Matrix<'_, T>,
    (m, n): (usize, usize),
) -> Result<Plan, usize> {
    let log = |entry: usize| matching::logarithm(at(a.values, entry).parts());
    let entries = |(i, j, entry): (usize, usize, usize)| (i, j, log(entry));
    match how {
        Factorization::Cholesky(uplo) => {
            let entries = a.triangle(n, uplo == Uplo::Upper).map(|(i, j, _)| (i, j));
            Ok(plan::symmetric(n, &collected(entries).or_unwind()))
        }
        Factorization::Ldl(uplo, _) => {
            plan::indefinite(n, &collected(a.triangle(n, uplo == Uplo::Upper).map(entries)).or_unwind())
        }
        Factorization::Lu => plan::general(n, &collected(a.entries(n).map(entries)).or_unwind()),
        Factorization::Qr => Ok(normal(&a.offsets, &a.columns, m, n)),
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
        Factorization::Cholesky(uplo) => cholesky::factor(plan, a, uplo == Uplo::Upper, values)?,
        Factorization::Ldl(uplo, symmetry) => {
            ldl::factor(plan, a, (uplo == Uplo::Upper, symmetry == Symmetry::Hermitian), values)?
        }
        _ => lu::factor(plan, a, values)?,
    };
    rows.iter_mut().zip(&of_rows).for_each(|(to, row)| *to = I::from_place(*row));
    Ok(pivots)
}
