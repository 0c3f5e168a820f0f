//! Complex numbers as the real numbers that they are made of, and back: the same memory.

use super::{Tensor, TensorRef};
use crate::core::buffer::Region;
use crate::core::error::{Error, Rejected, Result};
use num_complex::Complex;

/// Checks that memory may be read as pairs of `R`.
fn check_aligned<R>(region: &Region, offset: usize) -> Result<()> {
    // No overflow: the offset lies inside the allocation.
    let address = region.allocation.address + (offset * size_of::<R>()) as u64;
    if address.is_multiple_of(2 * size_of::<R>() as u64) && offset.is_multiple_of(2) {
        return Ok(());
    }
    Err(Error::invalid("self", "its memory does not begin with a complex number; `contiguous` makes a copy that does"))
}

macro_rules! parts { ($($real:ty)*) => { $(
    impl<'a> TensorRef<'a, Complex<$real>> {
        /// As real numbers: with a new last axis of two, the real and the imaginary part.
        ///
        /// ```
        /// # fn main() -> Result<(), windlass::Error> {
        /// use windlass::{Complex, Device};
        /// let device = Device::host()?;
        /// let x = device.tensor([2], [Complex::new(1.0, 2.0), Complex::new(3.0, 4.0)])?;
        /// let imaginary = x.as_real()?.index(-1, 1)?;
        /// assert_eq!(device.to_vec(&imaginary)?, [2.0, 4.0]);
        /// assert_eq!(device.to_vec(x.as_real()?.as_complex()?)?, device.to_vec(&x)?);
        /// # Ok(()) }
        /// ```
        ///
        /// # Errors
        /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a tensor of 64 axes.
        pub fn as_real(&self) -> Result<TensorRef<'a, $real>> {
            let layout = self.layout().as_pairs()?;
            Ok(self.of_elements(layout))
        }
    }

    impl Tensor<Complex<$real>> {
        /// As [`TensorRef::as_real`].
        ///
        /// # Errors
        /// As there.
        pub fn as_real(&self) -> Result<TensorRef<'_, $real>> {
            self.view().as_real()
        }

        /// As [`as_real`](Self::as_real), to be written; [`into_complex`](Tensor::into_complex) is the way back.
        ///
        /// # Errors
        /// As there; the tensor comes back.
        pub fn into_real(self) -> Result<Tensor<$real>, Rejected<Self>> {
            match self.layout().as_pairs() {
                Ok(layout) => Ok(Tensor::from_parts(self.into_buffer().of_elements(), layout)),
                Err(error) => Err(Rejected::new(error, self)),
            }
        }
    }

    impl<'a> TensorRef<'a, $real> {
        /// As complex numbers: without the last axis, whose two elements are the real and the imaginary part.
        ///
        /// # Errors
        /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when the last axis has not two elements that are
        /// neighbours, and when pairs are not at even distances from each other and from the beginning of the memory:
        /// [`Device::contiguous`](crate::Device::contiguous) makes a copy that is so.
        pub fn as_complex(&self) -> Result<TensorRef<'a, Complex<$real>>> {
            let layout = self.layout().of_pairs("self")?;
            let buffer = self.buffer();
            check_aligned::<$real>(buffer.region, buffer.offset)?;
            Ok(self.of_elements(layout))
        }
    }

    impl Tensor<$real> {
        /// As [`TensorRef::as_complex`].
        ///
        /// # Errors
        /// As there.
        pub fn as_complex(&self) -> Result<TensorRef<'_, Complex<$real>>> {
            self.view().as_complex()
        }

        /// As [`as_complex`](Self::as_complex), to be written.
        ///
        /// ```
        /// # fn main() -> Result<(), windlass::Error> {
        /// use windlass::{Complex, Device, FftSpec};
        /// let device = Device::host()?;
        /// let x = device.tensor([6], [1.0f64, 1.0, 1.0, 1.0, 0.0, 0.0])?; // four numbers, and room for their spectrum
        /// let y = device.fft().r2c_in_place(&FftSpec::new().n([4]), x)?.into_output();
        /// let y = y.reshape([3, 2])?.as_complex()?;
        /// assert_eq!(device.item(y.index(0, 0)?)?, Complex::new(4.0, 0.0));
        /// # Ok(()) }
        /// ```
        ///
        /// # Errors
        /// As there; the tensor comes back.
        pub fn into_complex(self) -> Result<Tensor<Complex<$real>>, Rejected<Self>> {
            let layout = self.layout().of_pairs("self").and_then(|layout| {
                check_aligned::<$real>(&self.buffer().region, self.buffer().offset)?;
                Ok(layout)
            });
            match layout {
                Ok(layout) => Ok(Tensor::from_parts(self.into_buffer().of_elements(), layout)),
                Err(error) => Err(Rejected::new(error, self)),
            }
        }
    }
)* } }
parts! { f32 f64 }
