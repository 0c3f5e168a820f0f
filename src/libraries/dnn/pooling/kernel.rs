//! The kernel as PTX for `sm_70` and later: a thread makes an element of the target, in loops over what it takes of the source.

use super::op::{Divide, Pass};
use crate::core::element::DType;
use crate::core::error::Result;
use crate::libraries::expressions::low::lower::{computed, stored};
use crate::libraries::expressions::low::{Instr, Lane, LowOp};
use crate::libraries::kernel::{Class, Grid, Index, Parameter, Reg, Words, Writer, ptx};
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

/// The module, and the words of its parameter.
pub(super) fn write(key: &Key) -> Result<(String, Words<Argument>)> {
    let mut text = Text::new(key);
    text.write();
    let parameter = Parameter { words: text.words.len(), written: key.targets(), read: key.sources() };
    Ok((text.writer.module(&parameter)?, text.words))
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
pub(super) struct Sums {
    /// The largest element, or the sum.
    pub(super) value: Reg,
    /// The largest one as it is compared.
    pub(super) wide: Reg,
    /// The number of the largest one.
    pub(super) place: Reg,
}

/// One of the elements that are taken.
#[derive(Clone)]
pub(super) struct Taken {
    pub(super) addresses: Vec<Reg>,
    /// Its number in the axes so far.
    pub(super) number: Option<Reg>,
    /// The places of its window so far.
    pub(super) places: Option<Reg>,
}

pub(super) struct Text<'k> {
    pub(super) key: &'k Key,
    pub(super) writer: Writer,
    words: Words<Argument>,
    pub(super) index: Index,
    pub(super) memory: Lane,
    pub(super) lane: Lane,
}

impl<'k> Text<'k> {
    fn new(key: &'k Key) -> Self {
        let (memory, lane) = (stored(key.dtype), computed(key.dtype));
        let (writer, words, index) = (Writer::default(), Words::new(), Index::new(key.is_wide));
        Text { key, writer, words, index, memory, lane }
    }

    pub(super) fn word(&mut self, argument: Argument, class: Class) -> Reg {
        self.words.read(&mut self.writer, argument, class)
    }

    pub(super) fn number(&mut self, argument: Argument) -> Reg {
        self.word(argument, self.index.class)
    }

    /// An instruction on signed numbers.
    pub(super) fn signed(&mut self, name: &str, a: impl Display, b: impl Display) -> Reg {
        let result = self.writer.reg(self.index.class);
        ptx!(self.writer, "{name}.{} {result}, {a}, {b}", self.index.s);
        result
    }

    /// `a * b + c`.
    pub(super) fn product(&mut self, a: Reg, b: Reg, c: impl Display) -> Reg {
        let result = self.writer.reg(self.index.class);
        ptx!(self.writer, "mad.lo.{} {result}, {a}, {b}, {c}", self.index.s);
        result
    }

    pub(super) fn long(&mut self, x: Reg) -> Reg {
        self.index.long(&mut self.writer, x)
    }

    fn write(&mut self) {
        let units = self.number(Argument::Units);
        let targets: Vec<Reg> = (0..self.key.targets()).map(|k| self.word(Argument::Target(k), Class::Long)).collect();
        let sources: Vec<Reg> = (0..self.key.sources()).map(|k| self.word(Argument::Source(k), Class::Long)).collect();
        let grid = Grid::new(&mut self.writer, self.index);
        grid.begin(&mut self.writer, units);
        grid.each(&mut self.writer);
        let sums = self.element(grid.task, &sources);
        self.store(grid.task, &targets, &sums);
        grid.end(&mut self.writer, units);
    }

    /// The last coordinate of a number, and the number of the others.
    fn split(&mut self, rest: Reg, extent: Argument) -> (Reg, Reg) {
        let extent = self.number(extent);
        let [coordinate, quotient] = self.writer.regs(self.index.class);
        ptx!(self.writer, "div.{} {quotient}, {rest}, {extent}", self.index.u);
        let back = self.signed("mul.lo", quotient, extent);
        ptx!(self.writer, "sub.{} {coordinate}, {rest}, {back}", self.index.u);
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

    pub(super) fn is_narrow(&self) -> bool {
        self.key.dtype.is_narrow()
    }

    /// An element as it is computed.
    pub(super) fn wide(&mut self, x: Reg) -> Reg {
        let op = match self.key.dtype {
            DType::F16 => LowOp::WidenF16,
            DType::Bf16 => LowOp::WidenBf16,
            _ => return x,
        };
        let instr = Instr { op, lane: Lane::F32, from: Lane::U16, args: [0; 3], arity: 1 };
        self.writer.operation(&instr, [x; 3])
    }

    pub(super) fn numbered(&mut self, number: Option<Reg>, _: usize, coordinate: Reg, extent: Argument) -> Reg {
        let Some(number) = number else { return coordinate };
        let extent = self.number(extent);
        self.product(number, extent, coordinate)
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
            let own = self.writer.reg(self.index.class);
            ptx!(self.writer, "mov.{} {own}, {x}", self.index.b);
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
        ptx!(self.writer, "setp.le.{} {none}, {left}, 0", self.index.s);
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
            true => ptx!(self.writer, "add.{} {at}, {at}, 1", self.index.s),
            false => {
                let dilation = self.number(Argument::Dilation(d));
                ptx!(self.writer, "add.{} {at}, {at}, {dilation}", self.index.s);
            }
        }
        ptx!(self.writer, "sub.{} {left}, {left}, 1", self.index.s);
        ptx!(self.writer, "bra {begin}");
        self.writer.label(&end);
    }

    /// The product with the places of an axis, 64 bits.
    pub(super) fn times(&mut self, before: Option<Reg>, places: Reg) -> Reg {
        let places = self.long(places);
        let Some(before) = before else { return places };
        let product = self.writer.reg(Class::Long);
        ptx!(self.writer, "mul.lo.s64 {product}, {before}, {places}");
        product
    }
}
