//! Exchanges the halves of an array, so that the frequency 0 is in the middle, and back.

use super::Fft;
use super::dims::Dims;
use super::layouts::places;
use super::simple::Pending;
use crate::core::buffer::DeviceBuffer;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans, Wire};
use crate::device::tensor::{Part, ReadableTensor, TensorRef};
#[cfg(feature = "cuda")]
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{HostOf, Op, Slices, SlicesMut};
#[cfg(feature = "cuda")]
use crate::libraries::fft::native::kernels;
use crate::libraries::operands::check_packed;
use smallvec::SmallVec;
use std::marker::PhantomData;

/// `y` is `x` with the elements moved along some axes.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Shift<T> {
    shape: Dims,
    axes: Dims,
    inverse: bool,
    _type: PhantomData<fn() -> T>,
}

impl<T: Element> Shift<T> {
    fn elements(&self) -> Result<usize> {
        if self.shape.is_too_long() {
            return Err(Error::invalid("shape", "more than 8 axes"));
        }
        let total = self.shape.as_slice().iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        total.ok_or_else(|| Error::invalid("shape", "the number of elements overflows"))
    }

    /// By how much elements move along each axis of the shape.
    pub(super) fn moves(&self) -> SmallVec<[usize; 8]> {
        let by = |n: usize| if self.inverse { n.div_ceil(2) } else { n / 2 };
        let moved = |axis: usize| self.axes.as_slice().contains(&axis);
        self.shape.as_slice().iter().enumerate().map(|(axis, n)| if moved(axis) { by(*n) } else { 0 }).collect()
    }
}

impl<T: Element> Op for Shift<T> {
    const NAME: &'static str = "fftshift";
    const OPERANDS: OperandNames = (&["x"], &["y"]);
    const LIBRARY: &'static str = "fft";
    type Reads = (T,);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (x,): &Spans<(T,)>, (y,): &Spans<(T,)>) -> Result<()> {
        let total = self.elements()?;
        let rank = self.shape.len();
        if self.axes.is_too_long() {
            return Err(Error::invalid("axes", "more than 8 axes"));
        }
        if let Some(axis) = self.axes.as_slice().iter().find(|axis| **axis >= rank) {
            return Err(Error::invalid("axes", format!("axis {axis} does not exist: the shape has {rank} axes")));
        }
        for (name, len) in [("x", x.len()), ("y", y.len())] {
            if len != total {
                return Err(Error::invalid(name, format!("{len} elements, but the shape has {total}")));
            }
        }
        Ok(())
    }

    fn overwrites(&self, _: &Spans<(T,)>) -> bool {
        true // if the length differs, `check` fails after this
    }

    fn cost(&self) -> Cost {
        let elements = self.elements().unwrap_or(0) as u64;
        Cost { flops: 0, bytes: elements.saturating_mul(2 * size_of::<T>() as u64) }
    }

    fn host(&self, (x,): Slices<'_, Self>, (y,): SlicesMut<'_, Self>) -> Result<()> {
        #[cfg(feature = "host")]
        {
            let (shape, moves) = (self.shape.as_slice(), self.moves());
            super::host::roll(size_of::<T>(), shape, &moves, bytemuck::cast_slice(x), bytemuck::cast_slice_mut(y));
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let ((x,), (y,)) = (*queue.reads(), *queue.writes());
        // SAFETY: both are packed arrays of the shape (the op's check), and different buffers.
        unsafe {
            kernels::fft_roll(queue, (x.address(), y.address()), size_of::<T>(), self.shape.as_slice(), &self.moves())
        }
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<HostOf<Self>> {
        Ok(())
    }
}

impl Fft {
    /// `x` with the halves along these axes exchanged (none: along all), as a new row-major tensor: the point 0 goes to `n / 2`.
    /// The elements may have any type. Of complex numbers that are pairs of f16 or bf16, the last axis, of two, is none of the
    /// axes to name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that does not exist or is named twice, and for a tensor that is not in row-major
    /// order without gaps: [`Device::contiguous`](crate::Device::contiguous) makes a copy that is; a stale or foreign tensor.
    /// [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.buffer([0i32, 1, 2, -2, -1])?;
    /// let y = device.fft().fftshift(&x, &[0])?.await_result()?;
    /// assert_eq!(device.to_vec(&y)?, [-2, -1, 0, 1, 2]);
    /// # Ok(()) }
    /// ```
    pub fn fftshift<'a, T: Element>(&self, x: impl ReadableTensor<'a, T>, axes: &[isize]) -> Pending<T> {
        self.shift(&x.into(), axes, false)
    }

    /// The inverse of [`fftshift`](Self::fftshift): the point `n / 2` goes to 0.
    ///
    /// # Errors
    /// As [`fftshift`](Self::fftshift).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.buffer([-2i32, -1, 0, 1, 2])?;
    /// let y = device.fft().ifftshift(&x, &[0])?.await_result()?;
    /// assert_eq!(device.to_vec(&y)?, [0, 1, 2, -2, -1]);
    /// # Ok(()) }
    /// ```
    pub fn ifftshift<'a, T: Element>(&self, x: impl ReadableTensor<'a, T>, axes: &[isize]) -> Pending<T> {
        self.shift(&x.into(), axes, true)
    }

    fn shift<T: Element>(&self, x: &TensorRef<'_, T>, axes: &[isize], inverse: bool) -> Pending<T> {
        let (x, layout) = x.operand()?;
        let axes = check_packed("x", &layout).and_then(|()| places(axes, "x", layout.shape()));
        let axes = axes.map_err(|error| error.in_op("fftshift", "fft"))?;
        let (y, _, whole) = Part::from(self.device.uninit(layout.shape())?).operand();
        let shift = Shift { shape: layout.shape().into(), axes: axes.into(), inverse, _type: PhantomData };
        Ok(whole.submitted(self.device.dispatch(shift, (x,), (y,)))?)
    }
}
