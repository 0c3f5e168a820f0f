//! Solutions by factors of half the precision, refined.

use super::prelude::*;
use super::verdict;
use crate::core::op::Verdict;
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
pub struct Refined<T: SolverElement> {
    /// The solutions.
    pub x: DeviceBuffer<T>,
    /// Rounds of refinement; `None` if half the precision did not suffice and the whole precision was used.
    pub rounds: Option<usize>,
}

impl<T: SolverElement> Output for Refined<T> {
    type Writes = (T,);
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

/// A system that is solved by factors of less precision: see [`Solver::solve_refined`].
///
/// X is a matrix without gaps, unless [`x`](Self::x) says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Refine {
    lowest: Lowest,
    a: Matrix,
    b: Matrix,
    x: Option<Matrix>,
}

impl Refine {
    /// `A * X = B`, from factors in single precision.
    pub fn new(of_a: Matrix, of_b: Matrix) -> Self {
        Refine { lowest: Lowest::Single, a: of_a, b: of_b, x: None }
    }

    /// Where X lies in its buffer.
    pub fn x(mut self, of_x: Matrix) -> Self {
        self.x = Some(of_x);
        self
    }

    /// The precision of the factors (`cusolverDnDHgesv`, `cusolverDnDBgels` and similar routines).
    pub fn lowest(mut self, lowest: Lowest) -> Self {
        self.lowest = lowest;
        self
    }
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
    /// Solves `A * X = B` by factors of half the precision and refines the solution to the whole precision: by LU if A
    /// is square; by QR if A has more rows than columns, for the X that makes `||A * X - B||` least (LAPACK's `dsgesv`,
    /// `zcgesv`; `cusolverDnDSgesv`, `cusolverDnDSgels` and similar routines). Faster than [`solve`](Self::solve) for
    /// large, well-conditioned matrices of full rank. If half the precision does not suffice, it falls back to the
    /// whole precision and reports that in [`Refined::rounds`]. A and B are not changed.
    ///
    /// cuSOLVER refines least squares only if B is (to rounding) a product of A, and tries for a long time before it
    /// gives up on others: for those [`solve`](Self::solve) is faster on a GPU. The host engine refines both.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree or something does not lie inside its buffer, for more columns than
    /// rows or for a batch; a stale or foreign buffer. At the wait [`Error::Singular`]. [`Error::Unsupported`] on a GPU that does not compute in the precision of
    /// [`Refine::lowest`]. X comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, solver::{Matrix, Refine}};
    /// let device = Device::host()?;
    /// let a = device.upload([3.0f64, 1.0, 1.0, 7.0])?.into_output();
    /// let b = device.upload([5.0f64, 15.0])?.into_output();
    /// let spec = Refine::new(Matrix::square(2), Matrix::new(2, 1));
    /// let refined = device.solver().solve_refined(spec, &a, &b, device.uninit(2)?)?.await_result()?;
    /// let x = device.download(&refined.x)?.await_result()?;
    /// assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15 && refined.rounds.is_some());
    /// # Ok(()) }
    /// ```
    pub fn solve_refined<'a, T: WideElement>(
        &self,
        spec: Refine,
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        x: DeviceBuffer<T>,
    ) -> Submitted<Refined<T>, Verdict> {
        let Refine { lowest, a: of_a, b: of_b, x: of_x } = spec;
        let of_x = of_x.unwrap_or(Matrix::new(of_a.cols, of_b.cols));
        let op = Refining { lowest, a: of_a, b: of_b, x: of_x, _type: PhantomData };
        self.submit(op, (a.into(), b.into()), (x,))
    }
}
