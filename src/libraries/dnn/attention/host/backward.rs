//! The backward pass: the weights again, from the scores.
//!
//! They are made as in the forward pass, by the largest score of a row: the logarithm of a sum in one number has the precision of the
//! largest score. Where there was a sink, that says what part of the sum the keys have.

use super::forward::Exponentials;
use super::masking::{BLOCK, Masking};
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::{Matrix, Real, product};
use crate::numerics::parallel::try_each;
use pulp::Arch;
use std::ops::Range;

fn part<A>(all: &[A], index: usize, len: usize) -> &[A] {
    let of = |n: usize| n.min(all.len());
    let range: Range<usize> = of(index * len)..of((index + 1) * len);
    all.get(range).unwrap_or_default()
}

/// What is written is zeros before. Keys and values of a head, and the queries that it serves, are computed together: each sum has
/// one order.
pub(super) fn backward<A: Real>(
    masking: &Masking<'_, A>,
    [q, k, v, o, dy, sums]: [&[A]; 6],
    [dq, dk, dv]: [&mut Vec<A>; 3],
) -> Result<()> {
    let problem = masking.problem;
    let (queries, keys, width, value) = (problem.queries, problem.keys, problem.width, problem.value_width);
    if queries == 0 || keys == 0 || width == 0 || value == 0 || problem.rows() == 0 {
        return Ok(());
    }
    let served = problem.served();
    let unit = |index: usize, [dq, dk, dv]: [&mut [A]; 3], parallel: bool| -> Result<()> {
        let (k, v) = (part(k, index, keys * width), part(v, index, keys * value));
        let batch = index / problem.kv_heads;
        let size = BLOCK.min(queries) * keys;
        let (mut weights, mut slopes) = (room::filled(size, A::default())?, room::filled(size, A::default())?);
        for one in 0..served {
            let head = index % problem.kv_heads * served + one;
            let at = batch * problem.heads + head;
            let (q, sums) = (part(q, at, queries * width), part(sums, at, queries));
            let (o, dy) = (part(o, at, queries * value), part(dy, at, queries * value));
            let all = masking.blocks(batch, head).flat_map(|block| {
                let of_queries = [(q, width), (o, value), (dy, value)];
                masking.apart(&block, &[(k, width), (v, value)], &of_queries).unwrap_or_else(|| vec![block])
            });
            for block in all {
                let (rows, columns) = (block.queries.len(), block.keys.len());
                let weights = weights.get_mut(..rows * columns).unwrap_or_default();
                let slopes = slopes.get_mut(..rows * columns).unwrap_or_default();
                let square = Matrix::rows(0, columns);
                let of_queries = Matrix::rows(block.queries.start * width, width);
                let of_keys = Matrix::rows(block.keys.start * width, width);
                let of_values = Matrix::rows(block.keys.start * value, value);
                let of_dy = Matrix::rows(block.queries.start * value, value);
                masking.scores(&block, q, k, weights, parallel)?;
                product(
                    (rows, columns, value),
                    (&mut *slopes, square),
                    (dy, of_dy),
                    (v, of_values.turned()),
                    false,
                    parallel,
                )?;
                let lines = weights.chunks_mut(columns).zip(slopes.chunks_mut(columns));
                for (query, (weights, slopes)) in block.queries.clone().zip(lines) {
                    let sum = sums.get(query).copied().unwrap_or_default();
                    let both = part(o, query, value).iter().zip(part(dy, query, value));
                    let mean = both.fold(A::default(), |all, (o, dy)| all + *o * *dy) * A::of(problem.kept());
                    let own = Arch::new().dispatch(Exponentials(&mut *weights, None));
                    let of_keys = match problem.sunk && own != A::LOWEST {
                        true => (own - sum).exp(),
                        false => A::ONE,
                    };
                    let mut factors = masking.factors(&block, query);
                    for (weight, slope) in weights.iter_mut().zip(slopes) {
                        *weight = *weight * of_keys;
                        let Some(factor) = factors.as_mut().and_then(Iterator::next) else {
                            *slope = *weight * (*slope - mean) * A::of(problem.scale());
                            continue;
                        };
                        *slope = *weight * (*slope * factor - mean) * A::of(problem.scale());
                        *weight = *weight * factor;
                    }
                }
                let (weights, slopes) = (&*weights, &*slopes);
                let to_dv = (&mut *dv, of_values);
                product((columns, value, rows), to_dv, (weights, square.turned()), (dy, of_dy), true, parallel)?;
                let to_dk = (&mut *dk, of_keys);
                product((columns, width, rows), to_dk, (slopes, square.turned()), (q, of_queries), true, parallel)?;
                let first = one * queries * width + of_queries.first;
                let to_dq = (&mut *dq, Matrix { first, ..of_queries });
                product((rows, width, columns), to_dq, (slopes, square), (k, of_keys), false, parallel)?;
            }
        }
        Ok(())
    };
    let dq = dq.chunks_mut(served * queries * width);
    let all: Vec<_> = dq.zip(dk.chunks_mut(keys * width)).zip(dv.chunks_mut(keys * value)).enumerate().collect();
    match all.len() >= rayon::current_num_threads() {
        true => try_each(all, 1, &|(index, ((dq, dk), dv))| unit(index, [dq, dk, dv], false)),
        false => all.into_iter().try_for_each(|(index, ((dq, dk), dv))| unit(index, [dq, dk, dv], true)),
    }
}
