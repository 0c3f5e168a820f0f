//! Transforms of tensors.

use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
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
    /// assert_eq!(sums.extents(), [3, 2]);
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

    fn along<C: FftComplex>(
        &self,
        x: TensorRef<'_, C>,
        axes: &[isize],
        direction: fn(FftSpec) -> FftSpec,
    ) -> Result<PendingDispatch<Tensor<C>>> {
        if C::Real::PER_COMPLEX != 1 {
            return Err(Error::unsupported("transforms of tensors of halves: use buffers"));
        }
        let (part, layout) = x.operand()?;
        let spec = direction(spec(&layout, axes)?);
        let y = self.device().uninit_tensor::<C>(layout.extents())?;
        let (y, _, whole) = crate::device::tensor::Part::from(y).operand();
        Ok(whole.submitted(self.c2c(&spec, part, y))?)
    }
}

/// Of a tensor that begins at its smallest offset.
fn spec(layout: &Layout, axes: &[isize]) -> Result<FftSpec> {
    let strides: Option<Vec<usize>> = layout.strides().iter().map(|step| usize::try_from(*step).ok()).collect();
    let strides = strides.filter(|_| layout.is_distinct()).ok_or_else(|| {
        let what = "it is flipped, broadcast, or overlaps itself; `contiguous` makes a copy that does not";
        Error::invalid("x", format!("{layout:?}: {what}"))
    })?;
    // What an axis of extent 1 has as its stride does not matter; a transform wants one that is not zero.
    let strides: Vec<usize> = strides.into_iter().map(|step| step.max(1)).collect();
    let spec = FftSpec::c2c(layout.extents()).input(Side::strided(strides));
    if axes.is_empty() {
        return Ok(spec);
    }
    let rank = layout.rank();
    let place = |axis: &isize| {
        let place = if *axis < 0 { rank.checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
        place.ok_or_else(|| Error::invalid("axes", format!("axis {axis}, but there are {rank} axes")))
    };
    let axes: Vec<usize> = axes.iter().map(place).collect::<Result<_>>()?;
    Ok(spec.axes(axes))
}
