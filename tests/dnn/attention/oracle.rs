//! Attention by its definition, in f64.

use crate::common::Rng;
use crate::convolution::oracle::{Numbers, indices};
use windlass::dnn::Corner;

/// An attention with all its sizes.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Batch, heads of queries, heads of keys, queries, keys, width, width of values.
    pub(crate) sizes: [usize; 7],
    pub(crate) causal: Option<Corner>,
    pub(crate) window: Option<usize>,
    /// The extents of the bias.
    pub(crate) bias: Option<[usize; 4]>,
    pub(crate) lengths: Option<[Vec<i32>; 2]>,
    pub(crate) dropout: Option<Dropout>,
    /// For each head.
    pub(crate) sink: Option<Vec<f64>>,
}

/// A probability, the seed of a stream, and for each score whether its weight is kept.
#[derive(Clone)]
pub(crate) struct Dropout {
    pub(crate) probability: f64,
    pub(crate) seed: u64,
    pub(crate) kept: Vec<bool>,
}

impl std::fmt::Debug for Dropout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of stream {}", self.probability, self.seed)
    }
}

impl Case {
    pub(crate) fn new(sizes: [usize; 7]) -> Self {
        Case { sizes, causal: None, window: None, bias: None, lengths: None, dropout: None, sink: None }
    }

    /// `narrow`: also widths that are no multiples of 8.
    pub(crate) fn random(rng: &mut Rng, narrow: bool) -> Self {
        let places = [1, 2, 7, 16, 33, 65];
        let widths: &[usize] = if narrow { &[1, 3, 5, 8, 40] } else { &[8, 16, 16, 40, 64] };
        let (kv, served) = (rng.pick(&[1, 2]), rng.pick(&[1, 1, 2, 3]));
        let width = rng.pick(widths);
        let value = if rng.below(4) == 0 { rng.pick(widths) } else { width };
        let (one, other) = (rng.pick(&places), rng.pick(&places));
        let (queries, keys) = if rng.below(2) == 0 { (one, one) } else { (one.min(other), one.max(other)) };
        let mut case = Case::new([rng.pick(&[1, 2]), kv * served, kv, queries, keys, width, value]);
        let [batch, heads, ..] = case.sizes;
        case.causal = rng.pick(&[None, Some(Corner::TopLeft), Some(Corner::BottomRight)]);
        if case.causal.is_some() && rng.below(3) == 0 {
            case.window = Some(rng.pick(&[1, 3, 16, 1000]));
        }
        if rng.below(4) == 0 {
            case.bias = Some([rng.pick(&[1, batch]), rng.pick(&[1, heads]), queries, keys]);
        }
        if rng.below(4) == 0 {
            let mut of = |most: usize| (0..batch).map(|_| (1 + rng.below(most)) as i32).collect::<Vec<_>>();
            let of_keys = of(keys);
            let of_queries = of(queries).into_iter().zip(&of_keys).map(|(q, k)| q.min(*k)).collect();
            case.lengths = Some([of_queries, of_keys]);
        }
        if !narrow && case.causal == Some(Corner::BottomRight) && (case.lengths.is_some() || queries != keys) {
            // cuDNN has none that is right.
            case.window = None;
        }
        case
    }

    pub(crate) fn q(&self) -> [usize; 4] {
        let [b, h, _, s, _, d, _] = self.sizes;
        [b, h, s, d]
    }
    pub(crate) fn k(&self) -> [usize; 4] {
        let [b, _, h, _, s, d, _] = self.sizes;
        [b, h, s, d]
    }
    pub(crate) fn v(&self) -> [usize; 4] {
        let [b, _, h, _, s, _, d] = self.sizes;
        [b, h, s, d]
    }
    pub(crate) fn o(&self) -> [usize; 4] {
        let [b, h, _, s, _, _, d] = self.sizes;
        [b, h, s, d]
    }

    pub(crate) fn sees(&self, batch: usize, query: usize, key: usize) -> bool {
        let [.., queries, keys, _, _] = self.sizes;
        let (queries, keys) = match &self.lengths {
            Some([q, k]) => (q[batch] as usize, k[batch] as usize),
            None => (queries, keys),
        };
        let last = match self.causal {
            None => keys as i64,
            Some(Corner::TopLeft) => query as i64,
            Some(Corner::BottomRight) => query as i64 + keys as i64 - queries as i64,
        };
        let first = self.window.map_or(i64::MIN, |window| last - window as i64 + 1);
        query < queries && key < keys && (first..=last).contains(&(key as i64))
    }

    /// The weights of a query, and the logarithm of their sum before; and the largest sum of magnitudes of a score.
    fn weights(&self, index: &[usize], q: &Numbers, k: &Numbers, bias: Option<&Numbers>) -> (Vec<f64>, f64, f64) {
        let [_, heads, kv, _, keys, width, _] = self.sizes;
        let (b, h, i) = (index[0], index[1], index[2]);
        let of_k = h / (heads / kv);
        let scale = 1.0 / (width as f64).sqrt();
        let mut large = 0f64;
        let query = q.row(index);
        let scores: Vec<f64> = (0..keys)
            .map(|j| {
                if !self.sees(b, i, j) {
                    return f64::NEG_INFINITY;
                }
                let (key, mut sum, mut size) = (k.row(&[b, of_k, j]), 0.0, 0.0);
                for d in 0..width {
                    let x = query[d] * key[d];
                    sum += x;
                    size += x.abs();
                }
                let more = bias.map_or(0.0, |bias| {
                    let one = |axis: usize, at: usize| if bias.extents[axis] == 1 { 0 } else { at };
                    bias.at(&[one(0, b), one(1, h), one(2, i), one(3, j)])
                });
                large = large.max(size * scale + more.abs());
                sum * scale + more
            })
            .collect();
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sink = self.sink.as_ref().map(|sink| sink[h]);
        if most == f64::NEG_INFINITY {
            let is_there = self.lengths.as_ref().is_none_or(|[queries, _]| (i as i32) < queries[b]);
            return (vec![0.0; keys], sink.filter(|_| is_there).unwrap_or(most), 0.0);
        }
        let most = most.max(sink.unwrap_or(most));
        let sum: f64 = scores.iter().copied().chain(sink).map(|x| (x - most).exp()).sum();
        (scores.iter().map(|x| (x - most).exp() / sum).collect(), most + sum.ln(), large)
    }

    /// The factor of a weight: 0 if it is dropped.
    fn factor(&self, index: &[usize], key: usize) -> f64 {
        let [_, heads, _, queries, keys, ..] = self.sizes;
        let at = ((index[0] * heads + index[1]) * queries + index[2]) * keys + key;
        self.dropout.as_ref().map_or(1.0, |all| if all.kept[at] { 1.0 / (1.0 - all.probability) } else { 0.0 })
    }

    /// The gradient of the sink.
    pub(crate) fn of_sink(&self, [q, k, v, dy]: [&Numbers; 4], bias: Option<&Numbers>) -> Numbers {
        let [o, sums, ..] = self.forward([q, k, v], bias);
        let mut slopes = Numbers::zeros(&[self.sizes[1]]);
        for index in indices(&self.o()[..3]) {
            let h = index[1];
            let mean: f64 = o.row(&index).iter().zip(dy.row(&index)).map(|(o, dy)| o * dy).sum();
            if let Some(sink) = self.sink.as_ref().filter(|_| sums.at(&index) > f64::NEG_INFINITY) {
                *slopes.at_mut(&[h]) -= (sink[h] - sums.at(&index)).exp() * mean;
            }
        }
        slopes
    }

    /// The result, the logarithms of the sums, and for each element of the result the sum of magnitudes and the size of the scores.
    pub(crate) fn forward(&self, [q, k, v]: [&Numbers; 3], bias: Option<&Numbers>) -> [Numbers; 4] {
        let [_, heads, kv, _, keys, ..] = self.sizes;
        let (mut o, mut scale, mut large) =
            (Numbers::zeros(&self.o()), Numbers::zeros(&self.o()), Numbers::zeros(&self.o()));
        let mut sums = Numbers::zeros(&self.o()[..3]);
        for index in indices(&self.o()[..3]) {
            let (weights, sum, size) = self.weights(&index, q, k, bias);
            *sums.at_mut(&index) = sum;
            large.row_mut(&index).fill(size);
            let (o, scale) = (o.row_mut(&index), scale.row_mut(&index));
            for (j, weight) in weights.iter().enumerate().take(keys) {
                let weight = weight * self.factor(&index, j);
                let value = v.row(&[index[0], index[1] / (heads / kv), j]);
                // What no weight multiplies adds nothing.
                for d in 0..if weight == 0.0 { 0 } else { value.len() } {
                    let product = weight * value[d];
                    o[d] += product;
                    scale[d] += product.abs();
                }
            }
        }
        [o, sums, scale, large]
    }

    /// The gradients of queries, keys and values.
    pub(crate) fn backward(&self, [q, k, v, dy]: [&Numbers; 4], bias: Option<&Numbers>) -> [Numbers; 3] {
        let [_, heads, kv, _, keys, width, value] = self.sizes;
        let [mut dq, mut dk, mut dv] = [self.q(), self.k(), self.v()].map(|extents| Numbers::zeros(&extents));
        let scale = 1.0 / (width as f64).sqrt();
        for index in indices(&self.o()[..3]) {
            let (b, h) = (index[0], index[1]);
            let of_k = h / (heads / kv);
            let (weights, ..) = self.weights(&index, q, k, bias);
            let (query, of_o) = (q.row(&index), dy.row(&index));
            let slope = |j: usize| {
                let (values, mut sum) = (v.row(&[b, of_k, j]), 0.0);
                for d in 0..value {
                    sum += of_o[d] * values[d];
                }
                sum * self.factor(&index, j)
            };
            let slopes: Vec<f64> = (0..keys).map(slope).collect();
            let mean: f64 = slopes.iter().zip(&weights).map(|(slope, weight)| slope * weight).sum();
            for j in 0..keys {
                let of_score = weights[j] * (slopes[j] - mean) * scale;
                let (key, dq, dk) = (k.row(&[b, of_k, j]), dq.row_mut(&index), dk.row_mut(&[b, of_k, j]));
                for d in 0..width {
                    dq[d] += of_score * key[d];
                    dk[d] += of_score * query[d];
                }
                let (weight, dv) = (weights[j] * self.factor(&index, j), dv.row_mut(&[b, of_k, j]));
                for d in 0..value {
                    dv[d] += weight * of_o[d];
                }
            }
        }
        [dq, dk, dv]
    }
}
