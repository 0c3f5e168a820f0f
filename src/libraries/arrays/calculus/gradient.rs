//! Slopes at the points of an axis.

use super::spacing::{Points, Spacing};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::untyped::{Untyped, along, cast, cut, quotient, wide};
use crate::libraries::reductions::{Mean, Reduction};

/// The slope from point `from` to the next one.
fn edge<'a>(x: &AnyTensorRef<'a>, points: &Points<'a>, axis: usize, from: usize) -> Result<Untyped<'a>> {
    let dtype = quotient(x.dtype());
    let own = wide(dtype);
    let two =
        |x: &AnyTensorRef<'a>| -> Result<_> { Ok((cut(x, axis, from, from + 1)?, cut(x, axis, from + 1, from + 2)?)) };
    let (one, other) = two(x)?;
    match points {
        Points::Even(distance) => {
            Untyped::new([&one, &other], |[x, y]| cast((cast(y, own) - cast(x, own)) / *distance, dtype))
        }
        Points::At(coordinates) => {
            let (a, b) = two(coordinates)?;
            Untyped::new([&one, &other, &a, &b], |[x, y, a, b]| {
                cast((cast(y, own) - cast(x, own)) / (cast(b, own) - cast(a, own)), dtype)
            })
        }
    }
}

/// The slopes at the points that have two neighbours, of three at least.
fn middle<'a>(x: &AnyTensorRef<'a>, points: &Points<'a>, axis: usize, n: usize) -> Result<Untyped<'a>> {
    let dtype = quotient(x.dtype());
    let own = wide(dtype);
    let three = |x: &AnyTensorRef<'a>| -> Result<_> {
        Ok((cut(x, axis, 0, n - 2)?, cut(x, axis, 1, n - 1)?, cut(x, axis, 2, n)?))
    };
    let (before, here, behind) = three(x)?;
    match points {
        Points::Even(distance) => Untyped::new([&before, &behind], |[before, behind]| {
            cast((cast(behind, own) - cast(before, own)) / (2.0 * *distance), dtype)
        }),
        Points::At(coordinates) => {
            let (a, b, c) = three(coordinates)?;
            Untyped::new([&before, &here, &behind, &a, &b, &c], |[before, here, behind, a, b, c]| {
                let [before, here, behind] = [before, here, behind].map(|x| cast(x, own));
                let [a, b, c] = [a, b, c].map(|x| cast(x, own));
                let (one, two) = (b - a, c - b);
                let slope = before * (-two / (one * (one + two)));
                let slope = slope + here * ((two - one) / (one * two));
                cast(slope + behind * (one / (two * (one + two))), dtype)
            })
        }
    }
}

impl Device {
    /// The slopes along an axis: NumPy's `gradient` along one axis. Inside they are central differences of second order, at both ends
    /// the difference from the only neighbour. The points are at even distances, or at [given coordinates](crate::arrays::Spacing).
    /// Integers give `f64`, all other types their own one.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([4], [1.0f32, 2.0, 4.0, 7.0])?;
    /// assert_eq!(device.show(&device.gradient(&x, 1.0, 0)?.await_result()?)?.to_string(), "[1.  1.5 2.5 3. ]");
    /// let at = device.tensor([4], [0.0f32, 2.0, 4.0, 6.0])?;
    /// assert_eq!(device.show(&device.gradient(&x, &at, 0)?.await_result()?)?.to_string(), "[0.5  0.75 1.25 1.5 ]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there or has fewer than two elements, and coordinates of another shape; a
    /// stale tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn gradient<'a, 's, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        spacing: impl Into<Spacing<'s, <Mean as Reduction<T>>::Output>>,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<<Mean as Reduction<T>>::Output>>>
    where
        Mean: Reduction<T>,
    {
        let (x, spacing): (TensorRef<'a, T>, _) = (x.into(), spacing.into());
        let x: AnyTensorRef<'_> = (&x).into();
        let (axis, n) = along(&x, axis)?;
        if n < 2 {
            return Err(Error::invalid("x", format!("{n} elements along axis {axis}, but a slope is between two")));
        }
        let points = spacing.points(x.shape(), axis)?;
        let first = edge(&x, &points, axis, 0)?.make::<<Mean as Reduction<T>>::Output>(self)?;
        let last = edge(&x, &points, axis, n - 2)?.make(self)?;
        if n == 2 {
            return self.concat([&first, &last], axis as isize);
        }
        let middle = middle(&x, &points, axis, n)?.make(self)?;
        self.concat([&first, &middle, &last], axis as isize)
    }
}
