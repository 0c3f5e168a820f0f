//! The elimination tree of a symmetric matrix in a given order, and the structure of its Cholesky factor (Liu, "The
//! role of elimination trees in sparse factorization", SIAM J. Matrix Anal. Appl. 11, 1990).

use crate::core::room::{OrUnwind, copied, extend, filled, push};
use crate::libraries::sparse::host::{at, put};

/// The parent of a root, which has none.
pub(crate) const NONE: usize = usize::MAX;

/// The structure of a factor of `n` columns.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// The parent of each column: the row of the first entry below its diagonal.
    pub(crate) parents: Vec<usize>,
    /// The position of the first entry of each column, and the end.
    pub(crate) offsets: Vec<usize>,
}

/// The rows above the diagonal of each column `k` of a matrix, one column after the other.
#[derive(Clone, Debug)]
pub(crate) struct Above {
    pub(crate) offsets: Vec<usize>,
    pub(crate) rows: Vec<usize>,
}

impl Above {
    /// Built from pairs of a row and a larger column.
    pub(crate) fn new(n: usize, pairs: &[(usize, usize)]) -> Self {
        let mut offsets = filled(n + 1, 0).or_unwind();
        for (_, k) in pairs {
            let count = at(&offsets, *k + 1);
            put(&mut offsets, *k + 1, count + 1);
        }
        for k in 0..n {
            let sum = at(&offsets, k) + at(&offsets, k + 1);
            put(&mut offsets, k + 1, sum);
        }
        let total = at(&offsets, n);
        let (mut rows, mut next) = (filled(total, 0).or_unwind(), copied(&offsets).or_unwind());
        for (j, k) in pairs {
            let place = at(&next, *k);
            put(&mut rows, place, *j);
            put(&mut next, *k, place + 1);
        }
        Above { offsets, rows }
    }

    /// The positions of column `k`.
    pub(crate) fn range(&self, k: usize) -> std::ops::Range<usize> {
        at(&self.offsets, k)..at(&self.offsets, k + 1)
    }
}

impl Tree {
    pub(crate) fn new(n: usize, above: &Above) -> Self {
        let (mut parents, mut ancestors) = (filled(n, NONE).or_unwind(), filled(n, NONE).or_unwind());
        for k in 0..n {
            for place in above.range(k) {
                let mut i = at(&above.rows, place);
                // Goes up to the root of the subtree, whose parent becomes `k`. Path compression: the columns on the
                // way point to `k` now.
                while i < k {
                    let up = ancestors.get(i).copied().unwrap_or(NONE);
                    put(&mut ancestors, i, k);
                    if up == NONE {
                        put(&mut parents, i, k);
                    }
                    i = up;
                }
            }
        }
        let mut tree = Tree { parents, offsets: filled(n + 1, 0).or_unwind() };
        // Each column has its diagonal, and an entry for each row that reaches it.
        let (mut counts, mut reach) = (filled(n, 1).or_unwind(), Reach::new(n));
        for k in 0..n {
            for i in reach.columns(k, above, &tree.parents) {
                let count = at(&counts, *i);
                put(&mut counts, *i, count + 1);
            }
        }
        let mut sum = 0usize;
        for (k, count) in counts.iter().enumerate() {
            sum += count;
            put(&mut tree.offsets, k + 1, sum);
        }
        tree
    }
}

/// The columns of the factor with an entry in a given row: those on the paths upwards from the entries of the matrix.
pub(crate) struct Reach {
    marks: Vec<usize>,
    path: Vec<usize>,
    found: Vec<usize>,
}

impl Reach {
    pub(crate) fn new(n: usize) -> Self {
        Reach { marks: filled(n, NONE).or_unwind(), path: Vec::new(), found: Vec::new() }
    }

    /// The columns of row `k`, in an order in which no column comes before one below it in the tree.
    pub(crate) fn columns(&mut self, k: usize, above: &Above, parents: &[usize]) -> &[usize] {
        self.found.clear();
        put(&mut self.marks, k, k);
        for place in above.range(k) {
            let mut i = at(&above.rows, place);
            self.path.clear();
            while i < k && self.marks.get(i).is_some_and(|mark| *mark != k) {
                push(&mut self.path, i).or_unwind();
                put(&mut self.marks, i, k);
                i = parents.get(i).copied().unwrap_or(NONE);
            }
            // Each path is sorted. A later path ends where it meets an earlier one, so it is placed before that one.
            extend(&mut self.found, self.path.iter().rev().copied()).or_unwind();
        }
        self.found.reverse();
        &self.found
    }
}
