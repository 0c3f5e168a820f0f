//! Managed memory: an operand like any other, whose elements the host reads and writes where they lie.
//!
//! [`Device::managed`](crate::Device::managed) makes a tensor of it. [`Tensor::host`](crate::Tensor::host) and
//! [`host_mut`](crate::Tensor::host_mut) give slices of its elements, without a copy that the program makes: the driver moves
//! pages. Every operation reads and writes it as any tensor.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! let device = windlass::Device::host()?;
//! let mut x = device.managed::<f64>(4)?;
//! x.host_mut()?.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
//! let x = device.blas().scal(10.0, x)?.await_result()?;
//! assert_eq!(*x.host()?, [10.0, 20.0, 30.0, 40.0]); // waits for what writes it
//! # Ok(()) }
//! ```
//!
//! What holds for it:
//!
//! - **Slices.** `host` waits for what writes the memory, `host_mut` also for what reads it. Later work is not held up: the borrow
//!   keeps writers away. A program that captured the memory is not seen by the borrow, so `host_mut` is refused while it exists.
//!   Only memory that is in one piece has slices: not a part of a split buffer, since a page may belong to two parts.
//! - **Faults.** Before a slice is given, its pages are brought to the host. Beside one to read, the driver is told to keep them there:
//!   what the device reads then, it reads over the bus. So a later fault of the device takes no page from under a slice.
//! - **Speed.** After a slice the pages are on the host. Kernels move them to the GPU when they first touch them, or, once `host` has been
//!   called, use them where they are: on an H200 a pass over 64 MiB takes 1.7 ms then, and 0.07 ms where
//!   [`prefetch`](crate::Tensor::prefetch) has brought the pages to the GPU, which takes 1.5. So prefetch before several kernels.
//! - **Rebuilds.** On a GPU a slice counts as work in flight: a rebuild waits for it, and fails with
//!   [`Error::Timeout`](crate::Error::Timeout) if it does not end in time.
//! - **Size.** Never more than the GPU has free, as if no page of other managed memory were on it.
//! - **Where.** In process on a GPU whose system allows the host to touch it while kernels run (not Windows or WSL), and on the
//!   host engine. On an isolated device the worker process has the pages, and nothing shares them.
//!
//! `host_slice.rs`: the slices; `pages.rs`: where pages are, and advice about them.

mod host_slice;
mod pages;

pub use host_slice::{HostSlice, HostSliceMut};
pub use pages::{Advice, PagePlace};

use crate::core::element::Element;
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::{IntoShape, Layout, Tensor};

impl Device {
    /// A row-major tensor of zeros in managed memory: see [`managed`](crate::managed).
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros). [`Error::Unsupported`](crate::Error::Unsupported), with the reason, on an isolated device, on a
    /// system where the host must not touch the memory while kernels run, and while a program is recorded.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let mut image = device.managed::<u8>([2, 3])?;
    /// image.host_mut()?[4] = 7;
    /// assert_eq!(device.show(&image)?.to_string(), "[[0 0 0]\n [0 7 0]]");
    /// # Ok(()) }
    /// ```
    #[doc(alias = "cuMemAllocManaged")]
    pub fn managed<T: Element>(&self, shape: impl IntoShape) -> Result<Tensor<T>> {
        let layout = Layout::row_major(shape.axes())?;
        Ok(Tensor::from_parts(self.managed_buffer(layout.len())?, layout))
    }
}
