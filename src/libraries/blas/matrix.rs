//! Checks of matrices inside buffers.

use crate::core::error::{Error, Result};

/// Checks that a size fits the library's 64-bit integers.
pub(super) fn check_size(name: &'static str, value: usize) -> Result<()> {
    if value > i64::MAX as usize {
        return Err(Error::invalid(name, format!("{value} does not fit the library's 64-bit integers")));
    }
    Ok(())
}

/// The number of elements that a column-major matrix spans; `None` on overflow.
pub(super) fn span(rows: usize, cols: usize, ld: usize) -> Option<usize> {
    if rows == 0 || cols == 0 { Some(0) } else { ld.checked_mul(cols - 1)?.checked_add(rows) }
}

/// The name of a matrix's leading dimension.
fn leading(name: &'static str) -> &'static str {
    match name {
        "a" => "lda",
        "b" => "ldb",
        "c" => "ldc",
        _ => "ld",
    }
}

/// Checks that a `rows x cols` matrix with leading dimension `ld` lies inside a buffer of `len` elements.
pub(super) fn check_matrix(name: &'static str, rows: usize, cols: usize, ld: usize, len: usize) -> Result<()> {
    let leading = leading(name);
    if ld < rows.max(1) {
        return Err(Error::invalid(
            leading,
            match rows {
                0 => "0, but a leading dimension is at least 1".to_owned(),
                _ => format!(
                    "{ld} is less than the {rows} elements of a column of {name} (of a row, if it is row-major)"
                ),
            },
        ));
    }
    check_size(leading, ld)?;
    match span(rows, cols, ld) {
        Some(need) if need <= len => Ok(()),
        Some(need) => Err(Error::invalid(
            name,
            format!("{len} elements do not hold a {rows} x {cols} matrix with {leading} = {ld}, which spans {need}"),
        )),
        None => Err(Error::invalid(name, format!("a {rows} x {cols} matrix with {leading} = {ld} overflows"))),
    }
}

/// Whether a `rows x cols` matrix has no gaps and fills a buffer of `len` elements.
pub(super) fn fills(rows: usize, cols: usize, ld: usize, len: usize) -> bool {
    (ld == rows || cols <= 1) && rows.checked_mul(cols) == Some(len)
}
