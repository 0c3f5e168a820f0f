//! Where all lies.

use super::super::super::super::recurrent::{RecurrentParameter, RecurrentProblem};
use crate::core::error::{Error, Result};
use crate::libraries::tensor_routine::missing;

/// Matrices and their places count elements of the type of sums.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    /// The address of the first element.
    pub(super) at: u64,
    /// The distance between rows.
    pub(super) ld: usize,
    pub(super) turned: bool,
}

impl Matrix {
    pub(super) fn new(at: u64, ld: usize) -> Self {
        Matrix { at, ld, turned: false }
    }

    pub(super) fn turned(self) -> Self {
        Matrix { turned: !self.turned, ..self }
    }
}

/// The product of sizes as bytes.
pub(super) fn bytes(problem: &RecurrentProblem, sizes: &[usize]) -> Result<usize> {
    let size = problem.net.sums().size();
    let all = sizes.iter().try_fold(size, |all, n| all.checked_mul(*n)).filter(|all| isize::try_from(*all).is_ok());
    all.ok_or_else(|| Error::invalid("x", "its steps, sequences and the elements of states are too many for a memory"))
}

/// A layer in one direction, and what is kept of it.
#[derive(Clone, Copy)]
pub(super) struct Layer<'s> {
    pub(super) problem: &'s RecurrentProblem,
    pub(super) layer: usize,
    pub(super) direction: usize,
    /// The parameters.
    pub(super) parameters: u64,
    pub(super) gates: u64,
    states: u64,
    extra: u64,
}

impl<'s> Layer<'s> {
    /// Of what is kept from an address on.
    pub(super) fn new(
        problem: &'s RecurrentProblem,
        (layer, direction): (usize, usize),
        parameters: u64,
        kept: u64,
    ) -> Self {
        let (net, steps) = (&problem.net, problem.time * problem.batch);
        let size = net.sums().size();
        let states = kept + (steps * net.rows() * size) as u64;
        let extra = states + ((steps + problem.batch) * net.state() * size) as u64;
        Layer { problem, layer, direction, parameters, gates: kept, states, extra }
    }

    fn moved(&self, from: u64, elements: usize) -> u64 {
        from + (elements * self.problem.net.sums().size()) as u64
    }

    pub(super) fn index(&self) -> usize {
        self.layer * self.problem.net.directions() + self.direction
    }

    pub(super) fn last(&self) -> bool {
        self.layer + 1 == self.problem.net.layers
    }

    /// The steps in their order.
    pub(super) fn steps(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let (time, turned) = (self.problem.time, self.direction == 1);
        (0..time).map(move |step| if turned { time - 1 - step } else { step })
    }

    /// A gate of all sequences at a step.
    pub(super) fn gate(&self, step: usize, gate: usize) -> u64 {
        let net = &self.problem.net;
        self.moved(self.gates, step * self.problem.batch * net.rows() + gate * net.hidden)
    }

    /// The states of all sequences before a step, and after it. Those of all steps lie one after the other, from that of step 0 on.
    pub(super) fn states(&self, step: usize) -> [u64; 2] {
        self.around(self.states, step, self.problem.net.state())
    }

    /// Likewise the cells of an LSTM.
    pub(super) fn cells(&self, step: usize) -> [u64; 2] {
        self.around(self.extra, step, self.problem.net.hidden)
    }

    fn around(&self, all: u64, step: usize, width: usize) -> [u64; 2] {
        let of = |place: usize| self.moved(all, place * self.problem.batch * width);
        match self.direction {
            0 => [of(step), of(step + 1)],
            _ => [of(step + 1), of(step)],
        }
    }

    /// The first and the last step.
    pub(super) fn ends(&self) -> [usize; 2] {
        let last = self.problem.time - 1;
        if self.direction == 0 { [0, last] } else { [last, 0] }
    }

    /// What the reset gates of a GRU have left of its states at a step.
    pub(super) fn left(&self, step: usize) -> u64 {
        self.moved(self.extra, step * self.problem.batch * self.problem.net.hidden)
    }

    /// Where a parameter lies from an address on, and the distance between its rows.
    pub(super) fn place(&self, from: u64, parameter: RecurrentParameter) -> Option<Matrix> {
        let (first, _, columns) = self.problem.net.place(self.layer, self.direction, parameter)?;
        Some(Matrix::new(self.moved(from, first), columns))
    }

    pub(super) fn matrix(&self, parameter: RecurrentParameter) -> Result<Matrix> {
        self.place(self.parameters, parameter).ok_or_else(missing)
    }

    /// The weights of the cells in the gates i, f and o.
    pub(super) fn peepholes(&self) -> Result<[u64; 3]> {
        let Matrix { at, .. } = self.matrix(RecurrentParameter::Peephole)?;
        Ok([0, 1, 2].map(|gate| self.moved(at, gate * self.problem.net.hidden)))
    }

    /// Rows of a matrix from one on.
    pub(super) fn rows(&self, matrix: Matrix, row: usize) -> Matrix {
        Matrix { at: self.moved(matrix.at, row * matrix.ld), ..matrix }
    }

    /// The outputs of this direction at a step, from the address of those of a layer with elements of this size.
    pub(super) fn output(&self, all: u64, step: usize, size: usize) -> u64 {
        let net = &self.problem.net;
        let place = (step * self.problem.batch * net.directions() + self.direction) * net.state();
        all + (place * size) as u64
    }
}
