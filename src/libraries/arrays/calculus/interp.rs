//! Values between given ones.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::untyped::{Untyped, Value, cast, select};
use crate::libraries::arrays::{Ordered, SearchSide};
use crate::libraries::reductions::{Mean, Reduction};

/// The line through (a, f) and (b, g) at x, as NumPy computes it: where a part of it is infinite, from the other end.
fn line([x, a, b, f, g]: [Value; 5], dtype: DType) -> Value {
    let slope = (g - f) / (b - a);
    let from_left = slope * (x - a) + f;
    let from_right = slope * (x - b) + g;
    let level = select(from_right.ne(from_right) & f.eq(g), [f.into(), from_right.into()], dtype);
    let between = select(from_left.ne(from_left), [level.into(), from_left.into()], dtype);
    let inside = select(x.eq(a), [f.into(), between.into()], dtype);
    let above = select(x.ge(b), [g.into(), inside.into()], dtype);
    let below = select(x.lt(a), [f.into(), above.into()], dtype);
    select(x.ne(x), [x.into(), below.into()], dtype)
}

/// The values for `x`, of the rows that have the ends of their lines.
fn values<'a>(x: &AnyTensorRef<'a>, rows: &AnyTensorRef<'a>) -> Result<Untyped<'a>> {
    let dtype = rows.dtype();
    let ends: [Result<AnyTensorRef<'a>>; 4] = [0, 1, 2, 3].map(|k| rows.index(-1, k));
    let [a, b, f, g] = ends;
    Untyped::new([x, &a?, &b?, &f?, &g?], |[x, a, b, f, g]| line([cast(x, dtype), a, b, f, g], dtype))
}

impl Device {
    /// The values at `x` of the lines through the points of coordinates `xp`, which rise, and values `fp`: NumPy's `interp`. Before
    /// the first point and behind the last one it is their value; NaN stays NaN. Integer coordinates have values of `f64`.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let (xp, fp) = (device.tensor([3], [1.0f32, 2.0, 4.0])?, device.tensor([3], [3.0f32, 2.0, 0.0])?);
    /// let x = device.tensor([2, 2], [0.0f32, 1.5, 3.0, 9.0])?;
    /// assert_eq!(device.show(&device.interp(&x, &xp, &fp)?.await_result()?)?.to_string(), "[[3.  2.5]\n [1.  0. ]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for `xp` that is no vector or has no element, and `fp` of another shape; a stale tensor, or one of
    /// another device; [`Error::OutOfMemory`]. Coordinates that do not rise give values that mean nothing.
    pub fn interp<'a, 'p, 'f, T: Ordered>(
        &self,
        x: impl ReadableTensor<'a, T>,
        xp: impl ReadableTensor<'p, T>,
        fp: impl ReadableTensor<'f, <Mean as Reduction<T>>::Output>,
    ) -> Result<PendingDispatch<Tensor<<Mean as Reduction<T>>::Output>>>
    where
        Mean: Reduction<T>,
    {
        let (x, xp): (TensorRef<'a, T>, TensorRef<'p, T>) = (x.into(), xp.into());
        let fp: TensorRef<'f, <Mean as Reduction<T>>::Output> = fp.into();
        let n = match *xp.shape() {
            [n] if n > 0 => n,
            _ => {
                let what =
                    format!("shape {:?}, but points have coordinates in a vector of one element at least", xp.shape());
                return Err(Error::invalid("xp", what));
            }
        };
        if fp.shape() != [n] {
            return Err(Error::invalid("fp", format!("shape {:?}, but there are {n} points in `xp`", fp.shape())));
        }
        if n == 1 {
            return self.contiguous(fp.index(0, 0)?.broadcast(x.shape())?);
        }
        let coordinates = self.map(&xp, |xp| xp.cast::<<Mean as Reduction<T>>::Output>())?.into_output();
        let ((a, _), (_, b)) = (coordinates.split(0, n - 1)?, coordinates.split(0, 1)?);
        let ((f, _), (_, g)) = (fp.split(0, n - 1)?, fp.split(0, 1)?);
        let lines = self.stack([&a, &b, &f, &g], 1)?.into_output();
        let behind = self.searchsorted(&xp, &x, SearchSide::Right)?.into_output();
        let last = n as i64 - 2;
        let places = self.map(&behind, |behind| (behind - 1).maximum(0).minimum(last))?.into_output();
        // Places of lines.
        let rows = self.take(&lines, &places, 0)?.never_reports().into_output();
        values(&(&x).into(), &(&rows).into())?.make(self)
    }
}
