//! A leased stream, and everything of a dispatch that does not depend on its op.

use crate::core::buffer::Span;
use crate::core::element::Element;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::op::{Contained, Made, guarded};
use crate::core::sync::Arc;
use crate::engines::cuda::Core;
use crate::engines::cuda::api::Code;
use crate::engines::cuda::context::BINDING;
use crate::engines::cuda::context::Bound;
use crate::engines::cuda::context::fault;
use crate::engines::cuda::memory::Block;
use crate::engines::cuda::memory::SLOT;
use crate::engines::cuda::streams::{Shared, State};
use crate::engines::cuda::wait::{Kept, Landed};
use crate::engines::op::PlanKey;
use crate::engines::op::plan::{AnyPlan, unprepared};
use cudarc::driver::sys::CUstream;
use smallvec::SmallVec;
use std::any::Any;

/// The part of [`Enqueue`](crate::op::Enqueue) that does not depend on the op's types, so that its code is compiled once.
/// Its public interface is the methods of `Enqueue`.
#[doc(hidden)]
pub struct Queue<'q> {
    pub(crate) core: &'q Arc<Core>,
    pub(crate) epoch: &'q Arc<Epoch>,
    pub(crate) shared: &'q Arc<Shared>,
    pub(crate) state: &'q mut State,
    pub(crate) plans: &'q [AnyPlan],
    pub(crate) phase: usize,
    pub(crate) made: Option<&'q Made>,
    /// The size in bytes of the result that the op leaves for the host.
    pub(crate) raw_bytes: usize,
    pub(crate) left: &'q mut HalfState,
    /// The other devices, for a dispatch over several.
    pub(crate) elsewhere: Option<&'q mut (dyn OtherQueues + 'q)>,
}

/// The leased streams of a dispatch on its devices other than the first.
pub(crate) trait OtherQueues {
    /// How many there are.
    fn count(&self) -> usize;
    /// The stream of the device with this index.
    fn queue(&mut self, index: usize) -> Option<Queue<'_>>;
}

/// What a CUDA half leaves behind, whether it succeeds or fails.
pub(crate) struct HalfState {
    pub(crate) landed: Landed,
    /// What must outlive the work; most dispatches have nothing of the kind.
    pub(crate) keeps: Option<Keeps>,
    pub(crate) scratch: SmallVec<[u64; 2]>,
    pub(crate) result_asked: bool,
    /// The kernel writes the result where the host reads it.
    result_is_there: bool,
    /// The half is one of several in this dispatch, which leaves its result where it is told to.
    is_step: bool,
    /// The work that the half enqueues is being captured into a CUDA graph.
    pub(crate) capturing: bool,
    /// Nothing was put on the stream, and the operands are unchanged.
    pub(crate) untouched: bool,
}

impl HalfState {
    pub(crate) fn new(landed: Landed) -> Self {
        HalfState {
            landed,
            keeps: None,
            scratch: SmallVec::new(),
            result_asked: false,
            result_is_there: false,
            is_step: false,
            capturing: false,
            untouched: true,
        }
    }
}

/// What must outlive the work of a dispatch.
#[derive(Default)]
pub(crate) struct Keeps {
    /// Pinned memory that the device reads.
    pub(crate) blocks: SmallVec<[Block; 1]>,
    /// Other values.
    pub(crate) values: Kept,
}

impl HalfState {
    pub(crate) fn keep_block(&mut self, block: Block) {
        self.keeps.get_or_insert_default().blocks.push(block);
    }

    pub(crate) fn keep_value(&mut self, value: Arc<dyn Any + Send + Sync>) {
        self.keeps.get_or_insert_default().values.push(value);
    }

    /// Exchanges the values that are kept.
    pub(crate) fn replace_values(&mut self, values: Kept) -> Kept {
        match &mut self.keeps {
            Some(keeps) => std::mem::replace(&mut keeps.values, values),
            None => {
                if !values.is_empty() {
                    self.keeps.get_or_insert_default().values = values;
                }
                Kept::new()
            }
        }
    }
}

#[cold]
fn not_made(index: usize) -> Error {
    Error::library(format!("`Op::next` made no buffer or scratch memory {index} of the requested type"))
}

#[cold]
fn no_room(bytes: usize) -> Error {
    Error::unsupported(format!("a result of {bytes} bytes; 1 to {} bytes are possible", SLOT))
}

/// The size in bytes of a slot's device memory for results.
const RESULT: usize = 256;

/// The leased stream of one device of a dispatch over several; see [`Enqueue::on`](crate::op::Enqueue::on). While it lives,
/// that device's context is current.
pub struct EnqueueOn<'q> {
    queue: Queue<'q>,
    #[expect(dead_code, reason = "a guard")]
    bound: Bound<'q>,
}

impl std::fmt::Debug for EnqueueOn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EnqueueOn(stream {} of {})", self.queue.shared.index, self.queue.epoch.label)
    }
}

impl EnqueueOn<'_> {
    /// The stream, for your own calls: as [`Enqueue::stream`](crate::op::Enqueue::stream).
    pub fn stream(&mut self) -> CUstream {
        self.queue.stream()
    }

    /// Allocates memory of this device for this dispatch alone: as [`Enqueue::scratch`](crate::op::Enqueue::scratch).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn scratch(&mut self, bytes: usize) -> Result<u64> {
        self.queue.scratch(bytes)
    }

    /// Launches the kernel `name` of `ptx` on this device: as [`Enqueue::launch`](crate::op::Enqueue::launch).
    ///
    /// # Errors
    /// As [`Enqueue::launch`](crate::op::Enqueue::launch).
    ///
    /// # Safety
    /// As for [`Enqueue::launch`](crate::op::Enqueue::launch).
    pub unsafe fn launch(
        &mut self,
        ptx: &'static crate::engines::cuda::Ptx,
        name: &'static std::ffi::CStr,
        dims: crate::core::launch::LaunchDims,
        args: &[crate::engines::cuda::KernelArg],
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.queue.launch(ptx, name, dims, args) }
    }

    /// Whether everything enqueued so far is complete.
    pub(crate) fn is_complete(&mut self) -> Result<bool> {
        self.queue.is_complete()
    }
}

impl<'q> Queue<'q> {
    /// Reborrows the queue.
    pub(crate) fn lend(&mut self) -> Queue<'_> {
        let Queue { core, epoch, shared, plans, phase, made, raw_bytes, .. } = *self;
        let elsewhere: Option<&mut dyn OtherQueues> = match &mut self.elsewhere {
            Some(elsewhere) => Some(&mut **elsewhere),
            None => None,
        };
        Queue { core, epoch, shared, state: self.state, plans, phase, made, raw_bytes, left: self.left, elsewhere }
    }

    /// The number of devices of the dispatch.
    pub(crate) fn devices(&self) -> usize {
        1 + self.elsewhere.as_ref().map_or(0, |elsewhere| elsewhere.count())
    }

    /// The stream of one of the devices, with that device's context current.
    pub(crate) fn on(&mut self, device: usize) -> Result<EnqueueOn<'_>> {
        let count = self.devices();
        let queue = match device.checked_sub(1) {
            None => Some(self.lend()),
            Some(index) => match &mut self.elsewhere {
                Some(elsewhere) => elsewhere.queue(index),
                None => None,
            },
        };
        match queue {
            Some(queue) => Ok(EnqueueOn { bound: queue.core.bind(queue.epoch)?, queue }),
            None => Err(Error::invalid("device", format!("{device}, but the operation has {count} devices"))),
        }
    }

    /// Makes the stream of the device `later` wait for all that is on the stream of the device `earlier` by now.
    pub(crate) fn follow_on(&mut self, later: usize, earlier: usize) -> Result<()> {
        let event = {
            let on = &mut self.on(earlier)?.queue;
            let (ticket, event, code) = on.state.record(on.shared);
            on.state.ring.push(ticket, event, None);
            on.check("cuEventRecord", code)?;
            event
        };
        let Some(event) = event else { return Ok(()) };
        {
            let on = &mut self.on(later)?.queue;
            let stream = on.state.stream.0; // a wait alone leaves the operands as they are
            // SAFETY: the event lives until the end of its epoch, which takes the lease that this dispatch holds there.
            // The context of the stream is current.
            let code = unsafe { on.core.context.api.stream_wait_event(stream, event.0, 0) };
            on.check("cuStreamWaitEvent", code)?;
            on.core.counters.forced_waits.fetch_add(1, crate::core::sync::Ordering::Relaxed);
        }
        let code = self.core.context.make_current().err().unwrap_or(Code::SUCCESS);
        self.check(BINDING, code)
    }

    pub(crate) fn made<T: Element>(&self, index: usize) -> Result<Span<T>> {
        self.made.and_then(|made| made.span(index)).ok_or_else(|| not_made(index))
    }

    pub(crate) fn made_scratch(&self, index: usize) -> Result<u64> {
        self.made.and_then(|made| made.scratch(index)).ok_or_else(|| not_made(index))
    }

    pub(crate) fn plan<K: PlanKey>(&self, index: usize) -> Result<&'q K::Plan> {
        let plan = self.plans.get(index).and_then(|plan| (&**plan as &dyn Any).downcast_ref::<Contained<K::Plan>>());
        plan.map(|plan| &**plan).ok_or_else(|| unprepared(index))
    }

    pub(crate) fn stream(&mut self) -> CUstream {
        self.touch();
        self.state.stream.0
    }

    /// From here on something may be on the stream: a failure is not retried, and the operands are not restored.
    pub(crate) fn touch(&mut self) {
        self.left.untouched = false;
    }

    /// Whether this is one of the streams on which programs are replayed.
    pub(crate) fn is_on_a_seat(&self) -> bool {
        self.core.streams.is_seat(self.shared.index)
    }

    pub(crate) fn check(&self, call: &str, code: Code) -> Result<()> {
        code.ok().map_err(|code| fault::classify(self.epoch, code, call))
    }

    pub(crate) fn scratch(&mut self, bytes: usize) -> Result<u64> {
        let address = self.stream_memory(bytes.max(1))?;
        self.left.scratch.push(address);
        Ok(address)
    }

    pub(crate) fn stream_memory(&self, bytes: usize) -> Result<u64> {
        self.not_in_a_graph("scratch memory")?;
        let address = self.core.memory.raw_alloc(self.state, bytes);
        address.map_err(|code| fault::refused(self.epoch, code, "cuMemAllocFromPoolAsync", bytes))
    }

    pub(crate) fn result(&mut self) -> Result<u64> {
        if self.raw_bytes == 0 || self.raw_bytes > SLOT {
            return Err(no_room(self.raw_bytes));
        }
        self.left.result_asked = true;
        match self.state.result {
            Some(address) => Ok(address),
            None => {
                let address = self.stream_memory(RESULT)?;
                self.state.result = Some(address);
                Ok(address)
            }
        }
    }

    pub(crate) fn zero_result(&mut self) -> Result<()> {
        let address = self.result()?;
        // SAFETY: the slot's own memory, which is large enough for the result (checked by `result`).
        unsafe { self.memset(address, &[0], self.raw_bytes) }
    }

    /// Where a kernel leaves a verdict, which is zero: the memory that the host reads, if it can, so that neither a fill nor a copy goes with
    /// the launch. For kernels that write it seldom; atomics there are atomic for the kernel alone.
    pub(crate) fn verdict(&mut self) -> Result<u64> {
        match &self.left.landed {
            Landed::Slot(slot) if !self.left.is_step && (1..=SLOT).contains(&self.raw_bytes) => {
                // SAFETY: the slot has as many bytes, and is this task's alone. The driver maps pinned memory for its devices.
                unsafe { slot.at.0.write_bytes(0, self.raw_bytes) };
                let address = slot.at.0.expose_provenance() as u64;
                (self.left.result_asked, self.left.result_is_there) = (true, true);
                Ok(address)
            }
            _ => {
                self.zero_result()?;
                self.result()
            }
        }
    }

    /// A word of device memory that is zero. A kernel that counts its blocks in it leaves it zero: those of this stream follow each
    /// other, so one word serves them all, and none is written before a launch.
    pub(crate) fn counter(&mut self) -> Result<u64> {
        // A graph may run on any stream, beside launches that count in the same word.
        self.not_in_a_graph("scratch memory")?;
        if let Some(address) = self.state.counter {
            return Ok(address);
        }
        let address = self.stream_memory(4)?;
        // SAFETY: memory of four bytes, which nobody else uses.
        let zeroed = unsafe { self.memset(address, &[0], 4) };
        match zeroed {
            Ok(()) => self.state.counter = Some(address),
            Err(_) => self.left.scratch.push(address),
        }
        zeroed.map(|()| address)
    }

    /// Runs the half of one operation of several in this dispatch. The half uses the same stream and its own part of
    /// the plans, and leaves its result at `result`.
    pub(crate) fn step(
        &mut self,
        raw_bytes: usize,
        result: Option<u64>,
        plans: std::ops::Range<usize>,
        half: &mut dyn FnMut(&mut Queue<'_>) -> Result<()>,
    ) -> Result<()> {
        let plans = self.plans.get(plans).unwrap_or_default();
        let own = result.map(|result| self.state.result.replace(result));
        self.left.result_asked = false;
        let is_step = std::mem::replace(&mut self.left.is_step, true);
        // The slot gets its own result memory back, also after a panic.
        let outcome = guarded(&mut || half(&mut Queue { raw_bytes, plans, ..self.lend() }));
        self.left.is_step = is_step;
        if let Some(own) = own {
            self.state.result = own;
        }
        outcome?;
        if raw_bytes > 0 && !std::mem::take(&mut self.left.result_asked) {
            return Err(Error::library(
                "the CUDA half did not call `result`, but the operation's `Raw` type has bytes",
            ));
        }
        Ok(())
    }

    /// Enqueues the copy of the result to pinned memory, behind the work.
    pub(crate) fn bring_result(self) -> Result<()> {
        if self.left.result_is_there {
            return Ok(());
        }
        let (Landed::Slot(slot), true, Some(address)) = (&self.left.landed, self.left.result_asked, self.state.result)
        else {
            return match (&self.left.landed, self.raw_bytes) {
                (Landed::Slot(_), 1..) => {
                    Err(Error::library("the CUDA half did not call `result`, but the operation's `Raw` type has bytes"))
                }
                _ => Ok(()),
            };
        };
        // SAFETY: the slot is pinned memory held by the task, which the ring holds. The address is the stream slot's
        // own memory.
        let code = unsafe {
            self.core.context.api.memcpy_dtoh_async(slot.at.0.cast(), address, self.raw_bytes, self.state.stream.0)
        };
        self.check("cuMemcpyDtoHAsync", code)
    }
}
