//! Solutions by factors of half the precision, refined.

use super::prelude::*;
use super::verdict;

/// An element type with one of half its precision: f64, `Complex<f64>`. Sealed, as [`Element`](crate::Element) is.
pub trait WideElement: SolverElement + HostWide {}
impl WideElement for f64 {}
impl WideElement for crate::Complex<f64> {}

/// What the host engine needs of it.
#[doc(hidden)]
#[cfg(feature = "host")]
pub trait HostWide: Sized {
    fn refined(
        a: batch::Part<'_, Self>,
        b: batch::Part<'_, Self>,
        x: batch::PartMut<'_, Self>,
        threads: usize,
    ) -> (i32, Option<usize>);
}
#[doc(hidden)]
#[cfg(not(feature = "host"))]
pub trait HostWide {}
#[cfg(not(feature = "host"))]
impl<T: SolverElement> HostWide for T {}

/// Solutions that were refined.
#[derive(Debug)]
pub struct Refined<T: SolverElement> {
    /// The solutions.
    pub x: DeviceBuffer<T>,
    /// Rounds of refinement; `None` where half the precision did not do, so that the whole was used after all.
    pub rounds: Option<usize>,
}

impl<T: SolverElement> Output for Refined<T> {
    type Writes = (T,);
    type Host = Option<usize>;

    fn join((x,): Bufs<Self>, rounds: Option<usize>) -> Result<Self> {
        Ok(Refined { x, rounds })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Refine<T> {
    a: Matrix,
    b: Matrix,
    x: Matrix,
    _type: PhantomData<T>,
}

impl<T: WideElement> Routine for Refine<T> {
    const NAME: &'static str = "gesv_refined";
    const BLOCKING: bool = true;
    type Reads = (T, T);
    type Output = Refined<T>;
    /// The verdict, and the rounds and one more, or 0.
    type Raw = crate::Complex<f64>;

    fn check(&self, (a, b): &Spans<(T, T)>, (x,): &Spans<(T,)>) -> Result<()> {
        self.a.check("a", a.len())?;
        self.a.check_square("a")?;
        for (name, of, len) in [("b", &self.b, b.len()), ("x", &self.x, x.len())] {
            of.check(name, len)?;
            of.check_beside(name, self.a.rows, &self.a)?;
        }
        if self.x.cols != self.b.cols {
            return Err(Error::invalid("x", format!("{} columns for {} right sides", self.x.cols, self.b.cols)));
        }
        if self.a.count != 1 {
            return Err(Error::invalid("a", format!("{} matrices: one is refined at a time", self.a.count)));
        }
        Ok(())
    }

    fn overwrites_each(&self, (x,): &Spans<(T,)>, _: usize) -> bool {
        self.x.fills(x.len())
    }

    fn cost(&self) -> Cost {
        let (n, nrhs) = (self.a.rows, self.b.cols);
        cost::<T>(1, [n, n, n.saturating_add(nrhs.saturating_mul(12))], 1, n.saturating_mul(n))
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b): (&[T], &[T]), (x,): (&mut [T],)) -> Result<Self::Raw> {
        let parts =
            (batch::parts(&self.a, a).pop(), batch::parts(&self.b, b).pop(), batch::parts_mut(&self.x, x).pop());
        let (Some(a), Some(b), Some(x)) = parts else { return Ok(verdict::pack(0, 1)) };
        let (info, rounds) = T::refined(a, b, x, rayon::current_num_threads());
        Ok(verdict::pack(first(&[info]), rounds.map_or(0, |rounds| rounds + 1)))
    }

    #[cfg(feature = "solver")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((a, b), (x,), n, nrhs) = (queue.reads(), queue.writes(), self.a.rows, self.b.cols);
        // An info, and whether a solution is no number.
        let (info, mut rounds) = (queue.scratch(8)?, 0);
        if self.x.is_empty() {
            queue.no_infos(info, 1)?;
        } else {
            // The routine writes to A where it falls back to the whole precision.
            let element = size_of::<T>();
            let copy = queue.scratch(n.saturating_mul(n).saturating_mul(element))?;
            let from = (a.address(), self.a.leading() * element);
            // SAFETY: A lies inside its buffer (checked), the copy in scratch of this dispatch.
            unsafe { queue.copy_columns((copy, n * element), from, n * element, n) }?;
            // SAFETY: scratch of eight bytes.
            unsafe { queue.fill(info, 2, &[0; 4]) }?;
            let (b, x) = ((b.address(), self.b.leading()), (x.address(), self.x.leading()));
            let refined = queue.refine::<T>((n, nrhs), copy, b, x, info)?;
            queue.find_broken::<T>(x, (n, nrhs), info + 4)?;
            // SAFETY: scratch of eight bytes.
            let seen: [u8; 8] = unsafe { queue.look(info) }?;
            // Of a singular matrix the routine has no solution, and on an H100 an info of zero all the same. Whatever it says,
            // numbers that are none are not handed out before the whole precision has found none either.
            rounds = match refined {
                Some(rounds) if seen == [0; 8] => rounds,
                _ => {
                    let (a, pivots) = ((copy, n), queue.scratch(n.saturating_mul(size_of::<i64>()))?);
                    let unused = queue.scratch(4)?;
                    // SAFETY: as above; B lies inside its buffer as well, and X, which is written.
                    unsafe {
                        queue.copy_columns((copy, n * element), from, n * element, n)?;
                        let (to, from) = ((x.0, x.1 * element), (b.0, b.1 * element));
                        queue.copy_columns(to, from, n * element, nrhs)?;
                    }
                    queue.getrf::<T>((n, n), a, pivots, info)?;
                    queue.getrs::<T>(Transpose::No, (n, nrhs), a, pivots, x, unused)?;
                    -1
                }
            };
        }
        queue.verdict(info, 1)?;
        let result = queue.result()?;
        let rounds = u32::try_from(rounds + 1).unwrap_or(0);
        // SAFETY: the second half of the result, whose upper four bytes are zero.
        unsafe { queue.fill(result + 8, 1, &rounds.to_ne_bytes()) }
    }

    fn finish(&self, raw: Self::Raw) -> Result<Option<usize>> {
        let (first, rounds) = verdict::unpack(raw);
        Meaning::Singular.of(first).map(|()| rounds.checked_sub(1))
    }
}

impl Solver {
    /// Solves `A * X = B` by LU factors of half the precision and refines the solution to the whole of it (LAPACK's `dsgesv`,
    /// `zcgesv`; `cusolverDnDSgesv`, `cusolverDnZCgesv`). Faster than [`solve`](Self::solve) for large, well-conditioned
    /// matrices; where half the precision does not do, it falls back to the whole and says so. A and B stay.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree or something does not lie inside its buffer, or for a batch; a
    /// stale or foreign buffer. At the wait [`Error::Singular`]. X comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, solver::Matrix};
    /// let device = Device::host()?;
    /// let a = device.upload([3.0f64, 1.0, 1.0, 7.0])?.into_output();
    /// let b = device.upload([5.0f64, 15.0])?.into_output();
    /// let (of_a, column) = (Matrix::square(2), Matrix::new(2, 1));
    /// let refined = device.solver().solve_refined((of_a, &a), (column, &b), column, device.uninit(2)?)?.await_result()?;
    /// let x = device.download(&refined.x)?.await_result()?;
    /// assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15 && refined.rounds.is_some());
    /// # Ok(()) }
    /// ```
    pub fn solve_refined<'a, T: WideElement>(
        &self,
        (of_a, a): (Matrix, impl Into<In<'a, T>>),
        (of_b, b): (Matrix, impl Into<In<'a, T>>),
        of_x: Matrix,
        x: DeviceBuffer<T>,
    ) -> Submitted<Refined<T>> {
        self.submit(Refine { a: of_a, b: of_b, x: of_x, _type: PhantomData }, (a.into(), b.into()), (x,))
    }
}
