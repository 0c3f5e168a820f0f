//! In which order the matrices of a call lie. The library reads and writes columns: a matrix that is read by rows is, to it, the
//! transposed one. So a call whose output is written by rows computes the transposed output, and of each operand it takes the
//! transposed one: as it is stored, if that lies by rows as well.

use super::super::prelude::*;
use crate::core::element::Element;

/// The matrix that an operand without a batch is.
///
/// # Errors
/// [`Error::InvalidArgument`] for another number of axes than two.
pub(in crate::libraries::blas) fn matrix(name: &'static str, layout: &Layout) -> Result<Matrices> {
    if layout.rank() == 2 {
        return Matrices::from_layout(name, layout);
    }
    Err(Error::invalid(name, format!("{layout:?} has {} axes, but the call takes a matrix, of two", layout.rank())))
}

/// The matrices of a tensor, and the extents of the axes before them.
pub(super) fn batch_of<'x>(name: &'static str, layout: &'x Layout) -> Result<(Matrices, &'x [usize])> {
    let of = Matrices::from_layout(name, layout)?;
    Ok((of, layout.shape().split_last_chunk::<2>().map_or(&[], |(batch, _)| batch)))
}

/// # Errors
/// [`Error::InvalidArgument`] when a matrix has not the rows and columns that another one implies.
pub(super) fn check_shape(
    name: &'static str,
    of: &Matrices,
    (rows, cols): (usize, usize),
    (other, implies): (&'static str, &Matrices),
) -> Result<()> {
    if (of.rows, of.cols) == (rows, cols) {
        return Ok(());
    }
    let what = format!("{} x {}, but with `{other}` of {} x {}", of.rows, of.cols, implies.rows, implies.cols);
    Err(Error::invalid(name, format!("{what} it has to be {rows} x {cols}")))
}

/// Makes a call that writes a matrix in one order: by columns if it can, else by rows.
///
/// # Errors
/// Those of `make`; [`Error::InvalidArgument`] when neither the rows nor the columns of the output are contiguous.
pub(super) fn in_some_order<R>(
    name: &'static str,
    of: &Matrices,
    make: impl Fn(Order, usize) -> Result<R>,
) -> Result<R> {
    let (order, ld) = of.lines(name, Order::Column)?;
    let made = make(order, ld);
    match (&made, order, of.leading(Order::Row)) {
        // A single line lies in both orders.
        (Err(_), Order::Column, Some(ld)) => make(Order::Row, ld).or(made),
        _ => made,
    }
}

/// The leading dimension of a matrix that has to lie in the order in which `other` is taken.
///
/// # Errors
/// [`Error::InvalidArgument`] when it lies in the other order, or in none.
pub(super) fn like(name: &'static str, of: &Matrices, order: Order, other: &str) -> Result<usize> {
    if let Some(ld) = of.leading(order) {
        return Ok(ld);
    }
    of.lines(name, order)?;
    let (own, others, remedy) = match order {
        Order::Row => ("columns", "rows", "contiguous"),
        Order::Column => ("rows", "columns", "contiguous_columns"),
    };
    let what = format!("its {own} are contiguous, but of `{other}` the {others} are, and both must lie in one order");
    Err(Error::invalid(name, format!("{what}; `{remedy}` makes a copy that does")))
}

/// The error for a conjugate that the library would have to take without a transpose.
pub(super) fn no_conjugate(name: &'static str) -> Error {
    let what = format!("BLAS has no conjugate of a matrix that it does not transpose (`{name}`)");
    Error::unsupported(format!("{what}; `conj().eval()` makes a matrix of the conjugates"))
}

/// The order in which an operand is read that may lie in either, what the library does to it in a call that writes in `order`,
/// and its leading dimension.
///
/// # Errors
/// [`Error::InvalidArgument`] when neither its rows nor its columns are contiguous; [`Error::Unsupported`] for a conjugate that is
/// not transposed.
pub(super) fn turned<T: Element>(
    name: &'static str,
    of: &Matrices,
    order: Order,
    conjugate: bool,
) -> Result<(Order, Transpose, usize)> {
    let conjugate = conjugate && T::DTYPE.is_complex();
    let (own, ld) = of.lines(name, if conjugate { order.turned() } else { order })?;
    match (own == order, conjugate) {
        (true, false) => Ok((own, Transpose::No, ld)),
        (false, false) => Ok((own, Transpose::Yes, ld)),
        (false, true) => Ok((own, Transpose::Conjugate, ld)),
        (true, true) => Err(no_conjugate(name)),
    }
}
