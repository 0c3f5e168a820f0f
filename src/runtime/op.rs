//! What one unit of device work is.

mod contained;
mod internal;
mod kind;
mod made;
pub(crate) mod plan;

pub(crate) use contained::{Contained, contained, cost_of, guarded};
pub(crate) use internal::Internal;
pub use kind::Kind;
pub use made::{Made, Make, Next};
pub use plan::{Built, PlanKey, Prepare};

use crate::buffer::{DeviceBuffer, Elems};
use crate::cuda_enqueue::Enqueue;
use crate::{DType, Element, Error, Result, Wire};

/// One unit of device work, as plain data.
///
/// An op names its operands as tuples of element types; the buffers themselves are arguments of
/// [`Device::dispatch`](crate::Device::dispatch). It holds everything else (sizes, scalars, flags), checks itself, and
/// carries out itself on each engine, both halves side by side. The trait is safe: users write their own ops, and every
/// promise of the library holds for them.
///
/// An op is dropped on whatever thread is last to know of it, some time after its work is done: the host device's buffers
/// remember the op that wrote them last until another comes or they are dropped. So what it captures should be no
/// reservation that others wait for.
///
/// **A panic** in anything written here stays the operation's: it answers [`Error::Panicked`], refused where it was not yet
/// submitted, with the buffers. One in the op's `Drop` goes no further than that.
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

    /// How much work it is, for traces; and on an isolated host device, what is said to be small (some KiB) is done by the
    /// thread that read its order, since to wake another takes longer. Of work that waits for something say nothing.
    fn cost(&self) -> Cost {
        Cost::default()
    }

    /// Says which plans it needs; they are built before its CUDA half runs. Asked on a GPU, after [`check`](Self::check),
    /// where [`PREPARED`](Self::PREPARED) is true; the same op must say the same each time.
    fn prepare(&self, reads: &Spans<Self::Reads>, writes: &Spans<WritesOf<Self>>, plans: &mut Prepare<'_>) {
        let _ = (reads, writes, plans);
    }

    /// After a phase of an op that is [`Kind::Phased`]: looks at what it left, and makes the buffers that the next one
    /// writes. Runs on a helper thread of a GPU, when the phase is over.
    ///
    /// # Errors
    /// Whatever is wrong with it: the dispatch fails with that, and the buffers made so far go.
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

    /// How it crosses to the worker process of an isolated device: [`Wire::plain`] for an op that derives serde's
    /// traits. `None`, as unless written: such a device answers [`Error::Unsupported`].
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

/// What of an op the device needs until its work is over. Opaque.
#[doc(hidden)]
pub struct Retention(Kept);

enum Kept {
    Nothing,
    #[cfg(feature = "cuda")]
    This(crate::sync::Arc<dyn crate::cuda::KeepAlive>),
    All,
}

impl Retention {
    pub(crate) const NOTHING: Self = Retention(Kept::Nothing);
    pub(crate) const ALL: Self = Retention(Kept::All);

    /// This alone.
    #[cfg(feature = "cuda")]
    pub(crate) fn this(cargo: crate::sync::Arc<dyn crate::cuda::KeepAlive>) -> Self {
        Retention(Kept::This(cargo))
    }

    /// What the ring gets to hold, of a task that has the op.
    #[cfg(feature = "cuda")]
    pub(crate) fn cargo<T: crate::cuda::KeepAlive + 'static>(
        self,
        task: &crate::sync::Arc<T>,
    ) -> Option<crate::sync::Arc<dyn crate::cuda::KeepAlive>> {
        match self.0 {
            Kept::Nothing => None,
            Kept::This(cargo) => Some(cargo),
            Kept::All => Some(task.clone()),
        }
    }
}

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

/// How device buffers and host values make an answer.
///
/// Implemented for one or several [`DeviceBuffer`]s, for a scalar, for `Vec<T>` and `()`. Implement it for a type of
/// your own when an op gives a typed result (factors with their pivots).
pub trait Output: Sized {
    /// The element types of the buffers in it.
    type Writes: Elems;
    /// What only the wait can bring: a scalar, host data; `()` where nothing is left to report.
    type Host: Send;

    /// Puts it together, on the waiter's thread.
    ///
    /// # Errors
    /// Only where data still has to arrive on the host.
    fn join(buffers: Bufs<Self>, host: Self::Host) -> Result<Self>;

    /// The host's part can begin before the device is done: it waits for its own pieces in `join`.
    #[doc(hidden)]
    const EAGER: internal::Internal = internal::Internal::NO;
}

/// An output that is complete when it is submitted: nothing is left to report, so the next op may simply follow.
///
/// [`PendingDispatch::into_output`](crate::PendingDispatch::into_output) exists only for these. Do not implement it
/// for an output whose op can give a numerical verdict.
pub trait Immediate: Output<Host = ()> {
    /// Puts it together at submission.
    fn assemble(buffers: Bufs<Self>) -> Self;
}

impl<T: Element> Output for DeviceBuffer<T> {
    type Writes = (T,);
    type Host = ();
    fn join((buffer,): (DeviceBuffer<T>,), _: ()) -> Result<Self> {
        Ok(buffer)
    }
}
impl<T: Element> Immediate for DeviceBuffer<T> {
    fn assemble((buffer,): (DeviceBuffer<T>,)) -> Self {
        buffer
    }
}

impl Output for () {
    type Writes = ();
    type Host = ();
    fn join(_: (), _: ()) -> Result<Self> {
        Ok(())
    }
}

impl<T: Element> Output for T {
    type Writes = ();
    type Host = T;
    fn join(_: (), host: T) -> Result<Self> {
        Ok(host)
    }
}

/// A place, where there is one.
impl Output for Option<usize> {
    type Writes = ();
    type Host = Self;
    fn join(_: (), host: Self) -> Result<Self> {
        Ok(host)
    }
}

macro_rules! buffer_tuples { ($(($($t:ident),*))*) => { $(
    impl<$($t: Element),*> Output for ($(DeviceBuffer<$t>,)*) {
        type Writes = ($($t,)*);
        type Host = ();
        fn join(buffers: Self, _: ()) -> Result<Self> {
            Ok(buffers)
        }
    }
    impl<$($t: Element),*> Immediate for ($(DeviceBuffer<$t>,)*) {
        fn assemble(buffers: Self) -> Self {
            buffers
        }
    }
)* } }
buffer_tuples! {
    (A, B)(A, B, C)(A, B, C, D)(A, B, C, D, E)(A, B, C, D, E, F)(A, B, C, D, E, F, G)(A, B, C, D, E, F, G, H)
}

impl<T: Element> Output for Vec<DeviceBuffer<T>> {
    type Writes = (crate::buffer::List<T>,);
    type Host = ();
    fn join((buffers,): (Vec<DeviceBuffer<T>>,), _: ()) -> Result<Self> {
        Ok(buffers)
    }
}
impl<T: Element> Immediate for Vec<DeviceBuffer<T>> {
    fn assemble((buffers,): (Vec<DeviceBuffer<T>>,)) -> Self {
        buffers
    }
}

pub(crate) use crate::dispatch::raw::Index;
pub use crate::dispatch::raw::Raw;
