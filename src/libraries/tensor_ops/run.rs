//! Submits the steps of a plan, one after the other: each follows the ones before on the device, and the host waits for none.

use super::call::{Call, Into, Sum};
use super::contraction::Contraction;
use super::element::{Calls, Factor, Product, TensorElement};
use super::plan::{Plan, Step};
use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIn};
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::Layout;
use crate::libraries::blas::Math;
use crate::libraries::expressions::Scalar;
use crate::libraries::expressions::formula::{Kept, Recorded};
use crate::libraries::expressions::front::submit;
use crate::libraries::expressions::operands::Read;
use crate::libraries::reductions::ReductionKind;
use crate::libraries::reductions::front::{Call as Reduction, submit_any};
use smallvec::SmallVec;

/// A value of a plan.
enum Value<'a> {
    Operand(AnyIn<'a>),
    Made(AnyBuffer),
    /// Its memory serves the next values.
    Gone,
}

/// The factors of a contraction: for a library, and for a formula.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    pub(super) bytes: [Factor; 2],
    pub(super) scalars: [Scalar; 2],
}

/// The values of a plan that are there.
pub(super) struct Run<'r> {
    device: &'r Device,
    calls: &'r Calls,
    math: Math,
    plan: &'r Plan,
    values: SmallVec<[Value<'r>; 8]>,
}

fn missing() -> Error {
    Error::library("internal error: a value is missing")
}

fn one(buffer: AnyBuffer) -> AnyBuffers {
    [buffer].into_iter().collect()
}

fn recorded(kept: &std::sync::Arc<Kept>) -> Recorded {
    Recorded { kept: kept.clone(), scalars: Vec::new() }
}

type Pending = PendingDispatch<AnyBuffers>;

impl<'r> Run<'r> {
    pub(super) fn new(device: &'r Device, calls: &'r Calls, math: Math, plan: &'r Plan, reads: &[Read<'r>]) -> Self {
        let values = reads.iter().map(|(part, _)| Value::Operand(*part)).collect();
        Run { device, calls, math, plan, values }
    }

    fn part(&self, slot: usize) -> Result<AnyIn<'_>> {
        match self.values.get(slot) {
            Some(Value::Operand(part)) => Ok(*part),
            Some(Value::Made(buffer)) => Ok(buffer.as_in()),
            _ => Err(missing()),
        }
    }

    /// What a step reads, with these layouts.
    fn reads(&self, step: &Step, layouts: &[Layout]) -> Result<SmallVec<[Read<'_>; 8]>> {
        step.reads.iter().zip(layouts).map(|(slot, layout)| Ok((self.part(*slot)?, layout.clone()))).collect()
    }

    fn two(&self, step: &Step, [a, b]: &[Layout; 2]) -> Result<[Read<'_>; 2]> {
        let [one, two] = step.reads[..] else { return Err(missing()) };
        Ok([(self.part(one)?, a.clone()), (self.part(two)?, b.clone())])
    }

    /// All steps; the last one is left in flight.
    pub(super) fn all(mut self) -> Result<Pending> {
        let (last, before) = self.plan.steps.split_last().ok_or_else(missing)?;
        before.iter().try_for_each(|step| self.step(step))?;
        self.submit(last)
    }

    /// All steps, of which the last one writes this buffer.
    pub(super) fn into(mut self, factors: &Factors, buffer: AnyBuffer) -> Result<Pending, Rejected<AnyBuffers>> {
        let prepared = match self.plan.steps.split_last() {
            Some((last, before)) => match before.iter().try_for_each(|step| self.step(step)) {
                Ok(()) => Ok(last),
                Err(error) => Err(error),
            },
            None => Err(missing()),
        };
        match prepared {
            Ok(last) => self.last(last, factors, buffer),
            Err(error) => Err(Rejected::new(error, one(buffer))),
        }
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        let made = self.submit(step)?.into_output().into_iter().next().ok_or_else(missing)?;
        // Results are numbered in the order of the steps.
        self.values.push(Value::Made(made));
        for slot in &step.frees {
            self.values.iter_mut().skip(*slot).take(1).for_each(|value| *value = Value::Gone);
        }
        Ok(())
    }

    /// Memory for what a step makes.
    fn uninit(&self, step: &Step, layout: &Layout) -> Result<AnyBuffer> {
        let dtype = self.plan.slots.get(step.made).ok_or_else(missing)?.dtype;
        Ok(self.device.uninit_any(dtype, [layout.len()])?.into_parts().0)
    }

    /// The calls for the type of what a step makes, which it computes of values of that type.
    fn calls(&self, step: &Step) -> &Calls {
        match self.plan.slots.get(step.made) {
            Some(made) if made.dtype != self.calls.dtype => &<f32 as TensorElement>::CALLS,
            _ => self.calls,
        }
    }

    fn submit(&self, step: &Step) -> Result<Pending> {
        match &step.call {
            Call::Copy(layout) => {
                let slot = step.reads.first().ok_or_else(missing)?;
                (self.calls(step).copy)(self.device, (self.part(*slot)?, layout.clone()))
            }
            Call::Map { product, inputs, made } => {
                let (reads, output) = (self.reads(step, inputs)?, self.uninit(step, made)?);
                Ok(submit(self.device, recorded(product), &reads, (one(output), vec![made.clone()]), false)?)
            }
            Call::Sum(sum) => self.sum(step, sum),
            Call::Gemm { operands, conjugate, made } => {
                let c = self.uninit(step, made)?;
                let product = Product { factors: None, conjugate: *conjugate, math: self.math };
                Ok(self.multiply(step, product, operands, (c, made.clone()))?)
            }
            Call::CuTensor(shape) => {
                let c = self.uninit(step, shape.made())?;
                Ok(self.contract(step, Contraction::new(shape.clone(), self.calls.plain), c)?)
            }
            Call::Into(_) => Err(missing()),
        }
    }

    fn sum(&self, step: &Step, sum: &Sum) -> Result<Pending> {
        let call = Reduction {
            kind: ReductionKind::Sum,
            less: 0,
            axes: &sum.axes,
            formula: Ok(recorded(&sum.product)),
            finish: sum.finish.as_ref().map(|finish| Ok(recorded(finish))),
        };
        submit_any(self.device, call, self.reads(step, &sum.inputs)?)
    }

    fn multiply(
        &self,
        step: &Step,
        product: Product,
        operands: &[Layout; 2],
        (c, made): (AnyBuffer, Layout),
    ) -> Result<Pending, Rejected<AnyBuffers>> {
        let found = || Ok((self.calls(step).multiply.ok_or_else(missing)?, self.two(step, operands)?));
        match found() {
            Ok((multiply, reads)) => multiply(self.device, product, reads, (c, made)),
            Err(error) => Err(Rejected::new(error, one(c))),
        }
    }

    fn contract(&self, step: &Step, op: Contraction, c: AnyBuffer) -> Result<Pending, Rejected<AnyBuffers>> {
        let parts: Result<SmallVec<[AnyIn<'_>; 8]>> = step.reads.iter().map(|slot| self.part(*slot)).collect();
        match parts {
            Ok(parts) => self.device.dispatch(op, parts, one(c)),
            Err(error) => Err(Rejected::new(error, one(c))),
        }
    }

    /// The step that writes a buffer that is there.
    fn last(&self, step: &Step, factors: &Factors, buffer: AnyBuffer) -> Result<Pending, Rejected<AnyBuffers>> {
        let Call::Into(into) = &step.call else { return Err(Rejected::new(missing(), one(buffer))) };
        let product =
            |conjugate: &[bool; 2]| Product { factors: Some(factors.bytes), conjugate: *conjugate, math: self.math };
        match &**into {
            Into::Gemm { operands, conjugate, c } => {
                self.multiply(step, product(conjugate), operands, (buffer, c.clone()))
            }
            Into::CuTensor(shape) => self.contract(step, Contraction::new(shape.clone(), factors.bytes), buffer),
            Into::Apart { operands, conjugate, made, packed, c, reads_c } => {
                let apart = || -> Result<AnyBuffer> {
                    let copy = match reads_c {
                        true => (self.calls.copy)(self.device, (buffer.as_in(), c.clone()))?.into_output(),
                        false => one(self.uninit(step, packed)?),
                    };
                    let copy = copy.into_iter().next().ok_or_else(missing)?;
                    let done = self.multiply(step, product(conjugate), operands, (copy, made.clone()));
                    let done = done.map_err(Rejected::into_error)?;
                    done.into_output().into_iter().next().ok_or_else(missing)
                };
                match apart() {
                    Ok(made) => (self.calls.assign)(self.device, (made.as_in(), packed.clone()), (buffer, c.clone())),
                    Err(error) => Err(Rejected::new(error, one(buffer))),
                }
            }
            Into::Formula { sum, inputs, formula, c, reads_c } => {
                let summed = match sum.as_ref().map(|sum| self.sum(step, sum)).transpose() {
                    Ok(pending) => pending.and_then(|pending| pending.into_output().into_iter().next()),
                    Err(error) => return Err(Rejected::new(error, one(buffer))),
                };
                let reads = match (&summed, &inputs[..]) {
                    (Some(sum), [layout]) => Ok([(sum.as_in(), layout.clone())].into_iter().collect()),
                    _ => self.reads(step, inputs),
                };
                let reads: SmallVec<[Read<'_>; 8]> = match reads {
                    Ok(reads) => reads,
                    Err(error) => return Err(Rejected::new(error, one(buffer))),
                };
                let scalars = factors.scalars.into_iter().take(1 + usize::from(*reads_c)).collect();
                let recorded = Recorded { kept: formula.clone(), scalars };
                submit(self.device, recorded, &reads, (one(buffer), vec![c.clone()]), *reads_c)
            }
        }
    }
}
