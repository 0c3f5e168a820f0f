//! Gradients of some batches or heads at a time.
//!
//! A deterministic backward pass needs memory for all scores of what it computes: batch * heads * queries * keys * 2 bytes, with queries
//! and keys rounded up to multiples of 64. Batches and heads do not depend on each other, but those heads of queries that one of keys
//! serves do: their gradients are added up.

use super::super::attention::Scene;
use super::graph::Graph;
use super::scores::Operand;
use crate::core::error::Result;
use crate::engines::cuda::Queue;

/// The most memory for the scores of a pass, if it can be helped.
pub(super) const MOST_BYTES: u64 = 2 << 30;

/// What the library takes for the scores of a deterministic pass.
fn score_bytes(scene: &Scene) -> u64 {
    let whole = |n: usize| (n as u64).div_ceil(64).saturating_mul(64);
    let places = whole(scene.queries).saturating_mul(whole(scene.keys));
    places.saturating_mul(scene.batch as u64).saturating_mul(scene.heads as u64).saturating_mul(2)
}

/// The largest divisor with a property, else 1.
fn divisor(n: usize, fits: impl Fn(usize) -> bool) -> usize {
    (1..=n).rev().find(|part| n.is_multiple_of(*part) && fits(*part)).unwrap_or(1)
}

/// The pass that is planned: all, or some batches, or some heads of one batch, as many as divide all. `most`: bytes for the scores.
pub(super) fn part(scene: &Scene, most: u64) -> Scene {
    let fits = |part: &Scene| score_bytes(part) <= most;
    let batches = |batch| Scene { batch, ..scene.clone() };
    if !scene.deterministic || fits(scene) {
        return scene.clone();
    }
    if fits(&batches(1)) {
        return batches(divisor(scene.batch, |n| fits(&batches(n))));
    }
    let heads = |n| Scene { heads: n * scene.served(), kv_heads: n, ..batches(1) };
    heads(divisor(scene.kv_heads, |n| fits(&heads(n))))
}

/// The first batch and the first head of each pass.
pub(super) fn places(whole: &Scene, part: &Scene) -> impl Iterator<Item = [usize; 2]> + use<> {
    let (heads, [of_batch, of_head]) = (whole.heads, [part.batch.max(1), part.heads.max(1)]);
    (0..whole.batch).step_by(of_batch).flat_map(move |b| (0..heads).step_by(of_head).map(move |h| [b, h]))
}

/// An operand of which each pass takes a part.
pub(super) struct Sliced {
    pub(super) operand: Operand,
    pub(super) address: u64,
    /// Bytes from one batch to the next, and from one head to the next.
    steps: [usize; 2],
    /// The heads of queries that one of its heads serves.
    served: usize,
    /// The bytes of a part.
    bytes: usize,
    /// Where parts go that do not begin where the library takes them.
    copy: Option<u64>,
}

impl Sliced {
    pub(super) fn new(operand: Operand, address: u64, whole: &Scene, part: &Scene) -> Self {
        let (size, rows) = (whole.dtype.size(), whole.queries);
        let of = |extents: [usize; 4], [b, h, s]: [usize; 3], served: usize| {
            let [batch, heads, places, width] = extents;
            let last = (batch.max(1) - 1) * b + (heads.max(1) - 1) * h + (places.max(1) - 1) * s + width;
            ([b * size, h * size], last * size, served)
        };
        let scores = [rows * whole.keys, whole.keys];
        let (steps, bytes, served) = match operand {
            Operand::Q | Operand::Dq => of(part.extents_of_q(), whole.of_q, 1),
            Operand::K | Operand::Dk => of(part.extents_of_k(), whole.of_k, whole.served()),
            Operand::V | Operand::Dv => of(part.extents_of_v(), whole.of_v, whole.served()),
            Operand::O | Operand::Dy => of(part.extents_of_o(), whole.of_o, 1),
            Operand::Bias => of(part.extents_of_scores(), whole.bias.unwrap_or_default(), 1),
            Operand::Mask => of(part.extents_of_scores(), [whole.heads * scores[0], scores[0], scores[1]], 1),
            Operand::Sums => ([4 * whole.heads * rows, 4 * rows], 4 * part.rows(), 1),
            _ => ([4, 0], 4 * part.batch, 1),
        };
        Sliced { operand, address, steps, served, bytes, copy: None }
    }

    /// Where the part of a pass lies.
    fn at(&self, [batch, head]: [usize; 2]) -> u64 {
        self.address + (batch * self.steps[0] + head / self.served.max(1) * self.steps[1]) as u64
    }

    /// Where a part is written. Rows of the results are multiples of what the library needs.
    pub(super) fn target(&self, place: [usize; 2]) -> u64 {
        self.at(place)
    }

    /// Where a part is read: there, or in a copy.
    pub(super) fn source(&mut self, queue: &mut Queue<'_>, place: [usize; 2]) -> Result<u64> {
        let from = self.at(place);
        if from.is_multiple_of(Graph::ALIGNMENT as u64) {
            return Ok(from);
        }
        let to = match self.copy {
            Some(to) => to,
            None => *self.copy.insert(queue.scratch(self.bytes)?),
        };
        // SAFETY: a part of an operand, and scratch memory of as many bytes, which the passes use in the order of the stream.
        unsafe { queue.copy(to, from, self.bytes) }?;
        Ok(to)
    }
}
