//! Where pages of managed memory are.

use crate::core::buffer::{AnyBuffers, AnyIn, AnyIns, DeviceBuffer, Dyn, Region};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::Spans;
use crate::device::Device;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut, WritesOf};

/// Where pages of managed memory can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PagePlace {
    /// In the memory of the GPU.
    Device,
    /// In the memory of the host.
    Host,
}

/// Advice about managed memory, which the driver may follow: [`DeviceBuffer::advise`]. It concerns whole pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// It is read much more often than it is written: each side reads a copy of its own. A slice for the host gives this advice.
    ReadMostly,
    /// Takes that back.
    NotReadMostly,
    /// Pages stay at that place if they can. If that is the GPU, and it lacks room, they are moved for ever.
    Prefer(PagePlace),
    /// Takes that back.
    NoPreference,
    /// That side keeps a mapping of the pages, wherever they are, and reads them there.
    AccessedBy(PagePlace),
    /// Takes that back.
    NotAccessedBy(PagePlace),
}

impl Advice {
    /// The number of [`Advice::ReadMostly`] in `CUmem_advise`.
    #[cfg(feature = "cuda")]
    pub(super) const READ_MOSTLY: u32 = 1;

    /// Its number in `CUmem_advise`, and whether it names the GPU.
    #[cfg(feature = "cuda")]
    fn number(self) -> (u32, bool) {
        let device = |place| place == PagePlace::Device;
        match self {
            Advice::ReadMostly => (Self::READ_MOSTLY, true),
            Advice::NotReadMostly => (2, true),
            Advice::Prefer(place) => (3, device(place)),
            Advice::NoPreference => (4, true),
            Advice::AccessedBy(place) => (5, device(place)),
            Advice::NotAccessedBy(place) => (6, device(place)),
        }
    }
}

/// Moves pages; on the host engine it only waits for its turn.
pub(super) struct MovePages {
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "for a GPU"))]
    place: (u64, usize),
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "for a GPU"))]
    to: PagePlace,
}

impl MovePages {
    /// Of all of the memory.
    pub(super) fn to_host(region: &Region) -> Self {
        MovePages { place: (region.allocation.address, region.window.len()), to: PagePlace::Host }
    }
}

impl Op for MovePages {
    const NAME: &'static str = "move_pages";
    const LIBRARY: &'static str = "memory";
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, _: &Spans<Dyn>, _: &Spans<WritesOf<Self>>) -> Result<()> {
        Ok(())
    }

    fn capturable(&self) -> Result<(), &'static str> {
        Err("it moves pages, which a graph cannot")
    }

    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Ok(())
    }

    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        #[cfg(feature = "cuda")]
        {
            // SAFETY: the maker took the place from a buffer of managed memory, which is the operand.
            unsafe { queue.prefetch(self.place, self.to == PagePlace::Device) }?;
        }
        let _ = queue;
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Managed memory.
impl<T: Element> DeviceBuffer<T> {
    fn check_managed(&self) -> Result<Device> {
        if !self.is_managed() {
            return Err(Error::unsupported("only managed memory (`Device::managed`) has pages that move"));
        }
        self.region.epoch.admit()?;
        let gone = || Error::GpuRefStale {
            reason: crate::core::error::Stale::DeviceGone,
            site: crate::core::error::Site::none(),
        };
        Device::of_epoch(&self.region.epoch).ok_or_else(gone)
    }

    /// Begins to move the pages of its window, behind what writes them: so that the first kernel, or the first access of the
    /// host, does not wait for each page. Nothing is left to report.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for memory that is not [managed](crate::managed); the device's own error.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::managed::{Advice, PagePlace};
    /// let device = windlass::Device::host()?;
    /// let mut table = device.managed::<f32>(1000)?.into_buffer();
    /// table.host_mut()?.fill(1.0);
    /// table.advise(Advice::ReadMostly)?;
    /// table.prefetch(PagePlace::Device)?; // on the host engine there is nothing to move
    /// assert_eq!(device.blas().asum(&table)?.await_result()?, 1000.0);
    /// # Ok(()) }
    /// ```
    pub fn prefetch(&self, to: PagePlace) -> Result<()> {
        let device = self.check_managed()?;
        let address = self.region.allocation.address + (self.offset * size_of::<T>()) as u64;
        let op = MovePages { place: (address, self.len * size_of::<T>()), to };
        let reads: AnyIns<'_> = [AnyIn::from(self)].into_iter().collect();
        device.dispatch(op, reads, AnyBuffers::default()).map(drop).map_err(|rejected| rejected.error)
    }

    /// Advises the driver about all of its memory. Waits for nothing, and changes no contents.
    ///
    /// # Errors
    /// As [`prefetch`](Self::prefetch); [`Error::InvalidArgument`] for a part of split memory.
    pub fn advise(&mut self, advice: Advice) -> Result<()> {
        let _device = self.check_managed()?;
        let allocation = &self.region.allocation;
        if self.region.window.len() as u64 != allocation.bytes {
            return Err(Error::invalid(
                "buffer",
                "a part of split memory, and advice is about whole pages: join the parts",
            ));
        }
        #[cfg(feature = "cuda")]
        if let Some(engine) = self.region.epoch.engine.as_cuda()
            && allocation.bytes > 0
        {
            let place = (allocation.address, allocation.bytes as usize);
            engine.advise(&self.region.epoch, place, advice.number())?;
            match advice {
                Advice::ReadMostly => allocation.set_read_mostly(true),
                Advice::NotReadMostly => allocation.set_read_mostly(false),
                _ => {}
            }
        }
        let _ = advice;
        Ok(())
    }
}
