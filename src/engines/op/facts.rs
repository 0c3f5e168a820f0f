//! What is compiled for each operation and its types: a table of constants and functions. All else of a dispatch is compiled
//! once, with the library, and takes the operation without its type.

use super::{Op, SpansOf, WritesOf};
#[cfg(target_os = "linux")]
use crate::core::buffer::Receive;
use crate::core::buffer::{Elems, Places, Shape};
use crate::core::dispatch::Conclude;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::raw::Landing;
use crate::core::op::{AnyOp, Cost, Made, Make, OpKind, OperandNames, Output, Raw};
#[cfg(target_os = "linux")]
use crate::core::op::{Incoming, Outgoing};
#[cfg(feature = "cuda")]
use crate::core::op::{Next, Retention};
#[cfg(feature = "cuda")]
use crate::engines::op::{Enqueue, Prepare, QueueRef};
use crate::engines::tape::Fuse;
use std::alloc::Layout;
use std::any::{Any, TypeId};
use std::ptr::NonNull;

/// Where an operation lies, and where its operands' spans.
///
/// All functions of the table that take it are unsafe for one reason: there lie an operation of the table's type and its
/// spans, borrowed for the call.
#[derive(Clone, Copy)]
pub(crate) struct OpAddress {
    pub(super) op: NonNull<u8>,
    pub(super) spans: NonNull<u8>,
}

impl OpAddress {
    /// # Safety
    /// See [`OpAddress`]. The borrows end before the two are moved or changed.
    pub(crate) unsafe fn parts<'a, O: Op>(self) -> (&'a O, &'a SpansOf<O>) {
        // SAFETY: the caller's promise.
        unsafe { (self.op.cast().as_ref(), self.spans.cast().as_ref()) }
    }
}

/// Marks a table, so that a distance that leads to something else is detected: orders to a worker name an operation by the
/// place of its table in the executable.
#[cfg(target_os = "linux")]
pub(crate) const MARK: [u64; 2] = [0x7769_6e64_6c61_7373, 0x5e1f_9c3a_d27b_8846];

/// See [`Op::next`].
#[cfg(feature = "cuda")]
type NextPhase = unsafe fn(NonNull<u8>, usize, Landing, &mut Make<'_>) -> Result<Next>;

/// The table of an operation. Two tables of one type are alike, but may lie at different addresses.
#[repr(C)]
pub(crate) struct Facts {
    /// [`MARK`]; first, where it is looked for.
    #[cfg(target_os = "linux")]
    pub(super) mark: [u64; 2],
    pub(crate) name: &'static str,
    /// The same, for what keeps a reference to it.
    pub(crate) title: &'static &'static str,
    pub(crate) library: &'static str,
    pub(crate) kind: OpKind,
    pub(crate) prepared: bool,
    pub(crate) pooled: bool,
    pub(crate) in_host_programs: bool,
    /// See [`Op::ACROSS_DEVICES`](crate::op::Op::ACROSS_DEVICES).
    pub(crate) across: bool,
    pub(crate) gated: bool,
    pub(crate) preserves_on_failure: bool,
    /// See [`Op::LEAVES_UNDEFINED`](crate::op::Op::LEAVES_UNDEFINED).
    pub(crate) leaves_undefined: &'static [usize],
    /// The op may have any number of operands.
    pub(crate) listed: bool,
    /// Bytes of the slot for the raw result.
    pub(crate) raw_bytes: usize,
    pub(crate) bulk: bool,
    /// See [`Output::EAGER`].
    pub(crate) eager: bool,
    pub(crate) fuse: Fuse,
    /// See [`Op::OPERANDS`].
    pub(super) operands: OperandNames,
    /// See [`Elems::OPEN`], of what it reads and of what it writes.
    pub(super) open: [&'static [bool]; 2],
    /// The declared element types.
    pub(super) dtypes: (&'static [DType], &'static [DType]),

    /// The memory of an op, and of an op with the spans behind it.
    pub(super) op: Layout,
    pub(super) both: Layout,
    /// Where the spans begin in the latter, and how long they are.
    pub(super) spans_at: usize,
    pub(super) spans: usize,

    pub(super) id: fn() -> TypeId,
    pub(super) properties: unsafe fn(NonNull<u8>) -> Properties,
    pub(super) query: unsafe fn(NonNull<u8>, Query, &mut QueryResult),
    pub(super) overwrites: unsafe fn(OpAddress, usize) -> Overwrites,
    pub(super) check: unsafe fn(OpAddress) -> Result<()>,
    #[cfg(feature = "host")]
    pub(super) host: unsafe fn(OpAddress, Option<&mut Make<'_>>) -> Result<Landing>,
    #[cfg(feature = "cuda")]
    pub(super) cuda: unsafe fn(OpAddress, QueueRef<'_>) -> Result<()>,
    /// `None` for an op without plans.
    #[cfg(feature = "cuda")]
    pub(super) prepare: Option<unsafe fn(OpAddress, &mut Prepare<'_>)>,
    /// `None` for an op without phases.
    #[cfg(feature = "cuda")]
    pub(super) next: Option<NextPhase>,
    #[cfg(feature = "cuda")]
    pub(super) keeps: unsafe fn(NonNull<u8>) -> Retention,
    #[cfg(target_os = "linux")]
    pub(super) cross: unsafe fn(Crossing<'_, '_>) -> Result<bool>,
    /// The [`Conclude`] function.
    pub(crate) conclusion: &'static (dyn Any + Send + Sync),
    pub(super) drop: Option<unsafe fn(NonNull<u8>)>,

    // Compiled once for each tuple of operands.
    pub(super) places: unsafe fn(NonNull<u8>, &mut Places<'_>),
    /// Appends what the types leave open; returns how much of it is of the reads.
    pub(super) shape: unsafe fn(NonNull<u8>, &mut Shape) -> usize,
    /// Writes the spans to the address.
    #[cfg(target_os = "linux")]
    pub(super) receive: unsafe fn(NonNull<u8>, &mut Receive<'_, '_>) -> Option<usize>,
    pub(super) drop_spans: Option<unsafe fn(NonNull<u8>)>,
}

/// What the path of a dispatch asks of every op.
pub(crate) struct Properties {
    /// See [`Op::subject`].
    pub(crate) subject: Option<&'static &'static str>,
    /// See [`Op::is_prompt`].
    #[cfg_attr(not(feature = "host"), expect(dead_code, reason = "only the host engine asks"))]
    pub(crate) is_prompt: bool,
}

/// What an op does with the earlier contents of an output.
#[derive(Clone, Copy, Default)]
pub(crate) struct Overwrites {
    /// See [`Op::overwrites_each`].
    pub(crate) all: bool,
    /// See [`Op::begins_anew`].
    pub(crate) begins_anew: bool,
}

/// What is seldom asked of an op.
#[derive(Clone, Copy)]
pub(super) enum Query {
    Cost,
    DTypes,
    Capturable,
    /// The name of an operand: its number, and how many are read.
    Operand(usize, usize),
    #[cfg(target_os = "linux")]
    TypeName,
}

/// The answer to a [`Query`].
pub(super) enum QueryResult {
    Nothing,
    Cost(Cost),
    DTypes((&'static [DType], &'static [DType])),
    Capturable(Result<(), &'static str>),
    Operand(Option<String>),
    #[cfg(target_os = "linux")]
    TypeName(&'static str),
}

/// Whether an op crosses to another process, or one of the two ends of the way.
#[cfg(target_os = "linux")]
pub(super) enum Crossing<'c, 'i> {
    Possible,
    Encode(NonNull<u8>, &'c mut Outgoing),
    /// Writes the op to the address.
    Decode(NonNull<u8>, Incoming<'i>),
}

/// The two in one block.
#[repr(C)]
struct Both<O: Op> {
    op: O,
    spans: SpansOf<O>,
}

impl Facts {
    pub(crate) const fn of<O: Op>() -> &'static Facts {
        const {
            &Facts {
                #[cfg(target_os = "linux")]
                mark: MARK,
                name: O::NAME,
                title: const { &O::NAME },
                library: O::LIBRARY,
                kind: O::KIND,
                prepared: O::PREPARED,
                pooled: O::POOLED.is_yes(),
                in_host_programs: O::IN_HOST_PROGRAMS.is_yes(),
                across: O::ACROSS_DEVICES,
                gated: O::GATED.is_yes(),
                preserves_on_failure: O::PRESERVES_ON_FAILURE.is_yes(),
                leaves_undefined: O::LEAVES_UNDEFINED,
                listed: <O::Reads as Elems>::LISTED || <WritesOf<O> as Elems>::LISTED,
                raw_bytes: O::Raw::BYTES,
                bulk: O::Raw::BULK,
                eager: O::Output::EAGER.is_yes(),
                fuse: O::FUSE,
                operands: O::OPERANDS,
                open: [O::Reads::OPEN, <WritesOf<O>>::OPEN],
                dtypes: (O::Reads::DTYPES, <WritesOf<O>>::DTYPES),
                op: Layout::new::<O>(),
                both: Layout::new::<Both<O>>(),
                spans_at: std::mem::offset_of!(Both<O>, spans),
                spans: size_of::<SpansOf<O>>(),
                id: TypeId::of::<O>,
                properties: properties::<O>,
                query: query::<O>,
                overwrites: overwrites::<O>,
                check: check::<O>,
                #[cfg(feature = "host")]
                host: host_half::<O>,
                #[cfg(feature = "cuda")]
                cuda: cuda::<O>,
                #[cfg(feature = "cuda")]
                prepare: if O::PREPARED { Some(prepare::<O>) } else { None },
                #[cfg(feature = "cuda")]
                next: if let OpKind::Phased = O::KIND { Some(next::<O>) } else { None },
                #[cfg(feature = "cuda")]
                keeps: keeps::<O>,
                #[cfg(target_os = "linux")]
                cross: cross::<O>,
                conclusion: const { &(conclude::<O> as Conclude<super::HostOf<O>>) },
                drop: if std::mem::needs_drop::<O>() { Some(drop_at::<O>) } else { None },
                places: places::<O::Reads, WritesOf<O>>,
                shape: shape::<O::Reads, WritesOf<O>>,
                #[cfg(target_os = "linux")]
                receive: receive::<O::Reads, WritesOf<O>>,
                drop_spans: if std::mem::needs_drop::<SpansOf<O>>() { Some(drop_at::<SpansOf<O>>) } else { None },
            }
        }
    }

    /// Whether a task of this op holds something that is worth freeing soon.
    #[cfg(feature = "cuda")]
    pub(crate) fn is_of_value(&self) -> bool {
        self.drop.is_some() || self.raw_bytes > 0 || self.eager
    }
}

unsafe fn properties<O: Op>(op: NonNull<u8>) -> Properties {
    // SAFETY: see `OpAddress`.
    let op: &O = unsafe { op.cast().as_ref() };
    Properties { subject: op.subject(), is_prompt: op.is_prompt() }
}

unsafe fn query<O: Op>(op: NonNull<u8>, query: Query, result: &mut QueryResult) {
    // SAFETY: see `OpAddress`.
    let op: &O = unsafe { op.cast().as_ref() };
    *result = match query {
        Query::Cost => QueryResult::Cost(op.cost()),
        Query::DTypes => QueryResult::DTypes(op.dtypes()),
        Query::Capturable => QueryResult::Capturable(op.capturable()),
        Query::Operand(index, read_count) => QueryResult::Operand(op.operand_name(index, read_count)),
        #[cfg(target_os = "linux")]
        Query::TypeName => QueryResult::TypeName(std::any::type_name::<O>()),
    };
}

unsafe fn overwrites<O: Op>(at: OpAddress, index: usize) -> Overwrites {
    // SAFETY: see `OpAddress`.
    let (op, (_, writes)) = unsafe { at.parts::<O>() };
    Overwrites { all: op.overwrites_each(writes, index), begins_anew: op.begins_anew() }
}

unsafe fn check<O: Op>(at: OpAddress) -> Result<()> {
    // SAFETY: see `OpAddress`.
    let (op, (reads, writes)) = unsafe { at.parts::<O>() };
    op.check(reads, writes)
}

#[cfg(feature = "host")]
/// An op's host half; with `make`, the op may make buffers.
///
/// # Safety
/// See [`OpAddress`]. The spans lie in live memory of this process; no other code writes what is read, and no other code accesses
/// what is written.
pub(crate) unsafe fn host_half<O: Op>(at: OpAddress, make: Option<&mut Make<'_>>) -> Result<Landing> {
    // SAFETY: the caller guarantees it.
    let (op, (reads, writes)) = unsafe { at.parts::<O>() };
    // SAFETY: the caller guarantees it.
    let (reads, writes) = unsafe { (O::Reads::slices(reads), <WritesOf<O>>::slices_mut(writes)) };
    let raw = match make {
        Some(make) => op.host_made(reads, writes, make),
        None => op.host(reads, writes),
    };
    raw.map(Raw::leave)
}

#[cfg(feature = "cuda")]
unsafe fn cuda<O: Op>(at: OpAddress, queue: QueueRef<'_>) -> Result<()> {
    // SAFETY: see `OpAddress`; the queue is borrowed for the call too.
    let (op, spans) = unsafe { at.parts::<O>() };
    op.cuda(&mut Enqueue { queue, spans })
}

#[cfg(feature = "cuda")]
unsafe fn prepare<O: Op>(at: OpAddress, plans: &mut Prepare<'_>) {
    // SAFETY: see `OpAddress`.
    let (op, (reads, writes)) = unsafe { at.parts::<O>() };
    op.prepare(reads, writes, plans);
}

#[cfg(feature = "cuda")]
unsafe fn next<O: Op>(op: NonNull<u8>, phase: usize, landing: Landing, make: &mut Make<'_>) -> Result<Next> {
    // SAFETY: see `OpAddress`.
    let op: &O = unsafe { op.cast().as_ref() };
    op.next(phase, &O::Raw::land(landing)?, make)
}

/// The op is borrowed exclusively.
#[cfg(feature = "cuda")]
unsafe fn keeps<O: Op>(op: NonNull<u8>) -> Retention {
    // SAFETY: see `OpAddress`.
    unsafe { op.cast::<O>().as_mut() }.keeps()
}

#[cfg(target_os = "linux")]
unsafe fn cross<O: Op>(what: Crossing<'_, '_>) -> Result<bool> {
    let Some(wire) = O::wire() else { return Ok(false) };
    match what {
        Crossing::Possible => {}
        // SAFETY: see `OpAddress`.
        Crossing::Encode(op, out) => (wire.encode)(unsafe { op.cast::<O>().as_ref() }, out)?,
        Crossing::Decode(to, incoming) => {
            let op = (wire.decode)(incoming)?;
            // SAFETY: the caller has memory for an op there.
            unsafe { to.cast::<O>().write(op) };
        }
    }
    Ok(true)
}

/// The host part of the result.
pub(crate) fn conclude<O: Op>(op: AnyOp<'_>, landing: Landing, made: &mut Made) -> Result<super::HostOf<O>> {
    match op.downcast::<O>() {
        Some(op) => op.conclude(O::Raw::land(landing)?, made),
        None => Err(Error::invalid("later", "it was made for an operation that the program did not take")),
    }
}

unsafe fn drop_at<T>(at: NonNull<u8>) {
    // SAFETY: the caller drops it once, and does not use it any more.
    unsafe { at.cast::<T>().drop_in_place() };
}

/// The spans are borrowed exclusively.
unsafe fn places<R: Elems, W: Elems>(spans: NonNull<u8>, visit: &mut Places<'_>) {
    // SAFETY: see `OpAddress`.
    let (reads, writes) = unsafe { spans.cast::<(R::Spans, W::Spans)>().as_mut() };
    R::places(reads, visit);
    W::places(writes, visit);
}

unsafe fn shape<R: Elems, W: Elems>(spans: NonNull<u8>, shape: &mut Shape) -> usize {
    // SAFETY: see `OpAddress`.
    let (reads, writes) = unsafe { spans.cast::<(R::Spans, W::Spans)>().as_ref() };
    R::shape(reads, shape);
    let of_reads = shape.len();
    W::shape(writes, shape);
    of_reads
}

#[cfg(target_os = "linux")]
unsafe fn receive<R: Elems, W: Elems>(to: NonNull<u8>, from: &mut Receive<'_, '_>) -> Option<usize> {
    let all = from.views.len();
    let reads = R::receive(from)?;
    let read_count = all - from.views.len();
    let spans = (reads, W::receive(from)?);
    // SAFETY: the caller has memory for the spans there.
    unsafe { to.cast::<(R::Spans, W::Spans)>().write(spans) };
    Some(read_count)
}
