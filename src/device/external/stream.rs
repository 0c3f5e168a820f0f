//! A stream of another library.

use std::ffi::c_void;

/// The stream of another library that uses memory before or after this one: where the two meet.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::{Device, external::ForeignStream};
/// let device = Device::host()?;
/// let buffer = device.buffer([1.0f32, 2.0])?;
/// let out = device.hand_out(buffer, ForeignStream::Idle)?;  // waits until it is written
/// // SAFETY: the two elements are there until the buffer is taken back, and nobody else uses them.
/// unsafe { *(out.address() as *mut f32) = 7.0 };
/// // SAFETY: nothing uses it any more.
/// let buffer = unsafe { out.take_back(ForeignStream::Idle) }?;
/// assert_eq!(device.to_vec(&buffer)?, [7.0, 2.0]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignStream {
    /// None. Memory that comes in is in use by nobody; memory that goes out is ready when the call returns, which waits.
    Idle,
    /// A stream of the same GPU: made by [`cuda`](Self::cuda).
    Cuda(CudaStream),
}

/// A CUDA stream that its maker has promised to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaStream(usize);

impl ForeignStream {
    /// A CUDA stream, in the form that C knows (`CUstream`, `cudaStream_t`; 0 or 1 for the legacy default stream, 2 for that of
    /// the thread). What comes in follows all that is on it by then, on the GPU; what goes out is followed by all that comes on
    /// it later. Neither waits.
    ///
    /// # Safety
    /// It is a stream of the primary context of the device that it is used with, and lives until the call that it is given to
    /// has returned; if that is [`dlpack`](crate::Device::dlpack), until the consumer has called the deleter.
    pub unsafe fn cuda(stream: *mut c_void) -> Self {
        ForeignStream::Cuda(CudaStream(stream.expose_provenance()))
    }

    /// The stream, if there is one.
    pub(super) fn place(self) -> Option<usize> {
        match self {
            ForeignStream::Idle => None,
            ForeignStream::Cuda(stream) => Some(stream.0),
        }
    }
}
