//! The forward pass of filters that see one channel each: lines of the result, many of its elements at once.
//!
//! Products of matrices have one row here, so that the panels cost more than what is computed of them.

use super::super::problem::Problem;
use crate::core::error::Result;
use crate::libraries::dnn::product::Real;
use crate::libraries::dnn::product::scratch::lent;
use crate::libraries::dnn::windows::{Held, Lines, Windows, rings};
use crate::numerics::isa;
use crate::numerics::parallel::{Parts, try_each_part};

/// Lines of a window, at most.
const MOST: usize = 64;

/// How the forward pass of a problem is computed.
pub(super) struct Channels<'p> {
    problem: &'p Problem,
    outer: [Windows; 2],
    rings: [usize; 2],
    lines: Lines,
}

impl<'p> Channels<'p> {
    /// `None` where filters see several channels, or lines are short.
    pub(super) fn new(problem: &'p Problem) -> Result<Option<Self>> {
        let along = |axis: usize| {
            let of = |all: [usize; 3]| all.get(axis).copied().unwrap_or(1);
            let [input, output, window] = [of(problem.input), of(problem.output), of(problem.kernel)];
            let [stride, dilation, before] = [of(problem.stride), of(problem.dilation), of(problem.before)];
            Windows { input, output, window, stride, dilation, before }
        };
        let [deep, high, line] = [0, 1, 2].map(along);
        let rings = rings([deep, high]);
        if problem.each() != 1 || problem.channels_last || line.output < 8 || rings[0].saturating_mul(rings[1]) > MOST {
            return Ok(None);
        }
        let lines = Lines::new(line)?;
        Ok(lines.map(|lines| Channels { problem, outer: [deep, high], rings, lines }))
    }

    pub(super) fn run<A: Real>(&self, x: &[A], w: &[A], y: &mut [A]) -> Result<()> {
        let problem = self.problem;
        let (of_x, of_y) = (problem.input.iter().product::<usize>(), problem.output.iter().product());
        let (filters, size) = (problem.filters.max(1), problem.kernel.iter().product::<usize>());
        try_each_part(y, Parts::with_size(of_y), &|plane, y| {
            let (image, filter) = (plane / filters, plane % filters);
            let channel = image * problem.channels + filter / problem.of_group().max(1);
            let x = x.get(channel * of_x..(channel + 1) * of_x).unwrap_or_default();
            let w = w.get(filter * size..(filter + 1) * size).unwrap_or_default();
            let (held, results) = (self.lines.size() * self.rings[0] * self.rings[1], self.lines.results());
            lent(held + results, |memory| {
                let (memory, results) = memory.split_at_mut(held);
                isa::run(Plane { of: self, x, w, y, memory, results });
                Ok(())
            })
        })
    }
}

/// A channel of an image.
struct Plane<'c, 'p, A> {
    of: &'c Channels<'p>,
    x: &'c [A],
    w: &'c [A],
    y: &'c mut [A],
    memory: &'c mut [A],
    results: &'c mut [A],
}

impl<A: Real> isa::Loop for Plane<'_, '_, A> {
    type Output = ();

    #[inline(always)]
    fn body(self) {
        let ([deep, high], lines) = (self.of.outer, &self.of.lines);
        let line = lines.windows;
        let mut held = Held::new(lines, self.of.rings, self.memory, A::default());
        for (number, y) in self.y.chunks_exact_mut(line.output.max(1)).enumerate() {
            let ((kernel_d, first_d), (kernel_h, first_h)) =
                (deep.inside(number / high.output), high.inside(number % high.output));
            held.next();
            for (d, at_d) in kernel_d.zip((first_d..).step_by(deep.dilation)) {
                for (h, at_h) in kernel_h.clone().zip((first_h..).step_by(high.dilation)) {
                    let from = (at_d * high.input + at_h) * line.input;
                    let own = self.x.get(from..from + line.input).unwrap_or_default();
                    held.add([at_d, at_h], (from as isize, 0), (d * high.window + h) * line.window, own);
                }
            }
            lines.fold(&held.rows(self.w), A::default(), self.results, |sum, x, w| x.fused(w, sum));
            y.iter_mut().zip(&*self.results).for_each(|(y, made)| *y = *made);
        }
    }
}
