//! How a triangle lies in memory.

use super::super::level3::matrix;
use super::super::prelude::*;

/// How a specification says that a triangle is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// The triangle, as the view shows it.
    pub(super) uplo: Uplo,
    pub(super) storage: Storage,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Storage {
    Full,
    Banded,
    Packed,
}

impl Form {
    /// The triangle that the library reads by columns, and the order in which it lies: if by rows, it is the transposed one.
    /// Vectors beside it have `n` elements.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a layout of another form.
    pub(super) fn triangle(self, of_a: &Layout, n: usize, wanted: Order) -> Result<(Triangle, Order)> {
        let Form { uplo, storage } = self;
        let refused = |what: &str| Err(Error::invalid("a", format!("shape {:?}, but {what}", of_a.shape())));
        if storage == Storage::Packed {
            let len = operands::Vector::from_layout("a", of_a)?.neighbours("a")?;
            return match packed(n) {
                Some(need) if need == len => Ok((Triangle { n, uplo, store: Store::Packed, lda: 1 }, Order::Column)),
                Some(need) => refused(&format!("a packed triangle of order {n} has {need} elements")),
                None => refused(&format!("a packed triangle of order {n} overflows")),
            };
        }
        let a = matrix("a", of_a)?;
        if storage == Storage::Banded {
            let Some(k) = a.rows.checked_sub(1) else { return refused("a band has the row of its diagonal at least") };
            return Ok((Triangle { n: a.cols, uplo, store: Store::Band(k), lda: a.columns("a")? }, Order::Column));
        }
        if a.rows != a.cols {
            return refused("the matrix of a triangle is square");
        }
        let (order, lda) = a.lines("a", wanted)?;
        let uplo = if order == Order::Row { uplo.transposed() } else { uplo };
        Ok((Triangle { n: a.cols, uplo, store: Store::Full, lda }, order))
    }

    /// The triangle of a symmetric matrix, or of a Hermitian one.
    ///
    /// # Errors
    /// As [`triangle`](Self::triangle); [`Error::Unsupported`] for a Hermitian matrix that lies by rows.
    pub(super) fn symmetric(self, of_a: &Layout, n: usize, hermitian: bool) -> Result<Triangle> {
        match self.triangle(of_a, n, Order::Column)? {
            (_, Order::Row) if hermitian => Err(Error::unsupported(
                "BLAS reads columns, and the rows of a Hermitian matrix are the columns of its conjugate, for which it has no \
                 routine; `contiguous_columns` makes a copy whose columns are contiguous",
            )),
            (triangle, _) => Ok(triangle),
        }
    }
}

/// The number of elements of a packed triangle; `None` on overflow.
fn packed(n: usize) -> Option<usize> {
    n.checked_add(1).and_then(|more| more.checked_mul(n)).map(|twice| twice / 2)
}

/// How the library reads a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Store {
    /// In a full matrix, whose other triangle is not read.
    Full,
    /// The diagonal and this many diagonals beside it, as rows.
    Band(usize),
    /// Its columns one after the other.
    Packed,
}

/// The triangle of an `n x n` column-major matrix.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Triangle {
    pub(super) n: usize,
    pub(super) uplo: Uplo,
    pub(super) store: Store,
    /// The leading dimension, which a packed triangle does not have.
    pub(super) lda: usize,
}

impl Triangle {
    /// Checks that it lies inside a buffer of `len` elements.
    pub(super) fn check(&self, len: usize) -> Result<()> {
        let Triangle { n, lda, .. } = *self;
        check_size("n", n)?;
        match self.store {
            Store::Full => check_matrix("a", n, n, lda, len),
            Store::Band(k) => check_matrix("a", k.saturating_add(1), n, lda, len),
            Store::Packed if packed(n).is_some_and(|need| need <= len) => Ok(()),
            Store::Packed => {
                Err(Error::invalid("a", format!("{len} elements do not hold a packed triangle of order {n}")))
            }
        }
    }

    /// Elements of the triangle.
    pub(super) fn elements(&self) -> u64 {
        let n = self.n as u64;
        match self.store {
            Store::Full | Store::Packed => n.saturating_mul(n.saturating_add(1)) / 2,
            Store::Band(k) => n.saturating_mul((k as u64).saturating_add(1)),
        }
    }

    /// For the host engine.
    #[cfg(feature = "host")]
    pub(super) fn on_host(&self) -> numerics::level2::Stored {
        use numerics::level2::Layout;
        let (upper, ld) = (self.uplo == Uplo::Upper, self.lda);
        let layout = match self.store {
            Store::Full => Layout::Triangle { upper, ld },
            Store::Band(k) if upper => Layout::Band { kl: 0, ku: k, ld },
            Store::Band(k) => Layout::Band { kl: k, ku: 0, ld },
            Store::Packed => Layout::Packed { upper },
        };
        numerics::level2::Stored { rows: self.n, cols: self.n, layout }
    }
}

/// For the host engine.
#[cfg(feature = "host")]
impl Strided {
    pub(super) fn on_host(&self) -> numerics::level2::At {
        numerics::level2::At { n: self.n, inc: self.inc }
    }
}
