//! Matrices and vectors: products, triangular solves and updates of one or two columns.
//!
//! Whatever the storage (full, by bands, packed; a triangle or all of it), **the stored part of a column is
//! contiguous**, and columns lie one after the other. So each routine is written once, over the pieces that [`Stored`]
//! names, and its loops are those of one [`Pass`](kernel::Pass) over a few columns: `y += factor * column`, the sums of
//! products with x, or both. Multiply-adds are fused and vectors as wide as the machine has them, so another machine may
//! round otherwise. (Updates add vectors to one column at a time, as level 1 does.)
//!
//! Vectors with increments are copied to contiguous ones first, which costs one of a matrix's many columns.
//!
//! Large matrices are shared among threads by rows, columns, or stretches of columns whose number depends on the sizes
//! alone: the result is the same for any number of threads.
//!
//! | module | what it does |
//! |---|---|
//! | `batch` | many small problems over threads |
//! | `stored` | where the columns of a stored matrix lie |
//! | `dense` | vectors with increments as contiguous ones |
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

/// From so many elements of a matrix on, threads are worth waking: one has read them in some 10 us.
const PARALLEL: usize = 1 << 17;
/// Elements of a matrix that one task should have at least.
const TASK: usize = 1 << 14;

/// Where a vector lies: how many elements, how far apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) n: usize,
    pub(crate) inc: isize,
}
