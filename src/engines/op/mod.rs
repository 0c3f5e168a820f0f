//! An operation: what it is to all floors above. The parts of it that no engine has to be known for (its results, its kinds, how it
//! crosses) are in `core/op/`.
//!
//! `enqueue.rs`: what its CUDA half is given; `plan.rs`: the plans that it needs; `names.rs`: the names of its operands in error
//! messages; `code.rs`: the number that names it in an order to a worker.
//!
//! Nothing here names an engine.
//!
//! **Without its type** it is data and a table of functions, which is all that is compiled for each operation and its types.
//! `facts.rs`: the table; `operation.rs`: references to an operation and to its operands' spans; `memory.rs`: the memory where
//! both lie before a task has them; `payload.rs`: their memory in a task. What is unsafe about this is in these four files.

#[cfg(target_os = "linux")]
pub(crate) mod code;
mod enqueue;
mod facts;
mod memory;
mod names;
mod operation;
mod payload;
pub(crate) mod plan;

#[cfg(target_os = "linux")]
pub(crate) use code::OpCode;
pub use enqueue::Enqueue;
#[cfg(feature = "cuda")]
pub(crate) use enqueue::QueueRef;
#[cfg(target_os = "linux")]
pub(crate) use facts::MARK;
#[cfg(all(feature = "precompiled", feature = "host", debug_assertions, not(test)))]
pub(crate) use facts::host_half;
pub(crate) use facts::{Facts, conclude};
pub(crate) use memory::{OpMemory, StackOp, taken};
pub(crate) use operation::{OpRef, Operation};
pub(crate) use payload::{Content, Payload, in_class};
pub use plan::{Built, PlanBuilder, PlanKey, Prepare};

use crate::core::buffer::Elems;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{
    Bufs, Cost, Internal, Made, Make, Next, OpKind, OperandNames, Output, Raw, Retention, Spans, Wire,
};

/// One unit of device work, as plain data.
///
/// An op declares its operands as tuples of element types; the buffers themselves are arguments of
/// [`Device::dispatch`](crate::Device::dispatch). The op holds everything else (sizes, scalars, flags), checks its
/// arguments, and runs itself on each engine: it has a host half and a CUDA half, side by side. The trait is safe to
/// implement: users can write their own ops, and every guarantee of the library holds for them.
///
/// An op is dropped by the last thread that holds a reference to it, some time after its work is done. A buffer of a
/// host device keeps the op that last wrote it, until another op writes the buffer or the buffer is dropped. So an op
/// should not own anything that other threads wait for, such as a lock.
///
/// **A panic** in a method of this trait is caught: the dispatch fails with [`Error::Panicked`]. If the op was not
/// submitted yet, the error returns the buffers. A panic in the op's `Drop` is caught too.
///
/// ```
/// use windlass::{Device, Error, Result, DeviceBuffer, op::{Op, Slices, SlicesMut, Spans}};
///
/// /// `y = x * x`, element by element.
/// struct Square;
///
/// impl Op for Square {
///     const NAME: &'static str = "square";
///     type Reads = (f32,);
///     type Output = DeviceBuffer<f32>;
///     type Raw = ();
///
///     fn check(&self, (x,): &Spans<Self::Reads>, (y,): &Spans<(f32,)>) -> Result<()> {
///         if x.len() == y.len() { Ok(()) } else { Err(Error::invalid("x", format!("{} != {}", x.len(), y.len()))) }
///     }
///     fn overwrites(&self, _: &Spans<(f32,)>) -> bool {
///         true
///     }
///     fn host(&self, (x,): Slices<'_, Self>, (y,): SlicesMut<'_, Self>) -> Result<()> {
///         y.iter_mut().zip(x).for_each(|(y, x)| *y = x * x);
///         Ok(())
///     }
///     fn finish(&self, _: ()) -> Result<()> {
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let device = Device::host()?;
/// let x = device.upload(vec![1.0f32, 2.0, 3.0])?.into_output();
/// let y = device.dispatch(Square, (x.as_in(),), (device.uninit(3)?.into_buffer(),))?.await_result()?;
/// assert_eq!(device.download(&y)?.await_result()?, [1.0, 4.0, 9.0]);
/// # Ok(()) }
/// ```
pub trait Op: Sized + Send + Sync + 'static {
    /// The operation's standard name: `gemm`, `getrf`.
    const NAME: &'static str;
    /// The library it belongs to: `blas`, `solver`, ...
    const LIBRARY: &'static str = "user";
    /// How the calls in its CUDA half behave on the calling thread: whether they return at once or block.
    const KIND: OpKind = OpKind::Enqueue;
    /// Whether the op needs plans. If true, [`prepare`](Self::prepare) is called.
    const PREPARED: bool = false;
    /// Whether the op uses a handle of a library that has a pool of handles, each bound to its own stream.
    #[doc(hidden)]
    const POOLED: Internal = Internal::NO;
    /// Whether a program of a host device takes the op though its CUDA half waits or has a stream of its own.
    #[doc(hidden)]
    const IN_HOST_PROGRAMS: Internal = Internal::NO;
    /// Whether the op can use several devices at once ([`Device::dispatch_across`](crate::Device::dispatch_across)). Then
    /// its operands may be on any of them. Its CUDA half enqueues the work of each device on a stream of that device
    /// ([`Enqueue::on`](crate::op::Enqueue::on)).
    const ACROSS_DEVICES: bool = false;
    /// Whether one of its operands stands for something that has no unique owner. A submission that writes such an
    /// operand excludes all others that use it.
    #[doc(hidden)]
    const GATED: Internal = Internal::NO;
    /// Whether the op declares outputs only to be ordered between other ops. If it fails, their contents are unchanged.
    #[doc(hidden)]
    const PRESERVES_ON_FAILURE: Internal = Internal::NO;
    /// Indices of the outputs that the op uses as workspace. Their contents are undefined afterwards. Like a buffer
    /// that was never written, such an output, or the window of it that the op got, is refused to every op that would read
    /// it, until an op overwrites it.
    const LEAVES_UNDEFINED: &'static [usize] = &[];
    /// The names of the operands in error messages: first those of [`Reads`](Self::Reads), then those that are written,
    /// in order. Use the argument names that the caller knows. An operand without a name is called `input 0` or
    /// `output 0`, by its index.
    const OPERANDS: OperandNames = (&[], &[]);
    /// Whether a program may make one step of the op and of an earlier one, whose outputs it alone reads.
    #[doc(hidden)]
    const FUSE: crate::engines::tape::Fuse = crate::engines::tape::Fuse::NONE;
    /// The element types it reads.
    type Reads: Elems;
    /// The op's result. It also determines which buffers the op writes.
    type Output: Output;
    /// What the device returns to the host besides the buffers: a scalar, `info`. With another type than `()` the pending of a
    /// dispatch has a [`Verdict`](crate::Verdict): its output cannot be taken without what [`finish`](Self::finish) says.
    type Raw: Raw;

    /// Checks sizes, strides and lengths, with checked arithmetic. Runs before any native call. An error here costs
    /// nothing and returns the moved-in buffers.
    ///
    /// # Errors
    /// Usually [`Error::InvalidArgument`], naming the argument and both values.
    fn check(&self, reads: &Spans<Self::Reads>, writes: &Spans<WritesOf<Self>>) -> Result<()>;

    /// Whether the op writes every byte of its outputs and reads none of them. Then their earlier contents do not
    /// matter, nor does a failure of their earlier writer.
    ///
    /// Called before [`check`](Self::check), for every submission. Sizes can have any value, so use checked arithmetic
    /// for their sums and products, as in `check`.
    fn overwrites(&self, writes: &Spans<WritesOf<Self>>) -> bool {
        let _ = writes;
        false
    }

    /// As [`overwrites`](Self::overwrites), for the output at `index` alone, counted in the order of the buffers.
    /// Implement it for an op that updates one output and only overwrites another. Called before [`check`](Self::check)
    /// too.
    fn overwrites_each(&self, writes: &Spans<WritesOf<Self>>, index: usize) -> bool {
        let _ = index;
        self.overwrites(writes)
    }

    /// Whether the op writes the first part of an output, and later ops write the rest. Then the output's earlier
    /// contents do not matter, as if this op wrote all of it.
    #[doc(hidden)]
    fn begins_anew(&self) -> bool {
        false
    }

    /// Whether the host half is short and should run on the submitting thread, if it has no unfinished dependencies.
    #[doc(hidden)]
    fn is_prompt(&self) -> bool {
        false
    }

    /// The element types that the op reads and writes, if they differ from the declared ones.
    #[doc(hidden)]
    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        (Self::Reads::DTYPES, <WritesOf<Self>>::DTYPES)
    }

    /// What the op runs, if its name does not say it: for a launch, the kernel.
    #[doc(hidden)]
    fn subject(&self) -> Option<&'static &'static str> {
        None
    }

    /// The name of an operand in error messages, if [`OPERANDS`](Self::OPERANDS) cannot give it.
    #[doc(hidden)]
    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        let _ = (index, read_count);
        None
    }

    /// How much work the op is, for traces. An isolated host device runs small work (some KiB) on the thread that
    /// received it, because waking another thread takes longer. Work that waits for something should return the
    /// default.
    fn cost(&self) -> Cost {
        Cost::default()
    }

    /// Names the plans that the op needs. They are built before its CUDA half runs. Called on a GPU, after
    /// [`check`](Self::check), if [`PREPARED`](Self::PREPARED) is true. The same op must name the same plans each time.
    fn prepare(&self, reads: &Spans<Self::Reads>, writes: &Spans<WritesOf<Self>>, plans: &mut Prepare<'_>) {
        let _ = (reads, writes, plans);
    }

    /// Called after a phase of an op that is [`OpKind::Phased`]: reads the phase's result, and makes the buffers that the
    /// next phase writes. Runs on a helper thread of a GPU, when the phase is complete.
    ///
    /// # Errors
    /// Any error: the dispatch fails with it, and the buffers made so far are dropped.
    fn next(&self, phase: usize, raw: &Self::Raw, make: &mut Make<'_>) -> Result<Next> {
        let _ = (phase, raw, make);
        Ok(Next::Last)
    }

    /// Whether the op can be part of a recorded graph, and if not, why. By default, every op whose CUDA half only
    /// enqueues can.
    ///
    /// # Errors
    /// The reason, as a static sentence.
    fn capturable(&self) -> Result<(), &'static str> {
        match Self::KIND {
            OpKind::Enqueue => Ok(()),
            _ => Err("its CUDA half waits for the GPU"),
        }
    }

    /// Runs the op on the CPU, in the host device's own thread pool. It may use rayon, but must not dispatch or wait.
    ///
    /// # Errors
    /// Any failure of the work itself.
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<Self::Raw>;

    /// As [`host`](Self::host), for an op that makes buffers ([`OpKind::Phased`]). The device calls this method.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    fn host_made(
        &self,
        reads: Slices<'_, Self>,
        writes: SlicesMut<'_, Self>,
        make: &mut Make<'_>,
    ) -> Result<Self::Raw> {
        let _ = make;
        self.host(reads, writes)
    }

    /// Enqueues the op on a stream of the GPU. Must not wait for anything, unless the op is [`OpKind::Blocking`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless it is implemented.
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let _ = queue;
        Err(Error::unsupported(format!("`{}` cannot run on a GPU: `Op::cuda` is not implemented", Self::NAME)))
    }

    /// Returns the part of the op that must outlive its pending. Called once, when the work has been enqueued on a GPU.
    /// An op that needs to be dropped ([`Drop`]) is kept as a whole until its work is complete, unless it names here
    /// the part that the device needs.
    #[doc(hidden)]
    fn keeps(&mut self) -> Retention {
        if std::mem::needs_drop::<Self>() { Retention::ALL } else { Retention::NOTHING }
    }

    /// How the op is sent to the worker process of an isolated device: [`Wire::plain`] for an op that derives serde's
    /// traits. If this is `None`, the default, an isolated device refuses the op with [`Error::Unsupported`].
    fn wire() -> Option<Wire<Self>> {
        None
    }

    /// Turns what the device returned into the host part of the result. Runs on the waiting thread, the same way on
    /// every engine. Numerical verdicts are given here: `info > 0` becomes [`Error::Singular`].
    ///
    /// # Errors
    /// The numerical verdict.
    fn finish(&self, raw: Self::Raw) -> Result<HostOf<Self>>;

    /// As [`finish`](Self::finish), for an op that has made buffers. The device calls this method.
    ///
    /// # Errors
    /// The numerical verdict.
    fn conclude(&self, raw: Self::Raw, made: &mut Made) -> Result<HostOf<Self>> {
        let _ = made;
        self.finish(raw)
    }
}

/// Where the operands lie: first those that are read, then those that are written.
pub(crate) type SpansOf<O> = (Spans<<O as Op>::Reads>, Spans<WritesOf<O>>);
/// What an op's host half reads.
pub type Slices<'a, O> = <<O as Op>::Reads as Elems>::Slices<'a>;
/// What an op's host half writes.
pub type SlicesMut<'a, O> = <WritesOf<O> as Elems>::SlicesMut<'a>;
/// The operands that a caller passes to be read.
pub type Ins<'a, O> = <<O as Op>::Reads as Elems>::Ins<'a>;
/// The buffers that a caller moves in to be written.
pub type Outs<O> = Bufs<<O as Op>::Output>;
/// The element types an op writes.
pub type WritesOf<O> = <<O as Op>::Output as Output>::Writes;
/// The host part of an op's result.
pub type HostOf<O> = <<O as Op>::Output as Output>::Host;
