//! Where the matrices of a product lie, as plain data.

use crate::core::error::{Error, Result};
use crate::device::tensor;
use crate::libraries::flags::Order;
use crate::libraries::operands::Matrices;

/// `A` is `m x k`, `B` is `k x n`, C and D are `m x n`.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Sizes {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) batch: usize,
    /// Of A, B, C and D, like the arrays below.
    pub(super) order: [Order; 4],
    pub(super) ld: [usize; 4],
    /// From a matrix of the batch to the next; 0 when all share one.
    pub(super) stride: [usize; 4],
    /// The same of the biases that are read.
    pub(super) bias_stride: usize,
}

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const D: usize = 3;
pub(super) const MATRICES: [usize; 4] = [A, B, C, D];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The matrices of a view, repeated along the batch axes of D.
fn matrices(name: &'static str, layout: &tensor::Layout, d: &tensor::Layout) -> Result<Matrices> {
    Matrices::along(name, layout, d.shape().split_last_chunk::<2>().map_or(&[], |(batch, _)| batch))
}

/// Checks the size of a matrix.
fn check(name: &'static str, found: &Matrices, (rows, cols): (usize, usize), why: impl Fn() -> String) -> Result<()> {
    if (found.rows, found.cols) == (rows, cols) {
        return Ok(());
    }
    Err(Error::invalid(name, format!("matrices of {} x {}, but {}", found.rows, found.cols, why())))
}

impl Sizes {
    /// What the views say. Where a D lies by rows as well as by columns, it is read in order `wanted`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, and for matrices that lie neither by rows nor by columns, or
    /// not at even distances.
    pub(super) fn of_views(
        [a, b]: [&tensor::Layout; 2],
        c: Option<&tensor::Layout>,
        d: &tensor::Layout,
        wanted: Order,
    ) -> Result<Self> {
        let of_d = Matrices::from_layout("d", d)?;
        let (a, b) = (matrices("a", a, d)?, matrices("b", b, d)?);
        let (m, n, k) = (a.rows, b.cols, a.cols);
        check("b", &b, (k, n), || format!("a is {m} x {k}"))?;
        check("d", &of_d, (m, n), || format!("the products of {m} x {k} and {k} x {n} are {m} x {n}"))?;
        let c = match c {
            None => of_d,
            Some(c) => {
                let c = matrices("c", c, d)?;
                check("c", &c, (m, n), || format!("d is {m} x {n}"))?;
                c
            }
        };
        let (order_d, ldd) = of_d.lines("d", wanted)?;
        let ((order_a, lda), (order_b, ldb)) = (a.lines("a", order_d)?, b.lines("b", order_d)?);
        let (order_c, ldc) = c.lines("c", order_d)?;
        Ok(Sizes {
            m,
            n,
            k,
            batch: of_d.count,
            order: [order_a, order_b, order_c, order_d],
            ld: [lda, ldb, ldc, ldd],
            stride: [a.stride, b.stride, c.stride, of_d.stride],
            bias_stride: 0,
        })
    }

    /// The distance between the biases of a batch: vectors of `len` elements along the last axis.
    pub(super) fn vectors(
        name: &'static str,
        layout: &tensor::Layout,
        d: &tensor::Layout,
        len: usize,
    ) -> Result<usize> {
        let given = || format!("{layout:?}, but d of {:?} takes {len} elements along its last axis", d.shape());
        if layout.shape().last() != Some(&len) {
            return Err(Error::invalid(name, given()));
        }
        let vectors = matrices(name, &layout.unsqueeze(-2)?, d)?;
        match vectors.lines(name, Order::Row)? {
            (Order::Row, _) => Ok(vectors.stride),
            (Order::Column, _) => {
                Err(Error::invalid(name, format!("{layout:?}: no neighbours; `contiguous` makes a copy whose are")))
            }
        }
    }
}

/// The computed layout of a matrix.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) order: Order,
    pub(super) ld: usize,
    /// 0 if there is one matrix.
    pub(super) stride: usize,
    /// The elements that all matrices span.
    pub(super) len: usize,
}

impl Layout {
    /// The same memory as the transpose.
    pub(super) fn transposed(self) -> Self {
        let order = if self.order == Order::Row { Order::Column } else { Order::Row };
        Layout { rows: self.columns, columns: self.rows, order, ..self }
    }
}

/// What an auxiliary matrix holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Auxiliary {
    Mask,
    PreActivation,
}

/// The computed layout of an auxiliary matrix; in bits for masks. Its lines are those of D.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AuxLayout {
    pub(super) ld: usize,
    pub(super) stride: usize,
    pub(super) len: usize,
}

impl Sizes {
    /// Checks that sizes and counts fit the library's integers.
    pub(super) fn check(&self) -> Result<()> {
        for (name, value) in [("m", self.m), ("n", self.n), ("k", self.k)] {
            if value > i64::MAX as usize {
                return Err(Error::invalid(name, format!("{value} does not fit the library's 64-bit integers")));
            }
        }
        if self.batch > i32::MAX as usize {
            let reason = format!("{} matrices do not fit the library's 32-bit count", self.batch);
            return Err(Error::invalid("batch", reason));
        }
        Ok(())
    }

    /// Whether D is empty: no element is computed.
    pub(super) fn is_empty(&self) -> bool {
        self.m == 0 || self.n == 0 || self.batch == 0
    }

    /// The order of D.
    pub(super) fn order_d(&self) -> Order {
        let [.., order] = self.order;
        order
    }

    /// The elements of a line of D, and its lines: columns, or rows if it is row-major.
    pub(super) fn lines_of_d(&self) -> (usize, usize) {
        if self.order_d() == Order::Row { (self.n, self.m) } else { (self.m, self.n) }
    }

    /// The layout of matrix `which` (A, B, C, D).
    pub(super) fn layout(&self, which: usize) -> Result<Layout> {
        let (rows, columns) = match which {
            A => (self.m, self.k),
            B => (self.k, self.n),
            _ => (self.m, self.n),
        };
        let name = NAMES.get(which).copied().unwrap_or_default();
        let order = self.order.get(which).copied().unwrap_or_default();
        let (short, long) = if order == Order::Row { (columns, rows) } else { (rows, columns) };
        let ld = self.ld.get(which).copied().unwrap_or_default();
        // One matrix without gaps, as almost all are: what follows comes to the same.
        if let (true, 1, 1.., 1.., Some(len)) = (ld == short, self.batch, short, long, rows.checked_mul(columns))
            && len <= i64::MAX as usize
        {
            return Ok(Layout { rows, columns, order, ld, stride: 0, len });
        }
        if ld < short.max(1) {
            return Err(Error::invalid(name, format!("lines {ld} apart, which have {short} elements")));
        }
        let overflow = || Error::invalid(name, format!("a {rows} x {columns} matrix with lines {ld} apart overflows"));
        let span = if rows == 0 || columns == 0 {
            0
        } else {
            ld.checked_mul(long - 1).and_then(|n| n.checked_add(short)).ok_or_else(overflow)?
        };
        if ld > i64::MAX as usize || span > i64::MAX as usize {
            return Err(overflow());
        }
        // Matrices without elements need no memory, whatever their distance.
        if self.batch <= 1 || span == 0 {
            return Ok(Layout { rows, columns, order, ld, stride: 0, len: span * self.batch.min(1) });
        }
        let stride = self.stride.get(which).copied().unwrap_or_default();
        if which == D && stride < span {
            let reason = format!("its matrices are {stride} apart, but span {span} elements: they would overlap");
            return Err(Error::invalid(name, reason));
        }
        let len = stride.checked_mul(self.batch - 1).and_then(|n| n.checked_add(span));
        match len.filter(|n| *n <= i64::MAX as usize) {
            Some(len) => Ok(Layout { rows, columns, order, ld, stride, len }),
            None => Err(Error::invalid(name, format!("{} matrices {stride} elements apart overflow", self.batch))),
        }
    }

    /// The layout of an auxiliary matrix, in elements or bits: lines as near to each other as the library allows.
    pub(super) fn aux(&self, what: Auxiliary) -> Result<AuxLayout> {
        let unit = if what == Auxiliary::Mask { 128 } else { 8 };
        let (line, lines) = self.lines_of_d();
        let sizes = || {
            let ld = line.checked_next_multiple_of(unit)?.max(unit);
            let stride = ld.checked_mul(lines)?;
            let len = stride.checked_mul(self.batch).filter(|n| *n <= i64::MAX as usize)?;
            Some(AuxLayout { ld, stride: if self.batch <= 1 { 0 } else { stride }, len })
        };
        sizes().ok_or_else(|| {
            let reason = format!("{} auxiliary matrices of {} x {} overflow", self.batch, self.m, self.n);
            Error::invalid("d", reason)
        })
    }

    /// The number of elements that the vectors of all matrices of the batch span.
    pub(super) fn span_of_vectors(&self, len: usize) -> Result<usize> {
        let stride = self.bias_stride;
        let overflow = || Error::invalid("bias", format!("{} vectors {stride} apart overflow", self.batch));
        match self.batch {
            0 => Ok(0),
            batch => stride.checked_mul(batch - 1).and_then(|n| n.checked_add(len)).ok_or_else(overflow),
        }
    }
}
