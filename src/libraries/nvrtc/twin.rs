//! A kernel's twin on the CPU: a Rust function called once for each thread of the grid.

use super::kind::Kind;
use super::packed::{PackedArguments, Slot};
use super::shared_slice::{Fault, SharedSlice, Values};
use super::signature::Signature;
#[cfg(target_os = "linux")]
use super::static_twin::Function;
use crate::core::buffer::{AnySlice, AnySliceMut};
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::launch::{Dim3, LaunchConfig};
use bytemuck::Pod;
use rayon::prelude::*;
use smallvec::SmallVec;
use std::marker::PhantomData;

/// The index of a thread in the grid: CUDA's `blockIdx`, `threadIdx`, `gridDim` and `blockDim`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadIndex {
    /// The block's index in the grid: `blockIdx`.
    pub block: Dim3,
    /// The thread's index in its block: `threadIdx`.
    pub thread: Dim3,
    /// The grid's extents in blocks: `gridDim`.
    pub grid: Dim3,
    /// The block's extents in threads: `blockDim`.
    pub block_dim: Dim3,
}

impl ThreadIndex {
    /// `blockIdx.x * blockDim.x + threadIdx.x`.
    #[inline]
    pub fn x(&self) -> usize {
        self.block.x as usize * self.block_dim.x as usize + self.thread.x as usize
    }

    /// `blockIdx.y * blockDim.y + threadIdx.y`.
    #[inline]
    pub fn y(&self) -> usize {
        self.block.y as usize * self.block_dim.y as usize + self.thread.y as usize
    }

    /// `blockIdx.z * blockDim.z + threadIdx.z`.
    #[inline]
    pub fn z(&self) -> usize {
        self.block.z as usize * self.block_dim.z as usize + self.thread.z as usize
    }
}

/// Runs the threads of a range of blocks: the first, and their number. `None` if the arguments are not those of the
/// twin.
pub(super) type Threads = dyn Fn(&Run<'_>, &LaunchConfig, u64, u64) -> Option<()> + Send + Sync;

/// A twin without the types of its parameters.
pub(crate) struct Twin {
    pub(super) kinds: &'static [Kind],
    pub(super) threads: Box<Threads>,
    /// The twin as a function that any process of this executable has, if it is one.
    #[cfg(target_os = "linux")]
    pub(super) function: Option<Function>,
}

/// A kernel's twin as a plain function; a closure that captures nothing is one.
pub type TwinFn<S> = for<'t> fn(ThreadIndex, <S as Signature>::Views<'t>);

impl Twin {
    pub(super) fn new<S: Signature, F>(f: F) -> Self
    where
        F: for<'t> Fn(ThreadIndex, S::Views<'t>) + Send + Sync + 'static,
    {
        let threads = move |run: &Run<'_>, config: &LaunchConfig, first: u64, count: u64| {
            threads::<S, F>(&f, run, config, first, count)
        };
        Twin {
            kinds: S::KINDS,
            threads: Box::new(threads),
            #[cfg(target_os = "linux")]
            function: None,
        }
    }

    /// A twin that a worker process has too.
    pub(super) fn of_fn<S: Signature>(f: TwinFn<S>) -> Self {
        Twin {
            #[cfg(target_os = "linux")]
            function: Some(Function::new::<S>(f)),
            ..Self::new::<S, _>(f)
        }
    }
}

/// Runs the threads of some blocks of a twin.
pub(super) fn threads<S: Signature, F>(
    f: &F,
    run: &Run<'_>,
    config: &LaunchConfig,
    first: u64,
    count: u64,
) -> Option<()>
where
    F: for<'t> Fn(ThreadIndex, S::Views<'t>),
{
    let views = S::views(shorten(run))?;
    (first..first.saturating_add(count)).for_each(|block| each_thread(config, block, |at| f(at, views)));
    Some(())
}

/// Runs every thread of the grid. Helpers of the pool take several blocks at a time; no memory is allocated for a
/// thread or a block.
pub(super) fn run(
    threads: &Threads,
    name: &str,
    config: &LaunchConfig,
    packed: &PackedArguments,
    reads: &[AnySlice<'_>],
    writes: SmallVec<[AnySliceMut<'_>; 4]>,
) -> Result<()> {
    /// Number of threads in one piece of work: enough to be worth handing to a helper.
    const PIECE: u64 = 4096;
    let fault = Fault::default();
    let writes: SmallVec<[Area<'_>; 4]> = writes.into_iter().map(Area::from_slice).collect();
    let run = Run { packed, reads, writes: &writes, fault: &fault };
    // At most 2^31 * 65535^2 blocks (checked), so neither product overflows.
    let blocks = config.grid().count() as u64;
    let per_piece = (PIECE / (config.block().count() as u64).max(1)).max(1);
    let pieces = blocks.div_ceil(per_piece);
    let piece = |piece: u64| {
        let first = piece * per_piece;
        // After an access past the end the results do not matter.
        let goes_on = !fault.happened();
        let ran = !goes_on || threads(&run, config, first, per_piece.min(blocks - first)).is_some();
        (ran && goes_on).then_some(())
    };
    let ran = if pieces == 1 { piece(0) } else { (0..pieces).into_par_iter().try_for_each(piece) };
    match fault.take() {
        Some(outside) => Err(Error::library(format!("the twin of `{name}` {outside}"))),
        None if ran.is_none() => Err(Error::library(format!("the arguments do not match the twin of `{name}`"))),
        None => Ok(()),
    }
}

/// Borrows what a run holds for as long as the run itself is borrowed.
fn shorten<'s>(run: &'s Run<'_>) -> &'s Run<'s> {
    run
}

/// Calls `f` for every thread of block number `block`; x varies fastest.
fn each_thread(config: &LaunchConfig, block: u64, mut f: impl FnMut(ThreadIndex)) {
    let (grid, block_dim) = (config.grid(), config.block());
    let (x, y) = (u64::from(grid.x).max(1), u64::from(grid.y).max(1));
    let block = Dim3::new((block % x) as u32, (block / x % y) as u32, (block / x / y) as u32);
    for z in 0..block_dim.z {
        for y in 0..block_dim.y {
            for x in 0..block_dim.x {
                f(ThreadIndex { block, thread: Dim3::new(x, y, z), grid, block_dim });
            }
        }
    }
}

/// A written buffer as raw parts, so that the threads can share it.
struct Area<'a> {
    data: *mut u8,
    len: usize,
    dtype: DType,
    _data: PhantomData<&'a mut [u8]>,
}

// SAFETY: it stands for an exclusive slice, whose memory is accessed through `SharedSlice` alone.
unsafe impl Send for Area<'_> {}
// SAFETY: as above.
unsafe impl Sync for Area<'_> {}

impl<'a> Area<'a> {
    fn from_slice(slice: AnySliceMut<'a>) -> Self {
        let dtype = slice.dtype();
        let (data, len) = slice.into_raw();
        Area { data, len, dtype, _data: PhantomData }
    }
}

/// What the threads of one launch share.
#[doc(hidden)]
pub struct Run<'t> {
    packed: &'t PackedArguments,
    reads: &'t [AnySlice<'t>],
    writes: &'t [Area<'t>],
    fault: &'t Fault,
}

impl<'t> Run<'t> {
    pub(super) fn values<T: Element>(&'t self, index: usize) -> Option<Values<'t, T>> {
        let Slot::Read(_, place) = self.packed.slots.get(index)? else { return None };
        let data = self.reads.get(*place as usize)?.downcast()?;
        Some(Values::new(data, index as u32, self.fault))
    }

    pub(super) fn shared_slice<T: Element>(&'t self, index: usize) -> Option<SharedSlice<'t, T>> {
        let Slot::Write(_, place, _) = self.packed.slots.get(index)? else { return None };
        let area = self.writes.get(*place as usize).filter(|area| area.dtype == T::DTYPE)?;
        // SAFETY: the area stands for an exclusive slice of `T`s that lives for 't, and only the views of this launch
        // use it.
        Some(unsafe { SharedSlice::new(area.data.cast(), area.len, index as u32, self.fault) })
    }

    pub(super) fn value<S: Pod>(&self, index: usize) -> Option<S> {
        self.packed.read_value(index)
    }
}
