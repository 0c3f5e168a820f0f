//! Programs: operations that are recorded once and replayed many times, each replay one dispatch.
//!
//! ```text
//!   record: a device whose engine is a tape ──ops, as data──> plan: what follows what, one arena ──> program
//!   replay: one operation whose operands are the program's: host: steps in order, branches beside each other
//!                                                           CUDA: the steps' halves on one stream, if asked as a graph
//! ```
//!
//! `tape.rs`: the engine that writes down; `recorder.rs`: its user's side; `step.rs`: a recorded op, the only part that
//! is compiled for each; `plan.rs`: edges and arena; `replay.rs`: the operation, `run.rs` its host half, `enqueue.rs` its
//! CUDA half; `home.rs`: its memory in one life of the device; `cross.rs`: how it comes to a worker. `operands.rs`, `outcome.rs`:
//! what goes in and what comes out. `stats.rs`, `dot.rs`: how it looks;
//! `change.rs`: other scalars and other buffers without recording again; `bisect.rs`: which step fails; `compare.rs`:
//! how far two devices are apart. `file.rs`: a program in a file, `saved.rs` what the file holds; `covered.rs`: what of its
//! memory was written, for what is read of a file.

mod bisect;
mod change;
#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod covered;
#[cfg(target_os = "linux")]
mod cross;
mod dot;
#[cfg(feature = "cuda")]
mod enqueue;
#[cfg(target_os = "linux")]
mod file;
mod home;
mod operands;
mod outcome;
mod plan;
mod recorder;
mod replay;
#[cfg(feature = "host")]
mod run;
#[cfg(target_os = "linux")]
mod saved;
mod stats;
mod step;
mod tape;

pub use bisect::StepFailure;
#[cfg(target_os = "linux")]
pub use compare::{Comparison, StepDifference};
#[cfg(target_os = "linux")]
pub(crate) use cross::Arrived;
pub use operands::{Moved, ReplayReads};
pub use outcome::{Later, Replayed};
pub use recorder::Recorder;
pub use stats::ProgramStats;
pub(crate) use step::{Answering, Recorded, Step, conclude};
pub(crate) use tape::{Tape, not_recordable};

use crate::buffer::{AnyBuffer, AnyBuffers};
use crate::dispatch::Submitted;
use crate::engine::{Engine, Epoch, Parts};
use crate::error::Rejected;
use crate::op::Contained;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::trace::Counters;
use crate::{AnyIns, Device, Error, Result};
use home::Home;
use plan::Plan;
use replay::{Ran, Replay};

/// Operations of one device that were recorded once and are replayed as one dispatch.
///
/// Made by [`Device::record`]. A replay is given what the recording named: buffers to read, and buffers that it writes,
/// which are moved in and come back from the wait like those of any operation. Its temporaries lie in one arena that
/// belongs to the program, so nothing is allocated for them in a replay; and for the same reason replays of one program
/// follow each other, from however many threads they are submitted. What does not depend on each other *inside* a program
/// may run side by side.
///
/// A program is of one generation of its device: after a rebuild its replays answer
/// [`Error::GpuRefStale`](crate::Error::GpuRefStale), and it is recorded again. On an isolated device it lives on: it crosses to
/// each worker by itself when it is first replayed there, and wants new buffers only, also for those that it
/// [captured](Self::bind).
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::{Device, blas::Gemv};
///
/// let device = Device::host()?;
/// // One step of the power method: y = A x, then x = y / |y|, with the norm for the host.
/// let (program, norm) = device.record(|r| {
///     let a = r.input::<f64>(4)?;
///     let x = r.operand::<f64>(2)?;
///     let y = r.uninit::<f64>(2)?; // a temporary
///     let y = r.blas().gemv(Gemv::new(2, 2), &a, &x, y)?.into_output();
///     let norm = r.later(r.blas().nrm2(&y)?)?;
///     r.copy(&y, x)?.into_output();
///     Ok(norm)
/// })?;
/// let a = device.upload(vec![2.0f64, 0.0, 0.0, 1.0])?.into_output();
/// let mut x = device.upload(vec![3.0f64, 4.0])?.into_output();
/// for _ in 0..2 {
///     let done = program.replay((&a,), (x,))?.await_result()?;
///     println!("norm {}", done.get(&norm)?);
///     (x,) = done.buffers;
/// }
/// assert_eq!(device.download(&x)?.await_result()?, [12.0, 4.0]);
/// # Ok(()) }
/// ```
pub struct Program {
    device: Device,
    /// For what is recorded in the place of a step.
    recorder: Recorder,
    tape: Arc<Tape>,
    plan: Arc<Plan>,
    /// Buffers of the device that its operations read.
    captured: Vec<AnyBuffer>,
    home: Mutex<Option<Arc<Home>>>,
    replays: AtomicU64,
    #[cfg(feature = "cuda")]
    graphs: Arc<crate::cuda::Graphs>,
}

/// Makes what this folder dispatches known to a worker program.
#[cfg(feature = "worker-program")]
pub(crate) fn register(registry: &mut crate::worker::Registry) {
    registry.add::<Replay>();
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (steps, bytes) = (self.plan.nodes.len(), self.plan.arena_bytes());
        write!(f, "Program({steps} steps on {}, {bytes} bytes)", self.device.name())
    }
}

impl Device {
    /// Records what `body` submits, and gives the program with whatever `body` gives.
    ///
    /// `body` works with a [`Recorder`], which has every method of a device. Each operation is checked as ever and kept as
    /// data; nothing runs. What is recorded is what was passed: scalars, sizes, and the place in the sequence of random
    /// numbers are the same in every replay. (Scalars that BLAS reads from device memory are not.)
    ///
    /// # Errors
    /// Whatever `body` answers: an operation that refuses its arguments, or one that cannot be recorded, which is
    /// [`Error::Unsupported`] with its name and the reason: it waits for the GPU in the middle (cuSOLVER's calls), sizes
    /// its output when it runs (products of sparse matrices), or moves data between host and device.
    /// [`Error::OutOfMemory`] for the arena.
    pub fn record<T>(&self, body: impl FnOnce(&Recorder) -> Result<T>) -> Result<(Program, T)> {
        let (recorder, tape, id) = self.recorder()?;
        let kept = body(&recorder)?;
        Ok((self.program(recorder, tape, id)?, kept))
    }

    fn recorder(&self) -> Result<(Recorder, Arc<Tape>, u64)> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        crate::host::refuse_inside("a recording")?;
        if self.recording().is_some() {
            return Err(Error::unsupported("a recording inside a recording"));
        }
        let real = self.epoch();
        real.admit()?;
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let tape = Arc::new(Tape::new(id, real.clone()));
        let epoch = Epoch::new(Parts {
            device: real.device,
            label: real.label.clone(),
            generation: real.generation,
            life: Arc::new(crate::engine::life::Life::new()),
            engine: Engine::Tape(tape.clone()),
            meter: real.meter.clone(),
            counters: Arc::new(Counters::new(None, real.timing)),
            now: real.now.clone(),
            owner: real.owner.clone(),
        });
        Ok((Recorder::new(self.recording_in(epoch), tape.clone(), id), tape, id))
    }

    fn program(&self, recorder: Recorder, tape: Arc<Tape>, id: u64) -> Result<Program> {
        let mut written = tape.close();
        let captured = std::mem::take(&mut written.captured);
        let plan = Plan::of(id, written, captured.len(), !tape.real().engine.is_host())?;
        Program::on(self, (recorder, tape), plan, captured)
    }
}

impl Program {
    /// With memory of its own, on this device.
    fn on(
        device: &Device,
        (recorder, tape): (Recorder, Arc<Tape>),
        plan: Plan,
        captured: Vec<AnyBuffer>,
    ) -> Result<Program> {
        let program = Program {
            #[cfg(feature = "cuda")]
            device: device.seated(plan.id as u8),
            #[cfg(not(feature = "cuda"))]
            device: device.clone(),
            recorder,
            tape,
            plan: Arc::new(plan),
            captured,
            home: Mutex::default(),
            replays: AtomicU64::new(0),
            #[cfg(feature = "cuda")]
            graphs: Arc::default(),
        };
        program.settle()?;
        Ok(program)
    }

    /// From the second replay on the same buffers on, a GPU is given a CUDA graph of the steps instead of the steps one by one;
    /// elsewhere this changes nothing. What no graph can have is enqueued as ever.
    ///
    /// While a stream is captured CUDA refuses to the whole process what may synchronise, the first uses of its libraries among
    /// that; so for that long, some microseconds for each operation, every other dispatch, allocation and question of this library
    /// in the process waits. Code beside this library that uses CUDA itself is not kept waiting: a call of its own that
    /// synchronises a context may fail then, and so may the capture, after which the replay is enqueued as ever. In a process with
    /// such code this is better not asked for.
    pub fn capture_graphs(&self) {
        #[cfg(feature = "cuda")]
        self.graphs.wanted.store(true, Ordering::Relaxed);
    }

    /// Runs all of it, as one dispatch: it follows every earlier operation on its buffers, and later ones follow it.
    ///
    /// `reads` and `writes` are in the order in which the recording named them: [`Recorder::input`], and
    /// [`Recorder::operand`] with [`Recorder::output`].
    ///
    /// # Errors
    /// Before anything runs, with the buffers back: [`Error::InvalidArgument`] for too few or too many buffers, or one of
    /// another type or length; [`Error::GpuRefStale`] when the device was rebuilt since; as any dispatch. From the wait: the
    /// failure of a step, which names its operation.
    pub fn replay<'a, W: Moved>(&'a self, reads: impl ReplayReads<'a>, writes: W) -> Submitted<Replayed<W>> {
        self.submit::<W>(reads.into_reads(), writes.into_any())
    }

    fn submit<'s, W: Moved>(&'s self, reads: AnyIns<'s>, writes: AnyBuffers) -> Submitted<Replayed<W>> {
        let pending = self.submit_part(0..self.plan.nodes.len(), reads, writes)?;
        self.replays.fetch_add(1, Ordering::Relaxed);
        Ok(pending.retype(|mut writes| {
            writes.pop(); // the arena
            Ok::<_, Error>(writes)
        })?)
    }

    /// Some of the steps. The buffers that come from it have the arena behind them.
    fn submit_part<'s>(
        &'s self,
        part: std::ops::Range<usize>,
        mut reads: AnyIns<'s>,
        mut writes: AnyBuffers,
    ) -> Submitted<Ran> {
        let home = self.home();
        let (op, home) = match home.and_then(|home| Ok((self.operation(part, &home)?, home))) {
            Ok(both) => both,
            Err(error) => return Err(Rejected::new(error, writes)),
        };
        reads.extend(self.captured.iter().map(AnyBuffer::as_in));
        // SAFETY: the arena is used by replays of this program alone, always whole. Its region is gated, so of those that
        // several threads submit at once each follows another.
        writes.push(unsafe { home.arena.alias() }.into());
        let pending = self.device.dispatch_from(&mut Contained::new(Some(op)), &reads, writes);
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
    fn operation(&self, part: std::ops::Range<usize>, home: &Home) -> Result<Replay> {
        Ok(Replay {
            part,
            #[cfg(feature = "cuda")]
            graphs: self.graphs.clone(),
            #[cfg(feature = "cuda")]
            reserved: Mutex::new(self.plan.reserve(&home.arena.region.epoch)?),
            plan: self.plan.clone(),
            #[cfg(target_os = "linux")]
            crossed: home.crossed.clone(),
        })
    }
}
