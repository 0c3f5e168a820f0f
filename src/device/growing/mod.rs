//! Buffers that grow where they lie: at the same address, with their contents, and without a copy.
//!
//! [`Device::growing`](crate::Device::growing) makes a tensor with a reserve of *addresses*, which cost nothing.
//! [`Tensor::grow`](crate::Tensor::grow) gives more of them memory: for caches of keys and values, and for what is assembled from
//! pieces whose number is not known.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! let device = windlass::Device::host()?;
//! let mut keys = device.growing::<f32>([0, 2], 1000)?; // addresses for 1000 rows, memory for none
//! for step in 0..3 {
//!     keys.grow(1)?; // a row of zeros; nothing moves
//!     let last = keys.shape()[0] - 1;
//!     let row = device.full([1, 2], step as f32)?;
//!     keys = device.copy(&row, keys.part(|all| all.slice(last..))?)?.into_output();
//! }
//! assert_eq!(device.show(&keys)?.to_string(), "[[0. 0.]\n [1. 1.]\n [2. 2.]]");
//! # Ok(()) }
//! ```
//!
//! What holds for them:
//!
//! - **An operand like any other.** A call takes it, and gives it back; [`into_output`](crate::PendingDispatch::into_output) gives
//!   it back while the work is in flight, and it grows meanwhile. What is added is zeros. Only those wait for it who use what was
//!   added.
//! - **Nothing moves.** Work in flight, recorded programs and shared parts keep their addresses. To share what is there and let the
//!   rest grow, split the buffer: its last part grows, and [`join`](crate::DeviceBuffer::join) makes one of both again. (A last part
//!   that is dropped keeps its place: shrink it to nothing before, and the part that was before it grows.)
//! - **Memory** counts against the device's limit as it comes; addresses do not
//!   ([`MemoryInfo::addresses`](crate::MemoryInfo::addresses)). On a GPU memory comes in granules of 2 MiB, so even one row
//!   takes so much; a process has 128 TiB of addresses. Steps are amortised: new memory is at least an eighth of what there is, if there is so much.
//! - **Shrinking** and dropping wait for nothing: memory goes back when the work that uses it is complete. A program that captured
//!   the memory keeps it from shrinking.
//! - **Refusals** leave the buffer as it is: no memory ([`Error::OutOfMemory`](crate::Error::OutOfMemory)), a reserve that is too
//!   small ([`Error::InvalidArgument`](crate::Error::InvalidArgument)), a GPU without virtual memory management
//!   ([`Error::Unsupported`](crate::Error::Unsupported)).
//! - **A rebuild** makes it stale, as any buffer, and frees its addresses.
//! - **On an isolated device** growth waits for the worker's answer, not for the work on the device.
//!
//! On an H200 the driver's calls of a step that needs new memory take 35 us for 2 to 16 MiB and 110 us for 1 GiB, whatever is there
//! already, and hold up nothing that runs; most steps need none. PyTorch's `torch.cat` copies: 45 us for 64 MiB and 2 MiB more, 549 us
//! for 1 GiB, CuPy's `concatenate` 337 and 5064 us. (PyTorch's `expandable_segments` grow what its allocator holds, not a tensor.)
//!
//! `region.rs`: what each engine does.

mod region;

use crate::core::buffer::DeviceBuffer;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::copy::GiveBack;
use crate::device::tensor::{IntoShape, Layout, Tensor};

impl Device {
    /// A row-major tensor of zeros that can grow to `rows` along its first axis: see [`growing`](crate::growing).
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros); [`Error::InvalidArgument`] when there is no axis, or `rows` is less than the first extent;
    /// [`Error::Unsupported`], with the reason, on a GPU without virtual memory management, and while a program is recorded.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let mut all = device.growing::<u8>([1, 3], 10_000_000)?;
    /// all.grow(2)?;
    /// assert_eq!(all.shape(), [3, 3]);
    /// all.shrink(3)?; // its memory goes back
    /// assert!(all.is_empty() && all.grow(10_000_001).is_err());
    /// # Ok(()) }
    /// ```
    #[doc(alias = "cuMemAddressReserve")]
    pub fn growing<T: Element>(&self, shape: impl IntoShape, rows: usize) -> Result<Tensor<T>> {
        let layout = Layout::row_major(shape.axes())?;
        let (bytes, empty) = reserve_of(&layout, rows, size_of::<T>())?;
        let mut tensor = Tensor::from_parts(DeviceBuffer::new(self.growing_region(bytes, self.label())?, 0, 0), empty);
        tensor.grow(layout.shape().first().copied().unwrap_or(0))?;
        Ok(tensor)
    }
}

/// The bytes of the reserve, and the layout without rows.
fn reserve_of(layout: &Layout, rows: usize, size: usize) -> Result<(usize, Layout)> {
    let Some((first, rest)) = layout.shape().split_first() else {
        return Err(Error::invalid("shape", "no axis: a tensor grows along the first one"));
    };
    if rows < *first {
        return Err(Error::invalid("rows", format!("a reserve of {rows} rows for {first} of them")));
    }
    // Rows of no element have an address each, so that they are counted like others.
    let width = rest.iter().try_fold(1usize, |all, n| all.checked_mul(*n)).map(|width| width.max(1));
    let bytes = width.and_then(|width| width.checked_mul(rows)?.checked_mul(size));
    let bytes = bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
    let bytes = bytes.ok_or_else(|| Error::invalid("rows", format!("the byte size of {rows} rows overflows")))?;
    Ok((bytes, Layout::row_major(with_rows(0, rest))?))
}

fn with_rows(rows: usize, rest: &[usize]) -> Vec<usize> {
    std::iter::once(rows).chain(rest.iter().copied()).collect()
}

/// Memory with a reserve of addresses.
impl<T: Element> DeviceBuffer<T> {
    /// How many elements it can have where it lies: as many as it has, unless it [grows](crate::growing). A part that another part
    /// lies behind does not.
    pub fn capacity(&self) -> usize {
        self.most().unwrap_or(self.len)
    }

    /// The same, of one that can grow now.
    fn most(&self) -> Option<usize> {
        let (allocation, end) = (&self.region.allocation, (self.offset + self.len) * size_of::<T>());
        allocation.reserve().filter(|reserve| reserve.used() == end)?;
        Some((allocation.bytes as usize / size_of::<T>()).saturating_sub(self.offset))
    }

    /// Adds `n` zeros behind its elements, which stay where they are. Waits for nothing on the device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::InvalidArgument`] when the reserve is too small, and for a buffer that does not end where
    /// the memory in use ends; [`Error::Unsupported`] without a reserve; the device's own error. It is as before then.
    pub fn grow(&mut self, n: usize) -> Result<()> {
        // Too many bytes for their number are too many for the reserve.
        let (start, bytes) = (self.offset + self.len, n.saturating_mul(size_of::<T>()));
        let (device, _right) = region::device_of(&self.region, start * size_of::<T>())?;
        if n == 0 {
            return Ok(());
        }
        let (part, is_zeroed) = region::more(&device, &self.region, start * size_of::<T>(), bytes)?;
        let mut part = DeviceBuffer::new(part, start, n);
        if !is_zeroed {
            let region = part.region.clone();
            let filled = device.filled(part, T::zeroed()).inspect_err(|_| {
                // The refusal is what the caller has to know; the memory that came stays for the next growth at worst.
                let _ = device.shrink_region(&region);
            });
            part = filled?.into_output();
        }
        part.region.allocation.reserve().inspect(|reserve| reserve.grown(part.region.window.end));
        *self = self.joined(&part);
        Ok(())
    }

    /// Takes the last `n` elements away. Their memory goes back when the work that uses them is complete.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when it has fewer, for a buffer that does not end where the memory in use ends, and while a
    /// recorded program exists that captured its memory; [`Error::Unsupported`] without a reserve; the device's own error.
    pub fn shrink(&mut self, n: usize) -> Result<()> {
        let (device, _right) = region::device_of(&self.region, (self.offset + self.len) * size_of::<T>())?;
        let Some(keep) = self.len.checked_sub(n) else {
            return Err(Error::invalid("n", format!("{n} elements, but the buffer has {}", self.len)));
        };
        if self.region.allocation.is_captured() {
            return Err(Error::invalid("buffer", "a recorded program has captured its memory: drop the program first"));
        }
        if n == 0 {
            return Ok(());
        }
        // SAFETY: borrowed exclusively, and nothing is submitted through `self` before a part becomes the buffer. If one is refused, both
        // are dropped, and have submitted nothing; after that only the loss of a worker is a failure.
        let (kept, tail) = unsafe { self.alias() }.split_at(keep)?;
        // What another part gave back before lies behind it, in the same page at first.
        let before = self.region.allocation.reserve().map(|reserve| reserve.behind(0).1);
        tail.region.history.lock().absorb(before.unwrap_or_default());
        let give_back = GiveBack { is_last: !self.region.epoch.engine.is_isolated() };
        let tail = device.dispatch(give_back, (), (tail.of_elements::<u8>(),))?.into_output();
        device.shrink_region(&tail.region)?;
        *self = kept;
        Ok(())
    }
}

/// Tensors with a reserve of addresses.
impl<T: Element> Tensor<T> {
    /// Adds `rows` of zeros along its first axis, behind the others, which stay where they are. Waits for nothing on the device.
    ///
    /// # Errors
    /// As [`DeviceBuffer::grow`]; [`Error::InvalidArgument`] when it is not all of its buffer, row by row.
    pub fn grow(&mut self, rows: usize) -> Result<()> {
        let layout = grown(self.layout(), self.buffer().len(), rows, self.buffer().most())?;
        let more = layout.len() - self.layout().len();
        self.buffer_mut().grow(more)?;
        self.set_layout(layout);
        Ok(())
    }

    /// Takes the last `rows` along its first axis away. Their memory goes back when the work that uses them is complete.
    ///
    /// # Errors
    /// As [`DeviceBuffer::shrink`]; [`Error::InvalidArgument`] when it is not all of its buffer, row by row.
    pub fn shrink(&mut self, rows: usize) -> Result<()> {
        let layout = shrunk(self.layout(), self.buffer().len(), rows)?;
        let less = self.layout().len() - layout.len();
        self.buffer_mut().shrink(less)?;
        self.set_layout(layout);
        Ok(())
    }
}

/// The rows of a tensor that is all of its buffer, and the extents of one.
fn rows_of(layout: &Layout, len: usize) -> Result<(usize, &[usize])> {
    let whole = layout.is_row_major() && layout.offset() == 0 && layout.len() == len;
    let rows = layout.shape().split_first().filter(|_| whole).map(|(rows, rest)| (*rows, rest));
    rows.ok_or_else(|| Error::invalid("tensor", "it is not all of its buffer, row by row"))
}

/// The layout with more rows, of a buffer of `most` elements at most. One that does not grow says so itself.
fn grown(layout: &Layout, len: usize, more: usize, most: Option<usize>) -> Result<Layout> {
    let (rows, rest) = rows_of(layout, len)?;
    let most = most.map_or(usize::MAX, |most| most / rest.iter().product::<usize>().max(1));
    let Some(all) = rows.checked_add(more).filter(|all| *all <= most) else {
        let what = format!("{more} rows more than {rows}, but the reserve has {most}, and cannot grow");
        return Err(Error::invalid("rows", what + ": copy it to one with a larger reserve"));
    };
    Layout::row_major(with_rows(all, rest))
}

/// The layout with fewer rows.
fn shrunk(layout: &Layout, len: usize, less: usize) -> Result<Layout> {
    let (rows, rest) = rows_of(layout, len)?;
    let rows = rows.checked_sub(less).ok_or_else(|| Error::invalid("rows", format!("{less} of {rows} rows")))?;
    Layout::row_major(with_rows(rows, rest))
}
