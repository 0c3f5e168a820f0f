//! The way of columns: a block has the groups of 32 neighbouring results, a lane of its warps one of them.
//!
//! Warp `w` of eight takes the chains `w`, `w + 8`, .. of each group and joins them; the first warp joins what the others left in
//! shared memory. So the loads of a warp are neighbours, and eight times as many threads are busy as there are groups.

use super::elements::Chain;
use super::geometry::COLUMNS;
use super::task::Task;
use super::text::Text;
use crate::libraries::expressions::low::Lane;
use crate::libraries::expressions::ptx::body::memory;
use crate::libraries::kernel::{Class, Index, Reg, Thread, ptx};
use crate::libraries::reductions::parts::Regs;
use crate::libraries::reductions::space::CHAINS;

/// Warps of a block.
const WARPS: usize = 8;

impl Text<'_> {
    /// The loop over tasks. All threads of a block go round as often.
    pub(super) fn columns(&mut self, place: &Thread, of_warp: Reg, tasks: Reg, targets: &[Reg], bases: &[Reg]) {
        let Index { class, u, .. } = self.index;
        let warp = self.writer.reg(Class::Word);
        ptx!(self.writer, "shr.u32 {warp}, {}, 5", place.thread);
        let [first, step, last, lane] = self.writer.regs(class);
        for (to, from) in [(first, place.block), (step, place.grid)] {
            match self.geometry.is_wide {
                true => ptx!(self.writer, "mul.wide.u32 {to}, {from}, {COLUMNS}"),
                false => ptx!(self.writer, "mul.lo.u32 {to}, {from}, {COLUMNS}"),
            }
        }
        match self.geometry.is_wide {
            true => ptx!(self.writer, "cvt.u64.u32 {lane}, {of_warp}"),
            false => ptx!(self.writer, "mov.b32 {lane}, {of_warp}"),
        }
        ptx!(self.writer, "sub.{u} {last}, {tasks}, 1");
        self.bind_uniforms();
        self.writer.label("LOOP");
        let [beyond, valid, other] = self.writer.regs(Class::Predicate);
        ptx!(self.writer, "setp.ge.{u} {beyond}, {first}, {tasks}");
        ptx!(self.writer, "@{beyond} bra EXIT");
        let [number, own] = self.writer.regs(class);
        ptx!(self.writer, "add.{u} {number}, {first}, {lane}");
        ptx!(self.writer, "setp.lt.{u} {valid}, {number}, {tasks}");
        // A lane beyond the last task computes that, too, and does not write it.
        ptx!(self.writer, "min.{u} {own}, {number}, {last}");
        let task = self.task(own, bases);
        let parts = self.column(&task, warp);
        let lanes: Vec<Lane> = self.slots.iter().map(|slot| slot.lane).collect();
        let at = self.writer.reg(Class::Word);
        for (k, (lane, part)) in lanes.iter().zip(&parts).enumerate() {
            let address = self.writer.reg(Class::Word);
            self.writer.share(format_args!("parts_{k}"), 8, WARPS * COLUMNS * lane.size());
            ptx!(self.writer, "mov.u32 {address}, parts_{k}");
            ptx!(self.writer, "mad.lo.u32 {address}, {}, {}, {address}", place.thread, lane.size());
            ptx!(self.writer, "st.shared.{} [{address}+0], {part}", memory(*lane));
        }
        ptx!(self.writer, "bar.sync 0");
        ptx!(self.writer, "setp.ne.u32 {other}, {warp}, 0");
        let next = self.writer.fresh_label();
        ptx!(self.writer, "@{other} bra {next}");
        let mut all: Vec<Regs> = vec![Vec::new(); WARPS];
        for (k, lane) in lanes.iter().enumerate() {
            ptx!(self.writer, "mov.u32 {at}, parts_{k}");
            ptx!(self.writer, "mad.lo.u32 {at}, {of_warp}, {}, {at}", lane.size());
            for (w, regs) in all.iter_mut().enumerate() {
                let part = self.writer.reg(Class::for_lane(*lane));
                ptx!(self.writer, "ld.shared.{} {part}, [{at}+{}]", memory(*lane), w * COLUMNS * lane.size());
                regs.push(part);
            }
        }
        let result = self.halves(all);
        self.store(&task, targets, result, Some(valid));
        self.writer.label(&next);
        ptx!(self.writer, "bar.sync 0");
        ptx!(self.writer, "add.{u} {first}, {first}, {step}");
        ptx!(self.writer, "bra LOOP");
        self.writer.label("EXIT");
        ptx!(self.writer, "ret");
    }

    /// The chains of a warp, joined.
    fn column(&mut self, task: &Task, warp: Reg) -> Regs {
        let steps = self.steps();
        let chains: Vec<(Chain, Reg)> = (0..CHAINS / WARPS)
            .map(|k| {
                let local = self.writer.reg(Class::Word);
                ptx!(self.writer, "add.u32 {local}, {warp}, {}", k * WARPS);
                (self.chain(task, local), local)
            })
            .collect();
        let again = self.writer.fresh_label();
        self.writer.label(&again);
        let loaded: Vec<_> = chains.iter().map(|(chain, _)| self.load(task, chain, &steps)).collect();
        for ((chain, _), loaded) in chains.iter().zip(&loaded) {
            self.take(chain, loaded);
        }
        if let Some((_, local)) = chains.first() {
            let more = self.writer.reg(Class::Predicate);
            ptx!(self.writer, "setp.lt.u32 {more}, {local}, {}", task.len);
            ptx!(self.writer, "@{more} bra {again}");
        }
        self.halves(chains.into_iter().map(|(chain, _)| chain.own).collect())
    }
}
