//! Along one axis: the elements of a window, and the windows of an element.

use super::kernel::{Argument, Text};
use super::op::Divide;
use crate::libraries::kernel::{Class, Reg, ptx};

impl Text<'_> {
    /// A number, at least 0, over the dilation, rounded up.
    pub(super) fn over_dilation(&mut self, d: usize, x: Reg) -> Reg {
        if !self.key.dilated {
            return x;
        }
        let dilation = self.number(Argument::Dilation(d));
        let more = self.signed("add", x, dilation);
        let more = self.signed("sub", more, 1);
        self.signed("div", more, dilation)
    }

    /// The first element of window `o`, how many it has, and its places.
    pub(super) fn elements(&mut self, d: usize, o: Reg) -> [Reg; 3] {
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
        let lacking = self.writer.reg(self.index.class);
        ptx!(self.writer, "neg.{} {lacking}, {start}", self.index.s);
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
    pub(super) fn until(&mut self, d: usize, end: Reg, start: Reg, window: Reg) -> Reg {
        let left = self.signed("sub", end, start);
        let left = self.signed("max", left, 0);
        let places = self.over_dilation(d, left);
        self.signed("min", places, window)
    }

    /// The first of the windows that may cover element `i`, and how many there are.
    pub(super) fn windows(&mut self, d: usize, i: Reg) -> [Reg; 2] {
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

    /// Leaves out windows between whose elements the coordinate lies.
    pub(super) fn skip(&mut self, d: usize, coordinate: Reg, o: Reg, next: &str) {
        let [stride, before, dilation] =
            [Argument::Stride(d), Argument::Before(d), Argument::Dilation(d)].map(|argument| self.number(argument));
        let far = self.signed("add", coordinate, before);
        let start = self.signed("mul.lo", o, stride);
        let within = self.signed("sub", far, start);
        let rest = self.signed("rem", within, dilation);
        let between = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.ne.{} {between}, {rest}, 0", self.index.s);
        ptx!(self.writer, "@{between} bra {next}");
    }
}
