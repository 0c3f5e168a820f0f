//! Compares a program on two devices, step by step.
//!
//! The steps are transferred to the other device as plain data, as from a file. Each device continues with its own
//! results, so a difference in one step also shows in the steps that depend on it: look at the first one that is too
//! large.

use super::Program;
use super::bisect::StepFailure;
use super::operands::{Moved, ReplayReads};
use super::plan::Place;
use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIn, AnyIns};
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::fp8::{F8E4M3, F8E5M2};
use crate::device::Device;
use half::{bf16, f16};
use num_complex::Complex;

/// How far the results of two devices differ after one step: see [`Program::compare`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepDifference {
    /// The step's number.
    pub step: usize,
    /// The operation's name.
    pub op: &'static str,
    /// Its library.
    pub library: &'static str,
    /// The label that it was recorded under.
    pub label: Option<&'static str>,
    /// Which of the operands that the step writes, counted from 0.
    pub output: usize,
    /// The largest difference of two numbers; infinite where exactly one of them is NaN.
    pub largest: f64,
    /// `largest` divided by the largest finite magnitude in the operand on either device.
    pub relative: f64,
    /// The position of the largest difference, in elements of the operand; a complex number counts as one element.
    pub at: usize,
}

impl std::fmt::Display for StepDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "step {} (`{}` of {}", self.step, self.op, self.library)?;
        if let Some(label) = self.label {
            write!(f, ", \"{label}\"")?;
        }
        write!(f, "), output {}: {:e} at {}, relative {:e}", self.output, self.largest, self.at, self.relative)
    }
}

/// The result of [`Program::compare`]: a difference for each output of each step, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The differences, in the order of the steps and of their outputs.
    pub differences: Vec<StepDifference>,
}

impl Comparison {
    /// The first whose relative difference is larger than `relative`.
    pub fn first_beyond(&self, relative: f64) -> Option<&StepDifference> {
        self.differences.iter().find(|one| one.relative > relative)
    }

    /// The one with the largest relative difference.
    pub fn worst(&self) -> Option<&StepDifference> {
        self.differences.iter().max_by(|a, b| a.relative.total_cmp(&b.relative))
    }
}

impl std::fmt::Display for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.differences.iter().try_for_each(|one| writeln!(f, "{one}"))
    }
}

impl Program {
    /// Replays one step after another on this device and on another one, from the same data, and returns, for each
    /// step, how far its outputs on the two devices differ. This shows which operation a wrong result comes from, or
    /// how much the arithmetic of two engines differs.
    ///
    /// The program and the buffers that it captured are unchanged; the captured buffers are copied to the other device.
    /// `writes` are changed as by a replay, and are not returned. This is slow and is meant for finding an error.
    ///
    /// Kernels, and operations without [`Op::wire`](crate::op::Op::wire), cannot be compared.
    ///
    /// # Errors
    /// A step that cannot be sent to another device, with the reason; the first step that fails on either device.
    ///
    /// ```
    /// # #[cfg(target_os = "linux")] fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use windlass::Device;
    /// let (device, other) = (Device::host()?, Device::host()?); // a GPU and the CPU, for one
    /// let (mut program, ()) = device.record(|r| {
    ///     let x = r.labelled("twice").blas().scal(2.0, r.operand::<f64>(2)?)?.into_buffer();
    ///     Ok(drop(r.blas().nrm2(&x)?))
    /// })?;
    /// let x = device.upload(vec![3.0f64, 4.0])?.into_output();
    /// let found = program.compare(&other, (), (x,))?;
    /// assert_eq!((found.differences.len(), found.worst().unwrap().largest), (1, 0.0));
    /// # Ok(()) }
    /// # #[cfg(not(target_os = "linux"))] fn main() {}
    /// ```
    pub fn compare<'a, W: Moved>(
        &'a mut self,
        other: &Device,
        reads: impl ReplayReads<'a>,
        writes: W,
    ) -> Result<Comparison, Box<StepFailure>> {
        let program = &*self;
        let outside = |error| program.failure(program.plan.nodes.len(), error);
        let reads = reads.into_reads(program.read()).map_err(outside)?;
        let (mut here, _) = writes.into_any(program.written()).map_err(|rejected| outside(rejected.error))?;
        let twin = program.twin(other).map_err(outside)?;
        let theirs =
            reads.iter().map(|read| carried(read, (&program.device, other), false)).collect::<Result<Vec<_>>>();
        let theirs = theirs.map_err(outside)?;
        let their_reads: AnyIns<'_> = theirs.iter().map(AnyBuffer::as_in).collect();
        let fresh = |index: usize| program.plan.operands.get(index).is_some_and(|operand| operand.fresh);
        let there = here.iter().enumerate();
        let there = there.map(|(index, one)| carried(&one.as_in(), (&program.device, other), fresh(index)));
        let mut there = there.collect::<Result<AnyBuffers>>().map_err(outside)?;
        let mut found = Comparison::default();
        for (step, node) in program.plan.nodes.iter().enumerate() {
            (here, _) = program.run_step(step, reads.clone(), here)?;
            (there, _) = twin.run_step(step, their_reads.clone(), there)?;
            let written = node.places.iter().zip(&node.uses).filter(|(_, one)| one.writes).enumerate();
            for (output, (place, one)) in written {
                let bytes = (program.fetch(place, one.bytes, &here), twin.fetch(place, one.bytes, &there));
                let (ours, theirs) = match bytes {
                    (Ok(ours), Ok(theirs)) => (ours, theirs),
                    (Err(error), _) | (_, Err(error)) => return Err(program.failure(step, error)),
                };
                let (largest, greatest, at) = apart(node.info.writes.get(output).copied(), &ours, &theirs);
                let relative = if largest == 0.0 { 0.0 } else { largest / greatest };
                let (op, library, label) = (node.info.op, node.info.library, node.info.label);
                found.differences.push(StepDifference { step, op, library, label, output, largest, relative, at });
            }
        }
        Ok(found)
    }

    /// The same program for another device.
    fn twin(&self, other: &Device) -> Result<Program> {
        let captured = self.captured.iter().map(|one| carried(&one.as_in(), (&self.device, other), false));
        let captured = captured.collect::<Result<Vec<_>>>()?;
        Self::of_saved(other, &self.saved()?, true, &captured.iter().map(AnyBuffer::as_in).collect())
    }

    /// Downloads the bytes of an operand after a step.
    fn fetch(&self, place: &Place, bytes: u64, writes: &AnyBuffers) -> Result<Vec<u8>> {
        let first = self.plan.inputs.len() + self.plan.captured;
        let home = self.home()?;
        let arena = AnyIn::from(&home.arena);
        let of_writes = place.base.checked_sub(first).and_then(|index| writes.get(index)).map(AnyBuffer::as_in);
        let base = of_writes.unwrap_or(arena);
        let window = base.bytes(place.offset as usize, bytes as usize);
        down(
            &self.device,
            &window.ok_or_else(|| Error::library("internal error: a step writes outside of its operand"))?,
        )
    }
}

/// Downloads the bytes of a buffer.
fn down(device: &Device, read: &AnyIn<'_>) -> Result<Vec<u8>> {
    fn download_as<T: Element>(device: &Device, read: &AnyIn<'_>) -> Result<Vec<u8>> {
        let data = match read.reinterpreted::<T>() {
            Some(read) => device.download(read)?.await_result()?,
            None => return Err(Error::library("internal error: the elements have another size")),
        };
        Ok(bytemuck::cast_slice(&data).to_vec())
    }
    match read.dtype().size() {
        2 => download_as::<u16>(device, read),
        4 => download_as::<u32>(device, read),
        8 => download_as::<u64>(device, read),
        16 => download_as::<Complex<f64>>(device, read),
        _ => download_as::<u8>(device, read),
    }
}

/// The same data on another device; if `fresh`, an uninitialized buffer of the same length.
fn carried(read: &AnyIn<'_>, (from, to): (&Device, &Device), fresh: bool) -> Result<AnyBuffer> {
    fn up<T: Element>(to: &Device, bytes: Option<Vec<u8>>, len: usize) -> Result<AnyBuffer> {
        Ok(match bytes {
            Some(bytes) => to.upload(bytemuck::pod_collect_to_vec::<u8, T>(&bytes))?.into_output().into(),
            None => to.unwritten::<T>(len)?.into(),
        })
    }
    let (len, bytes) = (read.len(), if fresh { None } else { Some(down(from, read)?) });
    let buffer = match read.dtype().size() {
        2 => up::<u16>(to, bytes, len),
        4 => up::<u32>(to, bytes, len),
        8 => up::<u64>(to, bytes, len),
        16 => up::<Complex<f64>>(to, bytes, len),
        _ => up::<u8>(to, bytes, len),
    };
    Ok(buffer?.named(read.dtype()))
}

/// The numbers in `bytes`; a complex number counts as two. Without a type, the bytes themselves.
fn numbers(dtype: Option<DType>, bytes: &[u8]) -> Vec<f64> {
    fn converted<T: bytemuck::AnyBitPattern>(bytes: &[u8], number: impl Fn(T) -> f64) -> Vec<f64> {
        bytes.chunks_exact(size_of::<T>()).map(|one| number(bytemuck::pod_read_unaligned(one))).collect()
    }
    match dtype {
        Some(DType::F32 | DType::C32) => converted(bytes, |x: f32| x.into()),
        Some(DType::F64 | DType::C64) => converted(bytes, |x: f64| x),
        Some(DType::F16) => converted(bytes, |x: f16| x.into()),
        Some(DType::Bf16) => converted(bytes, |x: bf16| x.into()),
        Some(DType::I8) => converted(bytes, |x: i8| x.into()),
        Some(DType::I16) => converted(bytes, |x: i16| x.into()),
        Some(DType::U16) => converted(bytes, |x: u16| x.into()),
        Some(DType::I32) => converted(bytes, |x: i32| x.into()),
        Some(DType::U32) => converted(bytes, |x: u32| x.into()),
        Some(DType::I64) => converted(bytes, |x: i64| x as f64),
        Some(DType::U64) => converted(bytes, |x: u64| x as f64),
        Some(DType::F8E4M3) => converted(bytes, |x: F8E4M3| x.to_f32().into()),
        Some(DType::F8E5M2) => converted(bytes, |x: F8E5M2| x.to_f32().into()),
        _ => converted(bytes, |x: u8| x.into()),
    }
}

/// The largest difference, the largest magnitude, and the position of the largest difference.
fn apart(dtype: Option<DType>, ours: &[u8], theirs: &[u8]) -> (f64, f64, usize) {
    let parts = if matches!(dtype, Some(DType::C32 | DType::C64)) { 2 } else { 1 };
    let pairs = numbers(dtype, ours).into_iter().zip(numbers(dtype, theirs));
    let (mut largest, mut greatest, mut at) = (0.0f64, 0.0f64, 0);
    for (index, (a, b)) in pairs.enumerate() {
        let difference = match (a.is_nan(), b.is_nan()) {
            (true, true) => 0.0,
            (false, false) if a == b => 0.0, // infinities too
            (false, false) => (a - b).abs(),
            _ => f64::INFINITY,
        };
        if difference > largest {
            (largest, at) = (difference, index / parts);
        }
        let finite = [a, b].into_iter().filter(|x| x.is_finite());
        greatest = finite.fold(greatest, |greatest, x| greatest.max(x.abs()));
    }
    (largest, greatest, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_each_type_are_compared_as_numbers() {
        let bytes = |x: &[f32]| bytemuck::cast_slice::<f32, u8>(x).to_vec();
        let (ours, theirs) = (bytes(&[1.0, -4.0, 3.0]), bytes(&[1.0, -4.0, 2.5]));
        assert_eq!(apart(Some(DType::F32), &ours, &theirs), (0.5, 4.0, 2));
        assert_eq!(apart(Some(DType::C32), &ours, &theirs), (0.5, 4.0, 1), "the second complex number's first part");
        assert_eq!(apart(None, &[1, 7], &[1, 9]), (2.0, 9.0, 1));
        let nan = bytes(&[f32::NAN, 1.0]);
        assert_eq!(apart(Some(DType::F32), &nan, &nan).0, 0.0);
        assert_eq!(apart(Some(DType::F32), &nan, &bytes(&[0.0, 1.0])).0, f64::INFINITY);
        let infinite = bytes(&[f32::INFINITY]);
        assert_eq!(apart(Some(DType::F32), &infinite, &infinite), (0.0, 0.0, 0));
    }
}
