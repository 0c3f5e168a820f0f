//! What a program is, in numbers.

use super::Program;
use super::plan::Plan;
use super::tape::Part;
use crate::sync::Ordering;

/// What a program is, and how often it ran: [`Program::stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramStats {
    /// Operations.
    pub steps: usize,
    /// Pairs of which one directly follows the other.
    pub edges: usize,
    /// Operations on the longest way from one to the next: with enough threads or streams it takes no less.
    pub longest_path: usize,
    /// Bytes of all temporaries, as if each had memory of its own.
    pub temporary_bytes: u64,
    /// Bytes that the program holds for them and for what its operations leave for the host.
    pub arena_bytes: u64,
    /// Replays that were submitted.
    pub replays: u64,
    /// Of those, how many a GPU ran as one CUDA graph ([`Program::capture_graphs`](crate::Program::capture_graphs)). The others
    /// were enqueued operation by operation: the first with new buffers, and all of a program that cannot be captured.
    pub graph_launches: u64,
    /// Graphs that were instantiated.
    pub instantiations: u64,
    /// Graphs that were given other buffers without that.
    pub updates: u64,
    /// Captures that were put off to a later replay, because another thread was inside the driver for longer than a
    /// millisecond: a capture has the driver for itself.
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
    /// What it is, in numbers.
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
