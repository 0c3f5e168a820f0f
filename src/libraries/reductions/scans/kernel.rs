//! The kernels as PTX for `sm_70` and later, PTX 7.0: a thread has a chunk.
//!
//! One makes totals of chunks, of elements or of totals; one makes results, from what is before each chunk. A thread loads some
//! elements at once, and takes them one after the other.

use super::levels::CHUNK;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::libraries::expressions::formula::record;
use crate::libraries::expressions::low::lower::stored;
use crate::libraries::expressions::low::{Calls, Lane, Low, lower, lower_as};
use crate::libraries::expressions::ptx::body::{bits, memory};
use crate::libraries::expressions::ptx::helpers;
use crate::libraries::expressions::ptx::writer::{Class, Reg, Writer, ptx};
use crate::libraries::reductions::element::element;
use crate::libraries::reductions::folding::{Program, accumulator};
use crate::libraries::reductions::kind::ReductionKind;
use crate::libraries::reductions::recipe::Recipe;

/// What a kernel makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pass {
    /// The total of each chunk.
    Totals,
    /// The scan of each chunk.
    Results {
        exclusive: bool,
        /// Whether what is before a chunk is in memory; else there is one chunk.
        has_before: bool,
    },
}

/// What a kernel depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) kind: ReductionKind,
    /// Of the elements, or of the parts of complex ones.
    pub(super) dtype: DType,
    pub(super) pass: Pass,
    /// Whether elements are read, and not totals.
    pub(super) is_leaf: bool,
    /// Whether the first result of all is that of no element.
    pub(super) from_nothing: bool,
    /// The nested loops over chunks.
    pub(super) axes: usize,
}

/// Elements that are under way at once.
const AT_ONCE: usize = 4;
/// The layouts of a level: target, what is read, totals, first elements.
pub(super) const LAYOUTS: usize = 4;

/// The size of what totals are.
pub(super) fn total_size(kind: ReductionKind, dtype: DType) -> Result<usize> {
    Ok(accumulator(&*Recipe::for_kind(kind, dtype)?)?.size())
}

/// Reads a word of the arguments.
pub(super) fn word(writer: &mut Writer, at: usize) -> Reg {
    let register = writer.reg(Class::Long);
    ptx!(writer, "ld.param.u64 {register}, [args+{}]", 8 * at);
    register
}

impl Key {
    /// The number of the word behind the addresses.
    pub(super) fn words(&self) -> usize {
        if matches!(self.pass, Pass::Results { has_before: true, .. }) { 4 } else { 3 }
    }

    /// The module. The arguments: tasks; the address of the target, of what is read, and of what is before each chunk if that is
    /// there; the length of the axis, the distances of neighbours in the target and in what is read, the first element of the first
    /// chunk; then for each axis of the loops the extent and the strides of the layouts. All in bytes but for first elements.
    pub(super) fn text(&self) -> Result<String> {
        let recipe = Recipe::for_kind(self.kind, self.dtype)?;
        let itself = record(&[self.dtype], |open| vec![open.input(0)])?;
        let lane = accumulator(&recipe)?;
        let element = match self.is_leaf {
            true => lower_as(&element(self.kind, &itself.kept.expr)?.expr, Calls::Expand, false),
            false => Low::default(),
        };
        let join = lower_as(&recipe.join.expr, Calls::Expand, false);
        let writes_results = self.is_leaf && self.pass != Pass::Totals;
        let finish = if writes_results { lower(&recipe.finish.expr, Calls::Expand) } else { Low::default() };
        let helpers = helpers(&[&element, &join, &finish]);
        let mut writer = Writer::default();
        let begins = match (self.pass, self.from_nothing) {
            (Pass::Results { .. }, true) => &recipe.empty,
            _ => &recipe.identity,
        };
        let bits = begins.first().map_or(0, |scalar| scalar.words()[0]);
        let begin = writer.constant(lane, bits);
        let [element, join, finish] = [element, join, finish].map(|low| Program::new(&mut writer, low));
        let loaded = if self.is_leaf { stored(self.dtype) } else { lane };
        let written = if writes_results { stored(self.kind.result(self.dtype)) } else { lane };
        self.body(&mut writer, [&element, &join, &finish], [lane, loaded, written], begin);
        let size = 8 * (self.words() + 4 + (1 + LAYOUTS) * self.axes);
        let body = writer.finish();
        Ok(format!(
            ".version 7.0\n.target sm_70\n.address_size 64\n{helpers}.visible .entry expression(.param .align 8 .b8 args[{size}])\n{{\n\
             // written 1 to 2, read 2 to {}\n{body}}}\n",
            self.words()
        ))
    }

    fn body(&self, writer: &mut Writer, programs: [&Program; 3], lanes: [Lane; 3], begin: Reg) {
        let [tasks, target, source] = [0, 1, 2].map(|at| word(writer, at));
        let before = (self.words() == 4).then(|| word(writer, 3));
        let [len, target_step, source_step, first] = [0, 1, 2, 3].map(|k| word(writer, self.words() + k));
        let [block, threads, thread, grid] = [(); 4].map(|()| writer.reg(Class::Word));
        ptx!(writer, "mov.u32 {block}, %ctaid.x");
        ptx!(writer, "mov.u32 {threads}, %ntid.x");
        ptx!(writer, "mov.u32 {thread}, %tid.x");
        ptx!(writer, "mov.u32 {grid}, %nctaid.x");
        let [task, step, wide] = [(); 3].map(|()| writer.reg(Class::Long));
        ptx!(writer, "cvt.u64.u32 {wide}, {thread}");
        ptx!(writer, "mul.wide.u32 {task}, {block}, {threads}");
        ptx!(writer, "add.u64 {task}, {task}, {wide}");
        ptx!(writer, "mul.wide.u32 {step}, {grid}, {threads}");
        let [beyond, again] = [(); 2].map(|()| writer.reg(Class::Predicate));
        ptx!(writer, "setp.ge.u64 {beyond}, {task}, {tasks}");
        ptx!(writer, "@{beyond} bra EXIT");
        writer.label("LOOP");
        let [to, from, total, begins] = self.offsets(writer, task);
        let [to_at, from_at] = [(); 2].map(|()| writer.reg(Class::Long));
        let to = if self.pass == Pass::Totals { total } else { to };
        ptx!(writer, "add.s64 {to_at}, {target}, {to}");
        ptx!(writer, "add.s64 {from_at}, {source}, {from}");
        ptx!(writer, "add.s64 {begins}, {begins}, {first}");
        let (left, count) = (writer.reg(Class::Long), writer.reg(Class::Word));
        ptx!(writer, "sub.u64 {left}, {len}, {begins}");
        ptx!(writer, "min.u64 {left}, {left}, {CHUNK}");
        ptx!(writer, "cvt.u32.u64 {count}, {left}");
        let own = writer.reg(Class::for_lane(lanes[0]));
        match before {
            Some(before) => {
                let at = writer.reg(Class::Long);
                ptx!(writer, "add.s64 {at}, {before}, {total}");
                ptx!(writer, "ld.global.{} {own}, [{at}+0]", memory(lanes[0]));
            }
            None => ptx!(writer, "mov.{} {own}, {begin}", bits(lanes[0])),
        }
        self.chunk(writer, programs, lanes, (own, count), [(to_at, target_step), (from_at, source_step)]);
        if self.pass == Pass::Totals {
            ptx!(writer, "st.global.{} [{to_at}+0], {own}", memory(lanes[2]));
        }
        ptx!(writer, "add.u64 {task}, {task}, {step}");
        ptx!(writer, "setp.lt.u64 {again}, {task}, {tasks}");
        ptx!(writer, "@{again} bra LOOP");
        writer.label("EXIT");
        ptx!(writer, "ret");
    }

    /// Takes the elements of a chunk.
    fn chunk(
        &self,
        writer: &mut Writer,
        [element, join, finish]: [&Program; 3],
        [lane, loaded, written]: [Lane; 3],
        (own, count): (Reg, Reg),
        [(to, to_step), (from, from_step)]: [(Reg, Reg); 2],
    ) {
        let done = writer.reg(Class::Word);
        ptx!(writer, "mov.b32 {done}, 0");
        let next = writer.fresh_label();
        writer.label(&next);
        let mut values = Vec::new();
        for k in 0..AT_ONCE {
            let (there, number) = (writer.reg(Class::Predicate), writer.reg(Class::Word));
            let value = writer.reg(Class::for_lane(loaded));
            ptx!(writer, "add.u32 {number}, {done}, {k}");
            ptx!(writer, "setp.lt.u32 {there}, {number}, {count}");
            ptx!(writer, "@{there} ld.global.{} {value}, [{from}+0]", memory(loaded));
            ptx!(writer, "add.s64 {from}, {from}, {from_step}");
            values.push((there, value));
        }
        for (there, value) in values {
            let value = if self.is_leaf { element.run(writer, &[value]).unwrap_or(value) } else { value };
            let joined = join.run(writer, &[own, value]).unwrap_or(value);
            let write = |writer: &mut Writer, result: Reg| {
                let result = match self.is_leaf {
                    true => {
                        let result = writer.canonical(lane, result);
                        finish.run(writer, &[result]).unwrap_or(result)
                    }
                    false => result,
                };
                ptx!(writer, "@{there} st.global.{} [{to}+0], {result}", memory(written));
                ptx!(writer, "add.s64 {to}, {to}, {to_step}");
            };
            match self.pass {
                Pass::Totals => {}
                Pass::Results { exclusive: true, .. } => write(writer, own),
                Pass::Results { exclusive: false, .. } => write(writer, joined),
            }
            ptx!(writer, "selp.{} {own}, {joined}, {own}, {there}", bits(lane));
        }
        let more = writer.reg(Class::Predicate);
        ptx!(writer, "add.u32 {done}, {done}, {AT_ONCE}");
        ptx!(writer, "setp.lt.u32 {more}, {done}, {count}");
        ptx!(writer, "@{more} bra {next}");
    }

    /// Where a task is in each layout.
    fn offsets(&self, writer: &mut Writer, task: Reg) -> [Reg; LAYOUTS] {
        let axes = self.words() + 4;
        let at = |axis: usize| axes + (1 + LAYOUTS) * axis;
        let mut coordinates = Vec::new();
        let mut rest = task;
        for axis in (1..self.axes).rev() {
            let extent = word(writer, at(axis));
            let [coordinate, quotient] = [(); 2].map(|()| writer.reg(Class::Long));
            ptx!(writer, "rem.u64 {coordinate}, {rest}, {extent}");
            ptx!(writer, "div.u64 {quotient}, {rest}, {extent}");
            coordinates.push((axis, coordinate));
            rest = quotient;
        }
        if self.axes > 0 {
            coordinates.push((0, rest));
        }
        std::array::from_fn(|layout| {
            let sum = writer.reg(Class::Long);
            ptx!(writer, "mov.b64 {sum}, 0");
            for (axis, coordinate) in &coordinates {
                let stride = word(writer, at(*axis) + 1 + layout);
                ptx!(writer, "mad.lo.s64 {sum}, {coordinate}, {stride}, {sum}");
            }
            sum
        })
    }
}
