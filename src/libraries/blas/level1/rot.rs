//! Plane rotations: rot and rotg.

use super::super::prelude::*;

/// `x = c * x + s * y`, `y = c * y - conj(s) * x`, with an s of the element's type or of its real type.
macro_rules! rotation {
    ($Rot:ident, $name:literal, $routine:ident, $t:ident, $s:ty) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(bound = "")]
        pub(super) struct $Rot<$t: BlasElement> {
            c: $t::Real,
            s: $s,
            x: Strided,
            y: Strided,
        }

        impl<$t: BlasElement> Routine for $Rot<$t> {
            const NAME: &'static str = $name;
            const OPERANDS: OperandNames = (&["c", "s"], &["x", "y"]);
            type Reads = (Option<$t::Real>, Option<$s>);
            type Output = (DeviceBuffer<$t>, DeviceBuffer<$t>);
            type Raw = ();

            fn check(&self, (c, s): &Spans<Self::Reads>, (x, y): &Spans<($t, $t)>) -> Result<()> {
                check_scalar("c", c)?;
                check_scalar("s", s)?;
                self.x.check_n("x", x.len(), self.y.n, "the length of y")?;
                self.y.check("y", y.len())
            }

            fn cost(&self) -> Cost {
                let n = self.y.n as u64;
                Cost { flops: 6 * n, bytes: 4 * n * size_of::<$t>() as u64 }
            }

            #[cfg(feature = "host")]
            fn host(&self, (c, s): (Option<&[$t::Real]>, Option<&[$s]>), (x, y): (&mut [$t], &mut [$t])) -> Result<()> {
                let (c, s) = (value(self.c, c), value(self.s, s));
                numerics::level1::$routine(self.y.n, x, self.x.inc, y, self.y.inc, c, s);
                Ok(())
            }

            #[cfg(feature = "cuda")]
            fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
                if self.y.n == 0 {
                    return Ok(());
                }
                let ((c, s), (x, y)) = (*queue.reads(), *queue.writes());
                let (c, s) = (Scalar::new(self.c, &c), Scalar::new(self.s, &s));
                let (n, incx, incy) = (self.y.len64(), self.x.inc64(), self.y.inc64());
                let (x, y) = (x.address() as *mut _, y.address() as *mut _);
                // SAFETY: both vectors lie inside their buffers (checked), which live until this work is done; scalars in
                // host memory are read before the call returns.
                queue.typed(c.mode(), |blas, handle| unsafe {
                    blas.$routine($t::LETTER, handle, n, x, incx, y, incy, c.pointer(), s.pointer())
                })
            }
        }
    };
}
rotation!(Rot, "rot", rot, T, T);
rotation!(RotReal, "rot_real", rot_real, T, T::Real);

/// Computes the rotation that takes `(a, b)` to `(r, 0)`.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Rotg<T>(PhantomData<T>);

impl<T: BlasElement> Routine for Rotg<T> {
    const NAME: &'static str = "rotg";
    const OPERANDS: OperandNames = (&[], &["a", "b", "c", "s"]);
    type Reads = ();
    type Output = (DeviceBuffer<T>, DeviceBuffer<T>, DeviceBuffer<T::Real>, DeviceBuffer<T>);
    type Raw = ();

    fn check(&self, (): &(), (a, b, c, s): &Spans<(T, T, T::Real, T)>) -> Result<()> {
        let lengths = [("a", a.len()), ("b", b.len()), ("c", c.len()), ("s", s.len())];
        match lengths.into_iter().find(|(_, len)| *len == 0) {
            Some((name, _)) => Err(Error::invalid(name, "0 elements, but a rotation takes 1")),
            None => Ok(()),
        }
    }

    /// `c` and `s` are only written.
    fn overwrites_each(&self, (.., c, s): &Spans<(T, T, T::Real, T)>, index: usize) -> bool {
        match index {
            2 => c.len() == 1,
            3 => s.len() == 1,
            _ => false,
        }
    }

    fn cost(&self) -> Cost {
        Cost { flops: 10, bytes: 7 * size_of::<T>() as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (a, b, c, s): (&mut [T], &mut [T], &mut [T::Real], &mut [T])) -> Result<()> {
        if let (Some(a), Some(b), Some(c), Some(s)) = (a.first_mut(), b.first_mut(), c.first_mut(), s.first_mut()) {
            (*a, *b, *c, *s) = T::rotg(*a, *b);
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (a, b, c, s) = *queue.writes();
        let (a, b, c, s) = (a.address(), b.address(), c.address(), s.address());
        // SAFETY: each buffer has an element (checked), and lives until this work is done.
        queue.typed(PointerMode::Device, |blas, handle| unsafe {
            blas.rotg(T::LETTER, handle, a as *mut _, b as *mut _, c as *mut _, s as *mut _)
        })
    }
}

impl Blas {
    /// Rotates the points `(x_i, y_i)`: `x = c * x + s * y`, `y = c * y - conj(s) * x` (`cublas<t>rot`).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the lengths differ or a vector does not lie inside its buffer; a stale or foreign
    /// buffer. Both vectors come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (x, y) = (device.upload([1.0f64, 2.0])?.into_output(), device.upload([3.0, 4.0])?.into_output());
    /// let (x, y) = device.blas().rot(0.0, 1.0, x, y)?.await_result()?; // a quarter turn
    /// assert_eq!(device.download(&x)?.await_result()?, [3.0, 4.0]);
    /// assert_eq!(device.download(&y)?.await_result()?, [-1.0, -2.0]);
    /// # Ok(()) }
    /// ```
    pub fn rot<T: BlasElement>(
        &self,
        c: T::Real,
        s: T,
        x: impl WritableVector<T>,
        y: impl WritableVector<T>,
    ) -> Submitted<(DeviceBuffer<T>, DeviceBuffer<T>)> {
        let (x, y) = (x.into(), y.into());
        self.submit(Rot::<T> { c, s, x: x.at, y: y.at }, (None, None), (x.data, y.data))
    }

    /// As [`rot`](Self::rot), with `c` and `s` read from device memory, each the first element, when the work runs.
    ///
    /// # Errors
    /// As [`rot`](Self::rot).
    pub fn rot_at<'a, T: BlasElement>(
        &self,
        c: impl Readable<'a, T::Real>,
        s: impl Readable<'a, T>,
        x: impl WritableVector<T>,
        y: impl WritableVector<T>,
    ) -> Submitted<(DeviceBuffer<T>, DeviceBuffer<T>)> {
        let (x, y) = (x.into(), y.into());
        let rot = Rot::<T> { c: T::Real::default(), s: T::default(), x: x.at, y: y.at };
        self.submit(rot, (Some(c.into()), Some(s.into())), (x.data, y.data))
    }

    /// As [`rot`](Self::rot), with a real `s` (`cublasCsrot`, `cublasZdrot`).
    ///
    /// # Errors
    /// As [`rot`](Self::rot).
    #[doc(alias = "csrot")]
    #[doc(alias = "zdrot")]
    pub fn rot_real<T: BlasElement>(
        &self,
        c: T::Real,
        s: T::Real,
        x: impl WritableVector<T>,
        y: impl WritableVector<T>,
    ) -> Submitted<(DeviceBuffer<T>, DeviceBuffer<T>)> {
        let (x, y) = (x.into(), y.into());
        self.submit(RotReal::<T> { c, s, x: x.at, y: y.at }, (None, None), (x.data, y.data))
    }

    /// As [`rot_real`](Self::rot_real), with `c` and `s` read from device memory, each the first element, when the work
    /// runs.
    ///
    /// # Errors
    /// As [`rot`](Self::rot).
    pub fn rot_real_at<'a, T: BlasElement>(
        &self,
        c: impl Readable<'a, T::Real>,
        s: impl Readable<'a, T::Real>,
        x: impl WritableVector<T>,
        y: impl WritableVector<T>,
    ) -> Submitted<(DeviceBuffer<T>, DeviceBuffer<T>)> {
        let (x, y) = (x.into(), y.into());
        let rot = RotReal::<T> { c: T::Real::default(), s: T::Real::default(), x: x.at, y: y.at };
        self.submit(rot, (Some(c.into()), Some(s.into())), (x.data, y.data))
    }

    /// Computes the rotation that takes `(a, b)` to `(r, 0)` (`cublas<t>rotg`), all in device memory, each the first
    /// element of its buffer: `c * a + s * b = r` and `c * b - conj(s) * a = 0`, with `c` real and `c^2 + |s|^2 = 1`.
    /// The previous contents of `c` and `s` are not used. There is no form that takes and returns numbers on the host:
    /// this is for numbers that are already on the device, such as the elements that a rotation must make zero.
    ///
    /// `a` becomes `r`. For real types, `r` has the sign of the larger of the two, and `b` becomes the number `z` from
    /// which the rotation can be recovered: `s` if `|a| > |b|`, else `1 / c`, or 1 if `c` is 0. For complex types, `r`
    /// has the direction of `a`, `c` is not negative, and `b` does not change; `a == 0` gives `c = 0`, `s = 1`,
    /// `r = b`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an empty buffer; a stale or foreign buffer. All four come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (a, b) = (device.upload([3.0f64])?.into_output(), device.upload([4.0])?.into_output());
    /// let (c, s) = (device.zeros(1)?, device.zeros(1)?);
    /// let (r, _z, c, s) = device.blas().rotg(a, b, c, s)?.into_output(); // no wait
    /// let (x, y) = (device.upload([3.0])?.into_output(), device.upload([4.0])?.into_output());
    /// let (x, y) = device.blas().rot_at(&c, &s, x, y)?.await_result()?;
    /// assert!((device.download(&x)?.await_result()?[0] - 5.0).abs() < 1e-15);
    /// assert!(device.download(&y)?.await_result()?[0].abs() < 1e-15);
    /// # assert!((device.download(&r)?.await_result()?[0] - 5.0).abs() < 1e-15);
    /// # Ok(()) }
    /// ```
    #[expect(clippy::type_complexity, reason = "four buffers in, the same four out")]
    pub fn rotg<T: BlasElement>(
        &self,
        a: DeviceBuffer<T>,
        b: DeviceBuffer<T>,
        c: DeviceBuffer<T::Real>,
        s: DeviceBuffer<T>,
    ) -> Submitted<(DeviceBuffer<T>, DeviceBuffer<T>, DeviceBuffer<T::Real>, DeviceBuffer<T>)> {
        self.submit(Rotg::<T>(PhantomData), (), (a, b, c, s))
    }
}
