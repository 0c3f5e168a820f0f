//! The steps of a plan as calls of other fronts, with all that layouts decide: found once, submitted often.

use super::contraction::Shape;
use super::formula;
use super::pair::{Pair, Slot};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use crate::libraries::expressions::formula::Kept;
use crate::libraries::reductions::ReductionKind;

/// What a step submits; the layouts are of what it reads, in its order.
#[derive(Debug)]
pub(super) enum Call {
    Copy(Layout),
    Map {
        product: Arc<Kept>,
        inputs: Vec<Layout>,
        made: Layout,
    },
    Sum(Sum),
    Gemm {
        operands: Box<[Layout; 2]>,
        conjugate: [bool; 2],
        made: Layout,
    },
    CuTensor(Arc<Shape>),
    /// As the one before; what it makes is a tensor that is there.
    Into(Box<Into>),
}

/// The sum of a product of elements.
#[derive(Debug)]
pub(super) struct Sum {
    pub(super) product: Arc<Kept>,
    pub(super) finish: Option<Arc<Kept>>,
    pub(super) inputs: Vec<Layout>,
    pub(super) axes: Vec<i32>,
}

/// The last step of a contraction into a tensor.
#[derive(Debug)]
pub(super) enum Into {
    /// One product of matrices, to where they lie.
    Gemm {
        operands: Box<[Layout; 2]>,
        conjugate: [bool; 2],
        c: Layout,
    },
    /// One on a copy of the tensor, which is moved back.
    Apart {
        operands: Box<[Layout; 2]>,
        conjugate: [bool; 2],
        made: Layout,
        packed: Layout,
        c: Layout,
        reads_c: bool,
    },
    /// A formula of the sum, or of the operands if nothing is summed, and of the tensor.
    Formula {
        sum: Option<Sum>,
        inputs: Vec<Layout>,
        formula: Arc<Kept>,
        c: Layout,
        reads_c: bool,
    },
    CuTensor(Arc<Shape>),
}

/// The type in which a contraction is computed.
pub(super) fn wide(dtype: DType) -> DType {
    if dtype.is_narrow() { DType::F32 } else { dtype }
}

fn missing() -> Error {
    Error::library("internal error: a product without its matrices")
}

/// The modes of the result, then those that are summed, in the order of the largest operand's memory.
fn modes(slots: &[&Slot], left: &[usize]) -> Vec<usize> {
    let mut largest: Vec<(std::cmp::Reverse<usize>, usize)> =
        slots.iter().enumerate().map(|(k, slot)| (std::cmp::Reverse(slot.layout.len()), k)).collect();
    largest.sort_unstable();
    let mut modes = left.to_vec();
    for slot in largest.into_iter().filter_map(|(_, k)| slots.get(k)) {
        let more = slot.in_memory_order(|mode| !modes.contains(&mode));
        modes.extend(more);
    }
    modes
}

fn conjugates(slots: &[&Slot]) -> Vec<bool> {
    slots.iter().map(|slot| slot.conjugate).collect()
}

fn types(slots: &[&Slot]) -> Vec<DType> {
    slots.iter().map(|slot| slot.dtype).collect()
}

/// The sum over the axes from number `left` on, of products of type `own`, as `dtype`.
fn sum(inputs: Vec<Layout>, left: usize, slots: &[&Slot], own: DType, dtype: DType) -> Result<Sum> {
    let result = ReductionKind::Sum.result(own);
    let finish = match result != dtype {
        true => Some(Kept::for_expr(formula::cast(result, dtype)?)),
        false => None,
    };
    let rank = inputs.first().map_or(0, Layout::rank);
    // There are at most 64 axes.
    let axes = (left..rank).map(|axis| axis as i32).collect();
    let product = formula::product(&types(slots), &conjugates(slots), own, own)?;
    Ok(Sum { product: Kept::for_expr(product), finish, inputs, axes })
}

impl Call {
    /// The product of the operands, summed over all modes that are not left, as `dtype`.
    pub(super) fn general(slots: &[&Slot], left: &[usize], dtype: DType) -> Result<Call> {
        let (modes, conjugate, types) = (modes(slots, left), conjugates(slots), types(slots));
        let inputs = slots.iter().map(|slot| slot.along(&modes)).collect::<Result<Vec<_>>>()?;
        let is_plain = types.iter().all(|own| *own == dtype);
        if let ([x], false, true) = (&inputs[..], conjugate.contains(&true), is_plain)
            && modes.len() == left.len()
        {
            return Ok(Call::Copy(x.clone()));
        }
        // Halves are not rounded inside a formula.
        let own = if is_plain { dtype } else { wide(dtype) };
        if modes.len() > left.len() {
            return Ok(Call::Sum(sum(inputs, left.len(), slots, own, dtype)?));
        }
        let extents: Vec<&[usize]> = inputs.iter().map(Layout::shape).collect();
        let made = Layout::row_major(Layout::broadcast_extents(&extents)?)?;
        Ok(Call::Map { product: Kept::for_expr(formula::product(&types, &conjugate, own, dtype)?), inputs, made })
    }

    pub(super) fn gemm([a, b]: [&Slot; 2], pair: &Pair, made: &Slot) -> Result<Call> {
        let (operands, conjugate) = (Box::new(pair.operands(a, b).ok_or_else(missing)?), [a.conjugate, b.conjugate]);
        let made = made.matrices(&pair.batch, &pair.m, &pair.n).ok_or_else(missing)?;
        Ok(Call::Gemm { operands, conjugate, made })
    }

    /// Whether the result of a product has memory of its own first.
    pub(super) fn is_apart(&self) -> bool {
        matches!(self, Call::Into(into) if matches!(**into, Into::Apart { .. }))
    }
}

impl Into {
    pub(super) fn gemm([a, b]: [&Slot; 2], pair: &Pair, c: &Slot, is_direct: bool, reads_c: bool) -> Result<Into> {
        let (operands, conjugate) = (Box::new(pair.operands(a, b).ok_or_else(missing)?), [a.conjugate, b.conjugate]);
        if is_direct && let Some(c) = c.written_matrices(&pair.batch, &pair.m, &pair.n) {
            return Ok(Into::Gemm { operands, conjugate, c });
        }
        let c = c.along(&pair.result())?;
        let packed = Layout::row_major(c.shape())?;
        let own = Slot { dtype: a.dtype, modes: pair.result(), layout: packed.clone(), conjugate: false };
        let made = own.matrices(&pair.batch, &pair.m, &pair.n).ok_or_else(missing)?;
        Ok(Into::Apart { operands, conjugate, made, packed, c, reads_c })
    }

    pub(super) fn general(slots: &[&Slot], c: &Slot, reads_c: bool) -> Result<Into> {
        let (modes, conjugate, wide) = (modes(slots, &c.modes), conjugates(slots), wide(c.dtype));
        let inputs = slots.iter().map(|slot| slot.along(&modes)).collect::<Result<Vec<_>>>()?;
        let formula = |types, conjugate: &[bool]| -> Result<_> {
            Ok(Kept::for_expr(formula::scaled(c.dtype, types, conjugate, reads_c, wide)?))
        };
        let layout = c.layout.clone();
        if modes.len() == c.modes.len() {
            let formula = formula(types(slots), &conjugate)?;
            return Ok(Into::Formula { sum: None, inputs, formula, c: layout, reads_c });
        }
        // Halves are rounded once, at the end.
        let made = if c.dtype == wide { wide } else { ReductionKind::Sum.result(wide) };
        let sum = sum(inputs, c.modes.len(), slots, wide, made)?;
        let inputs = vec![Layout::row_major(layout.shape())?];
        Ok(Into::Formula { sum: Some(sum), inputs, formula: formula(vec![made], &[false])?, c: layout, reads_c })
    }
}
