//! Whether two tensors are equal within a tolerance.

use super::numbers::{Number, of_bytes};
use super::{Layout, ReadableTensor};
use crate::core::element::{DType, Element};
use crate::core::error::Result;
use crate::device::Device;

/// Comparisons.
impl Device {
    /// Whether `|a - b| <= atol + rtol * |b|` for all elements, broadcast to common extents: NumPy's `allclose`. Equal
    /// infinities are close; a NaN is close to nothing. Copies both to the host, and waits.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when the extents do not broadcast; else as
    /// [`download`](Self::download), and the failure of what makes them.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (x, one) = (device.tensor([2, 2], [1.0f32, 1.0, 1.0, 1.0001])?, device.tensor([1], [1.0f32])?);
    /// assert!(device.allclose(&x, &one, 1e-3, 0.0)?);
    /// assert!(!device.allclose(&x, &one, 1e-5, 1e-8)?);
    /// # Ok(()) }
    /// ```
    pub fn allclose<'a, 'b, T: Element>(
        &self,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        rtol: f64,
        atol: f64,
    ) -> Result<bool> {
        let (a, b) = (a.into(), b.into());
        let common = Layout::broadcast_both(["a", "b"], [a.shape(), b.shape()])?;
        let (a, b) = (self.download(a.broadcast(&common)?)?, self.download(b.broadcast(&common)?)?);
        let (a, b) = (a.await_result()?, b.await_result()?);
        let (a, b) = (bytemuck::cast_slice(&a), bytemuck::cast_slice(&b));
        Ok(all((T::DTYPE, a), (T::DTYPE, b), rtol, atol))
    }
}

/// Whether all elements of two types are close, of their bytes; compiled once for all types.
pub(super) fn all((t, a): (DType, &[u8]), (u, b): (DType, &[u8]), rtol: f64, atol: f64) -> bool {
    let mut pairs = a.chunks(t.size()).zip(b.chunks(u.size()));
    pairs.all(|(a, b)| is_close(of_bytes(t, a), of_bytes(u, b), rtol, atol))
}

fn is_close(a: Number, b: Number, rtol: f64, atol: f64) -> bool {
    let (difference, size) = match (a, b) {
        (a, b) if a == b => return true,
        (Number::Integer(a), Number::Integer(b)) => ((a - b) as f64, b as f64),
        (a, b) => {
            let ((a, i), (b, j)) = (a.parts(), b.parts());
            if (a, i) == (b, j) {
                return true;
            }
            ((a - b).hypot(i - j), b.hypot(j))
        }
    };
    // An infinity is close to itself alone.
    size.is_finite() && difference.abs() <= atol + rtol * size.abs()
}
