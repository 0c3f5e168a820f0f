//! Neighbouring steps made one: a map joins the map or the reduction that alone reads what it makes.
//!
//! A program keeps its steps as they were recorded: files, [`bisect`](Program::bisect), [`compare`](Program::compare) and
//! [`set`](Program::set) know only these. Beside them it has the plan that its replays run. Both plans have the same operands and lie
//! in one arena. They share the steps that stayed as they are; [`Placed`](super::plan::Placed) knows for which of the two a step was
//! last placed.

use super::Program;
use super::entry::{Entry, Part, Source, Use};
use super::plan::{Head, Plan};
use crate::core::error::Result;
use crate::core::op::guarded;
use crate::core::sync::Arc;
use crate::core::trace::OpInfo;
use crate::engines::tape::{Fused, Link};
use smallvec::{SmallVec, smallvec};
use std::fmt::Write as _;

/// With more steps than this, a program is replayed as it was recorded: looking for neighbours takes time that grows with the
/// distance between them.
const MOST: usize = 8192;

/// A step that may become part of another.
struct Open {
    entry: Entry,
    /// The recorded steps that it is made of.
    made_of: SmallVec<[usize; 2]>,
}

/// The steps of a program while some are made one.
struct Steps<'p> {
    plan: &'p Plan,
    /// `None`: it is part of a later one.
    open: Vec<Option<Open>>,
    /// For each piece of memory: the steps that use it.
    users: Vec<Vec<usize>>,
}

impl Plan {
    /// The plan of fewer steps that gives the same bits; `None` if there is none.
    pub(super) fn fused(&self, gpu: bool) -> Result<Option<Plan>> {
        if self.nodes.len() > MOST {
            return Ok(None);
        }
        let mut steps = Steps::new(self);
        let mut found = false;
        for index in 0..self.nodes.len() {
            while let Some(maker) = steps.maker(index) {
                if !steps.join(maker, index)? {
                    break;
                }
                found = true;
            }
        }
        if !found {
            return Ok(None);
        }
        let (entries, made_of) = steps.open.into_iter().flatten().map(|open| (open.entry, open.made_of)).unzip();
        let plan = Plan::assemble(Head::of(self), entries, gpu)?;
        Ok(Some(plan.in_place_of(self, made_of)))
    }
}

impl<'p> Steps<'p> {
    fn new(plan: &'p Plan) -> Self {
        let mut users = vec![Vec::new(); plan.pieces.len()];
        let mut open = Vec::with_capacity(plan.nodes.len());
        for (index, (node, step)) in plan.nodes.iter().zip(&plan.steps).enumerate() {
            for one in &node.uses {
                if let Source::Piece(piece) = one.source
                    && let Some(users) = users.get_mut(piece)
                    && users.last() != Some(&index)
                {
                    users.push(index);
                }
            }
            let (step, uses) = (step.clone(), node.uses.clone());
            let entry = Entry { step, info: node.info, facts: node.facts, uses, answer: node.answer };
            open.push(Some(Open { entry, made_of: smallvec![index] }));
        }
        Steps { plan, open, users }
    }

    fn entry(&self, index: usize) -> Option<&Entry> {
        self.open.get(index)?.as_ref().map(|open| &open.entry)
    }

    /// A step whose outputs are temporaries that only this step uses, and only to read them.
    fn maker(&self, index: usize) -> Option<usize> {
        let user = self.entry(index)?;
        user.facts.fuse.0?;
        user.uses.iter().filter(|one| !one.writes).find_map(|one| {
            let maker = self.only_maker(one, index)?;
            let entry = self.entry(maker)?;
            let all = entry.answer.is_none()
                && entry.uses.iter().filter(|one| one.writes).all(|one| self.only_maker(one, index) == Some(maker))
                && self.may_wait(maker, index);
            all.then_some(maker)
        })
    }

    /// The step that alone makes this temporary, if `user` alone reads it.
    fn only_maker(&self, one: &Use, user: usize) -> Option<usize> {
        let Source::Piece(piece) = one.source else { return None };
        self.plan.pieces.get(piece).filter(|piece| piece.part == Part::Temporary)?;
        let [maker, reader] = self.users.get(piece)?[..] else { return None };
        let of_piece = |step: usize| {
            let uses = self.entry(step).map(|entry| &entry.uses[..]).unwrap_or_default();
            uses.iter().filter(move |other| other.source == one.source)
        };
        let same = |other: &Use| (other.offset, other.bytes) == (one.offset, one.bytes);
        let made = of_piece(maker).all(|other| other.writes && other.overwrites && same(other));
        let read = of_piece(reader).all(|other| !other.writes && same(other));
        (reader == user && made && read).then_some(maker)
    }

    /// Whether nothing that the maker reads is written before the user is done.
    fn may_wait(&self, maker: usize, user: usize) -> bool {
        let reads = || self.entry(maker).into_iter().flat_map(|entry| &entry.uses).filter(|one| !one.writes);
        (maker + 1..user + 1)
            .filter_map(|step| self.entry(step))
            .flat_map(|entry| &entry.uses)
            .all(|one| !one.writes || reads().all(|read| read.source != one.source || !read.meets(one)))
    }

    /// Makes one step of both, if their operations can be joined.
    fn join(&mut self, maker: usize, index: usize) -> Result<bool> {
        let Some(entry) = self.joined(maker, index)? else { return Ok(false) };
        let reads = entry.uses.iter().filter(|one| !one.writes);
        for piece in reads.filter_map(|one| if let Source::Piece(piece) = one.source { Some(piece) } else { None }) {
            if let Some(users) = self.users.get_mut(piece) {
                users.retain(|user| *user != maker && *user != index);
                users.push(index);
                users.sort_unstable();
            }
        }
        let mut made_of = self.open.get_mut(maker).and_then(Option::take).map(|open| open.made_of).unwrap_or_default();
        if let Some(Some(open)) = self.open.get_mut(index) {
            made_of.extend(open.made_of.iter().copied());
            *open = Open { entry, made_of };
        }
        Ok(true)
    }

    /// Both as one step.
    fn joined(&self, maker: usize, index: usize) -> Result<Option<Entry>> {
        let (Some(first), Some(second)) = (self.entry(maker), self.entry(index)) else { return Ok(None) };
        let written: SmallVec<[&Use; 4]> = first.uses.iter().filter(|one| one.writes).collect();
        let output = |one: &Use| written.iter().position(|other| other.source == one.source);
        let reads = || [first, second].into_iter().flat_map(|entry| &entry.uses).filter(|one| !one.writes);
        let same =
            |one: &Use, other: &Use| (one.source, one.offset, one.bytes) == (other.source, other.offset, other.bytes);
        let number = |one: &Use| reads().position(|other| same(one, other)).unwrap_or(usize::MAX);
        let numbers = |entry: &Entry| entry.uses.iter().filter(|one| !one.writes).map(number).collect();
        let outputs = second.uses.iter().filter(|one| !one.writes).map(output).collect();
        let link = Link { outputs, memory: [numbers(first), numbers(second)] };
        let mut fused = None;
        // The code of the operation's author.
        guarded(&mut || {
            fused = second.facts.fuse.0.and_then(|join| join(&first.step, &second.step, &link));
            Ok(())
        })?;
        let Some(Fused { step, origins }) = fused else { return Ok(None) };
        let read = |&(of_maker, number): &(bool, usize)| {
            let entry = if of_maker { first } else { second };
            entry.uses.iter().filter(|one| !one.writes).nth(number).copied()
        };
        let reads: Option<SmallVec<[Use; 4]>> = origins.iter().map(read).collect();
        let Some(mut uses) = reads else { return Ok(None) };
        uses.extend(second.uses.iter().filter(|one| one.writes).copied());
        let info = both(&first.info, &second.info, &written);
        Ok(Some(Entry { step, info, facts: second.facts, uses, answer: second.answer }))
    }
}

/// The work of both. What lies between is neither written nor read.
fn both(first: &OpInfo, second: &OpInfo, between: &[&Use]) -> OpInfo {
    let moved = between.iter().map(|one| one.bytes.saturating_mul(2)).sum();
    OpInfo {
        flops: first.flops.saturating_add(second.flops),
        bytes: first.bytes.saturating_add(second.bytes).saturating_sub(moved),
        label: second.label.or(first.label),
        ..*second
    }
}

impl Program {
    /// Whether replays run neighbouring steps as one, which is so at first.
    ///
    /// A [map](crate::Device::map) joins the map or the reduction that alone reads what it makes, in the order in which it made it;
    /// what it makes is then never in memory. The bits of all results are the same: f16, bf16 and the types of 8 bits are rounded
    /// between the two. Everything but replays knows the steps as they were recorded: [`bisect`](Self::bisect),
    /// [`set`](Self::set), [`compare`](Self::compare), [`stats`](Self::stats), and files. [`explain`](Self::explain) says what
    /// became one.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let (mut program, _) = device.record(|r| {
    ///     let x = r.input::<f32>(1000)?;
    ///     let square = r.map(windlass::TensorRef::from(&x), |x| x * x)?.into_output();
    ///     let sum = r.sum(&square, windlass::reductions::All)?.into_output();
    ///     r.copy(&sum.into_buffer(), r.output(1)?)?.into_output();
    ///     Ok(())
    /// })?;
    /// assert!(program.explain().starts_with("step 0 (map) is part of step 1 (reduce)"));
    /// program.fuse(false)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of making memory for the program, on an isolated device.
    pub fn fuse(&mut self, on: bool) -> Result<()> {
        if on != self.fuses {
            self.fuses = on;
            self.renew(Arc::new(self.plan.renewed()))?;
        }
        Ok(())
    }

    /// Takes this plan, and makes the one that replays run.
    pub(super) fn renew(&mut self, plan: Arc<Plan>) -> Result<()> {
        let gpu = !self.tape.real().engine.is_host();
        let fused = if self.fuses { plan.fused(gpu)? } else { None };
        // The memory is there already.
        let fused = fused.and_then(|fused| fused.in_arena(plan.arena));
        (self.plan, self.fused) = (plan, fused.map(Arc::new));
        Ok(())
    }

    /// What replays run: which recorded steps became part of others ([`fuse`](Self::fuse)), a line for each, and how many steps are
    /// left.
    pub fn explain(&self) -> String {
        let plan = self.fused.as_ref().unwrap_or(&self.plan);
        let mut text = String::new();
        for made_of in &plan.made_of {
            let Some((last, parts)) = made_of.split_last() else { continue };
            for part in parts {
                let name = |step: usize| self.plan.nodes.get(step).map_or("?", |node| node.info.op);
                let _ = writeln!(text, "step {part} ({}) is part of step {last} ({})", name(*part), name(*last));
            }
        }
        let _ = write!(text, "{} steps were recorded, {} run", self.plan.nodes.len(), plan.nodes.len());
        text
    }
}
