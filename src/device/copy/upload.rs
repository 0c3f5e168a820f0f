//! Host to device.

use super::loan::{Lender, Loan};
use super::{HostData, Uploadable};
use crate::core::buffer::DeviceBuffer;
use crate::core::device_info::DeviceKind;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::{Cost, OperandNames, Spans, Wire};
use crate::core::parallel;
use crate::core::rows::Rows;
use crate::core::sync::{Arc, Mutex};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::engine::Engine;
use crate::device::tensor::{Part, Tensor, WritableTensor};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};
use serde::{Deserialize, Serialize};

const TAKEN: &str = "an upload consumes its data, so it cannot be replayed; upload before the recording, and pass the \
                     buffer to the recording or to its replays";

/// Bytes of the longest row that the driver's pitched copy is for: a few long rows it copies slowly. At most a piece of a transfer.
#[cfg(feature = "cuda")]
const LONGEST_ROW: usize = 512 << 10;

/// Writes host data into a buffer.
pub(super) struct Upload<T: Element> {
    /// Taken out by the code that performs the copy, so that it is freed when the copy is done.
    data: Mutex<Payload<T>>,
    len: usize,
    piece: Piece,
    /// On a GPU of this process: the elements become rows of the target, with gaps between them.
    rows: Option<Rows>,
}

/// Which part of a transfer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Piece {
    /// All of it; or a piece of a transfer into a narrowed window, which does not clear a failure of the rest of the
    /// buffer.
    Alone,
    /// The first of several pieces that overwrite all of a buffer.
    First,
    /// A later one of these pieces. It fails if an earlier piece has failed, so the completion of the last piece stands
    /// for all.
    Later,
}

pub(super) enum Payload<T> {
    Gone,
    Owned(Vec<T>),
    /// The caller's slice, until the upload call returns.
    Borrowed(Arc<Mutex<Loan<T>>>),
    #[cfg(feature = "cuda")]
    Staged(crate::engines::cuda::Staging),
    /// Shared memory on its way to a worker.
    #[cfg(target_os = "linux")]
    Shared(crate::core::arena::Block),
    /// The same, in the worker.
    #[cfg(target_os = "linux")]
    Lent(crate::core::arena::Lent),
}

impl<T: Element> Op for Upload<T> {
    const NAME: &'static str = "upload";
    const OPERANDS: OperandNames = (&[], &["target"]);
    const LIBRARY: &'static str = "copy";
    type Reads = ();
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, _: &Spans<()>, (target,): &Spans<(T,)>) -> Result<()> {
        let reached = self.rows.map_or(self.len, |rows| rows.reach(self.len * size_of::<T>()) / size_of::<T>());
        super::check_target(target.len(), reached, "uploaded")
    }

    fn overwrites(&self, _: &Spans<(T,)>) -> bool {
        self.piece != Piece::Later && self.rows.is_none()
    }

    fn begins_anew(&self) -> bool {
        self.piece == Piece::First
    }

    fn is_prompt(&self) -> bool {
        matches!(&*self.data.lock(), Payload::Borrowed(_))
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: (self.len * size_of::<T>()) as u64 }
    }

    fn capturable(&self) -> Result<(), &'static str> {
        Err(TAKEN)
    }

    fn host(&self, _: Slices<'_, Self>, (target,): SlicesMut<'_, Self>) -> Result<()> {
        match std::mem::replace(&mut *self.data.lock(), Payload::Gone) {
            Payload::Owned(data) => parallel::copy_slice(&data, target),
            Payload::Borrowed(loan) => loan.lock().copy_to(target)?,
            Payload::Gone => {}
            #[cfg(target_os = "linux")]
            Payload::Lent(lent) => {
                let target: &mut [u8] = bytemuck::cast_slice_mut(target);
                let data = Some(lent.bytes()).filter(|data| data.len() == target.len());
                parallel::copy_slice(
                    data.ok_or_else(|| {
                        Error::library("the size of the shared data differs from the size of the target")
                    })?,
                    target,
                );
            }
            #[cfg(any(feature = "cuda", target_os = "linux"))]
            _ => return Err(Error::library("internal error: staged data was given to a host device")),
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let (target,) = *queue.writes();
        match std::mem::replace(&mut *self.data.lock(), Payload::Gone) {
            // SAFETY: an operand, which was allocated for the staged data, or whose length was compared with what that reaches.
            Payload::Staged(staging) => unsafe { queue.copy_from_staging(target.address(), self.rows, staging) },
            #[cfg(target_os = "linux")]
            // SAFETY: as above; the GPU can access the lent memory, otherwise it would have been staged.
            Payload::Lent(lent) => unsafe { queue.copy_from_lent(target.address(), &lent) },
            Payload::Gone => Ok(()),
            _ => Err(Error::library("internal error: host data was not staged")),
        }
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no CUDA engine"))
    }

    #[cfg(target_os = "linux")]
    fn wire() -> Option<Wire<Self>> {
        Some(Wire {
            encode: |op, out| {
                if let Payload::Shared(block) = std::mem::replace(&mut *op.data.lock(), Payload::Gone) {
                    out.block = Some(block);
                }
                out.value(&(op.len, op.piece))
            },
            decode: |incoming| {
                let (len, piece): (usize, Piece) = incoming.value()?;
                let lent = incoming.lent.ok_or_else(|| Error::library("the upload has no data"))?;
                if Some(lent.len()) != len.checked_mul(size_of::<T>()) {
                    return Err(Error::library("the upload's length differs from that of its data"));
                }
                #[cfg(feature = "cuda")]
                if let Some(engine) = incoming.epoch.engine.as_cuda()
                    && !engine.reaches(incoming.epoch, &lent)?
                {
                    let data = Payload::Staged(engine.stage(incoming.epoch, lent.bytes())?);
                    return Ok(Upload { data: Mutex::new(data), len, piece, rows: None });
                }
                Ok(Upload { data: Mutex::new(Payload::Lent(lent)), len, piece, rows: None })
            },
        })
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Data from the host.
impl Device {
    /// Copies host data into a new buffer.
    ///
    /// A `Vec` is moved in. A slice is copied before this returns, so the caller may change it at once.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the device's own error when it cannot be used.
    pub fn upload<'a, T: Element>(&self, data: impl Uploadable<'a, T>) -> Result<PendingDispatch<DeviceBuffer<T>>> {
        let data = data.into();
        let target = self.unwritten(data.as_slice().len())?;
        Ok(self.upload_into(data, target)?)
    }

    /// Copies host data into a buffer of the same length, or into a window of one ([`DeviceBuffer::narrow`]).
    ///
    /// Large data is copied in pieces, except to a host device in this process. A [bound](crate::op::InFlight) on work in
    /// flight admits or refuses all pieces together. A later piece may still fail, because there is no staging memory
    /// or because the device is closed for a rebuild. Then the buffer is returned without valid contents: reading it
    /// fails with [`Error::Upstream`] until all of it is overwritten.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the lengths differ; [`Error::Busy`]; [`Error::OutOfMemory`] when there is no
    /// staging memory; the device's own error when it cannot be used. The buffer is returned.
    pub fn upload_into<'a, T: Element>(
        &self,
        data: impl Uploadable<'a, T>,
        target: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let data = data.into();
        let len = data.as_slice().len();
        let bytes = size_of_val(data.as_slice()) as u64;
        let pending = self.upload_any(data, len, target)?;
        self.inner().counters.bytes_up.fetch_add(bytes, crate::core::sync::Ordering::Relaxed);
        Ok(pending)
    }

    /// Copies host data into a tensor, or into a [`part`](Tensor::part) of one: its elements in order, the last axis the fastest.
    ///
    /// If the target's elements do not lie so without gaps, the data goes to memory of the device's own first, and from there into the
    /// target by a copy on the device ([`copy`](Self::copy)): that takes a small part of the time that the transfer takes. Only rows of
    /// 256 bytes to 512 KiB with gaps between them are written by a GPU of this process as they lie.
    ///
    /// # Errors
    /// As [`upload_into`](Self::upload_into) and [`copy`](Self::copy). The target is returned.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.zeros::<i32>([2, 3])?;
    /// let x = device.upload_to([7, 8], x.part(|all| all.index(1, 2))?)?; // the last column
    /// assert_eq!(device.show(&x)?.to_string(), "[[0 0 7]\n [0 0 8]]");
    /// # Ok(()) }
    /// ```
    pub fn upload_to<'a, T: Element>(
        &self,
        data: impl Uploadable<'a, T>,
        target: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (data, target) = (data.into(), target.into());
        if target.layout().is_row_major() {
            let (buffer, whole) = target.window();
            return whole.submitted(self.upload_into(data, buffer));
        }
        let refused = |error: Error, target: Part<T>| {
            let error = error.in_op(Upload::<T>::NAME, Upload::<T>::LIBRARY);
            Err(Rejected::new(error, (target.into_tensor(),)))
        };
        let checked = super::check_target(target.layout().len(), data.as_slice().len(), "uploaded")
            .and_then(|()| target.layout().check_distinct("target"));
        #[cfg(feature = "cuda")]
        if checked.is_ok()
            && target.whole().buffer().region.epoch.device == self.inner().id
            && target.whole().buffer().region.epoch.engine.as_cuda().is_some()
            && let Some(rows) = crate::device::tensor::rows_of(target.layout(), size_of::<T>())
            && rows.row <= LONGEST_ROW
        {
            let bytes = size_of_val(data.as_slice()) as u64;
            let (buffer, whole) = target.window();
            let pending = whole.submitted(self.upload_staged(data.as_slice(), Some(rows), buffer))?;
            self.inner().counters.bytes_up.fetch_add(bytes, crate::core::sync::Ordering::Relaxed);
            return Ok(pending);
        }
        match checked.and_then(|()| self.tensor(target.layout().shape(), data)) {
            Ok(dense) => self.copy(dense.view(), target),
            Err(error) => refused(error, target),
        }
    }

    fn upload_any<T: Element>(
        &self,
        data: HostData<'_, T>,
        len: usize,
        target: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        #[cfg(any(feature = "cuda", target_os = "linux"))]
        if self.kind() != DeviceKind::Host || self.is_isolated() {
            return self.upload_staged(data.as_slice(), None, target);
        }
        let upload = |data| Upload { data: Mutex::new(data), len, piece: Piece::Alone, rows: None };
        match data {
            HostData::Owned(data) => self.dispatch(upload(Payload::Owned(data)), (), (target,)),
            HostData::Borrowed(data) => {
                // If nothing is in flight on the buffer, the slice is copied directly. Otherwise the work gets a copy
                // of it later.
                let lender = Lender::new(data);
                let pending = self.dispatch(upload(Payload::Borrowed(lender.loan())), (), (target,))?;
                lender.end();
                Ok(pending)
            }
        }
    }

    /// Copies in pieces through staging memory, which is pinned or shared with a worker: while the device copies one
    /// piece, this thread and its helpers fill the next.
    /// Each piece is a dispatch of its own on a window of the target, so ordering and failures work as for any
    /// dispatch. A piece follows the one before it, so the completion of the last piece stands for all. The bound on
    /// work in flight is checked for the first piece only.
    #[cfg(any(feature = "cuda", target_os = "linux"))]
    fn upload_staged<T: Element>(
        &self,
        data: &[T],
        rows: Option<Rows>,
        target: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let (offset, total) = (target.offset, target.len());
        let restore = move |(mut window,): (DeviceBuffer<T>,)| {
            (window.offset, window.len) = (offset, total);
            (window,)
        };
        let size = size_of::<T>();
        // Elements of the target that so many elements of the data reach.
        let reach = |len: usize| rows.map_or(len, |rows| rows.reach(len * size) / size);
        if total != reach(data.len()) {
            let (data, len, piece) = (Mutex::new(Payload::Gone), data.len(), Piece::Alone);
            return self.dispatch(Upload { data, len, piece, rows }, (), (target,));
        }
        let total = data.len();
        let whole = rows.is_none() && target.len() * size_of::<T>() == target.region.window.len();
        let bytes = size_of_val(data);
        let piece = match Engine::for_epoch(&self.epoch()) {
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.piece_of(bytes),
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => engine.piece_of(bytes),
            #[cfg(feature = "host")]
            Engine::Host(_) => bytes,
            Engine::Tape(_) => bytes,
        };
        let unit = rows.map_or(size, |rows| rows.row);
        let most = (piece / unit).max(1) * (unit / size);
        let mut window = target;
        let mut done = 0;
        let mut going_on = None;
        loop {
            let len = most.min(total - done);
            let part = data.get(done..done + len).unwrap_or_default();
            let before = rows.map_or(done, |rows| done * size / rows.row * rows.pitch / size);
            (window.offset, window.len) = (offset + before, reach(len));
            let first = done == 0;
            let piece = match first {
                _ if len == total || !whole => Piece::Alone,
                true => Piece::First,
                false => Piece::Later,
            };
            let device = if first { self } else { going_on.get_or_insert_with(|| self.going_on()) };
            done += len;
            let epoch = self.epoch();
            let staged = match Engine::for_epoch(&epoch) {
                #[cfg(feature = "cuda")]
                Engine::Cuda(engine) => engine.stage(&epoch, bytemuck::cast_slice(part)).map(Payload::Staged),
                #[cfg(target_os = "linux")]
                Engine::Worker(engine) => engine.stage(&epoch, bytemuck::cast_slice(part)).map(Payload::Shared),
                #[cfg(feature = "host")]
                Engine::Host(_) => Err(Error::library("internal error: the data was staged for a host device")),
                Engine::Tape(_) => Err(crate::engines::tape::not_recordable(Upload::<T>::NAME, TAKEN)),
            };
            let pending = match staged {
                Ok(staged) => device.dispatch(Upload { data: Mutex::new(staged), len, piece, rows }, (), (window,)),
                Err(error) => {
                    let error = self.refusal(&epoch, error.in_op(Upload::<T>::NAME, Upload::<T>::LIBRARY));
                    Err(Rejected::new(error, (window,)))
                }
            };
            match pending {
                Ok(pending) if done == total => {
                    return Ok(pending.map_buffers(restore));
                }
                Ok(pending) => window = pending.into_output(),
                Err(rejected) => {
                    let rejected = rejected.map(restore);
                    // Some of the data may have arrived, and more is in flight.
                    if !first && let Some((window,)) = &rejected.back {
                        window.region.init.fail(&rejected.error);
                    }
                    return Err(rejected);
                }
            }
        }
    }
}
