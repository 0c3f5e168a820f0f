//! Systems of several matrices side by side: LU, Cholesky, triangles. The kernel `small_lu` does the same with each matrix.

use super::beside::{Beside, each};
use super::steps::{MOST, Panel};
use super::wide::{Real, Wide};
use super::{Memory, canonical, column, lu, memories, put};
use crate::core::element::DType;
use crate::core::room::{OrUnwind, collected};
use crate::libraries::solver::SolverElement;
use crate::libraries::solver::matrix::Matrix;
use crate::libraries::solver::small::systems as what;
use crate::libraries::solver::small::systems::System;
use crate::numerics::level3::batch;
use std::ops::Range;

/// What a job works on: A, its pivots, what is beside it, and an info for each matrix; the last three may be empty.
pub(crate) struct Systems<'a, T> {
    pub(crate) a: (&'a Matrix, Memory<'a, T>),
    pub(crate) pivots: Memory<'a, i64>,
    pub(crate) b: (&'a Matrix, &'a mut [T]),
    pub(crate) info: &'a mut [i32],
}

impl<'a, T> Systems<'a, T> {
    /// Without a B, and without pivots.
    pub(crate) fn alone((of, a): (&'a Matrix, &'a mut [T]), info: &'a mut [i32]) -> Self {
        Systems { a: (of, Memory::Write(a)), pivots: Memory::Read(&[]), b: (of, &mut []), info }
    }
}

/// The memory of one matrix, of its pivots, and of what is beside it.
pub(crate) struct Item<'a, T> {
    a: Memory<'a, T>,
    pivots: Memory<'a, i64>,
    b: &'a mut [T],
    info: Option<&'a mut i32>,
}

/// Does the job with each matrix of f32 or f64.
pub(crate) fn systems<T: SolverElement>(job: &System, of: Systems<'_, T>) {
    match T::DTYPE {
        DType::F32 => each::<f32, 8, _>(job, items(job, of)),
        DType::F64 => each::<f64, 4, _>(job, items(job, of)),
        _ => {}
    }
}

/// The matrices one by one; U is T.
fn items<'a, T: SolverElement, U: bytemuck::Pod>(job: &System, of: Systems<'a, T>) -> Vec<Item<'a, U>> {
    let ((of_a, a), (of_b, b)) = (of.a, of.b);
    let mut a = memories::<T, U>(a, of_a.distance(), of_a.count).into_iter();
    let mut pivots = memories::<i64, i64>(of.pivots, job.size(), of_a.count).into_iter();
    let mut b = batch::parts_mut(bytemuck::cast_slice_mut::<T, U>(b), of_b.distance(), of_a.count).into_iter();
    let mut info = of.info.iter_mut();
    let item = |_| Item {
        a: a.next().unwrap_or(Memory::Read(&[])),
        pivots: pivots.next().unwrap_or(Memory::Read(&[])),
        b: b.next().unwrap_or_default(),
        info: info.next(),
    };
    collected((0..of_a.count).map(item)).or_unwind()
}

impl<T: Real> Beside<T> for System {
    type Item<'a> = Item<'a, T>;

    fn elements(&self) -> usize {
        self.rows * (self.cols + self.right)
    }

    fn work(&self) -> usize {
        (self.rows * (self.cols + self.right)).saturating_mul(self.size())
    }

    #[inline(always)]
    fn compute<const L: usize>(&self, items: &mut [Item<'_, T>], room: &mut [Wide<T, L>]) {
        let job = self;
        let (m, n, size) = (job.rows, job.cols, job.size());
        let Some((a, b)) = room.split_at_mut_checked(m * n) else { return };
        if items.len() < L || job.is(what::LOWER | what::UPPER) {
            a.fill(Wide::zero());
        }
        if items.len() < L {
            b.fill(Wide::zero());
        }
        let (mut a, mut b) = (Panel { x: a, rows: m }, Panel { x: b, rows: m });
        let mut pivots = [[0; L]; MOST];
        for (l, item) in items.iter().enumerate() {
            for j in 0..n {
                let rows = rows_of(job, j);
                let from = column(item.a.read(), j, job.lda).get(rows.clone()).unwrap_or_default();
                places(job, a.x, j, rows).zip(from).for_each(|(to, x)| put(to, l, *x));
            }
        }
        if job.is(what::PIVOTS) && !job.is(what::LU) {
            for (k, pivots) in pivots.iter_mut().enumerate().take(size) {
                for (l, pivot) in pivots.iter_mut().enumerate() {
                    // What is no row swaps nothing.
                    let given = items.get(l).and_then(|item| item.pivots.read().get(k)).copied().unwrap_or_default();
                    *pivot = usize::try_from(given).ok().filter(|row| (1..=m).contains(row)).map_or(k, |row| row - 1);
                }
            }
        }
        let mut infos = [0; L];
        let mut lost = Wide::zero();
        if job.is(what::LU | what::CHOLESKY) {
            // Above zero in the lanes of matrices that hold a NaN or an infinity.
            let broken = a.x.iter().fold(Wide::zero(), |sum, x| x.fma(Wide::zero(), sum));
            #[expect(clippy::eq_op, reason = "a NaN alone is not itself")]
            let broken = broken.map(|x| if x == x { T::default() } else { T::ONE });
            lost = broken;
            a.x.iter_mut().for_each(|x| *x = Wide::zero().or(*x, broken));
            infos = if job.is(what::LU) { lu::factor(&mut a, &mut pivots) } else { cholesky(&mut a) };
            for (info, lost) in infos.iter_mut().zip(lost.0) {
                *info = if lost > T::default() { 1 } else { *info };
            }
        }
        if job.is(what::CHECK) {
            for k in (0..size).rev() {
                let diagonal = a.x.get(k * m + k).copied().unwrap_or(Wide::zero());
                infos
                    .iter_mut()
                    .zip(diagonal.0)
                    .filter(|(_, x)| *x == T::default())
                    .for_each(|(i, _)| *i = k as i32 + 1);
            }
        }
        solve(job, &a, &pivots, &mut b, items);
        if job.is(what::KEEP) {
            a.x.iter_mut().for_each(|x| *x = Wide::of(T::NAN).or(x.map(canonical), lost));
            for (l, item) in items.iter_mut().enumerate() {
                let stays = infos.get(l) != Some(&0) && !job.is(what::LU) && lost.0.get(l) == Some(&T::default());
                if !stays {
                    write(job, &mut a, l, (item.a.write(), job.lda, n), Of::A);
                }
            }
        }
        for (l, item) in items.iter_mut().enumerate() {
            let info = infos.get(l).copied().unwrap_or_default();
            if job.is(what::PIVOTS) && job.is(what::LU) {
                let own = pivots.iter().filter_map(|all| all.get(l));
                item.pivots.write().iter_mut().zip(own).take(size).for_each(|(to, row)| *to = *row as i64 + 1);
            }
            if info != 0 && job.is(what::CLEAR) {
                b.x.iter_mut().for_each(|x| put(x, l, T::NAN));
            }
            if info == 0 || job.is(what::CLEAR) {
                if job.is(what::IN_PLACE) {
                    write(job, &mut b, l, (item.a.write(), job.lda, n), Of::Inverse);
                } else {
                    write(job, &mut b, l, (&mut *item.b, job.ldb, job.right), Of::B);
                }
            }
            item.info.as_deref_mut().into_iter().for_each(|to| *to = info);
        }
    }
}

/// The rows of a column of A that are read, and written.
#[inline(always)]
fn rows_of(job: &System, j: usize) -> Range<usize> {
    let strict = usize::from(job.is(what::STRICT));
    match (job.is(what::LOWER), job.is(what::UPPER)) {
        (true, _) => (j + strict).min(job.rows)..job.rows,
        (_, true) => 0..(j + 1 - strict).min(job.rows),
        _ => 0..job.rows,
    }
}

/// The places of a part of a column of A: an upper triangle is a lower one here, that of the transpose.
#[inline(always)]
fn places<'p, T: Real, const L: usize>(
    job: &System,
    x: &'p mut [Wide<T, L>],
    j: usize,
    rows: Range<usize>,
) -> impl Iterator<Item = &'p mut Wide<T, L>> {
    let (first, step) =
        if job.is(what::UPPER) { (rows.start * job.rows + j, job.rows) } else { (j * job.rows + rows.start, 1) };
    x.get_mut(first..).unwrap_or_default().iter_mut().step_by(step.max(1)).take(rows.len())
}

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    A,
    B,
    /// B, where A is.
    Inverse,
}

/// Writes the numbers of a lane to a matrix.
#[inline(always)]
fn write<T: Real, const L: usize>(
    job: &System,
    from: &mut Panel<'_, T, L>,
    l: usize,
    (to, ld, cols): (&mut [T], usize, usize),
    of: Of,
) {
    for (j, to) in to.chunks_mut(ld.max(1)).enumerate().take(cols) {
        let rows = if of == Of::B { 0..job.rows } else { rows_of(job, j) };
        let to = to.get_mut(rows.clone()).unwrap_or_default().iter_mut();
        if of == Of::A {
            let lane = places(job, from.x, j, rows).filter_map(|x| x.0.get(l));
            to.zip(lane).for_each(|(to, x)| *to = canonical(*x));
        } else {
            let lane = from.column(j).iter().skip(rows.start).filter_map(|x| x.0.get(l));
            to.zip(lane).for_each(|(to, x)| *to = canonical(*x));
        }
    }
}

/// B, or the identity, and what becomes of it.
#[inline(always)]
fn solve<T: Real, const L: usize>(
    job: &System,
    a: &Panel<'_, T, L>,
    pivots: &[[usize; L]; MOST],
    b: &mut Panel<'_, T, L>,
    items: &[Item<'_, T>],
) {
    let size = job.size();
    for (j, to) in b.columns().enumerate() {
        if job.is(what::IDENTITY) {
            to.iter_mut().zip(0..).for_each(|(to, i)| *to = Wide::of(if i == j { T::ONE } else { T::default() }));
        } else {
            for (l, item) in items.iter().enumerate() {
                to.iter_mut().zip(column(item.b, j, job.ldb)).for_each(|(to, x)| put(to, l, *x));
            }
        }
        // Otherwise there are no pivots.
        let permutes = job.is(what::LU | what::PIVOTS);
        if permutes && !job.is(what::BACK) {
            pivots.iter().enumerate().take(size).for_each(|(k, pivots)| lu::swap(to, k, pivots));
        }
        let mut stages = job.what >> what::STAGES;
        while stages & what::STAGE != 0 {
            triangle(job, stages, a, to);
            stages >>= what::STAGE_BITS;
        }
        if permutes && job.is(what::BACK) {
            pivots.iter().enumerate().take(size).rev().for_each(|(k, pivots)| lu::swap(to, k, pivots));
        }
    }
}

/// Solves with one triangle.
#[inline(always)]
fn triangle<T: Real, const L: usize>(job: &System, stage: u64, a: &Panel<'_, T, L>, y: &mut [Wide<T, L>]) {
    let (rows, unit) = (a.rows, stage & what::UNIT != 0);
    // Of A as it lies here.
    let turned = job.is(what::UPPER);
    let (upper, transposed) = ((stage & what::IS_UPPER != 0) != turned, (stage & what::TRANSPOSED != 0) != turned);
    let forward = upper == transposed;
    for step in 0..rows {
        let k = if forward { step } else { rows - 1 - step };
        let Some((above, rest)) = y.split_at_mut_checked(k) else { return };
        let Some((head, below)) = rest.split_first_mut() else { return };
        let Some(diagonal) = a.x.get(k * rows + k) else { return };
        if !unit {
            *head = head.over(*diagonal);
        }
        let (first, others) = if forward { (k + 1, below) } else { (0, above) };
        if transposed {
            let own = a.x.get(first * rows + k..).unwrap_or_default().iter().step_by(rows.max(1));
            for (y, l) in others.iter_mut().zip(own) {
                *y = l.negative().fma(*head, *y);
            }
        } else {
            let own = a.column(k).get(first..).unwrap_or_default();
            for (y, l) in others.iter_mut().zip(own) {
                *y = l.negative().fma(*head, *y);
            }
        }
    }
}

/// The lower factor in place of A. Returns the order of the first leading minor of each matrix that is not positive, or 0.
#[inline(always)]
fn cholesky<T: Real, const L: usize>(a: &mut Panel<'_, T, L>) -> [i32; L] {
    let (rows, mut infos) = (a.rows, [0; L]);
    for k in 0..rows {
        let Some((_, rest)) = a.x.split_at_mut_checked(k * rows) else { break };
        let Some((own, others)) = rest.split_at_mut_checked(rows) else { break };
        let Some((pivot, below)) = own.get_mut(k..).and_then(|c| c.split_first_mut()) else { break };
        for (info, pivot) in infos.iter_mut().zip(pivot.0) {
            let positive = pivot > T::default();
            *info = if *info == 0 && !positive { k as i32 + 1 } else { *info };
        }
        *pivot = pivot.map(T::root);
        let root = *pivot;
        below.iter_mut().for_each(|x| *x = x.over(root));
        for (j, column) in others.chunks_exact_mut(rows).enumerate() {
            let (Some(own), Some(tail)) = (below.get(j..), column.get_mut(k + 1 + j..)) else { break };
            let Some(head) = own.first().copied() else { break };
            for (y, l) in tail.iter_mut().zip(own) {
                *y = l.negative().fma(head, *y);
            }
        }
    }
    infos
}
