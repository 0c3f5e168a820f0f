//! Programs: operations that are recorded once and replayed many times, each replay one dispatch.
//!
//! ```text
//!   record: a device whose engine is a tape ──ops, as data──> plan: what follows what, one arena ──> program
//!   replay: one operation whose operands are the program's: host: steps in order, branches beside each other
//!                                                           CUDA: the steps' halves on one stream, if asked as a graph
//! ```
//!
//! `tape.rs`: the engine that records; `recorder.rs`: the API that the recording closure uses; `step.rs`: a recorded
//! op, the only part that is compiled for each op type; `entry.rs`: what a recording is made of; `plan.rs`: edges and places, `order.rs`: what follows
//! what, `arena.rs`: where temporaries lie, `prepare.rs`: how many plans a step needs on a GPU; `replay.rs`: the operation,
//! `run.rs` its host half, `enqueue.rs` its CUDA half; `home.rs`: the program's memory in one generation of the device;
//! `cross.rs`: how a program is sent to a worker. `operands.rs`, `outcome.rs`: what a replay takes and what it returns.
//! `stats.rs`, `dot.rs`: numbers and a graph that describe a program; `change.rs`: other scalars and other buffers
//! without recording again; `bisect.rs`: which step fails; `compare.rs`: how far the results of two devices differ.
//! `fuse.rs`: neighbouring steps made one. `admit.rs`: what admits a step, whether it is recorded or read from a file; `covered.rs`: which memory was written.
//! `file.rs`: a program in a file, `saved.rs`: what the file holds.

mod admit;
#[cfg(feature = "cuda")]
mod ahead;
mod arena;
mod bisect;
mod change;
#[cfg(target_os = "linux")]
mod compare;
mod covered;
#[cfg(target_os = "linux")]
mod cross;
mod dot;
#[cfg(feature = "cuda")]
mod enqueue;
mod entry;
#[cfg(target_os = "linux")]
mod file;
mod fuse;
mod home;
mod operands;
mod order;
mod outcome;
mod plan;
#[cfg(feature = "cuda")]
mod prepare;
mod recorder;
mod replay;
#[cfg(feature = "host")]
mod run;
#[cfg(target_os = "linux")]
mod saved;
mod stats;
mod tape;

pub use bisect::StepFailure;
#[cfg(target_os = "linux")]
pub use compare::{Comparison, StepDifference};
#[cfg(target_os = "linux")]
pub(crate) use cross::Arrived;
#[cfg(all(test, feature = "host", target_os = "linux"))]
pub(crate) use file::fuzz;
pub use operands::{Moved, MovedOne, ReplayBack, ReplayRead, ReplayReads};
pub use outcome::{Later, Replayed};
pub use recorder::Recorder;
pub use stats::ProgramStats;
pub(crate) use tape::Tape;

use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIns};
use crate::core::epoch::{AnyEngine, Epoch, Parts};
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::Verdict;
use crate::core::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::core::trace::Counters;
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::engines::op::StackOp;
use admit::Layouts;
use home::Home;
use operands::Named;
use plan::Plan;
use replay::{Ran, Replay};

/// Operations of one device that were recorded once and are replayed as one dispatch.
///
/// Made by [`Device::record`]. A replay takes the operands that the recording named: tensors to read, and tensors to
/// write, which are moved in and returned by the wait as for any operation. Temporaries lie in one arena that belongs
/// to the program, so a replay allocates no memory for them. Because they share this arena, replays of one program run
/// one after another, whichever threads submit them. *Inside* a program, steps that do not depend on each other may run
/// in parallel.
///
/// A program belongs to one generation of its device: after a rebuild its replays fail with
/// [`Error::GpuRefStale`](crate::Error::GpuRefStale), and the program must be recorded again. On an isolated device the
/// program stays usable: it is sent to each new worker automatically when it is first replayed there, and needs only
/// new buffers, also for those that it [captured](Self::bind).
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::{Device, blas::Gemv, tensor::Layout};
///
/// let device = Device::host()?;
/// // One step of the power method: y = A x, then x = y / |y|, with the norm for the host.
/// let (program, norm) = device.record(|r| {
///     let a = r.input::<f64>([2, 2])?;
///     let x = r.operand::<f64>(2)?;
///     let y = r.blas().gemv(Gemv::new(), &a, &x, r.uninit(2)?)?; // a temporary
///     let norm = r.later(r.blas().nrm2(&y)?)?;
///     r.copy(&y, x)?;
///     Ok(norm)
/// })?;
/// let a = device.tensor([2, 2], [2.0f64, 0.0, 0.0, 1.0])?;
/// let mut x = device.tensor([2], [3.0f64, 4.0])?;
/// for _ in 0..2 {
///     let done = program.replay((&a,), (x,))?.await_result()?;
///     println!("norm {}", done.get(&norm)?);
///     (x,) = done.operands;
/// }
/// assert_eq!(device.to_vec(&x)?, [12.0, 4.0]);
/// # Ok(()) }
/// ```
pub struct Program {
    device: Device,
    /// Records the replacement of a step.
    recorder: Recorder,
    tape: Arc<Tape>,
    plan: Arc<Plan>,
    /// What replays run, if it is another plan.
    fused: Option<Arc<Plan>>,
    fuses: bool,
    /// How the operands of a replay lie.
    layouts: Layouts,
    /// Buffers of the device that its steps read.
    captured: Vec<AnyBuffer>,
    home: Mutex<Option<Arc<Home>>>,
    replays: AtomicU64,
    #[cfg(feature = "cuda")]
    graphs: Arc<crate::engines::cuda::Graphs>,
}

/// Registers the operations of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<Replay>();
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (steps, bytes) = (self.plan.nodes.len(), self.plan.arena_bytes());
        write!(f, "Program({steps} steps on {}, {bytes} bytes)", self.device.name())
    }
}

/// Programs.
impl Device {
    /// Records what `body` submits, and returns the program together with the value that `body` returns.
    ///
    /// `body` works with a [`Recorder`], which has every method of a device. Each operation is checked as usual and
    /// kept as data; nothing runs. The recorded values are fixed: scalars, sizes, and the position in the sequence of
    /// random numbers are the same in every replay. (Scalars that BLAS reads from device memory are not.)
    ///
    /// # Errors
    /// Any error that `body` returns: an operation that refuses its arguments, or one that cannot be recorded, which is
    /// [`Error::Unsupported`] with its name and the reason. Operations cannot be recorded if they wait for the GPU in
    /// the middle (cuSOLVER's calls), if the size of their output is known only when they run (products of sparse
    /// matrices), or if they move data between host and device. [`Error::OutOfMemory`] if there is no memory for the
    /// arena.
    pub fn record<T>(&self, body: impl FnOnce(&Recorder) -> Result<T>) -> Result<(Program, T)> {
        let (recorder, tape, id) = self.recorder()?;
        let kept = body(&recorder)?;
        Ok((self.program(recorder, tape, id)?, kept))
    }

    fn recorder(&self) -> Result<(Recorder, Arc<Tape>, u64)> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        crate::core::inside::refuse_inside("a recording")?;
        if self.recording().is_some() {
            return Err(Error::unsupported("a recording cannot be started inside another recording"));
        }
        let real = self.epoch();
        real.admit()?;
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let tape = Arc::new(Tape::new(id, real.clone()));
        let epoch = Epoch::new(Parts {
            device: real.device,
            label: real.label.clone(),
            generation: real.generation,
            life: Arc::new(crate::core::epoch::life::Life::new()),
            engine: AnyEngine::new(tape.clone()),
            meter: real.meter.clone(),
            counters: Arc::new(Counters::new(None, real.timing)),
            now: real.now.clone(),
            owner: real.owner.clone(),
        });
        Ok((Recorder::new(self.recording_in(epoch), tape.clone(), id), tape, id))
    }

    fn program(&self, recorder: Recorder, tape: Arc<Tape>, id: u64) -> Result<Program> {
        let mut written = tape.close();
        let (captured, layouts) = (std::mem::take(&mut written.captured), std::mem::take(&mut written.layouts));
        let plan = Plan::new(id, written, captured.len(), !tape.real().engine.is_host())?;
        Program::on(self, (recorder, tape), plan, (layouts, captured))
    }
}

impl Program {
    /// Makes a program with its own memory on `device`.
    fn on(
        device: &Device,
        (recorder, tape): (Recorder, Arc<Tape>),
        mut plan: Plan,
        (layouts, captured): (Layouts, Vec<AnyBuffer>),
    ) -> Result<Program> {
        let gpu = !tape.real().engine.is_host();
        let mut fused = plan.fused(gpu)?;
        if let Some(other) = fused.take() {
            // One arena for both.
            let arena = plan.arena.max(other.arena);
            fused = other.in_arena(arena);
            plan = plan.in_arena(arena).ok_or_else(|| Error::library("internal error: a plan is shared"))?;
        }
        let program = Program {
            #[cfg(feature = "cuda")]
            device: device.seated(plan.id as u8),
            #[cfg(not(feature = "cuda"))]
            device: device.clone(),
            recorder,
            tape,
            plan: Arc::new(plan),
            fused: fused.map(Arc::new),
            fuses: true,
            layouts,
            captured,
            home: Mutex::default(),
            replays: AtomicU64::new(0),
            #[cfg(feature = "cuda")]
            graphs: Arc::default(),
        };
        program.settle()?;
        #[cfg(feature = "cuda")]
        ahead::make_plans(&program.device, program.fused.as_ref().unwrap_or(&program.plan));
        Ok(program)
    }

    /// Asks for CUDA graphs. From the second replay on the same buffers on, a GPU then runs one CUDA graph of all steps
    /// instead of the steps one by one. On other engines this has no effect. A program that cannot be captured as a
    /// graph is enqueued step by step as usual.
    ///
    /// While a stream is captured, CUDA refuses, in the whole process, calls that may synchronise, such as the first
    /// use of one of its libraries. So during a capture, which takes some microseconds for each operation, every other
    /// dispatch, allocation and query of this library in the process waits. Other code in the process that uses CUDA
    /// directly does not wait: its calls that synchronise a context may fail during the capture. The capture may then
    /// fail too, and the replay is enqueued as usual. Do not ask for graphs in a process with such code.
    pub fn capture_graphs(&self) {
        #[cfg(feature = "cuda")]
        self.graphs.wanted.store(true, Ordering::Relaxed);
    }

    /// Runs all steps as one dispatch: it follows every earlier operation on its buffers, and later ones follow it.
    ///
    /// `reads` and `writes` are in the order in which the recording named them: [`Recorder::input`], and
    /// [`Recorder::operand`] with [`Recorder::output`].
    ///
    /// # Errors
    /// Before anything runs, with the operands returned: [`Error::InvalidArgument`] for too few or too many, or one of another type,
    /// another shape or another layout; [`Error::GpuRefStale`] when the device was rebuilt since the recording; and the
    /// errors of any dispatch. From the wait: the failure of a step, which names its operation.
    pub fn replay<'a, W: Moved>(
        &'a self,
        reads: impl ReplayReads<'a>,
        writes: W,
    ) -> Submitted<Replayed<W::Back>, Verdict> {
        let (writes, kept) = writes.into_any(self.written())?;
        let submitted = match reads.into_reads(self.read()) {
            Ok(reads) => self.submit(reads, writes),
            Err(error) => Err(Rejected::new(error, writes)),
        };
        match submitted {
            Ok(pending) => Ok(pending.retype(|writes| W::back(writes, kept))?),
            Err(Rejected { error, back }) => {
                Err(Rejected { error, back: back.and_then(|writes| W::back(writes, kept).ok()) }.into())
            }
        }
    }

    /// How the operands that are read were named.
    fn read(&self) -> Named<'_> {
        Named { what: "input", layouts: &self.layouts.inputs }
    }

    /// How the operands that are written were named.
    fn written(&self) -> Named<'_> {
        Named { what: "operand", layouts: &self.layouts.operands }
    }

    fn submit<'s>(&'s self, reads: AnyIns<'s>, writes: AnyBuffers) -> Submitted<Ran, Verdict> {
        let plan = self.fused.as_ref().unwrap_or(&self.plan);
        let pending = self.submit_part(plan, 0..plan.nodes.len(), reads, writes)?;
        self.replays.fetch_add(1, Ordering::Relaxed);
        let without_arena = |mut writes: AnyBuffers| {
            writes.pop();
            Ok::<_, Rejected<AnyBuffers>>(writes)
        };
        pending.retype(without_arena)
    }

    /// Submits some of the steps. The buffers that the dispatch returns are followed by the arena.
    fn submit_part<'s>(
        &'s self,
        plan: &Arc<Plan>,
        part: std::ops::Range<usize>,
        mut reads: AnyIns<'s>,
        mut writes: AnyBuffers,
    ) -> Submitted<Ran, Verdict> {
        let home = self.home();
        let (op, home) = match home.and_then(|home| Ok((self.operation(plan, part, &home)?, home))) {
            Ok(both) => both,
            Err(error) => return Err(Rejected::new(error, writes)),
        };
        for captured in &self.captured {
            reads.push(captured.as_in()); // `extend` costs more than this loop
        }
        // SAFETY: only replays of this program use the arena, and each uses all of it. Its region is gated, so replays
        // that several threads submit at once follow one another.
        writes.push(unsafe { home.arena.alias() }.into());
        let pending = self.device.dispatch_from(&mut StackOp::new(op), &reads, writes);
        pending.map_err(|rejected| {
            rejected.map(|mut writes| {
                writes.pop();
                writes
            })
        })
    }

    #[cfg_attr(
        not(any(feature = "cuda", target_os = "linux")),
        expect(unused_variables, reason = "nothing depends on it")
    )]
    fn operation(&self, plan: &Arc<Plan>, part: std::ops::Range<usize>, home: &Home) -> Result<Replay> {
        Ok(Replay {
            part,
            #[cfg(feature = "cuda")]
            graphs: self.graphs.clone(),
            #[cfg(feature = "cuda")]
            reserved: Mutex::new(plan.reserve(&home.arena.region.epoch)?),
            plan: plan.clone(),
            #[cfg(target_os = "linux")]
            crossed: if plan.made_of.is_empty() { &home.crossed } else { &home.fused }.clone(),
        })
    }
}
