//! Formulas within kernels: their instructions, and the numbers that are the same for all elements.

use crate::libraries::expressions::low::{Lane, Low, LowOp, Uniform};
use crate::libraries::expressions::scalar::Scalar;
use crate::libraries::kernel::{Class, Reg, Writer};

/// Appends a formula; returns the registers of all its values. `leaf` gives those of inputs, positions and uniforms.
pub(in crate::libraries) fn append(
    writer: &mut Writer,
    low: &Low,
    leaf: &mut dyn FnMut(&mut Writer, LowOp) -> Option<Reg>,
) -> Vec<Reg> {
    let mut values: Vec<Reg> = Vec::with_capacity(low.instrs().len());
    for instr in low.instrs() {
        let found = match instr.op {
            LowOp::Input(..) | LowOp::Position(_) | LowOp::Uniform(_) => leaf(writer, instr.op),
            _ => {
                let first = values.first().copied();
                let args = instr.args.map(|value| values.get(value as usize).copied().or(first));
                // Operands come before it.
                let args = args.map(|arg| arg.unwrap_or_else(|| writer.reg(Class::Word)));
                Some(writer.operation(instr, args))
            }
        };
        // What is not there is used by nothing.
        values.push(found.unwrap_or_else(|| writer.reg(Class::for_lane(instr.lane))));
    }
    values
}

/// The registers of the numbers that are the same for all elements; `parameter` reads one that a launch gives.
pub(in crate::libraries) fn uniforms(
    writer: &mut Writer,
    low: &Low,
    parameter: &mut dyn FnMut(&mut Writer, u16, Class) -> Reg,
) -> Vec<Reg> {
    let of = |(k, (uniform, lane)): (u16, &(Uniform, Lane))| match uniform {
        Uniform::Constant(bits) => writer.constant(*lane, *bits),
        _ => parameter(writer, k, Class::for_lane(*lane)),
    };
    (0..).zip(low.uniforms()).map(of).collect()
}

/// Appends a formula; returns the registers of its outputs' parts. `input` gives those of the parts of inputs, `position` those of positions.
pub(in crate::libraries) fn run(
    writer: &mut Writer,
    low: &Low,
    uniforms: &[Reg],
    input: &dyn Fn(usize, usize) -> Option<Reg>,
    position: &dyn Fn(u8) -> Option<Reg>,
) -> Vec<Reg> {
    let values = append(writer, low, &mut |_, op| match op {
        LowOp::Input(k, part) => input(k.into(), part.into()),
        LowOp::Position(axis) => position(axis),
        LowOp::Uniform(k) => uniforms.get(usize::from(k)).copied(),
        _ => None,
    });
    low.outputs().iter().flatten().filter_map(|value| values.get(*value as usize).copied()).collect()
}

/// The word of a number that is the same for all elements.
pub(in crate::libraries) fn uniform(low: &Low, k: u16, scalars: &[Scalar], extents: &[usize]) -> u64 {
    match low.uniforms().get(usize::from(k)) {
        Some((Uniform::Parameter(k, part), lane)) => {
            let [re, im] = scalars.get(usize::from(*k)).map_or([0; 2], |scalar| scalar.words());
            in_register(*lane, if *part == 0 { re } else { im })
        }
        Some((Uniform::Extent(axis), _)) => extents.get(usize::from(*axis)).map_or(0, |n| *n as u64),
        Some((Uniform::Constant(bits), _)) => *bits,
        None => 0,
    }
}

/// Registers hold narrow signed integers with their sign.
pub(in crate::libraries) fn in_register(lane: Lane, bits: u64) -> u64 {
    match (lane.is_signed(), lane.size()) {
        (true, 1) => bits as i8 as u64,
        (true, 2) => bits as i16 as u64,
        _ => bits,
    }
}
