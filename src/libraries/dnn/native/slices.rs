//! Gradients of some batches or heads at a time.
//!
//! A deterministic backward pass needs memory for all scores of what it computes: batch * heads * queries * keys * 2 bytes, with queries
//! rounded up to multiples of 64, and keys of 128. Batches and heads do not depend on each other, but those heads of queries that one
//! of keys serves do: their gradients are added up.

use super::super::attention::AttentionProblem;
use super::graph::Graph;
use super::scores::Operand;
use crate::core::error::Result;
use crate::engines::cuda::Queue;

/// The most memory for the scores of a pass, if it can be helped.
pub(super) const MOST_BYTES: u64 = 2 << 30;

/// What the library takes for the scores of a deterministic pass.
fn score_bytes(problem: &AttentionProblem) -> u64 {
    let whole = |n: usize, part: u64| (n as u64).div_ceil(part).saturating_mul(part);
    let places = whole(problem.queries, 64).saturating_mul(whole(problem.keys, 128));
    places.saturating_mul(problem.batch as u64).saturating_mul(problem.heads as u64).saturating_mul(2)
}

/// The largest divisor with a property, else 1.
fn divisor(n: usize, fits: impl Fn(usize) -> bool) -> usize {
    (1..=n).rev().find(|part| n.is_multiple_of(*part) && fits(*part)).unwrap_or(1)
}

/// The pass that is planned: all, or some batches, or some heads of one batch, as many as divide all. `most`: bytes for the scores.
pub(super) fn part(problem: &AttentionProblem, most: u64) -> AttentionProblem {
    let fits = |part: &AttentionProblem| score_bytes(part) <= most;
    let batches = |batch| AttentionProblem { batch, ..problem.clone() };
    if !problem.deterministic || fits(problem) {
        return problem.clone();
    }
    if fits(&batches(1)) {
        return batches(divisor(problem.batch, |n| fits(&batches(n))));
    }
    let heads = |n| AttentionProblem { heads: n * problem.served(), kv_heads: n, ..batches(1) };
    heads(divisor(problem.kv_heads, |n| fits(&heads(n))))
}

/// The first batch and the first head of each pass.
pub(super) fn places(whole: &AttentionProblem, part: &AttentionProblem) -> impl Iterator<Item = [usize; 2]> + use<> {
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
    pub(super) fn new(operand: Operand, address: u64, whole: &AttentionProblem, part: &AttentionProblem) -> Self {
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

#[cfg(test)]
mod tests {
    use super::super::tests::attention_problem;
    use super::*;
    use crate::core::element::DType;

    /// Batches, heads, heads of keys, queries and keys, and what is computed at once within some bytes: batches and heads.
    const CASES: &[([usize; 5], u64, [usize; 2])] = &[
        ([2, 8, 8, 128, 256], u64::MAX, [2, 8]),
        ([2, 8, 8, 128, 256], 2 * 8 * 128 * 256 * 2, [2, 8]),
        ([2, 8, 8, 128, 256], 2 * 8 * 128 * 256 * 2 - 1, [1, 8]),
        ([6, 8, 8, 128, 256], 4 * 8 * 128 * 256 * 2, [3, 8]),
        ([7, 8, 8, 128, 256], 4 * 8 * 128 * 256 * 2, [1, 8]),
        ([2, 8, 8, 128, 256], 5 * 128 * 256 * 2, [1, 4]),
        ([2, 12, 4, 128, 256], 7 * 128 * 256 * 2, [1, 6]),
        ([2, 12, 4, 128, 256], 6 * 128 * 256 * 2 - 1, [1, 3]),
        // The heads that one serves stay together, whatever they need.
        ([2, 12, 4, 128, 256], 0, [1, 3]),
        ([2, 8, 1, 128, 256], 0, [1, 8]),
        ([1, 1, 1, 1, 1], 0, [1, 1]),
        ([1, 1, 1, 1, 1], 64 * 128 * 2, [1, 1]),
        ([2, 1, 1, 65, 129], 128 * 256 * 2, [1, 1]),
        ([0, 8, 8, 128, 256], 0, [0, 8]),
        ([usize::MAX >> 40, 8, 8, 1 << 20, 1 << 20], 1 << 41, [1, 1]),
    ];

    fn of([batch, heads, kv_heads, queries, keys]: [usize; 5]) -> AttentionProblem {
        let (q, k) = ([heads * queries * 64, queries * 64, 64], [kv_heads * keys * 64, keys * 64, 64]);
        let whole = attention_problem(DType::F16, 128, 8, 64);
        AttentionProblem { batch, heads, kv_heads, queries, keys, of_q: q, of_k: k, of_v: k, of_o: q, ..whole }
    }

    #[test]
    fn parts_divide_the_whole_and_keep_to_the_bound() {
        for (sizes, most, want) in CASES {
            let whole = of(*sizes);
            let part = part(&whole, *most);
            assert_eq!([part.batch, part.heads], *want, "{sizes:?} within {most}");
            assert_eq!((part.served(), part.of_q), (whole.served(), whole.of_q));
            if whole.batch > 1 << 20 {
                continue;
            }
            let all: Vec<_> = places(&whole, &part).collect();
            assert_eq!(all.len() * part.batch.max(1) * part.heads, whole.batch * whole.heads, "{sizes:?}");
        }
        let quick = AttentionProblem { deterministic: false, ..of([2, 8, 8, 128, 256]) };
        assert_eq!(part(&quick, 0), quick, "without determinism there is no such memory");
    }

    #[test]
    fn parts_of_operands_follow_each_other() {
        let whole =
            AttentionProblem { bias: Some([0, 3 * 5, 5]), dropout: Some(0.5f64.to_bits()), ..of([2, 6, 2, 3, 5]) };
        let part = part(&whole, 0);
        assert_eq!([part.batch, part.heads, part.kv_heads], [1, 3, 1]);
        let at = |operand| -> Vec<u64> {
            let sliced = Sliced::new(operand, 1000, &whole, &part);
            places(&whole, &part).map(|place| sliced.at(place) - 1000).collect()
        };
        let every = |step: u64| vec![0, step, 2 * step, 3 * step];
        assert_eq!(at(Operand::Q), every(3 * 3 * 64 * 2));
        assert_eq!(at(Operand::Dq), every(3 * 3 * 64 * 2));
        assert_eq!(at(Operand::K), every(5 * 64 * 2));
        assert_eq!(at(Operand::Dv), every(5 * 64 * 2));
        assert_eq!(at(Operand::Sums), every(3 * 3 * 4));
        assert_eq!(at(Operand::Mask), every(3 * 3 * 5 * 2));
        assert_eq!(at(Operand::Bias), [0, 90, 0, 90]);
        assert_eq!(at(Operand::KeyLengths), [0, 0, 4, 4]);
        let bytes = |operand| Sliced::new(operand, 0, &whole, &part).bytes;
        assert_eq!([Operand::Q, Operand::K, Operand::Sums].map(bytes), [3 * 3 * 64 * 2, 5 * 64 * 2, 36]);
        assert_eq!([Operand::Mask, Operand::Bias, Operand::QueryLengths].map(bytes), [90, 90, 4]);
    }
}
