//! orgqr and ungqr.

use super::super::prelude::*;
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::{dense, kernels, small_qr};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::solver) struct Orgqr<T> {
    pub(super) a: Matrix,
    pub(super) q: Matrix,
    pub(super) _type: PhantomData<T>,
}

impl<T: SolverElement> Orgqr<T> {
    /// How many reflectors are used.
    fn reflectors(&self) -> usize {
        self.a.size().min(self.q.cols)
    }

    /// What is done where the matrices are small.
    fn small(&self) -> Option<Job> {
        let small = self.reflectors() > 0 && fits_qr::<T>(&[self.a.rows, self.q.cols]);
        small.then(|| Job::new(Task::Generate, &self.a).first(self.reflectors()).beside(&self.q))
    }
}

impl<T: SolverElement> Routine for Orgqr<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "orgqr";
    const OPERANDS: OperandNames = (&["a", "tau"], &["q"]);
    type Reads = (T, T);
    type Output = Tensor<T>;
    type Raw = ();

    fn check(&self, (a, tau): &Spans<(T, T)>, (q,): &Spans<(T,)>) -> Result<()> {
        self.a.check("a", a.len())?;
        check_len("tau", self.a.size(), self.a.count, tau.len())?;
        self.q.check("q", q.len())?;
        self.q.check_beside("q", self.a.rows, &self.a)?;
        if self.q.cols > self.q.rows {
            return Err(Error::invalid("q", format!("Q has at most {} columns, not {}", self.q.rows, self.q.cols)));
        }
        Ok(())
    }

    fn overwrites_each(&self, (q,): &Spans<(T,)>, _: usize) -> bool {
        self.q.fills(q.len())
    }

    fn cost(&self) -> Cost {
        let Matrix { rows, cols, count, .. } = self.q;
        cost::<T>(4, [rows, cols, self.reflectors()], count, rows.saturating_mul(cols).saturating_mul(2))
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, tau): (&[T], &[T]), (q,): (&mut [T],)) -> Result<()> {
        let (of_a, of_q, k) = (&self.a, &self.q, self.reflectors());
        if of_q.is_empty() {
            return Ok(());
        }
        if let Some(job) = self.small() {
            let (a, tau) = ((of_a, Memory::Read(a)), Memory::Read(tau));
            small(&job, Operands { a, tau, b: (of_q, q), info: &mut [] });
            return Ok(());
        }
        let tau = batch::vectors(tau, of_a.size(), of_a.count);
        let factors = batch::parts(of_a, a).into_iter().zip(tau);
        let items = collected(factors.zip(batch::parts_mut(of_q, q)))?;
        let work = of_q.rows.saturating_mul(of_q.cols).saturating_mul(k);
        batch::each(items, work, |(((a, rows, _, ld), tau), q), threads| {
            let (q, _, cols, ld_q) = q;
            T::copy(rows, k, (a, ld), (q, ld_q));
            T::orgqr((q, rows, cols, ld_q), tau.get(..k).unwrap_or_default(), threads);
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((a, tau), (q,)) = (queue.reads(), queue.writes());
        let (of_a, of_q, size) = (&self.a, &self.q, self.reflectors());
        if of_q.is_empty() {
            return Ok(());
        }
        if let Some(job) = self.small() {
            let (a, b) = ((a.address(), of_a.distance()), (q.address(), of_q.distance()));
            let at = small_qr::Operands { a, tau: tau.address(), b, info: 0 };
            return small_qr::launch::<T>(queue, &job, of_a.count, at);
        }
        let (info, element) = (queue.scratch(4)?, size_of::<T>());
        for k in 0..of_a.count {
            let a = (of_a.address::<T>(a.address(), k), of_a.leading() * element);
            let q = of_q.address::<T>(q.address(), k);
            let (to, rows) = ((q, of_q.leading() * element), of_a.rows * element);
            if size == 0 {
                // SAFETY: Q lies inside its buffer (checked).
                unsafe {
                    kernels::copy_matrix::<T>(
                        queue,
                        Copy::Identity,
                        (q, 1),
                        (q, of_q.leading()),
                        (of_q.rows, of_q.cols),
                    )
                }?;
                continue;
            }
            // SAFETY: both matrices lie inside their buffers (checked), which are different ones.
            unsafe { queue.copy_columns(to, a, rows, size) }?;
            let tau = tau.address() + (k * of_a.size() * element) as u64;
            dense::orgqr::<T>(queue, [of_q.rows, of_q.cols, size], ((q, of_q.leading()), tau), info)?;
        }
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}
