//! What a query sees, and its scores.

use super::super::problem::AttentionProblem;
use crate::core::error::Result;
use crate::libraries::dnn::product::panels::Panels;
use crate::libraries::dnn::product::{Matrix, Real, product};
use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;

/// Queries that are computed at once.
pub(super) const BLOCK: usize = 64;

/// Masks, bias, dropout, sink and lengths.
pub(super) struct Masking<'s, A> {
    pub(super) problem: &'s AttentionProblem,
    pub(super) bias: Option<&'s [A]>,
    /// For each score, whether its weight is kept.
    pub(super) kept: Option<&'s [bool]>,
    pub(super) sink: Option<&'s [A]>,
    pub(super) lengths: Option<[&'s [i32]; 2]>,
}

/// Elements of a product that are summed at once.
const LANES: usize = 16;

/// The products of a query with keys, which lie one after the other.
struct Products<'p, A> {
    query: &'p [A],
    keys: &'p [A],
    to: &'p mut [A],
}

impl<A: Real> WithSimd for Products<'_, A> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "lanes of arrays, which become vectors")]
    fn with_simd<S: Simd>(self, _: S) {
        let (query, rest) = self.query.as_chunks::<LANES>();
        if self.query.is_empty() {
            return self.to.fill(A::default());
        }
        for (to, key) in self.to.iter_mut().zip(self.keys.chunks_exact(self.query.len())) {
            let (whole, behind) = key.as_chunks::<LANES>();
            let mut sums = [A::default(); LANES];
            for (x, y) in query.iter().zip(whole) {
                for lane in 0..LANES {
                    sums[lane] = sums[lane] + x[lane] * y[lane];
                }
            }
            let mut half = LANES / 2;
            while half > 0 {
                for lane in 0..half {
                    sums[lane] = sums[lane] + sums[lane + half];
                }
                half /= 2;
            }
            *to = rest.iter().zip(behind).fold(sums[0], |sum, (x, y)| sum + *x * *y);
        }
    }
}

/// Some queries of a head, and the keys that any of them sees.
pub(super) struct Block {
    pub(super) batch: usize,
    pub(super) head: usize,
    pub(super) queries: Range<usize>,
    pub(super) keys: Range<usize>,
}

impl<A: Real> Masking<'_, A> {
    /// The queries and keys of a batch.
    pub(super) fn lengths(&self, batch: usize) -> (usize, usize) {
        let (queries, keys) = (self.problem.queries, self.problem.keys);
        let of = |all: &[i32], most: usize| all.get(batch).map_or(0, |n| usize::try_from(*n).unwrap_or(0)).min(most);
        match self.lengths {
            Some([q, k]) => (of(q, queries), of(k, keys)),
            None => (queries, keys),
        }
    }

    /// The keys that a query sees.
    pub(super) fn keys(&self, batch: usize, query: usize) -> Range<usize> {
        let (queries, keys) = self.lengths(batch);
        if query >= queries {
            return 0..0;
        }
        if self.problem.causal.is_none() {
            return 0..keys;
        }
        let end = (query as i64 + self.problem.shift(queries, keys) + 1).clamp(0, keys as i64) as usize;
        let first = self.problem.window.map_or(0, |window| {
            let first =
                query as i64 + self.problem.shift(queries, keys) + 1 - i64::try_from(window).unwrap_or(i64::MAX);
            usize::try_from(first).unwrap_or(0)
        });
        first.min(end)..end
    }

    /// The factors of the weights of a query, for the keys of a block: 0 for one that is dropped. `None` without dropout.
    pub(super) fn factors(&self, block: &Block, query: usize) -> Option<impl Iterator<Item = A> + '_> {
        let problem = self.problem;
        let row = (block.batch * problem.heads + block.head) * problem.queries + query;
        let kept = self.kept?.get(row * problem.keys..)?.get(block.keys.clone())?;
        let factor = A::of(problem.kept());
        Some(kept.iter().map(move |kept| if *kept { factor } else { A::default() }))
    }

    /// The score of a head that belongs to no key.
    pub(super) fn sink(&self, head: usize) -> Option<A> {
        self.sink?.get(head).copied()
    }

    /// The blocks of a head, of those queries that see a key: what stands at the others is not read.
    pub(super) fn blocks(&self, batch: usize, head: usize) -> impl Iterator<Item = Block> + '_ {
        let all = self.lengths(batch).0;
        (0..all).step_by(BLOCK).filter_map(move |from| {
            let is_blind = |query: &usize| self.keys(batch, *query).is_empty();
            let queries = from..(from + BLOCK).min(all);
            // Blind ones are the first, or the last.
            let first = queries.start + queries.clone().take_while(is_blind).count();
            let queries = first..queries.end - (first..queries.end).rev().take_while(is_blind).count();
            let ranges = queries.clone().map(|query| self.keys(batch, query));
            let keys = ranges.reduce(|one, other| one.start.min(other.start)..one.end.max(other.end))?;
            Some(Block { batch, head, queries, keys })
        })
    }

    /// The queries of a block by themselves, with the keys that each sees, if some keys are hidden from some of them and what belongs to
    /// those is not finite: a weight of 0 would make NaN of it. `of_keys` and `of_queries` are rows of such widths.
    pub(super) fn apart(
        &self,
        block: &Block,
        of_keys: &[(&[A], usize)],
        of_queries: &[(&[A], usize)],
    ) -> Option<Vec<Block>> {
        let keys = |query: usize| self.keys(block.batch, query);
        let all = block.queries.clone().map(keys);
        let common = all.reduce(|one, other| one.start.max(other.start)..one.end.min(other.end))?;
        let (batch, head, end) = (block.batch, block.head, block.keys.end);
        let common = if common.is_empty() { end..end } else { common };
        let hidden = [block.keys.start..common.start, common.end..end];
        if hidden.iter().all(Range::is_empty) {
            return None;
        }
        #[expect(clippy::eq_op, reason = "it is not 0 where a number is not finite")]
        let is_finite = |all: &[(&[A], usize)], rows: &Range<usize>| {
            let part = |&(all, width): &(&[A], usize)| {
                let part = all.get(rows.start * width..rows.end * width).unwrap_or_default();
                part.iter().all(|x| *x - *x == A::default())
            };
            all.iter().all(part)
        };
        if hidden.iter().all(|keys| is_finite(of_keys, keys)) && is_finite(of_queries, &block.queries) {
            return None;
        }
        let one = |query: usize| Block { batch, head, queries: query..query + 1, keys: keys(query) };
        Some(block.queries.clone().map(one).filter(|block| !block.keys.is_empty()).collect())
    }

    /// The scores of a block: a row for each query, a column for each key; -inf for those that it does not see.
    pub(super) fn scores(&self, block: &Block, q: &[A], k: &[A], scores: &mut [A], parallel: bool) -> Result<()> {
        let (problem, (rows, columns)) = (self.problem, (block.queries.len(), block.keys.len()));
        let of_q = Matrix::rows(block.queries.start * problem.width, problem.width);
        let of_k = Matrix::rows(block.keys.start * problem.width, problem.width).turned();
        match problem.width {
            0 => scores.fill(A::default()),
            width => product(
                (rows, columns, width),
                (scores, Matrix::rows(0, columns)),
                (q, of_q),
                (k, of_k),
                false,
                parallel,
            )?,
        }
        self.mask(block, scores);
        Ok(())
    }

    /// The same, of a few queries: keys are read where they lie.
    pub(super) fn scores_of_few(&self, block: &Block, q: &[A], k: &[A], scores: &mut [A]) {
        let width = self.problem.width;
        let keys = k.get(block.keys.start * width..).unwrap_or_default();
        for (query, to) in block.queries.clone().zip(scores.chunks_mut(block.keys.len().max(1))) {
            let query = q.get(query * width..).unwrap_or_default().get(..width).unwrap_or_default();
            Arch::new().dispatch(Products { query, keys, to });
        }
        self.mask(block, scores);
    }

    /// The same, of keys that lie in panels.
    pub(super) fn scores_by(
        &self,
        block: &Block,
        q: &[A],
        keys: &Panels<A>,
        scores: &mut [A],
        parallel: bool,
    ) -> Result<()> {
        let of_q = Matrix::rows(block.queries.start * self.problem.width, self.problem.width);
        let to = (&mut *scores, block.keys.len());
        keys.block((block.queries.len(), block.keys.clone()), (q, of_q), to, (false, parallel))?;
        self.mask(block, scores);
        Ok(())
    }

    /// Scales products of queries and keys, adds the bias, and hides what is not seen.
    fn mask(&self, block: &Block, scores: &mut [A]) {
        let (problem, scale) = (self.problem, A::of(self.problem.scale()));
        for (query, row) in block.queries.clone().zip(scores.chunks_mut(block.keys.len().max(1))) {
            let keys = self.keys(block.batch, query);
            let bias = self.bias.zip(problem.bias).and_then(|(bias, [b, h, s])| {
                bias.get(block.batch * b + block.head * h + query * s + block.keys.start..)
            });
            // Columns of the block.
            let at = |key: usize| key.clamp(block.keys.start, block.keys.end) - block.keys.start;
            let (first, end) = (at(keys.start), at(keys.end));
            let (before, rest) = row.split_at_mut_checked(first).unwrap_or_default();
            let (row, behind) = rest.split_at_mut_checked(end - first).unwrap_or_default();
            before.fill(A::LOWEST);
            behind.fill(A::LOWEST);
            match bias {
                Some(bias) => {
                    let bias = bias.get(first..).unwrap_or_default();
                    row.iter_mut().zip(bias).for_each(|(score, more)| *score = *score * scale + *more);
                }
                None => row.iter_mut().for_each(|score| *score = *score * scale),
            }
        }
    }
}
