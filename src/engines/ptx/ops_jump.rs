//! Jumps: to a label, and by a table.

use super::Faulty;
use super::code::{Guard, Op, ZERO};
use super::decode::Decoder;
use super::lanes::{Apply, Lane, Row, lanes};
use super::text::Operand;
use super::types::Type;

impl Decoder<'_> {
    pub(super) fn branch(&mut self, o: &[Operand]) -> Faulty<()> {
        let label = match o {
            [Operand::Name(name)] => self.find_label(name).ok_or_else(|| self.fault(format!("no label `{name}`")))?,
            _ => return Err(self.fault("a branch goes to a label")),
        };
        self.jump(label)
    }

    /// `brx.idx i, targets`: to one label after the other, if it is its number; a number beyond them all ends the kernel.
    pub(super) fn branch_by_index(&mut self, o: &[Operand]) -> Faulty<()> {
        let [index, Operand::Name(name)] = o else { return Err(self.unsupported("this form of `brx.idx`")) };
        let targets = self.find_targets(name).ok_or_else(|| self.fault(format!("no targets are called `{name}`")))?;
        let (index, guard) = (self.value(index, Type::U32)?, self.guard.take());
        for (n, target) in targets.iter().enumerate() {
            let label = self.find_label(target).ok_or_else(|| self.fault(format!("no label `{target}`")))?;
            let (number, hit) = (self.constant(n as u64), self.temporary()?);
            self.map(lanes!(|a: u32, b: u32| a == b), hit, [index, number, ZERO])?;
            if let Some(Guard { predicate, negated }) = guard {
                let apply: Apply = match negated {
                    true => lanes!(|a: bool, p: bool| a & !p),
                    false => lanes!(|a: bool, p: bool| a & p),
                };
                self.map(apply, hit, [hit, predicate, ZERO])?;
            }
            self.guard = Some(Guard { predicate: hit, negated: false });
            self.jump(label)?;
            self.guard = None;
        }
        self.guard = guard;
        self.emit(Op::Trap, ZERO, [ZERO; 3])
    }
}
