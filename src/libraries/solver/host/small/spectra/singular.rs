//! One-sided rotations: columns become orthogonal, their norms are the singular values. Of a wide matrix the adjoint is decomposed.
//!
//! A column whose norm is below about the square root of the smallest number, relative to the largest element, is left as it is: what
//! rounding leaves of a column that depends on others becomes smaller in each sweep. Its vector is made of what the others leave.

use super::super::beside::{Beside, each};
use super::super::wide::{Real, Wide};
use super::super::{column, put};
use super::missing::complete;
use super::rotation::{Rotation, SWEEPS, pair, two_columns};
use super::{lane, written};
use crate::core::element::DType;
use crate::core::room::{OrUnwind, collected};
use crate::libraries::solver::SolverElement;
use crate::libraries::solver::matrix::Matrix;
use crate::numerics::level3::batch;

/// The most columns.
pub(super) const MOST: usize = 32;

/// Singular values, descending, of each A of f32 or f64, and U and `V^T` if they are given; U or `V^T` may be square.
pub(crate) fn small_svd<T: SolverElement>(
    (of, a): (&Matrix, &[T]),
    (s, info): (&mut [T::Real], &mut [i32]),
    vectors: Option<[(&Matrix, &mut [T]); 2]>,
) {
    match T::DTYPE {
        DType::F32 => all::<T, f32, 16>((of, a), (s, info), vectors),
        DType::F64 => all::<T, f64, 8>((of, a), (s, info), vectors),
        _ => {}
    }
}

/// U is T.
fn all<T: SolverElement, U: Real + bytemuck::Pod, const L: usize>(
    (of, a): (&Matrix, &[T]),
    (s, info): (&mut [T::Real], &mut [i32]),
    vectors: Option<[(&Matrix, &mut [T]); 2]>,
) {
    let (wide, (m, n)) = (of.rows < of.cols, (of.rows.max(of.cols), of.rows.min(of.cols)));
    let wanted = vectors.as_ref().map_or(0, |[(u, _), (vh, _)]| if wide { vh.rows } else { u.cols });
    let ld = vectors.as_ref().map_or([0; 2], |[(u, _), (vh, _)]| [u.leading(), vh.leading()]);
    let job = Singular { m, n, wide, wanted, cols: of.cols, lda: of.leading(), ld };
    let parts = |(of, x)| batch::parts_mut(bytemuck::cast_slice_mut::<T, U>(x), Matrix::distance(of), of.count);
    let [u, vh] = vectors.map_or([Vec::new(), Vec::new()], |vectors| vectors.map(parts));
    let (mut u, mut vh) = (u.into_iter(), vh.into_iter());
    let parts = batch::parts(bytemuck::cast_slice::<T, U>(a), of.distance(), of.count);
    let values = bytemuck::cast_slice_mut::<T::Real, U>(s).chunks_mut(n.max(1));
    let items = parts.zip(values).zip(info).map(|((a, s), info)| Item {
        a,
        s,
        vectors: [u.next().unwrap_or_default(), vh.next().unwrap_or_default()],
        info,
    });
    each::<U, L, _>(&job, collected(items).or_unwind());
}

struct Item<'a, T> {
    a: &'a [T],
    s: &'a mut [T],
    vectors: [&'a mut [T]; 2],
    info: &'a mut i32,
}

struct Singular {
    /// Of what is decomposed.
    m: usize,
    n: usize,
    wide: bool,
    /// Columns of its left vectors; none if there are no vectors.
    wanted: usize,
    /// Of A.
    cols: usize,
    lda: usize,
    ld: [usize; 2],
}

impl Singular {
    fn even(&self) -> usize {
        self.n + self.n % 2
    }

    /// Columns that are kept, those to come among them.
    fn kept(&self) -> usize {
        self.wanted.max(self.even())
    }

    /// One sweep. Returns one for each matrix that it rotated.
    #[inline(always)]
    fn sweep<T: Real, const L: usize>(
        &self,
        waits: Wide<T, L>,
        x: &mut [Wide<T, L>],
        v: &mut [Wide<T, L>],
    ) -> Wide<T, L> {
        let (m, even, mut turned) = (self.m, self.even(), Wide::zero());
        let (limit, least) = (Wide::of(T::of_count(m.max(4)).root() * T::EPSILON), Wide::of(T::LEAST));
        for round in 0..even - 1 {
            for (p, q) in (0..even / 2).map(|k| pair(k, round, even)) {
                let Some((x, y)) = two_columns(x, m, (p, q)) else { return turned };
                let (one, other, g) = products(x, y);
                let bound = limit.times(one.map(T::root).times(other.map(T::root)));
                let on = g.map(T::size).test(bound, |g, bound| g > bound).or(Wide::zero(), waits);
                let on = on.or(Wide::zero(), one.test(least, |one, least| one >= least));
                let on = on.or(Wide::zero(), other.test(least, |other, least| other >= least));
                if !on.any() {
                    continue;
                }
                turned = turned.most(on);
                let rotation = Rotation::new(other.minus(one), g, on);
                rotation.turn_columns((x, y));
                if self.wanted > 0 {
                    let columns = two_columns(v, self.n, (p, q));
                    if let Some(columns) = columns {
                        rotation.turn_columns(columns);
                    }
                }
            }
        }
        turned
    }
}

/// The sums with one more row.
#[inline(always)]
fn add<T: Real, const L: usize>([one, other, g]: [Wide<T, L>; 3], x: &Wide<T, L>, y: &Wide<T, L>) -> [Wide<T, L>; 3] {
    [x.fma(*x, one), y.fma(*y, other), x.fma(*y, g)]
}

/// Sums of squares of two columns, and their inner product: those of the even rows, and those of the odd ones.
#[inline(always)]
fn products<T: Real, const L: usize>(x: &[Wide<T, L>], y: &[Wide<T, L>]) -> (Wide<T, L>, Wide<T, L>, Wide<T, L>) {
    let mut sums = [[Wide::zero(); 3]; 2];
    let (pairs, others) = (x.chunks_exact(2), y.chunks_exact(2));
    let last = pairs.remainder().first().zip(others.remainder().first());
    for (x, y) in pairs.zip(others) {
        if let ([x0, x1], [y0, y1]) = (x, y) {
            sums = [add(sums[0], x0, y0), add(sums[1], x1, y1)];
        }
    }
    if let Some((x, y)) = last {
        sums[0] = add(sums[0], x, y);
    }
    let [[a, b, c], [d, e, f]] = sums;
    (a.plus(d), b.plus(e), c.plus(f))
}

impl<T: Real> Beside<T> for Singular {
    type Item<'a> = Item<'a, T>;

    fn elements(&self) -> usize {
        self.kept() * self.m + if self.wanted > 0 { self.even() * self.n } else { 0 }
    }

    fn work(&self) -> usize {
        self.n * self.n * (self.m + if self.wanted > 0 { self.n } else { 0 }) * 20
    }

    #[inline(always)]
    fn compute<const L: usize>(&self, items: &mut [Item<'_, T>], room: &mut [Wide<T, L>]) {
        room.fill(Wide::zero());
        let (m, n, wanted) = (self.m, self.n, self.wanted);
        let Some((x, v)) = room.split_at_mut_checked(self.kept() * m) else { return };
        v.iter_mut().step_by(n + 1).take(n).for_each(|x| *x = Wide::of(T::ONE));
        let (mut bad, rows) = (Wide::zero(), if self.wide { n } else { m });
        for (l, item) in items.iter().enumerate() {
            let mut broken = T::default();
            for j in 0..self.cols {
                for (i, value) in column(item.a, j, self.lda).iter().enumerate().take(rows) {
                    broken = value.fused(T::default(), broken);
                    let at = if self.wide { i * m + j } else { j * m + i };
                    x.get_mut(at).into_iter().for_each(|x| put(x, l, *value));
                }
            }
            put(&mut bad, l, if broken == T::default() { T::default() } else { T::ONE });
        }
        // No work for lanes without a matrix.
        (items.len()..L).for_each(|l| put(&mut bad, l, T::ONE));
        x.iter_mut().for_each(|x| *x = Wide::zero().or(*x, bad));
        let largest = x.iter().fold(Wide::zero(), |most: Wide<T, L>, x| most.most(*x));
        let (scale, inverse) = largest.powers();
        x.iter_mut().for_each(|x| *x = x.times(inverse));

        let mut waits = Wide::of(T::ONE);
        for _ in 0..SWEEPS {
            waits = self.sweep(waits, x, v);
            if !waits.any() {
                break;
            }
        }
        let (mut norms, mut missing) = ([Wide::zero(); MOST], [Wide::zero(); MOST]);
        if wanted > 0 {
            missing.fill(Wide::of(T::ONE));
        }
        for ((column, norm), missing) in x.chunks_exact_mut(m).zip(&mut norms).zip(&mut missing).take(n) {
            let (power, by) = column.iter().fold(Wide::zero(), |most: Wide<T, L>, x| most.most(*x)).powers();
            let mut squares = Wide::zero();
            for value in column.iter().map(|x| x.times(by)) {
                squares = value.fma(value, squares);
            }
            let root = squares.map(T::root);
            *norm = root.times(power);
            let least = Wide::of(T::LEAST * T::of_count(4));
            let strong = norm.times(*norm).test(least, |squares, least| squares >= least);
            if wanted > 0 {
                *missing = Wide::zero().or(Wide::of(T::ONE), strong);
                column.iter_mut().for_each(|x| *x = x.times(by).over(root).or(Wide::zero(), strong));
            }
        }
        if wanted > 0 {
            missing.iter_mut().for_each(|x| *x = Wide::zero().or(*x, bad));
            complete(x, m, missing.get(..wanted).unwrap_or_default());
        }
        for (l, item) in items.iter_mut().enumerate() {
            let of = |x: Wide<T, L>| x.0.get(l).copied().unwrap_or_default();
            let (bad, scale) = (of(bad) > T::default(), of(scale));
            *item.info = match (bad, of(waits) > T::default()) {
                (true, _) => n as i32,
                (false, false) => 0,
                (false, true) => n as i32 + 1,
            };
            let mut ranks: [usize; MOST] = std::array::from_fn(|j| j);
            let norms = norms.map(of);
            for (j, (rank, norm)) in ranks.iter_mut().zip(&norms).enumerate().take(n) {
                let before = |(i, other): (usize, &T)| other > norm || (other == norm && i < j);
                *rank = norms.iter().enumerate().take(n).filter(|other| before(*other)).count();
                item.s.get_mut(*rank).into_iter().for_each(|s| *s = written(*norm * scale, bad));
            }
            let [u, vh] = &mut item.vectors;
            let (u, vh) = ((&mut **u, (self.ld[0], 1)), (&mut **vh, (1, self.ld[1])));
            let (left, right) = if self.wide { (vh, u) } else { (u, vh) };
            let own = if wanted > 0 { n } else { 0 };
            write(x.chunks_exact(m).take(wanted), &ranks, left, (l, bad));
            write(v.chunks_exact(n).take(own), &ranks, right, (l, bad));
        }
    }
}

/// Writes the columns of one matrix to their ranks: elements from a rank to the next one, and from a row.
#[inline(always)]
fn write<'x, T: Real, const L: usize>(
    columns: impl Iterator<Item = &'x [Wide<T, L>]>,
    ranks: &[usize; MOST],
    (to, (step, down)): (&mut [T], (usize, usize)),
    (l, bad): (usize, bool),
) {
    for (column, rank) in columns.zip(ranks) {
        for (i, x) in column.iter().enumerate() {
            to.get_mut(rank * step + i * down).into_iter().for_each(|to| *to = written(lane(Some(x), l), bad));
        }
    }
}
