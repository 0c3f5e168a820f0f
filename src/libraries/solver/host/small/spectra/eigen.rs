//! Two-sided rotations: the eigenvalues of symmetric matrices, and the vectors.
//!
//! The upper triangle is stored by places. In each round pair `k` has the places `2k` and `2k + 1`; then the columns move. So the four
//! elements of two pairs lie together, and where they go is the same in all rounds.

use super::super::beside::{Beside, each};
use super::super::wide::{Real, Wide};
use super::super::{column, put};
use super::rotation::{Rotation, SWEEPS, pair, two_columns};
use super::{lane, written};
use crate::core::element::DType;
use crate::core::room::{OrUnwind, collected};
use crate::libraries::solver::SolverElement;
use crate::libraries::solver::matrix::Matrix;
use crate::numerics::level3::batch;

/// The most columns, and pairs of them.
const MOST: usize = 32;
const PAIRS: usize = MOST / 2;

/// Eigenvalues, ascending, and vectors in place of each A, of f32 or f64.
pub(crate) fn small_eigh<T: SolverElement>(
    (vectors, upper): (bool, bool),
    of: &Matrix,
    (a, w, info): (&mut [T], &mut [T::Real], &mut [i32]),
) {
    match T::DTYPE {
        DType::F32 => all::<T, f32, 16>((vectors, upper), of, (a, w, info)),
        DType::F64 => all::<T, f64, 8>((vectors, upper), of, (a, w, info)),
        _ => {}
    }
}

/// U is T.
fn all<T: SolverElement, U: Real + bytemuck::Pod, const L: usize>(
    (vectors, upper): (bool, bool),
    of: &Matrix,
    (a, w, info): (&mut [T], &mut [T::Real], &mut [i32]),
) {
    let n = of.rows;
    let parts = batch::parts_mut(bytemuck::cast_slice_mut::<T, U>(a), of.distance(), of.count);
    let values = bytemuck::cast_slice_mut::<T::Real, U>(w).chunks_mut(n.max(1));
    let items = parts.into_iter().zip(values).zip(info).map(|((a, w), info)| Item { a, w, info });
    let job = Eigen { n, ld: of.leading(), vectors, upper, rounds: Rounds::new(n) };
    each::<U, L, _>(&job, collected(items).or_unwind());
}

struct Item<'a, T> {
    a: &'a mut [T],
    w: &'a mut [T],
    info: &'a mut i32,
}

struct Eigen {
    n: usize,
    ld: usize,
    vectors: bool,
    upper: bool,
    rounds: Rounds,
}

/// Two pairs, and where their four elements go.
struct Block {
    pairs: (usize, usize),
    to: [usize; 4],
}

/// How the elements of a matrix lie, and where they go in a round.
struct Rounds {
    even: usize,
    half: usize,
    blocks: Vec<Block>,
}

impl Rounds {
    fn new(n: usize) -> Self {
        let even = n + n % 2;
        let half = even / 2;
        let mut rounds = Rounds { even, half, blocks: Vec::new() };
        let pairs = (0..half).flat_map(|p| (p + 1..half).map(move |r| (p, r)));
        let to = |(p, r): (usize, usize)| {
            [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(i, j)| rounds.at(rounds.moved(2 * p + i), rounds.moved(2 * r + j)))
        };
        rounds.blocks = collected(pairs.map(|pairs| Block { pairs, to: to(pairs) })).or_unwind();
        rounds
    }

    /// The place of a column in the first round.
    fn place(&self, column: usize) -> usize {
        match column {
            last if last + 1 == self.even => 0,
            0 => 1,
            column if column < self.half => 2 * column,
            column => 2 * (self.even - 1 - column) + 1,
        }
    }

    /// The place in the next round.
    fn moved(&self, at: usize) -> usize {
        match at {
            _ if self.half == 1 || at == 0 => at,
            last if last % 2 == 1 && last / 2 + 1 == self.half => last - 1,
            odd if odd % 2 == 1 => odd + 2,
            2 => 1,
            even => even - 2,
        }
    }

    /// Where the elements within pairs begin, and the diagonal.
    fn within(&self) -> usize {
        2 * self.half * (self.half - 1)
    }

    fn diagonal(&self) -> usize {
        self.within() + self.half
    }

    /// Elements of a triangle.
    fn stored(&self) -> usize {
        self.even * (self.even + 1) / 2
    }

    /// Where the element of two places is.
    fn at(&self, i: usize, j: usize) -> usize {
        let (low, high) = (i.min(j), i.max(j));
        let (p, r) = (low / 2, high / 2);
        match () {
            () if i == j => self.diagonal() + i,
            () if p == r => self.within() + p,
            () => 4 * (p * (2 * self.half - p - 1) / 2 + r - p - 1) + low % 2 * 2 + high % 2,
        }
    }
}

impl<T: Real> Beside<T> for Eigen {
    type Item<'a> = Item<'a, T>;

    fn elements(&self) -> usize {
        2 * self.rounds.stored() + if self.vectors { self.n * self.rounds.even } else { 0 }
    }

    fn work(&self) -> usize {
        self.n * self.n * self.n * if self.vectors { 20 } else { 10 }
    }

    #[inline(always)]
    fn compute<const L: usize>(&self, items: &mut [Item<'_, T>], room: &mut [Wide<T, L>]) {
        room.fill(Wide::zero());
        let (n, rounds, stored) = (self.n, &self.rounds, self.rounds.stored());
        let Some((mut x, rest)) = room.split_at_mut_checked(stored) else { return };
        let Some((mut next, v)) = rest.split_at_mut_checked(stored) else { return };
        v.iter_mut().step_by(n + 1).take(n).for_each(|x| *x = Wide::of(T::ONE));
        let mut bad = Wide::zero();
        for (l, item) in items.iter().enumerate() {
            // A NaN if one of the numbers is none, or an infinity.
            let mut broken = T::default();
            for j in 0..n {
                let (from, to) = if self.upper { (0, j + 1) } else { (j, n) };
                for (i, value) in column(item.a, j, self.ld).iter().enumerate().take(to).skip(from) {
                    broken = value.fused(T::default(), broken);
                    x.get_mut(rounds.at(rounds.place(i), rounds.place(j))).into_iter().for_each(|x| put(x, l, *value));
                }
            }
            put(&mut bad, l, if broken == T::default() { T::default() } else { T::ONE });
        }
        // No work for lanes without a matrix.
        (items.len()..L).for_each(|l| put(&mut bad, l, T::ONE));
        x.iter_mut().for_each(|x| *x = Wide::zero().or(*x, bad));
        let largest = x.iter().fold(Wide::zero(), |most: Wide<T, L>, x| most.most(*x));
        let (scale, inverse) = largest.powers();
        let limit = largest.times(inverse).times(Wide::of(T::EPSILON));
        x.iter_mut().for_each(|x| *x = x.times(inverse));

        let mut sweeps = 0;
        let done = loop {
            let off = x.iter().take(rounds.diagonal()).fold(Wide::zero(), |most: Wide<T, L>, x| most.most(*x));
            let waits = off.test(limit, |off, limit| off > limit);
            if sweeps == SWEEPS || !waits.any() {
                break waits.test(waits, |waits, _| waits == T::default());
            }
            sweeps += 1;
            for round in 0..rounds.even - 1 {
                let rotations = self.rotations(waits, x, next);
                for (block, from) in rounds.blocks.iter().zip(x.chunks_exact(4)) {
                    let (p, r) = block.pairs;
                    let (Some(p), Some(r), &[mut a, mut b, mut c, mut d]) = (rotations.get(p), rotations.get(r), from)
                    else {
                        break;
                    };
                    r.turn(&mut a, &mut b);
                    r.turn(&mut c, &mut d);
                    p.turn(&mut a, &mut c);
                    p.turn(&mut b, &mut d);
                    for (to, x) in block.to.iter().zip([a, b, c, d]) {
                        next.get_mut(*to).into_iter().for_each(|to| *to = x);
                    }
                }
                if self.vectors {
                    for (k, rotation) in rotations.iter().enumerate().take(rounds.half) {
                        let columns = two_columns(v, n, pair(k, round, rounds.even));
                        if let Some(columns) = columns {
                            rotation.turn_columns(columns);
                        }
                    }
                }
                std::mem::swap(&mut x, &mut next);
            }
        };
        for (l, item) in items.iter_mut().enumerate() {
            let of = |x: Wide<T, L>| x.0.get(l).copied().unwrap_or_default();
            let (bad, scale) = (of(bad) > T::default(), of(scale));
            *item.info = match (bad, of(done) > T::default()) {
                (true, _) => n as i32,
                (false, true) => 0,
                (false, false) => n as i32 + 1,
            };
            let mut values = [T::default(); MOST];
            for (i, value) in values.iter_mut().enumerate().take(n) {
                *value = lane(x.get(rounds.diagonal() + rounds.place(i)), l);
            }
            for (j, value) in values.iter().enumerate().take(n) {
                let before = |(i, other): (usize, &T)| other < value || (other == value && i < j);
                let rank = values.iter().enumerate().take(n).filter(|other| before(*other)).count();
                item.w.get_mut(rank).into_iter().for_each(|w| *w = written(*value * scale, bad));
                if self.vectors {
                    let from = v.iter().skip(j * n).take(n);
                    let to = item.a.get_mut(rank * self.ld..).unwrap_or_default();
                    to.iter_mut().zip(from).for_each(|(to, x)| *to = written(lane(Some(x), l), bad));
                }
            }
        }
    }
}

impl Eigen {
    /// The rotations of a round, and what they make of each pair.
    #[inline(always)]
    fn rotations<T: Real, const L: usize>(
        &self,
        waits: Wide<T, L>,
        x: &[Wide<T, L>],
        next: &mut [Wide<T, L>],
    ) -> [Rotation<T, L>; PAIRS] {
        let (rounds, mut all) = (&self.rounds, [Rotation::none(); PAIRS]);
        let (within, diagonal) = (rounds.within(), rounds.diagonal());
        for (k, rotation) in all.iter_mut().enumerate().take(rounds.half) {
            let (at, to) = ([2 * k, 2 * k + 1], [rounds.moved(2 * k), rounds.moved(2 * k + 1)]);
            let (Some(g), Some(one), Some(other)) =
                (x.get(within + k), x.get(diagonal + at[0]), x.get(diagonal + at[1]))
            else {
                break;
            };
            let on = g.test(waits, |g, waits| g != T::default() && waits > T::default());
            *rotation = Rotation::new(other.minus(*one), *g, on);
            let moved = [
                (diagonal + to[0], rotation.t.negative().fma(*g, *one)),
                (diagonal + to[1], rotation.t.fma(*g, *other)),
            ];
            for (to, x) in moved.into_iter().chain([(rounds.at(to[0], to[1]), Wide::zero())]) {
                next.get_mut(to).into_iter().for_each(|to| *to = x);
            }
        }
        all
    }
}
