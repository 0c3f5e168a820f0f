//! How a triangle lies in memory.

use super::super::prelude::*;

/// How a triangle is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Store {
    /// In a full matrix, whose other triangle is not read.
    Full,
    /// The diagonal and this many diagonals beside it, as rows.
    Band(usize),
    /// Its columns one after the other.
    Packed,
}

/// The triangle of an `n x n` matrix.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Triangle {
    pub(super) n: usize,
    pub(super) uplo: Uplo,
    pub(super) store: Store,
    pub(super) lda: Option<usize>,
    pub(super) row_major: bool,
}

impl Triangle {
    pub(super) fn new(n: usize, uplo: Uplo, store: Store) -> Self {
        Triangle { n, uplo, store, lda: None, row_major: false }
    }

    /// The column-major triangle with the same elements: if this one is row-major, the transposed one.
    pub(super) fn column_major(self) -> Self {
        let uplo = if self.row_major { self.uplo.transposed() } else { self.uplo };
        Triangle { uplo, row_major: false, ..self }
    }

    /// Rows as stored.
    fn rows(&self) -> usize {
        match self.store {
            Store::Full => self.n,
            Store::Band(k) => k.saturating_add(1),
            Store::Packed => 1,
        }
    }

    /// The leading dimension.
    pub(super) fn lda(&self) -> usize {
        self.lda.unwrap_or(self.rows().max(1))
    }

    /// Checks that it lies inside a buffer of `len` elements.
    pub(super) fn check(&self, len: usize) -> Result<()> {
        let n = self.n;
        check_order(self.row_major, "the conjugate")?;
        check_size("n", n)?;
        match (self.store, self.lda) {
            (Store::Packed, Some(lda)) => {
                Err(Error::invalid("lda", format!("{lda}, but a packed matrix of {n} columns has none")))
            }
            (Store::Packed, None) => match n.checked_add(1).and_then(|more| more.checked_mul(n)).map(|twice| twice / 2)
            {
                Some(need) if need <= len => Ok(()),
                Some(need) => Err(Error::invalid(
                    "a",
                    format!("{len} elements do not hold a packed triangle of order {n}, which has {need}"),
                )),
                None => Err(Error::invalid("a", format!("a packed triangle of order {n} overflows"))),
            },
            (Store::Band(k), _) if k >= i64::MAX as usize => {
                Err(Error::invalid("k", format!("{k} does not fit the library's 64-bit integers")))
            }
            (Store::Full | Store::Band(_), _) => check_matrix("a", self.rows(), n, self.lda(), len),
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
        let (upper, ld) = (self.uplo == Uplo::Upper, self.lda());
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

/// Defines `row_major` for a specification whose field `a` is a triangle.
macro_rules! row_major_triangle {
    ($Spec:ident<$t:ident: $bound:ident> $(, $(#[$doc:meta])+)?) => {
        impl<$t: $bound> $Spec<$t> {
            /// A is row-major: element `(i, j)` is at `i * lda + j`; packed, its rows lie one after the other; banded,
            /// row `i` begins at `i * lda`, with the diagonal last of a lower triangle and first of an upper one. Nothing
            /// is copied.
            $($(#[$doc])+)?
            pub fn row_major(mut self) -> Self {
                self.a.row_major = true;
                self
            }
        }
    };
}
pub(super) use row_major_triangle;

/// Defines the constructors of a specification whose field `a` is a triangle.
macro_rules! triangle_spec {
    ($Spec:ident<$t:ident: $bound:ident>, $($field:ident: $value:expr),*; banded) => {
        $crate::libraries::blas::level2::triangle::triangle_spec!($Spec<$t: $bound>, $($field: $value),*);
        impl<$t: $bound> $Spec<$t> {
            /// A matrix of which the diagonal and `k` diagonals beside it are stored, as rows: element `(i, j)` is at
            /// `k + i - j + j * lda` of an upper triangle, at `i - j + j * lda` of a lower one.
            pub fn banded(n: usize, k: usize, uplo: Uplo) -> Self {
                Self::stored(n, uplo, $crate::libraries::blas::level2::triangle::Store::Band(k))
            }
        }
    };
    ($Spec:ident<$t:ident: $bound:ident>, $($field:ident: $value:expr),*) => {
        impl<$t: $bound> $Spec<$t> {
            /// A matrix of `n` rows and columns, of which the triangle `uplo` is stored in a full one.
            pub fn new(n: usize, uplo: Uplo) -> Self {
                Self::stored(n, uplo, $crate::libraries::blas::level2::triangle::Store::Full)
            }

            /// A matrix of which the columns of the triangle `uplo` are stored one after the other, without gaps.
            pub fn packed(n: usize, uplo: Uplo) -> Self {
                Self::stored(n, uplo, $crate::libraries::blas::level2::triangle::Store::Packed)
            }

            fn stored(n: usize, uplo: Uplo, store: $crate::libraries::blas::level2::triangle::Store) -> Self {
                Self { a: $crate::libraries::blas::level2::triangle::Triangle::new(n, uplo, store), $($field: $value),* }
            }

            /// Elements between the columns (in row-major order the rows) of A as stored; no gaps unless set.
            pub fn lda(mut self, lda: usize) -> Self {
                self.a.lda = Some(lda);
                self
            }
        }
    };
}
pub(super) use triangle_spec;
