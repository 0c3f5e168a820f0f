//! The elements of a thread: their loads, the steps that take them into chains, and the new ones.

use super::super::parts::{Regs, keep};
use super::super::space::CHAINS;
use super::kernel::{Program, QUAD};
use super::text::{Element, Place, Text};
use crate::core::element::DType;
use crate::libraries::expressions::low::lower::stored;
use crate::libraries::expressions::low::{Lane, LowOp};
use crate::libraries::expressions::ptx::body::memory;
use crate::libraries::kernel::{Class, Reg, joined, ptx};

/// What is done for each step of a thread: its number, the place of its first element if that may not be there, and the operands of its
/// elements.
type Body<'b, T> = dyn FnMut(&mut T, usize, Option<Reg>, &[Vec<Element>; QUAD]) + 'b;

impl Text<'_> {
    /// Whether an expression takes an operand.
    pub(super) fn takes(&self, program: Program, k: usize) -> bool {
        let is_it = |op: &LowOp| matches!(op, LowOp::Input(input, _) if usize::from(*input) == k);
        self.programs.get(program).instrs().iter().any(|instr| is_it(&instr.op))
    }

    /// Calls `body` for the elements of a thread, some steps at once, with the values of the operands of each element: those that
    /// `program` takes.
    pub(super) fn each(&mut self, place: &Place, program: Program, body: &mut Body<'_, Self>, advance: bool) {
        if self.key.keeps {
            return self.each_kept(place, program, body);
        }
        let inputs = self.key.inputs.clone();
        let mut moving: Vec<(usize, DType, Reg)> = Vec::new();
        for (k, (dtype, constant)) in inputs.iter().enumerate() {
            if let (false, true, Some(start)) = (*constant, self.takes(program, k), place.addresses.get(k)) {
                let address = self.writer.reg(Class::Long);
                ptx!(self.writer, "mov.b64 {address}, {start}");
                moving.push((k, *dtype, address));
            }
        }
        let local = self.writer.reg(Class::Word);
        ptx!(self.writer, "mul.lo.u32 {local}, {}, {QUAD}", place.own);
        let done = self.writer.reg(Class::Word);
        ptx!(self.writer, "mov.b32 {done}, 0");
        let [again, end] = [(); 2].map(|()| self.writer.fresh_label());
        let none = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.eq.u32 {none}, {}, 0", place.len);
        ptx!(self.writer, "@{none} bra {end}");
        self.writer.label(&again);
        let mut steps = Vec::new();
        for turn in 0..self.key.turns {
            let at = (!self.key.is_whole).then(|| self.word("add.u32", local, turn * CHAINS));
            steps.push((turn, at, self.load(&moving, turn, at, place)));
        }
        for (turn, at, values) in &steps {
            body(self, *turn, *at, values);
        }
        let turns = self.key.turns;
        for (_, dtype, address) in &moving {
            ptx!(self.writer, "add.s64 {address}, {address}, {}", turns * CHAINS * dtype.size());
        }
        if advance {
            let size = self.target_type().size();
            if let Some(address) = place.addresses.last() {
                ptx!(self.writer, "add.s64 {address}, {address}, {}", turns * CHAINS * size);
            }
        }
        ptx!(self.writer, "add.u32 {local}, {local}, {}", turns * CHAINS);
        ptx!(self.writer, "add.u32 {done}, {done}, {}", turns * CHAINS);
        let more = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.lt.u32 {more}, {done}, {}", place.len);
        ptx!(self.writer, "@{more} bra {again}");
        self.writer.label(&end);
    }

    /// As [`each`](Self::each), for all steps of a thread, which keeps what it loads first.
    fn each_kept(&mut self, place: &Place, program: Program, body: &mut Body<'_, Self>) {
        let (turns, begins) = (self.key.turns, self.kept.is_empty());
        let is_kept = |text: &Self, k: usize| {
            let first = text.kept.first().and_then(|[values, ..]| values.get(k));
            first.is_some_and(Option::is_some)
        };
        let mut missing: Vec<(usize, DType, Reg)> = Vec::new();
        for (k, (dtype, constant)) in self.key.inputs.iter().enumerate() {
            if let (false, true, false, Some(address)) =
                (*constant, self.takes(program, k), is_kept(self, k), place.addresses.get(k))
            {
                missing.push((k, *dtype, *address));
            }
        }
        let local = self.word("mul.lo.u32", place.own, QUAD);
        let (end, none) = (self.writer.fresh_label(), self.writer.reg(Class::Predicate));
        ptx!(self.writer, "setp.eq.u32 {none}, {}, 0", place.len);
        ptx!(self.writer, "@{none} bra {end}");
        // What is kept is loaded at once; registers for all of the rest would be too many.
        let at_once = if begins { turns } else { 4 };
        let all: Vec<usize> = (0..turns).collect();
        for some in all.chunks(at_once) {
            let mut steps = Vec::new();
            for turn in some {
                let at = (!self.key.is_whole).then(|| self.word("add.u32", local, turn * CHAINS));
                let mut values = self.load(&missing, *turn, at, place);
                for (own, kept) in values.iter_mut().zip(self.kept.get(*turn).into_iter().flatten()) {
                    own.iter_mut().zip(kept).filter(|(own, _)| own.is_none()).for_each(|(own, kept)| *own = *kept);
                }
                steps.push((*turn, at, values));
            }
            if begins {
                self.kept = steps.iter().map(|(.., values)| values.clone()).collect();
            }
            for (turn, at, values) in &steps {
                body(self, *turn, *at, values);
            }
        }
        self.writer.label(&end);
    }

    /// Loads the operands of four neighbours.
    pub(super) fn load(
        &mut self,
        moving: &[(usize, DType, Reg)],
        turn: usize,
        at: Option<Reg>,
        place: &Place,
    ) -> [Vec<Element>; QUAD] {
        let mut all: [Vec<Element>; QUAD] = std::array::from_fn(|_| self.constants.clone());
        for (k, dtype, address) in moving {
            let lane = stored(*dtype);
            let offset = turn * CHAINS * lane.size();
            let values = match self.key.is_vector {
                true => self.load_quad(lane, *address, offset, at, place),
                false => {
                    let mut values = Vec::new();
                    for j in 0..QUAD {
                        let guard = self.guard(at, j, place);
                        let register = self.writer.reg(Class::for_lane(lane));
                        let (t, offset) = (memory(lane), offset + j * lane.size());
                        ptx!(self.writer, "{guard}ld.global.{t} {register}, [{address}+{offset}]");
                        values.push(register);
                    }
                    values
                }
            };
            for (of_element, value) in all.iter_mut().zip(values) {
                if let Some(own) = of_element.get_mut(*k) {
                    *own = Some([value; 2]);
                }
            }
        }
        all
    }

    /// The guard of element `j` of four, that is there if its number is below the length.
    pub(super) fn guard(&mut self, at: Option<Reg>, j: usize, place: &Place) -> String {
        let Some(at) = at else { return String::new() };
        let there = self.there(at, j, place);
        format!("@{there} ")
    }

    pub(super) fn there(&mut self, at: Reg, j: usize, place: &Place) -> Reg {
        let number = self.word("add.u32", at, j);
        let there = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.lt.u32 {there}, {number}, {}", place.len);
        there
    }

    pub(super) fn load_quad(
        &mut self,
        lane: Lane,
        address: Reg,
        offset: usize,
        at: Option<Reg>,
        place: &Place,
    ) -> Regs {
        let guard = self.guard(at, 0, place);
        if lane.size() == 2 {
            let halves: Regs = (0..QUAD).map(|_| self.writer.reg(Class::Half)).collect();
            ptx!(self.writer, "{guard}ld.global.v4.u16 {}, [{address}+{offset}]", joined(&halves).1);
            let widen = |half: &Reg| {
                let word = self.writer.reg(Class::Word);
                ptx!(self.writer, "cvt.u32.u16 {word}, {half}");
                word
            };
            return halves.iter().map(widen).collect();
        }
        let values: Regs = (0..QUAD).map(|_| self.writer.reg(Class::for_lane(lane))).collect();
        let (t, at_once) = (memory(lane), 16 / lane.size());
        for (nth, some) in values.chunks(at_once).enumerate() {
            let offset = offset + 16 * nth;
            ptx!(self.writer, "{guard}ld.global.v{at_once}.{t} {}, [{address}+{offset}]", joined(some).1);
        }
        values
    }

    /// Takes all elements of a thread into its chains.
    pub(super) fn steps(&mut self, place: &Place, chains: &[Regs]) {
        let is_vector = self.key.is_vector;
        let mut body = |text: &mut Self, _: usize, at: Option<Reg>, values: &[Vec<Element>; QUAD]| {
            let mut exponentials = [None; QUAD];
            for (j, (chain, values)) in chains.iter().zip(values).enumerate() {
                let there = at.map(|at| text.there(at, if is_vector { 0 } else { j }, place));
                let mut element = text.run(Program::Element, &|k, part| part_of(values, k, part));
                if let (Some(largest), false) = (text.largest, text.finds_largest) {
                    let input = |k: usize, _| if k == 0 { element.first().copied() } else { Some(largest) };
                    element = text.run(Program::Distance, &input);
                    if let Some(own) = exponentials.get_mut(j) {
                        *own = element.first().copied();
                    }
                }
                let new = text.step(chain, &element);
                keep(&mut text.writer, &text.slots, chain, &new, there);
            }
            text.exponentials.push(exponentials);
        };
        self.exponentials.clear();
        self.each(place, Program::Element, &mut body, false);
    }

    /// Makes the new elements of a row.
    pub(super) fn spread(&mut self, place: &Place, stats: &[Reg]) {
        let (read, is_vector) = (self.key.inputs.len(), self.key.is_vector);
        let lane = stored(self.target_type());
        let is_scaled = !self.programs.get(Program::Scaled).outputs().is_empty();
        let Some(address) = place.addresses.last().copied() else { return };
        let mut body = |text: &mut Self, turn: usize, at: Option<Reg>, values: &[Vec<Element>; QUAD]| {
            let offset = turn * CHAINS * lane.size();
            let mut made = Vec::new();
            let kept = text.exponentials.get(turn).copied().filter(|_| is_scaled).unwrap_or_default();
            for (values, exponential) in values.iter().zip(kept) {
                let input = |k: usize, part: usize| match exponential {
                    Some(_) if k == 0 => exponential,
                    Some(_) => stats.get(part).copied(),
                    None if k == read => stats.get(part).copied(),
                    None => part_of(values, k, part),
                };
                let program = if exponential.is_some() { Program::Scaled } else { Program::Spread };
                made.extend(text.run(program, &input).first().copied());
            }
            if is_vector {
                let guard = text.guard(at, 0, place);
                return text.store_quad(lane, address, offset, &guard, &made);
            }
            for (j, value) in made.into_iter().enumerate() {
                let guard = text.guard(at, j, place);
                let (t, offset) = (memory(lane), offset + j * lane.size());
                ptx!(text.writer, "{guard}st.global.{t} [{address}+{offset}], {value}");
            }
        };
        self.each(place, Program::Spread, &mut body, true);
    }

    pub(super) fn store_quad(&mut self, lane: Lane, address: Reg, offset: usize, guard: &str, values: &[Reg]) {
        if lane.size() == 2 {
            let narrow = |word: &Reg| {
                let half = self.writer.reg(Class::Half);
                ptx!(self.writer, "cvt.u16.u32 {half}, {word}");
                half
            };
            let halves: Regs = values.iter().map(narrow).collect();
            ptx!(self.writer, "{guard}st.global.v4.u16 [{address}+{offset}], {}", joined(&halves).1);
            return;
        }
        let (t, at_once) = (memory(lane), 16 / lane.size());
        for (nth, some) in values.chunks(at_once).enumerate() {
            let offset = offset + 16 * nth;
            ptx!(self.writer, "{guard}st.global.v{at_once}.{t} [{address}+{offset}], {}", joined(some).1);
        }
    }
}

/// A part of an operand's element.
fn part_of(values: &[Element], k: usize, part: usize) -> Option<Reg> {
    values.get(k).copied().flatten().and_then(|parts| parts.get(part).copied())
}
