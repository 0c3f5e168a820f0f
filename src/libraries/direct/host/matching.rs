//! A permutation that brings large entries to the diagonal, with the scaling that makes these 1 and all others at most 1: the
//! product of the diagonal is as large as possible (Duff and Koster, "On algorithms for permuting large entries to the diagonal of
//! a sparse matrix", SIAM J. Matrix Anal. Appl. 22, 2001), by shortest augmenting paths.

use super::NONE;
use crate::core::room::{OrUnwind, collected, copied, filled, push};
use crate::libraries::sparse::host::{at, put};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The logarithm that stands for an explicit zero and for what is no number: below that of every other number.
const LEAST: f64 = -800.0;
/// Scales beyond this power of two come from matrices that are zero on every permuted diagonal: they are not scaled.
const LARGEST: f64 = 1000.0;

/// The logarithm of the size of an entry.
pub(crate) fn logarithm((re, im): (f64, f64)) -> f64 {
    let largest = re.abs().max(im.abs());
    if !re.is_finite() || !im.is_finite() || largest == 0.0 {
        return LEAST;
    }
    largest.ln() + (re / largest).hypot(im / largest).ln()
}

/// The logarithms of the entries of a square matrix, row after row.
#[derive(Debug, Default)]
pub(crate) struct Weights {
    offsets: Vec<usize>,
    columns: Vec<usize>,
    logs: Vec<f64>,
}

impl Weights {
    /// From entries in any order: row, column, logarithm.
    pub(crate) fn new(n: usize, entries: &[(usize, usize, f64)]) -> Self {
        let mut offsets = filled(n + 1, 0usize).or_unwind();
        for (row, ..) in entries {
            let count = at(&offsets, *row + 1);
            put(&mut offsets, *row + 1, count + 1);
        }
        for row in 0..n {
            let sum = at(&offsets, row) + at(&offsets, row + 1);
            put(&mut offsets, row + 1, sum);
        }
        let total = at(&offsets, n);
        let (mut columns, mut logs) = (filled(total, 0).or_unwind(), filled(total, 0.0).or_unwind());
        let mut next = copied(&offsets).or_unwind();
        for (row, column, log) in entries {
            let place = at(&next, *row);
            put(&mut columns, place, *column);
            put(&mut logs, place, *log);
            put(&mut next, *row, place + 1);
        }
        Weights { offsets, columns, logs }
    }

    fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        (at(&self.offsets, row)..at(&self.offsets, row + 1))
            .map(|place| (at(&self.columns, place), at(&self.logs, place)))
    }
}

/// The row for each column, and the powers of two that scale rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Matching {
    pub(crate) rows: Vec<usize>,
    pub(crate) scales: [Vec<i32>; 2],
}

/// The state of the search: the duals are the logarithms of the scales, less the largest logarithm of each row.
struct Search<'w> {
    weights: &'w Weights,
    largest: Vec<f64>,
    of_rows: Vec<f64>,
    of_columns: Vec<f64>,
    /// The row of each column, and the column of each row.
    rows: Vec<usize>,
    columns: Vec<usize>,
    distances: Vec<f64>,
    /// The row from which each column was reached.
    before: Vec<usize>,
    reached: Vec<usize>,
    done: Vec<usize>,
}

/// Finds the matching of a matrix of `n` rows.
///
/// # Errors
/// A row that cannot be matched: the matrix is singular, whatever its values are.
pub(crate) fn matching(n: usize, weights: &Weights) -> Result<Matching, usize> {
    let largest = collected((0..n).map(|row| weights.row(row).map(|(_, log)| log).fold(LEAST, f64::max))).or_unwind();
    let mut search = Search {
        weights,
        largest,
        of_rows: filled(n, 0.0).or_unwind(),
        of_columns: filled(n, f64::INFINITY).or_unwind(),
        rows: filled(n, NONE).or_unwind(),
        columns: filled(n, NONE).or_unwind(),
        distances: filled(n, f64::INFINITY).or_unwind(),
        before: filled(n, NONE).or_unwind(),
        reached: Vec::new(),
        done: Vec::new(),
    };
    search.begin(n);
    for row in 0..n {
        if at(&search.columns, row) == NONE {
            search.augment(row)?;
        }
    }
    Ok(search.finish(n))
}

impl Search<'_> {
    /// The cost of each entry of a row, which the duals do not exceed.
    fn costs(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let largest = at(&self.largest, row);
        self.weights.row(row).map(move |(column, log)| (column, largest - log))
    }

    /// Duals that are feasible, and a matching of entries without slack: those of the diagonal first.
    fn begin(&mut self, n: usize) {
        for row in 0..n {
            for place in at(&self.weights.offsets, row)..at(&self.weights.offsets, row + 1) {
                let (column, cost) =
                    (at(&self.weights.columns, place), at(&self.largest, row) - at(&self.weights.logs, place));
                let least = cost.min(at(&self.of_columns, column));
                put(&mut self.of_columns, column, least);
            }
        }
        self.of_columns.iter_mut().filter(|dual| dual.is_infinite()).for_each(|dual| *dual = 0.0);
        for row in 0..n {
            let least = self.costs(row).map(|(column, cost)| cost - at(&self.of_columns, column));
            let least = least.fold(f64::INFINITY, f64::min);
            put(&mut self.of_rows, row, if least.is_finite() { least } else { 0.0 });
        }
        for diagonal in [true, false] {
            for row in 0..n {
                if !diagonal && at(&self.columns, row) != NONE {
                    continue;
                }
                let dual = at(&self.of_rows, row);
                let free = self.costs(row).find(|(column, cost)| {
                    (!diagonal || *column == row)
                        && at(&self.rows, *column) == NONE
                        && cost - dual - at(&self.of_columns, *column) <= 0.0
                });
                if let Some((column, _)) = free {
                    put(&mut self.rows, column, row);
                    put(&mut self.columns, row, column);
                }
            }
        }
    }

    /// Matches one more row, along the path of least cost.
    fn augment(&mut self, root: usize) -> Result<(), usize> {
        let mut heap = BinaryHeap::new();
        let (mut row, mut base) = (root, 0.0f64);
        let end = loop {
            let dual = at(&self.of_rows, row);
            for place in at(&self.weights.offsets, row)..at(&self.weights.offsets, row + 1) {
                let column = at(&self.weights.columns, place);
                let cost = at(&self.largest, row) - at(&self.weights.logs, place);
                // Never shorter than the way so far: rounding must not turn the search round.
                let distance = base + (cost - dual - at(&self.of_columns, column)).max(0.0);
                let known = at(&self.distances, column);
                if distance < known {
                    if known.is_infinite() {
                        push(&mut self.reached, column).or_unwind();
                    }
                    put(&mut self.distances, column, distance);
                    put(&mut self.before, column, row);
                    heap.try_reserve(1).map_err(|_| crate::core::room::out_of_memory(heap.len() * 32)).or_unwind();
                    // The bits of numbers that are not negative have their order.
                    heap.push(Reverse((distance.to_bits(), column)));
                }
            }
            let next = loop {
                match heap.pop() {
                    Some(Reverse((bits, column))) if bits == at(&self.distances, column).to_bits() => {
                        break Some(column);
                    }
                    Some(_) => {}
                    None => break None,
                }
            };
            let Some(column) = next else { return Err(root) };
            base = at(&self.distances, column);
            let owner = at(&self.rows, column);
            if owner == NONE {
                break column;
            }
            // Found for good: no shorter way leads to it any more.
            push(&mut self.done, column).or_unwind();
            row = owner;
        };
        for column in self.done.drain(..) {
            let saved = base - at(&self.distances, column);
            let (dual, owner) = (at(&self.of_columns, column) - saved, at(&self.rows, column));
            put(&mut self.of_columns, column, dual);
            let dual = at(&self.of_rows, owner) + saved;
            put(&mut self.of_rows, owner, dual);
        }
        let dual = at(&self.of_rows, root) + base;
        put(&mut self.of_rows, root, dual);
        let mut column = end;
        loop {
            let row = at(&self.before, column);
            let next = at(&self.columns, row);
            put(&mut self.rows, column, row);
            put(&mut self.columns, row, column);
            if row == root {
                break;
            }
            column = next;
        }
        self.reached.drain(..).for_each(|column| put(&mut self.distances, column, f64::INFINITY));
        Ok(())
    }

    fn finish(self, n: usize) -> Matching {
        let power = |log: f64| (log / std::f64::consts::LN_2).round();
        let of_rows = (0..n).map(|row| power(at(&self.of_rows, row) - at(&self.largest, row)));
        let of_columns = self.of_columns.iter().map(|dual| power(*dual));
        let plain = of_rows.clone().chain(of_columns.clone()).any(|power| power.is_nan() || power.abs() > LARGEST);
        let whole = |power: f64| if plain { 0 } else { power as i32 };
        let scales = [collected(of_rows.map(whole)).or_unwind(), collected(of_columns.map(whole)).or_unwind()];
        Matching { rows: self.rows, scales }
    }
}

/// For a symmetric matrix: the partner of each row, or the row itself. The cycles of the matching become pairs, and one single row
/// if their length is odd. `sizes` are the logarithms of the scaled diagonal.
pub(crate) fn pairs(matching: &Matching, sizes: &[f64]) -> Vec<usize> {
    let n = matching.rows.len();
    let mut mates = filled(n, NONE).or_unwind();
    let mut cycle = Vec::new();
    for first in 0..n {
        let mut i = first;
        cycle.clear();
        while mates.get(i) == Some(&NONE) {
            put(&mut mates, i, i);
            push(&mut cycle, i).or_unwind();
            i = at(&matching.rows, i);
        }
        let len = cycle.len();
        let size = |place: usize| at(sizes, at(&cycle, place % len.max(1)));
        // Blocks with a small product of the diagonal are far from singular, as their other entries are 1.
        let begin = if len % 2 == 1 {
            1 + (0..len).fold(0, |best, place| if size(place) > size(best) { place } else { best })
        } else {
            let worst = |begin: usize| {
                (0..len / 2).map(|k| size(begin + 2 * k) + size(begin + 2 * k + 1)).fold(f64::NEG_INFINITY, f64::max)
            };
            usize::from(len > 2 && worst(1) < worst(0))
        };
        for k in 0..len / 2 {
            let (i, j) = (at(&cycle, (begin + 2 * k) % len), at(&cycle, (begin + 2 * k + 1) % len));
            put(&mut mates, i, j);
            put(&mut mates, j, i);
        }
    }
    mates
}

#[cfg(test)]
mod tests {
    use super::{Weights, logarithm, matching, pairs};

    fn weights(rows: &[Vec<f64>]) -> Weights {
        let entries = rows.iter().enumerate().flat_map(|(i, row)| row.iter().enumerate().map(move |(j, x)| (i, j, *x)));
        let entries: Vec<_> =
            entries.filter(|(.., x)| *x != 0.0).map(|(i, j, x)| (i, j, logarithm((x, 0.0)))).collect();
        Weights::new(rows.len(), &entries)
    }

    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as f64 / f64::from(1u32 << 31)
    }

    /// The largest sum of logarithms over all permutations, by trying all.
    fn best(rows: &[Vec<f64>], taken: &mut Vec<bool>, row: usize) -> f64 {
        let mut most = f64::NEG_INFINITY;
        for column in 0..rows.len() {
            if !taken[column] && rows[row][column] != 0.0 {
                taken[column] = true;
                let rest = if row + 1 == rows.len() { 0.0 } else { best(rows, taken, row + 1) };
                most = most.max(rest + rows[row][column].abs().ln());
                taken[column] = false;
            }
        }
        most
    }

    #[test]
    fn no_permutation_has_a_larger_product_and_the_scaled_entries_are_at_most_one() {
        let mut state = 5;
        for round in 0..200 {
            let n = 1 + round % 6;
            let entry = |state: &mut u64| {
                if random(state) < 0.6 {
                    (random(state) - 0.5) * 10f64.powi((random(state) * 9.0) as i32 - 4)
                } else {
                    0.0
                }
            };
            let rows: Vec<Vec<f64>> = (0..n).map(|_| (0..n).map(|_| entry(&mut state)).collect()).collect();
            let want = best(&rows, &mut vec![false; n], 0);
            match matching(n, &weights(&rows)) {
                Err(row) => assert!(want == f64::NEG_INFINITY && row < n, "round {round}"),
                Ok(found) => {
                    let got: f64 = (0..n).map(|j| rows[found.rows[j]][j].abs().ln()).sum();
                    assert!((got - want).abs() < 1e-9, "round {round}: {got} is not {want}");
                    for (i, row) in rows.iter().enumerate() {
                        for (j, entry) in row.iter().enumerate() {
                            let scaled = entry.abs() * 2f64.powi(found.scales[0][i] + found.scales[1][j]);
                            assert!(scaled <= 2.0, "round {round}: {scaled}");
                            assert!(found.rows[j] != i || scaled >= 0.5, "round {round}: {scaled} on the diagonal");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_matrix_of_zeros_keeps_its_diagonal_and_is_not_scaled() {
        let zeros: Vec<_> = (0..9).map(|i| (i / 3, i % 3, logarithm((0.0, f64::NAN)))).collect();
        let zeros = Weights::new(3, &zeros);
        let found = matching(3, &zeros).unwrap();
        assert_eq!((found.rows, found.scales), (vec![0, 1, 2], [vec![0; 3], vec![0; 3]]));
        assert_eq!(matching(0, &Weights::new(0, &[])).unwrap().rows, [0usize; 0]);
    }

    #[test]
    fn cycles_become_pairs_and_one_row_is_left_of_an_odd_one() {
        let of = |rows: Vec<usize>, sizes: &[f64]| pairs(&super::Matching { rows, ..Default::default() }, sizes);
        assert_eq!(of(vec![0, 2, 1], &[0.0; 3]), [0, 2, 1]);
        // 0 -> 1 -> 2 -> 0: row 1 has the largest diagonal.
        assert_eq!(of(vec![1, 2, 0], &[-5.0, -1.0, -3.0]), [2, 1, 0]);
        // 0 -> 1 -> 2 -> 3 -> 0: the pairs whose diagonals are smaller.
        assert_eq!(of(vec![1, 2, 3, 0], &[0.0, 0.0, -9.0, -9.0]), [3, 2, 1, 0]);
    }
}
