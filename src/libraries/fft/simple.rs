//! SciPy's names: packed arrays, the usual normalisation, and a new output buffer.

use super::spec::FftSpec;
use super::{Dims, Fft, FftComplex, FftReal};
use crate::core::buffer::{DeviceBuffer, Readable};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};

/// The result of a call that no buffer is moved into.
pub(super) type Pending<T> = Result<PendingDispatch<DeviceBuffer<T>>>;

impl Fft {
    fn room<T: Element>(&self, numbers: usize, per: usize) -> Result<DeviceBuffer<T>> {
        let len =
            numbers.checked_mul(per).ok_or_else(|| Error::invalid("shape", "the number of elements overflows"))?;
        self.device.uninit(len)
    }

    /// The transform of a complex array of this shape, over all its axes (SciPy's `fft`, `fft2`, `fftn`).
    ///
    /// # Errors
    /// As [`c2c`](Self::c2c); [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.upload(vec![windlass::Complex::new(1.0f32, 0.0); 4])?.into_output();
    /// let y = device.fft().fft(&x, [4])?.await_result()?;
    /// let x = device.fft().ifft(&y, [4])?.await_result()?;
    /// assert_eq!(device.download(&x)?.await_result()?[3].re, 1.0);
    /// # Ok(()) }
    /// ```
    pub fn fft<'a, C: FftComplex>(&self, x: impl Readable<'a, C>, shape: impl Into<Dims>) -> Pending<C> {
        let spec = FftSpec::c2c(shape);
        Ok(self.c2c(&spec, x, self.room(spec.output_len()?, C::Real::PER_COMPLEX)?)?)
    }

    /// The inverse of [`fft`](Self::fft), divided by the number of points.
    ///
    /// # Errors
    /// As [`fft`](Self::fft).
    pub fn ifft<'a, C: FftComplex>(&self, x: impl Readable<'a, C>, shape: impl Into<Dims>) -> Pending<C> {
        let spec = FftSpec::c2c(shape).inverse();
        Ok(self.c2c(&spec, x, self.room(spec.output_len()?, C::Real::PER_COMPLEX)?)?)
    }

    /// Half of the spectrum of a real array of this shape (SciPy's `rfft`, `rfft2`, `rfftn`).
    ///
    /// # Errors
    /// As [`fft`](Self::fft).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.upload(vec![1.0f64, 2.0, 3.0])?.into_output();
    /// let y = device.fft().rfft(&x, [3])?.await_result()?;
    /// let x = device.fft().irfft(&y, [3])?.await_result()?; // of three points, not two
    /// let x = device.download(&x)?.await_result()?;
    /// assert!((x[2] - 3.0).abs() < 1e-15);
    /// # Ok(()) }
    /// ```
    pub fn rfft<'a, R: FftReal>(&self, x: impl Readable<'a, R>, shape: impl Into<Dims>) -> Pending<R::Complex> {
        let spec = FftSpec::r2c(shape);
        Ok(self.r2c(&spec, x, self.room(spec.output_len()?, R::PER_COMPLEX)?)?)
    }

    /// The real array of this shape whose half spectrum is `x` (SciPy's `irfft`, `irfft2`, `irfftn`).
    ///
    /// # Errors
    /// As [`fft`](Self::fft).
    pub fn irfft<'a, C: FftComplex>(&self, x: impl Readable<'a, C>, shape: impl Into<Dims>) -> Pending<C::Real> {
        let spec = FftSpec::c2r(shape);
        Ok(self.c2r(&spec, x, self.room(spec.output_len()?, 1)?)?)
    }

    /// The real spectrum, of this shape, of a Hermitian-symmetric array of which `x` is one half (SciPy's `hfft`,
    /// `hfftn`).
    ///
    /// # Errors
    /// As [`fft`](Self::fft).
    pub fn hfft<'a, C: FftComplex>(&self, x: impl Readable<'a, C>, shape: impl Into<Dims>) -> Pending<C::Real> {
        let spec = FftSpec::c2r(shape).forward();
        Ok(self.c2r(&spec, x, self.room(spec.output_len()?, 1)?)?)
    }

    /// The inverse of [`hfft`](Self::hfft), for a real spectrum of this shape.
    ///
    /// # Errors
    /// As [`fft`](Self::fft).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.upload(vec![1.0f64, 0.0, 0.0, 0.0])?.into_output();
    /// let half = device.fft().ihfft(&x, [4])?.await_result()?;
    /// let x = device.fft().hfft(&half, [4])?.await_result()?;
    /// assert_eq!(device.download(&x)?.await_result()?, [1.0, 0.0, 0.0, 0.0]);
    /// # Ok(()) }
    /// ```
    pub fn ihfft<'a, R: FftReal>(&self, x: impl Readable<'a, R>, shape: impl Into<Dims>) -> Pending<R::Complex> {
        let spec = FftSpec::r2c(shape).inverse();
        Ok(self.r2c(&spec, x, self.room(spec.output_len()?, R::PER_COMPLEX)?)?)
    }
}
