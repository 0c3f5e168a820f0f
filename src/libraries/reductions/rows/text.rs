//! The text of a kernel, for `sm_70` and later.
//!
//! A block has some rows, or one. 16 threads have a group of 1024 elements of a row: a thread has four neighbouring chains, so that
//! it loads four neighbours at once. Chains are joined in the order of the tree: those of other threads by shuffles, then a thread's
//! own ones. Groups meet in shared memory, and each team of 16 threads joins them for itself. A thread has at most 64 elements of a row;
//! where that is faster (`launch.rs`) it keeps them in registers, so that the row is read once, and of softmax their exponentials.

use super::super::parts::{Part, Regs, canonical, find, parts};
use super::super::recipe::Recipe;
use super::super::space::GROUP;
use super::kernel::{Argument, KEEPING, Key, Program, Programs, QUAD, TEAM};
use crate::core::element::DType;
use crate::core::error::Result;
use crate::libraries::expressions::low::Lane;
use crate::libraries::expressions::low::lower::{computed, stored};
use crate::libraries::expressions::ptx::body::memory;
use crate::libraries::expressions::ptx::formula;
use crate::libraries::kernel::{Class, Parameter, Reg, Words, Writer, ptx};

/// Places for groups in the shared memory of a block.
pub(super) const PLACES: usize = 128;

/// The parts of an element; of a real one twice the same.
pub(super) type Element = Option<[Reg; 2]>;

/// Where a thread is.
pub(super) struct Place {
    /// Whether its row is there.
    pub(super) valid: Reg,
    /// Its number in its team.
    pub(super) own: Reg,
    /// Elements of its group.
    pub(super) len: Reg,
    /// Addresses of its first element of each operand; the target is the last one.
    pub(super) addresses: Regs,
    pub(super) coordinates: Regs,
    /// Number of the group in the row, and of the row in the block.
    pub(super) group: Reg,
    pub(super) among: Reg,
}

pub(super) struct Text<'a> {
    pub(super) key: &'a Key,
    pub(super) recipe: &'a Recipe,
    pub(super) programs: &'a Programs,
    pub(super) writer: Writer,
    words: Words<Argument>,
    /// Of each program.
    uniforms: Vec<Regs>,
    pub(super) slots: Vec<Part>,
    /// The parts of the element of each operand that has one for a row.
    pub(super) constants: Vec<Element>,
    /// Of exponentials: whether the largest element is being found; then what it is.
    pub(super) finds_largest: bool,
    pub(super) largest: Option<Reg>,
    /// For each step of a thread what it has kept: the operands of its elements, and their exponentials.
    pub(super) kept: Vec<[Vec<Element>; QUAD]>,
    pub(super) exponentials: Vec<[Option<Reg>; QUAD]>,
}

/// The module, and the words of its parameter.
pub(super) fn write(key: &Key, recipe: &Recipe, programs: &Programs) -> Result<(String, Words<Argument>)> {
    let mut text = Text {
        key,
        recipe,
        programs,
        writer: Writer::default(),
        words: Words::new(),
        uniforms: Vec::new(),
        slots: parts(recipe.accumulators.iter().copied(), computed),
        constants: Vec::new(),
        finds_largest: false,
        largest: None,
        kept: Vec::new(),
        exponentials: Vec::new(),
    };
    text.write();
    if key.places > 1 {
        for (k, slot) in text.slots.iter().enumerate() {
            for name in ["groups", "largest"].into_iter().take(1 + usize::from(is_exponentials(key))) {
                text.writer.share(format_args!("{name}_{k}"), 8, PLACES * slot.lane.size());
            }
        }
    }
    text.writer.most_threads = key.keeps.then_some(KEEPING);
    let parameter = Parameter { words: text.words.len(), written: 2, read: key.inputs.len() };
    Ok((text.writer.module(&parameter)?, text.words))
}

fn is_exponentials(key: &Key) -> bool {
    super::super::exponentials::is_it(key.kind)
}

impl Text<'_> {
    pub(super) fn argument(&mut self, argument: Argument, class: Class) -> Reg {
        self.words.read(&mut self.writer, argument, class)
    }

    fn write(&mut self) {
        // The words whose places are fixed.
        let rows = self.argument(Argument::Rows, Class::Word);
        let [target, results] = [Argument::Target, Argument::Results].map(|word| self.argument(word, Class::Long));
        let bases: Regs = (0..self.key.inputs.len()).map(|k| self.argument(Argument::Base(k), Class::Long)).collect();
        self.bind_uniforms();
        let place = self.place(rows, target, &bases);
        self.load_constants(&place);
        if is_exponentials(self.key) {
            self.finds_largest = true;
            self.largest = self.reduced(&place).first().copied();
            self.finds_largest = false;
        }
        let own = self.reduced(&place);
        let stats = self.finish(own);
        self.store_results(&place, results, &stats);
        self.spread(&place, &stats);
        ptx!(self.writer, "ret");
    }

    /// The accumulators of a row, in each of its threads.
    fn reduced(&mut self, place: &Place) -> Regs {
        let chains: Vec<Regs> = (0..QUAD).map(|_| self.identity()).collect();
        self.steps(place, &chains);
        let own = self.join_chains(chains);
        let own = self.join_groups(place, own);
        own.into_iter().map(|register| self.first_of_team(register)).collect()
    }

    /// Numbers that are the same for all elements.
    fn bind_uniforms(&mut self) {
        for program in Program::ALL {
            let words = &mut self.words;
            let own = formula::uniforms(&mut self.writer, self.programs.get(program), &mut |writer, k, class| {
                words.read(writer, Argument::Uniform(program, k), class)
            });
            self.uniforms.push(own);
        }
    }

    pub(super) fn word(&mut self, opcode: &str, a: impl std::fmt::Display, b: impl std::fmt::Display) -> Reg {
        let result = self.writer.reg(Class::Word);
        ptx!(self.writer, "{opcode} {result}, {a}, {b}");
        result
    }

    /// From the number of a thread to its row, group and chains.
    fn place(&mut self, rows: Reg, target: Reg, bases: &[Reg]) -> Place {
        let [block, thread] = self.writer.regs(Class::Word);
        ptx!(self.writer, "mov.u32 {block}, %ctaid.x");
        ptx!(self.writer, "mov.u32 {thread}, %tid.x");
        let team = self.word("shr.u32", thread, TEAM.trailing_zeros());
        let own = self.word("and.b32", thread, TEAM - 1);
        let together = self.argument(Argument::Together, Class::Word);
        let (among, group) = match self.key.places {
            1 => (team, self.writer.constant(Lane::U32, 0)),
            _ => {
                let groups = self.argument(Argument::Groups, Class::Word);
                (self.word("div.u32", team, groups), self.word("rem.u32", team, groups))
            }
        };
        let row = self.writer.reg(Class::Word);
        ptx!(self.writer, "mad.lo.u32 {row}, {block}, {together}, {among}");
        let [valid, inside] = self.writer.regs(Class::Predicate);
        ptx!(self.writer, "setp.lt.u32 {valid}, {row}, {rows}");
        ptx!(self.writer, "setp.lt.u32 {inside}, {among}, {together}");
        ptx!(self.writer, "and.pred {valid}, {valid}, {inside}");
        ptx!(self.writer, "selp.b32 {row}, {row}, 0, {valid}");
        let length = self.argument(Argument::Length, Class::Word);
        let first = self.word("mul.lo.u32", group, GROUP);
        let left = self.word("sub.u32", length, first);
        let left = self.word("min.u32", left, GROUP);
        let len = self.writer.reg(Class::Word);
        ptx!(self.writer, "selp.b32 {len}, {left}, 0, {valid}");
        let coordinates = self.coordinates(row);
        let at = self.writer.reg(Class::Word);
        ptx!(self.writer, "mad.lo.u32 {at}, {own}, {QUAD}, {first}");
        let mut types: Vec<(DType, bool)> = self.key.inputs.clone();
        types.push((self.target_type(), false));
        let mut addresses = Vec::new();
        for (k, (dtype, constant)) in types.into_iter().enumerate() {
            let base = bases.get(k).copied().unwrap_or(target);
            let address = self.walked(base, &coordinates, &|axis| Argument::KeptStride(k, axis));
            if !constant {
                let offset = self.writer.reg(Class::Long);
                ptx!(self.writer, "mul.wide.u32 {offset}, {at}, {}", dtype.size());
                ptx!(self.writer, "add.s64 {address}, {address}, {offset}");
            }
            addresses.push(address);
        }
        Place { valid, own, len, addresses, coordinates, group, among }
    }

    fn coordinates(&mut self, row: Reg) -> Regs {
        let (mut coordinates, mut rest) = (Vec::new(), row);
        for axis in (1..self.key.kept).rev() {
            let extent = self.argument(Argument::Kept(axis), Class::Word);
            let [quotient, remainder] = ["div.u32", "rem.u32"].map(|op| self.word(op, rest, extent));
            coordinates.push(remainder);
            rest = quotient;
        }
        if self.key.kept > 0 {
            coordinates.push(rest);
        }
        coordinates.reverse();
        coordinates
    }

    /// A base and the way to these coordinates, in a register of its own.
    pub(super) fn walked(&mut self, base: Reg, coordinates: &[Reg], stride: &dyn Fn(usize) -> Argument) -> Reg {
        let address = self.writer.reg(Class::Long);
        ptx!(self.writer, "mov.b64 {address}, {base}");
        for (axis, coordinate) in coordinates.iter().enumerate() {
            let (stride, wide) = (self.argument(stride(axis), Class::Long), self.writer.reg(Class::Long));
            ptx!(self.writer, "cvt.u64.u32 {wide}, {coordinate}");
            ptx!(self.writer, "mad.lo.s64 {address}, {wide}, {stride}, {address}");
        }
        address
    }

    pub(super) fn target_type(&self) -> DType {
        self.key.spread.0.expr.output_types().next().unwrap_or(DType::F32)
    }

    fn load_constants(&mut self, place: &Place) {
        for (k, (dtype, constant)) in self.key.inputs.clone().into_iter().enumerate() {
            let lane = stored(dtype);
            let loaded = constant.then(|| {
                let parts = [(); 2].map(|()| self.writer.constant(lane, 0));
                let count = if dtype.is_complex() { 2 } else { 1 };
                let (Some(address), t) = (place.addresses.get(k), memory(lane)) else { return parts };
                for (part, register) in parts.iter().enumerate().take(count) {
                    let offset = part * lane.size();
                    ptx!(self.writer, "@{} ld.global.{t} {register}, [{address}+{offset}]", place.valid);
                }
                let [re, _] = parts;
                if count == 2 { parts } else { [re; 2] }
            });
            self.constants.push(loaded);
        }
    }

    pub(super) fn identity(&mut self) -> Regs {
        let slots = self.slots.clone();
        let known = is_exponentials(self.key);
        let of = |slot: &Part| match (known, self.finds_largest, slot.lane) {
            (false, ..) => self.argument(Argument::Identity(slot.operand, slot.part), Class::for_lane(slot.lane)),
            (_, true, Lane::F64) => self.writer.constant(slot.lane, f64::NEG_INFINITY.to_bits()),
            (_, true, _) => self.writer.constant(slot.lane, f32::NEG_INFINITY.to_bits().into()),
            // -0, which changes no sum.
            (_, false, Lane::F64) => self.writer.constant(slot.lane, (-0f64).to_bits()),
            (_, false, _) => self.writer.constant(slot.lane, (-0f32).to_bits().into()),
        };
        slots.iter().map(of).collect()
    }

    /// Appends an expression; returns the registers of its outputs' parts.
    pub(super) fn run(&mut self, program: Program, input: &dyn Fn(usize, usize) -> Option<Reg>) -> Regs {
        let uniforms = self.uniforms.get(program as usize).map(Vec::as_slice).unwrap_or_default();
        formula::run(&mut self.writer, self.programs.get(program), uniforms, input, &|_| None)
    }

    /// The parts of the result of a row.
    fn finish(&mut self, own: Regs) -> Regs {
        let slots = self.slots.clone();
        let own = canonical(&mut self.writer, &slots, &own);
        let accumulators = self.recipe.accumulators.len();
        let count = self.recipe.count.map(|dtype| self.argument(Argument::Count, Class::for_lane(computed(dtype))));
        let largest = self.largest;
        let results = self.run(Program::Finish, &|k, part| match largest {
            Some(largest) => {
                if k == 0 {
                    Some(largest)
                } else {
                    own.first().copied()
                }
            }
            None if k >= accumulators => count,
            None => find(&slots, &own, k, part),
        });
        if self.key.finish.is_none() {
            return results;
        }
        self.run(Program::After, &|_, part| results.get(part).copied())
    }

    fn store_results(&mut self, place: &Place, results: Reg, stats: &[Reg]) {
        let address = self.walked(results, &place.coordinates, &Argument::ResultStride);
        let first = self.word("or.b32", place.own, place.group);
        let writes = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.eq.u32 {writes}, {first}, 0");
        ptx!(self.writer, "and.pred {writes}, {writes}, {}", place.valid);
        let dtype = self.key.spread.0.expr.inputs().last().copied().unwrap_or(DType::F32);
        let lane = stored(dtype);
        for (part, register) in stats.iter().enumerate() {
            let offset = part * lane.size();
            ptx!(self.writer, "@{writes} st.global.{} [{address}+{offset}], {register}", memory(lane));
        }
    }
}
