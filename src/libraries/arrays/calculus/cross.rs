//! Vectors across two others.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::untyped::{Untyped, Value, select, value};
use crate::libraries::expressions::build::position;
use crate::libraries::moves::join::place;

/// The three parts of the vectors of an operand.
fn parts<'a>(name: &'static str, x: &AnyTensorRef<'a>, axis: isize) -> Result<[AnyTensorRef<'a>; 3]> {
    let own = place(axis, x.rank())?;
    let n = x.shape().get(own).copied().unwrap_or(0);
    if n != 3 {
        let what = format!("{n} elements along axis {axis}, but a vector has 3: `pad` gives one of 2 a third");
        return Err(Error::invalid(name, what));
    }
    Ok([x.index(axis, 0)?, x.index(axis, 1)?, x.index(axis, 2)?])
}

fn cross<'a>(a: &AnyTensorRef<'a>, b: &AnyTensorRef<'a>, axis: isize) -> Result<Untyped<'a>> {
    let (of_a, of_b) = (parts("a", a, axis)?, parts("b", b, axis)?);
    let [first, ..] = &of_a;
    let [other, ..] = &of_b;
    let mut extents = Layout::broadcast_extents(&[first.shape(), other.shape()]).map_err(|_| {
        let what = format!("shape {:?}, but `a` has {:?}: beside axis {axis} they broadcast", b.shape(), a.shape());
        Error::invalid("b", what)
    })?;
    let common = extents.clone();
    let own = place(axis, extents.len() + 1)?;
    extents.insert(own, 3);
    let spread = |x: &AnyTensorRef<'a>| x.broadcast(&common)?.unsqueeze(own as isize)?.broadcast(&extents);
    let [a0, a1, a2] = of_a.each_ref().map(spread);
    let [b0, b1, b2] = of_b.each_ref().map(spread);
    let (dtype, own) = (a.dtype(), own as u8);
    Untyped::new([&a0?, &a1?, &a2?, &b0?, &b1?, &b2?], |[a0, a1, a2, b0, b1, b2]| {
        let place = value(position(own));
        let choose = |[x, y, z]: [Value; 3]| {
            let behind = select(place.eq(1), [y.into(), z.into()], dtype);
            select(place.eq(0), [x.into(), behind.into()], dtype)
        };
        choose([a1, a2, a0]) * choose([b2, b0, b1]) - choose([a2, a0, a1]) * choose([b1, b2, b0])
    })
}

impl Device {
    /// The vectors that are orthogonal to two others, of three elements along an axis of both: NumPy's `cross`. The other axes are
    /// broadcast; the result has its vectors along the same axis.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let a = device.tensor([2, 3], [1.0f32, 0.0, 0.0, 1.0, 2.0, 3.0])?;
    /// let b = device.tensor([3], [0.0f32, 1.0, 0.0])?;
    /// assert_eq!(device.show(&device.cross(&a, &b, -1)?.await_result()?)?.to_string(), "[[ 0.  0.  1.]\n [-3.  0.  1.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there or has not three elements, and extents that are not broadcast to each
    /// other; a stale tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn cross<'a, 'b, T: Element>(
        &self,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (a, b): (TensorRef<'a, T>, TensorRef<'b, T>) = (a.into(), b.into());
        cross(&(&a).into(), &(&b).into(), axis)?.make(self)
    }
}
