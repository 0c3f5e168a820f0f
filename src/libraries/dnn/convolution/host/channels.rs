//! The forward pass of filters that see one channel each: some lines of the result at once.
//!
//! Products of matrices have one row here, so that the panels cost more than what is computed of them.

use super::super::problem::Problem;
use crate::core::error::Result;
use crate::libraries::dnn::product::Real;
use crate::libraries::dnn::product::scratch::lent;
use crate::libraries::dnn::windows::{Bands, Windows};
use crate::numerics::isa;
use crate::numerics::parallel::{Parts, try_each_part};

/// Results of a plane, at least.
const LEAST: usize = 8;

/// How the forward pass of a problem is computed.
pub(super) struct Channels<'p> {
    problem: &'p Problem,
    bands: Bands,
}

impl<'p> Channels<'p> {
    /// For elements of a size. `None` where filters see several channels, or planes are small.
    pub(super) fn new(problem: &'p Problem, size: usize) -> Result<Option<Self>> {
        let along = |axis: usize| {
            let of = |all: [usize; 3]| all.get(axis).copied().unwrap_or(1);
            let [input, output, window] = [of(problem.input), of(problem.output), of(problem.kernel)];
            let [stride, dilation, before] = [of(problem.stride), of(problem.dilation), of(problem.before)];
            Windows { input, output, window, stride, dilation, before }
        };
        let axes @ [_, high, line] = [0, 1, 2].map(along);
        if problem.each() != 1 || problem.channels_last || high.output.saturating_mul(line.output) < LEAST {
            return Ok(None);
        }
        let bands = Bands::new(axes, size)?;
        Ok(bands.map(|bands| Channels { problem, bands }))
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
            let (held, results) = (self.bands.memory(), self.bands.results());
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
        let (bands, [_, high, line]) = (&self.of.bands, self.of.bands.axes);
        let (_, lines) = bands.bands();
        self.memory.fill(A::default());
        for (plane, y) in self.y.chunks_exact_mut(high.output * line.output).enumerate() {
            for (band, y) in y.chunks_mut(lines * line.output).enumerate() {
                let from = |[d, h]: [usize; 2]| {
                    let from = (d * high.input + h) * line.input;
                    self.x.get(from..from + line.input).unwrap_or_default()
                };
                bands.lay([plane, band * lines], A::default(), from, self.memory);
                bands.fold(self.memory, self.w, A::default(), self.results, |sum, x, w| x.fused(w, sum));
                for (y, made) in y.chunks_exact_mut(line.output).zip(bands.lines(self.results)) {
                    y.copy_from_slice(made);
                }
            }
        }
    }
}
