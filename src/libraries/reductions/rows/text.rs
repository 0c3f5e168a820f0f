//! The text of a kernel, for `sm_70` and later.
//!
//! A block has some rows, or one. 16 threads have a group of 1024 elements of a row: a thread has four neighbouring chains, so that
//! it loads four neighbours at once. Chains are joined in the order of the tree: those of other threads by shuffles, then a thread's
//! own ones. Groups meet in shared memory, and each team of 16 threads joins them for itself.

use super::super::recipe::Recipe;
use super::super::space::{CHAINS, GROUP};
use super::kernel::{Argument, Key, Program, Programs, QUAD, TEAM};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::libraries::expressions::low::lower::{computed, stored};
use crate::libraries::expressions::low::{Lane, LowOp, Uniform};
use crate::libraries::expressions::ptx::body::{bits, memory};
use crate::libraries::expressions::ptx::writer::{Class, Reg, Writer, ptx};

/// The largest size of the arguments of a kernel.
const MAX_ARGUMENTS: usize = 4096;
/// Places for groups in the shared memory of a block.
const PLACES: usize = 128;

type Regs = Vec<Reg>;

/// The parts of an element; of a real one twice the same.
type Element = Option<[Reg; 2]>;

/// A part of an accumulator.
#[derive(Clone, Copy)]
struct Slot {
    accumulator: usize,
    part: usize,
    lane: Lane,
}

fn slots(recipe: &Recipe) -> Vec<Slot> {
    let of = |(accumulator, dtype): (usize, &DType)| {
        let lane = computed(*dtype);
        (0..if dtype.is_complex() { 2 } else { 1 }).map(move |part| Slot { accumulator, part, lane })
    };
    recipe.accumulators.iter().enumerate().flat_map(of).collect()
}

/// Where a thread is.
struct Place {
    /// Whether its row is there.
    valid: Reg,
    /// Its number in its team.
    own: Reg,
    /// Elements of its group.
    len: Reg,
    /// Addresses of its first element of each operand; the target is the last one.
    addresses: Regs,
    coordinates: Regs,
    /// Number of the group in the row, and of the row in the block.
    group: Reg,
    among: Reg,
}

struct Text<'a> {
    key: &'a Key,
    recipe: &'a Recipe,
    programs: &'a Programs,
    writer: Writer,
    arguments: Vec<Argument>,
    uniforms: Vec<((Program, u16), Reg)>,
    slots: Vec<Slot>,
    /// The parts of the element of each operand that has one for a row.
    constants: Vec<Element>,
}

/// The entry point, and the words of its parameter.
pub(super) fn write(key: &Key, recipe: &Recipe, programs: &Programs) -> Result<(String, Vec<Argument>)> {
    let mut text = Text {
        key,
        recipe,
        programs,
        writer: Writer::default(),
        arguments: Vec::new(),
        uniforms: Vec::new(),
        slots: slots(recipe),
        constants: Vec::new(),
    };
    text.write();
    let size = 8 * text.arguments.len();
    if size > MAX_ARGUMENTS {
        let what = format!("numbers and strides take {size} bytes, but a kernel takes {MAX_ARGUMENTS}");
        return Err(Error::invalid("formula", what));
    }
    let shared: String = match key.places {
        1 => String::new(),
        _ => text
            .slots
            .iter()
            .enumerate()
            .map(|(k, slot)| format!("\t.shared .align 8 .b8 groups_{k}[{}];\n", PLACES * slot.lane.size()))
            .collect(),
    };
    let operands = format!("// written 1 to 3, read 3 to {}", 3 + key.inputs.len());
    let body = text.writer.finish();
    let entry =
        format!(".visible .entry expression(.param .align 8 .b8 args[{size}])\n{{\n{operands}\n{shared}{body}}}\n");
    Ok((entry, text.arguments))
}

impl Text<'_> {
    /// Reads a word of the arguments; the first time it gets a place there.
    fn argument(&mut self, argument: Argument, class: Class) -> Reg {
        let at = self.arguments.iter().position(|known| *known == argument).unwrap_or(self.arguments.len());
        if at == self.arguments.len() {
            self.arguments.push(argument);
        }
        let register = self.writer.reg(class);
        let t = match class {
            Class::Long => "u64",
            Class::Single => "f32",
            Class::Double => "f64",
            _ => "u32",
        };
        ptx!(self.writer, "ld.param.{t} {register}, [args+{}]", 8 * at);
        register
    }

    fn write(&mut self) {
        // The words whose places are fixed.
        let rows = self.argument(Argument::Rows, Class::Word);
        let [target, results] = [Argument::Target, Argument::Results].map(|word| self.argument(word, Class::Long));
        let bases: Regs = (0..self.key.inputs.len()).map(|k| self.argument(Argument::Base(k), Class::Long)).collect();
        self.bind_uniforms();
        let place = self.place(rows, target, &bases);
        self.load_constants(&place);
        let chains: Vec<Regs> = (0..QUAD).map(|_| self.identity()).collect();
        self.steps(&place, &chains);
        let own = self.join_chains(chains);
        let own = self.join_groups(&place, own);
        let own: Regs = own.into_iter().map(|register| self.first_of_team(register)).collect();
        let stats = self.finish(own);
        self.store_results(&place, results, &stats);
        self.spread(&place, &stats);
        ptx!(self.writer, "ret");
    }

    /// Numbers that are the same for all elements.
    fn bind_uniforms(&mut self) {
        let programs = self.programs;
        for program in Program::ALL {
            for (k, (uniform, lane)) in (0..).zip(programs.get(program).uniforms()) {
                let register = match uniform {
                    Uniform::Constant(bits) => self.writer.constant(*lane, *bits),
                    _ => self.argument(Argument::Uniform(program, k), Class::for_lane(*lane)),
                };
                self.uniforms.push(((program, k), register));
            }
        }
    }

    fn word(&mut self, opcode: &str, a: impl std::fmt::Display, b: impl std::fmt::Display) -> Reg {
        let result = self.writer.reg(Class::Word);
        ptx!(self.writer, "{opcode} {result}, {a}, {b}");
        result
    }

    /// From the number of a thread to its row, group and chains.
    fn place(&mut self, rows: Reg, target: Reg, bases: &[Reg]) -> Place {
        let [block, thread] = [(); 2].map(|()| self.writer.reg(Class::Word));
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
        let [valid, inside] = [(); 2].map(|()| self.writer.reg(Class::Predicate));
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
    fn walked(&mut self, base: Reg, coordinates: &[Reg], stride: &dyn Fn(usize) -> Argument) -> Reg {
        let address = self.writer.reg(Class::Long);
        ptx!(self.writer, "mov.b64 {address}, {base}");
        for (axis, coordinate) in coordinates.iter().enumerate() {
            let (stride, wide) = (self.argument(stride(axis), Class::Long), self.writer.reg(Class::Long));
            ptx!(self.writer, "cvt.u64.u32 {wide}, {coordinate}");
            ptx!(self.writer, "mad.lo.s64 {address}, {wide}, {stride}, {address}");
        }
        address
    }

    fn target_type(&self) -> DType {
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

    fn identity(&mut self) -> Regs {
        let slots = self.slots.clone();
        let of =
            |slot: &Slot| self.argument(Argument::Identity(slot.accumulator, slot.part), Class::for_lane(slot.lane));
        slots.iter().map(of).collect()
    }

    /// Whether an expression takes an operand.
    fn takes(&self, program: Program, k: usize) -> bool {
        let is_it = |op: &LowOp| matches!(op, LowOp::Input(input, _) if usize::from(*input) == k);
        self.programs.get(program).instrs().iter().any(|instr| is_it(&instr.op))
    }

    /// Calls `body` for the elements of a thread, some steps at once, with the values of the operands of each element: those that
    /// `program` takes.
    #[expect(clippy::type_complexity, reason = "what a step is given, named in the documentation")]
    fn each(
        &mut self,
        place: &Place,
        program: Program,
        body: &mut dyn FnMut(&mut Self, usize, Option<Reg>, &[Vec<Element>; QUAD]),
        advance: bool,
    ) {
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

    /// Loads the operands of four neighbours.
    fn load(
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
    fn guard(&mut self, at: Option<Reg>, j: usize, place: &Place) -> String {
        let Some(at) = at else { return String::new() };
        let there = self.there(at, j, place);
        format!("@{there} ")
    }

    fn there(&mut self, at: Reg, j: usize, place: &Place) -> Reg {
        let number = self.word("add.u32", at, j);
        let there = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.lt.u32 {there}, {number}, {}", place.len);
        there
    }

    fn load_quad(&mut self, lane: Lane, address: Reg, offset: usize, at: Option<Reg>, place: &Place) -> Regs {
        let guard = self.guard(at, 0, place);
        if lane.size() == 2 {
            let halves: Regs = (0..QUAD).map(|_| self.writer.reg(Class::Half)).collect();
            ptx!(self.writer, "{guard}ld.global.v4.u16 {}, [{address}+{offset}]", list(&halves));
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
            ptx!(self.writer, "{guard}ld.global.v{at_once}.{t} {}, [{address}+{offset}]", list(some));
        }
        values
    }

    /// Takes all elements of a thread into its chains.
    fn steps(&mut self, place: &Place, chains: &[Regs]) {
        let is_vector = self.key.is_vector;
        let mut body = |text: &mut Self, _: usize, at: Option<Reg>, values: &[Vec<Element>; QUAD]| {
            for (j, (chain, values)) in chains.iter().zip(values).enumerate() {
                let there = at.map(|at| text.there(at, if is_vector { 0 } else { j }, place));
                let element = text.run(Program::Element, &|k, part| part_of(values, k, part));
                let new = text.step(chain, &element);
                text.keep(chain, &new, there);
            }
        };
        self.each(place, Program::Element, &mut body, false);
    }

    /// The accumulators of a chain become the new ones, if there is an element.
    fn keep(&mut self, chain: &[Reg], new: &[Reg], there: Option<Reg>) {
        let lanes: Vec<Lane> = self.slots.iter().map(|slot| slot.lane).collect();
        for ((own, new), lane) in chain.iter().zip(new).zip(lanes) {
            match there {
                Some(there) => ptx!(self.writer, "selp.{} {own}, {new}, {own}, {there}", bits(lane)),
                None => ptx!(self.writer, "mov.{} {own}, {new}", bits(lane)),
            }
        }
    }

    /// Appends an expression; returns the registers of its outputs' parts.
    fn run(&mut self, program: Program, input: &dyn Fn(usize, usize) -> Option<Reg>) -> Regs {
        let low = self.programs.get(program);
        let mut values: Regs = Vec::with_capacity(low.instrs().len());
        for instr in low.instrs() {
            let found = match instr.op {
                LowOp::Input(k, part) => input(k.into(), part.into()),
                LowOp::Position(_) => None,
                LowOp::Uniform(k) => {
                    self.uniforms.iter().find(|(key, _)| *key == (program, k)).map(|(_, register)| *register)
                }
                _ => {
                    let first = values.first().copied();
                    let args = instr.args.map(|value| values.get(value as usize).copied().or(first));
                    // Operands come before it.
                    let args = args.map(|arg| arg.unwrap_or_else(|| self.writer.reg(Class::Word)));
                    Some(self.writer.operation(instr, args))
                }
            };
            // What is not there is used by nothing.
            let register = found.unwrap_or_else(|| self.writer.reg(Class::for_lane(instr.lane)));
            values.push(register);
        }
        low.outputs().iter().flatten().filter_map(|value| values.get(*value as usize).copied()).collect()
    }

    fn slot(slots: &[Slot], of: &[Reg], accumulator: usize, part: usize) -> Option<Reg> {
        let at = slots.iter().position(|slot| (slot.accumulator, slot.part) == (accumulator, part))?;
        of.get(at).copied()
    }

    fn step(&mut self, chain: &[Reg], element: &[Reg]) -> Regs {
        let (slots, accumulators) = (self.slots.clone(), self.recipe.accumulators.len());
        self.run(Program::Step, &|k, part| match k.checked_sub(accumulators) {
            None => Self::slot(&slots, chain, k, part),
            Some(_) => element.get(part).copied(),
        })
    }

    fn join(&mut self, own: &[Reg], other: &[Reg]) -> Regs {
        let (slots, accumulators) = (self.slots.clone(), self.recipe.accumulators.len());
        self.run(Program::Join, &|k, part| match k.checked_sub(accumulators) {
            None => Self::slot(&slots, own, k, part),
            Some(k) => Self::slot(&slots, other, k, part),
        })
    }

    /// Joins accumulators of threads that are `distance` apart.
    fn meet(&mut self, own: &[Reg], distance: usize) -> Regs {
        let other: Regs = own.iter().map(|register| self.shuffled(*register, "down", distance)).collect();
        self.join(own, &other)
    }

    fn join_chains(&mut self, mut chains: Vec<Regs>) -> Regs {
        let mut distance = TEAM / 2;
        while distance > 0 {
            chains = chains.iter().map(|chain| self.meet(chain, distance)).collect();
            distance /= 2;
        }
        self.halves(chains)
    }

    /// Joins the first half with the second one, until one is left.
    fn halves(&mut self, mut all: Vec<Regs>) -> Regs {
        while all.len() > 1 {
            let other = all.split_off(all.len().div_ceil(2));
            all = all.iter().zip(&other).map(|(own, other)| self.join(own, other)).collect();
        }
        all.pop().unwrap_or_default()
    }

    /// The groups of a row are joined by each of its teams.
    fn join_groups(&mut self, place: &Place, own: Regs) -> Regs {
        if self.key.places == 1 {
            return own;
        }
        let row = self.word("mul.lo.u32", place.among, self.key.places);
        let at = self.word("add.u32", row, place.group);
        let first = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.eq.u32 {first}, {}, 0", place.own);
        ptx!(self.writer, "and.pred {first}, {first}, {}", place.valid);
        let lanes: Vec<Lane> = self.slots.iter().map(|slot| slot.lane).collect();
        for (k, (lane, register)) in lanes.iter().zip(&own).enumerate() {
            let address = self.shared(k, at, lane.size());
            ptx!(self.writer, "@{first} st.shared.{} [{address}+0], {register}", memory(*lane));
        }
        ptx!(self.writer, "bar.sync 0");
        let groups = self.argument(Argument::Groups, Class::Word);
        let mut all = Vec::new();
        for nth in 0..self.key.places / TEAM {
            let group = self.word("add.u32", place.own, nth * TEAM);
            let at = self.word("add.u32", row, group);
            let there = self.writer.reg(Class::Predicate);
            ptx!(self.writer, "setp.lt.u32 {there}, {group}, {groups}");
            ptx!(self.writer, "and.pred {there}, {there}, {}", place.valid);
            let registers = self.identity();
            for (k, (lane, register)) in lanes.iter().zip(&registers).enumerate() {
                let address = self.shared(k, at, lane.size());
                ptx!(self.writer, "@{there} ld.shared.{} {register}, [{address}+0]", memory(*lane));
            }
            all.push(registers);
        }
        let mut own = self.halves(all);
        let mut distance = TEAM / 2;
        while distance > 0 {
            own = self.meet(&own, distance);
            distance /= 2;
        }
        own
    }

    /// The address of a place for a group.
    fn shared(&mut self, k: usize, at: Reg, size: usize) -> Reg {
        let (base, address) = (self.writer.reg(Class::Word), self.writer.reg(Class::Word));
        ptx!(self.writer, "mov.u32 {base}, groups_{k}");
        ptx!(self.writer, "mad.lo.u32 {address}, {at}, {size}, {base}");
        address
    }

    /// What the first thread of the team has.
    fn first_of_team(&mut self, own: Reg) -> Reg {
        self.shuffled(own, "idx", 0)
    }

    /// The value of another thread of the team.
    fn shuffled(&mut self, own: Reg, way: &str, distance: usize) -> Reg {
        // Sixteen lanes at a time.
        let shuffle = format!("shfl.sync.{way}.b32");
        let clamp = "0x101f, 0xffffffff";
        let class = own.class();
        let result = self.writer.reg(class);
        if !matches!(class, Class::Long | Class::Double) {
            ptx!(self.writer, "{shuffle} {result}, {own}, {distance}, {clamp}");
            return result;
        }
        let [bits, high, low, upper] = [(); 4].map(|()| self.writer.reg(Class::Long));
        let [low_word, high_word, low_other, high_other] = [(); 4].map(|()| self.writer.reg(Class::Word));
        ptx!(self.writer, "mov.b64 {bits}, {own}");
        ptx!(self.writer, "cvt.u32.u64 {low_word}, {bits}");
        ptx!(self.writer, "shr.u64 {high}, {bits}, 32");
        ptx!(self.writer, "cvt.u32.u64 {high_word}, {high}");
        ptx!(self.writer, "{shuffle} {low_other}, {low_word}, {distance}, {clamp}");
        ptx!(self.writer, "{shuffle} {high_other}, {high_word}, {distance}, {clamp}");
        ptx!(self.writer, "cvt.u64.u32 {low}, {low_other}");
        ptx!(self.writer, "cvt.u64.u32 {upper}, {high_other}");
        ptx!(self.writer, "shl.b64 {upper}, {upper}, 32");
        ptx!(self.writer, "or.b64 {upper}, {upper}, {low}");
        ptx!(self.writer, "mov.b64 {result}, {upper}");
        result
    }

    /// The parts of the result of a row.
    fn finish(&mut self, own: Regs) -> Regs {
        let slots = self.slots.clone();
        // Accumulators are computed: a NaN has the one pattern.
        let own: Regs = own.into_iter().zip(&slots).map(|(own, slot)| self.writer.canonical(slot.lane, own)).collect();
        let accumulators = self.recipe.accumulators.len();
        let count = self.recipe.count.map(|dtype| self.argument(Argument::Count, Class::for_lane(computed(dtype))));
        let results = self.run(Program::Finish, &|k, part| {
            if k >= accumulators { count } else { Self::slot(&slots, &own, k, part) }
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

    /// Makes the new elements of a row.
    fn spread(&mut self, place: &Place, stats: &[Reg]) {
        let (read, is_vector) = (self.key.inputs.len(), self.key.is_vector);
        let lane = stored(self.target_type());
        let Some(address) = place.addresses.last().copied() else { return };
        let mut body = |text: &mut Self, turn: usize, at: Option<Reg>, values: &[Vec<Element>; QUAD]| {
            let offset = turn * CHAINS * lane.size();
            let mut made = Vec::new();
            for values in values {
                let input = |k: usize, part: usize| match k == read {
                    true => stats.get(part).copied(),
                    false => part_of(values, k, part),
                };
                made.extend(text.run(Program::Spread, &input).first().copied());
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

    fn store_quad(&mut self, lane: Lane, address: Reg, offset: usize, guard: &str, values: &[Reg]) {
        if lane.size() == 2 {
            let narrow = |word: &Reg| {
                let half = self.writer.reg(Class::Half);
                ptx!(self.writer, "cvt.u16.u32 {half}, {word}");
                half
            };
            let halves: Regs = values.iter().map(narrow).collect();
            ptx!(self.writer, "{guard}st.global.v4.u16 [{address}+{offset}], {}", list(&halves));
            return;
        }
        let (t, at_once) = (memory(lane), 16 / lane.size());
        for (nth, some) in values.chunks(at_once).enumerate() {
            let offset = offset + 16 * nth;
            ptx!(self.writer, "{guard}st.global.v{at_once}.{t} [{address}+{offset}], {}", list(some));
        }
    }
}

/// A part of an operand's element.
fn part_of(values: &[Element], k: usize, part: usize) -> Option<Reg> {
    values.get(k).copied().flatten().and_then(|parts| parts.get(part).copied())
}

/// Registers as a vector.
fn list(registers: &[Reg]) -> String {
    let names: Vec<String> = registers.iter().map(Reg::to_string).collect();
    format!("{{{}}}", names.join(", "))
}
