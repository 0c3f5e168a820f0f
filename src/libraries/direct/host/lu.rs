//! LU of a matrix whose large entries stand on the diagonal, column by column of L and row by row of U, which have one structure.

use super::columns::Columns;
use super::pivot::Limits;
use super::plan::{self, Plan};
use super::{Matrix, places, scaled};
use crate::core::room::{OrUnwind, filled};
use crate::libraries::direct::factor::{Pivots, Stopped};
use crate::libraries::sparse::SolveElement;
use crate::libraries::sparse::host::{at, put};

/// Writes the columns of L, whose diagonal is that of U, and behind them the rows of U.
pub(crate) fn factor<T: SolveElement>(
    plan: &Plan,
    a: &Matrix<'_, T>,
    values: &mut [T],
) -> Result<(Vec<usize>, Pivots), Stopped> {
    let n = plan.n();
    let (of_rows, of_columns) = (places(&plan.mates), places(&plan.order));
    let links = plan::links(&a.entries, Some(&of_rows));
    let mut columns = Columns::new(plan, &plan::above(&plan.order, &[], &links));
    drop(links);
    let (l, u) = values.split_at_mut(at(&columns.offsets, n).min(values.len()));
    let mut largest = 0.0f64;
    for (row, column, entry) in a.entries.iter().copied() {
        let value = a.finite((row, column, entry))?;
        let value = scaled(value, plan.scale(0, row) + plan.scale(1, column));
        largest = largest.max(value.magnitude());
        let (i, j) = (at(&of_columns, at(&of_rows, row)), at(&of_columns, column));
        if let Some(place) = columns.place(i.max(j), i.min(j)) {
            put(if i >= j { &mut *l } else { &mut *u }, place, value);
        }
    }
    let mut limits = Limits::new::<T>(largest);
    let (mut x, mut y) = (filled(n, T::default()).or_unwind(), filled(n, T::default()).or_unwind());
    for k in 0..n {
        let own = columns.range(k);
        let (first, rest) = (own.start, own.start + 1..own.end);
        columns.spread(own.clone(), l, &mut x);
        columns.spread(rest.clone(), u, &mut y);
        let mut j = columns.first(k);
        while j < n {
            let (next, place) = columns.after(j);
            let end = columns.range(j).end;
            let (below, right) = (at(l, place), at(u, place));
            columns.subtract(place..end, l, right, &mut x);
            columns.subtract(place + 1..end, u, below, &mut y);
            columns.use_from(j, place + 1);
            j = next;
        }
        let sizes = (columns.largest(rest.clone(), &x), columns.largest(rest.clone(), &y));
        let pivot = limits.pivot(at(&x, k), sizes).filter(|pivot| pivot.magnitude().is_finite());
        let Some(pivot) = pivot else { return Err(Stopped::Singular(at(&plan.mates, at(&plan.order, k)) + 1)) };
        put(l, first, pivot);
        put(u, first, pivot);
        for (place, row) in rest.clone().zip(columns.rows(rest)) {
            put(l, place, at(&x, *row).over(pivot));
            put(u, place, at(&y, *row));
        }
        columns.use_from(k, first + 1);
    }
    Ok((columns.rows, limits.found))
}
