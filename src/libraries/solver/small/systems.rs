//! LU, Cholesky, triangles and what is solved with them, of matrices of at most 32 rows and columns and as many right sides, in f32 and
//! f64: one table of what is done with each matrix. A kernel (`kernels/small_lu.cu`) and the loops of the host half
//! (`host/small/systems.rs`) do what its flags say, and have the same bits.

#[cfg(test)]
#[cfg(all(feature = "cuda", feature = "host"))]
mod tests;

use super::super::matrix::Matrix;
use super::fits;
use crate::core::element::Element;

/// A is factored by LU with partial pivoting, or by Cholesky.
pub(in crate::libraries::solver) const LU: u64 = 1;
pub(in crate::libraries::solver) const CHOLESKY: u64 = 2;
/// There are pivots: written if A is factored, else read.
pub(in crate::libraries::solver) const PIVOTS: u64 = 4;
/// The factors are written to A.
pub(in crate::libraries::solver) const KEEP: u64 = 8;
/// B is the identity at first.
pub(in crate::libraries::solver) const IDENTITY: u64 = 16;
/// B is written to the memory of A.
pub(in crate::libraries::solver) const IN_PLACE: u64 = 32;
/// A zero on the diagonal is told.
pub(in crate::libraries::solver) const CHECK: u64 = 64;
/// What has no solution is NaN; else it stays.
pub(in crate::libraries::solver) const CLEAR: u64 = 128;
/// Of A only this triangle is read and written, without its diagonal if strict.
pub(in crate::libraries::solver) const LOWER: u64 = 256;
pub(in crate::libraries::solver) const UPPER: u64 = 512;
pub(in crate::libraries::solver) const STRICT: u64 = 1024;
/// The rows are permuted back at the end, instead of at first.
pub(in crate::libraries::solver) const BACK: u64 = 2048;

/// Triangles that are solved with, the first 16 bits up, the second 20: which, and how.
#[cfg(feature = "host")]
pub(in crate::libraries::solver) const STAGE: u64 = 1;
pub(in crate::libraries::solver) const IS_UPPER: u64 = 2;
pub(in crate::libraries::solver) const TRANSPOSED: u64 = 4;
pub(in crate::libraries::solver) const UNIT: u64 = 8;
/// Where the first stage begins, and bits of a stage.
pub(in crate::libraries::solver) const STAGES: u32 = 16;
#[cfg(feature = "host")]
pub(in crate::libraries::solver) const STAGE_BITS: u32 = 4;

/// The rows of the table.
///
/// | row | routine | A | B | an info |
/// |---|---|---|---|---|
/// | `Lu` | `getrf`, of any shape | the factors | none | first zero pivot |
/// | `Solve` | `gesv` | the factors | the solutions | first zero pivot |
/// | `LuSolve` | `getrs` | is read | the solutions | none |
/// | `Inverse` | `getrf` and `getri` | is read | the inverse | first zero pivot |
/// | `LuInverse` | `getri` | is read | the inverse | first zero on the diagonal of U |
/// | `Cholesky` | `potrf` | the factor | none | first minor that is not positive |
/// | `PositiveSolve` | `posv` | the factor | the solutions | first minor that is not positive |
/// | `CholeskySolve` | `potrs` | is read | the solutions | none |
/// | `CholeskyInverse` | `potri` | the inverse | none | first zero on the diagonal |
/// | `Triangle` | `trsm` | is read | the solutions | none |
/// | `TriangleInverse` | `trtri` | the inverse | none | first zero on the diagonal |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::libraries::solver) enum Row {
    Lu,
    Solve,
    LuSolve { transposed: bool },
    Inverse,
    LuInverse,
    Cholesky { upper: bool },
    PositiveSolve { upper: bool },
    CholeskySolve { upper: bool },
    CholeskyInverse { upper: bool },
    Triangle { upper: bool, transposed: bool },
    TriangleInverse { upper: bool, unit: bool },
}

/// Solves with a triangle of A, or its transpose, and then with another.
const fn stages(first: u64, second: u64) -> u64 {
    (1 | first) << 16 | (1 | second) << 20
}

impl Row {
    /// What the kernel and the loops do.
    const fn flags(self) -> u64 {
        const WITH_LU: u64 = stages(UNIT, IS_UPPER);
        const fn part(upper: bool) -> u64 {
            if upper { UPPER } else { LOWER }
        }
        const fn both(upper: bool) -> u64 {
            if upper { stages(IS_UPPER | TRANSPOSED, IS_UPPER) } else { stages(0, TRANSPOSED) }
        }
        match self {
            Row::Lu => LU | PIVOTS | KEEP,
            Row::Solve => LU | KEEP | WITH_LU,
            Row::LuSolve { transposed: false } => PIVOTS | WITH_LU,
            Row::LuSolve { transposed: true } => PIVOTS | BACK | stages(IS_UPPER | TRANSPOSED, TRANSPOSED | UNIT),
            Row::Inverse => LU | IDENTITY | CLEAR | WITH_LU,
            Row::LuInverse => PIVOTS | IDENTITY | CHECK | CLEAR | WITH_LU,
            Row::Cholesky { upper } => CHOLESKY | KEEP | part(upper),
            Row::PositiveSolve { upper } => CHOLESKY | KEEP | part(upper) | both(upper),
            Row::CholeskySolve { upper } => part(upper) | both(upper),
            Row::CholeskyInverse { upper } => IDENTITY | IN_PLACE | CHECK | part(upper) | both(upper),
            Row::Triangle { upper, transposed } => {
                let how = if transposed { TRANSPOSED } else { 0 } | if upper { IS_UPPER } else { 0 };
                part(upper) | (1 | how) << STAGES
            }
            Row::TriangleInverse { upper, unit } => {
                let (how, diagonal) = if unit { (UNIT, STRICT) } else { (0, CHECK) };
                let how = how | if upper { IS_UPPER } else { 0 };
                IDENTITY | IN_PLACE | diagonal | part(upper) | (1 | how) << STAGES
            }
        }
    }
}

/// What is done with each matrix, and how it lies in memory.
#[derive(Clone, Copy, Debug)]
pub(in crate::libraries::solver) struct System {
    pub(in crate::libraries::solver) what: u64,
    /// Of A.
    pub(in crate::libraries::solver) rows: usize,
    pub(in crate::libraries::solver) cols: usize,
    /// Columns of B, which has as many rows as A.
    pub(in crate::libraries::solver) right: usize,
    pub(in crate::libraries::solver) lda: usize,
    pub(in crate::libraries::solver) ldb: usize,
}

impl System {
    /// The job, if the matrices of this type are small and have elements. Without a `b` there is none, or it has the place of A.
    pub(in crate::libraries::solver) fn new<T: Element>(row: Row, a: &Matrix, b: Option<&Matrix>) -> Option<Self> {
        let (what, beside) = (row.flags(), if row.flags() & IN_PLACE != 0 { Some(a) } else { b });
        let (right, ldb) = beside.map_or((0, 1), |b| (b.cols, b.leading()));
        let is_small = !a.is_empty() && fits::<T>(&[a.rows, a.cols, right]);
        is_small.then(|| System { what, rows: a.rows, cols: a.cols, right, lda: a.leading(), ldb })
    }

    pub(in crate::libraries::solver) fn is(&self, flag: u64) -> bool {
        self.what & flag != 0
    }

    /// Whether all that is made is the factors and the pivots of LU.
    #[cfg(feature = "cuda")]
    pub(in crate::libraries::solver) fn is_lu_alone(&self) -> bool {
        self.what == Row::Lu.flags()
    }

    /// Pivots, and equations.
    pub(in crate::libraries::solver) fn size(&self) -> usize {
        self.rows.min(self.cols)
    }
}
