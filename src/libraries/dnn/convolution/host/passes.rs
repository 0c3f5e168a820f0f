//! The three directions.

use super::super::problem::Problem;
use super::channels::Channels;
use super::columns::Panel;
use super::direct::Direct;
use super::single::Single;
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::{Matrix, Real, product};
use crate::numerics::parallel::{Parts, try_each_part};
use std::ops::Range;

/// Elements of a panel: as many as a cache holds.
const PANEL: usize = 1 << 17;

impl Problem {
    /// The places of the result, in parts whose panels have about [`PANEL`] elements.
    fn parts(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (places, size) = (self.places(), self.part());
        (0..places).step_by(size).map(move |from| from..(from + size).min(places))
    }

    pub(super) fn places(&self) -> usize {
        self.output.iter().product()
    }

    /// The places of a part.
    fn part(&self) -> usize {
        (PANEL / Panel::rows(self).max(1)).max(64)
    }

    /// Elements of an image of the input, and of the result.
    fn images(&self) -> (usize, usize) {
        (self.count(self.x()) / self.batch.max(1), self.count(self.y()) / self.batch.max(1))
    }

    /// The filters of a group: filters times rows of the panel.
    fn filter_matrix(&self, group: usize) -> Matrix {
        let rows = Panel::rows(self);
        Matrix::rows(group * self.of_group() * rows, rows)
    }

    /// The elements of a filter.
    pub(super) fn filter_size(&self) -> usize {
        Panel::rows(self)
    }

    pub(super) fn of_group(&self) -> usize {
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
    pub(super) fn is_plain(&self) -> bool {
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

/// One of the images, or of what else lies one after the other.
fn nth<A>(all: &[A], index: usize, size: usize) -> &[A] {
    all.get(index * size..).unwrap_or_default().get(..size).unwrap_or_default()
}

fn panel_matrix(places: &Range<usize>) -> Matrix {
    Matrix::rows(0, places.len())
}

pub(super) fn forward<A: Real>(problem: &Problem, x: &[A], w: &[A], y: &mut [A]) -> Result<()> {
    let (of_x, of_y) = problem.images();
    if let Some(channels) = Channels::new(problem, size_of::<A>())? {
        return channels.run(x, w, y);
    }
    if let Some(single) = Single::new(problem)? {
        return single.run(x, w, y);
    }
    let images = Parts::with_size(of_y);
    if let Some(direct) = Direct::new(problem)? {
        return try_each_part(y, images, &|image, y| direct.image(nth(x, image, of_x), w, y));
    }
    // Windows that reach far: little of the input is met.
    try_each_part(y, images, &|image, y| {
        let (x, mut panel) = (nth(x, image, of_x), Vec::new());
        for group in 0..problem.groups {
            let filters = (w, problem.filter_matrix(group));
            for places in problem.parts() {
                let sizes = (problem.of_group(), places.len(), problem.filter_size());
                let result = problem.result_matrix(group, places.start);
                problem.panel(group, places.clone(), true).gather(x, &mut panel)?;
                product(sizes, (&mut *y, result), filters, (&panel, panel_matrix(&places)), false, true)?;
            }
        }
        Ok(())
    })
}

pub(super) fn data<A: Real>(problem: &Problem, dy: &[A], w: &[A], dx: &mut [A]) -> Result<()> {
    let (of_x, of_y) = problem.images();
    let rows = Panel::rows(problem);
    let image = |image: usize, dx: &mut [A], parallel: bool| -> Result<()> {
        let (dy, mut panel) = (nth(dy, image, of_y), Vec::new());
        for group in 0..problem.groups {
            let filters = (w, problem.filter_matrix(group).turned());
            for places in problem.parts() {
                let sizes = (rows, places.len(), problem.of_group());
                let result = (dy, problem.result_matrix(group, places.start));
                if problem.is_plain() {
                    let plain = problem.plain_matrix(group, places.start);
                    product(sizes, (&mut *dx, plain), filters, result, false, parallel)?;
                    continue;
                }
                room::grown(&mut panel, rows * places.len(), A::default())?;
                panel.truncate(rows * places.len());
                product(sizes, (&mut panel, panel_matrix(&places)), filters, result, false, parallel)?;
                problem.panel(group, places, parallel).scatter(&panel, dx);
            }
        }
        Ok(())
    };
    match over_images(problem.batch) {
        true => try_each_part(dx, Parts::with_size(of_x), &|index, dx| image(index, dx, false)),
        false => dx.chunks_mut(of_x.max(1)).enumerate().try_for_each(|(index, dx)| image(index, dx, true)),
    }
}

pub(super) fn filter<A: Real>(problem: &Problem, x: &[A], dy: &[A], dw: &mut [A]) -> Result<()> {
    let (of_x, of_y) = problem.images();
    let rows = Panel::rows(problem);
    let filters = problem.of_group();
    let group = |group: usize, dw: &mut [A], parallel: bool| -> Result<()> {
        let mut panel = Vec::new();
        for (x, dy) in x.chunks(of_x.max(1)).zip(dy.chunks(of_y.max(1))) {
            for places in problem.parts() {
                let sizes = (filters, rows, places.len());
                let result = (dy, problem.result_matrix(group, places.start));
                let to = Matrix::rows(0, rows);
                let (from, matrix) = match problem.is_plain() {
                    true => (x, problem.plain_matrix(group, places.start)),
                    false => {
                        problem.panel(group, places.clone(), parallel).gather(x, &mut panel)?;
                        (&panel[..], panel_matrix(&places))
                    }
                };
                product(sizes, (&mut *dw, to), result, (from, matrix.turned()), true, parallel)?;
            }
        }
        Ok(())
    };
    let size = (filters * rows).max(1);
    match over_images(problem.groups) {
        true => try_each_part(dw, Parts::with_size(size), &|index, dw| group(index, dw, false)),
        false => dw.chunks_mut(size).enumerate().try_for_each(|(index, dw)| group(index, dw, true)),
    }
}
