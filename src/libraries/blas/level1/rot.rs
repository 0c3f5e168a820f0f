//! Plane rotations: rot and rotg.

use super::super::prelude::*;
use crate::core::element::Element;
use crate::device::tensor::{Part, Whole};
use std::convert::Infallible;

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
    /// Rotates the points `(x_i, y_i)`: `x = c * x + s * y`, `y = c * y - conj(s) * x` (`cublas<t>rot`). If one of `c` and `s` is on the
    /// device, both must be.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes differ, an operand is no [vector](crate::blas#conventions), or one of `c` and `s` alone
    /// is on the device; a stale or foreign buffer. Both vectors come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (x, y) = (device.tensor([2], [1.0f64, 2.0])?, device.tensor([2], [3.0, 4.0])?);
    /// let (x, y) = device.blas().rot(0.0, 1.0, x, y)?.await_result()?; // a quarter turn
    /// assert_eq!((device.to_vec(&x)?, device.to_vec(&y)?), (vec![3.0, 4.0], vec![-1.0, -2.0]));
    /// # Ok(()) }
    /// ```
    pub fn rot<'a, 'b, T: BlasElement>(
        &self,
        c: impl Into<Numbers<'a, T::Real>>,
        s: impl Into<Numbers<'b, T>>,
        x: impl WritableTensor<T>,
        y: impl WritableTensor<T>,
    ) -> Submitted<(Tensor<T>, Tensor<T>)> {
        let (c, s, x, y) = (c.into(), s.into(), x.into(), y.into());
        let made = Strided::of([("x", x.layout()), ("y", y.layout())]).and_then(|[x, y]| {
            let (c, s, at) = both(&c, &s)?;
            Ok((Rot::<T> { c, s, x, y }, at))
        });
        self.writes_two(made, [x, y])
    }

    /// As [`rot`](Self::rot), with a real `s` (`cublasCsrot`, `cublasZdrot`).
    ///
    /// # Errors
    /// As [`rot`](Self::rot).
    #[doc(alias = "csrot")]
    #[doc(alias = "zdrot")]
    pub fn rot_real<'a, 'b, T: BlasElement>(
        &self,
        c: impl Into<Numbers<'a, T::Real>>,
        s: impl Into<Numbers<'b, T::Real>>,
        x: impl WritableTensor<T>,
        y: impl WritableTensor<T>,
    ) -> Submitted<(Tensor<T>, Tensor<T>)> {
        let (c, s, x, y) = (c.into(), s.into(), x.into(), y.into());
        let made = Strided::of([("x", x.layout()), ("y", y.layout())]).and_then(|[x, y]| {
            let (c, s, at) = both(&c, &s)?;
            Ok((RotReal::<T> { c, s, x, y }, at))
        });
        self.writes_two(made, [x, y])
    }

    /// Computes the rotation that takes `(a, b)` to `(r, 0)` (`cublas<t>rotg`), all in device memory, each the only
    /// element of its tensor: `c * a + s * b = r` and `c * b - conj(s) * a = 0`, with `c` real and `c^2 + |s|^2 = 1`.
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
    /// let of = |x: f64| device.tensor([1], [x]);
    /// let (r, _z, c, s) = device.blas().rotg(of(3.0)?, of(4.0)?, of(0.0)?, of(0.0)?)?.each(); // no wait
    /// let (x, y) = device.blas().rot(&c, &s, of(3.0)?, of(4.0)?)?.await_result()?;
    /// assert!((device.item(&x)? - 5.0).abs() < 1e-15);
    /// assert!(device.item(&y)?.abs() < 1e-15);
    /// # assert!((device.item(&r)? - 5.0).abs() < 1e-15);
    /// # Ok(()) }
    /// ```
    #[expect(clippy::type_complexity, reason = "four tensors in, the same four out")]
    pub fn rotg<T: BlasElement>(
        &self,
        a: impl WritableTensor<T>,
        b: impl WritableTensor<T>,
        c: impl WritableTensor<T::Real>,
        s: impl WritableTensor<T>,
    ) -> Submitted<(Tensor<T>, Tensor<T>, Tensor<T::Real>, Tensor<T>)> {
        let ((a, of_a), (b, of_b)) = (one(a.into()), one(b.into()));
        let ((c, of_c), (s, of_s)) = (one(c.into()), one(s.into()));
        let whole = |(a, b, c, s)| (of_a.tensor(a), of_b.tensor(b), of_c.tensor(c), of_s.tensor(s));
        match self.submit(Rotg::<T>(PhantomData), (), (a, b, c, s)) {
            Ok(pending) => {
                Ok(pending.retype(|all| Ok::<_, Infallible>(whole(all))).unwrap_or_else(|never| match never {}))
            }
            Err(rejected) => Err(rejected.map(whole)),
        }
    }
}

/// The numbers of a rotation, and where they are on the device: both, or none.
#[expect(clippy::type_complexity, reason = "two numbers, and two places")]
fn both<'n, C: Element, S: Element>(
    c: &'n Numbers<'_, C>,
    s: &'n Numbers<'_, S>,
) -> Result<(C, S, (Option<In<'n, C>>, Option<In<'n, S>>))> {
    let ((c, at_c), (s, at_s)) = (c.one("c")?, s.one("s")?);
    if at_c.is_some() != at_s.is_some() {
        let name = if at_c.is_some() { "s" } else { "c" };
        return Err(Error::invalid(name, "a value, but the other number of the rotation is on the device"));
    }
    Ok((c, s, (at_c, at_s)))
}

/// The buffer of a number that is written, and what makes its tensor again.
pub(super) fn one<T: Element>(number: Part<T>) -> (DeviceBuffer<T>, Whole) {
    let (buffer, _, whole) = number.operand();
    (buffer, whole)
}
