//! The last two axes of a tensor as matrices, those before as a batch of them.

use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;
use crate::libraries::flags::Order;

/// Matrices at even distances in a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Matrices {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// Elements from one row to the next, if the elements of a row are neighbours.
    by_rows: Option<usize>,
    /// Elements from one column to the next, if the elements of a column are neighbours.
    by_columns: Option<usize>,
    pub(crate) count: usize,
    /// Elements from one matrix to the next.
    pub(crate) stride: usize,
}

impl Matrices {
    /// What the layout says; it begins at its smallest offset.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with less than two axes, and when the matrices are not at even distances, or backwards.
    pub(crate) fn from_layout(name: &'static str, layout: &Layout) -> Result<Self> {
        let refused = |what: &str| {
            let remedy = "`contiguous` makes a copy that is";
            Err(Error::invalid(name, format!("{layout:?}: {what}; {remedy}")))
        };
        let (extents, strides) = (layout.shape(), layout.strides());
        let ([batch @ .., rows, cols], [steps @ .., down, right]) = (extents, strides) else {
            return Err(Error::invalid(name, format!("{layout:?} has no rows and columns: it has less than two axes")));
        };
        let (mut count, mut stride) = (1usize, None);
        for (n, step) in batch.iter().zip(steps).rev().filter(|(n, _)| **n != 1) {
            // Every axis goes on where the one after it ends.
            match stride {
                None => stride = Some(*step),
                Some(one) if layout.is_empty() || isize::checked_mul(one, count as isize) == Some(*step) => {}
                Some(_) => return refused("its matrices are not at even distances"),
            }
            // No overflow: the layout has counted its elements.
            count *= n;
        }
        let Ok(stride) = usize::try_from(stride.unwrap_or(0)) else { return refused("its matrices are not in order") };
        // A line of one element has any stride, and so has a single line: the smallest that it may have is taken.
        let lines = |line: usize, lines: usize, inner: isize, outer: isize| {
            let least = line.max(1);
            let outer = if lines <= 1 { Some(least) } else { usize::try_from(outer).ok() };
            outer.filter(|outer| (inner == 1 || line <= 1) && *outer >= least)
        };
        let by_rows = lines(*cols, *rows, *right, *down);
        let by_columns = lines(*rows, *cols, *down, *right);
        Ok(Matrices { rows: *rows, cols: *cols, by_rows, by_columns, count, stride })
    }

    /// Order and leading dimension; if both orders are possible, `wanted`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when neither the rows nor the columns are contiguous.
    pub(crate) fn lines(&self, name: &'static str, wanted: Order) -> Result<(Order, usize)> {
        let (rows, columns) = (self.by_rows.map(|ld| (Order::Row, ld)), self.by_columns.map(|ld| (Order::Column, ld)));
        let found = if wanted == Order::Row { rows.or(columns) } else { columns.or(rows) };
        found.ok_or_else(|| {
            let what = format!(
                "neither the rows nor the columns of its {} x {} matrices are contiguous",
                self.rows, self.cols
            );
            Error::invalid(name, format!("{what}; `contiguous` makes a copy whose rows are"))
        })
    }

    /// The leading dimension of column-major matrices.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the columns are not contiguous.
    #[cfg(any(feature = "solver", feature = "sparse"))]
    pub(crate) fn columns(&self, name: &'static str) -> Result<usize> {
        self.by_columns.ok_or_else(|| {
            let what = format!("the columns of its {} x {} matrices are not contiguous", self.rows, self.cols);
            Error::invalid(name, format!("{what}; `contiguous_columns` makes a copy whose columns are"))
        })
    }
}

/// The sizes `m`, `n` and `k` of a product.
pub(crate) fn sizes(a: &Matrices, b: &Matrices, c: &Matrices) -> Result<(usize, usize, usize)> {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    if b.rows != k {
        return Err(Error::invalid("b", format!("{} rows, but a has {k} columns", b.rows)));
    }
    if (c.rows, c.cols) != (m, n) {
        return Err(Error::invalid(
            "c",
            format!("matrices of {} x {}, but the products are {m} x {n}", c.rows, c.cols),
        ));
    }
    Ok((m, n, k))
}

/// The layout of an operand, repeated along the batch axes of the result.
pub(crate) fn spread(name: &'static str, layout: &Layout, result: &Layout) -> Result<Layout> {
    let ([batch @ .., _, _], [.., rows, cols]) = (result.shape(), layout.shape()) else {
        return Err(Error::invalid(name, format!("{layout:?} has no rows and columns: it has less than two axes")));
    };
    layout.broadcast([batch, &[*rows, *cols]].concat()).map_err(|error| match error {
        Error::InvalidArgument { reason, .. } => Error::invalid(name, reason),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrices(layout: &Layout) -> Matrices {
        Matrices::from_layout("x", layout).unwrap()
    }

    fn rows(extents: &[usize]) -> Layout {
        Layout::row_major(extents).unwrap()
    }

    #[test]
    fn rows_columns_and_batches_are_recognised() {
        let x = rows(&[3, 4, 5]);
        assert_eq!(matrices(&x).lines("x", Order::Column).unwrap(), (Order::Row, 5));
        assert_eq!((matrices(&x).count, matrices(&x).stride), (3, 20));
        assert_eq!(matrices(&x.swap_axes(1, 2).unwrap()).lines("x", Order::Row).unwrap(), (Order::Column, 5));
        let part = x.slice((.., 1..3, 2..)).unwrap();
        assert_eq!((matrices(&part).lines("x", Order::Row).unwrap(), matrices(&part).stride), ((Order::Row, 5), 20));
        let batch = rows(&[2, 3, 4, 5]);
        assert_eq!((matrices(&batch).count, matrices(&batch).stride), (6, 20));
        let shared = x.broadcast([6, 3, 4, 5]).unwrap();
        assert!(Matrices::from_layout("x", &shared).is_err(), "0 0 0 .. 1 1 1 are not at even distances");
        assert_eq!(matrices(&rows(&[2, 0, 4, 5])).count, 0, "without elements no distance matters");
        let one = rows(&[4, 5]).broadcast([6, 7, 4, 5]).unwrap();
        assert_eq!((matrices(&one).count, matrices(&one).stride), (42, 0));
    }

    #[test]
    fn a_single_line_has_both_orders_and_a_stride_in_both_directions_none() {
        let column = rows(&[4, 5]).slice((.., 2..3)).unwrap();
        assert_eq!(matrices(&column).lines("x", Order::Row).unwrap(), (Order::Row, 5));
        assert!(matrices(&column).by_columns.is_none(), "its elements are 5 apart");
        let row = rows(&[1, 5]);
        assert_eq!(matrices(&row).lines("x", Order::Column).unwrap(), (Order::Column, 1));
        assert_eq!(matrices(&row).lines("x", Order::Row).unwrap(), (Order::Row, 5));
        let spread = rows(&[4, 10]).slice((.., crate::device::tensor::AxisSlice::from(..).step(2))).unwrap();
        let error = matrices(&spread).lines("x", Order::Row).unwrap_err().to_string();
        assert!(error.contains("`x`") && error.contains("`contiguous`"), "{error}");
        for backwards in [rows(&[3, 2, 2]).flip(0).unwrap(), rows(&[2, 3, 2, 2]).swap_axes(0, 1).unwrap()] {
            assert!(Matrices::from_layout("x", &backwards).unwrap_err().to_string().contains("`contiguous`"));
        }
        assert!(matrices(&rows(&[2, 2]).flip(0).unwrap()).lines("x", Order::Row).is_err());
        assert!(Matrices::from_layout("x", &rows(&[7])).is_err());
    }
}
