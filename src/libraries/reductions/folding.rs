//! Recipes as instructions, for kernels that go through elements one after the other.

use super::element::element;
use super::kind::ReductionKind;
use super::recipe::Recipe;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::libraries::expressions::formula::record;
use crate::libraries::expressions::low::lower::{computed, stored};
use crate::libraries::expressions::low::{Calls, Lane, Low, lower, lower_as};
use crate::libraries::expressions::ptx::body::{bits, memory};
use crate::libraries::expressions::ptx::formula::{run, uniforms};
use crate::libraries::kernel::{Class, Reg, Writer, ptx};

/// The lane of the accumulator, of which there is one.
pub(in crate::libraries::reductions) fn accumulator(kind: ReductionKind, dtype: DType) -> Result<Lane> {
    match Recipe::for_kind(kind, dtype)?.accumulators[..] {
        [dtype] if !dtype.is_complex() => Ok(computed(dtype)),
        _ => Err(Error::library("internal error: a scan of more than one number")),
    }
}

/// What an accumulator begins with, or the result of no elements.
pub(in crate::libraries::reductions) fn begin(
    writer: &mut Writer,
    kind: ReductionKind,
    dtype: DType,
    is_result: bool,
) -> Result<Reg> {
    let (recipe, lane) = (Recipe::for_kind(kind, dtype)?, accumulator(kind, dtype)?);
    let values = if is_result { &recipe.empty } else { &recipe.identity };
    Ok(writer.constant(lane, values.first().map_or(0, |scalar| scalar.words()[0])))
}

/// An expression of one output, with the registers of its constants.
struct Program(Low, Vec<Reg>);

impl Program {
    fn new(writer: &mut Writer, low: Low) -> Self {
        // These expressions have neither parameters nor extents.
        let constants = uniforms(writer, &low, &mut |writer, _, class| writer.reg(class));
        Program(low, constants)
    }

    /// Appends it; an empty one gives its first input.
    fn run(&self, writer: &mut Writer, first: Reg, second: Option<Reg>) -> Reg {
        let input = |k, _| if k == 0 { Some(first) } else { second };
        run(writer, &self.0, &self.1, &input, &|_| None).first().copied().unwrap_or(first)
    }
}

/// A fold of elements, or of accumulators.
pub(in crate::libraries) struct Folding {
    /// The accumulator.
    pub(in crate::libraries::reductions) lane: Lane,
    /// What is folded, and what is written.
    loaded: Lane,
    written: Lane,
    element: Program,
    join: Program,
    finish: Option<Program>,
}

impl Folding {
    /// Of elements or of accumulators, whose results are those of the kind or accumulators.
    pub(in crate::libraries) fn new(
        writer: &mut Writer,
        kind: ReductionKind,
        dtype: DType,
        (of_elements, has_results): (bool, bool),
    ) -> Result<Self> {
        let (recipe, lane) = (Recipe::for_kind(kind, dtype)?, accumulator(kind, dtype)?);
        let element = match of_elements {
            true => {
                let itself = record(&[dtype], |open| vec![open.input(0)])?;
                lower_as(&element(kind, &itself.kept.expr)?.expr, Calls::Expand, false)
            }
            false => Low::default(),
        };
        let element = Program::new(writer, element);
        let join = Program::new(writer, lower_as(&recipe.join.expr, Calls::Expand, false));
        let finish = has_results.then(|| Program::new(writer, lower(&recipe.finish.expr, Calls::Expand)));
        let loaded = if of_elements { stored(dtype) } else { lane };
        let written = if has_results { stored(kind.result(dtype)) } else { lane };
        Ok(Folding { lane, loaded, written, element, join, finish })
    }

    /// The registers of accumulators.
    pub(in crate::libraries::reductions) fn class(&self) -> Class {
        Class::for_lane(self.lane)
    }

    /// Loads what is folded, where the predicate is true; elsewhere it is 0, or nothing.
    pub(in crate::libraries::reductions) fn load_if(
        &self,
        writer: &mut Writer,
        there: Reg,
        at: Reg,
        is_zero: bool,
    ) -> Reg {
        let value = writer.reg(Class::for_lane(self.loaded));
        if is_zero {
            ptx!(writer, "mov.{} {value}, 0", bits(self.loaded));
        }
        ptx!(writer, "@{there} ld.global.{} {value}, [{at}+0]", memory(self.loaded));
        value
    }

    /// Loads an element, as it is accumulated.
    pub(in crate::libraries) fn load(&self, writer: &mut Writer, at: Reg) -> Reg {
        let value = writer.reg(Class::for_lane(self.loaded));
        ptx!(writer, "ld.global.{} {value}, [{at}+0]", memory(self.loaded));
        self.element(writer, value)
    }

    /// What was loaded, as it is accumulated.
    pub(in crate::libraries::reductions) fn element(&self, writer: &mut Writer, value: Reg) -> Reg {
        self.element.run(writer, value, None)
    }

    pub(in crate::libraries::reductions) fn joined(&self, writer: &mut Writer, own: Reg, value: Reg) -> Reg {
        self.join.run(writer, own, Some(value))
    }

    /// Joins an element to those before it, in their register.
    pub(in crate::libraries) fn join(&self, writer: &mut Writer, own: Reg, value: Reg) {
        let joined = self.joined(writer, own, value);
        ptx!(writer, "mov.{} {own}, {joined}", bits(self.lane));
    }

    /// Joins an element to those before it, where the predicate is true.
    pub(in crate::libraries::reductions) fn join_if(&self, writer: &mut Writer, there: Reg, own: Reg, value: Reg) {
        let joined = self.joined(writer, own, value);
        ptx!(writer, "selp.{} {own}, {joined}, {own}, {there}", bits(self.lane));
    }

    /// A copy of an accumulator, in a register of its own.
    pub(in crate::libraries) fn copy(&self, writer: &mut Writer, value: Reg) -> Reg {
        let own = writer.reg(self.class());
        ptx!(writer, "mov.{} {own}, {value}", bits(self.lane));
        own
    }

    /// Writes the result, where the predicate is true.
    pub(in crate::libraries::reductions) fn store_if(&self, writer: &mut Writer, there: Reg, at: Reg, own: Reg) {
        let result = self.result(writer, own);
        ptx!(writer, "@{there} st.global.{} [{at}+0], {result}", memory(self.written));
    }

    fn result(&self, writer: &mut Writer, own: Reg) -> Reg {
        let Some(finish) = &self.finish else { return own };
        let own = writer.canonical(self.lane, own);
        finish.run(writer, own, None)
    }

    /// Writes the result in the type of the elements: integers wrap.
    pub(in crate::libraries) fn store(&self, writer: &mut Writer, at: Reg, own: Reg) {
        let result = self.result(writer, own);
        let (is_long, size) = (matches!(self.lane, Lane::I64 | Lane::U64), self.loaded.size());
        if is_long && size < 8 {
            let low = writer.reg(Class::Word);
            ptx!(writer, "cvt.u32.u64 {low}, {result}");
            ptx!(writer, "st.global.u{} [{at}+0], {low}", 8 * size);
        } else {
            ptx!(writer, "st.global.{} [{at}+0], {result}", memory(self.loaded));
        }
    }
}
