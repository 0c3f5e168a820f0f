//! Where pages of managed memory are.

use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIns, DeviceBuffer, Dyn, Region};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::Spans;
use crate::core::sync::Arc;
use crate::device::Device;
use crate::device::tensor::Tensor;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut, WritesOf};
use std::sync::OnceLock;

/// Where pages of managed memory can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PagePlace {
    /// In the memory of the GPU.
    Device,
    /// In the memory of the host.
    Host,
}

/// Advice about managed memory, which the driver may follow: [`DeviceBuffer::advise`]. It concerns whole pages. A slice to read takes the
/// place of a preference and of who accesses it; the next slice to write takes both back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// It is read much more often than it is written: each side reads a copy of its own. A write of either side
    /// then costs a fault for each page: 64 MiB that the host writes take 186 ms, where they take 12 else (on an H200).
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
    /// What keeps pages on the host while a slice is out that the device may read beside it: it reads them there.
    #[cfg(feature = "cuda")]
    pub(super) const KEEP: [Advice; 2] = [Advice::Prefer(PagePlace::Host), Advice::AccessedBy(PagePlace::Device)];
    /// Takes that back.
    #[cfg(feature = "cuda")]
    pub(super) const KEEP_NO_MORE: [Advice; 2] = [Advice::NoPreference, Advice::NotAccessedBy(PagePlace::Device)];

    /// Its number in `CUmem_advise`, and whether it names the GPU.
    #[cfg(feature = "cuda")]
    pub(super) fn number(self) -> (u32, bool) {
        let device = |place| place == PagePlace::Device;
        match self {
            Advice::ReadMostly => (1, true),
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
    refused: Refused,
}

/// What the driver said to a move that it refused. Contents that stay where they are have not failed, so the operation has not either.
pub(super) type Refused = Arc<OnceLock<Error>>;

/// The same, for who asked for the move.
pub(super) fn accepted(refused: &Refused) -> Result<()> {
    refused.get().map_or(Ok(()), |error| Err(error.clone()))
}

impl MovePages {
    /// Of all of the memory, and where a refusal is told.
    pub(super) fn to_host(region: &Region) -> (Self, Refused) {
        let (place, refused) = ((region.allocation.address, region.window.len()), Refused::default());
        (MovePages { place, to: PagePlace::Host, refused: refused.clone() }, refused)
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
            match unsafe { queue.prefetch(self.place, self.to == PagePlace::Device) } {
                Err(error) if !error.is_poisoning() => drop(self.refused.set(error)),
                other => other?,
            }
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

    /// Begins to move the pages of its window, behind the work on them: so that the first kernel, or the first access of the
    /// host, does not wait for each page. Pages that a slice has kept on the host ([`Tensor::host`](crate::Tensor::host)) stay on the GPU
    /// from then on, until the next slice. Nothing is left to report: where the driver refuses the move later, pages move when they are
    /// touched.
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
    pub fn prefetch(&mut self, to: PagePlace) -> Result<()> {
        let device = self.check_managed()?;
        let address = self.region.allocation.address + (self.offset * size_of::<T>()) as u64;
        let refused = Refused::default();
        let op = MovePages { place: (address, self.len * size_of::<T>()), to, refused: refused.clone() };
        // As a writer, so that a later slice comes behind it: it would take the pages from under it else.
        // SAFETY: borrowed exclusively, and the other handle is gone with the dispatch: nothing is submitted through both.
        let writes: AnyBuffers = [AnyBuffer::from(unsafe { self.alias() })].into_iter().collect();
        device.dispatch(op, AnyIns::new(), writes).map(drop).map_err(|rejected| rejected.error)?;
        accepted(&refused)
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
            if !matches!(advice, Advice::ReadMostly | Advice::NotReadMostly) {
                // The next slice says again where pages have to be.
                allocation.set_kept(Some(false));
            }
        }
        let _ = advice;
        Ok(())
    }
}

/// Managed memory.
impl<T: Element> Tensor<T> {
    /// As [`DeviceBuffer::prefetch`], of all of the tensor's buffer.
    ///
    /// # Errors
    /// As there.
    pub fn prefetch(&mut self, to: PagePlace) -> Result<()> {
        self.buffer_mut().prefetch(to)
    }
}
