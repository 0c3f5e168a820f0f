//! Products with a diagonal matrix: dgmm.

use super::super::prelude::*;
use super::cost;
use super::orders::{check_shape, in_some_order, like, matrix};
#[cfg(feature = "host")]
use crate::numerics::level3::DgmmSpec;

/// A product that is written by columns.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Scale<T> {
    side: Side,
    m: usize,
    n: usize,
    lda: usize,
    ldc: usize,
    x: Strided,
    _type: PhantomData<T>,
}

impl<T> Scale<T> {
    fn from_layouts(side: Side, of_a: &Layout, of_x: &Layout, of_c: &Layout) -> Result<Self> {
        let ([a, c], x) = ([matrix("a", of_a)?, matrix("c", of_c)?], Strided::vector("x", of_x)?);
        let (m, n) = (c.rows, c.cols);
        check_shape("a", &a, (m, n), ("c", &c))?;
        let length = if side == Side::Left { m } else { n };
        if of_x.shape() != [length] {
            let what =
                format!("shape {:?}, but on this side of a matrix of {m} x {n} it has to be [{length}]", of_x.shape());
            return Err(Error::invalid("x", what));
        }
        in_some_order("c", &c, |order, ldc| {
            let (m, n) = if order == Order::Row { (n, m) } else { (m, n) };
            Ok(Scale {
                side: side.by_columns(order),
                m,
                n,
                lda: like("a", &a, order, "c")?,
                ldc,
                x,
                _type: PhantomData,
            })
        })
    }
}

impl<T: BlasElement> Routine for Scale<T> {
    const NAME: &'static str = "dgmm";
    const OPERANDS: OperandNames = (&["a", "x"], &["c"]);
    type Reads = (T, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, x): &Spans<Self::Reads>, (c,): &Spans<(T,)>) -> Result<()> {
        let Scale { side, m, n, lda, ldc, .. } = *self;
        check_size("m", m)?;
        check_size("n", n)?;
        check_matrix("a", m, n, lda, a.len())?;
        let (length, what) = if side == Side::Left { (m, "m") } else { (n, "n") };
        self.x.check_n("x", x.len(), length, what)?;
        check_matrix("c", m, n, ldc, c.len())
    }

    fn overwrites(&self, (c,): &Spans<(T,)>) -> bool {
        fills(self.m, self.n, self.ldc, c.len())
    }

    fn cost(&self) -> Cost {
        let elements = self.m.saturating_mul(self.n);
        cost::<T>([self.m, self.n, 1], [elements, elements, self.x.n])
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, x): (&[T], &[T]), (c,): (&mut [T],)) -> Result<()> {
        let Scale { side, m, n, lda, ldc, .. } = *self;
        T::dgmm(&DgmmSpec { side: side.on_host(), m, n, lda, incx: self.x.inc, ldc }, a, x, c);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, x), (c,), side) = (*queue.reads(), *queue.writes(), self.side.code());
        let ([m, n, lda, ldc], incx) = ([self.m, self.n, self.lda, self.ldc].map(|size| size as i64), self.x.inc64());
        if m == 0 || n == 0 {
            return Ok(());
        }
        let (a, x, c) = (a.address() as *const _, x.address() as *const _, c.address() as *mut _);
        // SAFETY: the matrices and the vector lie inside their buffers (checked), which live until this work is done.
        queue.typed(PointerMode::Host, |api, handle| unsafe {
            api.dgmm(T::LETTER, handle, side, m, n, a, lda, x, incx, c, ldc)
        })
    }
}

impl Blas {
    /// The product with a diagonal matrix (`cublas<t>dgmm`): `C = diag(x) * A` (x on the left, it scales rows) or
    /// `C = A * diag(x)` (it scales columns). A and C are `m x n` and lie in one order; x is a [vector](crate::blas#conventions).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, A or C has not two axes, neither the rows nor the columns of one
    /// are contiguous, or A lies in another order than C: [`contiguous`](crate::Device::contiguous) and
    /// [`contiguous_columns`](crate::Device::contiguous_columns) make copies; a stale or foreign buffer. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Side};
    /// let device = Device::host()?;
    /// let (a, x) = (device.tensor([2, 2], [1.0f32, 2.0, 3.0, 4.0])?, device.tensor([2], [1.0, 10.0])?);
    /// let c = device.blas().dgmm(Side::Left, &a, &x, device.uninit([2, 2])?)?;
    /// assert_eq!(device.to_vec(&c)?, [1.0, 2.0, 30.0, 40.0]);
    /// # Ok(()) }
    /// ```
    pub fn dgmm<'a, 'b, T: BlasElement>(
        &self,
        side: Side,
        a: impl ReadableTensor<'a, T>,
        x: impl ReadableTensor<'b, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (a, x, c) = (a.into(), x.into(), c.into());
        let made = a.operand().and_then(|(a, of_a)| {
            let (x, of_x) = x.operand()?;
            Ok((Scale::<T>::from_layouts(side, &of_a, &of_x, c.layout())?, (a, x)))
        });
        self.writes(made, c)
    }
}
