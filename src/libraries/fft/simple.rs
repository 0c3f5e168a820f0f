//! SciPy's names: the usual normalisation, and a new tensor.

use super::form::{C2c, C2r, R2c};
use super::spec::FftSpec;
use super::{Fft, FftComplex, FftReal};
use crate::core::dispatch::PendingDispatch;
use crate::core::error::Result;
use crate::device::tensor::{ReadableTensor, Tensor};

/// The result of a call that no tensor is moved into.
pub(super) type Pending<T> = Result<PendingDispatch<Tensor<T>>>;

fn along(axes: &[isize]) -> FftSpec {
    FftSpec::new().axes(axes)
}

impl Fft {
    /// The transform of a complex tensor along these axes (a negative one counts from the end; none: along all), as a new
    /// row-major tensor (SciPy's `fft`, `fft2`, `fftn`). The input may have any strides but negative ones.
    ///
    /// # Errors
    /// As [`c2c`](Self::c2c) and [`Device::uninit`](crate::Device::uninit).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device};
    /// let device = Device::host()?;
    /// let x = device.tensor([2, 3], [1, 2, 3, 4, 5, 6].map(|x| Complex::new(f64::from(x), 0.0)))?;
    /// let sums = device.fft().fft(x.transpose(), &[1])?.await_result()?; // of the columns
    /// assert_eq!(sums.shape(), [3, 2]);
    /// assert_eq!(device.item(sums.slice((0, 0))?)?, Complex::new(5.0, 0.0)); // 1 + 4
    /// # Ok(()) }
    /// ```
    pub fn fft<'a, C: FftComplex>(&self, x: impl ReadableTensor<'a, C>, axes: &[isize]) -> Pending<C> {
        self.transform_new::<C2c<C>, C, C>(&along(axes), x.into(), 0)
    }

    /// The inverse of [`fft`](Self::fft), divided by the number of points.
    ///
    /// # Errors
    /// As [`fft`](Self::fft).
    pub fn ifft<'a, C: FftComplex>(&self, x: impl ReadableTensor<'a, C>, axes: &[isize]) -> Pending<C> {
        self.transform_new::<C2c<C>, C, C>(&along(axes).inverse(), x.into(), 0)
    }

    /// Half of the spectrum of a real tensor along these axes (none: along all), as a new row-major tensor (SciPy's `rfft`,
    /// `rfft2`, `rfftn`). Of the last axis that is named the points up to half are there, `n / 2 + 1` of `n`; the others are
    /// their conjugates.
    ///
    /// # Errors
    /// As [`fft`](Self::fft).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([3, 4], (0..12).map(f64::from).collect::<Vec<_>>())?;
    /// let spectra = device.fft().rfft(x.transpose(), &[-1])?.await_result()?; // of the columns
    /// assert_eq!(spectra.shape(), [4, 2]);
    /// assert_eq!(device.item(spectra.slice((1, 0))?)?.re, 1.0 + 5.0 + 9.0);
    /// let back = device.fft().irfft(&spectra, 3, &[-1])?.await_result()?; // of three points, not two
    /// assert!(device.allclose(&back, x.transpose(), 1e-12, 1e-12)?);
    /// # Ok(()) }
    /// ```
    pub fn rfft<'a, R: FftReal>(&self, x: impl ReadableTensor<'a, R>, axes: &[isize]) -> Pending<R::Complex> {
        self.transform_new::<R2c<R>, R, R::Complex>(&along(axes), x.into(), 0)
    }

    /// The real tensor whose half spectrum is `x` (SciPy's `irfft`, `irfft2`, `irfftn`): the inverse of [`rfft`](Self::rfft),
    /// with the same axes. Along the last one that is named it has `n` elements, for `n / 2 + 1` points.
    ///
    /// # Errors
    /// As [`fft`](Self::fft), and for an `n` of another number of points.
    pub fn irfft<'a, C: FftComplex>(
        &self,
        x: impl ReadableTensor<'a, C>,
        n: usize,
        axes: &[isize],
    ) -> Pending<C::Real> {
        self.transform_new::<C2r<C::Real>, C, C::Real>(&along(axes), x.into(), n)
    }

    /// The real spectrum, of `n` points along the last axis that is named, of a Hermitian-symmetric array of which `x` is one
    /// half (SciPy's `hfft`, `hfftn`).
    ///
    /// # Errors
    /// As [`irfft`](Self::irfft).
    pub fn hfft<'a, C: FftComplex>(&self, x: impl ReadableTensor<'a, C>, n: usize, axes: &[isize]) -> Pending<C::Real> {
        self.transform_new::<C2r<C::Real>, C, C::Real>(&along(axes).forward(), x.into(), n)
    }

    /// The inverse of [`hfft`](Self::hfft), of a real spectrum.
    ///
    /// # Errors
    /// As [`fft`](Self::fft).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([4], [1.0f64, 0.0, 0.0, 0.0])?;
    /// let half = device.fft().ihfft(&x, &[])?.await_result()?;
    /// let x = device.fft().hfft(&half, 4, &[])?.await_result()?;
    /// assert_eq!(device.to_vec(&x)?, [1.0, 0.0, 0.0, 0.0]);
    /// # Ok(()) }
    /// ```
    pub fn ihfft<'a, R: FftReal>(&self, x: impl ReadableTensor<'a, R>, axes: &[isize]) -> Pending<R::Complex> {
        self.transform_new::<R2c<R>, R, R::Complex>(&along(axes).inverse(), x.into(), 0)
    }
}
