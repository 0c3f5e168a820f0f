//! Slices of managed memory.

use super::pages::{MovePages, accepted};
use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIn, AnyIns, DeviceBuffer, Region};
use crate::core::element::Element;
use crate::core::error::{Error, Result, Site, Stale};
use crate::device::Device;
use crate::device::tensor::Tensor;
use std::ops::{Deref, DerefMut};

/// Keeps a GPU's epoch from its end.
#[cfg(feature = "cuda")]
type Hold = Option<crate::engines::cuda::SliceHold>;
#[cfg(not(feature = "cuda"))]
type Hold = ();

/// Elements of managed memory, to read: see [`Tensor::host`].
#[derive(Debug)]
pub struct HostSlice<'a, T> {
    elements: &'a [T],
    hold: Hold,
}

/// Elements of managed memory, to write: see [`Tensor::host_mut`].
#[derive(Debug)]
pub struct HostSliceMut<'a, T> {
    elements: &'a mut [T],
    hold: Hold,
}

impl<T> Deref for HostSlice<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.elements
    }
}

impl<T> Deref for HostSliceMut<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.elements
    }
}

impl<T> DerefMut for HostSliceMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.elements
    }
}

/// The device of managed memory in one piece, whose pages can stay on the host.
fn device_of(region: &Region) -> Result<Device> {
    let allocation = &region.allocation;
    if !allocation.is_managed() {
        return Err(Error::unsupported(
            "only managed memory (`Device::managed`) has slices for the host; `download` copies the elements of any other",
        ));
    }
    if region.window.len() as u64 != allocation.bytes {
        let what = "a part of split memory, and a page may belong to several parts: join them first";
        return Err(Error::invalid("buffer", what));
    }
    region.epoch.admit()?;
    let device = Device::of_epoch(&region.epoch);
    let device = device.ok_or(Error::GpuRefStale { reason: Stale::DeviceGone, site: Site::none() })?;
    Ok(device)
}

/// Tells the driver to keep the pages on the host, or no more to keep them.
fn keep(region: &Region, on_the_host: bool) -> Result<()> {
    #[cfg(feature = "cuda")]
    if let Some(engine) = region.epoch.engine.as_cuda()
        && region.allocation.bytes > 0
        && region.allocation.is_kept() != Some(on_the_host)
    {
        region.allocation.set_kept(None);
        let place = (region.allocation.address, region.allocation.bytes as usize);
        for advice in if on_the_host { super::Advice::KEEP } else { super::Advice::KEEP_NO_MORE } {
            engine.advise(&region.epoch, place, advice.number())?;
        }
        region.allocation.set_kept(Some(on_the_host));
    }
    let _ = (region, on_the_host);
    Ok(())
}

/// All earlier work on the memory is complete, and its pages are on the host. They stay there until the hold is dropped.
fn hold(region: &Region) -> Result<Hold> {
    #[cfg(feature = "cuda")]
    if let Some(engine) = region.epoch.engine.as_cuda() {
        return engine.hold_slice(&region.epoch).map(Some);
    }
    // A completion that was seen after the end of the epoch says nothing about the work.
    region.epoch.admit().map(|()| Hold::default())
}

impl<T: Element> DeviceBuffer<T> {
    /// Whether it is managed memory: see [`managed`](crate::managed).
    pub fn is_managed(&self) -> bool {
        self.region.allocation.is_managed()
    }

    /// As [`Tensor::host`], of the elements of its window.
    ///
    /// # Errors
    /// As there.
    pub fn host(&self) -> Result<HostSlice<'_, T>> {
        let device = device_of(&self.region)?;
        // The device may read it beside the slice, which must not take the pages away.
        keep(&self.region, true)?;
        let reads: AnyIns<'_> = [AnyIn::from(self)].into_iter().collect();
        let (op, refused) = MovePages::to_host(&self.region);
        let pending = device.dispatch(op, reads, AnyBuffers::default());
        pending.and_then(|pending| pending.await_result()).map_err(|rejected| rejected.error)?;
        accepted(&refused)?;
        let hold = hold(&self.region)?;
        // SAFETY: memory of this process, or managed, which this borrow keeps alive together with the hold, aligned for every
        // type. What wrote it is complete; a new writer needs the buffer itself.
        Ok(HostSlice { elements: unsafe { self.as_in().host_slice() }, hold })
    }

    /// As [`Tensor::host_mut`], of the elements of its window.
    ///
    /// # Errors
    /// As there.
    pub fn host_mut(&mut self) -> Result<HostSliceMut<'_, T>> {
        let device = device_of(&self.region)?;
        if self.region.allocation.is_captured() {
            let what = "a recorded program has captured its memory, and a replay would read it beside the host: drop the program, \
                        or upload into the buffer";
            return Err(Error::invalid("buffer", what));
        }
        // The device does not touch it beside the slice, so the pages stay.
        keep(&self.region, false)?;
        // SAFETY: borrowed exclusively, and the other handle is gone with the dispatch: nothing is submitted through both.
        let other = unsafe { self.alias() };
        let writes: AnyBuffers = [AnyBuffer::from(other)].into_iter().collect();
        let (op, refused) = MovePages::to_host(&self.region);
        let pending = device.dispatch(op, AnyIns::new(), writes);
        pending.and_then(|pending| pending.await_result()).map_err(|rejected| rejected.error)?;
        accepted(&refused)?;
        let hold = hold(&self.region)?;
        // SAFETY: as above; what reads it is complete as well, and a new reader needs a borrow of the buffer.
        Ok(HostSliceMut { elements: unsafe { self.as_in().host_slice_mut() }, hold })
    }
}

impl<T: Element> Tensor<T> {
    /// Its elements where they lie, to read, if it is [managed](crate::managed): waits for what writes them. Later readers on the
    /// device go on beside the slice, over the bus.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for other memory, and from inside an operation's host half; [`Error::InvalidArgument`] when the
    /// elements do not lie row by row without gaps ([`contiguous`](crate::Device::contiguous) copies them), and for a part of
    /// split memory; the failure of what wrote them; the device's own error when it cannot be used.
    pub fn host(&self) -> Result<HostSlice<'_, T>> {
        let (start, len) = self.dense()?;
        let HostSlice { elements, hold } = self.buffer().host()?;
        Ok(HostSlice { elements: elements.get(start..start + len).unwrap_or_default(), hold })
    }

    /// Its elements where they lie, to write, if it is [managed](crate::managed): waits for what writes and reads them. What is
    /// submitted after the slice is gone sees what was written.
    ///
    /// # Errors
    /// As [`host`](Self::host); [`Error::InvalidArgument`] while a recorded program exists that captured the memory.
    pub fn host_mut(&mut self) -> Result<HostSliceMut<'_, T>> {
        let (start, len) = self.dense()?;
        let HostSliceMut { elements, hold } = self.buffer_mut().host_mut()?;
        Ok(HostSliceMut { elements: elements.get_mut(start..start + len).unwrap_or_default(), hold })
    }

    /// The window of its elements, if they lie in their order and without gaps.
    fn dense(&self) -> Result<(usize, usize)> {
        let layout = self.layout();
        if layout.is_row_major() {
            return Ok((layout.offset(), layout.len()));
        }
        let what = format!(
            "the strides {:?} are not those of {:?} in row-major order: `contiguous` copies it",
            layout.strides(),
            layout.shape()
        );
        Err(Error::invalid("tensor", what))
    }
}
