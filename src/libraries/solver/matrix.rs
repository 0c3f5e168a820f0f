//! Where matrices lie in their buffers.

use crate::core::error::{Error, Result};

/// One column-major matrix, or a batch of them at even distances: element `(i, j)` of matrix `k` is at
/// `i + j * ld + k * stride`. What lies between columns and matrices is neither read nor written.
///
/// cuSOLVER and LAPACK take no other order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[must_use]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) count: usize,
    ld: Option<usize>,
    stride: Option<usize>,
}

impl Matrix {
    /// One matrix of `rows x cols`, whose columns have no gaps between them.
    pub(super) fn new(rows: usize, cols: usize) -> Self {
        Matrix { rows, cols, count: 1, ld: None, stride: None }
    }

    /// Elements from one column to the next.
    pub(super) fn ld(self, ld: usize) -> Self {
        Matrix { ld: Some(ld), ..self }
    }

    /// A batch of `count` matrices of this shape, each of which begins where the one before it ends.
    pub(super) fn batch(self, count: usize) -> Self {
        Matrix { count, ..self }
    }

    /// Elements from one matrix of a batch to the next.
    pub(super) fn stride(self, stride: usize) -> Self {
        Matrix { stride: Some(stride), ..self }
    }

    /// Elements from one column to the next.
    pub(super) fn leading(&self) -> usize {
        self.ld.unwrap_or(self.rows.max(1))
    }

    /// Elements from one matrix to the next.
    pub(super) fn distance(&self) -> usize {
        self.stride.unwrap_or(self.leading().saturating_mul(self.cols))
    }

    /// The fewest elements that a buffer must have; `None` if that overflows `usize`.
    pub(super) fn len(&self) -> Option<usize> {
        let one = self.span()?;
        match self.count {
            0 => Some(0),
            _ if one == 0 => Some(0),
            count => self.distance().checked_mul(count - 1)?.checked_add(one),
        }
    }

    /// Whether there are no matrices, or matrices without elements.
    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0 || self.cols == 0 || self.count == 0
    }

    /// Elements that one matrix spans.
    pub(super) fn span(&self) -> Option<usize> {
        match (self.rows, self.cols) {
            (0, _) | (_, 0) => Some(0),
            (rows, cols) => self.leading().checked_mul(cols - 1)?.checked_add(rows),
        }
    }

    /// The smaller of rows and columns.
    pub(super) fn size(&self) -> usize {
        self.rows.min(self.cols)
    }

    /// Whether every element of a buffer of `len` elements is an element of a matrix.
    pub(super) fn fills(&self, len: usize) -> bool {
        let elements = self.rows.checked_mul(self.cols).and_then(|one| one.checked_mul(self.count));
        elements == Some(len) && self.len() == Some(len)
    }

    /// The address of matrix `k` where the first one is at `first`.
    #[cfg(feature = "cuda")]
    pub(super) fn address<T>(&self, first: u64, k: usize) -> u64 {
        first + (k * self.distance() * size_of::<T>()) as u64
    }

    /// Whether there are several matrices without gaps between them, with no more elements in all than the library's
    /// batched routines can count.
    pub(super) fn is_batch(&self) -> bool {
        let one = self.leading().checked_mul(self.cols);
        let all = one.and_then(|one| one.checked_mul(self.count)).and_then(|all| i32::try_from(all).ok());
        self.count > 1 && all.is_some() && one == Some(self.distance())
    }

    /// Checks the shape itself: leading dimension and distances are large enough, and nothing overflows.
    pub(super) fn check_shape(&self, name: &'static str) -> Result<()> {
        self.check_shape_of(name, false)
    }

    /// Whether the matrices of the batch are one matrix.
    pub(super) fn is_shared(&self) -> bool {
        self.count > 1 && self.distance() == 0
    }

    /// The same, where one matrix may be that of the whole batch.
    fn check_shape_of(&self, name: &'static str, read: bool) -> Result<()> {
        let Matrix { rows, cols, count, .. } = *self;
        let (ld, distance) = (self.leading(), self.distance());
        for (what, value) in [("rows", rows), ("columns", cols), ("matrices", count), ("elements between columns", ld)]
        {
            if i32::try_from(value).is_err() {
                return Err(Error::invalid(name, format!("{value} {what} do not fit the library's 32-bit integers")));
            }
        }
        if ld < rows.max(1) {
            return Err(Error::invalid(
                name,
                format!("the leading dimension {ld} is less than the {rows} rows, or than 1"),
            ));
        }
        match (self.span(), self.len()) {
            (Some(one), Some(_)) if count < 2 || distance >= one || (read && distance == 0) => Ok(()),
            (Some(one), Some(_)) => {
                Err(Error::invalid(name, format!("matrices {distance} elements apart overlap: each spans {one}")))
            }
            _ => Err(Error::invalid(name, format!("{count} matrices of {rows} x {cols} with ld = {ld} overflow"))),
        }
    }

    /// Checks [the shape](Self::check_shape), and that a buffer of `len` elements holds it.
    pub(super) fn check(&self, name: &'static str, len: usize) -> Result<()> {
        self.check_shape(name)?;
        self.check_room(name, len)
    }

    /// The same, where one matrix may be that of the whole batch.
    pub(super) fn check_read(&self, name: &'static str, len: usize) -> Result<()> {
        self.check_shape_of(name, true)?;
        self.check_room(name, len)
    }

    fn check_room(&self, name: &'static str, len: usize) -> Result<()> {
        let need = self.len().unwrap_or(usize::MAX);
        if need <= len {
            return Ok(());
        }
        let Matrix { rows, cols, count, .. } = *self;
        let batch = if count == 1 { String::new() } else { format!("{count} matrices of ") };
        let what =
            format!("{len} elements, but {need} are needed for {batch}{rows} x {cols} with ld = {}", self.leading());
        Err(Error::invalid(name, what))
    }

    pub(super) fn check_square(&self, name: &'static str) -> Result<()> {
        if self.rows == self.cols {
            return Ok(());
        }
        Err(Error::invalid(name, format!("{} x {} is not square", self.rows, self.cols)))
    }

    /// Checks that it has `rows` rows, and as many matrices as `a`.
    pub(super) fn check_beside(&self, name: &'static str, rows: usize, a: &Matrix) -> Result<()> {
        if self.rows != rows {
            let Matrix { rows: m, cols: n, .. } = self;
            return Err(Error::invalid(
                name,
                format!("{m} x {n}, but {rows} rows are needed beside {} x {}", a.rows, a.cols),
            ));
        }
        if self.count != a.count {
            return Err(Error::invalid(
                name,
                format!("{} matrices, but the other operand has {}", self.count, a.count),
            ));
        }
        Ok(())
    }
}

/// Checks that a buffer has `each` elements for each of the matrices, side by side.
pub(super) fn check_len(name: &'static str, each: usize, count: usize, len: usize) -> Result<()> {
    match each.checked_mul(count) {
        Some(need) if need <= len => Ok(()),
        Some(need) => Err(Error::invalid(name, format!("{len} elements, but {need} are needed"))),
        None => Err(Error::invalid(name, format!("{count} times {each} elements overflow"))),
    }
}
