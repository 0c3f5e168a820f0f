//! Device to host.

use crate::core::buffer::In;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::raw::Landed;
use crate::core::op::{Cost, OperandNames, Output, Spans, Verdict, Wire};
use crate::core::rows::Rows;
use crate::device::Device;
use crate::device::tensor::ReadableTensor;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{HostOf, Op, Slices, SlicesMut};
use std::marker::PhantomData;

/// How a download converts the elements into its result.
pub(crate) trait Form<T: Element>: Send + Sync + 'static {
    /// The result.
    type Output: Output<Writes = ()>;
    /// Whether the result can be made from `len` elements.
    fn check(&self, len: usize) -> Result<()>;
    /// The host part of the result.
    fn host(&self, landed: Landed<T>) -> <Self::Output as Output>::Host;
}

/// The elements, one after the other.
pub(super) struct Flat;

impl<T: Element> Form<T> for Flat {
    type Output = Vec<T>;
    fn check(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn host(&self, landed: Landed<T>) -> Landed<T> {
        landed
    }
}

/// Copies a buffer into host memory that the library owns.
pub(super) struct Download<T, F> {
    /// In the process that waits for the result. `None` in a worker, which only delivers the elements.
    form: Option<F>,
    /// Elements that arrive.
    len: usize,
    /// On a GPU of this process: the elements are rows of the operand, with gaps between them.
    rows: Option<Rows>,
    /// Pinned memory for all of it, on a GPU.
    #[cfg(feature = "cuda")]
    reserved: crate::core::sync::Mutex<Option<crate::engines::cuda::Reserved>>,
    /// Shared memory for all of it, on the way to a worker.
    #[cfg(target_os = "linux")]
    block: crate::core::sync::Mutex<Option<crate::core::arena::Block>>,
    /// The same, in the worker.
    #[cfg(target_os = "linux")]
    lent: Option<crate::core::arena::Lent>,
    _type: PhantomData<T>,
}

impl<T: Element, F: Form<T>> Op for Download<T, F> {
    const NAME: &'static str = "download";
    const OPERANDS: OperandNames = (&["source"], &[]);
    const LIBRARY: &'static str = "copy";
    type Reads = (T,);
    type Output = F::Output;
    type Raw = Landed<T>;

    fn check(&self, _: &Spans<(T,)>, (): &Spans<()>) -> Result<()> {
        self.form.as_ref().map_or(Ok(()), |form| form.check(self.len))
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: (self.len * size_of::<T>()) as u64 }
    }

    fn capturable(&self) -> Result<(), &'static str> {
        Err("a recording cannot download; declare the buffer with `Recorder::output`, and download it after the replay")
    }

    fn host(&self, (source,): Slices<'_, Self>, (): SlicesMut<'_, Self>) -> Result<Landed<T>> {
        #[cfg(target_os = "linux")]
        if let Some(lent) = &self.lent {
            lent.fill(bytemuck::cast_slice(source));
            return Ok(Vec::new().into());
        }
        Ok(crate::core::op::raw::copied(source)?.into())
    }

    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        #[cfg(feature = "cuda")]
        {
            let (source,) = *queue.reads();
            if let Some(reserved) = self.reserved.lock().take() {
                // SAFETY: an operand, and `reserved` has as many bytes, or as many as its rows.
                return unsafe { queue.copy_to_staging(source.address(), self.rows, reserved) };
            }
            #[cfg(target_os = "linux")]
            if let Some(lent) = &self.lent {
                // SAFETY: an operand, and `lent` has as many bytes. The GPU can access them, so no staging is needed.
                return unsafe { queue.copy_to_lent(source.address(), lent) };
            }
            Err(crate::core::error::Error::library("internal error: the download has no staging memory"))
        }
        #[cfg(not(feature = "cuda"))]
        {
            let _ = queue;
            Err(crate::core::error::Error::unsupported("this build has no CUDA engine"))
        }
    }

    #[cfg(target_os = "linux")]
    fn wire() -> Option<Wire<Self>> {
        Some(Wire {
            encode: |op, out| {
                out.block = op.block.lock().take();
                out.value(&op.len)
            },
            decode: |incoming| {
                let len: usize = incoming.value()?;
                let bytes = len.checked_mul(size_of::<T>());
                if incoming.lent.as_ref().is_some_and(|lent| Some(lent.len()) != bytes) {
                    return Err(Error::library("the download's length differs from that of its shared memory"));
                }
                #[cfg(feature = "cuda")]
                let reserved = match (incoming.epoch.engine.as_cuda(), &incoming.lent, bytes) {
                    (Some(engine), Some(lent), _) if engine.reaches(incoming.epoch, lent)? => None,
                    (Some(engine), _, Some(bytes)) => Some(engine.reserve(incoming.epoch, bytes)?),
                    _ => None,
                };
                Ok(Download {
                    form: None,
                    len,
                    rows: None,
                    #[cfg(feature = "cuda")]
                    reserved: crate::core::sync::Mutex::new(reserved),
                    block: crate::core::sync::Mutex::default(),
                    lent: incoming.lent,
                    _type: PhantomData,
                })
            },
        })
    }

    fn finish(&self, landed: Landed<T>) -> Result<HostOf<Self>> {
        match &self.form {
            Some(form) => Ok(form.host(landed)),
            None => Err(Error::library("internal error: a worker process tried to finish a download")),
        }
    }
}

/// Results on the host.
impl Device {
    /// Copies a tensor, a buffer or a part of one to the host: its elements in order, the last axis the fastest. If they do not lie so
    /// in memory, the device brings them into that order first, in memory of its own ([`contiguous`](Self::contiguous)). Only rows of at
    /// least 256 bytes with gaps between them go from a GPU of this process as they lie: 16 MiB in 308 us, beside 330 us (on an H200).
    ///
    /// The result is a new `Vec`; [`await_result_into`](PendingDispatch::await_result_into) fills a slice instead. It
    /// has the contents after all operations submitted before this call; operations submitted later do
    /// not affect it.
    ///
    /// # Errors
    /// A stale buffer, or one of another device. On CUDA [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the
    /// staging limit is too small: all of the staging memory is reserved before the first byte is copied. This call
    /// waits for staging memory that other transfers in flight use, but not for results that the program has not
    /// fetched.
    pub fn download<'a, T: Element>(
        &self,
        source: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<Vec<T>, Verdict>> {
        let source = source.into();
        if source.layout().is_row_major() {
            return self.download_as(source.operand()?.0, None, Flat);
        }
        #[cfg(feature = "cuda")]
        if source.buffer().region.epoch.engine.as_cuda().is_some()
            && let Some(rows) = crate::device::tensor::rows_of(source.layout(), size_of::<T>())
        {
            let rows = (source.layout().len(), rows);
            return self.download_as(source.operand()?.0, Some(rows), Flat);
        }
        let dense = self.copied(&source)?;
        self.download_as(dense.buffer().as_in(), None, Flat)
    }

    /// As [`download`](Self::download), with the result in another form; of rows of the source, the number of elements and the rows.
    pub(crate) fn download_as<T: Element, F: Form<T>>(
        &self,
        source: In<'_, T>,
        rows: Option<(usize, Rows)>,
        form: F,
    ) -> Result<PendingDispatch<F::Output, Verdict>> {
        let len = rows.map_or(source.len(), |(len, _)| len);
        #[cfg(any(feature = "cuda", target_os = "linux"))]
        let epoch = &source.region.epoch;
        // Reserves nothing for a download that the dispatch will refuse.
        #[cfg(any(feature = "cuda", target_os = "linux"))]
        let wanted = epoch.device == self.inner().id && form.check(len).is_ok();
        #[cfg(any(feature = "cuda", target_os = "linux"))]
        let refused = |e: Error| self.refusal(epoch, e.in_op(Download::<T, F>::NAME, Download::<T, F>::LIBRARY));
        let op = Download {
            len,
            rows: rows.map(|(_, rows)| rows),
            #[cfg(feature = "cuda")]
            reserved: crate::core::sync::Mutex::new(match wanted {
                true => self.reserve(source, len).map_err(refused)?,
                false => None,
            }),
            #[cfg(target_os = "linux")]
            block: crate::core::sync::Mutex::new(match epoch.engine.as_worker() {
                Some(engine) if wanted => Some(engine.block(epoch, len * size_of::<T>()).map_err(refused)?),
                _ => None,
            }),
            #[cfg(target_os = "linux")]
            lent: None,
            form: Some(form),
            _type: PhantomData,
        };
        let pending = self.dispatch(op, (source,), ())?;
        let bytes = (len * size_of::<T>()) as u64;
        self.inner().counters.bytes_down.fetch_add(bytes, crate::core::sync::Ordering::Relaxed);
        Ok(pending)
    }

    /// Pinned memory for a download, in the epoch that the source belongs to.
    #[cfg(feature = "cuda")]
    fn reserve<T: Element>(&self, source: In<'_, T>, len: usize) -> Result<Option<crate::engines::cuda::Reserved>> {
        let epoch = &source.region.epoch;
        let bytes = len * size_of::<T>();
        epoch.engine.as_cuda().map(|engine| engine.reserve(epoch, bytes)).transpose()
    }
}
