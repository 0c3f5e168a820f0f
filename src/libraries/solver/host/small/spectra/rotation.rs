//! Rotations, and the pairs of columns that a round rotates.

use super::super::wide::{Real, Wide};

/// The most sweeps.
pub(super) const SWEEPS: usize = 100;

/// A rotation of each matrix: its tangent, its sine, and the tangent of half its angle.
#[derive(Clone, Copy)]
pub(super) struct Rotation<T, const L: usize> {
    pub(super) t: Wide<T, L>,
    s: Wide<T, L>,
    half: Wide<T, L>,
}

impl<T: Real, const L: usize> Rotation<T, L> {
    /// The identity.
    #[inline(always)]
    pub(super) fn none() -> Self {
        Rotation { t: Wide::zero(), s: Wide::zero(), half: Wide::zero() }
    }

    /// That which makes g zero, from the difference of the two numbers on the diagonal, where `on` is above zero; g is not zero there.
    #[inline(always)]
    pub(super) fn new(difference: Wide<T, L>, g: Wide<T, L>, on: Wide<T, L>) -> Self {
        let one = Wide::of(T::ONE);
        let z = difference.over(g.plus(g));
        let size = z.map(T::size);
        // A square that leaves the range is nothing beside which one counts.
        let root =
            size.or(z.fma(z, one).map(T::root), size.test(one.over(Wide::of(T::EPSILON)), |size, most| size > most));
        let t = one.over(size.plus(root)).with(z, T::signed_as);
        let t = t.or(Wide::zero(), on);
        let c = one.over(t.fma(t, one).map(T::root));
        let s = c.times(t);
        Rotation { t, s, half: s.over(one.plus(c)) }
    }

    /// Rotates two numbers. What is added is small where the angle is, so the norms of columns that are rotated hundreds of times stay.
    #[inline(always)]
    pub(super) fn turn(&self, x: &mut Wide<T, L>, y: &mut Wide<T, L>) {
        let turned = self.s.negative().fma(self.half.fma(*x, *y), *x);
        *y = self.s.fma(self.half.negative().fma(*y, *x), *y);
        *x = turned;
    }

    /// Rotates two columns. In a loop, not in a closure: one that is compiled by itself has not the caller's vectors, and calls a function
    /// for each multiplication.
    #[inline(always)]
    pub(super) fn turn_columns(&self, (x, y): (&mut [Wide<T, L>], &mut [Wide<T, L>])) {
        for (x, y) in x.iter_mut().zip(y) {
            self.turn(x, y);
        }
    }
}

/// The columns of pair `k` in a round of `even` columns: each two meet once in `even - 1` rounds.
#[inline(always)]
pub(super) fn pair(k: usize, round: usize, even: usize) -> (usize, usize) {
    let count = even - 1;
    let p = match round + k {
        _ if k == 0 => count,
        p if p >= count => p - count,
        p => p,
    };
    (p, if round >= k { round - k } else { round + count - k })
}

/// Two columns.
type Two<'x, T, const L: usize> = (&'x mut [Wide<T, L>], &'x mut [Wide<T, L>]);

/// Two columns of so many rows.
#[inline(always)]
pub(super) fn two_columns<T, const L: usize>(
    x: &mut [Wide<T, L>],
    rows: usize,
    (p, q): (usize, usize),
) -> Option<Two<'_, T, L>> {
    let (low, high) = (p.min(q), p.max(q));
    let (before, from) = x.split_at_mut_checked(high * rows)?;
    let (one, other) = (before.get_mut(low * rows..(low + 1) * rows)?, from.get_mut(..rows)?);
    Some(if p < q { (one, other) } else { (other, one) })
}

#[cfg(test)]
mod tests {
    use super::pair;

    #[test]
    fn each_two_columns_meet_once_and_no_round_has_one_twice() {
        for even in (2..=32).step_by(2) {
            let mut met = std::collections::HashSet::new();
            for round in 0..even - 1 {
                let mut seen = std::collections::HashSet::new();
                for (p, q) in (0..even / 2).map(|k| pair(k, round, even)) {
                    assert!(p < even && q < even && seen.insert(p) && seen.insert(q), "{even} {round}");
                    assert!(met.insert((p.min(q), p.max(q))), "{even}: {p} and {q}");
                }
            }
            assert_eq!(met.len(), even * (even - 1) / 2);
        }
    }
}
