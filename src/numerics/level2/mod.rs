//! Matrices and vectors: products, triangular solves, rank-1 and rank-2 updates.
//!
//! In every storage (full, banded, packed; a triangle or the whole matrix) **the stored part of a column is
//! contiguous**, and the columns lie one after the other. So each routine is written once, over the pieces that
//! [`Stored`] describes. Its inner loop is one [`Pass`](kernel::Pass) over a few columns: `y += factor * column`, dot
//! products with x, or both. Multiply-adds are fused and vectors are as wide as the machine has them, so another
//! machine may round differently. (Updates process one column at a time, with the loop of level 1.)
//!
//! Vectors with increments are copied to contiguous ones first, which costs about as much as one column of the matrix.
//!
//! Large matrices are split among threads by rows, by columns, or by stretches of adjacent columns. The split depends
//! only on the sizes, so the result is the same for any number of threads.
//!
//! | module | what it does |
//! |---|---|
//! | `batch` | many small problems over threads |
//! | `stored` | where the columns of a stored matrix lie |
//! | `dense` | copies vectors with increments to contiguous ones, and back |
//! | `kernel` | one pass over a few columns |
//! | `walk` | all columns of a panel, eight at a time |
//! | `product` | `op(A) x` of any stored matrix: gemv, gbmv, and the triangular trmv, tbmv, tpmv |
//! | `symmetric` | symv, hemv and their banded and packed forms |
//! | `solve` | trsv, tbsv, tpsv |
//! | `update` | ger, syr, her, syr2, her2 and their packed forms |

mod batch;
mod dense;
mod kernel;
mod product;
mod solve;
mod stored;
mod symmetric;
mod update;
mod walk;

pub(crate) use batch::{each_in, each_of};
pub(crate) use product::{gemv, trmv};
pub(crate) use solve::trsv;
pub(crate) use stored::{Layout, Stored};
pub(crate) use symmetric::symv;
pub(crate) use update::{ger, syr, syr2};

/// From this many elements of a matrix, it pays to wake other threads: one thread reads them in about 10 us.
const PARALLEL: usize = 1 << 17;
/// Minimum number of matrix elements per task.
const TASK: usize = 1 << 14;

/// How a vector lies in memory: the number of its elements and its increment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) n: usize,
    pub(crate) inc: isize,
}
