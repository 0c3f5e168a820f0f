//! ormqr and unmqr.

use super::super::given::sizes;
use super::super::prelude::*;
use super::Qr;
#[cfg(feature = "host")]
use crate::core::room::collected;
use crate::libraries::flags::Side;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::{dense, small_qr};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::solver) struct Ormqr<T> {
    side: Side,
    trans: Transpose,
    a: Matrix,
    c: Matrix,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Ormqr<T> {
    /// What is done where the matrices are small.
    fn small(&self) -> Option<Job> {
        let sizes = [self.a.rows, self.a.size(), self.c.cols];
        let small = self.side == Side::Left && self.a.size() > 0 && fits_qr::<T>(&sizes);
        let task = Task::Multiply { adjoint: self.trans != Transpose::No };
        small.then(|| Job::new(task, &self.a).first(self.a.size()).beside(&self.c))
    }
}

impl<T: SolverElement> Routine for Ormqr<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "ormqr";
    const OPERANDS: OperandNames = (&["a", "tau"], &["c"]);
    type Reads = (T, T);
    type Output = Tensor<T>;
    type Raw = ();

    fn check(&self, (a, tau): &Spans<(T, T)>, (c,): &Spans<(T,)>) -> Result<()> {
        self.a.check("a", a.len())?;
        check_len("tau", self.a.size(), self.a.count, tau.len())?;
        self.c.check("c", c.len())?;
        let (name, size) = if self.side == Side::Left { ("rows", self.c.rows) } else { ("columns", self.c.cols) };
        if size != self.a.rows {
            let (Matrix { rows, cols, .. }, m) = (self.c, self.a.rows);
            return Err(Error::invalid("c", format!("{size} {name} in {rows} x {cols}, but Q is {m} x {m}")));
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
        if let Some(job) = self.small() {
            let (a, tau) = ((of_a, Memory::Read(a)), Memory::Read(tau));
            small(&job, Operands { a, tau, b: (of_c, c), info: &mut [] });
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
        if let Some(job) = self.small() {
            let (a, b) = ((a.address(), of_a.distance()), (c.address(), of_c.distance()));
            let at = small_qr::Operands { a, tau: tau.address(), b, info: 0 };
            return small_qr::launch::<T>(queue, &job, of_a.count, at);
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

impl<T: SolverElement> Qr<T> {
    pub(super) fn ormqr(
        &self,
        solver: &Solver,
        (side, trans): (Side, Transpose),
        c: Given<'_, T>,
    ) -> Submitted<Tensor<T>> {
        let made = matrices_of("a", &self.reflectors).and_then(|a| {
            // From the right, C has the rows that it has.
            let rows = if side == Side::Left { a.0.rows } else { sizes("c", c.layout())?.1.rows };
            Ok((a, elements_of("tau", &self.tau)?, rows))
        });
        let made = match made {
            Ok((a, tau, rows)) => {
                solver.beside("c", c, (self.reflectors.shape(), rows), None).map(|(of_c, c)| (a, tau, of_c, c))
            }
            Err(error) => Err((error, c)),
        };
        match made {
            Ok(((a, reflectors), tau, of_c, c)) => {
                let op = Ormqr { side, trans, a, c: of_c, _type: PhantomData };
                solver.submit(op, (reflectors, tau), (c,))
            }
            Err((error, c)) => Err(solver.refuse(Ormqr::<T>::NAME, error, |d| Ok((c.back(d)?,)))),
        }
    }
}
