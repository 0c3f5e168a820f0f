//! Fourier transforms of arrays.

use super::Coming;
use crate::core::error::{Error, Result};
use crate::libraries::fft::{self, FftComplex, FftReal};
use crate::libraries::flags::Order;
use ndarray::{ArrayRef, Dimension};

/// Refuses halves: an array has no element type for a pair of them.
fn whole<R: FftReal>() -> Result<()> {
    if R::PER_COMPLEX == 1 {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "transforms of arrays of {}, whose complex numbers take two elements each",
        R::DTYPE
    )))
}

/// The shape with another length along the last axis.
fn with_last<D: Dimension>(mut dim: D, n: usize) -> D {
    dim.slice_mut().iter_mut().last().into_iter().for_each(|last| *last = n);
    dim
}

impl fft::Fft {
    /// The transform of an array (or of a view of one) over all its axes, up to eight: uploaded, transformed, downloaded.
    ///
    /// # Errors
    /// As [`fft`](Self::fft); [`Error::Unsupported`] for halves.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device, ndarray::Array2};
    /// let device = Device::host()?;
    /// let x = Array2::from_elem((2, 3), Complex::new(1.0f64, 0.0));
    /// let y = device.fft().fft_array(&x)?.await_result()?;
    /// assert_eq!((y[[0, 0]], y[[1, 2]].norm() < 1e-15), (Complex::new(6.0, 0.0), true));
    /// # Ok(()) }
    /// ```
    pub fn fft_array<C: FftComplex, D: Dimension + 'static>(&self, x: &ArrayRef<C, D>) -> Coming<C, D> {
        whole::<C::Real>()?;
        let on_device = self.device().upload_array(x, Order::Row)?.into_output();
        let y = self.fft(&on_device, x.shape())?.into_output();
        self.device().download_array(&y, x.raw_dim(), Order::Row)
    }

    /// The inverse of [`fft_array`](Self::fft_array).
    ///
    /// # Errors
    /// As [`fft_array`](Self::fft_array).
    pub fn ifft_array<C: FftComplex, D: Dimension + 'static>(&self, x: &ArrayRef<C, D>) -> Coming<C, D> {
        whole::<C::Real>()?;
        let on_device = self.device().upload_array(x, Order::Row)?.into_output();
        let y = self.ifft(&on_device, x.shape())?.into_output();
        self.device().download_array(&y, x.raw_dim(), Order::Row)
    }

    /// Half of the spectrum of a real array (or of a view of one): `n / 2 + 1` points along the last axis.
    ///
    /// # Errors
    /// As [`fft_array`](Self::fft_array).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::array};
    /// let fft = Device::host()?.fft();
    /// let x = array![[1.0f64, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let half = fft.rfft_array(&x.t())?.await_result()?; // any view
    /// assert_eq!(half.dim(), (3, 2));
    /// assert!((fft.irfft_array(&half, 2)?.await_result()? - x.t()).iter().all(|x| x.abs() < 1e-14));
    /// # Ok(()) }
    /// ```
    pub fn rfft_array<R: FftReal, D: Dimension + 'static>(&self, x: &ArrayRef<R, D>) -> Coming<R::Complex, D> {
        whole::<R>()?;
        let on_device = self.device().upload_array(x, Order::Row)?.into_output();
        let y = self.rfft(&on_device, x.shape())?.into_output();
        let half = x.shape().last().map_or(0, |n| n / 2 + 1);
        self.device().download_array(&y, with_last(x.raw_dim(), half), Order::Row)
    }

    /// The real array, of length `n` along the last axis, that has the half spectrum `x`.
    ///
    /// # Errors
    /// As [`fft_array`](Self::fft_array), and when `x` does not have `n / 2 + 1` points along the last axis.
    pub fn irfft_array<C: FftComplex, D: Dimension + 'static>(
        &self,
        x: &ArrayRef<C, D>,
        n: usize,
    ) -> Coming<C::Real, D> {
        whole::<C::Real>()?;
        let dim = with_last(x.raw_dim(), n);
        let on_device = self.device().upload_array(x, Order::Row)?.into_output();
        let y = self.irfft(&on_device, dim.slice())?.into_output();
        self.device().download_array(&y, dim, Order::Row)
    }
}
