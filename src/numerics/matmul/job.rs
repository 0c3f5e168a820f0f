//! One problem: turns row-major order into column-major order, and loops over batches and panels.

use crate::core::room::{OrUnwind, collected, filled, with_capacity};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use super::super::parallel;
use super::super::spec::{GemmSpec, Trans};
use super::column::{Activation, Along, Column, Common};
use super::matrix::{Factor, Matrix};
use super::product::Product;
use super::stored::Stored;
use super::sum::{Sum, sums_of};
use super::work::Work;

/// The factor that converts stored values to the values that they represent.
#[derive(Clone, Copy, Debug, Default)]
pub enum Scale<'x> {
    /// No scale.
    #[default]
    One,
    /// One for all elements.
    Tensor(f32),
    /// One for each row of `op(A)` or each column of `op(B)`.
    Vector(&'x [f32]),
}

/// A sum that is written in addition to D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grad {
    /// Over what a bias is repeated along, of D before its scale and rounding.
    OfBias,
    /// Over the columns of `op(A)`: one element per row.
    OfA,
    /// Over the rows of `op(B)`: one element per column.
    OfB,
}

/// One product and its epilogue. The caller has checked all lengths; parts that do not fit are not computed.
pub struct Job<'x, A, B, C, D, W, Bias, Aux> {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub batch: usize,
    pub a: Matrix<&'x [A]>,
    pub b: Matrix<&'x [B]>,
    /// `None`: D is its own C.
    pub c: Option<Matrix<&'x [C]>>,
    pub d: Matrix<&'x mut [D]>,
    pub alpha: W,
    pub beta: W,
    pub scale_a: Scale<'x>,
    pub scale_b: Scale<'x>,
    pub scale_d: f32,
    pub activation: Activation,
    /// One element for each place in the lines of D, which are columns, or rows if D is stored by rows, and the distance to the
    /// bias of the next matrix.
    pub bias: Option<(&'x [Bias], usize)>,
    /// The bias, or its gradient, has an element for each line instead.
    pub across: bool,
    /// Leading dimension of the auxiliary matrices below, and the distance between two of them; in bits for masks.
    pub aux: (usize, usize),
    pub mask_in: Option<&'x [u8]>,
    pub pre_in: Option<&'x [Aux]>,
    pub mask_out: Option<&'x mut [u8]>,
    pub pre_out: Option<&'x mut [Aux]>,
    /// Which sum, its destination, and the distance to the destination of the next matrix.
    pub grad: Option<(Grad, &'x mut [Bias], usize)>,
    /// The largest magnitude of D before its scale and rounding.
    pub amax: Option<&'x mut f32>,
}

/// Maximum number of accumulators of one panel: 16 MiB of f32.
const PANEL: usize = 1 << 22;
/// Up to this many multiply-adds per matrix, the matrices of a batch are distributed over the threads.
const SMALL: usize = 256 * 256 * 256;

/// The outputs of matrix `at` of a batch.
struct One<'x, D, Bias, Aux> {
    at: usize,
    d: &'x mut [D],
    mask: Option<&'x mut [u8]>,
    pre: Option<&'x mut [Aux]>,
    grad: Option<&'x mut [Bias]>,
}

impl<'x, A, B, C, D, W, Bias, Aux> Job<'x, A, B, C, D, W, Bias, Aux>
where
    A: Product<B, W::Acc> + Stored<W>,
    B: Product<A, W::Acc> + Stored<W>,
    C: Stored<W>,
    D: Stored<W>,
    W: Work,
    Bias: Stored<W>,
    Aux: Stored<W>,
{
    /// The number of elements of a bias.
    #[inline(always)]
    fn bias_len(&self) -> usize {
        if self.across == self.d.by_rows { self.m } else { self.n }
    }

    /// Handles a D without elements: sets the sums of every matrix of the batch, and `amax`, to zero.
    fn nothing(self) {
        let len = self.bias_len();
        if let Some((Grad::OfBias, grad, stride)) = self.grad {
            let rest = if stride == 0 { grad.len().max(1) } else { stride };
            grad.chunks_mut(rest)
                .take(self.batch)
                .for_each(|one| one.iter_mut().take(len).for_each(|x| *x = Bias::default()));
        }
        if let Some(amax) = self.amax {
            *amax = 0.0;
        }
    }

    /// Computes the product and its epilogue.
    pub fn run(mut self) {
        // The sums of a factor do not depend on the other one, which may have nothing.
        let of_factor = matches!(self.grad, Some((Grad::OfA | Grad::OfB, ..)));
        if (self.m == 0 || self.n == 0) && !of_factor {
            return self.nothing();
        }
        let amax = AtomicU32::new(0);
        let strides = (self.d.stride, self.aux.1, self.grad.as_ref().map_or(0, |(_, _, stride)| *stride));
        let kind = self.grad.as_ref().map(|(kind, ..)| *kind);
        let rest = |stride: usize, len: usize| if stride == 0 { len.max(1) } else { stride };
        let mut d = self.d.data.chunks_mut(rest(strides.0, usize::MAX));
        let mut mask = self.mask_out.take().map(|m| m.chunks_mut(rest(strides.1 / 8, usize::MAX)));
        let mut pre = self.pre_out.take().map(|p| p.chunks_mut(rest(strides.1, usize::MAX)));
        let mut grad = self.grad.take().map(|(_, g, _)| g.chunks_mut(rest(strides.2, usize::MAX)));
        let matrices = (0..self.batch).map(|at| One {
            at,
            d: d.next().unwrap_or_default(),
            mask: mask.as_mut().and_then(Iterator::next),
            pre: pre.as_mut().and_then(Iterator::next),
            grad: grad.as_mut().and_then(Iterator::next),
        });
        let shape = Shape {
            m: self.m,
            n: self.n,
            k: self.k,
            a: &self.a,
            b: &self.b,
            c: self.c.as_ref(),
            by_rows: self.d.by_rows,
            ldd: self.d.ld,
            alpha: self.alpha,
            beta: self.beta,
            scale_a: self.scale_a,
            scale_b: self.scale_b,
            scale_d: self.scale_d,
            activation: self.activation,
            bias: self.bias,
            across: self.across,
            aux: self.aux,
            mask: self.mask_in,
            pre: self.pre_in,
            grad: kind,
            amax: self.amax.is_some().then_some(&amax),
        };
        let work = self.m.saturating_mul(self.n).saturating_mul(self.k);
        if self.batch > 1 && work <= SMALL && rayon::current_num_threads() > 1 {
            parallel::each(collected(matrices).or_unwind(), 1, &|one| shape.one(one));
        } else {
            matrices.for_each(|one| shape.one(one));
        }
        if let Some(to) = self.amax {
            *to = f32::from_bits(amax.load(Ordering::Relaxed));
        }
    }
}

/// What all matrices of a batch share.
struct Shape<'s, 'x, A, B, C, W, Bias, Aux> {
    m: usize,
    n: usize,
    k: usize,
    a: &'s Matrix<&'x [A]>,
    b: &'s Matrix<&'x [B]>,
    c: Option<&'s Matrix<&'x [C]>>,
    by_rows: bool,
    ldd: usize,
    alpha: W,
    beta: W,
    scale_a: Scale<'x>,
    scale_b: Scale<'x>,
    scale_d: f32,
    activation: Activation,
    bias: Option<(&'x [Bias], usize)>,
    across: bool,
    aux: (usize, usize),
    mask: Option<&'x [u8]>,
    pre: Option<&'x [Aux]>,
    grad: Option<Grad>,
    amax: Option<&'s AtomicU32>,
}

impl<A, B, C, W, Bias, Aux> Shape<'_, '_, A, B, C, W, Bias, Aux>
where
    A: Product<B, W::Acc> + Stored<W>,
    B: Product<A, W::Acc> + Stored<W>,
    C: Stored<W>,
    W: Work,
    Bias: Stored<W>,
    Aux: Stored<W>,
{
    fn one<D: Stored<W>>(&self, mut one: One<'_, D, Bias, Aux>) {
        let (at, flip) = (one.at, self.by_rows);
        let a = self.a.factor(at, self.a.span(self.m, self.k), flip, A::conjugate);
        let b = self.b.factor(at, self.b.span(self.k, self.n), flip, B::conjugate);
        let of_factor = match self.grad {
            Some(Grad::OfA) => Some((&mut one.grad, self.m)),
            Some(Grad::OfB) => Some((&mut one.grad, self.n)),
            _ => None,
        };
        if let Some((grad, len)) = of_factor
            && let Some(grad) = grad.take().and_then(|g| g.get_mut(..len))
        {
            // The sum over `k`, which runs along the rows of op(A) and along the columns of op(B).
            match self.grad {
                Some(Grad::OfA) => sums_of::<A, W, Bias>(&a, (a.op == Trans::No) ^ flip, self.k, grad),
                _ => sums_of::<B, W, Bias>(&b, (b.op != Trans::No) ^ flip, self.k, grad),
            }
        }
        match flip {
            false => self.panels::<A, B, D>((self.m, self.n), &a, &b, one),
            true => self.panels::<B, A, D>((self.n, self.m), &b, &a, one),
        }
    }

    /// What all columns of matrix `at` share.
    fn common(&self, at: usize) -> Common<'_, C, W, Bias, Aux> {
        let (ld, stride) = self.aux;
        let along = if self.across { Along::Columns } else { Along::Rows };
        let c = self.c.map(|c| {
            let (rows, columns) = if c.by_rows == self.by_rows { (1, c.ld) } else { (c.ld, 1) };
            (c.data.get(at * c.stride..).unwrap_or_default(), rows, columns)
        });
        let (row_scale, column_scale) = match self.by_rows {
            false => (self.scale_a, self.scale_b),
            true => (self.scale_b, self.scale_a),
        };
        Common {
            alpha: self.alpha,
            beta: self.beta,
            row_scale,
            column_scale,
            scale_d: self.scale_d,
            bias: self.bias.map(|(bias, stride)| (bias.get(at * stride..).unwrap_or_default(), along)),
            activation: self.activation,
            mask: self.mask.map(|mask| (mask.get(at * stride / 8..).unwrap_or_default(), ld)),
            pre: self.pre.map(|pre| (pre.get(at * stride..).unwrap_or_default(), ld)),
            c,
            amax: self.amax,
        }
    }

    /// The sums of these columns of `left * right`, without a factor.
    fn sums<L, R>(
        &self,
        left: &Factor<'_, L>,
        right: &Factor<'_, R>,
        (m, columns): (usize, Range<usize>),
        sums: &mut [W::Acc],
    ) where
        L: Product<R, W::Acc>,
        R: Product<L, W::Acc>,
    {
        if self.k == 0 || self.alpha == W::default() {
            return sums.fill(W::Acc::default());
        }
        let (first, n) = (columns.start, columns.len());
        let from = if right.op == Trans::No { first.saturating_mul(right.ld) } else { first };
        let (op_a, op_b, alpha, beta) = (left.op, right.op, (), ());
        let spec = GemmSpec { m, n, k: self.k, op_a, lda: left.ld, op_b, ldb: right.ld, ldc: m, alpha, beta };
        L::product(&spec, &left.data, right.data.get(from..).unwrap_or_default(), sums);
    }

    /// The product `left * right` with D stored by columns.
    fn panels<L, R, D>(
        &self,
        (m, n): (usize, usize),
        left: &Factor<'_, L>,
        right: &Factor<'_, R>,
        one: One<'_, D, Bias, Aux>,
    ) where
        L: Product<R, W::Acc>,
        R: Product<L, W::Acc>,
        D: Stored<W>,
    {
        let One { at, d, mask, pre, grad } = one;
        if m == 0 || n == 0 {
            return; // the sums of a factor are there
        }
        let (ld, _) = self.aux;
        let common = self.common(at);
        let sums_of_bias = if self.across { n } else { m };
        let mut sum = grad.map(|grad| (grad, filled(sums_of_bias, Sum::default()).or_unwind()));
        let width = (PANEL / m).clamp(1, n);
        let mut sums = filled(m.saturating_mul(width), W::Acc::default()).or_unwind();
        let mut values = if sum.is_some() { filled(sums.len(), W::default()).or_unwind() } else { Vec::new() };
        let mut d = d.chunks_mut(self.ldd.max(1));
        let mut mask = mask.map(|m| m.chunks_mut((ld / 8).max(1)));
        let mut pre = pre.map(|p| p.chunks_mut(ld.max(1)));
        for first in (0..n).step_by(width) {
            let width = width.min(n - first);
            self.sums(left, right, (m, first..first + width), &mut sums);
            let mut kept = values.chunks_mut(m);
            let mut columns = with_capacity(width).or_unwind();
            for (j, sums) in sums.chunks(m).take(width).enumerate() {
                let Some(d) = d.next().and_then(|d| d.get_mut(..m)) else { return };
                let (mask, pre) = (mask.as_mut().and_then(Iterator::next), pre.as_mut().and_then(Iterator::next));
                columns.push(Column { index: first + j, sums, d, mask, pre, values: kept.next() });
            }
            if m * width < 1 << 15 {
                columns.into_iter().for_each(|column| common.finish(column));
            } else {
                parallel::each(columns, 1, &|column| common.finish(column));
            }
            if let Some((_, sum)) = &mut sum {
                for (j, column) in values.chunks(m).take(width).enumerate() {
                    match sum.get_mut(first + j).filter(|_| self.across) {
                        Some(sum) => column.iter().for_each(|x| sum.push(*x)),
                        None => sum.iter_mut().zip(column).for_each(|(sum, x)| sum.push(*x)),
                    }
                }
            }
        }
        if let Some((grad, sum)) = sum {
            let sum: Vec<W> = collected(sum.into_iter().map(Sum::value)).or_unwind();
            Bias::down(&sum, grad.get_mut(..sums_of_bias).unwrap_or_default());
        }
    }
}
