//! Solutions by factors of half the precision, refined.

use super::given::{as_matrices, sizes};
use super::prelude::*;
use super::verdict;
use crate::core::dispatch::PendingDispatch;
use crate::core::op::Verdict;
use crate::device::tensor::{Layout, ReadableTensor, TensorRef};
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::calls;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::dense;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::kernels;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::refine;

/// An element type with one of half its precision: f64, `Complex<f64>`. Sealed, as [`Element`](crate::Element) is.
pub trait WideElement: SolverElement + HostWide {}
impl WideElement for f64 {}
impl WideElement for num_complex::Complex<f64> {}

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
#[non_exhaustive]
pub struct Refined<T: SolverElement> {
    /// The solutions.
    pub x: Tensor<T>,
    /// Rounds of refinement; `None` if half the precision did not suffice and the whole precision was used.
    pub rounds: Option<usize>,
}

impl<T: SolverElement> Output for Refined<T> {
    type Writes = (Strided<T>,);
    type Host = Option<usize>;

    fn join((x,): Bufs<Self>, rounds: Option<usize>) -> Result<Self> {
        Ok(Refined { x, rounds })
    }
}

/// The precision of the factors that a solution is refined from, on a GPU. The host engine always factors in single
/// precision: it has no faster one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Lowest {
    /// Single precision.
    #[default]
    Single,
    /// Half precision: the fastest, for numbers of moderate size.
    Half,
    /// bfloat16: the range of single precision with 8 bits of it.
    BFloat16,
    /// TF32: the range of single precision with 11 bits of it, on GPUs from compute capability 8.0 on.
    TensorFloat32,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Refining<T> {
    lowest: Lowest,
    a: Matrix,
    b: Matrix,
    x: Matrix,
    _type: PhantomData<T>,
}

impl<T: WideElement> Routine for Refining<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "gesv_refined";
    const OPERANDS: OperandNames = (&["a", "b"], &["x"]);
    const BLOCKING: bool = true;
    type Reads = (T, T);
    type Output = Refined<T>;
    /// The verdict, and the number of rounds plus one, or 0 if the whole precision was used.
    type Raw = num_complex::Complex<f64>;

    fn check(&self, (a, b): &Spans<(T, T)>, (x,): &Spans<(T,)>) -> Result<()> {
        let Matrix { rows, cols, .. } = self.a;
        self.a.check("a", a.len())?;
        if rows < cols {
            return Err(Error::invalid(
                "a",
                format!("{rows} x {cols}: refinement needs at least as many rows as columns"),
            ));
        }
        for (name, of, rows, len) in [("b", &self.b, rows, b.len()), ("x", &self.x, cols, x.len())] {
            of.check(name, len)?;
            of.check_beside(name, rows, &self.a)?;
        }
        if self.x.cols != self.b.cols {
            return Err(Error::invalid("x", format!("{} columns, but `b` has {}", self.x.cols, self.b.cols)));
        }
        if self.a.count != 1 {
            return Err(Error::invalid("a", format!("{} matrices, but only one is refined at a time", self.a.count)));
        }
        Ok(())
    }

    fn overwrites_each(&self, (x,): &Spans<(T,)>, _: usize) -> bool {
        self.x.fills(x.len())
    }

    fn cost(&self) -> Cost {
        let (Matrix { rows: m, cols: n, .. }, nrhs) = (self.a, self.b.cols);
        cost::<T>(1, [m, n, n.saturating_add(nrhs.saturating_mul(12))], 1, m.saturating_mul(n))
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b): (&[T], &[T]), (x,): (&mut [T],)) -> Result<Self::Raw> {
        let parts =
            (batch::parts(&self.a, a).pop(), batch::parts(&self.b, b).pop(), batch::parts_mut(&self.x, x).pop());
        let (Some(a), Some(b), Some(x)) = parts else { return Ok(verdict::pack(0, 1)) };
        let (info, rounds) = T::refined(a, b, x, rayon::current_num_threads());
        Ok(verdict::pack(first(&[info]), rounds.map_or(0, |rounds| rounds + 1)))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        // An info, and a flag for a solution that is NaN or infinite.
        let (info, mut rounds) = (queue.scratch(8)?, 0);
        if self.x.is_empty() {
            calls::no_infos(queue, info, 1)?;
        } else {
            rounds = self.enqueue(queue, info)?;
        }
        calls::verdict(queue, info, 1)?;
        let result = queue.result()?;
        let rounds = u32::try_from(rounds + 1).unwrap_or(0);
        // SAFETY: the second half of the result, whose upper four bytes are zero.
        unsafe { queue.fill(result + 8, 1, &rounds.to_ne_bytes()) }
    }

    fn finish(&self, raw: Self::Raw) -> Result<Option<usize>> {
        let (first, rounds) = verdict::unpack(raw);
        Meaning::Singular.verdict(first).map(|()| rounds.checked_sub(1))
    }
}

#[cfg(feature = "cuda")]
impl<T: WideElement> Refining<T> {
    /// The rounds of refinement, negative if the whole precision was needed.
    fn enqueue(&self, queue: &mut Enqueue<'_, Call<Self>>, info: u64) -> Result<i64> {
        let ((a, b), (x,), nrhs) = (queue.reads(), queue.writes(), self.b.cols);
        let (Matrix { rows: m, cols: n, .. }, element) = (self.a, size_of::<T>());
        // The routines write to A if they fall back to the whole precision, and to B for least squares.
        let copy = queue.scratch(m.saturating_mul(n).saturating_mul(element))?;
        let from = (a.address(), self.a.leading() * element);
        // SAFETY: A lies inside its buffer (checked), the copy in scratch of this dispatch.
        unsafe { queue.copy_columns((copy, m * element), from, m * element, n) }?;
        // SAFETY: scratch of eight bytes.
        unsafe { queue.fill(info, 2, &[0; 4]) }?;
        let (given, x) = ((b.address(), self.b.leading()), (x.address(), self.x.leading()));
        let b = if m == n { given } else { self.copied(queue, None, given)? };
        let refined = refine::refine::<T>(queue, self.lowest, (m, n, nrhs), copy, b, x, info)?;
        kernels::find_broken::<T>(queue, x, (n, nrhs), info + 4)?;
        // SAFETY: scratch of eight bytes.
        let seen: [u8; 8] = unsafe { queue.look(info) }?;
        // For a singular matrix the routine finds no solution, yet on an H100 its info is zero. Whatever it reports,
        // NaN and infinities are returned only if the whole precision gives them too.
        if let (Some(rounds), true) = (refined, seen == [0; 8]) {
            return Ok(rounds);
        }
        let (a, unused) = ((copy, m), queue.scratch(4)?);
        // SAFETY: as above.
        unsafe { queue.copy_columns((copy, m * element), from, m * element, n) }?;
        let (to, row) = ((x.0, x.1 * element), n * element);
        if m == n {
            // SAFETY: B lies inside its buffer as well, and X, which is written.
            unsafe { queue.copy_columns(to, (given.0, given.1 * element), row, nrhs) }?;
            let pivots = queue.scratch(n.saturating_mul(size_of::<i64>()))?;
            dense::getrf::<T>(queue, (n, n), a, pivots, info)?;
            dense::getrs::<T>(queue, Transpose::No, (n, nrhs), a, pivots, x, unused)?;
        } else {
            let (b, tau) = (self.copied(queue, Some(b.0), given)?, queue.scratch(n.saturating_mul(element))?);
            dense::geqrf::<T>(queue, (m, n), a, tau, unused)?;
            dense::ormqr::<T>(queue, (true, Transpose::Conjugate), [m, nrhs, n], (a, tau), b, unused)?;
            dense::solve_upper::<T>(queue, Transpose::No, (n, nrhs, m), a, b, info)?;
            // SAFETY: as above.
            unsafe { queue.copy_columns(to, (b.0, m * element), row, nrhs) }?;
        }
        Ok(-1)
    }

    /// Copies B to scratch, without gaps.
    fn copied(&self, queue: &mut Enqueue<'_, Call<Self>>, room: Option<u64>, (b, ldb): At) -> Result<At> {
        let (m, nrhs, element) = (self.b.rows, self.b.cols, size_of::<T>());
        let room = match room {
            Some(room) => room,
            None => queue.scratch(m.saturating_mul(nrhs).saturating_mul(element))?,
        };
        // SAFETY: B lies inside its buffer (checked), the copy in scratch of this dispatch.
        unsafe { queue.copy_columns((room, m * element), (b, ldb * element), m * element, nrhs) }?;
        Ok((room, m))
    }
}

impl Solver {
    /// Solves `A * X = B` by factors of half the precision, or of less on a GPU ([`Lowest`]), and refines the solution to the
    /// whole precision: by LU if A is square; by QR if A has more rows than columns, for the X that makes `||A * X - B||` least
    /// (LAPACK's `dsgesv`, `zcgesv`; `cusolverDnDSgesv`, `cusolverDnDBgels` and similar routines). Faster than
    /// [`solve`](Self::solve) for large, well-conditioned matrices of full rank. If half the precision does not suffice, it falls
    /// back to the whole precision and reports that in [`Refined::rounds`]. A and B are not changed; they are copied only if
    /// their columns are not contiguous. A B of one axis is a vector.
    ///
    /// cuSOLVER refines least squares only if B is (to rounding) a product of A, and tries for a long time before it
    /// gives up on others: for those [`solve`](Self::solve) is faster on a GPU. The host engine refines both.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A has more columns than rows, or more than two axes: only one matrix is refined at a time;
    /// with both shapes, when B has not as many rows; a stale or foreign tensor. At the wait [`Error::Singular`].
    /// [`Error::Unsupported`] on a GPU that does not compute in the precision of `lowest`.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, solver::Lowest};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [3.0f64, 1.0, 1.0, 7.0])?;
    /// let b = device.tensor([2], [5.0f64, 15.0])?;
    /// let refined = device.solver().solve_refined(Lowest::Single, &a, &b)?.await_result()?;
    /// let x = device.to_vec(&refined.x)?;
    /// assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15 && refined.rounds.is_some());
    /// # Ok(()) }
    /// ```
    pub fn solve_refined<'a, 'b, T: WideElement>(
        &self,
        lowest: Lowest,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
    ) -> Result<PendingDispatch<Refined<T>, Verdict>> {
        self.gesv_refined(lowest, a.into(), b.into()).map_err(|error| error.in_op(Refining::<T>::NAME, "solver"))
    }

    fn gesv_refined<T: WideElement>(
        &self,
        lowest: Lowest,
        a: TensorRef<'_, T>,
        b: TensorRef<'_, T>,
    ) -> Result<PendingDispatch<Refined<T>, Verdict>> {
        let ((batch, of), columns) = (sizes("a", a.layout())?, as_matrices(b.layout())?);
        let (batch_of_b, of_b) = sizes("b", &columns)?;
        if (batch_of_b, of_b.rows) != (batch, of.rows) {
            return Err(Error::invalid(
                "b",
                format!("{:?}, but a is {:?}: {} rows go with it", b.shape(), a.shape(), of.rows),
            ));
        }
        let x = match b.rank() {
            1 => self.new_tensor(batch, &[of.cols])?,
            _ => self.new_matrices(batch, of.cols, of_b.cols)?,
        };
        let (a, b) = (self.readable("a", a.view())?, self.readable("b", b.view())?);
        let (a, b) = (a.view(), b.view());
        let ((a, of_a), (b, of_b)) = (a.operand()?, b.operand()?);
        let matrix = |name, layout: &Layout| Matrix::of(name, &as_matrices(layout)?);
        let (of_a, of_b, of_x) = (matrix("a", &of_a)?, matrix("b", &of_b)?, matrix("x", x.layout())?);
        let op = Refining { lowest, a: of_a, b: of_b, x: of_x, _type: PhantomData };
        Ok(self.submit(op, (a, b), (x,))?)
    }

    /// The same with contiguous columns: itself, or a copy.
    fn readable<'x, T: WideElement>(&self, name: &'static str, x: TensorRef<'x, T>) -> Result<Given<'x, T>> {
        if as_matrices(x.layout()).is_ok_and(|layout| Matrix::of(name, &layout).is_ok()) {
            return Ok(Given::Copied(x));
        }
        let copy = if x.rank() == 1 { self.device.contiguous(&x)? } else { self.device.contiguous_columns(&x)? };
        Ok(Given::Used(copy.into_output()))
    }
}
