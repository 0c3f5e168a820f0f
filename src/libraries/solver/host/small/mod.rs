//! QR of matrices of at most 64 rows and columns, and what is made of the factors, on several matrices side by side: a lane of a
//! vector for each. What one matrix gets does not depend on those beside it, nor on how many there are, nor on the machine.
//!
//! | file | content |
//! |---|---|
//! | `beside` | the loop over groups of matrices |
//! | `wide` | numbers of several matrices, their arithmetic |
//! | `steps`, `lu` | the steps of QR, of LU |
//! | `systems` | LU, Cholesky, triangles, and what is solved with them |
//! | `spectra` | eigenvalues and singular values |

mod beside;
mod lu;
mod spectra;
mod steps;
mod systems;
mod wide;

pub(crate) use spectra::{small_eigh, small_svd};

use super::super::matrix::Matrix;
use super::super::small::{Job, Task};
use crate::core::element::DType;
use crate::core::room::{OrUnwind, collected};
use crate::libraries::solver::SolverElement;
use crate::numerics::level3::batch;
pub(crate) use systems::{Systems, systems};

use beside::{Beside, each};
use steps::{Column, MOST, Panel};
use wide::{Real, Wide};

/// What an operation only reads, or also writes.
#[derive(Debug)]
pub(crate) enum Memory<'a, T> {
    Read(&'a [T]),
    Write(&'a mut [T]),
}

impl<T> Memory<'_, T> {
    fn read(&self) -> &[T] {
        match self {
            Memory::Read(x) => x,
            Memory::Write(x) => x,
        }
    }

    fn write(&mut self) -> &mut [T] {
        match self {
            Memory::Read(_) => &mut [],
            Memory::Write(x) => x,
        }
    }
}

/// What an operation works on: A, its tau, what is beside it, and an info for each matrix; the last three may be empty.
pub(crate) struct Operands<'a, T> {
    pub(crate) a: (&'a Matrix, Memory<'a, T>),
    pub(crate) tau: Memory<'a, T>,
    pub(crate) b: (&'a Matrix, &'a mut [T]),
    pub(crate) info: &'a mut [i32],
}

/// The memory of one matrix, of its tau, and of what is beside it.
pub(crate) struct Item<'a, T> {
    a: Memory<'a, T>,
    tau: Memory<'a, T>,
    b: &'a mut [T],
    info: Option<&'a mut i32>,
}

/// Does the job with each matrix of f32 or f64.
pub(crate) fn small<T: SolverElement>(job: &Job, of: Operands<'_, T>) {
    match T::DTYPE {
        DType::F32 => each::<f32, 8, _>(job, items(job, of)),
        DType::F64 => each::<f64, 4, _>(job, items(job, of)),
        _ => {}
    }
}

/// The matrices one by one; U is T.
fn items<'a, T: SolverElement, U: bytemuck::Pod>(job: &Job, of: Operands<'a, T>) -> Vec<Item<'a, U>> {
    let ((of_a, a), (of_b, b)) = (of.a, of.b);
    let mut a = memories::<T, U>(a, of_a.distance(), of_a.count).into_iter();
    let mut tau = memories::<T, U>(of.tau, job.step_tau, of_a.count).into_iter();
    let mut b = batch::parts_mut(bytemuck::cast_slice_mut::<T, U>(b), of_b.distance(), of_b.count).into_iter();
    let mut info = of.info.iter_mut();
    let item = |_| Item {
        a: a.next().unwrap_or(Memory::Read(&[])),
        tau: tau.next().unwrap_or(Memory::Read(&[])),
        b: b.next().unwrap_or_default(),
        info: info.next(),
    };
    collected((0..of_a.count).map(item)).or_unwind()
}

fn memories<'a, T: bytemuck::Pod, U: bytemuck::Pod>(x: Memory<'a, T>, step: usize, count: usize) -> Vec<Memory<'a, U>> {
    match x {
        Memory::Read(x) => collected(batch::parts(bytemuck::cast_slice::<T, U>(x), step, count).map(Memory::Read)),
        Memory::Write(x) => {
            let parts = batch::parts_mut(bytemuck::cast_slice_mut::<T, U>(x), step, count);
            collected(parts.into_iter().map(Memory::Write))
        }
    }
    .or_unwind()
}

impl<T: Real> Beside<T> for Job {
    type Item<'a> = Item<'a, T>;

    fn elements(&self) -> usize {
        Job::elements(self)
    }

    fn work(&self) -> usize {
        Job::work(self)
    }

    #[inline(always)]
    fn compute<const L: usize>(&self, items: &mut [Item<'_, T>], room: &mut [Wide<T, L>]) {
        let job = self;
        let ((m, n), wide, size) = (job.factored(), job.is_wide(), job.reflectors);
        let Some((a, b)) = room.split_at_mut_checked(m * n) else { return };
        let mut tau: Column<T, L> = [Wide::zero(); MOST];
        let Some(tau) = tau.get_mut(..size) else { return };
        if items.len() < L {
            a.fill(Wide::zero());
            b.fill(Wide::zero());
        }
        let (mut a, mut b) = (Panel { x: a, rows: m }, Panel { x: b, rows: m });
        for (l, item) in items.iter().enumerate() {
            for j in 0..job.cols {
                let from = column(item.a.read(), j, job.lda).iter().take(job.rows);
                if wide {
                    let to = a.x.iter_mut().skip(j).step_by(m);
                    to.zip(from).for_each(|(to, x)| put(to, l, *x));
                } else {
                    let to = a.x.get_mut(j * m..).unwrap_or_default();
                    to.iter_mut().zip(from).for_each(|(to, x)| put(to, l, *x));
                }
            }
        }
        match job.task {
            Task::Factor | Task::Least => {
                // A NaN in the lanes of matrices that hold a NaN or an infinity.
                let broken = a.x.iter().fold(Wide::zero(), |sum, x| x.fma(Wide::zero(), sum));
                #[expect(clippy::eq_op, reason = "a NaN alone is not itself")]
                let broken = broken.map(|x| if x == x { T::default() } else { T::ONE });
                a.x.iter_mut().for_each(|x| *x = Wide::zero().or(*x, broken));
                steps::factor(&mut a, tau);
                let all = a.x.iter_mut().chain(tau.iter_mut());
                all.for_each(|x| *x = Wide::of(T::NAN).or(*x, broken));
            }
            _ => {
                for (l, item) in items.iter().enumerate() {
                    tau.iter_mut().zip(item.tau.read()).for_each(|(to, x)| put(to, l, *x));
                }
            }
        }
        if job.task == Task::Factor {
            scatter(&mut a, items.iter_mut().map(|item| item.a.write()), (job.lda, n));
            scatter(&mut Panel { x: tau, rows: size }, items.iter_mut().map(|item| item.tau.write()), (size, 1));
            return;
        }
        for (j, to) in b.columns().enumerate() {
            if job.task == Task::Generate {
                to.iter_mut().zip(0..).for_each(|(to, i)| *to = Wide::of(if i == j { T::ONE } else { T::default() }));
            } else {
                for (l, item) in items.iter().enumerate() {
                    to.iter_mut().zip(column(item.b, j, job.ldb)).for_each(|(to, x)| put(to, l, *x));
                }
            }
        }
        let mut infos = [0; L];
        match job.task {
            Task::Factor => {}
            Task::Generate => steps::multiply(&a, tau, false, &mut b),
            Task::Multiply { adjoint } => steps::multiply(&a, tau, adjoint, &mut b),
            Task::Solve | Task::Least => {
                infos = steps::dependent(&a, size, m);
                if wide {
                    steps::solve_lower(&a, size, &mut b);
                    steps::multiply(&a, tau, false, &mut b);
                } else {
                    steps::multiply(&a, tau, true, &mut b);
                    steps::solve_upper(&a, size, &mut b);
                }
            }
        }
        let solved = items.iter_mut().zip(infos);
        scatter(
            &mut b,
            solved.map(|(item, info)| if info == 0 { &mut *item.b } else { &mut [] }),
            (job.ldb, job.right),
        );
        if job.task == Task::Least && !wide {
            scatter(&mut a, items.iter_mut().map(|item| item.a.write()), (job.lda, n));
        }
        for (item, found) in items.iter_mut().zip(infos) {
            item.info.as_deref_mut().into_iter().for_each(|info| *info = found);
        }
    }
}

/// From a column on.
#[inline(always)]
fn column<T>(x: &[T], j: usize, ld: usize) -> &[T] {
    x.get(j * ld..).unwrap_or_default()
}

/// Sets the number of a lane.
#[inline(always)]
fn put<T, const L: usize>(to: &mut Wide<T, L>, l: usize, x: T) {
    if let Some(to) = to.0.get_mut(l) {
        *to = x;
    }
}

/// The number, or, of the many NaN there are, one.
#[inline(always)]
#[expect(clippy::eq_op, reason = "a NaN alone is not itself")]
fn canonical<T: Real>(x: T) -> T {
    if x == x { x } else { T::NAN }
}

/// Writes the first columns of each matrix; of the many NaN there are, one.
#[inline(always)]
fn scatter<'t, T: Real, const L: usize>(
    from: &mut Panel<'_, T, L>,
    to: impl Iterator<Item = &'t mut [T]>,
    (ld, cols): (usize, usize),
) {
    from.x.iter_mut().for_each(|x| *x = x.map(canonical));
    for (l, to) in to.enumerate() {
        for (from, to) in from.columns().take(cols).zip(to.chunks_mut(ld.max(1))) {
            let lane = from.iter().filter_map(|x| x.0.get(l));
            to.iter_mut().zip(lane).for_each(|(to, x)| *to = *x);
        }
    }
}
