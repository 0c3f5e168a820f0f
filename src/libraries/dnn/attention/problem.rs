//! An attention with all its sizes: what both engines compute.

use super::pages::Pages;
use super::spec::Corner;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::libraries::tensor_routine::Operand;
use serde::{Deserialize, Serialize};

/// Where the rows of a tensor lie: the distances of batches, heads and places. The elements of a row are neighbours.
pub(in super::super) type Rows = [usize; 3];

/// The sizes, and what every query may see.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in super::super) struct AttentionProblem {
    pub(in super::super) dtype: DType,
    pub(in super::super) batch: usize,
    pub(in super::super) heads: usize,
    /// Of keys and values: each serves as many heads of queries.
    pub(in super::super) kv_heads: usize,
    pub(in super::super) queries: usize,
    pub(in super::super) keys: usize,
    /// Elements of a query and of a key, and of a value.
    pub(in super::super) width: usize,
    pub(in super::super) value_width: usize,
    pub(in super::super) of_q: Rows,
    pub(in super::super) of_k: Rows,
    pub(in super::super) of_v: Rows,
    /// Of the result, and of everything with its extents.
    pub(in super::super) of_o: Rows,
    /// The bits of the factor of the scores, an f64.
    pub(in super::super) scale: u64,
    pub(in super::super) causal: Option<Corner>,
    /// How many keys a query sees, the last one included.
    pub(in super::super) window: Option<usize>,
    /// The distances of a bias that is added to the scores, along all axes but the last; 0 where it is the same.
    pub(in super::super) bias: Option<[usize; 3]>,
    /// The bits of the probability that a weight is dropped, an f64: the operands have a mask of those that are kept.
    pub(in super::super) dropout: Option<u64>,
    /// Each head has one more score, which has no value.
    pub(in super::super) sink: bool,
    /// The logarithms of the sums that a backward pass reads have the part of a sink.
    pub(in super::super) sunk: bool,
    /// Keys and values are in pages.
    pub(in super::super) pages: Option<Pages>,
    /// Batches have lengths of their own: of queries, and of keys.
    pub(in super::super) lengths: bool,
    /// The logarithms of the sums are wanted.
    pub(in super::super) stats: bool,
    pub(in super::super) tf32: bool,
    pub(in super::super) deterministic: bool,
}

/// The elements from the first to the last one; `usize::MAX`, which no buffer has, if they are too many.
fn reach(extents: [usize; 4], [b, h, s]: Rows) -> usize {
    if extents.contains(&0) {
        return 0;
    }
    let [batch, heads, places, width] = extents;
    let steps = [(batch, b), (heads, h), (places, s)];
    steps.into_iter().fold(width, |all, (n, step)| all.saturating_add((n - 1).saturating_mul(step)))
}

impl AttentionProblem {
    pub(in super::super) fn scale(&self) -> f64 {
        f64::from_bits(self.scale)
    }

    /// The factor of the weights that are kept.
    pub(in super::super) fn kept(&self) -> f64 {
        self.dropout.map_or(1.0, |probability| 1.0 / (1.0 - f64::from_bits(probability)))
    }

    pub(in super::super) fn extents_of_scores(&self) -> [usize; 4] {
        [self.batch, self.heads, self.queries, self.keys]
    }
    /// Whether a library gets a copy of the values, with zeros behind the lengths: so they lie without gaps. (Of pages none are
    /// unused but where nobody reads.)
    pub(in super::super) fn blanks_values(&self) -> bool {
        self.lengths && self.pages.is_none()
    }

    pub(in super::super) fn extents_of_q(&self) -> [usize; 4] {
        [self.batch, self.heads, self.queries, self.width]
    }
    pub(in super::super) fn extents_of_k(&self) -> [usize; 4] {
        [self.batch, self.kv_heads, self.keys, self.width]
    }
    pub(in super::super) fn extents_of_v(&self) -> [usize; 4] {
        [self.batch, self.kv_heads, self.keys, self.value_width]
    }
    pub(in super::super) fn extents_of_o(&self) -> [usize; 4] {
        [self.batch, self.heads, self.queries, self.value_width]
    }

    /// The elements from the first to the last one of the queries; as many as are checked.
    #[cfg(feature = "cuda")]
    pub(in super::super) fn reach_of_q(&self) -> usize {
        reach(self.extents_of_q(), self.of_q)
    }

    /// The heads of queries that one of keys serves.
    pub(in super::super) fn served(&self) -> usize {
        self.heads / self.kv_heads.max(1)
    }

    /// The type of the logarithms of the sums.
    pub(in super::super) fn sums(&self) -> DType {
        if self.dtype == DType::F64 { DType::F64 } else { DType::F32 }
    }

    /// The rows of scores.
    pub(in super::super) fn rows(&self) -> usize {
        self.batch.saturating_mul(self.heads).saturating_mul(self.queries)
    }

    /// How far the band of the mask lies to the right: the last query of a batch sees all of its keys, or the first one sees one.
    #[cfg(feature = "host")]
    pub(super) fn shift(&self, queries: usize, keys: usize) -> i64 {
        match self.causal {
            Some(Corner::BottomRight) => keys as i64 - queries as i64,
            _ => 0,
        }
    }

    /// Checks what may have come from elsewhere.
    pub(super) fn check(&self) -> Result<()> {
        if !matches!(self.dtype, DType::F16 | DType::Bf16 | DType::F32 | DType::F64) {
            return Err(Error::invalid(
                "q",
                format!("elements of {}; f16, bf16, f32 and f64 are possible", self.dtype),
            ));
        }
        if self.kv_heads == 0 && self.heads > 0 || self.kv_heads > 0 && !self.heads.is_multiple_of(self.kv_heads) {
            let what = format!("{} heads, which do not divide the {} heads of q", self.kv_heads, self.heads);
            return Err(Error::invalid("k", what));
        }
        if self.window.is_some() && self.causal.is_none() {
            return Err(Error::invalid("window", "a window ends at the diagonal: it needs `causal`"));
        }
        if self.window == Some(0) {
            return Err(Error::invalid("window", "0 keys; each query sees at least one"));
        }
        let scale = self.scale();
        if !(if self.dtype == DType::F64 { scale.is_finite() } else { (scale as f32).is_finite() }) {
            return Err(Error::invalid("scale", format!("{scale} is no number of {}", self.sums())));
        }
        if let Some(probability) = self.dropout.map(f64::from_bits)
            && !(0.0..1.0).contains(&probability)
        {
            return Err(Error::invalid("dropout", format!("{probability} is not from 0 to less than 1")));
        }
        if let Some(pages) = self.pages
            && (!self.lengths || pages.table.checked_mul(pages.places) != Some(self.keys))
        {
            return Err(Error::invalid("pages", "they need lengths, and a table of all keys"));
        }
        let sizes = [
            self.extents_of_q(),
            self.extents_of_k(),
            self.extents_of_v(),
            self.stored(self.extents_of_k()),
            self.stored(self.extents_of_v()),
            self.extents_of_o(),
            self.extents_of_scores(),
        ];
        let fits = |all: [usize; 4]| {
            let product = all.into_iter().try_fold(8usize, |all, n| all.checked_mul(n.max(1)));
            product.is_some_and(|n| isize::try_from(n).is_ok())
        };
        match sizes.into_iter().all(fits) {
            true => Ok(()),
            false => Err(Error::invalid("q", "the sizes of these tensors are too large")),
        }
    }

    /// Queries, keys and values, as a pass reads them.
    pub(super) fn inputs(&self) -> [Operand<'_>; 3] {
        let all = [
            ("q", self.extents_of_q(), self.of_q),
            ("k", self.stored(self.extents_of_k()), self.of_k),
            ("v", self.stored(self.extents_of_v()), self.of_v),
        ];
        all.map(|(name, extents, rows)| Operand::at_least(name, self.dtype, reach(extents, rows)))
    }

    /// The elements from the first to the last one of the result.
    pub(super) fn reach_of_o(&self) -> usize {
        reach(self.extents_of_o(), self.of_o)
    }

    /// The operations of so many for each score; a causal mask leaves half of them.
    pub(super) fn flops(&self, of_score: u64) -> u64 {
        let half = if self.causal.is_some() { 2 } else { 1 };
        (self.rows() as u64).saturating_mul(self.keys as u64).saturating_mul(of_score) / half
    }

    /// Bias, mask, sink, pages and lengths, which both passes read last.
    pub(super) fn others(&self) -> impl Iterator<Item = Operand<'_>> {
        let least = Operand::at_least;
        let bias = self.bias.map(|strides| least("bias", self.dtype, reach(self.extents_of_scores(), strides)));
        let scores = self.extents_of_scores().into_iter().fold(1, usize::saturating_mul);
        let dropout = self.dropout.map(|_| least("dropout", self.dtype, scores));
        let sink = self.sink.then(|| least("sink", self.sums(), self.heads));
        let table = |pages: Pages| least("pages", DType::I32, self.batch.saturating_mul(pages.table));
        let lengths = ["query_lengths", "key_lengths"].map(|name| least(name, DType::I32, self.batch));
        let lengths = lengths.into_iter().filter(|_| self.lengths);
        [bias, dropout, sink, self.pages.map(table)].into_iter().flatten().chain(lengths)
    }
}
