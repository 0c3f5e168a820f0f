//! The transforms that a specification describes.

use super::form::{C2c, C2cInPlace, C2r, C2rDestroying, C2rInPlace, Form, R2c, R2cInPlace};
use super::op::Transform;
use super::spec::{DataLayout, FftSpec, Kind};
use super::{Fft, FftComplex, FftReal};
use crate::core::buffer::{DeviceBuffer, Readable};
use crate::core::op::Bufs;
use crate::device::dispatch::Submitted;
use crate::engines::op::Ins;

impl Fft {
    fn submit<F: Form>(
        &self,
        spec: &FftSpec,
        reads: Ins<'_, Transform<F>>,
        writes: Bufs<F::Output>,
    ) -> Submitted<F::Output> {
        self.device.dispatch(Transform::<F>::new(*spec), reads, writes)
    }

    /// `y` = the transform of complex `x` (`cufftExecC2C`, `cufftExecZ2Z`; `cufftXtExec` for halves).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a specification of another kind, or sizes and
    /// layouts that do not match each other or the buffers; a stale or foreign buffer. `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.upload(vec![Complex::new(1.0f64, 0.0); 8])?.into_output(); // two arrays of four
    /// let y = device.fft().c2c(&FftSpec::c2c([4]).batch(2), &x, device.uninit(8)?)?.await_result()?;
    /// let y = device.download(&y)?.await_result()?;
    /// assert_eq!((y[0].re, y[1].re, y[4].re), (4.0, 0.0, 4.0));
    /// # Ok(()) }
    /// ```
    pub fn c2c<'a, C: FftComplex>(
        &self,
        spec: &FftSpec,
        x: impl Readable<'a, C>,
        y: DeviceBuffer<C>,
    ) -> Submitted<DeviceBuffer<C>> {
        self.submit::<C2c<C>>(spec, (x.into(),), (y,))
    }

    /// The transform of complex `x`, in place. A layout set for one side applies to both.
    ///
    /// # Errors
    /// As [`c2c`](Self::c2c); also if the two sides differ in layout or sizes. `x` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.upload(vec![Complex::new(1.0f32, 0.0); 4])?.into_output();
    /// let x = device.fft().c2c_in_place(&FftSpec::c2c([2, 2]), x)?.await_result()?;
    /// assert_eq!(device.download(&x)?.await_result()?[0].re, 4.0);
    /// # Ok(()) }
    /// ```
    pub fn c2c_in_place<C: FftComplex>(&self, spec: &FftSpec, x: DeviceBuffer<C>) -> Submitted<DeviceBuffer<C>> {
        let spec = FftSpec { input: spec.input.or(spec.output), output: spec.output.or(spec.input), ..*spec };
        self.submit::<C2cInPlace<C>>(&spec, (), (x,))
    }

    /// `y` = half of the spectrum of real `x` (`cufftExecR2C`, `cufftExecD2Z`).
    ///
    /// # Errors
    /// As [`c2c`](Self::c2c).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.upload(vec![1.0f64, -1.0, 1.0, -1.0])?.into_output();
    /// let y = device.fft().r2c(&FftSpec::r2c([4]), &x, device.uninit(3)?)?.await_result()?;
    /// assert_eq!(device.download(&y)?.await_result()?[2].re, 4.0);
    /// # Ok(()) }
    /// ```
    pub fn r2c<'a, R: FftReal>(
        &self,
        spec: &FftSpec,
        x: impl Readable<'a, R>,
        y: DeviceBuffer<R::Complex>,
    ) -> Submitted<DeviceBuffer<R::Complex>> {
        self.submit::<R2c<R>>(spec, (x.into(),), (y,))
    }

    /// Half of the spectrum of real `x`, in place: two neighbouring elements of the result are a complex number. If no
    /// layout is set, lines along the last axis are `2 * (n / 2 + 1)` elements apart, as in cuFFT and FFTW; the padding
    /// after their `n` elements is not read. If the layout of one side is set, set the other one too.
    ///
    /// # Errors
    /// As [`c2c_in_place`](Self::c2c_in_place).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.upload(vec![1.0f32, 1.0, 1.0, 1.0, 0.0, 0.0])?.into_output();
    /// let y = device.fft().r2c_in_place(&FftSpec::r2c([4]), x)?.await_result()?;
    /// assert_eq!(device.download(&y)?.await_result()?, [4.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    /// # Ok(()) }
    /// ```
    pub fn r2c_in_place<R: FftReal>(&self, spec: &FftSpec, x: DeviceBuffer<R>) -> Submitted<DeviceBuffer<R>> {
        self.submit::<R2cInPlace<R>>(&padded(spec), (), (x,))
    }

    /// `y` = the real array whose half spectrum is `x` (`cufftExecC2R`, `cufftExecZ2D`). `x` keeps its content.
    ///
    /// # Errors
    /// As [`c2c`](Self::c2c).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.upload(vec![Complex::new(3.0f64, 0.0), Complex::default()])?.into_output();
    /// let y = device.fft().c2r(&FftSpec::c2r([3]), &x, device.uninit(3)?)?.await_result()?;
    /// assert_eq!(device.download(&y)?.await_result()?, [1.0, 1.0, 1.0]);
    /// # Ok(()) }
    /// ```
    pub fn c2r<'a, C: FftComplex>(
        &self,
        spec: &FftSpec,
        x: impl Readable<'a, C>,
        y: DeviceBuffer<C::Real>,
    ) -> Submitted<DeviceBuffer<C::Real>> {
        self.submit::<C2r<C::Real>>(spec, (x.into(),), (y,))
    }

    /// As [`c2r`](Self::c2r), but the spectrum may be used as working memory: the contents of `x` are undefined
    /// afterwards, and an operation that reads it is refused.
    ///
    /// # Errors
    /// As [`c2c`](Self::c2c); both come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.upload(vec![Complex::new(4.0f32, 0.0); 6])?.into_output();
    /// let (x, y) = device.fft().c2r_destroying(&FftSpec::c2r([2, 4]), x, device.uninit(8)?)?.await_result()?;
    /// assert_eq!((x.len(), device.download(&y)?.await_result()?[0]), (6, 4.0));
    /// # Ok(()) }
    /// ```
    pub fn c2r_destroying<C: FftComplex>(
        &self,
        spec: &FftSpec,
        x: DeviceBuffer<C>,
        y: DeviceBuffer<C::Real>,
    ) -> Submitted<(DeviceBuffer<C>, DeviceBuffer<C::Real>)> {
        self.submit::<C2rDestroying<C::Real>>(spec, (), (x, y))
    }

    /// The real array whose half spectrum is `x`, in place: the way back from [`r2c_in_place`](Self::r2c_in_place),
    /// with the same layout.
    ///
    /// # Errors
    /// As [`c2c_in_place`](Self::c2c_in_place).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.upload(vec![4.0f32, 0.0, 0.0, 0.0, 0.0, 0.0])?.into_output();
    /// let y = device.fft().c2r_in_place(&FftSpec::c2r([4]), x)?.await_result()?;
    /// assert_eq!(device.download(&y)?.await_result()?[..4], [1.0; 4]);
    /// # Ok(()) }
    /// ```
    pub fn c2r_in_place<R: FftReal>(&self, spec: &FftSpec, x: DeviceBuffer<R>) -> Submitted<DeviceBuffer<R>> {
        self.submit::<C2rInPlace<R>>(&padded(spec), (), (x,))
    }
}

/// The layout of a real transform in place if none is set: lines of the real side are long enough for those of the
/// complex side. (If the halved axis is not the last one, the layouts differ and the checks report it.)
fn padded(spec: &FftSpec) -> FftSpec {
    if spec.input.is_some() || spec.output.is_some() || spec.shape.is_too_long() {
        return *spec;
    }
    let mut embed = spec.shape;
    if let Some(last) = embed.len().checked_sub(1) {
        let n = embed.get(last).unwrap_or(0);
        embed.set(last, (n / 2 + 1).saturating_mul(2));
    }
    match spec.kind {
        Kind::R2c => FftSpec { input: Some(DataLayout::embedded(embed, 1)), ..*spec },
        Kind::C2r => FftSpec { output: Some(DataLayout::embedded(embed, 1)), ..*spec },
        Kind::C2c => *spec,
    }
}
