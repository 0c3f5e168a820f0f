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
    /// What the layout says, but for its offset, which does not matter.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with less than two axes, and when the matrices are not at even distances, or backwards.
    pub(crate) fn from_layout(name: &'static str, layout: &Layout) -> Result<Self> {
        let [batch @ .., _, _] = layout.shape() else { return Err(no_matrices(name, layout)) };
        Self::along(name, layout, batch)
    }

    /// As [`from_layout`](Self::from_layout), of matrices that are repeated along the batch axes of a result, which have these
    /// extents.
    ///
    /// # Errors
    /// As there, and for another extent than 1 or that of the result.
    pub(crate) fn along(name: &'static str, layout: &Layout, batch: &[usize]) -> Result<Self> {
        let ([.., rows, cols], [.., down, right]) = (layout.shape(), layout.strides()) else {
            return Err(no_matrices(name, layout));
        };
        let (count, stride) = repeats(name, layout, 2, batch)?;
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

    /// The leading dimension of matrices that are read in this order, if they can be.
    pub(crate) fn leading(&self, order: Order) -> Option<usize> {
        match order {
            Order::Row => self.by_rows,
            Order::Column => self.by_columns,
        }
    }

    /// The leading dimension of column-major matrices.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the columns are not contiguous.
    pub(crate) fn columns(&self, name: &'static str) -> Result<usize> {
        self.by_columns.ok_or_else(|| {
            let what = format!("the columns of its {} x {} matrices are not contiguous", self.rows, self.cols);
            let turned = if self.by_rows.is_some() { "; those of its `transpose()` are" } else { "" };
            Error::invalid(name, format!("{what}; `contiguous_columns` makes a copy whose columns are{turned}"))
        })
    }
}

/// The axes before the last `inner`, as they are repeated along the batch axes of a result, which have these extents: how many
/// there are, and the elements from one to the next.
///
/// # Errors
/// As [`Matrices::along`].
pub(crate) fn repeats(name: &'static str, layout: &Layout, inner: usize, batch: &[usize]) -> Result<(usize, usize)> {
    let refused = |what: &str| {
        let remedy = "`contiguous` makes a copy that is";
        Err(Error::invalid(name, format!("{layout:?}: {what}; {remedy}")))
    };
    let (mut count, mut stride) = (1usize, None);
    let mut axes = layout.shape().iter().zip(layout.strides()).rev().skip(inner);
    for n in batch.iter().rev() {
        let step = match axes.next() {
            Some((own, step)) if own == n => *step,
            Some((1, _)) | None => 0,
            Some(_) => return Err(other_batch(name, layout, batch)),
        };
        if *n == 1 {
            continue;
        }
        // Every axis goes on where the one after it ends.
        match stride {
            None => stride = Some(step),
            Some(one) if isize::checked_mul(one, count as isize) == Some(step) => {}
            Some(_) if layout.is_empty() || batch.contains(&0) => {}
            Some(_) => return refused("its batch is not at even distances"),
        }
        count = count.saturating_mul(*n);
    }
    if axes.next().is_some() {
        return Err(other_batch(name, layout, batch));
    }
    match usize::try_from(stride.unwrap_or(0)) {
        Ok(stride) => Ok((count, stride)),
        Err(_) => refused("its batch is not in order"),
    }
}

fn no_matrices(name: &'static str, layout: &Layout) -> Error {
    Error::invalid(name, format!("{layout:?} has no rows and columns: it has less than two axes"))
}

fn other_batch(name: &'static str, layout: &Layout, batch: &[usize]) -> Error {
    let what = format!("shape {:?} does not broadcast to the batch axes {batch:?} of the result", layout.shape());
    Error::invalid(name, what)
}

/// The sizes `m`, `n` and `k` of a product.
pub(crate) fn sizes(a: &Matrices, b: &Matrices, c: &Matrices) -> Result<(usize, usize, usize)> {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    if b.rows != k {
        let what = format!("its matrices are {} x {n}: {} rows, but a has {k} columns: {m} x {k}", b.rows, b.rows);
        return Err(Error::invalid("b", what));
    }
    if (c.rows, c.cols) != (m, n) {
        let what = format!("its matrices are {} x {}, but the products are {m} x {n}", c.rows, c.cols);
        return Err(Error::invalid("c", what));
    }
    Ok((m, n, k))
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
    fn matrices_are_repeated_along_the_axes_of_a_result_as_a_broadcast_does_it() {
        let layouts =
            [&[4, 5][..], &[1, 4, 5], &[3, 4, 5], &[2, 3, 4, 5], &[2, 1, 4, 5], &[7, 1, 4, 5], &[3, 0, 5], &[1, 0, 0]];
        for (of, batch) in
            layouts.iter().flat_map(|of| [&[][..], &[1], &[3], &[2, 3], &[0], &[2, 0], &[7, 1, 3]].map(|b| (of, b)))
        {
            for own in [rows(of), rows(of).swap_axes(-1, -2).unwrap()] {
                let [.., m, n] = own.shape() else { panic!() };
                let wanted = own.broadcast([batch, &[*m, *n]].concat()).map(|all| Matrices::from_layout("x", &all));
                match (Matrices::along("x", &own, batch), wanted) {
                    (Ok(got), Ok(Ok(wanted))) => assert_eq!(got, wanted, "{own:?} {batch:?}"),
                    (Err(error), Ok(Err(_))) => assert!(error.to_string().contains("even distances"), "{error}"),
                    (Err(error), Err(_)) => assert!(error.to_string().contains("`x`"), "{error}"),
                    (got, wanted) => panic!("{got:?} {wanted:?}: {own:?} {batch:?}"),
                }
            }
        }
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
