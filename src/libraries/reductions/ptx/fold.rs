//! The last block of a level makes the result of what all blocks left.
//!
//! Each block counts itself when its accumulators are in memory. The one that finds the others counted goes through the levels that
//! are left, in the order of the tree: a quarter of its threads has a group of accumulators, each thread a chain of it. So one launch
//! does what three would, of which two are as good as empty: a sum of 16 MiB spends most of its time in those.
//!
//! The counter wraps to zero with the last block: a launch finds it as the one before it did.

use super::geometry::{Argument, FOLDED};
use super::text::Text;
use crate::libraries::expressions::ptx::body::memory;
use crate::libraries::kernel::{BLOCK, Class, Reg, Thread, ptx};
use crate::libraries::reductions::parts::{Regs, keep, registers};
use crate::libraries::reductions::space::{CHAINS, GROUP};

/// Groups that a block joins at once.
const AT_ONCE: usize = BLOCK as usize / CHAINS;

impl Text<'_> {
    /// Appends it. The addresses are those of the accumulators, of the result and of the counter.
    pub(super) fn fold(&mut self, place: &Thread, targets: &[Reg]) {
        let (slots, count) = (self.slots.clone(), self.argument(Argument::Groups, Class::Word));
        let (Some(output), Some(counter)) = (targets.get(slots.len()), targets.get(slots.len() + 1)) else { return };
        let [thread, lane, chain, quarter] = self.writer.regs(Class::Word);
        ptx!(self.writer, "mov.u32 {thread}, %tid.x");
        ptx!(self.writer, "and.b32 {lane}, {thread}, 31");
        ptx!(self.writer, "and.b32 {chain}, {thread}, {}", CHAINS - 1);
        ptx!(self.writer, "shr.u32 {quarter}, {thread}, {}", CHAINS.trailing_zeros());
        self.go_on_in_the_last_block(place, thread, *counter);

        let [base, groups] = self.writer.regs(Class::Word);
        ptx!(self.writer, "mov.b32 {base}, 0");
        ptx!(self.writer, "add.u32 {groups}, {count}, {}", GROUP - 1);
        ptx!(self.writer, "shr.u32 {groups}, {groups}, {}", GROUP.trailing_zeros());
        for (k, slot) in slots.iter().enumerate() {
            self.writer.share(format_args!("chains_{k}"), 8, BLOCK as usize * slot.lane.size());
            self.writer.share(format_args!("groups_{k}"), 8, FOLDED * slot.lane.size());
        }
        let [chains, joined] = ["chains", "groups"].map(|name| self.shared_addresses(name));
        let (again, next) = (self.writer.fresh_label(), self.writer.fresh_label());
        self.writer.label(&again);
        let [group, first] = self.writer.regs(Class::Word);
        ptx!(self.writer, "add.u32 {group}, {base}, {quarter}");
        ptx!(self.writer, "mad.lo.u32 {first}, {group}, {GROUP}, {chain}");
        let own = self.chain_of_accumulators(first, count, targets);
        let (partner, upper) = (self.writer.reg(Class::Word), self.writer.reg(Class::Predicate));
        self.put_shared(&chains, thread, &own, None);
        ptx!(self.writer, "bar.sync 0");
        ptx!(self.writer, "and.b32 {partner}, {thread}, 32");
        ptx!(self.writer, "setp.ne.u32 {upper}, {partner}, 0");
        ptx!(self.writer, "@{upper} bra {next}");
        ptx!(self.writer, "add.u32 {partner}, {thread}, 32");
        let other = self.take_shared(&chains, partner);
        let own = self.join(&own, &other);
        let own = self.lanes(own, 16);
        let is_first = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.eq.u32 {is_first}, {lane}, 0");
        self.put_shared(&joined, group, &own, Some(is_first));
        self.writer.label(&next);
        let more = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "add.u32 {base}, {base}, {AT_ONCE}");
        ptx!(self.writer, "bar.sync 0");
        ptx!(self.writer, "setp.lt.u32 {more}, {base}, {groups}");
        ptx!(self.writer, "@{more} bra {again}");

        // The last level is one group, of as many accumulators as there were groups.
        let [outside, there] = self.writer.regs(Class::Predicate);
        ptx!(self.writer, "setp.ge.u32 {outside}, {thread}, 32");
        ptx!(self.writer, "@{outside} bra END");
        let at = self.writer.reg(Class::Word);
        ptx!(self.writer, "min.u32 {at}, {lane}, {}", FOLDED - 1);
        ptx!(self.writer, "setp.lt.u32 {there}, {lane}, {groups}");
        // Not all of them were written: what was not is not read.
        let last = self.writer.reg(Class::Word);
        ptx!(self.writer, "sub.u32 {last}, {groups}, 1");
        ptx!(self.writer, "min.u32 {at}, {at}, {last}");
        let left = self.take_shared(&joined, at);
        let own: Regs = (0..slots.len()).map(|k| self.identity(k)).collect();
        keep(&mut self.writer, &slots, &own, &left, Some(there));
        let own = self.lanes(own, FOLDED / 2);
        let is_first = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.eq.u32 {is_first}, {thread}, 0");
        self.store_result(*output, &own, Some(is_first));
        self.writer.label("END");
    }

    /// Counts the block, and leaves it unless it is the last one.
    fn go_on_in_the_last_block(&mut self, place: &Thread, thread: Reg, counter: Reg) {
        self.writer.share(format_args!("is_last"), 4, 4);
        let [flag, before, most] = self.writer.regs(Class::Word);
        let [other, is_last] = self.writer.regs(Class::Predicate);
        let counted = self.writer.fresh_label();
        ptx!(self.writer, "mov.u32 {flag}, is_last");
        ptx!(self.writer, "bar.sync 0");
        ptx!(self.writer, "setp.ne.u32 {other}, {thread}, 0");
        ptx!(self.writer, "@{other} bra {counted}");
        ptx!(self.writer, "sub.u32 {most}, {}, 1", place.grid);
        ptx!(self.writer, "membar.gl");
        ptx!(self.writer, "atom.global.inc.u32 {before}, [{counter}], {most}");
        ptx!(self.writer, "membar.gl");
        ptx!(self.writer, "setp.eq.u32 {is_last}, {before}, {most}");
        ptx!(self.writer, "selp.b32 {before}, 1, 0, {is_last}");
        ptx!(self.writer, "st.shared.u32 [{flag}+0], {before}");
        self.writer.label(&counted);
        ptx!(self.writer, "bar.sync 0");
        ptx!(self.writer, "ld.shared.u32 {before}, [{flag}+0]");
        ptx!(self.writer, "setp.eq.u32 {other}, {before}, 0");
        ptx!(self.writer, "@{other} bra END");
    }

    /// The accumulators `first`, `first` + 64, .. below `count`, joined one after the other. The loads are under way together.
    fn chain_of_accumulators(&mut self, first: Reg, count: Reg, targets: &[Reg]) -> Regs {
        let slots = self.slots.clone();
        let addresses: Regs = slots
            .iter()
            .zip(targets)
            .map(|(slot, target)| {
                let [offset, address] = self.writer.regs(Class::Long);
                ptx!(self.writer, "mul.wide.u32 {offset}, {first}, {}", slot.lane.size());
                ptx!(self.writer, "add.s64 {address}, {target}, {offset}");
                address
            })
            .collect();
        let own: Regs = (0..slots.len()).map(|k| self.identity(k)).collect();
        let mut loaded = Vec::new();
        for step in 0..GROUP / CHAINS {
            let (at, there) = (self.writer.reg(Class::Word), self.writer.reg(Class::Predicate));
            ptx!(self.writer, "add.u32 {at}, {first}, {}", step * CHAINS);
            ptx!(self.writer, "setp.lt.u32 {there}, {at}, {count}");
            let values = registers(&mut self.writer, &slots);
            for ((slot, address), value) in slots.iter().zip(&addresses).zip(&values) {
                let (t, offset) = (memory(slot.lane), step * CHAINS * slot.lane.size());
                ptx!(self.writer, "@{there} ld.global.{t} {value}, [{address}+{offset}]");
            }
            loaded.push((there, values));
        }
        for (there, values) in loaded {
            let new = self.join(&own, &values);
            keep(&mut self.writer, &slots, &own, &new, Some(there));
        }
        own
    }

    /// Joins the values of lanes with those `distance` up, then half of that, down to neighbours.
    pub(super) fn lanes(&mut self, mut own: Regs, mut distance: usize) -> Regs {
        while distance > 0 {
            let other = self.shuffled(&own, distance);
            own = self.join(&own, &other);
            distance /= 2;
        }
        own
    }

    /// The addresses of arrays in shared memory, one for each slot.
    pub(super) fn shared_addresses(&mut self, name: &str) -> Regs {
        let address = |k| {
            let address = self.writer.reg(Class::Word);
            ptx!(self.writer, "mov.u32 {address}, {name}_{k}");
            address
        };
        (0..self.slots.len()).map(address).collect()
    }

    /// Writes accumulators into arrays in shared memory, where the predicate is true.
    pub(super) fn put_shared(&mut self, arrays: &[Reg], at: Reg, own: &[Reg], writes: Option<Reg>) {
        let guard = writes.map(|guard| format!("@{guard} ")).unwrap_or_default();
        for ((array, slot), own) in arrays.iter().zip(&self.slots).zip(own) {
            let address = self.writer.reg(Class::Word);
            ptx!(self.writer, "mad.lo.u32 {address}, {at}, {}, {array}", slot.lane.size());
            ptx!(self.writer, "{guard}st.shared.{} [{address}+0], {own}", memory(slot.lane));
        }
    }

    /// Reads them.
    pub(super) fn take_shared(&mut self, arrays: &[Reg], at: Reg) -> Regs {
        let values = registers(&mut self.writer, &self.slots);
        for ((array, slot), value) in arrays.iter().zip(&self.slots).zip(&values) {
            let address = self.writer.reg(Class::Word);
            ptx!(self.writer, "mad.lo.u32 {address}, {at}, {}, {array}", slot.lane.size());
            ptx!(self.writer, "ld.shared.{} {value}, [{address}+0]", memory(slot.lane));
        }
        values
    }
}
