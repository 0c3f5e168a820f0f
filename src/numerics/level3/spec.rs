//! The shapes of the level-3 routines, in the terms of cuBLAS.

use super::super::spec::Trans;

/// Which triangle of a matrix is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uplo {
    /// On and above the diagonal.
    Upper,
    /// On and below the diagonal.
    Lower,
}

/// On which side of the general matrix the special one stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `A * B`.
    Left,
    /// `B * A`.
    Right,
}

/// `C = alpha * A * B + beta * C` or `C = alpha * B * A + beta * C`, where A is symmetric or Hermitian.
#[derive(Clone, Copy, Debug)]
pub struct SymmSpec<S> {
    /// Where A stands.
    pub side: Side,
    /// Which triangle of A is read.
    pub uplo: Uplo,
    /// A is Hermitian: its diagonal is taken as real.
    pub hermitian: bool,
    /// Rows of B and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Elements between the columns of A.
    pub lda: usize,
    /// Elements between the columns of B.
    pub ldb: usize,
    /// Elements between the columns of C.
    pub ldc: usize,
    /// Factor of the product.
    pub alpha: S,
    /// Factor of C.
    pub beta: S,
}

/// A product of which one triangle is kept; `op(A)` and `op(B)` are `n` x `k`, and `'` transposes, or transposes and
/// conjugates if the result is Hermitian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// `alpha * op(A) * op(A)'`: syrk, herk.
    One,
    /// `alpha * op(A) * op(B)'`, which the caller knows to be symmetric: syrkx, herkx.
    Cross,
    /// `alpha * op(A) * op(B)' + alpha' * op(B) * op(A)'`: syr2k, her2k.
    Two,
}

/// `C = terms + beta * C`, of which only one triangle is read and written.
#[derive(Clone, Copy, Debug)]
pub struct RankSpec<S> {
    /// Which products.
    pub terms: Terms,
    /// Which triangle of C is read and written.
    pub uplo: Uplo,
    /// What is done to A and B.
    pub trans: Trans,
    /// C is Hermitian: the imaginary parts of its diagonal are ignored and set to zero, and `beta` (for [`Terms::One`]
    /// `alpha` too) is real.
    pub hermitian: bool,
    /// Rows and columns of C.
    pub n: usize,
    /// Columns of `op(A)`.
    pub k: usize,
    /// Elements between the columns of A.
    pub lda: usize,
    /// Elements between the columns of B.
    pub ldb: usize,
    /// Elements between the columns of C.
    pub ldc: usize,
    /// Factor of the product.
    pub alpha: S,
    /// Factor of C.
    pub beta: S,
}

/// `B = alpha * op(A) * B`, `B = alpha * B * op(A)`, or the same with the inverse of `op(A)`; A is triangular.
#[derive(Clone, Copy, Debug)]
pub struct TriSpec<S> {
    /// Where A stands.
    pub side: Side,
    /// Which triangle of A is read.
    pub uplo: Uplo,
    /// What is done to A.
    pub trans: Trans,
    /// The diagonal of A is all ones and not read.
    pub unit: bool,
    /// Rows of B.
    pub m: usize,
    /// Columns of B.
    pub n: usize,
    /// Elements between the columns of A.
    pub lda: usize,
    /// Elements between the columns of B.
    pub ldb: usize,
    /// Factor of the result. Zero: A and B are not read.
    pub alpha: S,
}

/// `C = alpha * op(A) + beta * op(B)`, all `m` x `n`.
#[derive(Clone, Copy, Debug)]
pub struct GeamSpec<S> {
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// What is done to A.
    pub op_a: Trans,
    /// Elements between the columns of A as stored.
    pub lda: usize,
    /// What is done to B.
    pub op_b: Trans,
    /// Elements between the columns of B as stored.
    pub ldb: usize,
    /// Elements between the columns of C.
    pub ldc: usize,
    /// Factor of A. Zero: A is not read.
    pub alpha: S,
    /// Factor of B. Zero: B is not read.
    pub beta: S,
}

/// `C = diag(x) * A` or `C = A * diag(x)`, all `m` x `n`.
#[derive(Clone, Copy, Debug)]
pub struct DgmmSpec {
    /// Where the diagonal matrix stands.
    pub side: Side,
    /// Rows of A and C.
    pub m: usize,
    /// Columns of A and C.
    pub n: usize,
    /// Elements between the columns of A.
    pub lda: usize,
    /// Elements between those of x. Negative: x is read from the last element to the first. Zero: one element for all.
    pub incx: isize,
    /// Elements between the columns of C.
    pub ldc: usize,
}

impl<S> SymmSpec<S> {
    /// Rows and columns of A.
    pub(crate) fn order(&self) -> usize {
        if self.side == Side::Left { self.m } else { self.n }
    }
}

impl<S> TriSpec<S> {
    /// Rows and columns of A.
    pub(crate) fn order(&self) -> usize {
        if self.side == Side::Left { self.m } else { self.n }
    }
}

impl<S> RankSpec<S> {
    /// Rows and columns of A and B as stored.
    pub(crate) fn stored(&self) -> (usize, usize) {
        if self.trans == Trans::No { (self.n, self.k) } else { (self.k, self.n) }
    }
}

impl DgmmSpec {
    /// Elements of x.
    pub(crate) fn len(&self) -> usize {
        if self.side == Side::Left { self.m } else { self.n }
    }
}
