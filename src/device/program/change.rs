//! Other scalars and other buffers, without recording again.

use super::admit::Written;
use super::covered::Covered;
use super::entry::Entry;
use super::plan::Plan;
use super::tape::Replaced;
use super::{Program, Recorder};
use crate::core::buffer::{AnyBuffer, ReadableAny};
use crate::core::error::{Error, Result};
use crate::core::op::contained;
use crate::core::sync::Arc;

impl Written {
    /// The memory of a program, to record a step again. All of it counts as written: a step that takes another's place
    /// has the same operands.
    fn again(plan: &Plan, captured: Vec<AnyBuffer>) -> Self {
        Written {
            covered: Covered::whole(plan.pieces.iter().map(|piece| piece.bytes)),
            pieces: plan.pieces.clone(),
            inputs: plan.inputs.clone(),
            operands: plan.operands.clone(),
            captured,
            ..Written::default()
        }
    }
}

impl Program {
    /// The number of the first step with this label: see [`Device::labelled`](crate::Device::labelled).
    pub fn step(&self, label: &str) -> Option<usize> {
        self.plan.nodes.iter().position(|node| node.info.label == Some(label))
    }

    /// Replaces a step by another operation of the same type: the same routine on the same operands, with other scalars.
    /// `body` records it on buffers that it kept from the recording; its return value, for example those buffers, is
    /// passed on. Replays that were submitted before are not affected, and neither are their results: a
    /// [`Later`](crate::program::Later) of the step, whether it was made while recording or in `body`, gives the value of the
    /// operation that the replay ran.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a step that does not exist, and when `body` records another routine or the
    /// routine for another type, other operands, or more or less than one operation; any error that `body` returns. The program is then unchanged.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (mut program, (step, x)) = device.record(|r| {
    ///     let x = r.operand::<f64>(2)?;
    ///     Ok((r.position(), r.blas().scal(2.0, x)?.into_buffer()))
    /// })?;
    /// let run = |program: &windlass::Program| {
    ///     let x = device.upload(vec![1.0f64, 3.0])?.into_output();
    ///     let (x,) = program.replay((), (x,))?.into_operands()?;
    ///     device.download(&x)?.await_result()
    /// };
    /// assert_eq!(run(&program)?, [2.0, 6.0]);
    /// program.set(step, |r| Ok(r.blas().scal(5.0, x)?.into_buffer()))?;
    /// assert_eq!(run(&program)?, [5.0, 15.0]);
    /// # Ok(()) }
    /// ```
    pub fn set<T>(&mut self, step: usize, body: impl FnOnce(&Recorder) -> Result<T>) -> Result<T> {
        let captured = self.captured.iter().map(AnyBuffer::captured_again);
        let replaced = Replaced { answer: self.plan.nodes.get(step).and_then(|node| node.answer) };
        self.tape.reopen(Written::again(&self.plan, captured.collect()), replaced);
        let kept = contained(|| body(&self.recorder));
        let written = self.tape.close();
        let kept = kept?;
        let mut entries = written.entries;
        match (entries.pop(), entries.len()) {
            (Some(entry), 0) if written.captured.len() == self.captured.len() => self.replace(step, entry)?,
            (_, 0) => {
                return Err(Error::invalid(
                    "body",
                    "it records no operation, or it reads a buffer of the device that the program did not capture",
                ));
            }
            (_, more) => {
                let reason = format!("it records {} operations, but exactly one must replace the step", more + 1);
                return Err(Error::invalid("body", reason));
            }
        }
        Ok(kept)
    }

    fn replace(&mut self, index: usize, entry: Entry) -> Result<()> {
        let (Some(node), Some(step)) = (self.plan.nodes.get(index), self.plan.steps.get(index)) else {
            return Err(Error::invalid(
                "step",
                format!("there is no step {index}; the program has {} steps", self.plan.nodes.len()),
            ));
        };
        let (old, new) = ((node.info.op, node.info.library), (entry.info.op, entry.info.library));
        // Its results are converted by the new operation: by the type, for a name says nothing about their types.
        if step.op()?.id() != entry.step.op()?.id() {
            let reason = match old == new {
                true => format!("it records an operation of another type than the step, although both are `{}`", new.0),
                false => format!("it records `{}`, but the step is `{}`", new.0, old.0),
            };
            return Err(Error::invalid("body", reason));
        }
        #[cfg(feature = "cuda")]
        let plans =
            !node.facts.prepared || node.plans.is_empty() || super::prepare::plans_of(&entry.step)? == node.plans.len();
        #[cfg(not(feature = "cuda"))]
        let plans = true;
        if node.uses != entry.uses || node.answer.is_some() != entry.answer.is_some() || !plans {
            return Err(Error::invalid(
                "body",
                format!("it records `{}` with other operands than the step has", new.0),
            ));
        }
        self.renew(Arc::new(self.plan.with_step(index, entry.step)))
    }

    /// Makes the program read `buffer` instead of a window of a buffer of the device that it captured while it was
    /// recorded.
    ///
    /// What an operation reads of a buffer of the device (all of it, or a slice) is a captured window. Windows are
    /// counted from 0 in the order in which they were first read; two different slices of one buffer are two windows,
    /// and a window that several operations read is one. [`to_dot`](Self::to_dot), [`load`](Self::load) and errors use
    /// the same numbers: `captured 0`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no captured window of that number, or when `buffer` has another length
    /// in bytes or elements of another size. Each replay checks whether it belongs to this device.
    pub fn bind<'a>(&mut self, captured: usize, buffer: impl ReadableAny<'a>) -> Result<()> {
        let count = self.captured.len();
        let Some(place) = self.captured.get_mut(captured) else {
            return Err(Error::invalid(
                "captured",
                format!("there is no captured window {captured}; the program has {count}"),
            ));
        };
        let buffer = buffer.into();
        let ((_, _, bytes), (_, _, recorded)) = (buffer.place(), place.as_in().place());
        let (size, of_recorded) = (buffer.dtype().size(), place.dtype().size());
        // The element size of an empty window is not known.
        if bytes != recorded || (size != of_recorded && bytes > 0) {
            let reason = format!(
                "the buffer has {bytes} bytes ({size}-byte elements), but the captured window has {recorded} bytes \
                 ({of_recorded}-byte elements)"
            );
            return Err(Error::invalid("buffer", reason));
        }
        *place = buffer.captured();
        Ok(())
    }
}
