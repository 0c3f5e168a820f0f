//! Tridiagonal systems.

use super::super::Sparse;
use super::super::element::SolveElement;
#[cfg(feature = "host")]
use super::super::host::{split, tridiagonal::Diagonals};
#[cfg(feature = "cuda")]
use super::super::native::SOLVE;
use super::super::routine::{Call, Routine};
use crate::core::buffer::{DeviceBuffer, Readable};
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::dispatch::Submitted;
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::align;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::handle;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// Tridiagonal systems of `n` rows: one matrix with several right-hand sides, or a batch of matrices with one
/// right-hand side each.
///
/// By default there is one matrix and one right-hand side, and no gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[must_use]
pub struct Gtsv {
    n: usize,
    columns: usize,
    ldb: Option<usize>,
    batch: usize,
    stride: Option<usize>,
}

/// The sizes of a specification, with its defaults filled in.
struct Systems {
    n: usize,
    /// Number of right-hand sides of one matrix.
    columns: usize,
    /// Distance between the right-hand sides, or between the matrices and right-hand sides of a batch.
    stride: usize,
    /// Number of matrices.
    batch: usize,
}

impl Gtsv {
    /// One matrix and one right-hand side.
    pub fn new(n: usize) -> Self {
        Gtsv { n, columns: 1, ldb: None, batch: 1, stride: None }
    }

    /// Sets the number of right-hand sides of one matrix.
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns;
        self
    }

    /// Elements between the right-hand sides of one matrix.
    pub fn ldb(mut self, ldb: usize) -> Self {
        self.ldb = Some(ldb);
        self
    }

    /// `count` matrices with one right-hand side each.
    pub fn batch(mut self, count: usize) -> Self {
        self.batch = count;
        self
    }

    /// Elements between the matrices of a batch: from diagonal to diagonal, and from right-hand side to right-hand
    /// side.
    pub fn stride(mut self, stride: usize) -> Self {
        self.stride = Some(stride);
        self
    }

    /// The distance, and the name of the setter that gives it.
    fn distance(&self) -> (&'static str, usize) {
        let (name, set) = if self.batch == 1 { ("ldb", self.ldb) } else { ("stride", self.stride) };
        (name, set.unwrap_or(self.n))
    }

    fn systems(&self) -> Systems {
        Systems { n: self.n, columns: self.columns, stride: self.distance().1, batch: self.batch }
    }

    /// Elements of the right-hand sides, and of each diagonal.
    fn lengths(&self) -> Result<[usize; 2]> {
        let (Systems { n, columns, stride, batch }, (name, _)) = (self.systems(), self.distance());
        if stride < n {
            return Err(Error::invalid(name, format!("{stride} is less than the {n} rows")));
        }
        if batch != 1 && columns != 1 {
            let reason = format!("{columns} columns, but in a batch ({batch} matrices) each matrix has one");
            return Err(Error::invalid("columns", reason));
        }
        let span = |count: usize| match (count, n) {
            (0, _) | (_, 0) => Some(0),
            _ => stride.checked_mul(count - 1).and_then(|before| before.checked_add(n)),
        };
        let overflow = || Error::invalid(name, format!("{} systems {stride} apart overflow", columns.max(batch)));
        let sides = span(if batch == 1 { columns } else { batch }).ok_or_else(overflow)?;
        Ok([sides, span(batch).ok_or_else(overflow)?])
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Solve<T> {
    spec: Gtsv,
    _type: PhantomData<fn() -> T>,
}

impl<T: SolveElement> Routine for Solve<T> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "gtsv";
    const OPERANDS: OperandNames = (&["lower", "d", "upper"], &["b"]);
    type Reads = (T, T, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (lower, d, upper): &Spans<Self::Reads>, (b,): &Spans<(T,)>) -> Result<()> {
        let [sides, diagonals] = self.spec.lengths()?;
        for (name, len, need) in [
            ("lower", lower.len(), diagonals),
            ("d", d.len(), diagonals),
            ("upper", upper.len(), diagonals),
            ("b", b.len(), sides),
        ] {
            if len < need {
                return Err(Error::invalid(name, format!("{len} elements, but the systems span {need}")));
            }
        }
        Ok(())
    }

    fn cost(&self) -> Cost {
        let Systems { n, columns, batch, .. } = self.spec.systems();
        let rows = n.saturating_mul(columns).saturating_mul(batch);
        Cost {
            flops: rows.saturating_mul(8) as u64,
            bytes: rows.saturating_mul(5).saturating_mul(size_of::<T>()) as u64,
        }
    }

    #[cfg(feature = "host")]
    fn host(&self, (lower, d, upper): (&[T], &[T], &[T]), (b,): (&mut [T],)) -> Result<()> {
        let Systems { n, columns, stride, batch } = self.spec.systems();
        let diagonals = |first: usize| {
            let part = |x: &'_ [T]| -> std::ops::Range<usize> { first.min(x.len())..(first + n).min(x.len()) };
            (part(lower), part(d), part(upper))
        };
        if n == 0 {
            return Ok(());
        }
        if batch == 1 {
            let (l, m, u) = diagonals(0);
            let (lower, d, upper) = (lower.get(l), d.get(m), upper.get(u));
            let diagonals = Diagonals {
                lower: lower.unwrap_or_default(),
                d: d.unwrap_or_default(),
                upper: upper.unwrap_or_default(),
            };
            diagonals.solve(b, stride, columns);
            return Ok(());
        }
        split::each(&split::evenly(batch, n.saturating_mul(8)), b, stride, &|systems, b| {
            for (system, b) in systems.zip(b.chunks_mut(stride)) {
                let (l, m, u) = diagonals(system * stride);
                let diagonals = Diagonals {
                    lower: lower.get(l).unwrap_or_default(),
                    d: d.get(m).unwrap_or_default(),
                    upper: upper.get(u).unwrap_or_default(),
                };
                diagonals.solve(b, stride, 1);
            }
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((lower, d, upper), (b,)) = (*queue.reads(), *queue.writes());
        let Systems { n, columns, stride, batch } = self.spec.systems();
        if n == 0 || columns == 0 || batch == 0 {
            return Ok(());
        }
        if n < 3 {
            // cuSPARSE requires at least three rows.
            let (systems, step) = if batch == 1 { (columns, 0) } else { (batch, stride) };
            let arrays = [lower.into(), d.into(), upper.into(), b.into()];
            let args = [arrays.as_slice(), &[n.into(), systems.into(), step.into(), stride.into()]].concat();
            // SAFETY: the parameters in order and type; the systems lie inside their buffers (checked).
            return unsafe { kernels::each(queue, SOLVE(T::DTYPE)?, c"tiny_tridiagonal_all", systems, &args) };
        }
        let number = |name, x: usize| {
            i32::try_from(x)
                .map_err(|_| Error::unsupported(format!("{name} is {x}: cuSPARSE supports only 32 bits here")))
        };
        let (m, columns) = (number("n", n)?, number("columns", columns)?);
        let (stride, count) = (number("stride", stride)?, number("batch", batch)?);
        // The elements that are not read must be zero for cuSPARSE: the first of the lower diagonal and the last of the
        // upper one.
        let (lower_at, upper_at) = (queue.scratch(lower.bytes())?, queue.scratch(upper.bytes())?);
        let size = size_of::<T>() as u64;
        // SAFETY: copies of operands to scratch of the same size, and elements of them: the systems lie inside
        // (checked).
        unsafe {
            queue.copy(lower_at, lower.address(), lower.bytes())?;
            queue.copy(upper_at, upper.address(), upper.bytes())?;
            for system in 0..batch as u64 {
                let first = system * stride as u64;
                queue.fill(lower_at + first * size, size as usize, &[0])?;
                queue.fill(upper_at + (first + n as u64 - 1) * size, size as usize, &[0])?;
            }
        }
        let (d_at, x) = (align::aligned(queue, &d)? as *const _, align::aligned_output(queue, &b)?);
        let (dl, du) = (lower_at as *const _, upper_at as *const _);
        let (api, handle) = handle::sparse(queue, false)?;
        let (api, letter, mut bytes) = (api.typed, <T as SolveElement>::LETTER, 0);
        // SAFETY: the handle is this slot's; it enqueues nothing.
        let called = unsafe {
            match batch {
                1 => api.gtsv2_size(letter, handle, m, columns, dl, d_at, du, x as *const _, stride, &mut bytes),
                _ => api.gtsv2_batch_size(letter, handle, m, dl, d_at, du, x as *const _, count, stride, &mut bytes),
            }
        };
        handle::called(queue, called)?;
        let buffer = queue.workspace(bytes)? as *mut _;
        queue.stream();
        // SAFETY: the arrays lie in operands or scratch, which live until this work is done, and have the lengths that
        // were checked; the workspace has the size that was asked for.
        let called = unsafe {
            match batch {
                1 => api.gtsv2(letter, handle, m, columns, dl, d_at, du, x as *mut _, stride, buffer),
                _ => api.gtsv2_batch(letter, handle, m, dl, d_at, du, x as *mut _, count, stride, buffer),
            }
        };
        handle::called(queue, called)?;
        align::put_back(queue, &b, x)
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Sparse {
    /// Solves tridiagonal systems with partial pivoting (`cusparse<t>gtsv2`). On a GPU a batch is solved without
    /// pivoting (`gtsv2StridedBatch`). `lower[0]` and the last element of `upper` of each matrix are not read. A
    /// singular matrix gives infinities or NaNs.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a diagonal or right-hand side does not lie inside its buffer; a stale or foreign
    /// buffer. `b` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, sparse::Gtsv};
    /// let device = Device::host()?;
    /// let (off, d) = (device.upload([-1.0f64; 3])?.into_output(), device.upload([2.0f64; 3])?.into_output());
    /// let b = device.upload([1.0f64, 0.0, 1.0])?.into_output();
    /// let x = device.sparse().gtsv(Gtsv::new(3), &off, &d, &off, b)?.await_result()?;
    /// let x = device.download(&x)?.await_result()?;
    /// assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-15));
    /// # Ok(()) }
    /// ```
    pub fn gtsv<'a, T: SolveElement>(
        &self,
        spec: Gtsv,
        lower: impl Readable<'a, T>,
        d: impl Readable<'a, T>,
        upper: impl Readable<'a, T>,
        b: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.submit(Solve::<T> { spec, _type: PhantomData }, (lower.into(), d.into(), upper.into()), (b,))
    }
}
