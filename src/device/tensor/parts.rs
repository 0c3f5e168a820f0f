//! Complex numbers as the real numbers that they are made of, and back: the same memory.

use super::{Tensor, TensorRef};
use crate::core::buffer::Region;
use crate::core::element::Element;
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

/// Of f32 and f64.
impl<'a, R: Element> TensorRef<'a, Complex<R>>
where
    Complex<R>: Element,
{
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
    /// [`Error::InvalidArgument`] for a tensor of 64 axes.
    pub fn as_real(&self) -> Result<TensorRef<'a, R>> {
        Ok(self.of_elements(self.layout().as_pairs()?))
    }
}

/// Of f32 and f64.
impl<R: Element> Tensor<Complex<R>>
where
    Complex<R>: Element,
{
    /// As [`TensorRef::as_real`].
    ///
    /// # Errors
    /// As there.
    pub fn as_real(&self) -> Result<TensorRef<'_, R>> {
        self.view().as_real()
    }

    /// As [`as_real`](Self::as_real), to be written; [`into_complex`](Tensor::into_complex) is the way back.
    ///
    /// # Errors
    /// As there; the tensor comes back.
    pub fn into_real(self) -> Result<Tensor<R>, Rejected<Self>> {
        match self.layout().as_pairs() {
            Ok(layout) => Ok(Tensor::from_parts(self.into_buffer().of_elements(), layout)),
            Err(error) => Err(Rejected::new(error, self)),
        }
    }
}

/// Of f32 and f64.
impl<'a, R: Element> TensorRef<'a, R>
where
    Complex<R>: Element,
{
    /// As complex numbers: without the last axis, whose two elements are the real and the imaginary part.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the last axis has not two elements that are neighbours, and when pairs are not at
    /// even distances from each other and from the beginning of the memory: [`Device::contiguous`](crate::Device::contiguous)
    /// makes a copy that is so.
    pub fn as_complex(&self) -> Result<TensorRef<'a, Complex<R>>> {
        let layout = self.layout().of_pairs("self")?;
        let buffer = self.buffer();
        check_aligned::<R>(buffer.region, buffer.offset)?;
        Ok(self.of_elements(layout))
    }
}

/// Of f32 and f64.
impl<R: Element> Tensor<R>
where
    Complex<R>: Element,
{
    /// As [`TensorRef::as_complex`].
    ///
    /// # Errors
    /// As there.
    pub fn as_complex(&self) -> Result<TensorRef<'_, Complex<R>>> {
        self.view().as_complex()
    }

    /// As [`as_complex`](Self::as_complex), to be written.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device};
    /// let device = Device::host()?;
    /// let x = device.tensor([2, 2], [1.0, 2.0, 3.0, 4.0])?.into_complex()?;
    /// let x = device.fill(x.part(|all| all.index(0, 0))?, Complex::new(7.0, 8.0))?.into_output().into_real()?;
    /// assert_eq!(device.to_vec(&x)?, [7.0, 8.0, 3.0, 4.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As there; the tensor comes back.
    pub fn into_complex(self) -> Result<Tensor<Complex<R>>, Rejected<Self>> {
        let layout = self.layout().of_pairs("self").and_then(|layout| {
            check_aligned::<R>(&self.buffer().region, self.buffer().offset)?;
            Ok(layout)
        });
        match layout {
            Ok(layout) => Ok(Tensor::from_parts(self.into_buffer().of_elements(), layout)),
            Err(error) => Err(Rejected::new(error, self)),
        }
    }
}
