//! Submits the steps of a plan, one after the other: each follows the ones before on the device, and the host waits for none.

use super::element::Calls;
use super::formula;
use super::pair::{Pair, Slot};
use super::plan::{Plan, Step, Work};
use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIn};
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::Layout;
use crate::libraries::expressions::formula::{Kept, Recorded};
use crate::libraries::expressions::operands::Read;
use crate::libraries::reductions::ReductionKind;
use crate::libraries::reductions::front::{Call, submit_any};

/// A value of a plan.
enum Value<'a> {
    Operand(AnyIn<'a>),
    Made(AnyBuffer),
}

/// The values of a plan that are there.
pub(super) struct Run<'r> {
    device: &'r Device,
    calls: &'r Calls,
    plan: &'r Plan,
    values: Vec<Option<Value<'r>>>,
}

fn missing() -> Error {
    Error::library("internal error: a value is missing")
}

impl<'r> Run<'r> {
    pub(super) fn new(device: &'r Device, calls: &'r Calls, plan: &'r Plan, operands: &[AnyIn<'r>]) -> Self {
        let given = operands.iter().map(|part| Some(Value::Operand(*part)));
        Run { device, calls, plan, values: given.collect() }
    }

    pub(super) fn slot(&self, slot: usize) -> Result<&'r Slot> {
        self.plan.slots.get(slot).ok_or_else(missing)
    }

    pub(super) fn part(&self, slot: usize) -> Result<AnyIn<'_>> {
        match self.values.get(slot) {
            Some(Some(Value::Operand(part))) => Ok(*part),
            Some(Some(Value::Made(buffer))) => Ok(buffer.as_in()),
            _ => Err(missing()),
        }
    }

    /// All steps; the last one is left in flight.
    pub(super) fn all(mut self) -> Result<PendingDispatch<AnyBuffers>> {
        let (last, before) = self.plan.steps.split_last().ok_or_else(missing)?;
        for number in 0..before.len() {
            self.step(number)?;
        }
        self.submit(last)
    }

    /// All steps, of which none is the last.
    pub(super) fn prepare(&mut self) -> Result<()> {
        (0..self.plan.steps.len()).try_for_each(|number| self.step(number))
    }

    fn step(&mut self, number: usize) -> Result<()> {
        let step = self.plan.steps.get(number).ok_or_else(missing)?;
        let made = self.submit(step)?.into_output().into_iter().next().ok_or_else(missing)?;
        // Results are numbered in the order of the steps.
        self.values.push(Some(Value::Made(made)));
        // What no later step reads is given up: its memory serves the next intermediates.
        let later = self.plan.steps.get(number + 1..).unwrap_or_default();
        if later.is_empty() {
            return Ok(());
        }
        for slot in step.reads.iter().filter(|slot| !later.iter().any(|step| step.reads.contains(*slot))) {
            self.values.iter_mut().skip(*slot).take(1).for_each(|value| *value = None);
        }
        Ok(())
    }

    fn submit(&self, step: &Step) -> Result<PendingDispatch<AnyBuffers>> {
        let made = self.slot(step.made)?;
        match &step.work {
            Work::Gemm(pair) => {
                let reads = <[usize; 2]>::try_from(&step.reads[..]).map_err(|_| missing())?;
                let place = made.matrices(&pair.batch, &pair.m, &pair.n).ok_or_else(missing)?;
                let c = self.device.uninit_any(self.calls.dtype, [made.layout.len()])?.into_parts().0;
                self.multiply(reads, pair, None, (c, place)).map_err(Rejected::into_error)
            }
            Work::General => self.general(&step.reads, &made.modes),
        }
    }

    /// `C = alpha * A * B + beta * C`.
    pub(super) fn multiply(
        &self,
        [a, b]: [usize; 2],
        pair: &Pair,
        factors: Option<[super::element::Factor; 2]>,
        (c, place): (AnyBuffer, Layout),
    ) -> Result<PendingDispatch<AnyBuffers>, Rejected<AnyBuffers>> {
        let Pair { batch, m, n, k } = pair;
        let operands = || -> Result<_> {
            let of_a = self.slot(a)?.matrices(batch, m, k).ok_or_else(missing)?;
            let of_b = self.slot(b)?.matrices(batch, k, n).ok_or_else(missing)?;
            Ok((self.calls.multiply.ok_or_else(missing)?, [(self.part(a)?, of_a), (self.part(b)?, of_b)]))
        };
        match operands() {
            Ok((multiply, reads)) => multiply(self.device, factors, reads, (c, place)),
            Err(error) => Err(Rejected::new(error, [c].into_iter().collect())),
        }
    }

    /// What each of these slots has along the modes.
    pub(super) fn reads(&self, slots: &[usize], modes: &[usize]) -> Result<Vec<Read<'_>>> {
        slots.iter().map(|slot| Ok((self.part(*slot)?, self.slot(*slot)?.along(modes)?))).collect()
    }

    pub(super) fn conjugate(&self, slots: &[usize]) -> Result<Vec<bool>> {
        slots.iter().map(|slot| Ok(self.slot(*slot)?.conjugate)).collect()
    }

    fn general(&self, slots: &[usize], left: &[usize]) -> Result<PendingDispatch<AnyBuffers>> {
        let dtype = self.calls.dtype;
        let modes = self.modes(slots, left)?;
        let reads = self.reads(slots, &modes)?;
        let conjugate = self.conjugate(slots)?;
        match &reads[..] {
            [x] if modes.len() == left.len() && !conjugate.contains(&true) => {
                return (self.calls.copy)(self.device, x.clone());
            }
            _ => {}
        }
        if modes.len() > left.len() {
            return self.sum(reads, left.len(), &conjugate, dtype, true);
        }
        let product = formula::product(dtype, &conjugate, dtype)?;
        let extents: Vec<&[usize]> = reads.iter().map(|(_, layout)| layout.extents()).collect();
        let extents = Layout::broadcast_extents(&extents)?;
        let inputs = reads.iter().map(|(part, layout)| Ok((*part, layout.broadcast(&extents)?)));
        let output = self.device.uninit_any(dtype, &extents)?.into_parts();
        Ok(self.device.evaluate(&product, &[], inputs.collect::<Result<_>>()?, vec![output])?)
    }

    /// The modes of the result, then those that are summed, in the order of the largest operand's memory.
    pub(super) fn modes(&self, slots: &[usize], left: &[usize]) -> Result<Vec<usize>> {
        let mut largest: Vec<(std::cmp::Reverse<usize>, usize)> = Vec::with_capacity(slots.len());
        for slot in slots {
            largest.push((std::cmp::Reverse(self.slot(*slot)?.layout.len()), *slot));
        }
        largest.sort_unstable();
        let mut modes = left.to_vec();
        for (_, slot) in largest {
            let more = self.slot(slot)?.in_memory_order(|mode| !modes.contains(&mode));
            modes.extend(more);
        }
        Ok(modes)
    }

    /// The sum of the product of operands over their axes from number `left` on. `narrow`: in the element type; else in the type in
    /// which it was computed.
    pub(super) fn sum(
        &self,
        reads: Vec<Read<'_>>,
        left: usize,
        conjugate: &[bool],
        wide: crate::core::element::DType,
        narrow: bool,
    ) -> Result<PendingDispatch<AnyBuffers>> {
        let recorded = |expr| Recorded { kept: Kept::for_expr(expr), scalars: Vec::new() };
        let product = formula::product(self.calls.dtype, conjugate, wide)?;
        let result = ReductionKind::Sum.result(wide);
        let finish = (narrow && result != self.calls.dtype).then(|| formula::cast(result, self.calls.dtype));
        let rank = reads.first().map_or(0, |(_, layout)| layout.rank());
        // There are at most 64 axes.
        let axes: Vec<i32> = (left..rank).map(|axis| axis as i32).collect();
        let call = Call {
            kind: ReductionKind::Sum,
            less: 0,
            axes: &axes,
            formula: Ok(recorded(product)),
            finish: finish.map(|finish| finish.map(recorded)),
        };
        submit_any(self.device, call, reads.into_iter().collect())
    }
}
