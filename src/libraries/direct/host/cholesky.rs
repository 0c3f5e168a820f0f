//! Cholesky factorization, column by column of L (Davis, "Direct Methods for Sparse Linear Systems", 2006, chapter 4).

use super::Matrix;
use super::columns::Columns;
use super::plan::Plan;
use crate::core::room::{OrUnwind, filled};
use crate::libraries::direct::factor::{Pivots, Stopped};
use crate::libraries::sparse::SolveElement;
use crate::libraries::sparse::host::{at, put};

/// Writes the columns of L, with the diagonal first in each, and gives their rows.
pub(crate) fn factor<T: SolveElement>(
    plan: &Plan,
    a: &Matrix<'_, T>,
    values: &mut [T],
) -> Result<(Vec<usize>, Pivots), Stopped> {
    let n = plan.n();
    let (mut columns, _) = Columns::of_triangle(plan, a, true, values)?;
    let mut x = filled(n, T::default()).or_unwind();
    for k in 0..n {
        let own = columns.range(k);
        columns.spread(own.clone(), values, &mut x);
        let mut j = columns.first(k);
        while j < n {
            let (next, place) = columns.after(j);
            columns.subtract(place..columns.range(j).end, values, at(values, place).conj(), &mut x);
            columns.use_from(j, place + 1);
            j = next;
        }
        let pivot = at(&x, k).re();
        if pivot.is_nan() || pivot <= 0.0 || pivot.is_infinite() {
            return Err(Stopped::Indefinite(k + 1));
        }
        let diagonal = T::from_parts(pivot.sqrt(), 0.0);
        for (place, row) in own.clone().zip(columns.rows(own.clone())) {
            put(values, place, at(&x, *row).over(diagonal));
        }
        put(values, own.start, diagonal);
        columns.use_from(k, own.start + 1);
    }
    Ok((columns.rows, Pivots::default()))
}
