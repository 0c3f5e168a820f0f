//! What one unit of device work is.

mod contained;
mod internal;
mod kind;
mod made;
mod output;
pub(crate) mod plan;
mod retention;

pub(crate) use contained::{Contained, contained, cost_of, guarded};
pub(crate) use internal::Internal;
pub use kind::Kind;
pub use made::{Made, Make, Next};
pub use output::{Immediate, Output};
pub use plan::{Built, PlanKey, Prepare};
pub(crate) use retention::Retention;

use crate::buffer::Elems;
use crate::cuda_enqueue::Enqueue;
pub(crate) use crate::dispatch::raw::Index;
pub use crate::dispatch::raw::Raw;
use crate::{DType, Error, Result, Wire};

/// One unit of device work, as plain data.
///
/// An op names its operands as tuples of element types; the buffers themselves are arguments of
/// [`Device::dispatch`](crate::Device::dispatch). It holds everything else (sizes, scalars, flags), checks itself, and
/// carries out itself on each engine, both halves side by side. The trait is safe: users write their own ops, and every
/// promise of the library holds for them.
///
/// An op is dropped by the last thread that refers to it, some time after its work is done: a buffer of a host device keeps the
/// op that wrote it last until another op writes it or the buffer is dropped. So an op should not own what others wait for, such
/// as a lock.
///
/// **A panic** in a method of this trait is caught: the dispatch fails with [`Error::Panicked`], with the buffers where it was
/// not submitted yet. A panic in the op's `Drop` is caught too.
///
/// ```
/// use windlass::{Device, Error, Op, Result, Slices, SlicesMut, Spans, DeviceBuffer};
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
/// let y = device.dispatch(Square, (x.as_in(),), (device.uninit(3)?,))?.await_result()?;
/// assert_eq!(device.download(&y)?.await_result()?, [1.0, 4.0, 9.0]);
/// # Ok(()) }
/// ```
pub trait Op: Sized + Send + Sync + 'static {
    /// The operation's name, as the field has it: `gemm`, `getrf`.
    const NAME: &'static str;
    /// The library it belongs to: `blas`, `solver`, ...
    const LIBRARY: &'static str = "user";
    /// What the calls in its CUDA half do to the thread that makes them.
    const KIND: Kind = Kind::Enqueue;
    /// It needs plans: [`prepare`](Self::prepare) is asked.
    const PREPARED: bool = false;
    /// Its library has a pool of handles, each with a stream of its own, and it uses one of them.
    #[doc(hidden)]
    const POOLED: internal::Internal = internal::Internal::NO;
    /// It reads buffers of another device of the same kind: the library's own copies between devices.
    #[doc(hidden)]
    const FROM_PEER: internal::Internal = internal::Internal::NO;
    /// One of its operands stands for something without an owner: submissions that write it exclude the others.
    #[doc(hidden)]
    const GATED: internal::Internal = internal::Internal::NO;
    /// It writes its outputs only to come between others: when it fails, they are what they were.
    #[doc(hidden)]
    const PRESERVES_ON_FAILURE: internal::Internal = internal::Internal::NO;
    /// The outputs, by their places, that it uses as memory to work in: what they hold afterwards is undefined. As if they had
    /// never been written, they are refused to whatever would read them, until something overwrites them.
    const LEAVES_UNDEFINED: &'static [usize] = &[];
    /// What errors call its operands: those of [`Reads`](Self::Reads), then those that it writes, in order. They are the names
    /// of the arguments as the caller knows them. An operand without a name is `input 0` or `output 0`, by its place.
    const OPERANDS: OperandNames = (&[], &[]);
    /// The element types it reads.
    type Reads: Elems;
    /// What it gives; which buffers it writes is part of that.
    type Output: Output;
    /// What the device leaves for the host: a scalar, `info`.
    type Raw: Raw;

    /// Looks at sizes, strides and lengths, with checked arithmetic. Runs before anything native; an error here costs
    /// nothing and gives the moved-in buffers back.
    ///
    /// # Errors
    /// Usually [`Error::InvalidArgument`], naming the argument and both values.
    fn check(&self, reads: &Spans<Self::Reads>, writes: &Spans<WritesOf<Self>>) -> Result<()>;

    /// It writes every byte of its outputs and reads none of them: what they hold, and whether their earlier writer
    /// failed, does not matter.
    ///
    /// Asked before [`check`](Self::check), of every submission: sizes may be anything, so sums and products of them are
    /// checked, as there.
    fn overwrites(&self, writes: &Spans<WritesOf<Self>>) -> bool {
        let _ = writes;
        false
    }

    /// [`overwrites`](Self::overwrites), for the output at `index` alone, in the order of the buffers. For an op that
    /// updates one output and only writes another. Asked before [`check`](Self::check) too.
    fn overwrites_each(&self, writes: &Spans<WritesOf<Self>>, index: usize) -> bool {
        let _ = index;
        self.overwrites(writes)
    }

    /// It writes a part of its output, and those that follow write the rest: what was there does not matter, as if this one
    /// wrote it all.
    #[doc(hidden)]
    fn begins_anew(&self) -> bool {
        false
    }

    /// The host's part is short, and wants to be done by the submitting thread where nothing is before it.
    #[doc(hidden)]
    fn is_prompt(&self) -> bool {
        false
    }

    /// The element types it reads and writes, where they are not those of the declaration.
    #[doc(hidden)]
    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        (Self::Reads::DTYPES, <WritesOf<Self>>::DTYPES)
    }

    /// What it is done with, where the name of the op does not say: the kernel of a launch.
    #[doc(hidden)]
    fn subject(&self) -> Option<&'static &'static str> {
        None
    }

    /// What errors call an operand where [`OPERANDS`](Self::OPERANDS) cannot tell.
    #[doc(hidden)]
    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        let _ = (index, read_count);
        None
    }

    /// How much work it is, for traces. On an isolated host device, small work (some KiB) runs on the thread that received it,
    /// because waking another thread takes longer. Work that waits for something should return the default.
    fn cost(&self) -> Cost {
        Cost::default()
    }

    /// Names the plans that it needs; they are built before its CUDA half runs. Called on a GPU, after [`check`](Self::check),
    /// where [`PREPARED`](Self::PREPARED) is true; the same op must name the same plans each time.
    fn prepare(&self, reads: &Spans<Self::Reads>, writes: &Spans<WritesOf<Self>>, plans: &mut Prepare<'_>) {
        let _ = (reads, writes, plans);
    }

    /// After a phase of an op that is [`Kind::Phased`]: reads the phase's result, and makes the buffers that the next phase
    /// writes. Runs on a helper thread of a GPU, when the phase is complete.
    ///
    /// # Errors
    /// Any error: the dispatch fails with it, and the buffers made so far are dropped.
    fn next(&self, phase: usize, raw: &Self::Raw, make: &mut Make<'_>) -> Result<Next> {
        let _ = (phase, raw, make);
        Ok(Next::Last)
    }

    /// Whether it can be part of a recorded graph, and if not, why. By default each op whose CUDA half only enqueues.
    ///
    /// # Errors
    /// The reason: a static sentence.
    fn capturable(&self) -> Result<(), &'static str> {
        match Self::KIND {
            Kind::Enqueue => Ok(()),
            _ => Err("a call in its CUDA half waits for the GPU"),
        }
    }

    /// Does it on the CPU. Runs on the host device's own pool: it may use rayon, but never dispatches or waits.
    ///
    /// # Errors
    /// Whatever the work itself can fail with.
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<Self::Raw>;

    /// [`host`](Self::host) for an op that makes buffers: [`Kind::Phased`]. The device calls this one.
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

    /// Enqueues it on a stream of the GPU, without waiting for anything, unless it is [`Kind::Blocking`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless it is written.
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let _ = queue;
        Err(Error::unsupported(format!("`{}` has no CUDA half", Self::NAME)))
    }

    /// What of it must outlive its pending, asked once when its work was enqueued on a GPU. An op that owns something
    /// ([`Drop`]) is held as a whole until its work is over, unless it says what of it the device needs.
    #[doc(hidden)]
    fn keeps(&mut self) -> Retention {
        if std::mem::needs_drop::<Self>() { Retention::ALL } else { Retention::NOTHING }
    }

    /// How it crosses to the worker process of an isolated device: [`Wire::plain`] for an op that derives serde's traits. With
    /// `None`, the default, an isolated device refuses the op with [`Error::Unsupported`].
    fn wire() -> Option<Wire<Self>> {
        None
    }

    /// Turns what the device left into the host's part of the answer, on the waiter's thread, on every engine the same
    /// way. A numerical verdict is given here: `info > 0` becomes [`Error::Singular`].
    ///
    /// # Errors
    /// The verdict.
    fn finish(&self, raw: Self::Raw) -> Result<HostOf<Self>>;

    /// [`finish`](Self::finish) for an op that has made buffers. The device calls this one.
    ///
    /// # Errors
    /// The verdict.
    fn conclude(&self, raw: Self::Raw, made: &mut Made) -> Result<HostOf<Self>> {
        let _ = made;
        self.finish(raw)
    }
}

/// The names of operands that are read, and of those that are written.
pub type OperandNames = (&'static [&'static str], &'static [&'static str]);

/// How much work an op is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Floating-point (or integer) operations.
    pub flops: u64,
    /// Bytes that must move at least: each input read once, each output written once.
    pub bytes: u64,
}

/// Where the operands of a tuple lie.
pub type Spans<E> = <E as Elems>::Spans;
/// What an op's host half reads.
pub type Slices<'a, O> = <<O as Op>::Reads as Elems>::Slices<'a>;
/// What an op's host half writes.
pub type SlicesMut<'a, O> = <WritesOf<O> as Elems>::SlicesMut<'a>;
/// What a caller passes to be read.
pub type Ins<'a, O> = <<O as Op>::Reads as Elems>::Ins<'a>;
/// What a caller moves in to be written.
pub type Outs<O> = Bufs<<O as Op>::Output>;
/// The element types an op writes.
pub type WritesOf<O> = <<O as Op>::Output as Output>::Writes;
/// The host's part of an op's answer.
pub type HostOf<O> = <<O as Op>::Output as Output>::Host;
/// The buffers inside an output.
pub type Bufs<O> = <<O as Output>::Writes as Elems>::Bufs;
