//! The calls of a device that take tensors of any element type. Elements are moved by their size alone.

use super::{AnyTensor, AnyTensorRef, Layout, Shown};
use crate::core::buffer::AnyBuffer;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use num_complex::Complex;

/// Calls a function of an element type for the unsigned type (or the complex one) of the same size.
macro_rules! by_size {
    ($dtype:expr, |$t:ident| $body:expr) => {
        match $dtype.size() {
            1 => by_size!(@ u8, $t, $body),
            2 => by_size!(@ u16, $t, $body),
            4 => by_size!(@ u32, $t, $body),
            8 => by_size!(@ u64, $t, $body),
            _ => by_size!(@ Complex<f64>, $t, $body),
        }
    };
    (@ $size:ty, $t:ident, $body:expr) => {{
        type $t = $size;
        $body
    }};
}
#[cfg(any(feature = "npy", feature = "safetensors"))]
pub(crate) use by_size;

/// Tensors whose types are known when the program runs.
impl Device {
    /// A row-major tensor of this element type, of the bytes of its elements as the host has them: as
    /// [`tensor`](Self::tensor).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there are more or fewer bytes than type and extents say; else as
    /// [`upload`](Self::upload).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{DType, Device};
    /// let device = Device::host()?;
    /// let x = device.tensor_any(DType::U16, [2], &[1, 0, 0, 1])?;
    /// assert_eq!(device.show_any(&x)?.to_string(), "[  1 256]");
    /// # Ok(()) }
    /// ```
    pub fn tensor_any(&self, dtype: DType, extents: impl AsRef<[usize]>, bytes: &[u8]) -> Result<AnyTensor> {
        let layout = Layout::row_major(extents)?;
        if layout.len().checked_mul(dtype.size()) != Some(bytes.len()) {
            let what = format!("{}, but {:?} elements of {dtype} are not as many", bytes.len(), layout.shape());
            return Err(Error::invalid("bytes", what));
        }
        let buffer = by_size!(dtype, |T| {
            let elements: Vec<T> = bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect();
            AnyBuffer::from(self.upload(elements)?.into_output())
        });
        Ok(AnyTensor::from_buffer(buffer.named(dtype), layout)?)
    }

    /// A row-major tensor of this element type that was never written: as [`uninit`](Self::uninit).
    ///
    /// # Errors
    /// As there.
    pub fn uninit_any(&self, dtype: DType, extents: impl AsRef<[usize]>) -> Result<AnyTensor> {
        let layout = Layout::row_major(extents)?;
        let buffer = by_size!(dtype, |T| AnyBuffer::from(self.unwritten::<T>(layout.len())?));
        Ok(AnyTensor::from_buffer(buffer.named(dtype), layout)?)
    }

    /// A new row-major tensor with the elements of a view: as [`contiguous`](Self::contiguous). Does not wait.
    ///
    /// # Errors
    /// As there.
    pub fn contiguous_any<'a>(&self, x: impl Into<AnyTensorRef<'a>>) -> Result<AnyTensor> {
        let x = x.into();
        let tensor: AnyTensor = by_size!(x.dtype(), |T| self.contiguous(sized::<T>(&x)?)?.into_output().into());
        Ok(tensor.named(x.dtype()))
    }

    /// Copies a view into a tensor of the same type, or the part of it that `part` makes of its layout: as
    /// [`assign`](Self::assign). Does not wait.
    ///
    /// # Errors
    /// As there; [`Error::InvalidArgument`] when the types differ. The target comes back.
    pub fn assign_any<'a>(
        &self,
        target: AnyTensor,
        part: impl FnOnce(&Layout) -> Result<Layout>,
        source: impl Into<AnyTensorRef<'a>>,
    ) -> Result<AnyTensor, Rejected<AnyTensor>> {
        let (source, dtype) = (source.into(), target.dtype());
        if source.dtype() != dtype {
            let what = format!("its elements are {}, but those of the target {dtype}: cast it", source.dtype());
            return Err(Rejected::new(Error::invalid("source", what), target));
        }
        let layout = match part(target.layout()) {
            Ok(layout) => layout,
            Err(error) => return Err(Rejected::new(error, target)),
        };
        by_size!(dtype, |T| {
            let back = |tensor: super::Tensor<T>| AnyTensor::from(tensor).named(dtype);
            let tensor = target.named(T::DTYPE).downcast::<T>().map_err(|target| {
                Rejected::new(Error::library("internal error: elements of another size"), target.named(dtype))
            })?;
            let part = tensor.part(|_| Ok(layout)).map_err(|rejected| rejected.map(back))?;
            let copied = match sized::<T>(&source) {
                Ok(source) => self.assign(part, source),
                Err(error) => Err(Rejected::new(error, (part.into_tensor(),))),
            };
            match copied {
                Ok(pending) => Ok(back(pending.into_output())),
                Err(rejected) => Err(rejected.map(|(tensor,)| back(tensor))),
            }
        })
    }

    /// The bytes of the elements, the last axis fastest: as [`download`](Self::download). Waits.
    ///
    /// # Errors
    /// As there, and the failure of what makes the tensor.
    pub fn bytes_any<'a>(&self, x: impl Into<AnyTensorRef<'a>>) -> Result<Vec<u8>> {
        let x = x.into();
        by_size!(x.dtype(), |T| {
            let elements = self.download(sized::<T>(&x)?)?.await_result()?;
            Ok(bytemuck::cast_slice(&elements).to_vec())
        })
    }

    /// The elements as NumPy prints them: as [`show`](Self::show).
    ///
    /// # Errors
    /// As there.
    pub fn show_any<'a>(&self, x: impl Into<AnyTensorRef<'a>>) -> Result<Shown> {
        let x = x.into();
        by_size!(x.dtype(), |T| self.shown(x.dtype(), &sized::<T>(&x)?))
    }

    /// Whether all elements of two tensors are equal within a tolerance: as [`allclose`](Self::allclose). Their types may
    /// differ: their numbers are compared.
    ///
    /// # Errors
    /// As there.
    pub fn allclose_any<'a, 'b>(
        &self,
        a: impl Into<AnyTensorRef<'a>>,
        b: impl Into<AnyTensorRef<'b>>,
        rtol: f64,
        atol: f64,
    ) -> Result<bool> {
        let (a, b) = (a.into(), b.into());
        let common = Layout::broadcast_both(["a", "b"], [a.shape(), b.shape()])?;
        let (left, right) = (self.bytes_any(a.broadcast(&common)?)?, self.bytes_any(b.broadcast(&common)?)?);
        Ok(super::close::all((a.dtype(), &left), (b.dtype(), &right), rtol, atol))
    }
}

/// The view with elements of the same size.
fn sized<'a, T: Element>(x: &AnyTensorRef<'a>) -> Result<super::TensorRef<'a, T>> {
    x.reinterpreted().ok_or_else(|| Error::library("internal error: elements of another size"))
}
