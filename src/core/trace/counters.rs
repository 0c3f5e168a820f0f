//! The counters of a device.

use super::{CompileStats, FlightPlan, FlightRecorder, Sink, Trace};
use crate::core::clock::{Stopwatch, Timing};
use crate::core::error::Error;
use crate::core::order::flow::Flow;
use crate::core::sync::{Arc, AtomicU64, Mutex, Ordering};
use std::collections::BTreeMap;
use std::time::Duration;

/// Counters of one device, over all its generations. Each generation counts its own dispatches, on CUDA for each slot,
/// so that threads on different slots share no cache line.
pub(crate) struct Counters {
    /// Dispatches of generations that are no longer referenced.
    dispatches: AtomicU64,
    /// The other generations: a generation may be referenced long after its end.
    lives: Mutex<Vec<Arc<Flow>>>,
    pub(crate) bytes_up: AtomicU64,
    pub(crate) bytes_down: AtomicU64,
    pub(crate) faults: AtomicU64,
    pub(crate) rebuilds: AtomicU64,
    pub(crate) leaked: AtomicU64,
    pub(crate) forced_waits: AtomicU64,
    pub(crate) operand_copies: AtomicU64,
    /// Orders sent to a worker; and in `bytes_crossed`, the bytes sent to it and received from it.
    pub(crate) orders: AtomicU64,
    pub(crate) bytes_crossed: AtomicU64,
    fault: Mutex<Option<LastFault>>,
    errors: Mutex<BTreeMap<&'static str, u64>>,
    sink: Option<Sink>,
    /// The device's clock and limits; everything that belongs to the device takes them from here.
    pub(crate) timing: &'static Timing,
}

/// The newest fault, and the time until recovery.
struct LastFault {
    cause: String,
    seen: Stopwatch,
    over: Option<Duration>,
}

impl Counters {
    pub(crate) fn new(traces: impl IntoIterator<Item = Arc<dyn Trace>>, timing: &'static Timing) -> Self {
        Self::with_flight(traces, None, timing)
    }

    /// The same, with a flight recorder of the newest operations.
    pub(crate) fn with_flight(
        traces: impl IntoIterator<Item = Arc<dyn Trace>>,
        flight: Option<FlightPlan>,
        timing: &'static Timing,
    ) -> Self {
        Counters {
            dispatches: AtomicU64::new(0),
            lives: Mutex::default(),
            bytes_up: AtomicU64::new(0),
            bytes_down: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            rebuilds: AtomicU64::new(0),
            leaked: AtomicU64::new(0),
            forced_waits: AtomicU64::new(0),
            operand_copies: AtomicU64::new(0),
            orders: AtomicU64::new(0),
            bytes_crossed: AtomicU64::new(0),
            fault: Mutex::default(),
            errors: Mutex::default(),
            sink: Sink::new(traces.into_iter().collect(), flight.map(FlightRecorder::new)),
            timing,
        }
    }

    /// The listeners, if there are any.
    pub(crate) fn trace(&self) -> Option<&Sink> {
        self.sink.as_ref().filter(|sink| sink.is_heard())
    }

    /// Another generation begins.
    pub(crate) fn begin(&self) -> Arc<Flow> {
        let (flow, mut lives) = (Arc::new(Flow::new()), self.lives.lock());
        lives.retain(|life| {
            let held = Arc::strong_count(life) > 1;
            if !held {
                self.carry(life.entered());
            }
            held
        });
        lives.push(flow.clone());
        flow
    }

    /// Adds the dispatches that a generation, or the slots of one, counted.
    pub(crate) fn carry(&self, dispatches: u64) {
        self.dispatches.fetch_add(dispatches, Ordering::Relaxed);
    }

    /// Operations dispatched and not yet complete, in all generations.
    pub(crate) fn in_flight(&self) -> u64 {
        self.lives.lock().iter().map(|life| life.in_flight()).sum()
    }

    pub(crate) fn dispatches(&self) -> u64 {
        let lives = self.lives.lock();
        lives.iter().map(|life| life.entered()).sum::<u64>() + self.dispatches.load(Ordering::Relaxed)
    }

    /// A fault was seen just now.
    #[cold]
    pub(crate) fn faulted(&self, cause: String) {
        self.faults.fetch_add(1, Ordering::Relaxed);
        if let Some(sink) = &self.sink {
            sink.failed(&cause);
        }
        *self.fault.lock() = Some(LastFault { cause, seen: self.timing.clock.start(), over: None });
    }

    /// The next generation was admitted. Returns the time since the fault before it, if there was one.
    #[cold]
    pub(crate) fn recovered(&self) -> Option<Duration> {
        let mut fault = self.fault.lock();
        let fault = fault.as_mut().filter(|fault| fault.over.is_none())?;
        fault.over = Some(fault.seen.elapsed());
        fault.over
    }

    pub(crate) fn last_fault(&self) -> Option<String> {
        self.fault.lock().as_ref().map(|fault| fault.cause.clone())
    }

    pub(crate) fn recovery(&self) -> Option<Duration> {
        self.fault.lock().as_ref()?.over
    }

    #[cold]
    pub(crate) fn count_error(&self, error: &Error) {
        *self.errors.lock().entry(error.kind()).or_default() += 1;
    }

    pub(crate) fn errors(&self) -> BTreeMap<&'static str, u64> {
        self.errors.lock().clone()
    }
}

/// What a device has done and holds, from [`Device::stats`](crate::Device::stats).
///
/// Reading them makes no driver call and does not wait. For an isolated GPU the fields marked (CUDA) come from the
/// worker's last report, which is at most a quarter of a second old unless the worker hangs; they are counted from zero
/// in each generation. The driver's numbers for a GPU's memory pool are in
/// [`MemoryInfo::pool`](crate::MemoryInfo::pool).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Operations submitted, over all generations.
    pub dispatches: u64,
    /// Operations submitted and not known to be complete.
    pub in_flight: u64,
    /// Stream slots with work in flight (CUDA); pool threads (host).
    pub slots_busy: usize,
    /// Stream slots (CUDA); pool threads (host).
    pub slots: usize,
    /// Bytes of live buffers. On the host, buffers of earlier generations count too; on other engines their memory was
    /// freed with their generation.
    pub bytes_used: u64,
    /// The most bytes that buffers ever held.
    pub bytes_peak: u64,
    /// The memory limit.
    pub bytes_limit: u64,
    /// Live allocations.
    pub allocations: u64,
    /// Device memory of pointer tables, in bytes, cached for batches of the same matrices. It counts against the limit,
    /// and is freed when a buffer needs the memory (CUDA).
    pub table_bytes: u64,
    /// Buffers that reused the memory of a dropped one, of the same size and on the same stream, without a driver call;
    /// in this generation (CUDA).
    pub pool_hits: u64,
    /// Buffers allocated from the driver's memory pool, in this generation (CUDA). The driver may have reused memory of
    /// an earlier buffer: it does not report how often, only the size of the pool, in
    /// [`MemoryInfo::pool`](crate::MemoryInfo::pool).
    pub pool_misses: u64,
    /// Bytes copied from host to device.
    pub bytes_up: u64,
    /// Bytes copied from device to host.
    pub bytes_down: u64,
    /// Allocations whose memory is freed when the work in flight is complete (CUDA).
    pub parked: u64,
    /// Allocations and native objects leaked after a fault, because they could not be proved idle.
    pub leaked: u64,
    /// Waits between slots that were enqueued on the device (CUDA); waits that blocked a thread (host).
    pub forced_waits: u64,
    /// Copies that calls made of operands, because what they call cannot read them as they lie: [`matmul`](crate::Device::matmul),
    /// [`download`](crate::Device::download) and the calls of neural networks. The calls of the other libraries' fronts never copy.
    pub operand_copies: u64,
    /// Pinned host memory held for staging, in bytes (CUDA).
    pub pinned_bytes: u64,
    /// Staging requests served from that pool without a driver call (CUDA).
    pub staging_hits: u64,
    /// Events created and kept for reuse (CUDA).
    pub events: u64,
    /// Streams created (CUDA).
    pub streams: u64,
    /// Library handles created (CUDA).
    pub library_handles: u64,
    /// Native objects of libraries that outlive an operation, such as plans (CUDA).
    pub library_objects: u64,
    /// Library calls whose plan was in the cache, in this generation (CUDA).
    pub plan_hits: u64,
    /// Library calls that had to make their plan, in this generation (CUDA).
    pub plan_misses: u64,
    /// Cached plans of libraries (CUDA).
    pub plans: u64,
    /// Estimated device memory of the cached plans, in bytes; not part of `bytes_used` (CUDA).
    pub plan_bytes: u64,
    /// Plans pinned by autotuning, in this generation (CUDA).
    pub plans_pinned: u64,
    /// Device faults seen; for an isolated device, workers lost.
    pub faults: u64,
    /// The cause of the newest fault.
    pub last_fault: Option<String>,
    /// The time from when the newest fault was seen until the next generation was admitted.
    pub recovery: Option<Duration>,
    /// The process id of an isolated device's standby, when it is ready to take over.
    pub standby: Option<u32>,
    /// Why the last attempt to start a standby failed, such as a GPU in exclusive mode or no memory for a second
    /// context. The start is tried again after a loss, and after pauses that double up to two minutes. Until it
    /// succeeds, a lost worker is replaced by a cold start.
    pub standby_failed: Option<String>,
    /// Whether the driver of an isolated device's GPU is kept loaded between workers, through NVML.
    pub driver_held: bool,
    /// Whether the driver of an isolated device's GPU refused to register the memory shared with the worker; bulk data
    /// is then copied one more time.
    pub bulk_staged: bool,
    /// Orders (messages) sent to the worker of an isolated device.
    pub orders: u64,
    /// Bytes of orders and of data sent to the worker and received from it.
    pub bytes_crossed: u64,
    /// Rebuilds that succeeded.
    pub rebuilds: u64,
    /// The generation the device is in.
    pub generation: u64,
    /// Errors returned, by kind.
    pub errors: BTreeMap<&'static str, u64>,
    /// Counters of the device's compiler. All devices of the process share it, unless a device was opened with [its
    /// own](crate::DeviceBuilder::compiler).
    pub compiler: CompileStats,
}
