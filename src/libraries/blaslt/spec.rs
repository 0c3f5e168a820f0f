//! The shape of a product, as plain data.

use super::types::MatmulTypes;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::libraries::flags::{Order, Transpose};
use crate::libraries::setters::array_setters;

/// `D = alpha * op(A) * op(B) + beta * C`: `op(A)` is `m x k`, `op(B)` is `k x n`, C and D are `m x n`.
///
/// Unless set: nothing is transposed, all is column-major, leading dimensions and the distances of a batch leave no
/// gaps, there is one matrix, `alpha` is 1 and `beta` 0. The routine behind it is `cublasLtMatmul`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "S: Element")]
#[must_use]
pub struct Matmul<S = f32> {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) trans: [Transpose; 2],
    /// For A, B, C and D, like the arrays below.
    pub(super) order: [Order; 4],
    pub(super) ld: [Option<usize>; 4],
    pub(super) stride: [Option<usize>; 4],
    pub(super) batch: usize,
    pub(super) bias_stride: Option<usize>,
    pub(super) aux_ld: Option<usize>,
    pub(super) aux_stride: Option<usize>,
    /// `None`: 1.
    pub(super) alpha: Option<S>,
    pub(super) beta: S,
    pub(super) tf32: bool,
    pub(super) fast_accumulation: bool,
}

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const D: usize = 3;

impl<S: Element> Matmul<S> {
    /// The plain product of an `m x k` and a `k x n` matrix.
    pub fn new(m: usize, n: usize, k: usize) -> Self {
        Matmul {
            m,
            n,
            k,
            trans: [Transpose::No; 2],
            order: [Order::Column; 4],
            ld: [None; 4],
            stride: [None; 4],
            batch: 1,
            bias_stride: None,
            aux_ld: None,
            aux_stride: None,
            alpha: None,
            beta: S::default(),
            tf32: false,
            fast_accumulation: false,
        }
    }

    /// All four matrices are row-major.
    pub fn row_major(mut self) -> Self {
        self.order = [Order::Row; 4];
        self
    }

    array_setters! {
        /// What is done to A before the product.
        trans_a: trans[A] = Transpose;
        /// What is done to B before the product.
        trans_b: trans[B] = Transpose;
        /// How A lies in memory.
        order_a: order[A] = Order;
        /// How B lies in memory.
        order_b: order[B] = Order;
        /// How a separate C lies in memory.
        order_c: order[C] = Order;
        /// How D lies in memory.
        order_d: order[D] = Order;
        /// Elements between the columns of A as stored, or its rows if it is row-major.
        lda: ld[A] = usize;
        /// Elements between the columns of B as stored, or its rows if it is row-major.
        ldb: ld[B] = usize;
        /// Elements between the columns of a separate C, or its rows if it is row-major.
        ldc: ld[C] = usize;
        /// Elements between the columns of D, or its rows if it is row-major.
        ldd: ld[D] = usize;
        /// Elements between the matrices A of a batch; 0 when all share one.
        stride_a: stride[A] = usize;
        /// Elements between the matrices B of a batch; 0 when all share one.
        stride_b: stride[B] = usize;
        /// Elements between the separate matrices C of a batch; 0 when all share one.
        stride_c: stride[C] = usize;
        /// Elements between the matrices D of a batch.
        stride_d: stride[D] = usize;
    }

    /// A batch of `count` products of the same shape.
    pub fn batch(mut self, count: usize) -> Self {
        self.batch = count;
        self
    }

    /// Elements between the bias vectors (or their gradients) of a batch. Unless set, one bias serves all, and gradients
    /// lie one after the other.
    pub fn stride_bias(mut self, stride: usize) -> Self {
        self.bias_stride = Some(stride);
        self
    }

    /// Leading dimension of an epilogue's auxiliary matrix: for a mask in bits, a multiple of 128; for a pre-activation
    /// in elements, a multiple of 8. At least `m`; unless set, the least such number.
    pub fn ld_aux(mut self, ld: usize) -> Self {
        self.aux_ld = Some(ld);
        self
    }

    /// Distance between the auxiliary matrices of a batch, in the unit of [`ld_aux`](Self::ld_aux), and a multiple of
    /// the same number.
    pub fn stride_aux(mut self, stride: usize) -> Self {
        self.aux_stride = Some(stride);
        self
    }

    /// The factor of the product.
    pub fn alpha(mut self, alpha: S) -> Self {
        self.alpha = Some(alpha);
        self
    }

    /// The factor of C.
    pub fn beta(mut self, beta: S) -> Self {
        self.beta = beta;
        self
    }

    /// Lets a GPU multiply f32 in TF32: factors rounded to 11 significant bits, sums in f32. The host engine always
    /// multiplies in f32.
    pub fn tf32(mut self, allowed: bool) -> Self {
        self.tf32 = allowed;
        self
    }

    /// Lets a GPU accumulate products of 8-bit floats only in the accumulators of its tensor cores, which are less
    /// precise. The host engine always sums in f32.
    pub fn fast_accumulation(mut self, allowed: bool) -> Self {
        self.fast_accumulation = allowed;
        self
    }

    /// Bytes that the ReLU masks of this product take.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when [`ld_aux`](Self::ld_aux) or [`stride_aux`](Self::stride_aux) does not fit.
    pub fn mask_len(&self) -> Result<usize> {
        Ok(self.aux(Auxiliary::Mask)?.len / 8)
    }

    /// Elements that the pre-activations of this product take.
    ///
    /// # Errors
    /// As [`mask_len`](Self::mask_len).
    pub fn preactivation_len(&self) -> Result<usize> {
        Ok(self.aux(Auxiliary::PreActivation)?.len)
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

/// What an auxiliary matrix holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Auxiliary {
    Mask,
    PreActivation,
}

/// The computed layout of an auxiliary matrix; in bits for masks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AuxLayout {
    pub(super) ld: usize,
    pub(super) stride: usize,
    pub(super) len: usize,
}

/// The names of the matrices, of their leading dimensions and of their distances in a batch.
const NAMES: [[&str; 3]; 4] =
    [["a", "lda", "stride_a"], ["b", "ldb", "stride_b"], ["c", "ldc", "stride_c"], ["d", "ldd", "stride_d"]];

impl<S: Element> Matmul<S> {
    /// Checks that sizes and counts fit the library's integers.
    pub(super) fn check_sizes(&self) -> Result<()> {
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

    /// The layout of matrix `which` (A, B, C, D).
    pub(super) fn layout(&self, which: usize) -> Result<Layout> {
        let trans = self.trans.get(which).copied().unwrap_or_default() != Transpose::No;
        let (rows, columns) = match which {
            A if trans => (self.k, self.m),
            A => (self.m, self.k),
            B if trans => (self.n, self.k),
            B => (self.k, self.n),
            _ => (self.m, self.n),
        };
        let [name, ld_name, stride_name] = NAMES.get(which).copied().unwrap_or_default();
        let order = self.order.get(which).copied().unwrap_or_default();
        let (short, long, short_name) = match order {
            Order::Column => (rows, columns, "rows"),
            Order::Row => (columns, rows, "columns"),
        };
        let given = self.ld.get(which).copied().flatten();
        // One matrix without gaps, as almost all are: what follows comes to the same.
        if let (None, 1, 1.., 1.., Some(len)) = (given, self.batch, short, long, rows.checked_mul(columns))
            && len <= i64::MAX as usize
        {
            return Ok(Layout { rows, columns, order, ld: short, stride: 0, len });
        }
        let ld = given.unwrap_or(short.max(1));
        if ld < short.max(1) {
            return Err(Error::invalid(
                ld_name,
                match short {
                    0 => "0, but a leading dimension is at least 1".to_owned(),
                    _ => format!("{ld} is less than the {short} {short_name} of {name}"),
                },
            ));
        }
        let overflow = || Error::invalid(name, format!("a {rows} x {columns} matrix with {ld_name} = {ld} overflows"));
        let span = if rows == 0 || columns == 0 {
            0
        } else {
            ld.checked_mul(long - 1).and_then(|n| n.checked_add(short)).ok_or_else(overflow)?
        };
        if ld > i64::MAX as usize || span > i64::MAX as usize {
            return Err(overflow());
        }
        let dense = if span == 0 { 0 } else { ld.checked_mul(long).ok_or_else(overflow)? };
        let stride = self.stride.get(which).copied().flatten().unwrap_or(dense);
        // Matrices without elements need no memory, whatever their distance.
        if self.batch <= 1 || span == 0 {
            return Ok(Layout { rows, columns, order, ld, stride: 0, len: span * self.batch.min(1) });
        }
        if which == D && stride < span {
            let reason = format!("{stride} is less than the {span} elements of {name}: they would overlap");
            return Err(Error::invalid(stride_name, reason));
        }
        let len = stride.checked_mul(self.batch - 1).and_then(|n| n.checked_add(span));
        match len.filter(|n| *n <= i64::MAX as usize) {
            Some(len) => Ok(Layout { rows, columns, order, ld, stride, len }),
            None => {
                Err(Error::invalid(stride_name, format!("{} matrices {stride} elements apart overflow", self.batch)))
            }
        }
    }

    /// The layout of an auxiliary matrix, in elements or bits.
    pub(super) fn aux(&self, what: Auxiliary) -> Result<AuxLayout> {
        let (unit, units) = match what {
            Auxiliary::Mask => (128, "bits"),
            Auxiliary::PreActivation => (8, "elements"),
        };
        let overflow = || Error::invalid("ld_aux", format!("an auxiliary matrix of {} x {} overflows", self.m, self.n));
        let least = self.m.checked_next_multiple_of(unit).ok_or_else(overflow)?.max(unit);
        let ld = self.aux_ld.unwrap_or(least);
        if !ld.is_multiple_of(unit) || ld < least {
            return Err(Error::invalid(
                "ld_aux",
                format!("{ld} {units}: it must be a multiple of {unit} and hold the {} rows of d", self.m),
            ));
        }
        let span = ld.checked_mul(self.n).filter(|n| *n <= i64::MAX as usize).ok_or_else(overflow)?;
        let stride = self.aux_stride.unwrap_or(span);
        if self.batch <= 1 {
            return Ok(AuxLayout { ld, stride: 0, len: span * self.batch.min(1) });
        }
        if !stride.is_multiple_of(unit) || stride < span {
            return Err(Error::invalid(
                "stride_aux",
                format!("{stride} {units}: it must be a multiple of {unit} and at least the {span} of a matrix"),
            ));
        }
        let len = stride.checked_mul(self.batch - 1).and_then(|n| n.checked_add(span));
        match len.filter(|n| *n <= i64::MAX as usize) {
            Some(len) => Ok(AuxLayout { ld, stride, len }),
            None => {
                Err(Error::invalid("stride_aux", format!("{} matrices {stride} {units} apart overflow", self.batch)))
            }
        }
    }

    pub(super) fn alpha_of<T: MatmulTypes<Scalar = S>>(&self) -> S {
        self.alpha.unwrap_or(T::ONE)
    }
}

pub(super) const MATRICES: [usize; 4] = [A, B, C, D];
