//! Numbers that describe a program.

use super::Program;
use super::entry::Part;
use super::plan::Plan;
use crate::core::sync::Ordering;

/// Size and use of a program, from [`Program::stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramStats {
    /// Operations.
    pub steps: usize,
    /// Pairs of operations of which one directly follows the other.
    pub edges: usize,
    /// Operations on the longest chain of dependencies: the least time of a replay, in steps, whatever the number of
    /// threads or streams.
    pub longest_path: usize,
    /// Bytes of all temporaries, as if each had memory of its own.
    pub temporary_bytes: u64,
    /// Bytes of the program's arena: for the temporaries and for what the operations leave for the host.
    pub arena_bytes: u64,
    /// Replays that were submitted.
    pub replays: u64,
    /// Of those, how many a GPU ran as one CUDA graph ([`Program::capture_graphs`](crate::Program::capture_graphs)).
    /// The others were enqueued operation by operation: the first replay with new buffers, and all replays of a program
    /// that cannot be captured.
    pub graph_launches: u64,
    /// Graphs that were instantiated.
    pub instantiations: u64,
    /// Graphs that were updated to other buffers without a new instantiation.
    pub updates: u64,
    /// Captures that were put off to a later replay because another thread was inside the driver for longer than a
    /// millisecond. A capture needs the driver for itself.
    pub put_off: u64,
}

impl Plan {
    fn longest_path(&self) -> usize {
        let mut lengths: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let before = node.after.iter().filter_map(|&step| lengths.get(step)).max();
            lengths.push(before.copied().unwrap_or(0) + 1);
        }
        lengths.into_iter().max().unwrap_or(0)
    }
}

impl Program {
    /// Size and use of the program.
    pub fn stats(&self) -> ProgramStats {
        let plan = &*self.plan;
        let temporary = plan.pieces.iter().filter(|piece| piece.part == Part::Temporary);
        #[cfg_attr(not(feature = "cuda"), expect(unused_mut, reason = "no graphs"))]
        let mut stats = ProgramStats {
            steps: plan.nodes.len(),
            edges: plan.nodes.iter().map(|node| node.after.len()).sum(),
            longest_path: plan.longest_path(),
            temporary_bytes: temporary.map(|piece| piece.bytes).sum(),
            arena_bytes: plan.arena_bytes(),
            replays: self.replays.load(Ordering::Relaxed),
            ..ProgramStats::default()
        };
        #[cfg(feature = "cuda")]
        {
            stats.graph_launches = self.graphs.launches.load(Ordering::Relaxed);
            stats.instantiations = self.graphs.instantiations.load(Ordering::Relaxed);
            stats.put_off = self.graphs.put_off.load(Ordering::Relaxed);
            stats.updates = self.graphs.updates.load(Ordering::Relaxed);
        }
        stats
    }
}
