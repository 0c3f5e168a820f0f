//! Modified rotations, which need no square root: rotm and rotmg. Real types only.

use super::super::prelude::*;

/// The number of elements of a modified rotation: a flag and the four elements of the matrix, column after column.
const PARAM: usize = 5;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "T: RealElement")]
pub(super) struct Rotm<T> {
    param: [T; PARAM],
    x: Strided,
    y: Strided,
}

impl<T: RealElement> Routine for Rotm<T> {
    const NAME: &'static str = "rotm";
    const OPERANDS: OperandNames = (&["param"], &["x", "y"]);
    type Reads = (Option<T>,);
    type Output = (DeviceBuffer<T>, DeviceBuffer<T>);
    type Raw = ();

    fn check(&self, (param,): &Spans<Self::Reads>, (x, y): &Spans<(T, T)>) -> Result<()> {
        if let Some(param) = param {
            check_param(param.len())?;
        }
        self.x.check_n("x", x.len(), self.y.n, "the length of y")?;
        self.y.check("y", y.len())
    }

    fn cost(&self) -> Cost {
        let n = self.y.n as u64;
        Cost { flops: 6 * n, bytes: 4 * n * size_of::<T>() as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (param,): (Option<&[T]>,), (x, y): (&mut [T], &mut [T])) -> Result<()> {
        let param = param.and_then(|param| param.first_chunk()).unwrap_or(&self.param);
        numerics::level1::rotm(self.y.n, x, self.x.inc, y, self.y.inc, param);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        if self.y.n == 0 {
            return Ok(());
        }
        let ((param,), (x, y)) = (*queue.reads(), *queue.writes());
        let (n, incx, incy) = (self.y.len64(), self.x.inc64(), self.y.inc64());
        let (mode, param) = match param {
            Some(param) => (PointerMode::Device, param.address() as *const _),
            None => (PointerMode::Host, self.param.as_ptr().cast()),
        };
        let (x, y) = (x.address() as *mut _, y.address() as *mut _);
        // SAFETY: both vectors lie inside their buffers and the five numbers in theirs (checked), which live until this
        // work is done; in host memory the numbers are read before the call returns.
        queue.typed(mode, |blas, handle| unsafe { blas.rotm(T::LETTER, handle, n, x, incx, y, incy, param) })
    }
}

fn check_param(len: usize) -> Result<()> {
    if len < PARAM {
        return Err(Error::invalid("param", format!("{len} elements, but a modified rotation takes {PARAM}")));
    }
    Ok(())
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Rotmg<T>(PhantomData<T>);

impl<T: RealElement> Routine for Rotmg<T> {
    const NAME: &'static str = "rotmg";
    const OPERANDS: OperandNames = (&["y1"], &["d1", "d2", "x1", "param"]);
    type Reads = (T,);
    type Output = (DeviceBuffer<T>, DeviceBuffer<T>, DeviceBuffer<T>, DeviceBuffer<T>);
    type Raw = ();

    fn check(&self, (y1,): &Spans<(T,)>, (d1, d2, x1, param): &Spans<(T, T, T, T)>) -> Result<()> {
        let lengths = [("d1", d1.len()), ("d2", d2.len()), ("x1", x1.len()), ("y1", y1.len())];
        if let Some((name, _)) = lengths.into_iter().find(|(_, len)| *len == 0) {
            return Err(Error::invalid(name, "0 elements, but a modified rotation takes 1"));
        }
        check_param(param.len())
    }

    fn cost(&self) -> Cost {
        Cost { flops: 20, bytes: 12 * size_of::<T>() as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (y1,): (&[T],), (d1, d2, x1, param): (&mut [T], &mut [T], &mut [T], &mut [T])) -> Result<()> {
        let numbers = (d1.first_mut(), d2.first_mut(), x1.first_mut(), y1.first(), param.first_chunk_mut());
        if let (Some(d1), Some(d2), Some(x1), Some(y1), Some(param)) = numbers {
            (*d1, *d2, *x1) = numerics::level1::rotmg::<T>(*d1, *d2, *x1, *y1, param);
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((y1,), (d1, d2, x1, param)) = (*queue.reads(), *queue.writes());
        let (d1, d2, x1) = (d1.address() as *mut _, d2.address() as *mut _, x1.address() as *mut _);
        let (y1, param) = (y1.address() as *const _, param.address() as *mut _);
        // SAFETY: each buffer has its elements (checked), and lives until this work is done.
        queue.typed(PointerMode::Device, |blas, handle| unsafe { blas.rotmg(T::LETTER, handle, d1, d2, x1, y1, param) })
    }
}

impl Blas {
    /// Applies a modified rotation to the points `(x_i, y_i)` (`cublas<t>rotm`): `(x, y) = H (x, y)`.
    ///
    /// `param` is a flag and `h11, h21, h12, h22`. By the flag: -1, all four are as given; 0, `h11` and `h22` are 1;
    /// 1, `h12` is 1 and `h21` is -1; -2, H is the identity, and nothing changes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the lengths differ or a vector does not lie inside its buffer; a stale or foreign
    /// buffer. Both vectors come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (x, y) = (device.upload([1.0f64])?.into_output(), device.upload([10.0])?.into_output());
    /// let (x, y) = device.blas().rotm([-1.0, 1.0, 2.0, 3.0, 4.0], x, y)?.await_result()?;
    /// assert_eq!(device.download(&x)?.await_result()?, [31.0]);
    /// assert_eq!(device.download(&y)?.await_result()?, [42.0]);
    /// # Ok(()) }
    /// ```
    pub fn rotm<T: RealElement>(
        &self,
        param: [T; PARAM],
        x: impl WritableVector<T>,
        y: impl WritableVector<T>,
    ) -> Submitted<(DeviceBuffer<T>, DeviceBuffer<T>)> {
        let (x, y) = (x.into(), y.into());
        self.submit(Rotm { param, x: x.at, y: y.at }, (None,), (x.data, y.data))
    }

    /// As [`rotm`](Self::rotm), with the five numbers read from device memory when the work runs.
    ///
    /// # Errors
    /// As [`rotm`](Self::rotm).
    pub fn rotm_at<'a, T: RealElement>(
        &self,
        param: impl Readable<'a, T>,
        x: impl WritableVector<T>,
        y: impl WritableVector<T>,
    ) -> Submitted<(DeviceBuffer<T>, DeviceBuffer<T>)> {
        let (x, y) = (x.into(), y.into());
        let rotm = Rotm { param: [T::default(); PARAM], x: x.at, y: y.at };
        self.submit(rotm, (Some(param.into()),), (x.data, y.data))
    }

    /// Computes the modified rotation that takes `(sqrt(d1) * x1, sqrt(d2) * y1)` to a vector whose second component is
    /// zero (`cublas<t>rotmg`). All numbers are in device memory, each the first element of its buffer. As for
    /// [`rotg`](Self::rotg), there is no form that takes and returns numbers on the host.
    ///
    /// `d1`, `d2` and `x1` become those of the result; `param` becomes the five numbers of [`rotm`](Self::rotm), except
    /// those that the flag implies, which are not written. The algorithm is that of the reference BLAS (Lawson, Hanson,
    /// Kincaid, Krogh 1979), with its scaling by 4096.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an empty buffer, or a `param` of less than five elements; a stale or foreign
    /// buffer. The four that are written come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let of = |x: f64| device.upload([x]).map(|pending| pending.into_output());
    /// let (d1, d2, x1, y1) = (of(1.0)?, of(1.0)?, of(2.0)?, of(1.0)?);
    /// let (_, _, x1, param) = device.blas().rotmg(d1, d2, x1, &y1, device.zeros(5)?)?.await_result()?;
    /// assert_eq!(device.download(&x1)?.await_result()?, [2.5]);
    /// assert_eq!(device.download(&param)?.await_result()?, [0.0, 0.0, -0.5, 0.5, 0.0]);
    /// # Ok(()) }
    /// ```
    #[expect(clippy::type_complexity, reason = "four buffers in, the same four out")]
    pub fn rotmg<'a, T: RealElement>(
        &self,
        d1: DeviceBuffer<T>,
        d2: DeviceBuffer<T>,
        x1: DeviceBuffer<T>,
        y1: impl Readable<'a, T>,
        param: DeviceBuffer<T>,
    ) -> Submitted<(DeviceBuffer<T>, DeviceBuffer<T>, DeviceBuffer<T>, DeviceBuffer<T>)> {
        self.submit(Rotmg::<T>(PhantomData), (y1.into(),), (d1, d2, x1, param))
    }
}
