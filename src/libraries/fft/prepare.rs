//! Plans made ahead.

use super::form::{C2c, C2r, Form, R2c};
use super::op::Transform;
use super::problem::Problem;
use super::spec::{FftSpec, Kind};
use super::transforms::apart;
use super::{Fft, FftReal};
use crate::core::dispatch::PendingDispatch;
use crate::core::error::Result;
use crate::core::op::{Spans, Wire};
use crate::device::tensor::{IntoLayout, Layout};
#[cfg(feature = "cuda")]
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::engines::op::Prepare;
use crate::engines::op::{HostOf, Op, Slices, SlicesMut, WritesOf};
use std::marker::PhantomData;

/// An op that only makes the plans of a transform.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Ahead<R> {
    spec: Problem,
    _type: PhantomData<fn() -> R>,
}

impl<R: FftReal> Ahead<R> {
    fn check_as<F: Form>(&self) -> Result<()> {
        Transform::<F>::new(self.spec).geometry().map(drop)
    }
}

impl<R: FftReal> Op for Ahead<R> {
    const NAME: &'static str = "prepare";
    const LIBRARY: &'static str = "fft";
    const PREPARED: bool = true;
    type Reads = ();
    type Output = ();
    type Raw = ();

    fn check(&self, (): &(), (): &()) -> Result<()> {
        match self.spec.kind {
            Kind::C2c => self.check_as::<C2c<R::Complex>>(),
            Kind::R2c => self.check_as::<R2c<R>>(),
            Kind::C2r => self.check_as::<C2r<R>>(),
        }
    }

    fn host(&self, (): Slices<'_, Self>, (): SlicesMut<'_, Self>) -> Result<()> {
        #[cfg(feature = "host")]
        super::host::prepare(&self.spec.geometry()?, R::DTYPE == crate::core::element::DType::F64)?;
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, (): &Spans<()>, (): &Spans<WritesOf<Self>>, plans: &mut Prepare<'_>) {
        let aligned = (0, 0);
        match self.spec.kind {
            Kind::C2c => Transform::<C2c<R::Complex>>::new(self.spec).plans(aligned, plans),
            Kind::R2c => Transform::<R2c<R>>::new(self.spec).plans(aligned, plans),
            Kind::C2r => Transform::<C2r<R>>::new(self.spec).plans(aligned, plans),
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Ok(())
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<HostOf<Self>> {
        Ok(())
    }
}

impl Fft {
    /// Makes the plans of a transform of numbers of type `R` ahead of its first use: on a GPU those of cuFFT, on the
    /// CPU the tables of twiddle factors. They are for a transform out of place between tensors of these layouts, in memory
    /// aligned to a complex number. The wait ends when the plans are made; while cuFFT makes one, the launches of other threads
    /// are blocked.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for invalid sizes. At the wait:
    /// [`Error::LibraryMissing`](crate::Error::LibraryMissing) without cuFFT, and an error for a transform that cuFFT
    /// does not support or too little memory.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, FftSpec, fft::Kind, tensor::Layout};
    /// let lines = Layout::row_major([16, 1000])?;
    /// Device::host()?.fft().prepare::<f32>(Kind::C2c, &FftSpec::new().axes([-1]), &lines, &lines)?.await_result()?;
    /// # Ok(()) }
    /// ```
    pub fn prepare<R: FftReal>(
        &self,
        kind: Kind,
        spec: &FftSpec,
        x: impl IntoLayout,
        y: impl IntoLayout,
    ) -> Result<PendingDispatch<()>> {
        self.ahead::<R>(kind, spec, [x.into_layout()?, y.into_layout()?])
    }

    fn ahead<R: FftReal>(&self, kind: Kind, spec: &FftSpec, layouts: [Layout; 2]) -> Result<PendingDispatch<()>> {
        let [x, y] = layouts.map(|layout| layout.moved_down(layout.span().0));
        let spec = match kind {
            Kind::C2c => apart::<C2c<R::Complex>>(spec, x, y),
            Kind::R2c => apart::<R2c<R>>(spec, x, y),
            Kind::C2r => apart::<C2r<R>>(spec, x, y),
        };
        let spec = spec.map_err(|error| error.in_op("prepare", "fft"))?;
        self.device.dispatch(Ahead::<R> { spec, _type: PhantomData }, (), ())
    }
}
