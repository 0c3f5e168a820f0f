//! Tridiagonal systems.

use super::super::Sparse;
use super::super::element::SolveElement;
#[cfg(feature = "host")]
use super::super::host::{split, tridiagonal::Diagonals};
#[cfg(feature = "cuda")]
use super::super::native::SOLVE;
use super::super::operands::DenseAt;
use super::super::routine::{Call, Routine};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::flags::Order;
use crate::libraries::operands::{Matrices, Vector};
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::align;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::handle;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// One matrix of `n` rows with several right-hand sides, or a batch of matrices with one right-hand side each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Systems {
    n: usize,
    /// Number of right-hand sides of one matrix.
    columns: usize,
    /// Distance between the right-hand sides, or between the matrices and right-hand sides of a batch.
    stride: usize,
    /// Number of matrices.
    batch: usize,
}

impl Systems {
    fn from_layouts(diagonals: [(&'static str, &Layout); 3], b: &Layout) -> Result<Self> {
        let [_, (_, d), _] = diagonals;
        let shape = d.shape();
        for (name, layout) in diagonals {
            if layout.shape() != shape {
                return Err(Error::invalid(name, format!("shape {:?}, but that of d is {shape:?}", layout.shape())));
            }
        }
        if let ([n], [rows, _]) = (shape, b.shape()) {
            let sides = DenseAt::from_columns("b", b)?;
            if rows != n {
                return Err(Error::invalid("b", format!("shape {:?}, but that of d is {shape:?}", b.shape())));
            }
            for (name, layout) in diagonals {
                Vector::from_layout(name, layout)?.neighbours(name)?;
            }
            return Ok(Systems { n: *n, columns: sides.cols, stride: sides.ld, batch: 1 });
        }
        if b.shape() != shape {
            return Err(Error::invalid("b", format!("shape {:?}, but that of d is {shape:?}", b.shape())));
        }
        let (n, batch, stride) = vectors("b", b)?;
        for (name, layout) in diagonals {
            let (.., own) = vectors(name, layout)?;
            if own != stride && n > 0 {
                let what =
                    format!("its systems are {own} elements apart, those of b {stride}; `contiguous` makes copies");
                return Err(Error::invalid(name, format!("{what} without gaps")));
            }
        }
        Ok(Systems { n, columns: 1, stride, batch })
    }

    /// Elements of the right-hand sides, and of each diagonal.
    fn lengths(&self) -> Result<[usize; 2]> {
        let Systems { n, columns, stride, batch } = *self;
        if batch != 1 && columns != 1 {
            return Err(Error::invalid("b", format!("{columns} columns of each of {batch} matrices")));
        }
        let span = |count: usize| match (count, n) {
            (0, _) | (_, 0) => Ok(0),
            _ => {
                let before = stride.checked_mul(count - 1).filter(|_| stride >= n);
                let what = || Error::invalid("b", format!("{count} systems of {n} rows, {stride} elements apart"));
                before.and_then(|before| before.checked_add(n)).ok_or_else(what)
            }
        };
        Ok([span(if batch == 1 { columns } else { batch })?, span(batch)?])
    }
}

/// Vectors of neighbours along the last axis, at even distances: their elements, their number, the distance (the elements, if there
/// is one vector).
fn vectors(name: &'static str, layout: &Layout) -> Result<(usize, usize, usize)> {
    // Each as a matrix of one row.
    let rows = layout.unsqueeze(-2).map_err(|_| Error::invalid(name, format!("{layout:?} has no axis")))?;
    let rows = Matrices::from_layout(name, &rows)?;
    match rows.lines(name, Order::Row) {
        Ok((Order::Row, _)) => Ok((rows.cols, rows.count, if rows.count <= 1 { rows.cols } else { rows.stride })),
        _ => {
            let what =
                format!("{layout:?}: the elements of its last axis are not neighbours; `contiguous` makes a copy");
            Err(Error::invalid(name, format!("{what} whose are")))
        }
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Solve<T> {
    systems: Systems,
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
        let [sides, diagonals] = self.systems.lengths()?;
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
        let Systems { n, columns, batch, .. } = self.systems;
        let rows = n.saturating_mul(columns).saturating_mul(batch);
        Cost {
            flops: rows.saturating_mul(8) as u64,
            bytes: rows.saturating_mul(5).saturating_mul(size_of::<T>()) as u64,
        }
    }

    #[cfg(feature = "host")]
    fn host(&self, (lower, d, upper): (&[T], &[T], &[T]), (b,): (&mut [T],)) -> Result<()> {
        let Systems { n, columns, stride, batch } = self.systems;
        let diagonals = |first: usize| {
            let part = |x: &'_ [T]| -> std::ops::Range<usize> { first.min(x.len())..(first + n).min(x.len()) };
            (part(lower), part(d), part(upper))
        };
        if n == 0 || columns == 0 || batch == 0 {
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
        let Systems { n, columns, stride, batch } = self.systems;
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
    /// Solves tridiagonal systems with partial pivoting (`cusparse<t>gtsv2`), in place of the right-hand sides. The diagonals are
    /// tensors of one axis, and b has one axis, or two for several right-hand sides, whose columns must be contiguous. If all four
    /// have the same two axes or more, the last one runs along the rows and those before are a batch; all systems must be equally
    /// far apart. On a GPU a batch is solved without pivoting (`gtsv2StridedBatch`).
    ///
    /// `lower[0]` and the last element of `upper` of each matrix are not read. A singular matrix gives infinities or NaNs.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the shapes do not agree, or an operand is not laid out as said; a stale or foreign
    /// buffer. `b` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (off, d) = (device.full([3], -1.0f64)?, device.full([3], 2.0f64)?);
    /// let b = device.tensor([3], [1.0f64, 0.0, 1.0])?;
    /// let x = device.sparse().gtsv(&off, &d, &off, b)?.await_result()?;
    /// assert!(device.to_vec(&x)?.iter().all(|x| (x - 1.0).abs() < 1e-15));
    /// # Ok(()) }
    /// ```
    pub fn gtsv<'a, T: SolveElement>(
        &self,
        lower: impl ReadableTensor<'a, T>,
        d: impl ReadableTensor<'a, T>,
        upper: impl ReadableTensor<'a, T>,
        b: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.solve_tridiagonal([&lower.into(), &d.into(), &upper.into()], b.into())
    }

    fn solve_tridiagonal<T: SolveElement>(
        &self,
        [lower, d, upper]: [&TensorRef<'_, T>; 3],
        b: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let diagonals = [("lower", lower.layout()), ("d", d.layout()), ("upper", upper.layout())];
        let operands = Systems::from_layouts(diagonals, b.layout())
            .and_then(|systems| Ok((systems, (lower.operand()?.0, d.operand()?.0, upper.operand()?.0))));
        b.submit(("gtsv", "sparse"), operands, |(systems, diagonals), b| {
            self.submit(Solve::<T> { systems, _type: PhantomData }, diagonals, (b,))
        })
    }
}
