//! Copies from one device to another of the same kind.

use crate::core::buffer::{DeviceBuffer, In};
use crate::core::element::Element;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
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

/// Elements in row-major order, on the way from one device to another.
enum Arrived<T: Element> {
    There(Tensor<T>),
    Here(Tensor<T>),
}

fn refused<T: Element>(error: Error, target: Part<T>) -> Submitted<Tensor<T>> {
    let error = error.in_op(PeerCopy::<T>::NAME, PeerCopy::<T>::LIBRARY);
    Err(Rejected::new(error, (target.into_tensor(),)))
}

/// Copies between devices.
impl Device {
    /// Copies a tensor of **another** device of the same kind into one of this device: between GPUs by peer access,
    /// between host devices in memory. Both have one shape, and any layout; the target may be a part. The copy follows earlier work
    /// on both; the devices keep that order, not the host.
    ///
    /// If the two do not lie without gaps in the same order, each device brings its side into row-major order first, in memory of its
    /// own. These copies are counted ([`Stats::operand_copies`](crate::Stats::operand_copies)).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when the shapes differ, or the part to be written meets itself;
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
        if let Err(error) = source.layout().check_same_shape(target.layout()) {
            return refused(error, target);
        }
        if source.layout().runs_as(target.layout()) {
            return self.copy_run_from_peer(source, target);
        }
        let arrived = self.ordered_from_peer(&source, target.layout());
        match arrived {
            Ok(Arrived::There(dense)) => self.copy_run_from_peer(dense.view(), target),
            Ok(Arrived::Here(dense)) => self.copy(dense.view(), target),
            Err(error) => refused(error, target),
        }
    }

    fn copy_run_from_peer<T: Element>(&self, source: TensorRef<'_, T>, target: Part<T>) -> Submitted<Tensor<T>> {
        target.submit((PeerCopy::<T>::NAME, PeerCopy::<T>::LIBRARY), source.operand(), |(source, _), target| {
            self.copied_from_peer(source, target)
        })
    }

    /// The elements of the source in row-major order: on its device, if they can go from there as they lie, else on this one.
    fn ordered_from_peer<T: Element>(&self, source: &TensorRef<'_, T>, target: &Layout) -> Result<Arrived<T>> {
        target.check_distinct("target")?;
        let (operand, _) = source.operand()?;
        let epoch = &operand.region.epoch;
        // What the path refuses is refused before anything is copied.
        self.check_in_process(epoch)?;
        #[cfg(feature = "cuda")]
        self.path_from(epoch)?;
        let dense = if source.layout().is_row_major() {
            None
        } else {
            let gone = || Error::unsupported("the source's device was dropped");
            let from = Device::of_epoch(epoch).ok_or_else(|| epoch.admit().err().unwrap_or_else(gone))?;
            let dense = from.copied(source)?.into_output();
            if dense.layout().runs_as(target) {
                return Ok(Arrived::There(dense));
            }
            Some(dense)
        };
        let here = Part::from(self.uninit(target.shape())?);
        self.counts_copy();
        let arrived = match &dense {
            Some(dense) => self.copy_run_from_peer(dense.view(), here),
            None => self.copy_run_from_peer(source.clone(), here),
        };
        Ok(Arrived::Here(arrived?.into_output()))
    }

    /// Refuses memory of another process.
    fn check_in_process(&self, source: &Epoch) -> Result<()> {
        if !self.is_isolated() && !source.engine.is_isolated() {
            return Ok(());
        }
        let what = "the memory of an isolated device belongs to another process; use download and upload instead";
        Err(self.refusal(&self.epoch(), Error::unsupported(what)))
    }

    fn copied_from_peer<T: Element>(&self, source: In<'_, T>, target: DeviceBuffer<T>) -> Submitted<DeviceBuffer<T>> {
        if let Err(error) = self.check_in_process(&source.region.epoch) {
            return Err(Rejected::new(error.in_op(PeerCopy::<T>::NAME, PeerCopy::<T>::LIBRARY), (target,)));
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
