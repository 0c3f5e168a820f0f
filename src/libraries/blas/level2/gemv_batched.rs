//! Batches of products of a matrix with a vector, all of one shape.

use super::super::prelude::*;
use super::super::scalar::sealed;
use super::gemv::Gemv;
#[cfg(feature = "host")]
use crate::core::room::collected;

/// A batch of products of one shape at fixed distances in one buffer each; made by [`Gemv::batch`].
///
/// Unless set: increments are 1, and each matrix and vector begins where the previous one ends.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct GemvBatch<T: BlasElement> {
    gemv: Gemv<T>,
    count: usize,
    incx: isize,
    incy: isize,
    stride_a: Option<usize>,
    stride_x: Option<usize>,
    stride_y: Option<usize>,
}

impl<T: BlasElement> Gemv<T> {
    /// `count` products of this shape, for [`Blas::gemv_strided_batched`].
    pub fn batch(self, count: usize) -> GemvBatch<T> {
        GemvBatch { gemv: self, count, incx: 1, incy: 1, stride_a: None, stride_x: None, stride_y: None }
    }
}

setters!(GemvBatch<T: BlasElement> {
    /// The increment of each x.
    incx: isize;
    /// The increment of each y.
    incy: isize;
    /// Elements between the beginnings of the matrices; 0 for one matrix for all.
    stride_a: usize;
    /// Elements between the beginnings of the vectors x; 0 for one for all.
    stride_x: usize;
    /// Elements between the beginnings of the vectors y.
    stride_y: usize;
});

impl<T: BlasElement> GemvBatch<T> {
    /// Reads both scalars from device memory, each the first element, when the work runs.
    pub fn scalars_at<'a>(self, alpha: impl Readable<'a, T>, beta: impl Readable<'a, T>) -> Scaled<'a, Self> {
        Scaled { spec: self, alpha: Some(alpha.into()), beta: Some(beta.into()) }
    }

    fn vectors(&self) -> (Strided, Strided) {
        let (rows, cols) = self.gemv.lengths();
        (Strided { n: cols, inc: self.incx }, Strided { n: rows, inc: self.incy })
    }

    /// Elements between the beginnings of A, x and y.
    fn strides(&self) -> [usize; 3] {
        let (x, y) = self.vectors();
        [
            self.stride_a.unwrap_or(self.gemv.leading().saturating_mul(self.gemv.n)),
            self.stride_x.unwrap_or(x.span().unwrap_or(usize::MAX)),
            self.stride_y.unwrap_or(y.span().unwrap_or(usize::MAX)),
        ]
    }

    fn is_empty(&self) -> bool {
        self.count == 0 || self.gemv.m == 0 || self.gemv.n == 0
    }
}

impl<T: BlasElement> sealed::Sealed for GemvBatch<T> {}
impl<T: BlasElement> super::super::Spec for GemvBatch<T> {
    type Alpha = T;
    type Beta = T;
}

/// How many of `len` elements remain for the last item of a batch. Empty items need no elements, whatever the distance.
fn last_of(name: &'static str, count: usize, stride: usize, len: usize, empty: bool) -> Result<usize> {
    check_size(name, stride)?;
    if empty {
        return Ok(len);
    }
    let at = count.saturating_sub(1).checked_mul(stride);
    at.and_then(|at| len.checked_sub(at)).ok_or_else(|| {
        Error::invalid(name, format!("{len} elements do not hold a batch of {count} with a distance of {stride}"))
    })
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct StridedBatch<T: BlasElement> {
    spec: GemvBatch<T>,
    scalars_at: bool,
}

impl<T: BlasElement> Routine for StridedBatch<T> {
    const NAME: &'static str = "gemv_strided_batched";
    const OPERANDS: OperandNames = (&["a", "x", "alpha", "beta"], &["y"]);
    type Reads = (T, T, Option<T>, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, x, alpha, beta): &Spans<Self::Reads>, (y,): &Spans<(T,)>) -> Result<()> {
        let (spec, (at_x, at_y), [stride_a, stride_x, stride_y]) =
            (&self.spec, self.spec.vectors(), self.spec.strides());
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        check_size("count", spec.count)?;
        if spec.gemv.band.is_some() {
            return Err(Error::unsupported("BLAS has no routine for batches of band matrices"));
        }
        if spec.count == 0 {
            return Ok(());
        }
        spec.gemv.check_a(last_of("a", spec.count, stride_a, a.len(), spec.is_empty())?)?;
        at_x.check("x", last_of("x", spec.count, stride_x, x.len(), at_x.n == 0)?)?;
        at_y.check("y", last_of("y", spec.count, stride_y, y.len(), at_y.n == 0)?)?;
        match at_y.span() {
            Some(span) if spec.count > 1 && stride_y < span => {
                Err(Error::invalid("stride_y", format!("{stride_y}, but each y spans {span} elements")))
            }
            _ => Ok(()),
        }
    }

    fn overwrites(&self, (y,): &Spans<(T,)>) -> bool {
        let (spec, (_, at), [_, _, stride]) = (&self.spec, self.spec.vectors(), self.spec.strides());
        let gapless = at.fills(at.n) && (stride == at.n || spec.count == 1);
        let discards = !self.scalars_at && spec.gemv.beta == T::default() && !spec.is_empty();
        discards && gapless && at.n.checked_mul(spec.count) == Some(y.len())
    }

    fn cost(&self) -> Cost {
        let elements = self.spec.gemv.elements().saturating_mul(self.spec.count as u64);
        Cost { flops: elements.saturating_mul(2), bytes: elements.saturating_mul(size_of::<T>() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, x, alpha, beta): (&[T], &[T], Option<&[T]>, Option<&[T]>), (y,): (&mut [T],)) -> Result<()> {
        let (spec, (at_x, at_y), [stride_a, stride_x, stride_y]) =
            (&self.spec, self.spec.vectors(), self.spec.strides());
        if spec.is_empty() {
            return Ok(());
        }
        let (alpha, beta) = (value(spec.gemv.alpha, alpha), value(spec.gemv.beta, beta));
        let (stored, trans) = (spec.gemv.on_host(), spec.gemv.trans.on_host());
        numerics::level2::each_of(spec.count, stride_y, stored, y, |i, y| {
            let (a, x) = (a.get(i * stride_a..).unwrap_or_default(), x.get(i * stride_x..).unwrap_or_default());
            numerics::level2::gemv(stored, trans, alpha, a, x, at_x.on_host(), beta, y, at_y.on_host());
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (spec, (a, x, alpha, beta), (y,)) = (&self.spec, *queue.reads(), *queue.writes());
        let (alpha, beta) = (Scalar::new(spec.gemv.alpha, &alpha), Scalar::new(spec.gemv.beta, &beta));
        if spec.is_empty() {
            return Ok(());
        }
        let ((at_x, at_y), strides) = (spec.vectors(), spec.strides().map(|stride| stride as i64));
        let [stride_a, stride_x, stride_y] = if spec.count > 1 { strides } else { [0; 3] };
        let (m, n, lda, count) =
            (spec.gemv.m as i64, spec.gemv.n as i64, spec.gemv.leading() as i64, spec.count as i64);
        let (trans, incx, incy) = (spec.gemv.trans.code::<T>(), at_x.inc64(), at_y.inc64());
        let (a, x, y) = (a.address() as *const _, x.address() as *const _, y.address() as *mut std::ffi::c_void);
        // SAFETY: all matrices and vectors lie inside their buffers (checked), which live until this work is done; scalars
        // in host memory are read before the call returns.
        queue.typed(alpha.mode(), |blas, handle| unsafe {
            let (t, h, alpha_at, beta) = (T::LETTER, handle, alpha.pointer(), beta.pointer());
            if alpha.is_zero() {
                // Products with `k = 0`, which read no factors. Each y is a matrix of one row.
                let (rows, ldc) = (at_y.len64(), incy.abs());
                return blas.gemm_strided_batched(
                    t, h, 0, 0, 1, rows, 0, alpha_at, y, 1, 0, y, 1, 0, beta, y, ldc, stride_y, count,
                );
            }
            blas.gemv_strided_batched(
                t, h, trans, m, n, alpha_at, a, lda, stride_a, x, incx, stride_x, beta, y, incy, stride_y, count,
            )
        })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Batch<T: BlasElement> {
    spec: Gemv<T>,
    x: Vec<Strided>,
    y: Vec<Strided>,
    scalars_at: bool,
}

impl<T: BlasElement> Batch<T> {
    fn incs(&self) -> (Strided, Strided) {
        let none = Strided { n: 0, inc: 1 };
        (self.x.first().copied().unwrap_or(none), self.y.first().copied().unwrap_or(none))
    }
}

/// What a batch reads: matrices, vectors, scalars.
type BatchReads<T> = (List<T>, List<T>, Option<T>, Option<T>);

impl<T: BlasElement> Routine for Batch<T> {
    const NAME: &'static str = "gemv_batched";
    const OPERANDS: OperandNames = (&["a", "x", "alpha", "beta"], &["y"]);
    type Reads = BatchReads<T>;
    type Output = Vec<DeviceBuffer<T>>;
    type Raw = ();

    fn check(&self, (a, x, alpha, beta): &Spans<Self::Reads>, (y,): &Spans<(List<T>,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        for (name, len) in [("a", a.len()), ("x", x.len())] {
            if len != y.len() {
                return Err(Error::invalid(name, format!("{len} in the batch, but {} outputs", y.len())));
            }
        }
        if self.spec.band.is_some() {
            return Err(Error::unsupported("BLAS has no routine for batches of band matrices"));
        }
        let ((rows, cols), (first_x, first_y)) = (self.spec.lengths(), self.incs());
        a.iter().try_for_each(|a| self.spec.check_a(a.len()))?;
        let vectors = [("x", &self.x, x, cols, first_x.inc), ("y", &self.y, y, rows, first_y.inc)];
        for (name, vectors, spans, n, inc) in vectors {
            for (at, span) in vectors.iter().zip(spans) {
                at.check_n(name, span.len(), n, "the length of that side of op(A)")?;
                if at.inc != inc {
                    let reason = format!("increments of {} and {inc}, but a batch has one increment", at.inc);
                    return Err(Error::invalid(name, reason));
                }
            }
        }
        Ok(())
    }

    fn overwrites(&self, (y,): &Spans<(List<T>,)>) -> bool {
        let discards = !self.scalars_at && self.spec.beta == T::default() && self.spec.m > 0 && self.spec.n > 0;
        discards && self.y.iter().zip(y).all(|(at, y)| at.fills(y.len()))
    }

    fn cost(&self) -> Cost {
        let elements = self.spec.elements().saturating_mul(self.y.len() as u64);
        Cost { flops: elements.saturating_mul(2), bytes: elements.saturating_mul(size_of::<T>() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (a, x, alpha, beta): (Vec<&[T]>, Vec<&[T]>, Option<&[T]>, Option<&[T]>),
        (y,): (Vec<&mut [T]>,),
    ) -> Result<()> {
        let (alpha, beta) = (value(self.spec.alpha, alpha), value(self.spec.beta, beta));
        let (stored, trans, (at_x, at_y)) = (self.spec.on_host(), self.spec.trans.on_host(), self.incs());
        let all = collected(a.into_iter().zip(x).zip(y))?;
        numerics::level2::each_in(stored, all, |((a, x), y): ((&[T], &[T]), &mut [T])| {
            numerics::level2::gemv(stored, trans, alpha, a, x, at_x.on_host(), beta, y, at_y.on_host());
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (spec, (a, x, alpha, beta), (y,)) = (&self.spec, queue.reads(), queue.writes());
        let (alpha, beta) = (Scalar::new(spec.alpha, alpha), Scalar::new(spec.beta, beta));
        if y.is_empty() || spec.m == 0 || spec.n == 0 {
            return Ok(());
        }
        let ((at_x, at_y), count) = (self.incs(), y.len() as i64);
        let (m, n, lda, trans) = (spec.m as i64, spec.n as i64, spec.leading() as i64, spec.trans.code::<T>());
        let (incx, incy) = (at_x.inc64(), at_y.inc64());
        // One array after the other, in one table.
        let arrays =
            queue.table(|words| words.extend(a.iter().chain(x).chain(y).map(crate::core::buffer::Span::address)))?;
        let array = |i: u64| (arrays + i * 8 * count as u64) as *const std::ffi::c_void;
        let (a, x, y) = (array(0), array(1), array(2));
        // SAFETY: all matrices and vectors lie inside their buffers (checked), and the arrays of their addresses in
        // scratch, which live until this work is done; scalars in host memory are read before the call returns.
        queue.typed(alpha.mode(), |blas, handle| unsafe {
            let (t, h, alpha_at, beta) = (T::LETTER, handle, alpha.pointer(), beta.pointer());
            if alpha.is_zero() {
                // Products with `k = 0`, which read no factors. Each y is a matrix of one row.
                let (rows, ldc) = (at_y.len64(), incy.abs());
                return blas.gemm_batched(t, h, 0, 0, 1, rows, 0, alpha_at, y, 1, y, 1, beta, y, ldc, count);
            }
            blas.gemv_batched(t, h, trans, m, n, alpha_at, a, lda, x, incx, beta, y, incy, count)
        })
    }
}

impl Blas {
    /// `y_i = alpha * op(A_i) * x_i + beta * y_i` for each of a batch at fixed distances in one buffer each
    /// (`cublas<t>gemvStridedBatched`); see [`GemvBatch`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `lda` is too small, a batch does not lie inside its buffer, or outputs overlap;
    /// [`Error::Unsupported`] for band matrices; a stale or foreign buffer. `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, blas::Gemv};
    /// let device = Device::host()?;
    /// let a = device.upload([1.0f64, 2.0, 3.0, 4.0])?.into_output(); // two matrices of one row: (1, 2) and (3, 4)
    /// let x = device.upload([1.0, 10.0])?.into_output();
    /// let spec = Gemv::new(1, 2).batch(2).stride_x(0); // one x for both
    /// let y = device.blas().gemv_strided_batched(spec, &a, &x, device.uninit(2)?)?.await_result()?;
    /// assert_eq!(device.download(&y)?.await_result()?, [21.0, 43.0]);
    /// # Ok(()) }
    /// ```
    pub fn gemv_strided_batched<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, GemvBatch<T>>>,
        a: impl Readable<'a, T>,
        x: impl Readable<'a, T>,
        y: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let Scaled { spec, alpha, beta } = spec.into();
        let spec = GemvBatch { gemv: spec.gemv.column_major(), ..spec };
        let batch = StridedBatch { spec, scalars_at: beta.is_some() };
        self.submit(batch, (a.into(), x.into(), alpha, beta), (y,))
    }

    /// `y_i = alpha * op(A_i) * x_i + beta * y_i` for each of a batch of buffers (`cublas<t>gemvBatched`). All matrices
    /// have one shape and leading dimension, all x one increment, all y one increment.
    ///
    /// # Errors
    /// As [`gemv`](Self::gemv), and when the numbers of matrices, vectors and outputs differ, or increments differ;
    /// [`Error::Unsupported`] for band matrices. All outputs come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, blas::Gemv};
    /// let device = Device::host()?;
    /// let (a, b) = (device.upload([2.0f64])?.into_output(), device.upload([3.0])?.into_output());
    /// let x = device.upload([10.0])?.into_output();
    /// let (y, z) = (device.uninit(1)?, device.uninit(1)?);
    /// let (matrices, vectors) = ([a.as_in(), b.as_in()], [(&x).into(), (&x).into()]);
    /// let pending = device.blas().gemv_batched(Gemv::new(1, 1), &matrices, &vectors, vec![y.into(), z.into()])?;
    /// let all = pending.await_result()?;
    /// assert_eq!(device.download(&all[1])?.await_result()?, [30.0]);
    /// # Ok(()) }
    /// ```
    pub fn gemv_batched<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Gemv<T>>>,
        a: &[In<'a, T>],
        x: &[Vector<'a, T>],
        y: Vec<VectorMut<T>>,
    ) -> Submitted<Vec<DeviceBuffer<T>>> {
        let Scaled { spec, alpha, beta } = spec.into();
        let (data_x, at_x): (Vec<_>, Vec<_>) = x.iter().map(|x| (x.data, x.at)).unzip();
        let (data_y, at_y): (Vec<_>, Vec<_>) = y.into_iter().map(|y| (y.data, y.at)).unzip();
        let batch = Batch { spec: spec.column_major(), x: at_x, y: at_y, scalars_at: beta.is_some() };
        self.submit(batch, (a, &data_x[..], alpha, beta), (data_y,))
    }
}
