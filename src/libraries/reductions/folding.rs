//! Recipes as instructions, for kernels that go through elements one after the other.

use super::element::element;
use super::kind::ReductionKind;
use super::recipe::Recipe;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::libraries::expressions::formula::record;
use crate::libraries::expressions::low::lower::{computed, stored};
use crate::libraries::expressions::low::{Calls, Lane, Low, LowOp, Uniform, lower, lower_as};
use crate::libraries::expressions::ptx::body::memory;
use crate::libraries::expressions::ptx::helpers;
use crate::libraries::expressions::ptx::writer::{Class, Reg, Writer, ptx};

pub(in crate::libraries::reductions) fn accumulator(recipe: &Recipe) -> Result<Lane> {
    let missing = || Error::library("internal error: a scan of more than one number");
    match &recipe.accumulators[..] {
        [dtype] if !dtype.is_complex() => Ok(computed(*dtype)),
        _ => Err(missing()),
    }
}

/// An expression of one output, with the registers of its constants.
pub(in crate::libraries::reductions) struct Program {
    low: Low,
    constants: Vec<Reg>,
}

impl Program {
    pub(in crate::libraries::reductions) fn new(writer: &mut Writer, low: Low) -> Self {
        let constant = |(uniform, lane): &(Uniform, Lane)| match uniform {
            Uniform::Constant(bits) => writer.constant(*lane, *bits),
            // These expressions have neither parameters nor extents.
            _ => writer.reg(Class::for_lane(*lane)),
        };
        let constants = low.uniforms().iter().map(constant).collect();
        Program { low, constants }
    }

    /// Appends it.
    pub(in crate::libraries::reductions) fn run(&self, writer: &mut Writer, inputs: &[Reg]) -> Option<Reg> {
        let mut values: Vec<Reg> = Vec::with_capacity(self.low.instrs().len());
        for instr in self.low.instrs() {
            let found = match instr.op {
                LowOp::Input(k, _) => inputs.get(usize::from(k)).copied(),
                LowOp::Uniform(k) => self.constants.get(usize::from(k)).copied(),
                _ => {
                    let first = values.first().copied();
                    let args = instr.args.map(|value| values.get(value as usize).copied().or(first));
                    let args = args.map(|arg| arg.unwrap_or_else(|| writer.reg(Class::Word)));
                    Some(writer.operation(instr, args))
                }
            };
            values.push(found.unwrap_or_else(|| writer.reg(Class::for_lane(instr.lane))));
        }
        let output = self.low.outputs().first().and_then(|parts| parts.first()).copied()?;
        values.get(output as usize).copied()
    }
}

/// A fold of elements of one type, whose result has that type too: integers wrap.
pub(in crate::libraries) struct Folding {
    lane: Lane,
    stored: Lane,
    /// The bytes of an element, and whether it is an integer.
    integer: Option<usize>,
    element: Program,
    join: Program,
    finish: Program,
}

impl Folding {
    /// A sum, a product or an extreme, and the functions that its text calls.
    pub(in crate::libraries) fn new(writer: &mut Writer, kind: ReductionKind, dtype: DType) -> Result<(Self, String)> {
        let recipe = Recipe::for_kind(kind, dtype)?;
        let itself = record(&[dtype], |open| vec![open.input(0)])?;
        let element = lower_as(&element(kind, &itself.kept.expr)?.expr, Calls::Expand, false);
        let join = lower_as(&recipe.join.expr, Calls::Expand, false);
        let finish = lower(&recipe.finish.expr, Calls::Expand);
        let helpers = helpers(&[&element, &join, &finish]);
        let [element, join, finish] = [element, join, finish].map(|low| Program::new(writer, low));
        let integer = dtype.is_integer().then(|| dtype.size());
        Ok((Folding { lane: accumulator(&recipe)?, stored: stored(dtype), integer, element, join, finish }, helpers))
    }

    /// Loads an element, as it is accumulated.
    pub(in crate::libraries) fn load(&self, writer: &mut Writer, at: Reg) -> Reg {
        let value = writer.reg(Class::for_lane(self.stored));
        ptx!(writer, "ld.global.{} {value}, [{at}+0]", memory(self.stored));
        self.element.run(writer, &[value]).unwrap_or(value)
    }

    /// Joins an element to those before it, in their register.
    pub(in crate::libraries) fn join(&self, writer: &mut Writer, own: Reg, value: Reg) {
        let joined = self.join.run(writer, &[own, value]).unwrap_or(value);
        let bits = crate::libraries::expressions::ptx::body::bits(self.lane);
        ptx!(writer, "mov.{bits} {own}, {joined}");
    }

    /// A copy of an accumulator, in a register of its own.
    pub(in crate::libraries) fn copy(&self, writer: &mut Writer, value: Reg) -> Reg {
        let own = writer.reg(Class::for_lane(self.lane));
        let bits = crate::libraries::expressions::ptx::body::bits(self.lane);
        ptx!(writer, "mov.{bits} {own}, {value}");
        own
    }

    /// Stores the result.
    pub(in crate::libraries) fn store(&self, writer: &mut Writer, at: Reg, own: Reg) {
        let result = writer.canonical(self.lane, own);
        let result = self.finish.run(writer, &[result]).unwrap_or(result);
        let is_long = matches!(self.lane, Lane::I64 | Lane::U64);
        match self.integer {
            Some(size) if is_long && size < 8 => {
                let low = writer.reg(Class::Word);
                ptx!(writer, "cvt.u32.u64 {low}, {result}");
                ptx!(writer, "st.global.u{} [{at}+0], {low}", 8 * size);
            }
            _ => ptx!(writer, "st.global.{} [{at}+0], {result}", memory(self.stored)),
        }
    }
}
