//! Products with a diagonal matrix: dgmm.

use super::super::prelude::*;
use super::cost;
#[cfg(feature = "host")]
use crate::numerics::level3::DgmmSpec;

/// `C = diag(x) * A` (x on the left, it scales rows) or `C = A * diag(x)` (it scales columns), all `m x n`.
///
/// Unless set, matrices are column-major and leading dimensions leave no gaps.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[must_use]
pub struct Dgmm {
    side: Side,
    m: usize,
    n: usize,
    row_major: bool,
    lda: Option<usize>,
    ldc: Option<usize>,
}

impl Dgmm {
    /// The diagonal matrix on `side`; A and C are `m x n`.
    pub fn new(side: Side, m: usize, n: usize) -> Self {
        Dgmm { side, m, n, row_major: false, lda: None, ldc: None }
    }

    /// The equivalent product of column-major matrices.
    fn column_major(self) -> Self {
        if !self.row_major {
            return self;
        }
        Dgmm { side: self.side.transposed(), m: self.n, n: self.m, row_major: false, ..self }
    }
}

setters!(Dgmm {
    /// Elements between the columns (in row-major order the rows) of A.
    lda: usize;
    /// Elements between the columns (in row-major order the rows) of C.
    ldc: usize;
});

row_major!(Dgmm);

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Scale<T> {
    spec: Dgmm,
    x: Strided,
    _type: PhantomData<T>,
}

impl<T> Scale<T> {
    /// Leading dimensions of A and C.
    fn leading(&self) -> [usize; 2] {
        let rows = self.spec.m.max(1);
        [self.spec.lda.unwrap_or(rows), self.spec.ldc.unwrap_or(rows)]
    }
}

impl<T: BlasElement> Routine for Scale<T> {
    const NAME: &'static str = "dgmm";
    const OPERANDS: OperandNames = (&["a", "x"], &["c"]);
    type Reads = (T, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, x): &Spans<Self::Reads>, (c,): &Spans<(T,)>) -> Result<()> {
        let (Dgmm { side, m, n, .. }, [lda, ldc]) = (self.spec, self.leading());
        check_size("m", m)?;
        check_size("n", n)?;
        check_matrix("a", m, n, lda, a.len())?;
        let (length, what) = if side == Side::Left { (m, "m") } else { (n, "n") };
        self.x.check_n("x", x.len(), length, what)?;
        check_matrix("c", m, n, ldc, c.len())
    }

    fn overwrites(&self, (c,): &Spans<(T,)>) -> bool {
        fills(self.spec.m, self.spec.n, self.leading()[1], c.len())
    }

    fn cost(&self) -> Cost {
        let elements = self.spec.m.saturating_mul(self.spec.n);
        cost::<T>([self.spec.m, self.spec.n, 1], [elements, elements, self.x.n])
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, x): (&[T], &[T]), (c,): (&mut [T],)) -> Result<()> {
        let (Dgmm { side, m, n, .. }, [lda, ldc]) = (self.spec, self.leading());
        T::dgmm(&DgmmSpec { side: side.on_host(), m, n, lda, incx: self.x.inc, ldc }, a, x, c);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, x), (c,), Dgmm { side, m, n, .. }) = (*queue.reads(), *queue.writes(), self.spec);
        let (side, [lda, ldc], incx) = (side.code(), self.leading().map(|ld| ld as i64), self.x.inc64());
        if m == 0 || n == 0 {
            return Ok(());
        }
        let (a, x, c) = (a.address() as *const _, x.address() as *const _, c.address() as *mut _);
        // SAFETY: the matrices and the vector lie inside their buffers (checked), which live until this work is done.
        queue.typed(PointerMode::Host, |api, handle| unsafe {
            api.dgmm(T::LETTER, handle, side, m as i64, n as i64, a, lda, x, incx, c, ldc)
        })
    }
}

impl Blas {
    /// The product with a diagonal matrix (`cublas<t>dgmm`); see [`Dgmm`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when a leading dimension is too small, the length of x does not match that side of A,
    /// or something does not lie inside its buffer; a stale or foreign buffer. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Side, blas::Dgmm};
    /// let device = Device::host()?;
    /// let a = device.upload([1.0f32, 2.0, 3.0, 4.0])?.into_output();
    /// let x = device.upload([1.0f32, 10.0])?.into_output();
    /// let c = device.blas().dgmm(Dgmm::new(Side::Left, 2, 2), &a, &x, device.uninit(4)?)?.await_result()?;
    /// assert_eq!(device.download(&c)?.await_result()?, [1.0, 20.0, 3.0, 40.0]);
    /// # Ok(()) }
    /// ```
    pub fn dgmm<'a, T: BlasElement>(
        &self,
        spec: Dgmm,
        a: impl Readable<'a, T>,
        x: impl ReadableVector<'a, T>,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let (spec, x) = (spec.column_major(), x.into());
        self.submit(Scale { spec, x: x.at, _type: PhantomData }, (a.into(), x.data), (c,))
    }
}
