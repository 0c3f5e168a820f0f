//! Transforms of tensors.

use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, TensorRef};
use crate::libraries::fft::{DataLayout as Side, Fft, FftComplex, FftReal, FftSpec};

impl Fft {
    /// The transform of a complex tensor along these axes (a negative one counts from the end; none: along all), as a new
    /// row-major tensor ([`fft`](Self::fft)). The strides of the input may be any that are positive.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that does not exist or is named twice, more than eight axes, and an input that
    /// is flipped, broadcast or overlaps itself: [`Device::contiguous`](crate::Device::contiguous) makes a copy that is not;
    /// [`Error::Unsupported`] for halves, whose complex numbers take two elements each; else as [`fft`](Self::fft).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device};
    /// let device = Device::host()?;
    /// let x = device.tensor([2, 3], [1, 2, 3, 4, 5, 6].map(|x| Complex::new(f64::from(x), 0.0)))?;
    /// let sums = device.fft().fft_tensor(x.transpose(), &[1])?.await_result()?; // of the columns
    /// assert_eq!(sums.shape(), [3, 2]);
    /// assert_eq!(device.item(sums.slice((0, 0))?)?, Complex::new(5.0, 0.0)); // 1 + 4
    /// # Ok(()) }
    /// ```
    pub fn fft_tensor<'a, C: FftComplex>(
        &self,
        x: impl ReadableTensor<'a, C>,
        axes: &[isize],
    ) -> Result<PendingDispatch<Tensor<C>>> {
        self.along(x.into(), axes, FftSpec::forward)
    }

    /// The inverse of [`fft_tensor`](Self::fft_tensor), divided by the number of points.
    ///
    /// # Errors
    /// As [`fft_tensor`](Self::fft_tensor).
    pub fn ifft_tensor<'a, C: FftComplex>(
        &self,
        x: impl ReadableTensor<'a, C>,
        axes: &[isize],
    ) -> Result<PendingDispatch<Tensor<C>>> {
        self.along(x.into(), axes, FftSpec::inverse)
    }

    /// Half of the spectrum of a real tensor along these axes (a negative one counts from the end; none: along all), as a new
    /// row-major tensor ([`rfft`](Self::rfft)). Of the last axis that is named the points up to half are there, `n / 2 + 1`
    /// of `n`; the others are their conjugates. The strides of the input may be any that are positive.
    ///
    /// # Errors
    /// As [`fft_tensor`](Self::fft_tensor).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([3, 4], (0..12).map(f64::from).collect::<Vec<_>>())?;
    /// let spectra = device.fft().rfft_tensor(x.transpose(), &[-1])?.await_result()?; // of the columns
    /// assert_eq!(spectra.shape(), [4, 2]);
    /// assert_eq!(device.item(spectra.slice((1, 0))?)?.re, 1.0 + 5.0 + 9.0);
    /// let back = device.fft().irfft_tensor(&spectra, 3, &[-1])?.await_result()?;
    /// assert!(device.allclose(&back, x.transpose(), 1e-12, 1e-12)?);
    /// # Ok(()) }
    /// ```
    pub fn rfft_tensor<'a, R: FftReal>(
        &self,
        x: impl ReadableTensor<'a, R>,
        axes: &[isize],
    ) -> Result<PendingDispatch<Tensor<R::Complex>>> {
        let x = x.into();
        whole_numbers::<R>()?;
        let (part, layout) = x.operand()?;
        let (axes, last) = places(axes, layout.rank())?;
        let spec = FftSpec::r2c(layout.shape()).axes(axes).input(strided(&layout)?);
        let mut extents = layout.shape().to_vec();
        extents.iter_mut().skip(last).take(1).for_each(|n| *n = *n / 2 + 1);
        let (y, _, whole) = Part::from(self.device().uninit_tensor(extents)?).operand();
        Ok(whole.submitted(self.r2c(&spec, part, y))?)
    }

    /// The real tensor whose half spectrum is `x`: the inverse of [`rfft_tensor`](Self::rfft_tensor), with the same axes.
    /// Along the last one that is named it has `n` elements, for `n / 2 + 1` points.
    ///
    /// # Errors
    /// As [`fft_tensor`](Self::fft_tensor); [`Error::InvalidArgument`] for an `n` of another number of points.
    pub fn irfft_tensor<'a, C: FftComplex>(
        &self,
        x: impl ReadableTensor<'a, C>,
        n: usize,
        axes: &[isize],
    ) -> Result<PendingDispatch<Tensor<C::Real>>> {
        let x = x.into();
        whole_numbers::<C::Real>()?;
        let (part, layout) = x.operand()?;
        let (axes, last) = places(axes, layout.rank())?;
        let mut extents = layout.shape().to_vec();
        let points = extents.get(last).copied().unwrap_or_default();
        if points != n / 2 + 1 {
            let what = format!("{n} elements have {} points, but x has {points} along axis {last}", n / 2 + 1);
            return Err(Error::invalid("n", what));
        }
        extents.iter_mut().skip(last).take(1).for_each(|points| *points = n);
        let spec = FftSpec::c2r(&extents[..]).axes(axes).input(strided(&layout)?);
        let (y, _, whole) = Part::from(self.device().uninit_tensor(extents)?).operand();
        Ok(whole.submitted(self.c2r(&spec, part, y))?)
    }

    fn along<C: FftComplex>(
        &self,
        x: TensorRef<'_, C>,
        axes: &[isize],
        direction: fn(FftSpec) -> FftSpec,
    ) -> Result<PendingDispatch<Tensor<C>>> {
        whole_numbers::<C::Real>()?;
        let (part, layout) = x.operand()?;
        let (axes, _) = places(axes, layout.rank())?;
        let spec = direction(FftSpec::c2c(layout.shape()).axes(axes).input(strided(&layout)?));
        let (y, _, whole) = Part::from(self.device().uninit_tensor::<C>(layout.shape())?).operand();
        Ok(whole.submitted(self.c2c(&spec, part, y))?)
    }
}

fn whole_numbers<R: FftReal>() -> Result<()> {
    if R::PER_COMPLEX == 1 {
        return Ok(());
    }
    Err(Error::unsupported("transforms of tensors of halves: use buffers"))
}

/// The strides of a tensor that begins at its smallest offset.
fn strided(layout: &Layout) -> Result<Side> {
    let strides: Option<Vec<usize>> = layout.strides().iter().map(|step| usize::try_from(*step).ok()).collect();
    let strides = strides.filter(|_| layout.is_distinct()).ok_or_else(|| {
        let what = "it is flipped, broadcast, or overlaps itself; `contiguous` makes a copy that does not";
        Error::invalid("x", format!("{layout:?}: {what}"))
    })?;
    // What an axis of extent 1 has as its stride does not matter; a transform wants one that is not zero.
    Ok(Side::strided(strides.into_iter().map(|step| step.max(1)).collect::<Vec<_>>()))
}

/// The axes counted from the front, all if none is named, and the last of them.
fn places(axes: &[isize], rank: usize) -> Result<(Vec<usize>, usize)> {
    let place = |axis: &isize| {
        let place = if *axis < 0 { rank.checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
        let place = place.filter(|place| *place < rank);
        place.ok_or_else(|| Error::invalid("axes", format!("axis {axis}, but there are {rank} axes")))
    };
    let axes: Vec<usize> =
        if axes.is_empty() { (0..rank).collect() } else { axes.iter().map(place).collect::<Result<_>>()? };
    let last = axes.last().copied().ok_or_else(|| Error::invalid("x", "a transform needs at least one axis"))?;
    Ok((axes, last))
}
