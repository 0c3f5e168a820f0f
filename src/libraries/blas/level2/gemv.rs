//! Products of a general or a band matrix with a vector, and batches of them: gemv, gbmv.

use super::super::prelude::*;
use super::turn::Turn;

/// `y = alpha * A * x + beta * y` with a general matrix or one stored by bands.
///
/// Unless set: nothing is conjugated, `alpha` is 1 and `beta` 0. If A has no rows or no columns, nothing happens, as in BLAS: y
/// is not scaled either.
#[derive(Clone, Debug)]
#[must_use]
pub struct Gemv<'a, T: BlasElement> {
    /// Diagonals below and above the main one.
    band: Option<(usize, usize)>,
    turn: Turn,
    pub(super) alpha: Numbers<'a, T>,
    pub(super) beta: Numbers<'a, T>,
}

impl<T: BlasElement> Gemv<'_, T> {
    /// A is `[m, n]`.
    pub fn new() -> Self {
        Gemv { band: None, turn: Turn::default(), alpha: T::ONE.into(), beta: T::default().into() }
    }

    /// A is `[kl + ku + 1, n]`: of an `m x n` matrix the main diagonal, `kl` diagonals below it and `ku` above it, each a row
    /// whose elements stand in their columns: element `(i, j)` is at `[ku + i - j, j]`. Its columns are contiguous. `m` is the
    /// length of the vector on that side.
    pub fn banded(kl: usize, ku: usize) -> Self {
        Gemv { band: Some((kl, ku)), ..Gemv::new() }
    }

    /// What is done to a banded A before the product. A full one is transposed by its view.
    pub fn trans(mut self, trans: Transpose) -> Self {
        self.turn.trans = trans;
        self
    }

    /// Takes the conjugate of A; of real types A itself. BLAS conjugates only what it also transposes: a full matrix whose rows
    /// are contiguous, such as the transposed view of one whose columns are.
    pub fn conjugate_a(mut self) -> Self {
        self.turn.conjugate = true;
        self
    }

    /// A as the library reads it, which multiplies vectors of `x` elements to those of `y`.
    pub(super) fn general(&self, of_a: &Layout, a: &Matrices, [x, y]: [usize; 2]) -> Result<General> {
        let Some((kl, ku)) = self.band else {
            let (order, lda) = a.lines("a", self.turn.wanted::<T>())?;
            let trans = self.turn.of_full::<T>(order)?;
            let (m, n) = if order == Order::Row { (a.cols, a.rows) } else { (a.rows, a.cols) };
            return Ok(General { m, n, band: None, trans, lda });
        };
        if of_a.rank() > 2 {
            return Err(Error::unsupported("BLAS has no routine for batches of band matrices"));
        }
        let trans = self.turn.of_stored::<T>()?;
        let m = if trans == Transpose::No { y } else { x };
        let general = General { m, n: a.cols, band: Some((kl, ku)), trans, lda: 1 };
        if a.rows != general.rows() {
            let what =
                format!("shape {:?}, but a band of {kl} and {ku} diagonals beside the main one has", of_a.shape());
            return Err(Error::invalid("a", format!("{what} {} rows", general.rows())));
        }
        Ok(General { lda: a.columns("a")?, ..general })
    }
}

impl<T: BlasElement> Default for Gemv<'_, T> {
    fn default() -> Self {
        Gemv::new()
    }
}

factors!(Gemv<T: BlasElement>, alpha: T, beta: T);

/// A column-major matrix, and what is done to it.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct General {
    pub(super) m: usize,
    pub(super) n: usize,
    /// Diagonals below and above the main one.
    pub(super) band: Option<(usize, usize)>,
    pub(super) trans: Transpose,
    pub(super) lda: usize,
}

impl General {
    /// Rows as stored.
    fn rows(&self) -> usize {
        self.band.map_or(self.m, |(kl, ku)| kl.saturating_add(ku).saturating_add(1))
    }

    /// Lengths of y and x.
    pub(super) fn lengths(&self) -> (usize, usize) {
        self.trans.stored(self.m, self.n)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.m == 0 || self.n == 0
    }

    /// Checks that A lies inside a buffer of `len` elements.
    pub(super) fn check(&self, len: usize) -> Result<()> {
        let (kl, ku) = self.band.unwrap_or_default();
        for (name, size) in [("m", self.m), ("n", self.n), ("kl", kl), ("ku", ku)] {
            check_size(name, size)?;
        }
        if self.is_empty() { Ok(()) } else { check_matrix("a", self.rows(), self.n, self.lda, len) }
    }

    /// Elements of A.
    pub(super) fn elements(&self) -> u64 {
        (self.rows().min(self.m) as u64).saturating_mul(self.n as u64)
    }

    #[cfg(feature = "host")]
    pub(super) fn on_host(&self) -> numerics::level2::Stored {
        use numerics::level2::Layout;
        let layout = self.band.map_or(Layout::Full { ld: self.lda }, |(kl, ku)| Layout::Band { kl, ku, ld: self.lda });
        numerics::level2::Stored { rows: self.m, cols: self.n, layout }
    }
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
pub(super) struct Product<T: BlasElement> {
    a: General,
    x: Strided,
    y: Strided,
    /// Of a batch: how many, and the elements between the beginnings of A, x and y.
    batch: Option<(usize, [usize; 3])>,
    alpha: T,
    beta: T,
    /// Whether `beta` is on the device.
    beta_at: bool,
}

impl<T: BlasElement> Product<T> {
    fn batch(&self) -> (usize, [usize; 3]) {
        self.batch.unwrap_or((1, [0; 3]))
    }

    fn is_empty(&self) -> bool {
        self.a.is_empty() || self.batch().0 == 0
    }
}

impl<T: BlasElement> Routine for Product<T> {
    const NAME: &'static str = "gemv";
    const OPERANDS: OperandNames = (&["a", "x", "alpha", "beta"], &["y"]);
    type Reads = (T, T, Option<T>, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, x, alpha, beta): &Spans<Self::Reads>, (y,): &Spans<(T,)>) -> Result<()> {
        let ((count, [to_a, to_x, to_y]), (rows, cols)) = (self.batch(), self.a.lengths());
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        check_size("y", count)?;
        if count == 0 {
            return Ok(());
        }
        if self.a.band.is_some() && self.batch.is_some() {
            return Err(Error::unsupported("BLAS has no routine for batches of band matrices"));
        }
        self.a.check(last_of("a", count, to_a, a.len(), self.is_empty())?)?;
        self.x.check_n("x", last_of("x", count, to_x, x.len(), cols == 0)?, cols, "the number of columns of A")?;
        self.y.check_n("y", last_of("y", count, to_y, y.len(), rows == 0)?, rows, "the number of rows of A")?;
        match self.y.span() {
            Some(span) if count > 1 && to_y < span => {
                let what =
                    format!("each spans {span} elements, but they begin {to_y} apart; `contiguous` makes a copy");
                Err(Error::invalid("y", format!("{what} in which none reaches into another")))
            }
            _ => Ok(()),
        }
    }

    fn overwrites(&self, (y,): &Spans<(T,)>) -> bool {
        let (count, [.., to_y]) = self.batch();
        let gapless = self.y.fills(self.y.n) && (count == 1 || to_y == self.y.n);
        let discards = !self.beta_at && self.beta == T::default() && !self.is_empty();
        discards && gapless && self.y.n.checked_mul(count) == Some(y.len())
    }

    fn cost(&self) -> Cost {
        let (elements, count) = (self.a.elements(), self.batch().0 as u64);
        let all = elements.saturating_add(self.a.m as u64).saturating_add(self.a.n as u64).saturating_mul(count);
        let flops = elements.saturating_mul(2).saturating_mul(count);
        Cost { flops, bytes: all.saturating_mul(size_of::<T>() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, x, alpha, beta): (&[T], &[T], Option<&[T]>, Option<&[T]>), (y,): (&mut [T],)) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let (alpha, beta) = (value(self.alpha, alpha), value(self.beta, beta));
        let ((count, [to_a, to_x, to_y]), stored, trans) = (self.batch(), self.a.on_host(), self.a.trans.on_host());
        numerics::level2::each_of(count, to_y, stored, y, |i, y| {
            let (a, x) = (a.get(i * to_a..).unwrap_or_default(), x.get(i * to_x..).unwrap_or_default());
            numerics::level2::gemv(stored, trans, alpha, a, x, self.x.on_host(), beta, y, self.y.on_host());
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (General { m, n, band, trans, lda }, (a, x, alpha, beta), (y,)) = (self.a, *queue.reads(), *queue.writes());
        if self.is_empty() {
            return Ok(());
        }
        let (alpha, beta) = queue.scalars((self.alpha, &alpha), (self.beta, &beta))?;
        if alpha.is_zero() && self.batch.is_none() {
            return queue.scale(y, self.y, &beta);
        }
        let (trans, m, n, lda) = (trans.code::<T>(), m as i64, n as i64, lda as i64);
        let (a, x, y) = (a.address() as *const _, x.address() as *const _, y.address() as *mut std::ffi::c_void);
        let (incx, incy) = (self.x.inc64(), self.y.inc64());
        let batch = self.batch.map(|(count, strides)| (count as i64, strides.map(|stride| stride as i64)));
        // SAFETY: all matrices and vectors lie inside their buffers (checked), which live until this work is done; scalars
        // in host memory are read before the call returns.
        queue.typed(alpha.mode(), |blas, handle| unsafe {
            let (t, h, zero, alpha, beta) = (T::LETTER, handle, alpha.is_zero(), alpha.pointer(), beta.pointer());
            match (batch, band) {
                (None, None) => blas.gemv(t, h, trans, m, n, alpha, a, lda, x, incx, beta, y, incy),
                (None, Some((kl, ku))) => {
                    let (kl, ku) = (kl as i64, ku as i64);
                    blas.gbmv(t, h, trans, m, n, kl, ku, alpha, a, lda, x, incx, beta, y, incy)
                }
                (Some((count, [.., to_y])), _) if zero => {
                    // Products with `k = 0`, which read no factors. Each y is a matrix of one row.
                    let (rows, ldc) = (self.y.len64(), incy.abs());
                    blas.gemm_strided_batched(
                        t, h, 0, 0, 1, rows, 0, alpha, y, 1, 0, y, 1, 0, beta, y, ldc, to_y, count,
                    )
                }
                (Some((count, [to_a, to_x, to_y])), _) => blas.gemv_strided_batched(
                    t, h, trans, m, n, alpha, a, lda, to_a, x, incx, to_x, beta, y, incy, to_y, count,
                ),
            }
        })
    }
}

impl Blas {
    /// `y = alpha * A * x + beta * y` (`cublas<t>gemv`, `gbmv`); see [`Gemv`]. A is `[.., m, n]`, x `[.., n]` and y `[.., m]`: the
    /// leading axes of y are a batch (`gemvStridedBatched`), along which A and x are repeated where they have no such axis, or one of
    /// extent 1.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, neither the rows nor the columns of A are contiguous, x is
    /// broadcast within a vector, or a batch is not at even distances ([`contiguous`](crate::Device::contiguous) makes a copy that
    /// serves); [`Error::Unsupported`] for a conjugate that is not transposed too, and for batches of band matrices; a stale or
    /// foreign buffer. `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, blas::Gemv};
    /// let device = Device::host()?;
    /// let (a, x) = (device.tensor([2, 2], [1.0f64, 2.0, 3.0, 4.0])?, device.tensor([2], [1.0, 10.0])?);
    /// let y = device.blas().gemv(Gemv::new().alpha(2.0), &a, &x, device.uninit([2])?)?;
    /// assert_eq!(device.to_vec(&y)?, [42.0, 86.0]);
    /// let y = device.blas().gemv(Gemv::new(), a.transpose(), x.flip(0)?, y)?;
    /// assert_eq!(device.to_vec(&y)?, [13.0, 24.0]);
    /// let each = a.reshape([2, 1, 2])?; // two matrices of one row, and one x for both
    /// let y = device.blas().gemv(Gemv::new(), &each, &x, device.uninit([2, 1])?)?;
    /// assert_eq!(device.to_vec(&y)?, [21.0, 43.0]);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "gbmv")]
    #[doc(alias = "gemv_strided_batched")]
    pub fn gemv<'a, 'b, T: BlasElement>(
        &self,
        spec: Gemv<'_, T>,
        a: impl ReadableTensor<'a, T>,
        x: impl ReadableTensor<'b, T>,
        y: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.gemv_of(&spec, &a.into(), &x.into(), y.into())
    }

    fn gemv_of<T: BlasElement>(
        &self,
        spec: &Gemv<'_, T>,
        a: &TensorRef<'_, T>,
        x: &TensorRef<'_, T>,
        y: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let made = || {
            let (of_a, of_x, of_y) = (a.layout(), x.layout(), y.layout());
            let ((alpha, alpha_at), (beta, beta_at)) = (spec.alpha.one("alpha")?, spec.beta.one("beta")?);
            let (at_x, at_y) = (Strided::last("x", of_x)?, Strided::last("y", of_y)?);
            let [batch @ .., _] = of_y.shape() else { return Err(Error::invalid("y", "it has no axis")) };
            let matrices = Matrices::along("a", of_a, batch)?;
            let general = spec.general(of_a, &matrices, [at_x.n, at_y.n])?;
            let (rows, cols) = general.lengths();
            let (x_at, y_at) = (at_x.beside("x", of_x, cols, of_a)?, at_y.beside("y", of_y, rows, of_a)?);
            let (to_x, to_y) = (repeats("x", of_x, 1, batch)?.1, repeats("y", of_y, 1, batch)?.1);
            let batch = (!batch.is_empty()).then_some((matrices.count, [matrices.stride, to_x, to_y]));
            let product = Product { a: general, x: x_at, y: y_at, batch, alpha, beta, beta_at: beta_at.is_some() };
            Ok((product, (a.window()?, x.window()?, alpha_at, beta_at)))
        };
        self.writes::<T, Product<T>>(made(), y)
    }
}
