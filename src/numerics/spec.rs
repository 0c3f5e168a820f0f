//! The shape of a matrix product, in the terms of cuBLAS.

/// What is done to a stored matrix before it is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trans {
    /// Taken as stored.
    No,
    /// Transposed.
    Yes,
    /// Conjugated and transposed; for real types the same as `Yes`.
    Conj,
}

/// `C = alpha * op(A) * op(B) + beta * C`, column-major: `op(A)` is `m` x `k`, `op(B)` is `k` x `n`, C is `m` x `n`.
#[derive(Clone, Copy, Debug)]
pub struct GemmSpec<S> {
    /// Rows of `op(A)` and C.
    pub m: usize,
    /// Columns of `op(B)` and C.
    pub n: usize,
    /// Columns of `op(A)`, rows of `op(B)`.
    pub k: usize,
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
    /// Factor of the product. Zero: A and B are not read.
    pub alpha: S,
    /// Factor of C. Zero: C is not read, so a NaN in it does not propagate.
    pub beta: S,
}

/// The number of elements that a column-major `rows` x `cols` matrix spans. `None` if `ld` is too small or the number
/// overflows.
pub(crate) fn span(rows: usize, cols: usize, ld: usize) -> Option<usize> {
    match cols.checked_sub(1) {
        _ if rows == 0 => Some(0),
        None => Some(0),
        Some(_) if ld < rows => None,
        Some(before) => ld.checked_mul(before)?.checked_add(rows),
    }
}

impl<S> GemmSpec<S> {
    /// Rows and columns of A as stored.
    pub(crate) fn a_shape(&self) -> (usize, usize) {
        match self.op_a {
            Trans::No => (self.m, self.k),
            Trans::Yes | Trans::Conj => (self.k, self.m),
        }
    }

    /// Rows and columns of B as stored.
    pub(crate) fn b_shape(&self) -> (usize, usize) {
        match self.op_b {
            Trans::No => (self.k, self.n),
            Trans::Yes | Trans::Conj => (self.n, self.k),
        }
    }

    /// Whether a slice of `c` elements holds C.
    pub(crate) fn c_fits(&self, c: usize) -> bool {
        span(self.m, self.n, self.ldc).is_some_and(|need| need <= c)
    }

    /// Whether slices of `a` and `b` elements hold A and B.
    pub(crate) fn ab_fit(&self, a: usize, b: usize) -> bool {
        let ((ar, ac), (br, bc)) = (self.a_shape(), self.b_shape());
        span(ar, ac, self.lda).is_some_and(|need| need <= a) && span(br, bc, self.ldb).is_some_and(|need| need <= b)
    }

    /// Multiply-adds of the product; saturates on overflow.
    pub(crate) fn work(&self) -> usize {
        self.m.saturating_mul(self.n).saturating_mul(self.k)
    }
}
