//! ormqr and unmqr.

use super::super::prelude::*;
#[cfg(feature = "host")]
use crate::core::room::collected;
use crate::libraries::flags::Side;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::dense;

/// The product of the Q of a [`Qr`](super::super::Qr) with another matrix: see [`Solver::ormqr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct ApplyQ {
    side: Side,
    trans: Transpose,
    a: Matrix,
    c: Matrix,
}

impl ApplyQ {
    /// `Q * C` for the Q of the factored matrix `of_a`.
    pub fn new(of_a: Matrix, of_c: Matrix) -> Self {
        ApplyQ { side: Side::Left, trans: Transpose::No, a: of_a, c: of_c }
    }

    /// The side of C from which Q is multiplied.
    pub fn side(mut self, side: Side) -> Self {
        self.side = side;
        self
    }

    /// Whether Q is transposed.
    pub fn trans(mut self, trans: Transpose) -> Self {
        self.trans = trans;
        self
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::solver) struct Ormqr<T> {
    side: Side,
    trans: Transpose,
    a: Matrix,
    c: Matrix,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Routine for Ormqr<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "ormqr";
    const OPERANDS: OperandNames = (&["a", "tau"], &["c"]);
    type Reads = (T, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, tau): &Spans<(T, T)>, (c,): &Spans<(T,)>) -> Result<()> {
        self.a.check("a", a.len())?;
        check_len("tau", self.a.size(), self.a.count, tau.len())?;
        self.c.check("c", c.len())?;
        let (name, size) = if self.side == Side::Left { ("rows", self.c.rows) } else { ("columns", self.c.cols) };
        if size != self.a.rows {
            return Err(Error::invalid("c", format!("{size} {name}, but Q has {} rows", self.a.rows)));
        }
        if self.c.count != self.a.count {
            return Err(Error::invalid("c", format!("{} matrices, but Q has {}", self.c.count, self.a.count)));
        }
        if self.trans == Transpose::Yes && T::DTYPE.is_complex() {
            let what = "the plain transpose of a complex Q is not available: use `Transpose::Conjugate`";
            return Err(Error::invalid("trans", what));
        }
        Ok(())
    }

    fn cost(&self) -> Cost {
        let Matrix { rows, cols, count, .. } = self.c;
        cost::<T>(6, [rows, cols, self.a.size()], count, rows.saturating_mul(cols).saturating_mul(2))
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, tau): (&[T], &[T]), (c,): (&mut [T],)) -> Result<()> {
        let (of_a, of_c) = (&self.a, &self.c);
        if of_c.is_empty() {
            return Ok(());
        }
        let factors = batch::parts(of_a, a).into_iter().zip(batch::vectors(tau, of_a.size(), of_a.count));
        let items = collected(factors.zip(batch::parts_mut(of_c, c)))?;
        let (left, adjoint) = (self.side == Side::Left, self.trans != Transpose::No);
        let work = of_c.rows.saturating_mul(of_c.cols).saturating_mul(of_a.size());
        batch::each(items, work, |((a, tau), c), threads| T::ormqr(left, adjoint, a, tau, c, threads));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((a, tau), (c,)) = (queue.reads(), queue.writes());
        let (of_a, of_c, size) = (&self.a, &self.c, self.a.size());
        if of_c.is_empty() || size == 0 {
            return Ok(());
        }
        let info = queue.scratch(4)?;
        for k in 0..of_a.count {
            let a = (of_a.address::<T>(a.address(), k), of_a.leading());
            let c = (of_c.address::<T>(c.address(), k), of_c.leading());
            let tau = tau.address() + (k * size * size_of::<T>()) as u64;
            let how = (self.side == Side::Left, self.trans);
            dense::ormqr::<T>(queue, how, [of_c.rows, of_c.cols, size], (a, tau), c, info)?;
        }
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Solver {
    /// `op(Q) * C` or `C * op(Q)` in place of C, with the reflectors and tau of [`qr`](Self::qr) (`ormqr`, `unmqr`;
    /// `cusolverDn<t>ormqr`, `cusolverDn<t>unmqr`). Q is square and has as many rows as A.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, something does not lie inside its buffer, or `trans` is a plain
    /// transpose of a complex Q; a stale or foreign buffer. C comes back.
    pub fn ormqr<'a, T: SolverElement>(
        &self,
        spec: ApplyQ,
        reflectors: impl Readable<'a, T>,
        tau: impl Readable<'a, T>,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let ApplyQ { side, trans, a, c: of_c } = spec;
        let op = Ormqr { side, trans, a, c: of_c, _type: PhantomData };
        self.submit(op, (reflectors.into(), tau.into()), (c,))
    }
}
