//! References to an operation without its type.

use super::facts::{OpAddress, Overwrites, Properties, Query, QueryResult};
use super::{Facts, Op, SpansOf};
use crate::core::buffer::Shape;
use crate::core::error::Result;
#[cfg(feature = "cuda")]
use crate::core::op::Next;
#[cfg(target_os = "linux")]
use crate::core::op::Outgoing;
use crate::core::op::raw::Landing;
use crate::core::op::{AnyOp, Cost, Make, guarded};
use crate::core::trace::OpInfo;
#[cfg(feature = "cuda")]
use crate::engines::op::{Prepare, QueueRef};
use std::any::TypeId;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// An operation.
#[derive(Clone, Copy)]
pub(crate) struct OpRef<'a> {
    facts: &'static Facts,
    at: NonNull<u8>,
    _borrow: PhantomData<&'a ()>,
}

/// An operation and its operands' spans.
#[derive(Clone, Copy)]
pub(crate) struct Operation<'a> {
    op: OpRef<'a>,
    spans: NonNull<u8>,
}

impl Facts {
    /// For traces; without the op, what is known of all such ops.
    pub(crate) fn info(&self, op: Option<OpRef<'_>>, label: Option<&'static str>, stream: Option<usize>) -> OpInfo {
        let Cost { flops, bytes } = op.map(OpRef::cost).unwrap_or_default();
        let dtypes = op.map(|op| op.ask(Query::DTypes));
        let (reads, writes) = if let Some(QueryResult::DTypes(dtypes)) = dtypes { dtypes } else { self.dtypes };
        let kernel = op.and_then(|op| op.properties().subject).copied();
        let (op, library) = (self.name, self.library);
        OpInfo { number: 0, op, library, kernel, reads, writes, stream, label, flops, bytes, ran: None }
    }
}

impl<'a> OpRef<'a> {
    /// # Safety
    /// At `at` lies an operation of the table's type, borrowed for `'a`.
    #[inline]
    pub(super) unsafe fn new(facts: &'static Facts, at: NonNull<u8>) -> Self {
        OpRef { facts, at, _borrow: PhantomData }
    }

    /// The operation, if it is of the table's type.
    pub(crate) fn of_any(facts: &'static Facts, any: AnyOp<'a>) -> Option<Self> {
        // SAFETY: it is of the table's type, and borrowed as long.
        (any.id() == (facts.id)()).then(|| unsafe { OpRef::new(facts, any.address()) })
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn facts(self) -> &'static Facts {
        self.facts
    }

    #[inline]
    pub(crate) fn any(self) -> AnyOp<'a> {
        // SAFETY: the table has the id of the operation's type.
        unsafe { AnyOp::new(self.at, self.facts.id) }
    }

    #[inline]
    pub(crate) fn properties(self) -> Properties {
        // SAFETY: here lies an operation of the table's type.
        unsafe { (self.facts.properties)(self.at) }
    }

    fn ask(self, query: Query) -> QueryResult {
        let mut result = QueryResult::Nothing;
        // SAFETY: here lies an operation of the table's type.
        unsafe { (self.facts.query)(self.at, query, &mut result) };
        result
    }

    /// The op's own [`Cost`]; the default if [`Op::cost`](crate::op::Op::cost) panics.
    pub(crate) fn cost(self) -> Cost {
        let mut cost = Cost::default();
        let _ = guarded(&mut || {
            if let QueryResult::Cost(own) = self.ask(Query::Cost) {
                cost = own;
            }
            Ok(())
        });
        cost
    }

    /// See [`Op::capturable`](crate::op::Op::capturable).
    pub(crate) fn capturable(self) -> Result<(), &'static str> {
        if let QueryResult::Capturable(answer) = self.ask(Query::Capturable) { answer } else { Ok(()) }
    }

    /// See [`Op::next`](crate::op::Op::next).
    #[cfg(feature = "cuda")]
    pub(crate) fn next(self, phase: usize, landing: Landing, make: &mut Make<'_>) -> Result<Next> {
        match self.facts.next {
            // SAFETY: here lies an operation of the table's type.
            Some(next) => unsafe { next(self.at, phase, landing, make) },
            None => Ok(Next::Last),
        }
    }

    /// Appends the op in the form in which it crosses to another process. False: it cannot.
    #[cfg(target_os = "linux")]
    pub(crate) fn encode(self, out: &mut Outgoing) -> Result<bool> {
        // SAFETY: here lies an operation of the table's type.
        unsafe { (self.facts.cross)(super::facts::Crossing::Encode(self.at, out)) }
    }

    /// The name of its type, by which another executable finds the op.
    #[cfg(target_os = "linux")]
    pub(crate) fn type_name(self) -> &'static str {
        if let QueryResult::TypeName(name) = self.ask(Query::TypeName) { name } else { self.facts.name }
    }
}

impl<'a> Operation<'a> {
    /// # Safety
    /// As of [`OpRef::new`], also for the spans.
    #[inline]
    pub(super) unsafe fn new(facts: &'static Facts, op: NonNull<u8>, spans: NonNull<u8>) -> Self {
        // SAFETY: the caller's promise.
        Operation { op: unsafe { OpRef::new(facts, op) }, spans }
    }

    pub(crate) fn of<O: Op>(op: &'a O, spans: &'a SpansOf<O>) -> Self {
        // SAFETY: both are of the table's type, and borrowed as long.
        unsafe { Operation::new(Facts::of::<O>(), NonNull::from(op).cast(), NonNull::from(spans).cast()) }
    }

    #[inline]
    pub(crate) fn op(self) -> OpRef<'a> {
        self.op
    }

    #[inline]
    fn at(self) -> OpAddress {
        OpAddress { op: self.op.at, spans: self.spans }
    }

    /// Both with their types.
    pub(crate) fn downcast<O: Op>(self) -> Option<(&'a O, &'a SpansOf<O>)> {
        // SAFETY: the table's type is `O`, and both lie here.
        ((self.op.facts.id)() == TypeId::of::<O>()).then(|| unsafe { self.at().parts::<O>() })
    }

    /// See [`Op::operand_name`](crate::op::Op::operand_name).
    pub(crate) fn operand_name(self, index: usize, read_count: usize) -> String {
        if let QueryResult::Operand(Some(name)) = self.op.ask(Query::Operand(index, read_count)) {
            return name;
        }
        let mut shape = Shape::new();
        let of_reads = self.shape(&mut shape);
        self.op.facts.declared_name(index, read_count, shape.split_at_checked(of_reads).unwrap_or_default())
    }

    /// See [`Op::overwrites_each`](crate::op::Op::overwrites_each) and [`Op::begins_anew`](crate::op::Op::begins_anew).
    #[inline]
    pub(crate) fn overwrites(self, index: usize) -> Overwrites {
        // SAFETY: here lie an operation of the table's type and its spans.
        unsafe { (self.op.facts.overwrites)(self.at(), index) }
    }

    /// See [`Op::check`](crate::op::Op::check).
    #[inline]
    pub(crate) fn check(self) -> Result<()> {
        // SAFETY: as above.
        unsafe { (self.op.facts.check)(self.at()) }
    }

    /// Runs the host half; with `make`, the op may make buffers.
    ///
    /// # Safety
    /// [`check`](Self::check) has admitted it, with operands of these types and lengths. They lie in live memory of this process; no
    /// other code writes what is read, and no other code accesses what is written.
    #[cfg(feature = "host")]
    pub(crate) unsafe fn host(self, make: Option<&mut Make<'_>>) -> Result<Landing> {
        // SAFETY: as above; and the caller guarantees the rest.
        unsafe { (self.op.facts.host)(self.at(), make) }
    }

    /// See [`Op::cuda`](crate::op::Op::cuda).
    #[cfg(feature = "cuda")]
    #[inline]
    pub(crate) fn cuda(self, queue: QueueRef<'_>) -> Result<()> {
        // SAFETY: as above.
        unsafe { (self.op.facts.cuda)(self.at(), queue) }
    }

    /// See [`Op::prepare`](crate::op::Op::prepare).
    #[cfg(feature = "cuda")]
    pub(crate) fn prepare(self, plans: &mut Prepare<'_>) {
        if let Some(prepare) = self.op.facts.prepare {
            // SAFETY: as above.
            unsafe { prepare(self.at(), plans) };
        }
    }

    /// Appends the operand counts that the types of the operands do not determine; returns how many words are of the reads.
    pub(crate) fn shape(self, shape: &mut Shape) -> usize {
        // SAFETY: as above.
        unsafe { (self.op.facts.shape)(self.spans, shape) }
    }
}
