//! The kernel as PTX for `sm_70` and later: a thread makes an element of the target, in loops over what it takes of the source.

use super::op::{Divide, Pass};
use crate::core::element::DType;
use crate::libraries::expressions::low::lower::{computed, stored};
use crate::libraries::expressions::low::{Instr, Lane, LowOp};
use crate::libraries::expressions::ptx::body::{bits, memory};
use crate::libraries::expressions::ptx::writer::{Class, Reg, Writer, ptx};
use std::fmt::Display;

/// What a kernel depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) pass: Pass,
    pub(super) dtype: DType,
    /// The axes of windows, and those before them.
    pub(super) axes: usize,
    pub(super) outer: usize,
    pub(super) adaptive: bool,
    /// Whether a dilation is not 1.
    pub(super) dilated: bool,
    /// Whether numbers and offsets need 64 bits.
    pub(super) is_wide: bool,
}

/// A word of the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    /// The elements of the target.
    Units,
    Target(usize),
    Source(usize),
    Outer(usize),
    /// The distance between neighbours of a source along an outer axis, or one of the windows, in bytes.
    OuterStride(usize, usize),
    SourceStride(usize, usize),
    /// That between neighbours that an element of the target takes.
    Step(usize, usize),
    Input(usize),
    Output(usize),
    Window(usize),
    Stride(usize),
    Dilation(usize),
    Before(usize),
    After(usize),
}

/// The entry point, and the words of its parameter.
pub(super) fn write(key: &Key) -> (String, Vec<Argument>) {
    let mut text = Text::new(key);
    text.write();
    let (written, read) = (key.targets(), key.sources());
    let size = 8 * text.arguments.len();
    let operands = format!("// written 1 to {}, read {} to {}", 1 + written, 1 + written, 1 + written + read);
    let body = text.writer.finish();
    let head = ".version 7.0\n.target sm_70\n.address_size 64\n";
    let entry =
        format!("{head}.visible .entry expression(.param .align 8 .b8 args[{size}])\n{{\n{operands}\n{body}}}\n");
    (entry, text.arguments)
}

impl Key {
    pub(super) fn targets(&self) -> usize {
        if self.pass == Pass::MaxPlace { 2 } else { 1 }
    }

    pub(super) fn sources(&self) -> usize {
        if self.pass == Pass::MaxBack { 2 } else { 1 }
    }
}

/// What an element of the target makes on the way.
struct Sums {
    /// The largest element, or the sum.
    value: Reg,
    /// The largest one as it is compared.
    wide: Reg,
    /// The number of the largest one.
    place: Reg,
}

/// One of the elements that are taken.
#[derive(Clone)]
struct Taken {
    addresses: Vec<Reg>,
    /// Its number in the axes so far.
    number: Option<Reg>,
    /// The places of its window so far.
    places: Option<Reg>,
}

struct Text<'k> {
    key: &'k Key,
    writer: Writer,
    arguments: Vec<Argument>,
    class: Class,
    u: &'static str,
    s: &'static str,
    b: &'static str,
    memory: Lane,
    lane: Lane,
}

impl<'k> Text<'k> {
    fn new(key: &'k Key) -> Self {
        let (class, u, s, b) = match key.is_wide {
            true => (Class::Long, "u64", "s64", "b64"),
            false => (Class::Word, "u32", "s32", "b32"),
        };
        let (memory, lane) = (stored(key.dtype), computed(key.dtype));
        Text { key, writer: Writer::default(), arguments: Vec::new(), class, u, s, b, memory, lane }
    }

    /// A word of the arguments; the first time it gets a place there.
    fn word(&mut self, argument: Argument, class: Class) -> Reg {
        let at = self.arguments.iter().position(|known| *known == argument).unwrap_or(self.arguments.len());
        if at == self.arguments.len() {
            self.arguments.push(argument);
        }
        let register = self.writer.reg(class);
        let t = if class == Class::Long { "u64" } else { "u32" };
        ptx!(self.writer, "ld.param.{t} {register}, [args+{}]", 8 * at);
        register
    }

    fn number(&mut self, argument: Argument) -> Reg {
        self.word(argument, self.class)
    }

    /// An instruction on signed numbers.
    fn signed(&mut self, name: &str, a: impl Display, b: impl Display) -> Reg {
        let result = self.writer.reg(self.class);
        ptx!(self.writer, "{name}.{} {result}, {a}, {b}", self.s);
        result
    }

    /// `a * b + c`.
    fn product(&mut self, a: Reg, b: Reg, c: impl Display) -> Reg {
        let result = self.writer.reg(self.class);
        ptx!(self.writer, "mad.lo.{} {result}, {a}, {b}, {c}", self.s);
        result
    }

    fn long(&mut self, x: Reg) -> Reg {
        if self.key.is_wide {
            return x;
        }
        let long = self.writer.reg(Class::Long);
        ptx!(self.writer, "cvt.s64.s32 {long}, {x}");
        long
    }

    /// A number, at least 0, over the dilation, rounded up.
    fn over_dilation(&mut self, d: usize, x: Reg) -> Reg {
        if !self.key.dilated {
            return x;
        }
        let dilation = self.number(Argument::Dilation(d));
        let more = self.signed("add", x, dilation);
        let more = self.signed("sub", more, 1);
        self.signed("div", more, dilation)
    }

    fn write(&mut self) {
        let units = self.number(Argument::Units);
        let targets: Vec<Reg> = (0..self.key.targets()).map(|k| self.word(Argument::Target(k), Class::Long)).collect();
        let sources: Vec<Reg> = (0..self.key.sources()).map(|k| self.word(Argument::Source(k), Class::Long)).collect();
        let [block, threads, thread, grid] = [(); 4].map(|()| self.writer.reg(Class::Word));
        ptx!(self.writer, "mov.u32 {block}, %ctaid.x");
        ptx!(self.writer, "mov.u32 {threads}, %ntid.x");
        ptx!(self.writer, "mov.u32 {thread}, %tid.x");
        ptx!(self.writer, "mov.u32 {grid}, %nctaid.x");
        let [index, step] = [(); 2].map(|()| self.writer.reg(self.class));
        if self.key.is_wide {
            let wide = self.writer.reg(Class::Long);
            ptx!(self.writer, "cvt.u64.u32 {wide}, {thread}");
            ptx!(self.writer, "mul.wide.u32 {index}, {block}, {threads}");
            ptx!(self.writer, "add.u64 {index}, {index}, {wide}");
            ptx!(self.writer, "mul.wide.u32 {step}, {grid}, {threads}");
        } else {
            ptx!(self.writer, "mad.lo.u32 {index}, {block}, {threads}, {thread}");
            ptx!(self.writer, "mul.lo.u32 {step}, {grid}, {threads}");
        }
        let [beyond, again] = [(); 2].map(|()| self.writer.reg(Class::Predicate));
        ptx!(self.writer, "setp.ge.{} {beyond}, {index}, {units}", self.u);
        ptx!(self.writer, "@{beyond} bra EXIT");
        self.writer.label("LOOP");
        let sums = self.element(index, &sources);
        self.store(index, &targets, &sums);
        ptx!(self.writer, "add.{} {index}, {index}, {step}", self.u);
        ptx!(self.writer, "setp.lt.{} {again}, {index}, {units}", self.u);
        ptx!(self.writer, "@{again} bra LOOP");
        self.writer.label("EXIT");
        ptx!(self.writer, "ret");
    }

    /// The last coordinate of a number, and the number of the others.
    fn split(&mut self, rest: Reg, extent: Argument) -> (Reg, Reg) {
        let extent = self.number(extent);
        let [coordinate, quotient] = [(); 2].map(|()| self.writer.reg(self.class));
        ptx!(self.writer, "div.{} {quotient}, {rest}, {extent}", self.u);
        let back = self.signed("mul.lo", quotient, extent);
        ptx!(self.writer, "sub.{} {coordinate}, {rest}, {back}", self.u);
        (coordinate, quotient)
    }

    fn element(&mut self, index: Reg, sources: &[Reg]) -> Sums {
        let (back, axes, outer) = (self.key.pass.is_back(), self.key.axes, self.key.outer);
        let (mut rest, mut own) = (index, Vec::new());
        for d in (0..axes).rev() {
            let extent = if back { Argument::Input(d) } else { Argument::Output(d) };
            let (coordinate, quotient) = self.split(rest, extent);
            own.insert(0, coordinate);
            rest = quotient;
        }
        let mut around = Vec::new();
        for axis in (1..outer).rev() {
            let (coordinate, quotient) = self.split(rest, Argument::Outer(axis));
            around.insert(0, coordinate);
            rest = quotient;
        }
        if outer > 0 {
            around.insert(0, rest);
        }
        let mut addresses = Vec::new();
        for (k, base) in sources.iter().enumerate() {
            let mut address = *base;
            for (axis, coordinate) in around.iter().enumerate() {
                address = self.moved(address, *coordinate, Argument::OuterStride(k, axis));
            }
            addresses.push(address);
        }
        let sums = self.sums();
        let place = self.place(&own);
        self.axis(0, &own, Taken { addresses, number: None, places: None }, &sums, place);
        self.divide(&own, &sums);
        sums
    }

    /// An address, so many strides further.
    fn moved(&mut self, address: Reg, count: Reg, stride: Argument) -> Reg {
        let (stride, count) = (self.word(stride, Class::Long), self.long(count));
        let further = self.writer.reg(Class::Long);
        ptx!(self.writer, "mad.lo.s64 {further}, {count}, {stride}, {address}");
        further
    }

    fn sums(&mut self) -> Sums {
        let pass = self.key.pass;
        let place = self.writer.reg(Class::Long);
        if matches!(pass, Pass::Max | Pass::MaxPlace) {
            ptx!(self.writer, "mov.b64 {place}, -1");
            let lowest = match self.key.dtype {
                DType::F32 => 0xff80_0000,
                DType::F64 => 0xfff0_0000_0000_0000,
                DType::F16 => 0xfc00,
                DType::Bf16 => 0xff80,
                DType::I8 => 0x80,
                _ => 0,
            };
            let value = self.writer.constant(self.memory, lowest);
            let wide = self.wide(value);
            let own = self.writer.reg(Class::for_lane(self.lane));
            ptx!(self.writer, "mov.{} {own}, {wide}", bits(self.lane));
            return Sums { value, wide: if self.is_narrow() { own } else { value }, place };
        }
        let value = self.writer.constant(self.lane, 0);
        Sums { value, wide: value, place }
    }

    fn is_narrow(&self) -> bool {
        self.key.dtype.is_narrow()
    }

    /// An element as it is computed.
    fn wide(&mut self, x: Reg) -> Reg {
        let op = match self.key.dtype {
            DType::F16 => LowOp::WidenF16,
            DType::Bf16 => LowOp::WidenBf16,
            _ => return x,
        };
        let instr = Instr { op, lane: Lane::F32, from: Lane::U16, args: [0; 3], arity: 1 };
        self.writer.operation(&instr, [x; 3])
    }

    /// The number of the element of the target in the axes of the windows, where that counts.
    fn place(&mut self, own: &[Reg]) -> Option<Reg> {
        if self.key.pass != Pass::MaxBack {
            return None;
        }
        let mut number: Option<Reg> = None;
        for (d, coordinate) in own.iter().enumerate() {
            number = Some(self.numbered(number, d, *coordinate, Argument::Input(d)));
        }
        number.map(|number| self.long(number))
    }

    fn numbered(&mut self, number: Option<Reg>, _: usize, coordinate: Reg, extent: Argument) -> Reg {
        let Some(number) = number else { return coordinate };
        let extent = self.number(extent);
        self.product(number, extent, coordinate)
    }

    /// The first element of window `o`, how many it has, and its places.
    fn elements(&mut self, d: usize, o: Reg) -> [Reg; 3] {
        let [input, output] = [Argument::Input(d), Argument::Output(d)].map(|argument| self.number(argument));
        if self.key.adaptive {
            let first = self.signed("mul.lo", o, input);
            let end = self.signed("add", first, input);
            let end = self.signed("add", end, output);
            let end = self.signed("sub", end, 1);
            let [first, end] = [first, end].map(|x| self.signed("div", x, output));
            let count = self.signed("sub", end, first);
            return [first, count, count];
        }
        let [stride, before, window] =
            [Argument::Stride(d), Argument::Before(d), Argument::Window(d)].map(|argument| self.number(argument));
        let start = self.signed("mul.lo", o, stride);
        let start = self.signed("sub", start, before);
        let lacking = self.writer.reg(self.class);
        ptx!(self.writer, "neg.{} {lacking}, {start}", self.s);
        let lacking = self.signed("max", lacking, 0);
        let skipped = self.over_dilation(d, lacking);
        let end = self.until(d, input, start, window);
        let count = self.signed("sub", end, skipped);
        let count = self.signed("max", count, 0);
        let first = match self.key.dilated {
            true => {
                let dilation = self.number(Argument::Dilation(d));
                self.product(skipped, dilation, start)
            }
            false => self.signed("add", start, skipped),
        };
        let places = match self.key.pass.divide() {
            Divide::Places => {
                let after = self.number(Argument::After(d));
                let padded = self.signed("add", input, after);
                self.until(d, padded, start, window)
            }
            _ => count,
        };
        [first, count, places]
    }

    /// The places of a window that lie before an end.
    fn until(&mut self, d: usize, end: Reg, start: Reg, window: Reg) -> Reg {
        let left = self.signed("sub", end, start);
        let left = self.signed("max", left, 0);
        let places = self.over_dilation(d, left);
        self.signed("min", places, window)
    }

    /// The first of the windows that may cover element `i`, and how many there are.
    fn windows(&mut self, d: usize, i: Reg) -> [Reg; 2] {
        let [input, output] = [Argument::Input(d), Argument::Output(d)].map(|argument| self.number(argument));
        if self.key.adaptive {
            let first = self.signed("mul.lo", i, output);
            let end = self.signed("add", first, output);
            let end = self.signed("add", end, input);
            let end = self.signed("sub", end, 1);
            let [first, end] = [first, end].map(|x| self.signed("div", x, input));
            return [first, self.signed("sub", end, first)];
        }
        let [stride, before, window, dilation] =
            [Argument::Stride(d), Argument::Before(d), Argument::Window(d), Argument::Dilation(d)]
                .map(|argument| self.number(argument));
        let far = self.signed("add", i, before);
        let reach = self.signed("sub", window, 1);
        let reach = self.signed("mul.lo", reach, dilation);
        let near = self.signed("sub", far, reach);
        let near = self.signed("max", near, 0);
        let near = self.signed("add", near, stride);
        let near = self.signed("sub", near, 1);
        let first = self.signed("div", near, stride);
        let last = self.signed("div", far, stride);
        let end = self.signed("add", last, 1);
        let end = self.signed("min", end, output);
        [first, self.signed("sub", end, first)]
    }

    /// The loop over what is taken along axis `d`, and in it those along the axes behind.
    fn axis(&mut self, d: usize, own: &[Reg], outside: Taken, sums: &Sums, place: Option<Reg>) {
        let Some(coordinate) = own.get(d).copied() else { return self.take(&outside, sums, place) };
        let back = self.key.pass.is_back();
        let [first, count] = match back {
            true => self.windows(d, coordinate),
            false => {
                let [first, count, _] = self.elements(d, coordinate);
                [first, count]
            }
        };
        let [at, left] = [first, count].map(|x| {
            let own = self.writer.reg(self.class);
            ptx!(self.writer, "mov.{} {own}, {x}", self.b);
            own
        });
        let addresses: Vec<Reg> = outside.addresses.clone();
        let addresses: Vec<Reg> = addresses
            .into_iter()
            .enumerate()
            .map(|(k, address)| self.moved(address, first, Argument::SourceStride(k, d)))
            .collect();
        let [begin, next, end] = [(); 3].map(|()| self.writer.fresh_label());
        let none = self.writer.reg(Class::Predicate);
        self.writer.label(&begin);
        ptx!(self.writer, "setp.le.{} {none}, {left}, 0", self.s);
        ptx!(self.writer, "@{none} bra {end}");
        if back && self.key.dilated {
            self.skip(d, coordinate, at, &next);
        }
        let number =
            (self.key.pass == Pass::MaxPlace).then(|| self.numbered(outside.number, d, at, Argument::Input(d)));
        let places = (back && self.key.pass.divide() != Divide::Never).then(|| {
            let [.., places] = self.elements(d, at);
            self.times(outside.places, places)
        });
        self.axis(d + 1, own, Taken { addresses: addresses.clone(), number, places }, sums, place);
        self.writer.label(&next);
        for (k, address) in addresses.iter().enumerate() {
            let step = self.word(Argument::Step(k, d), Class::Long);
            ptx!(self.writer, "add.s64 {address}, {address}, {step}");
        }
        match back || !self.key.dilated {
            true => ptx!(self.writer, "add.{} {at}, {at}, 1", self.s),
            false => {
                let dilation = self.number(Argument::Dilation(d));
                ptx!(self.writer, "add.{} {at}, {at}, {dilation}", self.s);
            }
        }
        ptx!(self.writer, "sub.{} {left}, {left}, 1", self.s);
        ptx!(self.writer, "bra {begin}");
        self.writer.label(&end);
    }

    /// The product with the places of an axis, 64 bits.
    fn times(&mut self, before: Option<Reg>, places: Reg) -> Reg {
        let places = self.long(places);
        let Some(before) = before else { return places };
        let product = self.writer.reg(Class::Long);
        ptx!(self.writer, "mul.lo.s64 {product}, {before}, {places}");
        product
    }

    /// Leaves out windows between whose elements the coordinate lies.
    fn skip(&mut self, d: usize, coordinate: Reg, o: Reg, next: &str) {
        let [stride, before, dilation] =
            [Argument::Stride(d), Argument::Before(d), Argument::Dilation(d)].map(|argument| self.number(argument));
        let far = self.signed("add", coordinate, before);
        let start = self.signed("mul.lo", o, stride);
        let within = self.signed("sub", far, start);
        let rest = self.signed("rem", within, dilation);
        let between = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.ne.{} {between}, {rest}, 0", self.s);
        ptx!(self.writer, "@{between} bra {next}");
    }

    /// Takes an element of the source.
    fn take(&mut self, taken: &Taken, sums: &Sums, place: Option<Reg>) {
        let [Some(address), second] = [0, 1].map(|k| taken.addresses.get(k).copied()) else { return };
        let x = self.writer.reg(Class::for_lane(self.memory));
        ptx!(self.writer, "ld.global.{} {x}, [{address}+0]", memory(self.memory));
        let wide = self.wide(x);
        let t = crate::libraries::expressions::ptx::body::arithmetic(self.lane);
        match (self.key.pass, second, place) {
            (Pass::Max | Pass::MaxPlace, ..) => self.largest(x, wide, taken, sums),
            (Pass::MaxBack, Some(second), Some(place)) => {
                let (number, same) = (self.writer.reg(Class::Long), self.writer.reg(Class::Predicate));
                ptx!(self.writer, "ld.global.s64 {number}, [{second}+0]");
                ptx!(self.writer, "setp.eq.s64 {same}, {number}, {place}");
                ptx!(self.writer, "@{same} add.rn.{t} {}, {}, {wide}", sums.value, sums.value);
            }
            _ => {
                let share = match taken.places {
                    Some(places) => self.quotient(wide, places),
                    None => wide,
                };
                ptx!(self.writer, "add.rn.{t} {}, {}, {share}", sums.value, sums.value);
            }
        }
    }

    fn largest(&mut self, x: Reg, wide: Reg, taken: &Taken, sums: &Sums) {
        let t = crate::libraries::expressions::ptx::body::arithmetic(self.lane);
        let ahead = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.gt.{t} {ahead}, {wide}, {}", sums.wide);
        if self.lane.is_float() {
            let [is_nan, known] = [(); 2].map(|()| self.writer.reg(Class::Predicate));
            ptx!(self.writer, "setp.nan.{t} {is_nan}, {wide}, {wide}");
            ptx!(self.writer, "setp.num.{t} {known}, {}, {}", sums.wide, sums.wide);
            ptx!(self.writer, "and.pred {is_nan}, {is_nan}, {known}");
            ptx!(self.writer, "or.pred {ahead}, {ahead}, {is_nan}");
        }
        if let Some(number) = taken.number {
            let (first, number) = (self.writer.reg(Class::Predicate), self.long(number));
            ptx!(self.writer, "setp.lt.s64 {first}, {}, 0", sums.place);
            ptx!(self.writer, "or.pred {ahead}, {ahead}, {first}");
            ptx!(self.writer, "selp.b64 {}, {number}, {}, {ahead}", sums.place, sums.place);
        }
        ptx!(self.writer, "selp.{} {}, {x}, {}, {ahead}", select(self.memory), sums.value, sums.value);
        if self.is_narrow() {
            ptx!(self.writer, "selp.f32 {}, {wide}, {}, {ahead}", sums.wide, sums.wide);
        }
    }

    /// A number over a count of 64 bits.
    fn quotient(&mut self, x: Reg, places: Reg) -> Reg {
        let t = crate::libraries::expressions::ptx::body::arithmetic(self.lane);
        let [count, result] = [(); 2].map(|()| self.writer.reg(Class::for_lane(self.lane)));
        ptx!(self.writer, "cvt.rn.{t}.s64 {count}, {places}");
        ptx!(self.writer, "div.rn.{t} {result}, {x}, {count}");
        result
    }

    /// Divides a sum by the places of its window, if there are some.
    fn divide(&mut self, own: &[Reg], sums: &Sums) {
        if self.key.pass.is_back() || self.key.pass.divide() == Divide::Never {
            return;
        }
        let mut all: Option<Reg> = None;
        for (d, o) in own.iter().enumerate() {
            let [.., places] = self.elements(d, *o);
            all = Some(self.times(all, places));
        }
        let Some(all) = all else { return };
        let mean = self.quotient(sums.value, all);
        let some = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.gt.s64 {some}, {all}, 0");
        ptx!(self.writer, "selp.{} {}, {mean}, {}, {some}", select(self.lane), sums.value, sums.value);
    }

    fn store(&mut self, index: Reg, targets: &[Reg], sums: &Sums) {
        let mut value = sums.value;
        if !matches!(self.key.pass, Pass::Max | Pass::MaxPlace) {
            let narrow = match self.key.dtype {
                DType::F16 => Some(LowOp::NarrowF16),
                DType::Bf16 => Some(LowOp::NarrowBf16),
                _ => None,
            };
            value = match narrow {
                Some(op) => {
                    let instr = Instr { op, lane: Lane::U16, from: Lane::F32, args: [0; 3], arity: 1 };
                    self.writer.operation(&instr, [value; 3])
                }
                None => self.writer.canonical(self.lane, value),
            };
        }
        let index = match self.key.is_wide {
            true => index,
            false => {
                let long = self.writer.reg(Class::Long);
                ptx!(self.writer, "cvt.u64.u32 {long}, {index}");
                long
            }
        };
        let places = (self.key.pass == Pass::MaxPlace).then_some(("s64", 8, sums.place));
        let own = (memory(self.memory), self.memory.size(), value);
        for ((t, size, value), target) in std::iter::once(own).chain(places).zip(targets) {
            let address = self.writer.reg(Class::Long);
            ptx!(self.writer, "mad.lo.u64 {address}, {index}, {size}, {target}");
            ptx!(self.writer, "st.global.{t} [{address}+0], {value}");
        }
    }
}

/// The type of a selection.
fn select(lane: Lane) -> &'static str {
    match lane {
        Lane::F32 => "f32",
        Lane::F64 => "f64",
        other => bits(other),
    }
}
