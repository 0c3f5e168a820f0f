//! Columns of a factor: their structure, and which of them a column must take away.

use super::plan::{self, Plan};
use super::{Above, Matrix, NONE, Reach, places, scaled};
use crate::core::room::{OrUnwind, copied, filled};
use crate::libraries::direct::factor::Stopped;
use crate::libraries::sparse::SolveElement;
use crate::libraries::sparse::host::{at, put};
use std::ops::Range;

/// The structure of L: the offsets and the row indices of its columns, with the diagonal first and the rows ascending.
pub(crate) struct Columns {
    pub(crate) offsets: Vec<usize>,
    pub(crate) rows: Vec<usize>,
    /// The first column with the next row, for each row; the next one with the same row, for each column; and where that row is.
    heads: Vec<usize>,
    next: Vec<usize>,
    places: Vec<usize>,
}

impl Columns {
    pub(crate) fn new(plan: &Plan, above: &Above) -> Self {
        let (n, offsets) = (plan.n(), copied(&plan.tree.offsets).or_unwind());
        let mut rows = filled(at(&offsets, n), 0).or_unwind();
        let (mut ends, mut reach) = (copied(&offsets).or_unwind(), Reach::new(n));
        let mut put_row = |column: usize, row: usize| {
            let place = at(&ends, column);
            put(&mut rows, place, row);
            put(&mut ends, column, place + 1);
        };
        for k in 0..n {
            put_row(k, k);
            reach.columns(k, above, &plan.tree.parents).iter().for_each(|column| put_row(*column, k));
        }
        let lists = || filled(n, NONE).or_unwind();
        Columns { offsets, rows, heads: lists(), next: lists(), places: filled(n, 0).or_unwind() }
    }

    /// The structure for a triangle of a symmetric matrix, whose scaled entries are written to their places, and the size of the
    /// largest one.
    pub(crate) fn of_triangle<T: SolveElement>(
        plan: &Plan,
        a: &Matrix<'_, T>,
        hermitian: bool,
        values: &mut [T],
    ) -> Result<(Self, f64), Stopped> {
        let links = plan::links(&a.entries, None);
        let columns = Columns::new(plan, &plan::above(&plan.order, &plan.mates, &links));
        drop(links);
        let (places, mut largest) = (places(&plan.order), 0.0f64);
        for (row, column, entry) in a.entries.iter().copied() {
            let value = scaled(a.finite((row, column, entry))?, plan.scale(0, row) + plan.scale(1, column));
            let value = if hermitian && row == column { T::from_parts(value.re(), 0.0) } else { value };
            largest = largest.max(value.magnitude());
            let (i, j) = (at(&places, row), at(&places, column));
            if let Some(place) = columns.place(i.max(j), i.min(j)) {
                put(values, place, value.conj_if(hermitian && i < j));
            }
        }
        Ok((columns, largest))
    }

    /// The places of a column.
    pub(crate) fn range(&self, column: usize) -> Range<usize> {
        at(&self.offsets, column)..at(&self.offsets, column + 1)
    }

    /// The rows at these places.
    pub(crate) fn rows(&self, places: Range<usize>) -> &[usize] {
        self.rows.get(places).unwrap_or_default()
    }

    /// The place of an entry in the lower triangle.
    pub(crate) fn place(&self, row: usize, column: usize) -> Option<usize> {
        let range = self.range(column);
        let first = range.start;
        self.rows(range).binary_search(&row).ok().map(|k| first + k)
    }

    /// The first finished column with an entry in this row.
    pub(crate) fn first(&self, row: usize) -> usize {
        at(&self.heads, row)
    }

    /// The next one after a column, and the place of the row in that column.
    pub(crate) fn after(&self, column: usize) -> (usize, usize) {
        (at(&self.next, column), at(&self.places, column))
    }

    /// A column is used from this place on, next for the row there.
    pub(crate) fn use_from(&mut self, column: usize, place: usize) {
        put(&mut self.places, column, place);
        if place < at(&self.offsets, column + 1) {
            let row = at(&self.rows, place);
            let head = at(&self.heads, row);
            put(&mut self.next, column, head);
            put(&mut self.heads, row, column);
        }
    }

    /// Takes `factor` times the values at these places away from the rows of x.
    pub(crate) fn subtract<T: SolveElement>(&self, places: Range<usize>, values: &[T], factor: T, x: &mut [T]) {
        let values = values.get(places.clone()).unwrap_or_default();
        for (row, value) in self.rows(places).iter().zip(values) {
            if let Some(x) = x.get_mut(*row) {
                *x = *x - *value * factor;
            }
        }
    }

    /// Moves the values at these places to the rows of x.
    pub(crate) fn spread<T: SolveElement>(&self, places: Range<usize>, values: &[T], x: &mut [T]) {
        let values = values.get(places.clone()).unwrap_or_default();
        self.rows(places).iter().zip(values).for_each(|(row, value)| put(x, *row, *value));
    }

    /// The largest size in the rows at these places.
    pub(crate) fn largest<T: SolveElement>(&self, places: Range<usize>, x: &[T]) -> f64 {
        self.rows(places).iter().map(|row| at(x, *row).magnitude()).fold(0.0, |most, x| if x > most { x } else { most })
    }
}
