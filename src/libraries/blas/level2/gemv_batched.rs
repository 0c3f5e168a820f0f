//! Lists of products of a matrix with a vector, all of one shape.

use super::super::level3::matrix;
use super::super::prelude::*;
use super::gemv::{Gemv, General};
#[cfg(feature = "host")]
use crate::core::room::collected;
use crate::libraries::blas::lists::{numbered, parts, views, windows};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Batch<T: BlasElement> {
    a: General,
    x: Strided,
    y: Strided,
    count: usize,
    alpha: T,
    beta: T,
    /// Whether `beta` is on the device.
    beta_at: bool,
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
        for (name, len) in [("a", a.len()), ("x", x.len()), ("y", y.len())] {
            if len != self.count {
                return Err(Error::invalid(name, format!("{len} in the list, but there are {} outputs", self.count)));
            }
        }
        if self.a.band.is_some() {
            return Err(Error::unsupported("BLAS has no routine for batches of band matrices"));
        }
        let (rows, cols) = self.a.lengths();
        a.iter().try_for_each(|a| self.a.check(a.len()))?;
        x.iter().try_for_each(|x| self.x.check_n("x", x.len(), cols, "the number of columns of A"))?;
        y.iter().try_for_each(|y| self.y.check_n("y", y.len(), rows, "the number of rows of A"))
    }

    fn overwrites(&self, (y,): &Spans<(List<T>,)>) -> bool {
        let discards = !self.beta_at && self.beta == T::default() && !self.a.is_empty();
        discards && y.iter().all(|y| self.y.fills(y.len()))
    }

    fn cost(&self) -> Cost {
        let elements = self.a.elements().saturating_mul(self.count as u64);
        Cost { flops: elements.saturating_mul(2), bytes: elements.saturating_mul(size_of::<T>() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (a, x, alpha, beta): (Vec<&[T]>, Vec<&[T]>, Option<&[T]>, Option<&[T]>),
        (y,): (Vec<&mut [T]>,),
    ) -> Result<()> {
        let (alpha, beta) = (value(self.alpha, alpha), value(self.beta, beta));
        let (stored, trans, at_x, at_y) =
            (self.a.on_host(), self.a.trans.on_host(), self.x.on_host(), self.y.on_host());
        let all = collected(a.into_iter().zip(x).zip(y))?;
        numerics::level2::each_in(stored, all, |((a, x), y): ((&[T], &[T]), &mut [T])| {
            numerics::level2::gemv(stored, trans, alpha, a, x, at_x, beta, y, at_y);
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (General { m, n, trans, lda, .. }, (a, x, alpha, beta), (y,)) = (self.a, queue.reads(), queue.writes());
        if y.is_empty() || self.a.is_empty() {
            return Ok(());
        }
        let (alpha, beta) = queue.scalars((self.alpha, alpha), (self.beta, beta))?;
        let (m, n, lda, trans, count) = (m as i64, n as i64, lda as i64, trans.code::<T>(), y.len() as i64);
        let (incx, incy) = (self.x.inc64(), self.y.inc64());
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
                let (rows, ldc) = (self.y.len64(), incy.abs());
                return blas.gemm_batched(t, h, 0, 0, 1, rows, 0, alpha_at, y, 1, y, 1, beta, y, ldc, count);
            }
            blas.gemv_batched(t, h, trans, m, n, alpha_at, a, lda, x, incx, beta, y, incy, count)
        })
    }
}

impl<T: BlasElement> Batch<T> {
    /// The batch, and its scalars if they are on the device.
    fn new<'x>(
        spec: &'x Gemv<'_, T>,
        a: &[TensorRef<'_, T>],
        x: &[TensorRef<'_, T>],
        y: &[Part<T>],
    ) -> Result<(Self, [Option<In<'x, T>>; 2])> {
        let ((alpha, alpha_at), (beta, beta_at)) = (spec.alpha.one("alpha")?, spec.beta.one("beta")?);
        let none = Strided { n: 0, inc: 1 };
        let mut all: Option<(General, Strided, Strided)> = None;
        for (index, ((a, x), y)) in a.iter().zip(x).zip(y).enumerate() {
            let (of_a, of_x, of_y) = (a.layout(), x.layout(), y.layout());
            let one = || {
                let (at_x, at_y) = (Strided::vector("x", of_x)?, Strided::vector("y", of_y)?);
                let general = spec.general(of_a, &matrix("a", of_a)?, [at_x.n, at_y.n])?;
                let (rows, cols) = general.lengths();
                Ok((general, at_x.beside("x", of_x, cols, of_a)?, at_y.beside("y", of_y, rows, of_a)?))
            };
            let one = one().map_err(|error| numbered(error, index))?;
            let first = *all.get_or_insert(one);
            for (name, differs) in [("a", first.0 != one.0), ("x", first.1 != one.1), ("y", first.2 != one.2)] {
                if differs {
                    let what = "another layout than the first: a batch has one shape, leading dimension and increment";
                    return Err(numbered(Error::invalid(name, what), index));
                }
            }
        }
        let empty = General { m: 0, n: 0, band: None, trans: Transpose::No, lda: 1 };
        let (general, at_x, at_y) = all.unwrap_or((empty, none, none));
        let batch = Batch { a: general, x: at_x, y: at_y, count: y.len(), alpha, beta, beta_at: beta_at.is_some() };
        Ok((batch, [alpha_at, beta_at]))
    }
}

impl Blas {
    /// `y_i = alpha * A_i * x_i + beta * y_i` for each of a list (`cublas<t>gemvBatched`); see [`Gemv`]. All matrices have one
    /// shape and leading dimension, all x one increment, all y one increment. Matrices at even distances in one tensor are a batch of
    /// [`gemv`](Self::gemv).
    ///
    /// # Errors
    /// As [`gemv`](Self::gemv), and when the lengths of the lists or the layouts in one differ; [`Error::Unsupported`] for band
    /// matrices. All outputs come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, blas::Gemv};
    /// let device = Device::host()?;
    /// let (a, b) = (device.tensor([1, 1], [2.0f64])?, device.tensor([1, 1], [3.0])?);
    /// let (x, y) = (device.tensor([1], [10.0])?, [device.uninit([1])?, device.uninit([1])?]);
    /// let y = device.blas().gemv_batched(Gemv::new(), [&a, &b], [&x, &x], y)?.await_result()?;
    /// assert_eq!(device.to_vec(&y[1])?, [30.0]);
    /// # Ok(()) }
    /// ```
    pub fn gemv_batched<'a, 'b, T: BlasElement>(
        &self,
        spec: Gemv<'_, T>,
        a: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        x: impl IntoIterator<Item: ReadableTensor<'b, T>>,
        y: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Submitted<Vec<Tensor<T>>> {
        self.gemv_each(&spec, &views(a), &views(x), parts(y))
    }

    fn gemv_each<T: BlasElement>(
        &self,
        spec: &Gemv<'_, T>,
        a: &[TensorRef<'_, T>],
        x: &[TensorRef<'_, T>],
        y: Vec<Part<T>>,
    ) -> Submitted<Vec<Tensor<T>>> {
        let made = || {
            let (batch, [alpha, beta]) = Batch::new(spec, a, x, &y)?;
            Ok((batch, windows(a)?, windows(x)?, alpha, beta))
        };
        let made = made();
        Part::submit_list(y, (Batch::<T>::NAME, "blas"), made, |(batch, a, x, alpha, beta), y| {
            self.submit(batch, (&a[..], &x[..], alpha, beta), (y,))
        })
    }
}
