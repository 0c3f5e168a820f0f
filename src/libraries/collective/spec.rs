//! A collective as plain data, and where each rank sends from and receives to. The only place that knows the sizes.

use super::combine::Reduction;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::room;
use serde::{Deserialize, Serialize};

/// A transfer of one of several between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Transfer {
    /// The rank that sends.
    pub from: usize,
    /// The rank that receives. It may be the one that sends.
    pub to: usize,
}

/// Which collective it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    AllReduce,
    Reduce { root: usize },
    Broadcast { root: usize },
    AllGather,
    ReduceScatter,
    Gather { root: usize },
    Scatter { root: usize },
    AllToAll,
    Exchange(Vec<Transfer>),
    Barrier,
}

/// A collective.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Spec {
    pub(super) kind: Kind,
    pub(super) dtype: DType,
    pub(super) reduction: Option<Reduction>,
    pub(super) in_place: bool,
    pub(super) deterministic: bool,
    /// The number of ranks.
    pub(super) ranks: usize,
    /// The first rank of this process.
    pub(super) first: usize,
    /// The number of ranks of this process.
    pub(super) locals: usize,
}

/// Elements of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) operand: Operand,
    pub(super) offset: usize,
    pub(super) len: usize,
}

/// An operand of the dispatch, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Read(usize),
    Written(usize),
}

/// Where a rank of this process sends from and receives to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    pub(super) send: Option<Place>,
    pub(super) receive: Option<Place>,
}

/// One transfer of an exchange; an end in another process has no place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    pub(super) transfer: Transfer,
    pub(super) ends: Ends,
}

/// The places of a collective.
#[derive(Debug)]
pub(super) struct Layout {
    /// The number of elements that each rank has for itself.
    pub(super) count: usize,
    /// For each rank of this process. Empty for an exchange.
    pub(super) ends: Vec<Ends>,
    /// The transfers of an exchange that this process takes part in.
    pub(super) moved: Vec<Moved>,
}

/// What a rank sends and receives, in units of the count. 0: nothing.
#[derive(Clone, Copy)]
struct Units {
    send: usize,
    receive: usize,
    /// In place, the rank's own part is what it sends, or what it receives, of its one buffer.
    own_is_sent: bool,
}

impl Kind {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Kind::AllReduce => "all_reduce",
            Kind::Reduce { .. } => "reduce",
            Kind::Broadcast { .. } => "broadcast",
            Kind::AllGather => "all_gather",
            Kind::ReduceScatter => "reduce_scatter",
            Kind::Gather { .. } => "gather",
            Kind::Scatter { .. } => "scatter",
            Kind::AllToAll => "all_to_all",
            Kind::Exchange(_) => "exchange",
            Kind::Barrier => "barrier",
        }
    }

    pub(super) fn root(&self) -> Option<usize> {
        match self {
            Kind::Reduce { root } | Kind::Broadcast { root } | Kind::Gather { root } | Kind::Scatter { root } => {
                Some(*root)
            }
            _ => None,
        }
    }

    fn units(&self, rank: usize, ranks: usize) -> Units {
        let if_root = |units: usize| if self.root() == Some(rank) { units } else { 0 };
        let (send, receive, own_is_sent) = match self {
            Kind::AllReduce => (1, 1, true),
            Kind::Reduce { .. } => (1, if_root(1), true),
            Kind::Broadcast { .. } => (if_root(1), 1, true),
            Kind::AllGather => (1, ranks, true),
            Kind::ReduceScatter => (ranks, 1, false),
            Kind::Gather { .. } => (1, if_root(ranks), true),
            Kind::Scatter { .. } => (if_root(ranks), 1, false),
            Kind::AllToAll => (ranks, ranks, true),
            Kind::Exchange(_) | Kind::Barrier => (0, 0, true),
        };
        Units { send, receive, own_is_sent }
    }
}

/// The lengths of the operands, and which of them comes next.
struct Lens<'l> {
    reads: &'l [usize],
    writes: &'l [usize],
    next: (usize, usize),
    /// The count, and the operand that told it.
    count: Option<(usize, String)>,
}

impl Lens<'_> {
    fn read(&mut self) -> Result<(Operand, usize)> {
        let index = self.next.0;
        self.next.0 += 1;
        let len = self.reads.get(index).ok_or_else(|| too_few("inputs", self.reads.len()))?;
        Ok((Operand::Read(index), *len))
    }

    fn written(&mut self) -> Result<(Operand, usize)> {
        let index = self.next.1;
        self.next.1 += 1;
        let len = self.writes.get(index).ok_or_else(|| too_few("outputs", self.writes.len()))?;
        Ok((Operand::Written(index), *len))
    }

    /// The count of an operand of so many units; the same for each.
    fn count(&mut self, (operand, len): (Operand, usize), units: usize) -> Result<usize> {
        let count = len / units.max(1);
        if count * units != len {
            let what = format!("{len} elements are no multiple of the {units} ranks");
            return Err(Error::invalid(operand.name(), what));
        }
        match &self.count {
            None => self.count = Some((count, format!("`{}` has {len}", operand.name()))),
            Some((first, told)) if *first != count => {
                let what = format!("{len} elements, but {told}; {} are expected here", first.saturating_mul(units));
                return Err(Error::invalid(operand.name(), what));
            }
            Some(_) => {}
        }
        Ok(count)
    }

    fn finish(&self) -> Result<()> {
        if self.next.0 < self.reads.len() {
            return Err(too_many("inputs", self.reads.len(), self.next.0));
        }
        if self.next.1 < self.writes.len() {
            return Err(too_many("outputs", self.writes.len(), self.next.1));
        }
        Ok(())
    }
}

#[cold]
fn too_few(what: &'static str, count: usize) -> Error {
    Error::invalid(what, format!("only {count}: give one for each rank of this process that needs one"))
}

#[cold]
fn too_many(what: &'static str, count: usize, needed: usize) -> Error {
    Error::invalid(what, format!("{count}, but the ranks of this process need {needed}"))
}

impl Operand {
    fn name(self) -> String {
        match self {
            Operand::Read(index) => format!("inputs[{index}]"),
            Operand::Written(index) => format!("outputs[{index}]"),
        }
    }
}

impl Spec {
    /// The part of one rank, in a process of its own.
    #[cfg(target_os = "linux")]
    pub(super) fn of_rank(&self, rank: usize) -> Self {
        let mut part = Spec { first: rank, locals: 1, ..self.clone() };
        if let Some(reduction) = &mut part.reduction {
            reduction.factors = reduction.factors.get(rank).copied().into_iter().collect();
        }
        part
    }

    /// The name of an operand of the one rank of this process among the operands of all ranks.
    #[cfg(target_os = "linux")]
    pub(super) fn name_among_all(&self, index: usize, read_count: usize) -> Option<String> {
        let (readers, writers) = Spec { first: 0, locals: self.ranks, ..self.clone() }.owners();
        let (name, index, owners) = match index.checked_sub(read_count) {
            None => ("inputs", index, readers),
            Some(index) => ("outputs", index, writers),
        };
        let mut own = owners.iter().enumerate().filter(|(_, rank)| **rank == self.first);
        own.nth(index).map(|(place, _)| format!("{name}[{place}]"))
    }

    /// A collective without operands.
    #[cfg(any(feature = "cuda", target_os = "linux"))]
    pub(super) fn barrier() -> Self {
        let (kind, dtype, reduction) = (Kind::Barrier, DType::U8, None);
        Spec { kind, dtype, reduction, in_place: false, deterministic: false, ranks: 0, first: 0, locals: 0 }
    }

    fn check_rank(&self, name: &'static str, rank: usize) -> Result<()> {
        if rank < self.ranks {
            return Ok(());
        }
        Err(Error::invalid(name, format!("{rank} is no rank: there are {}", self.ranks)))
    }

    pub(super) fn is_local(&self, rank: usize) -> bool {
        (self.first..self.first + self.locals).contains(&rank)
    }

    /// The ranks of this process that have a read and a written operand, in the order of the operands: with these the
    /// device of an operand is checked.
    pub(super) fn owners(&self) -> (Vec<usize>, Vec<usize>) {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        if let Kind::Exchange(transfers) = &self.kind {
            reads.extend(transfers.iter().map(|transfer| transfer.from).filter(|rank| self.is_local(*rank)));
            writes.extend(transfers.iter().map(|transfer| transfer.to).filter(|rank| self.is_local(*rank)));
            return (reads, writes);
        }
        for rank in self.first..self.first + self.locals {
            let Units { send, receive, .. } = self.kind.units(rank, self.ranks);
            if send > 0 && !(self.in_place && receive > 0) {
                reads.push(rank);
            }
            if receive > 0 {
                writes.push(rank);
            }
        }
        (reads, writes)
    }

    /// Whether the collective writes all of the written operand at `index`, and reads none of it.
    pub(super) fn overwrites(&self, index: usize) -> bool {
        let sends = |rank: usize| self.kind.units(rank, self.ranks).send > 0;
        !self.in_place || self.owners().1.get(index).is_some_and(|rank| !sends(*rank))
    }

    /// Where each rank of this process sends from and receives to, for operands of these lengths.
    pub(super) fn layout(&self, reads: &[usize], writes: &[usize]) -> Result<Layout> {
        if let Some(root) = self.kind.root() {
            self.check_rank("root", root)?;
        }
        let mut lens = Lens { reads, writes, next: (0, 0), count: None };
        if let Kind::Exchange(transfers) = &self.kind {
            return self.exchange(transfers, lens);
        }
        let mut ends = room::with_capacity(self.locals)?;
        for rank in self.first..self.first + self.locals {
            ends.push(self.ends(rank, &mut lens)?);
        }
        lens.finish()?;
        let count = lens.count.map_or(0, |(count, _)| count);
        Ok(Layout { count, ends, moved: Vec::new() })
    }

    fn ends(&self, rank: usize, lens: &mut Lens<'_>) -> Result<Ends> {
        let Units { send, receive, own_is_sent } = self.kind.units(rank, self.ranks);
        let whole = |(operand, len): (Operand, usize)| Place { operand, offset: 0, len };
        if self.in_place && send > 0 && receive > 0 {
            let buffer = lens.written()?;
            let units = send.max(receive);
            let count = lens.count(buffer, units)?;
            let own = Place { operand: buffer.0, offset: if units > 1 { rank * count } else { 0 }, len: count };
            let (send, receive) = if own_is_sent { (own, whole(buffer)) } else { (whole(buffer), own) };
            return Ok(Ends { send: Some(send), receive: Some(receive) });
        }
        let mut ends = Ends::default();
        if send > 0 {
            let input = lens.read()?;
            lens.count(input, send)?;
            ends.send = Some(whole(input));
        }
        if receive > 0 {
            let output = lens.written()?;
            lens.count(output, receive)?;
            ends.receive = Some(whole(output));
        }
        Ok(ends)
    }

    fn exchange(&self, transfers: &[Transfer], mut lens: Lens<'_>) -> Result<Layout> {
        let mut moved = Vec::new();
        for transfer in transfers {
            self.check_rank("transfers", transfer.from)?;
            self.check_rank("transfers", transfer.to)?;
            let whole = |(operand, len): (Operand, usize)| Place { operand, offset: 0, len };
            let send = if self.is_local(transfer.from) { Some(whole(lens.read()?)) } else { None };
            let receive = if self.is_local(transfer.to) { Some(whole(lens.written()?)) } else { None };
            if let (Some(send), Some(receive)) = (send, receive)
                && send.len != receive.len
            {
                let (from, to) = (send.operand.name(), receive.operand.name());
                let what = format!("{} elements, but `{from}`, which is sent there, has {}", receive.len, send.len);
                return Err(Error::invalid(to, what));
            }
            if send.is_some() || receive.is_some() {
                room::push(&mut moved, Moved { transfer: *transfer, ends: Ends { send, receive } })?;
            }
        }
        lens.finish()?;
        Ok(Layout { count: 0, ends: Vec::new(), moved })
    }
}

/// A part that one rank sends to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) transfer: Transfer,
    /// Where the part lies at the rank that sends it, if that is of this process.
    pub(super) send: Option<Place>,
    /// Where it lies at the rank that receives it, if that is of this process.
    pub(super) receive: Option<Place>,
}

impl Spec {
    /// The parts of a collective that only moves elements, or of a reduction the parts that each rank needs to combine its
    /// share: all that this process sends or receives, in one order for all processes.
    pub(super) fn parts(&self, layout: &Layout) -> Result<Vec<Part>> {
        if let Kind::Exchange(_) = self.kind {
            let part =
                |moved: &Moved| Part { transfer: moved.transfer, send: moved.ends.send, receive: moved.ends.receive };
            return room::collected(layout.moved.iter().map(part));
        }
        let mut parts = Vec::new();
        for from in 0..if self.kind == Kind::Barrier { 0 } else { self.ranks } {
            for to in 0..self.ranks {
                let (mine, theirs) = (self.is_local(from), self.is_local(to));
                if !mine && !theirs {
                    continue;
                }
                let Some((sent_at, received_at)) = self.kind.part(from, to) else { continue };
                let end = |rank: usize, units: usize, of: fn(&Ends) -> Option<Place>| {
                    let place = layout.ends.get(rank.checked_sub(self.first)?).and_then(of)?;
                    Some(Place { offset: place.offset + units * layout.count, len: layout.count, ..place })
                };
                let send = if mine { end(from, sent_at, |ends| ends.send) } else { None };
                let receive = if theirs { end(to, received_at, |ends| ends.receive) } else { None };
                room::push(&mut parts, Part { transfer: Transfer { from, to }, send, receive })?;
            }
        }
        Ok(parts)
    }
}

impl Kind {
    /// Whether `from` sends something to `to`: where that begins in what it sends, and in what the other receives; in units
    /// of the count.
    fn part(&self, from: usize, to: usize) -> Option<(usize, usize)> {
        match self {
            Kind::Broadcast { root } => (from == *root).then_some((0, 0)),
            Kind::AllGather => Some((0, from)),
            Kind::Gather { root } => (to == *root).then_some((0, from)),
            Kind::Scatter { root } => (from == *root).then_some((to, 0)),
            Kind::AllToAll => Some((to, from)),
            Kind::AllReduce | Kind::Reduce { .. } | Kind::ReduceScatter | Kind::Exchange(_) | Kind::Barrier => None,
        }
    }
}
