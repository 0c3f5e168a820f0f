//! What the device returns to the host.

use crate::core::buffer::{large_pages, recycle, recycled};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::harsh;
use crate::core::op::{AnyVec, Sure, Verdict};
use crate::core::parallel;

mod sealed {
    pub trait Sealed {}
}

/// What an op returns to the host besides its buffers: nothing, a scalar, a few scalars, or [`Landed`] data.
///
/// On CUDA it lands in a small pinned slot (or in pinned staging), written by the device in stream order. Sealed,
/// because every bit pattern must be a valid value.
pub trait Raw: Sized + Send + 'static + sealed::Sealed {
    /// Whether a dispatch then has something left to report: [`Sure`] for `()`, [`Verdict`] for all else.
    type Left;
    /// Bytes of the pinned slot, at most 64.
    #[doc(hidden)]
    const BYTES: usize;
    /// Whether it comes from a worker as bulk data, in shared memory.
    #[doc(hidden)]
    const BULK: bool = false;
    /// Reads it from where it landed.
    #[doc(hidden)]
    fn land(landing: Landing) -> Result<Self>;
    /// Puts it where [`land`](Self::land) finds it, on the host engine.
    #[doc(hidden)]
    fn leave(self) -> Landing;
}

/// Where another process expects bulk data, if it has registered a target.
#[cfg(target_os = "linux")]
pub(crate) struct RemoteTarget {
    pub(crate) lent: Option<crate::core::arena::Lent>,
}

/// What is sent to another process.
#[cfg(target_os = "linux")]
pub(crate) enum RemoteResult {
    /// The bytes of its slot. Bulk data is already in the registered target.
    Slot([u8; 64]),
    /// Bulk data for which no target was registered.
    Bulk(Vec<u8>),
}

/// Where raw results are when the device is done.
#[doc(hidden)]
pub enum Landing {
    /// Nothing is left for the host.
    Nothing,
    /// The bytes of the pinned slot.
    Slot([u8; 64]),
    /// A vector of this process.
    Owned(AnyVec),
    /// Memory shared with a worker.
    #[cfg(target_os = "linux")]
    Shared(crate::core::arena::Block),
    /// Memory of the engine, in which the data may still arrive.
    #[cfg(any(feature = "cuda", target_os = "linux"))]
    Arriving(Arriving),
    /// Bytes from another process.
    #[cfg(target_os = "linux")]
    Bulk(Vec<u8>),
}

/// Data in memory of the engine. The engine may hold it too, until all of it has arrived.
#[cfg(any(feature = "cuda", target_os = "linux"))]
type Arriving = crate::core::sync::Arc<dyn crate::core::op::Bulk>;

impl Landing {
    /// Passes it to another process, which may already have the data.
    #[cfg(target_os = "linux")]
    pub(crate) fn into_remote(self, to: RemoteTarget) -> Result<RemoteResult> {
        let data = match self {
            Landing::Nothing => return Ok(RemoteResult::Slot([0; 64])),
            Landing::Slot(cell) => return Ok(RemoteResult::Slot(cell)),
            Landing::Owned(data) => data,
            other => AnyVec::new(Landed::<u8>::land(other)?.into_vec()?),
        };
        let Some(lent) = to.lent else { return Ok(RemoteResult::Bulk(data.bytes().to_vec())) };
        // If the op's half has written to the target itself, nothing is left to copy.
        if !data.bytes().is_empty() {
            lent.fill(data.bytes());
        }
        Ok(RemoteResult::Slot([0; 64]))
    }
}

fn misplaced() -> Error {
    Error::library("the operation did not store its result where `Op::Raw` requires")
}

/// The error if a block of shared memory could not be read.
#[cfg(target_os = "linux")]
fn unreadable(block: &crate::core::arena::Block) -> Error {
    if block.is_forked() { Error::forked() } else { misplaced() }
}

impl sealed::Sealed for () {}
impl Raw for () {
    type Left = Sure;
    const BYTES: usize = 0;
    fn land(_: Landing) -> Result<Self> {
        Ok(())
    }
    fn leave(self) -> Landing {
        Landing::Nothing
    }
}

impl<T: Element> sealed::Sealed for T {}
impl<T: Element> Raw for T {
    type Left = Verdict;
    const BYTES: usize = size_of::<T>();
    fn land(landing: Landing) -> Result<Self> {
        match landing {
            Landing::Slot(bytes) => bytes.get(..size_of::<T>()).map(bytemuck::pod_read_unaligned).ok_or_else(misplaced),
            _ => Err(misplaced()),
        }
    }
    fn leave(self) -> Landing {
        let mut slot = [0; 64];
        // No element is larger.
        slot.iter_mut().zip(bytemuck::bytes_of(&self)).for_each(|(to, from)| *to = *from);
        Landing::Slot(slot)
    }
}

/// An index into a vector as BLAS returns it: counted from 1, with 0 for none. As an `Option<usize>` it counts from 0.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Index(i64);

impl sealed::Sealed for Index {}
impl Raw for Index {
    type Left = Verdict;
    const BYTES: usize = size_of::<i64>();
    fn land(landing: Landing) -> Result<Self> {
        i64::land(landing).map(Index)
    }
    fn leave(self) -> Landing {
        self.0.leave()
    }
}
impl From<i64> for Index {
    fn from(place: i64) -> Self {
        Index(place)
    }
}
impl From<Index> for Option<usize> {
    fn from(place: Index) -> Self {
        usize::try_from(place.0).ok()?.checked_sub(1)
    }
}

/// The raw results of the steps of a replay, one slot of 64 bytes after the other.
#[derive(Debug, Default)]
pub(crate) struct Cells(pub(crate) smallvec::SmallVec<[u8; 64]>);

impl From<Vec<u8>> for Cells {
    fn from(cells: Vec<u8>) -> Self {
        Cells(cells.into())
    }
}

impl sealed::Sealed for Cells {}
impl Raw for Cells {
    type Left = Verdict;
    const BYTES: usize = 0;
    fn land(landing: Landing) -> Result<Self> {
        match landing {
            Landing::Nothing => Ok(Cells::default()),
            Landing::Slot(cell) => Ok(Cells(cell.into())),
            other => Landed::land(other)?.into_vec().map(Cells::from),
        }
    }
    fn leave(self) -> Landing {
        match self.0.first_chunk::<64>() {
            Some(cell) if self.0.len() == 64 => Landing::Slot(*cell),
            None => Landing::Nothing,
            _ => Landing::Owned(AnyVec::new(self.0.into_vec())),
        }
    }
}

/// The host data of a download: owned, or still in the pinned or shared memory where it landed.
pub struct Landed<T>(pub(crate) HostCopy<T>);

pub(crate) enum HostCopy<T> {
    Owned(Vec<T>),
    #[cfg(target_os = "linux")]
    Shared(crate::core::arena::Block),
    #[cfg(any(feature = "cuda", target_os = "linux"))]
    Arriving(Arriving),
}

impl<T: Element> sealed::Sealed for Landed<T> {}
impl<T: Element> Raw for Landed<T> {
    type Left = Verdict;
    const BYTES: usize = 0;
    const BULK: bool = true;
    fn land(landing: Landing) -> Result<Self> {
        match landing {
            Landing::Nothing | Landing::Slot(_) => Err(misplaced()),
            Landing::Owned(data) => data.into_vec().map(Landed::from).ok_or_else(misplaced),
            #[cfg(target_os = "linux")]
            Landing::Shared(block) => Ok(Landed(HostCopy::Shared(block))),
            #[cfg(any(feature = "cuda", target_os = "linux"))]
            Landing::Arriving(arriving) => Ok(Landed(HostCopy::Arriving(arriving))),
            #[cfg(target_os = "linux")]
            Landing::Bulk(bytes) if bytes.len().is_multiple_of(size_of::<T>()) => {
                Ok(Landed(HostCopy::Owned(bytemuck::pod_collect_to_vec(&bytes))))
            }
            #[cfg(target_os = "linux")]
            Landing::Bulk(_) => Err(misplaced()),
        }
    }
    fn leave(self) -> Landing {
        match self.0 {
            HostCopy::Owned(data) => Landing::Owned(AnyVec::new(data)),
            #[cfg(target_os = "linux")]
            HostCopy::Shared(block) => Landing::Shared(block),
            #[cfg(any(feature = "cuda", target_os = "linux"))]
            HostCopy::Arriving(arriving) => Landing::Arriving(arriving),
        }
    }
}

impl<T: Element> Landed<T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match &self.0 {
            HostCopy::Owned(data) => data.len(),
            #[cfg(target_os = "linux")]
            HostCopy::Shared(block) => block.len() / size_of::<T>(),
            #[cfg(any(feature = "cuda", target_os = "linux"))]
            HostCopy::Arriving(arriving) => arriving.bytes() / size_of::<T>(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the data into `target`, piece by piece as it arrives.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lengths differ; the device's own error if it died meanwhile.
    pub fn copy_into(self, target: &mut [T]) -> Result<()> {
        if self.len() != target.len() {
            return Err(Error::invalid(
                "target",
                format!("the target has {} elements, but {} elements are downloaded", target.len(), self.len()),
            ));
        }
        match self.0 {
            HostCopy::Owned(data) => {
                parallel::copy_slice(&data, target);
                recycle(data);
            }
            #[cfg(any(feature = "cuda", target_os = "linux"))]
            // SAFETY: the slice is borrowed exclusively and as long as the download: compared above.
            HostCopy::Arriving(arriving) => unsafe { arriving.copy_to(target.as_mut_ptr().cast()) }?,
            #[cfg(target_os = "linux")]
            HostCopy::Shared(block) => {
                // SAFETY: as above.
                let whole = unsafe { block.copy_to(target.as_mut_ptr().cast(), size_of_val(target)) };
                whole.then_some(()).ok_or_else(|| unreadable(&block))?;
            }
        }
        Ok(())
    }

    /// Returns the data as a new vector.
    ///
    /// # Errors
    /// The device's own error if it died before all data had arrived.
    pub fn into_vec(self) -> Result<Vec<T>> {
        match self.0 {
            HostCopy::Owned(data) => Ok(data),
            #[cfg(target_os = "linux")]
            HostCopy::Shared(block) => {
                let bytes = block.len();
                // SAFETY: if it succeeds, `copy_to` has written all `bytes` bytes of the block.
                unsafe { filled(bytes, &|at| block.copy_to(at, bytes).then_some(()).ok_or_else(|| unreadable(&block))) }
            }
            #[cfg(any(feature = "cuda", target_os = "linux"))]
            // SAFETY: `copy_to` writes `bytes()` bytes if it succeeds.
            HostCopy::Arriving(arriving) => unsafe { filled(arriving.bytes(), &|at| arriving.copy_to(at)) },
        }
    }
}

#[cold]
pub(crate) fn no_memory(bytes: usize) -> Error {
    Error::out_of_memory(bytes as u64, [0; 3])
}

/// A copy of `data`.
pub(crate) fn copied<T: Element>(data: &[T]) -> Result<Vec<T>> {
    let bytes = size_of_val(data);
    let fill = |to: *mut u8| {
        // SAFETY: new memory for that many bytes.
        unsafe { parallel::copy(to, data.as_ptr().cast(), bytes) };
        Ok(())
    };
    // SAFETY: `fill` writes all of the bytes.
    unsafe { filled(bytes, &fill) }
}

/// A vector whose first `bytes` bytes are written by `fill`. The memory is not initialised before that, so the threads
/// that copy also touch the pages first.
///
/// # Safety
/// `fill` has written all `bytes` bytes if it returns `Ok`.
pub(crate) unsafe fn filled<T: Element>(bytes: usize, fill: &dyn Fn(*mut u8) -> Result<()>) -> Result<Vec<T>> {
    let len = bytes / size_of::<T>();
    let mut data: Vec<T> = recycled(len).unwrap_or_default();
    if data.capacity() < len {
        if data.try_reserve_exact(len).is_err() {
            return Err(no_memory(bytes));
        }
        large_pages(data.as_mut_ptr().cast::<u8>(), bytes);
    }
    harsh::spoil_spare(&mut data);
    fill(data.as_mut_ptr().cast())?;
    // SAFETY: the capacity holds `len` elements, and by the caller's promise all are written; every bit pattern is
    // valid.
    unsafe { data.set_len(len) };
    Ok(data)
}

impl<T: Element> crate::core::op::Output for Vec<T> {
    type Writes = ();
    type Host = Landed<T>;
    const EAGER: crate::core::op::Internal = crate::core::op::Internal::YES;
    fn join(_: (), host: Landed<T>) -> Result<Self> {
        host.into_vec()
    }
}

impl<T: Element> From<Vec<T>> for Landed<T> {
    fn from(data: Vec<T>) -> Self {
        Landed(HostCopy::Owned(data))
    }
}
