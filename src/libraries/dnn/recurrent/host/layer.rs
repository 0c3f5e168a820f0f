//! What both passes know of a layer in one direction.

use super::super::net::RecurrentProblem;
use super::super::parameters::RecurrentParameter;
use crate::core::error::Result;
use crate::libraries::dnn::product::Matrix;

/// A layer in one direction.
#[derive(Clone, Copy)]
pub(super) struct Layer<'s> {
    pub(super) problem: &'s RecurrentProblem,
    pub(super) layer: usize,
    pub(super) direction: usize,
}

/// A part of a slice; empty where it does not lie in it.
pub(super) fn part<A>(all: &[A], index: usize, len: usize) -> &[A] {
    all.get(index * len..).unwrap_or_default().get(..len).unwrap_or_default()
}

pub(super) fn part_mut<A>(all: &mut [A], index: usize, len: usize) -> &mut [A] {
    all.get_mut(index * len..).unwrap_or_default().get_mut(..len).unwrap_or_default()
}

impl Layer<'_> {
    pub(super) fn index(&self) -> usize {
        self.layer * self.problem.net.directions() + self.direction
    }

    /// The sequences that have a step.
    pub(super) fn is_active(&self, sequence: usize, time: usize) -> bool {
        match &self.problem.lengths {
            None => true,
            Some(lengths) => lengths.get(sequence).is_some_and(|n| usize::try_from(*n).is_ok_and(|n| time < n)),
        }
    }

    /// The steps in their order.
    pub(super) fn steps(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let (time, turned) = (self.problem.time, self.direction == 1);
        (0..time).map(move |step| if turned { time - 1 - step } else { step })
    }

    /// The step before, where the state came from; `None` if it is the first one of a sequence.
    pub(super) fn before(&self, sequence: usize, time: usize) -> Option<usize> {
        match self.direction {
            0 => time.checked_sub(1),
            _ => Some(time + 1).filter(|next| *next < self.problem.time && self.is_active(sequence, *next)),
        }
    }

    /// Where a parameter lies in those of the net.
    pub(super) fn matrix(&self, parameter: RecurrentParameter) -> Option<Matrix> {
        let (first, _, columns) = self.problem.net.place(self.layer, self.direction, parameter)?;
        Some(Matrix::rows(first, columns))
    }

    /// A bias, if the net has it.
    pub(super) fn bias<'a, A>(&self, parameters: &'a [A], parameter: RecurrentParameter) -> Option<&'a [A]> {
        let (first, rows, _) = self.problem.net.place(self.layer, self.direction, parameter)?;
        parameters.get(first..)?.get(..rows)
    }

    /// The weights of the cells in the gates; empty without peepholes.
    pub(super) fn peepholes<'a, A>(&self, parameters: &'a [A]) -> &'a [A] {
        self.bias(parameters, RecurrentParameter::Peephole).unwrap_or_default()
    }

    /// Elements of a step of one sequence in the states of this layer, and where those of this direction begin.
    pub(super) fn stride(&self) -> (usize, usize) {
        let net = &self.problem.net;
        (net.directions() * net.state(), self.direction * net.state())
    }

    /// The states of this direction at some steps of all sequences, from a step on.
    pub(super) fn states(&self, time: usize) -> Matrix {
        let (stride, first) = self.stride();
        Matrix { first: time * self.problem.batch * stride + first, down: stride, right: 1 }
    }

    /// The states of a sequence at a step.
    pub(super) fn state<'a, A>(&self, all: &'a [A], time: usize, sequence: usize) -> &'a [A] {
        let (stride, first) = self.stride();
        let from = (time * self.problem.batch + sequence) * stride + first;
        all.get(from..).unwrap_or_default().get(..self.problem.net.state()).unwrap_or_default()
    }
}

/// Elements of the parts of a reserve: the states of a layer, the gates of a layer in one direction, what else is kept of it.
pub(super) struct Parts {
    pub(super) states: usize,
    pub(super) gates: usize,
    pub(super) extra: usize,
}

impl Parts {
    pub(super) fn new(problem: &RecurrentProblem) -> Self {
        let (net, steps) = (&problem.net, problem.time * problem.batch);
        let extra = net.kept() - net.gates();
        Parts {
            states: steps * net.directions() * net.state(),
            gates: steps * net.rows(),
            extra: steps * extra * net.hidden,
        }
    }
}

/// Rows of so many elements, without what lies behind the ends of the sequences; `None` where they have no ends.
pub(super) fn trimmed<A: Copy + Default>(problem: &RecurrentProblem, x: &[A], width: usize) -> Result<Option<Vec<A>>> {
    if problem.lengths.is_none() {
        return Ok(None);
    }
    let mut all = crate::core::room::filled(x.len(), A::default())?;
    let layer = Layer { problem, layer: 0, direction: 0 };
    for (index, (to, from)) in all.chunks_mut(width).zip(x.chunks(width)).enumerate() {
        if layer.is_active(index % problem.batch, index / problem.batch) {
            to.copy_from_slice(from);
        }
    }
    Ok(Some(all))
}
