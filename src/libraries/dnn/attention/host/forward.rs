//! The forward pass.

use super::masking::{Block, Masking};
use crate::core::error::Result;
use crate::libraries::dnn::product::panels::Panels;
use crate::libraries::dnn::product::scratch::lent;
use crate::libraries::dnn::product::tiles::{Factors, Offsets, Shared, multiply};
use crate::libraries::dnn::product::{Matrix, Real};
use crate::numerics::parallel::try_each_number;
use pulp::{Arch, Simd, WithSimd};

/// Elements of a row that are taken at once.
const LANES: usize = 16;

/// The exponentials of a row of scores over their sum, to which that of the sink belongs; the logarithm of the sum. Zeros, and the sink or
/// -inf, if the row sees nothing.
pub(super) struct Exponentials<'r, A>(pub(super) &'r mut [A], pub(super) Option<A>);

impl<A: Real> WithSimd for Exponentials<'_, A> {
    type Output = A;

    /// What is called must be inlined, to be compiled for the machine's vectors.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "lanes of arrays, which become vectors")]
    fn with_simd<S: Simd>(self, _: S) -> A {
        let (whole, rest) = self.0.as_chunks_mut::<LANES>();
        let mut most = [A::LOWEST; LANES];
        for x in whole.iter() {
            for lane in 0..LANES {
                most[lane] = if x[lane] > most[lane] { x[lane] } else { most[lane] };
            }
        }
        let mut largest = A::LOWEST;
        for x in most.iter().chain(rest.iter()) {
            largest = if *x > largest { *x } else { largest };
        }
        if largest == A::LOWEST && whole.as_flattened().iter().chain(rest.iter()).all(|x| *x == A::LOWEST) {
            self.0.fill(A::default());
            return self.1.unwrap_or(A::LOWEST);
        }
        let largest = self.1.map_or(largest, |sink| if sink > largest { sink } else { largest });
        let mut sums = [A::default(); LANES];
        for x in whole.iter_mut() {
            for lane in 0..LANES {
                x[lane] = (x[lane] - largest).exp();
                sums[lane] = sums[lane] + x[lane];
            }
        }
        let mut sum = self.1.map_or(A::default(), |sink| (sink - largest).exp());
        for x in rest.iter_mut() {
            *x = (*x - largest).exp();
            sum = sum + *x;
        }
        for x in sums {
            sum = sum + x;
        }
        // Before the product with the values, which could overflow.
        let factor = A::ONE / sum;
        for x in self.0.iter_mut() {
            *x = *x * factor;
        }
        largest + sum.ln()
    }
}

/// The part of a slice; empty where it does not lie in it.
fn part<A>(all: &[A], first: usize, len: usize) -> &[A] {
    all.get(first * len..).unwrap_or_default()
}

/// So many queries of some keys do not pay for panels: to make those takes longer than the products.
const FEW: usize = 4;

/// The keys of a head: as they are, or as many queries read them.
#[derive(Clone, Copy)]
enum Keys<'h, A: Real> {
    Rows(&'h [A]),
    Panels(&'h Panels<A>),
}

/// A head, and where its results go.
struct Head<'h, A: Real> {
    masking: &'h Masking<'h, A>,
    q: &'h [A],
    v: &'h [A],
    keys: Keys<'h, A>,
    /// Whether the threads share a product.
    parallel: bool,
    sink: Option<A>,
    /// The head's first query among those of all heads.
    first: usize,
    o: Shared<'h, A>,
    sums: Shared<'h, A>,
}

impl<A: Real> Head<'_, A> {
    fn block(&self, block: &Block) -> Result<()> {
        lent(block.queries.len() * block.keys.len(), |scores| self.weigh(block, scores))
    }

    fn weigh(&self, block: &Block, scores: &mut [A]) -> Result<()> {
        let (value, line) = (self.masking.problem.value_width, block.keys.len());
        match self.keys {
            Keys::Rows(k) => self.masking.scores_of_few(block, self.q, k, scores),
            Keys::Panels(keys) => self.masking.scores_by(block, self.q, keys, scores, self.parallel)?,
        }
        let start = self.first + block.queries.start;
        // SAFETY: these queries belong to this block.
        let (o, sums) = unsafe {
            (self.o.line(start * value, block.queries.len() * value), self.sums.line(start, block.queries.len()))
        };
        let rows = scores.chunks_mut(line).zip(block.queries.clone());
        for ((row, query), sum) in rows.zip(sums) {
            *sum = Arch::new().dispatch(Exponentials(row, self.sink));
            let dropout = self.masking.factors(block, query).into_iter().flatten();
            row.iter_mut().zip(dropout).for_each(|(weight, dropout)| *weight = *weight * dropout);
        }
        if value > 0 {
            let (a, b) = ((&*scores, Matrix::rows(0, line)), (self.v, block.keys.start * value));
            multiply(
                [block.queries.len(), value],
                Factors { a, b, offsets: &Offsets::even(line, value)? },
                (&mut *o, value),
                false,
            )?;
        }
        Ok(())
    }
}

/// `o` is zeros before, and `sums` is what it is for a query that sees no key.
pub(super) fn forward<A: Real>(
    masking: &Masking<'_, A>,
    [q, k, v]: [&[A]; 3],
    o: &mut [A],
    sums: &mut [A],
) -> Result<()> {
    let problem = masking.problem;
    if o.is_empty() && sums.is_empty() || problem.keys == 0 || problem.queries == 0 {
        return Ok(());
    }
    let (width, value) = (problem.width, problem.value_width);
    // What the heads of queries share is made once.
    let of_k = Matrix::rows(0, width).turned();
    let shared = if problem.queries * problem.served() <= FEW { 0 } else { problem.batch * problem.kv_heads };
    let panels = (0..shared).map(|head| Panels::new((width, problem.keys), part(k, head, problem.keys * width), of_k));
    let panels = panels.collect::<Result<Vec<_>>>()?;
    let (o, sums) = (Shared::new(o), Shared::new(sums));
    let heads = problem.batch * problem.heads;
    let blocks = (0..heads).flat_map(|head| masking.blocks(head / problem.heads, head % problem.heads));
    let blocks: Vec<Block> = blocks.collect();
    // Not inside of enough blocks: a thread that waits would take up another block meanwhile.
    let parallel = blocks.len() < rayon::current_num_threads();
    try_each_number(blocks.len(), 1, &|number| {
        let Some(block) = blocks.get(number) else { return Ok(()) };
        let index = block.batch * problem.heads + block.head;
        let of_keys = block.batch * problem.kv_heads + block.head / problem.served();
        let keys = match panels.get(of_keys) {
            Some(panels) => Keys::Panels(panels),
            None => Keys::Rows(part(k, of_keys, problem.keys * width)),
        };
        let (q, v) = (part(q, index, problem.queries * width), part(v, of_keys, problem.keys * value));
        let sink = masking.sink(block.head);
        let head = Head { masking, q, v, keys, parallel, sink, first: index * problem.queries, o, sums };
        match masking.apart(block, &[(v, value)], &[]) {
            None => head.block(block),
            Some(blocks) => blocks.iter().try_for_each(|block| head.block(block)),
        }
    })
}
