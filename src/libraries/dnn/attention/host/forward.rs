//! The forward pass.

use super::seen::{BLOCK, Seen};
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::{Matrix, Real, product};
use rayon::prelude::*;

/// The exponentials of a row of scores over their sum, to which that of the sink belongs; the logarithm of the sum. Zeros, and -inf, if
/// the row sees nothing.
fn normalize<A: Real>(row: &mut [A], sink: Option<A>) -> A {
    let largest = row.iter().copied().chain(sink).fold(A::LOWEST, |most, x| if x > most { x } else { most });
    let is_blind = row.iter().all(|x| *x == A::LOWEST);
    if is_blind {
        row.fill(A::default());
        return A::LOWEST;
    }
    let mut sum = sink.map_or(A::default(), |sink| (sink - largest).exp());
    for x in row.iter_mut() {
        *x = (*x - largest).exp();
        sum = sum + *x;
    }
    row.iter_mut().for_each(|x| *x = *x / sum);
    largest + sum.ln()
}

/// `o` is zeros and `sums` is -inf before.
pub(super) fn forward<A: Real>(seen: &Seen<'_, A>, [q, k, v]: [&[A]; 3], o: &mut [A], sums: &mut [A]) -> Result<()> {
    let scene = seen.scene;
    if o.is_empty() && sums.is_empty() || scene.keys == 0 || scene.queries == 0 {
        return Ok(());
    }
    let (width, value) = (scene.width, scene.value_width);
    let head = |index: usize, o: &mut [A], sums: &mut [A], parallel: bool| -> Result<()> {
        let (batch, head) = (index / scene.heads, index % scene.heads);
        let of_keys = batch * scene.kv_heads + head / scene.served();
        let part = |all: &'_ [A], first: usize, len: usize| -> std::ops::Range<usize> {
            let start = (first * len).min(all.len());
            start..(start + len).min(all.len())
        };
        let q = q.get(part(q, index, scene.queries * width)).unwrap_or_default();
        let k = k.get(part(k, of_keys, scene.keys * width)).unwrap_or_default();
        let v = v.get(part(v, of_keys, scene.keys * value)).unwrap_or_default();
        let mut scores = room::filled(BLOCK.min(scene.queries) * scene.keys, A::default())?;
        for block in seen.blocks(batch, head) {
            let (rows, columns) = (block.queries.len(), block.keys.len());
            let scores = scores.get_mut(..rows * columns).unwrap_or_default();
            seen.scores(&block, q, k, scores, parallel)?;
            let sums = sums.get_mut(block.queries.clone()).unwrap_or_default();
            let lines = scores.chunks_mut(columns).zip(sums).zip(block.queries.clone());
            for ((row, sum), query) in lines {
                *sum = normalize(row, seen.sink(head));
                let factors = seen.factors(&block, query).into_iter().flatten();
                row.iter_mut().zip(factors).for_each(|(weight, factor)| *weight = *weight * factor);
            }
            if value > 0 {
                let to = (&mut *o, Matrix::rows(block.queries.start * value, value));
                let values = (v, Matrix::rows(block.keys.start * value, value));
                product((rows, value, columns), to, (scores, Matrix::rows(0, columns)), values, false, parallel)?;
            }
        }
        Ok(())
    };
    // Without values there is a head of `o` for each of `sums` all the same.
    let mut heads: Vec<&mut [A]> = match value {
        0 => sums.chunks(scene.queries).map(|_| Default::default()).collect(),
        value => o.chunks_mut(scene.queries * value).collect(),
    };
    let many = heads.len() >= rayon::current_num_threads();
    let sums = sums.chunks_mut(scene.queries).collect::<Vec<_>>();
    let all: Vec<_> = heads.drain(..).zip(sums).enumerate().collect();
    match many {
        true => all.into_par_iter().try_for_each(|(index, (o, sums))| head(index, o, sums, false)),
        false => all.into_iter().try_for_each(|(index, (o, sums))| head(index, o, sums, true)),
    }
}
