//! Modified rotations, which need no square root: rotm and rotmg. Real types only.

use super::super::prelude::*;
use super::rot::one;
use crate::core::error::Rejected;
use std::convert::Infallible;

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
    /// 1, `h12` is 1 and `h21` is -1; -2, H is the identity, and nothing changes. They are an array, or on the device.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes differ or an operand is no [vector](crate::blas#conventions); a stale or foreign
    /// buffer. Both vectors come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (x, y) = (device.tensor([1], [1.0f64])?, device.tensor([1], [10.0])?);
    /// let (x, y) = device.blas().rotm([-1.0, 1.0, 2.0, 3.0, 4.0], x, y)?.await_result()?;
    /// assert_eq!((device.item(&x)?, device.item(&y)?), (31.0, 42.0));
    /// # Ok(()) }
    /// ```
    pub fn rotm<'a, T: RealElement>(
        &self,
        param: impl Into<Numbers<'a, T, PARAM>>,
        x: impl WritableTensor<T>,
        y: impl WritableTensor<T>,
    ) -> Submitted<(Tensor<T>, Tensor<T>)> {
        let (param, x, y) = (param.into(), x.into(), y.into());
        let made = Strided::of([("x", x.layout()), ("y", y.layout())]).and_then(|[x, y]| {
            let (param, at) = param.parts("param")?;
            Ok((Rotm { param, x, y }, (at,)))
        });
        self.writes_two(made, [x, y])
    }

    /// Computes the modified rotation that takes `(sqrt(d1) * x1, sqrt(d2) * y1)` to a vector whose second component is
    /// zero (`cublas<t>rotmg`). All numbers are in device memory, each the only element of its tensor. As for
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
    /// let of = |x: f64| device.tensor([1], [x]);
    /// let (d1, d2, x1, y1) = (of(1.0)?, of(1.0)?, of(2.0)?, of(1.0)?);
    /// let (_, _, x1, param) = device.blas().rotmg(d1, d2, x1, &y1, device.zeros([5])?)?.await_result()?;
    /// assert_eq!(device.item(&x1)?, 2.5);
    /// assert_eq!(device.to_vec(&param)?, [0.0, 0.0, -0.5, 0.5, 0.0]);
    /// # Ok(()) }
    /// ```
    #[expect(clippy::type_complexity, reason = "four tensors in, the same four out")]
    pub fn rotmg<'a, T: RealElement>(
        &self,
        d1: impl WritableTensor<T>,
        d2: impl WritableTensor<T>,
        x1: impl WritableTensor<T>,
        y1: impl ReadableTensor<'a, T>,
        param: impl WritableTensor<T>,
    ) -> Submitted<(Tensor<T>, Tensor<T>, Tensor<T>, Tensor<T>)> {
        let (y1, param) = (y1.into(), param.into());
        let apart = !param.layout().is_row_major();
        let ((d1, of_d1), (d2, of_d2)) = (one(d1.into()), one(d2.into()));
        let ((x1, of_x1), (param, of_param)) = (one(x1.into()), one(param));
        let whole =
            |(d1, d2, x1, param)| (of_d1.tensor(d1), of_d2.tensor(d2), of_x1.tensor(x1), of_param.tensor(param));
        let made = match y1.operand() {
            Ok(_) if apart => Err(Error::invalid("param", "its elements are not neighbours in order")),
            made => made,
        };
        let (y1, _) = match made {
            Ok(made) => made,
            Err(error) => return Err(Rejected::new(error.in_op("rotmg", "blas"), whole((d1, d2, x1, param)))),
        };
        match self.submit(Rotmg::<T>(PhantomData), (y1,), (d1, d2, x1, param)) {
            Ok(pending) => {
                Ok(pending.retype(|all| Ok::<_, Infallible>(whole(all))).unwrap_or_else(|never| match never {}))
            }
            Err(rejected) => Err(rejected.map(whole)),
        }
    }
}
