//! The three directions.

use super::super::problem::Problem;
use super::columns::Panel;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use gemm::Parallelism;
use rayon::prelude::*;
use std::ops::{Add, Range};

/// The types in which the host computes.
pub(super) trait Real: Element + Default + PartialOrd + Add<Output = Self> + Send + Sync {
    const ONE: Self;
}
impl Real for f32 {
    const ONE: Self = 1.0;
}
impl Real for f64 {
    const ONE: Self = 1.0;
}

/// A matrix in a slice: its first element, and the distances of rows and of columns.
#[derive(Clone, Copy)]
struct Matrix {
    first: usize,
    down: usize,
    right: usize,
}

impl Matrix {
    fn lies_in(self, (rows, columns): (usize, usize), len: usize) -> bool {
        let last = |n: usize, step: usize| n.checked_sub(1).and_then(|n| n.checked_mul(step));
        let reach = last(rows, self.down).zip(last(columns, self.right));
        let end = reach.and_then(|(down, right)| self.first.checked_add(down)?.checked_add(right));
        end.is_some_and(|end| end < len)
    }
}

/// `C = A * B`, or `C += A * B`; the sizes are `m`, `n`, `k`.
fn product<A: Real>(
    (m, n, k): (usize, usize, usize),
    (c, of_c): (&mut [A], Matrix),
    (a, of_a): (&[A], Matrix),
    (b, of_b): (&[A], Matrix),
    adds: bool,
    parallel: bool,
) -> Result<()> {
    let fit = of_c.lies_in((m, n), c.len()) && of_a.lies_in((m, k), a.len()) && of_b.lies_in((k, n), b.len());
    if !fit {
        return Err(Error::library("internal error: a panel does not fit"));
    }
    let parallelism = if parallel { Parallelism::Rayon(0) } else { Parallelism::None };
    let step = |n: usize| n as isize;
    // SAFETY: every element that these shapes and strides reach lies in its slice (above); `c` is borrowed mutably; `gemm::gemm` has
    // kernels for f32 and f64.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr().add(of_c.first),
            step(of_c.right),
            step(of_c.down),
            adds,
            a.as_ptr().add(of_a.first),
            step(of_a.right),
            step(of_a.down),
            b.as_ptr().add(of_b.first),
            step(of_b.right),
            step(of_b.down),
            A::ONE,
            A::ONE,
            false,
            false,
            false,
            parallelism,
        );
    }
    Ok(())
}

/// Elements of a panel: as many as a cache holds.
const PANEL: usize = 1 << 17;

impl Problem {
    /// The places of the result, in parts whose panels have about [`PANEL`] elements.
    fn parts(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let places: usize = self.output.iter().product();
        let size = (PANEL / Panel::rows(self).max(1)).max(64);
        (0..places).step_by(size).map(move |from| from..(from + size).min(places))
    }

    /// Elements of an image of the input, and of the result.
    fn images(&self) -> (usize, usize) {
        (self.count(self.x()) / self.batch.max(1), self.count(self.y()) / self.batch.max(1))
    }

    /// The filters of a group: filters times rows of the panel.
    fn filter_matrix(&self, group: usize) -> Matrix {
        let rows = Panel::rows(self);
        Matrix { first: group * self.of_group() * rows, down: rows, right: 1 }
    }

    fn of_group(&self) -> usize {
        self.filters / self.groups.max(1)
    }

    /// The result of a group in an image: filters times places, from a place on.
    fn result_matrix(&self, group: usize, place: usize) -> Matrix {
        let ([_, down], [_, _, right]) = self.strides(self.y());
        Matrix { first: group * self.of_group() * down + place * right, down, right }
    }

    fn panel(&self, group: usize, places: Range<usize>, parallel: bool) -> Panel<'_> {
        Panel { problem: self, channel: group * self.each(), places, parallel }
    }

    /// The window has one element and does not skip: the input itself is the panel.
    fn is_plain(&self) -> bool {
        let ones = |of: [usize; 3]| of == [1; 3];
        ones(self.kernel) && ones(self.stride) && self.before == [0; 3] && self.after == [0; 3]
    }

    /// The input as the panel of a group: channels times places.
    fn plain_matrix(&self, group: usize, place: usize) -> Matrix {
        let ([_, down], [_, _, right]) = self.strides(self.x());
        Matrix { first: group * self.each() * down + place * right, down, right }
    }
}

/// Images are distributed over threads if there are enough of them; else the products are.
fn over_images(count: usize) -> bool {
    count >= rayon::current_num_threads()
}

fn panel_matrix(places: &Range<usize>) -> Matrix {
    Matrix { first: 0, down: places.len(), right: 1 }
}

pub(super) fn forward<A: Real>(problem: &Problem, x: &[A], w: &[A], y: &mut [A]) -> Result<()> {
    let (of_x, of_y) = problem.images();
    let rows = Panel::rows(problem);
    let image = |(x, y): (&[A], &mut [A]), parallel: bool| -> Result<()> {
        let mut panel = Vec::new();
        for group in 0..problem.groups {
            let filters = (w, problem.filter_matrix(group));
            for places in problem.parts() {
                let sizes = (problem.of_group(), places.len(), rows);
                let result = problem.result_matrix(group, places.start);
                if problem.is_plain() {
                    let plain = (x, problem.plain_matrix(group, places.start));
                    product(sizes, (&mut *y, result), filters, plain, false, parallel)?;
                    continue;
                }
                problem.panel(group, places.clone(), parallel).gather(x, &mut panel)?;
                product(sizes, (&mut *y, result), filters, (&panel, panel_matrix(&places)), false, parallel)?;
            }
        }
        Ok(())
    };
    match over_images(problem.batch) {
        true => x.par_chunks(of_x.max(1)).zip(y.par_chunks_mut(of_y.max(1))).try_for_each(|both| image(both, false)),
        false => x.chunks(of_x.max(1)).zip(y.chunks_mut(of_y.max(1))).try_for_each(|both| image(both, true)),
    }
}

pub(super) fn data<A: Real>(problem: &Problem, dy: &[A], w: &[A], dx: &mut [A]) -> Result<()> {
    let (of_x, of_y) = problem.images();
    let rows = Panel::rows(problem);
    let image = |(dy, dx): (&[A], &mut [A]), parallel: bool| -> Result<()> {
        let mut panel = Vec::new();
        for group in 0..problem.groups {
            let Matrix { first, down, right } = problem.filter_matrix(group);
            let filters = (w, Matrix { first, down: right, right: down });
            for places in problem.parts() {
                let sizes = (rows, places.len(), problem.of_group());
                let result = (dy, problem.result_matrix(group, places.start));
                if problem.is_plain() {
                    let plain = problem.plain_matrix(group, places.start);
                    product(sizes, (&mut *dx, plain), filters, result, false, parallel)?;
                    continue;
                }
                crate::core::room::grown(&mut panel, rows * places.len(), A::default())?;
                panel.truncate(rows * places.len());
                product(sizes, (&mut panel, panel_matrix(&places)), filters, result, false, parallel)?;
                problem.panel(group, places, parallel).scatter(&panel, dx);
            }
        }
        Ok(())
    };
    match over_images(problem.batch) {
        true => dy.par_chunks(of_y.max(1)).zip(dx.par_chunks_mut(of_x.max(1))).try_for_each(|both| image(both, false)),
        false => dy.chunks(of_y.max(1)).zip(dx.chunks_mut(of_x.max(1))).try_for_each(|both| image(both, true)),
    }
}

pub(super) fn filter<A: Real>(problem: &Problem, x: &[A], dy: &[A], dw: &mut [A]) -> Result<()> {
    let (of_x, of_y) = problem.images();
    let rows = Panel::rows(problem);
    let filters = problem.of_group();
    let group = |(group, dw): (usize, &mut [A]), parallel: bool| -> Result<()> {
        let mut panel = Vec::new();
        for (x, dy) in x.chunks(of_x.max(1)).zip(dy.chunks(of_y.max(1))) {
            for places in problem.parts() {
                let sizes = (filters, rows, places.len());
                let result = (dy, problem.result_matrix(group, places.start));
                let to = Matrix { first: 0, down: rows, right: 1 };
                let (from, Matrix { first, down, right }) = match problem.is_plain() {
                    true => (x, problem.plain_matrix(group, places.start)),
                    false => {
                        problem.panel(group, places.clone(), parallel).gather(x, &mut panel)?;
                        (&panel[..], panel_matrix(&places))
                    }
                };
                let turned = (from, Matrix { first, down: right, right: down });
                product(sizes, (&mut *dw, to), result, turned, true, parallel)?;
            }
        }
        Ok(())
    };
    let size = (filters * rows).max(1);
    match over_images(problem.groups) {
        true => dw.par_chunks_mut(size).enumerate().try_for_each(|part| group(part, false)),
        false => dw.chunks_mut(size).enumerate().try_for_each(|part| group(part, true)),
    }
}
