//! The way of columns: a block has the groups of 32 neighbouring results, a lane of its warps one of them.
//!
//! Warp `w` of 16 takes the chains `w`, `w + 16`, .. of each group and joins them. What the warps leave in shared memory is
//! joined by lanes, which read it turned. So the loads of a warp are neighbours, and many times as many threads are busy as there are
//! groups.

use super::elements::Chain;
use super::geometry::COLUMNS;
use super::task::Task;
use super::text::Text;
use crate::libraries::kernel::{Class, Index, Reg, Thread, ptx};
use crate::libraries::reductions::parts::Regs;
use crate::libraries::reductions::space::CHAINS;

/// Warps of a block: each thread has four chains. With eight warps their registers leave too few threads, with 32 blocks wait for their
/// last warps (H200: a sum of 1 GiB 253 us, 282 and 259).
const WARPS: usize = 16;
/// The distance between the parts of neighbouring warps in shared memory: lanes that read them turned meet no bank twice.
const PITCH: usize = COLUMNS + 1;

impl Text<'_> {
    /// The loop over tasks. All threads of a block go round as often. Returns the threads of a block.
    pub(super) fn columns(
        &mut self,
        place: &Thread,
        of_warp: Reg,
        tasks: Reg,
        targets: &[Reg],
        bases: &[Reg],
    ) -> usize {
        let Index { class, u, .. } = self.index;
        self.writer.most_threads = Some(WARPS * COLUMNS);
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
        for (k, slot) in self.slots.iter().enumerate() {
            self.writer.share(format_args!("parts_{k}"), 8, WARPS * PITCH * slot.lane.size());
            self.writer.share(format_args!("joined_{k}"), 8, COLUMNS * slot.lane.size());
        }
        let [parts, joined] = ["parts", "joined"].map(|name| self.shared_addresses(name));
        // Where a thread leaves its part, and which one it joins: part `thread % WARPS` of the column `thread / WARPS`.
        let [own_place, part, column, read_place] = self.writer.regs(Class::Word);
        let is_first = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "mad.lo.u32 {own_place}, {warp}, {PITCH}, {of_warp}");
        ptx!(self.writer, "and.b32 {part}, {}, {}", place.thread, WARPS - 1);
        ptx!(self.writer, "shr.u32 {column}, {}, {}", place.thread, WARPS.trailing_zeros());
        ptx!(self.writer, "mad.lo.u32 {read_place}, {part}, {PITCH}, {column}");
        ptx!(self.writer, "setp.eq.u32 {is_first}, {part}, 0");
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
        let left = self.column(&task, warp);
        self.put_shared(&parts, own_place, &left, None);
        ptx!(self.writer, "bar.sync 0");
        let left = self.take_shared(&parts, read_place);
        let left = self.lanes(left, WARPS / 2);
        self.put_shared(&joined, column, &left, Some(is_first));
        ptx!(self.writer, "bar.sync 0");
        ptx!(self.writer, "setp.ne.u32 {other}, {warp}, 0");
        let next = self.writer.fresh_label();
        ptx!(self.writer, "@{other} bra {next}");
        let result = self.take_shared(&joined, of_warp);
        self.store(&task, targets, result, Some(valid));
        self.writer.label(&next);
        ptx!(self.writer, "add.{u} {first}, {first}, {step}");
        ptx!(self.writer, "bra LOOP");
        self.writer.label("EXIT");
        ptx!(self.writer, "ret");
        WARPS * COLUMNS
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
        // Of each chain so many elements are under way. Three accumulators leave room for half as many threads.
        let turns = if self.slots.len() > 2 { 2 } else { 1 };
        let again = self.writer.fresh_label();
        self.writer.label(&again);
        let mut loaded = Vec::new();
        for _ in 0..turns {
            for (chain, _) in &chains {
                loaded.push(self.load(task, chain, &steps));
            }
        }
        for ((chain, _), loaded) in chains.iter().cycle().zip(&loaded) {
            self.take(chain, loaded);
        }
        if let Some((_, local)) = chains.first() {
            let more = self.writer.reg(Class::Predicate);
            ptx!(self.writer, "setp.lt.u32 {more}, {local}, {}", task.len);
            ptx!(self.writer, "@{more} bra {again}");
        }
        let ended = chains.into_iter().map(|(chain, _)| self.ended(task, chain)).collect();
        self.halves(ended)
    }
}
