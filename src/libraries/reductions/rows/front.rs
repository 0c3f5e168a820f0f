//! The call: as one dispatch or as two.

use super::super::front::{Call, operation};
use super::op::Rows;
use super::spreading::Spreading;
use crate::core::buffer::{AnyBuffers, AnyIns, DeviceBuffer};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{Layout, Tensor};
use crate::libraries::expressions::formula::{Recorded, Shared};
use crate::libraries::expressions::front::submit as submit_map;
use crate::libraries::expressions::op::Map;
use crate::libraries::expressions::operands::Read;
use crate::libraries::reductions::op::Reduce;
use crate::libraries::tensor_routine::TensorRoutine;
use smallvec::SmallVec;

/// What is reduced, and what is made of elements and result.
pub(in crate::libraries) struct Spread<'c> {
    /// The reduction, whose axes stay.
    pub(in crate::libraries) call: Call<'c>,
    /// Takes the inputs of the reduction, then those of `more`, then the result of the reduction.
    pub(in crate::libraries) formula: Result<Recorded>,
}

/// The tensor of a buffer.
fn tensor<T: Element>(
    buffers: &mut impl Iterator<Item = crate::core::buffer::AnyBuffer>,
    layout: &Layout,
) -> Option<Tensor<T>> {
    let buffer: DeviceBuffer<T> = buffers.next()?.downcast().ok()?;
    Tensor::from_buffer(buffer, layout.shape()).ok()
}

fn lost() -> Error {
    Error::library("internal error: an operand of another type came back")
}

/// Submits; gives the new elements and the results of the reduction, with the extent 1 along the axes.
pub(in crate::libraries) fn submit<T: Element, S: Element>(
    device: &Device,
    spread: Spread<'_>,
    reads: &[Read<'_>],
    more: &[Read<'_>],
) -> Result<PendingDispatch<(Tensor<T>, Tensor<S>)>> {
    let (reduce, planned) = operation(spread.call, reads).map_err(Reduce::refused)?;
    let Recorded { kept, scalars } = spread.formula.map_err(Reduce::refused)?;
    let formula = Shared(kept);
    let behind: SmallVec<[&Layout; 4]> = more.iter().map(|(_, layout)| layout).collect();
    let spreading = Spreading::of(&reduce.shape, &formula, &behind).map_err(Reduce::refused)?;
    let shape = spreading.map()?.clone();
    let (stats, target) = (&planned.shape.output, shape.outputs.first().ok_or_else(lost)?.clone());
    let all = || reads.iter().chain(more);
    let results = device.unwritten::<S>(stats.len())?;
    let elements = device.unwritten::<T>(target.len())?;
    if spreading.plan(&reduce.shape, &formula, &shape).map_err(Reduce::refused)?.is_some() {
        let ins: AnyIns<'_> = all().map(|(read, _)| *read).collect();
        let rows = Rows::new(reduce, Map::new(formula, scalars, shape), spreading);
        let buffers = [elements.into(), results.into()].into_iter().collect();
        let pending = device.dispatch(rows, ins, buffers).map_err(Rejected::into_error)?;
        return pending.retype(|buffers: AnyBuffers| {
            let mut buffers = buffers.into_iter();
            let made = (tensor::<T>(&mut buffers, &target), tensor::<S>(&mut buffers, stats));
            let (Some(elements), Some(results)) = made else { return Err(lost()) };
            Ok((elements, results))
        });
    }
    let formula = Recorded { kept: formula.0, scalars };
    let reduced: AnyIns<'_> = reads.iter().map(|(read, _)| *read).collect();
    let pending = device.dispatch(reduce, reduced, [results.into()].into_iter().collect());
    let pending = pending.map_err(Rejected::into_error)?;
    let pending = pending.retype::<Tensor<S>, _>(|buffers: AnyBuffers| {
        tensor::<S>(&mut buffers.into_iter(), stats).map(|results| (results,)).ok_or_else(lost)
    })?;
    let results = pending.into_output();
    let made = {
        let view = results.view();
        let (read, layout) = view.operand()?;
        let mut operands: Vec<Read<'_>> = all().cloned().collect();
        operands.push((read.into(), layout.broadcast(target.shape()).map_err(Reduce::refused)?));
        let buffers = [elements.into()].into_iter().collect();
        submit_map(device, formula, &operands, (buffers, vec![target.clone()]), false)
    };
    let pending = made.map_err(Rejected::into_error)?;
    pending.retype(|buffers: AnyBuffers| {
        let elements = tensor::<T>(&mut buffers.into_iter(), &target).ok_or_else(lost)?;
        Ok((elements, results))
    })
}
