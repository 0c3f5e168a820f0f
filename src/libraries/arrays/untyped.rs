//! Formulas over tensors of any type, for calls that have one formula for all of them: compiled once.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::truth::Bool;
use crate::device::Device;
use crate::device::tensor::{AnyTensor, AnyTensorRef, Layout, Tensor};
use crate::libraries::expressions::build::recording::{select as record_select, typed};
use crate::libraries::expressions::build::{Operand, Symbol};
use crate::libraries::expressions::formula::{Recorded, record};
use crate::libraries::expressions::front::{make_one, submit};
use crate::libraries::expressions::ir::{Op, Overflow};
use crate::libraries::expressions::operands::Read;
use crate::libraries::moves::join::place;
use crate::libraries::reductions::ReductionKind;
use crate::libraries::reductions::front::{Call, submit as submit_reduction, tensor_any};
use crate::libraries::reductions::{Bits, Mask};

/// A value of a type that is known when the formula is recorded: the type that it names says nothing.
pub(super) type Value = Symbol<f64>;

/// A value as one of any type.
pub(super) fn value<T>(x: Symbol<T>) -> Value {
    Symbol::new(x.raw)
}

/// The value in this type.
pub(super) fn cast(x: Value, dtype: DType) -> Value {
    match x.raw.dtype() {
        Some(own) if own == dtype => x,
        _ => Symbol::new(typed("cast", x.raw, dtype, |x| Op::Cast(Overflow::Saturate, x))),
    }
}

/// The first value where the condition is true, the second elsewhere; numbers take this type.
pub(super) fn select(condition: Symbol<Bool>, [a, b]: [Operand<f64>; 2], dtype: DType) -> Value {
    Symbol::new(record_select(condition.raw, a.raw, b.raw, dtype))
}

/// The type in which sums of elements of a type are computed.
pub(super) fn wide(dtype: DType) -> DType {
    if dtype.is_narrow() { DType::F32 } else { dtype }
}

/// The type of what a division gives: that of a mean.
pub(super) fn quotient(dtype: DType) -> DType {
    ReductionKind::Mean.result(dtype)
}

/// Records a formula of values of these types.
pub(super) fn recorded<const N: usize>(types: [DType; N], f: impl FnOnce([Value; N]) -> Value) -> Result<Recorded> {
    record(&types, |open| vec![f(std::array::from_fn(|k| Symbol::new(open.input(k)))).raw])
}

/// The elements from number `from` to before `to` of an axis.
pub(super) fn cut<'a>(x: &AnyTensorRef<'a>, axis: usize, from: usize, to: usize) -> Result<AnyTensorRef<'a>> {
    let (front, _) = x.split(axis as isize, to)?;
    Ok(front.split(axis as isize, from)?.1)
}

/// The place of an axis of `x`, and its elements.
pub(super) fn along(x: &AnyTensorRef<'_>, axis: isize) -> Result<(usize, usize)> {
    let axis = place(axis, x.rank())?;
    Ok((axis, x.shape().get(axis).copied().unwrap_or(0)))
}

/// The tensor of this type.
pub(super) fn downcast<T: Element>(x: AnyTensor) -> Result<Tensor<T>> {
    x.downcast().map_err(|_| Error::library("internal error: a result of another type"))
}

/// A formula, and the tensors that it takes.
pub(super) struct Untyped<'a> {
    pub(super) recorded: Recorded,
    pub(super) inputs: Vec<AnyTensorRef<'a>>,
}

impl<'a> Untyped<'a> {
    /// A formula of these tensors.
    pub(super) fn new<const N: usize>(
        inputs: [&AnyTensorRef<'a>; N],
        f: impl FnOnce([Value; N]) -> Value,
    ) -> Result<Self> {
        let recorded = recorded(inputs.map(AnyTensorRef::dtype), f)?;
        Ok(Untyped { recorded, inputs: inputs.map(Clone::clone).into() })
    }

    fn reads(&self) -> Result<Vec<Read<'a>>> {
        self.inputs.iter().map(AnyTensorRef::operand).collect()
    }

    fn extents(&self) -> Result<Vec<usize>> {
        Layout::broadcast_extents(&self.inputs.iter().map(AnyTensorRef::shape).collect::<Vec<_>>())
    }

    /// A tensor of what it computes, whose type is `R`.
    pub(super) fn make<R: Element>(self, device: &Device) -> Result<PendingDispatch<Tensor<R>>> {
        let (reads, extents) = (self.reads()?, self.extents()?);
        make_one(device, self.recorded, &reads, &extents)
    }

    /// A tensor of what it computes.
    pub(super) fn any(self, device: &Device) -> Result<AnyTensor> {
        let (reads, layout) = (self.reads()?, Layout::row_major(self.extents()?)?);
        let none = || Error::library("internal error: no output");
        let dtype = self.recorded.kept.expr.output_types().next().ok_or_else(none)?;
        let (buffer, _) = device.uninit_any(dtype, layout.shape())?.into_parts();
        let outputs = ([buffer].into_iter().collect(), vec![layout.clone()]);
        let made = submit(device, self.recorded, &reads, outputs, false);
        let made = made.map_err(|rejected| rejected.error)?.into_output();
        Ok(AnyTensor::from_buffer(made.into_iter().next().ok_or_else(none)?, layout)?)
    }

    /// Reduces what it computes, to elements of type `R`; they are given to the second formula, if there is one.
    pub(super) fn reduce<R: Element>(
        self,
        device: &Device,
        kind: ReductionKind,
        axes: &dyn Mask,
        finish: Option<Recorded>,
    ) -> Result<PendingDispatch<Tensor<R>>> {
        let reads = self.reads()?.into_iter().collect();
        let call = Call { kind, less: 0, axes, formula: Ok(self.recorded), finish: finish.map(Ok) };
        submit_reduction(device, call, Ok(reads))
    }

    /// As [`reduce`](Self::reduce), to elements of the type that the reduction gives.
    pub(super) fn reduce_any(self, device: &Device, kind: ReductionKind, axes: Bits) -> Result<AnyTensor> {
        let reads = self.reads()?;
        let call = Call { kind, less: 0, axes: &axes, formula: Ok(self.recorded), finish: None };
        tensor_any(device, call, &reads)
    }
}
