//! Copies from one device to another of the same kind.

use crate::core::buffer::{DeviceBuffer, In};
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{ReadableTensor, Tensor, WritableTensor};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};
use std::marker::PhantomData;

/// Copies a buffer of the second device into one of the first.
struct PeerCopy<T> {
    len: usize,
    #[cfg(feature = "cuda")]
    from: Option<crate::engines::cuda::Peer>,
    _type: PhantomData<T>,
}

impl<T: Element> Op for PeerCopy<T> {
    const NAME: &'static str = "peer_copy";
    const OPERANDS: OperandNames = (&["source"], &["target"]);
    const LIBRARY: &'static str = "copy";
    const ACROSS_DEVICES: bool = true;
    type Reads = (T,);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (source,): &Spans<(T,)>, (target,): &Spans<(T,)>) -> Result<()> {
        super::check_target(target.len(), source.len(), "copied")
    }

    fn overwrites(&self, _: &Spans<(T,)>) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: 2 * (self.len * size_of::<T>()) as u64 }
    }

    fn host(&self, (source,): Slices<'_, Self>, (target,): SlicesMut<'_, Self>) -> Result<()> {
        target.copy_from_slice(source);
        Ok(())
    }

    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        #[cfg(feature = "cuda")]
        {
            let ((source,), (target,)) = (*queue.reads(), *queue.writes());
            let is_across = queue.devices() > 1;
            if is_across {
                queue.follow(0, 1)?;
            }
            // SAFETY: two operands of the same length (checked); the source is in the memory of the GPU that `peer`
            // names, or of this one.
            unsafe {
                match &self.from {
                    Some(peer) => queue.copy_from_peer(target.address(), peer, source.address(), source.bytes())?,
                    None => queue.copy(target.address(), source.address(), source.bytes())?,
                }
            }
            if is_across {
                queue.follow(1, 0)?;
            }
            Ok(())
        }
        #[cfg(not(feature = "cuda"))]
        {
            let _ = queue;
            Err(crate::core::error::Error::unsupported("this build has no CUDA engine"))
        }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Copies between devices.
impl Device {
    /// Copies a tensor of **another** device of the same kind into one of this device: between GPUs by peer access,
    /// between host devices in memory. Both have one shape and lie without gaps in the same order. The copy follows earlier work on
    /// both; the devices keep that order, not the host.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when the shapes differ, or the elements do not lie so;
    /// [`Error::Unsupported`](crate::Error::Unsupported) between a GPU and the host, when one of the devices is
    /// isolated, and between two GPUs that have no peer access or whose path failed its check (download and upload
    /// instead); a stale buffer. The target is returned.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let (one, two) = (windlass::Device::host()?, windlass::Device::host()?);
    /// let x = one.tensor([2], [1.0f32, 2.0])?;
    /// let y = two.copy_peer(&x, two.uninit(2)?)?;
    /// assert_eq!(two.to_vec(&y)?, [1.0, 2.0]);
    /// # Ok(()) }
    /// ```
    pub fn copy_peer<'a, T: Element>(
        &self,
        source: impl ReadableTensor<'a, T>,
        target: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (source, target) = (source.into(), target.into());
        let operands = source.layout().check_same_shape(target.layout()).and_then(|()| {
            if source.layout().runs_as(target.layout()) {
                return source.operand();
            }
            let what =
                "source and target do not lie without gaps in the same order; `contiguous` makes a copy that does";
            Err(Error::invalid("source", what))
        });
        target.submit((PeerCopy::<T>::NAME, PeerCopy::<T>::LIBRARY), operands, |(source, _), target| {
            self.copied_from_peer(source, target)
        })
    }

    fn copied_from_peer<T: Element>(&self, source: In<'_, T>, target: DeviceBuffer<T>) -> Submitted<DeviceBuffer<T>> {
        if self.is_isolated() || source.region.epoch.engine.is_isolated() {
            let error = crate::core::error::Error::unsupported(
                "the memory of an isolated device belongs to another process; use download and upload instead",
            );
            let error = self.refusal(&self.epoch(), error.in_op(PeerCopy::<T>::NAME, PeerCopy::<T>::LIBRARY));
            return Err(Rejected::new(error, (target,)));
        }
        #[cfg(feature = "cuda")]
        let from = match self.path_from(&source.region.epoch) {
            Ok(from) => from,
            Err(error) => {
                return Err(Rejected::new(error.in_op(PeerCopy::<T>::NAME, PeerCopy::<T>::LIBRARY), (target,)));
            }
        };
        let Some(from_device) = Device::of_epoch(&source.region.epoch) else {
            let gone = || crate::core::error::Error::unsupported("the source's device was dropped");
            let error = source.region.epoch.admit().err().unwrap_or_else(gone);
            return Err(Rejected::new(error.in_op(PeerCopy::<T>::NAME, PeerCopy::<T>::LIBRARY), (target,)));
        };
        self.copy_on_path(
            &from_device,
            source,
            target,
            #[cfg(feature = "cuda")]
            from,
        )
    }

    /// As [`copy_peer`](Self::copy_peer), on a path that is open already.
    pub(super) fn copy_on_path<T: Element>(
        &self,
        from_device: &Device,
        source: In<'_, T>,
        target: DeviceBuffer<T>,
        #[cfg(feature = "cuda")] from: Option<crate::engines::cuda::Peer>,
    ) -> Submitted<DeviceBuffer<T>> {
        let op = PeerCopy {
            len: source.len(),
            #[cfg(feature = "cuda")]
            from,
            _type: PhantomData,
        };
        if from_device.inner().id == self.inner().id {
            return self.dispatch(op, (source,), (target,));
        }
        Device::dispatch_across(&[self, from_device], op, (source,), (target,))
    }
}
