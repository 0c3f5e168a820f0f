//! The forward pass.

use super::super::net::RecurrentProblem;
use super::super::parameters::RecurrentParameter;
use super::super::spec::RecurrentCell;
use super::cells::{Cellular, Step};
use super::layer::{Layer, Parts, part_mut, trimmed};
use super::{Reads, missing};
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::Matrix;
use crate::libraries::dnn::product::panels::Panels;
use crate::libraries::dnn::product::tiles::Shared;
use crate::numerics::parallel::{Parts as Cut, each_number, each_part};

/// Writes the states of all steps, the last states and the last cells.
pub(super) fn forth<A: Cellular>(
    problem: &RecurrentProblem,
    reads: &Reads<'_, A>,
    writes: Vec<&mut [A]>,
    reserve: &mut [A],
    round: fn(A) -> A,
) -> Result<()> {
    let Ok([y, h, c]) = <[&mut [A]; 3]>::try_from(writes) else { return Err(missing()) };
    y.fill(A::default());
    fill(h, reads.states);
    fill(c, reads.cells);
    if problem.is_empty() {
        return Ok(());
    }
    let (net, batch) = (&problem.net, problem.batch);
    let parts = Parts::new(problem);
    let trains = problem.reserve > 0;
    let between = (net.layers - 1) * parts.states;
    let mut own = room::zeroed(if trains { 0 } else { between + parts.gates + parts.extra })?;
    let kept = if trains { reserve } else { own.as_mut_slice() };
    let (outputs, gates) = kept.split_at_mut_checked(between).ok_or_else(missing)?;
    if trains && problem.lengths.is_some() {
        // The next layer and the gradients of its parameters multiply what lies behind the ends of sequences by zeros.
        outputs.fill(A::default());
    }
    let trimmed = trimmed(problem, reads.x, problem.net.input)?;
    // Only an LSTM has cells: others get a place that they do not use.
    let mut no_cells = room::zeroed(if net.is_lstm() { 0 } else { batch * net.hidden })?;
    let mut inner = outputs.chunks_mut(parts.states.max(1));
    let mut input: &[A] = trimmed.as_deref().unwrap_or(reads.x);
    let mut last = Some(y);
    for index in 0..net.layers {
        let is_last = index + 1 == net.layers;
        let output = if is_last { last.take() } else { inner.next() };
        let output = output.ok_or_else(missing)?;
        for direction in 0..net.directions() {
            let layer = Layer { problem, layer: index, direction };
            let of_layer = if trains { layer.index() } else { 0 };
            let mine = part_mut(gates, of_layer, parts.gates + parts.extra);
            let (gates, extra) = mine.split_at_mut_checked(parts.gates).ok_or_else(missing)?;
            let state = part_mut(h, layer.index(), batch * net.state());
            let cell = match net.is_lstm() {
                true => part_mut(c, layer.index(), batch * net.hidden),
                false => no_cells.as_mut_slice(),
            };
            let pass = Forth { layer, parameters: reads.parameters, round };
            pass.run(input, (gates, extra), &mut *output, (state, cell))?;
        }
        input = &*output;
    }
    Ok(())
}

fn fill<A: Copy + Default>(to: &mut [A], from: Option<&[A]>) {
    match from {
        Some(from) => to.copy_from_slice(from),
        None => to.fill(A::default()),
    }
}

pub(super) struct Forth<'f, A> {
    pub(super) layer: Layer<'f>,
    pub(super) parameters: &'f [A],
    round: fn(A) -> A,
}

impl<A: Cellular> Forth<'_, A> {
    /// The sums of the gates that need no states: all biases and the product with the input. A GRU's recurrent bias comes later.
    pub(super) fn sums(&self, input: &[A], gates: &mut [A]) -> Result<()> {
        let (net, layer) = (&self.layer.problem.net, &self.layer);
        let rows = net.rows();
        let (width, steps) = (net.width(layer.layer), layer.problem.time * layer.problem.batch);
        let of_input = layer.bias(self.parameters, RecurrentParameter::InputBias);
        let of_state = layer.bias(self.parameters, RecurrentParameter::RecurrentBias);
        let of_state = of_state.filter(|_| net.cell != RecurrentCell::Gru);
        each_part(gates, Cut::with_size(rows).least(least(rows)), &|_, row| {
            row.fill(A::default());
            for bias in [of_input, of_state].into_iter().flatten() {
                row.iter_mut().zip(bias).for_each(|(sum, bias)| *sum = *sum + *bias);
            }
        });
        let w = layer.matrix(RecurrentParameter::Input).ok_or_else(missing)?;
        let w = Panels::new((width, rows), self.parameters, w.turned())?;
        w.block((steps, 0..rows), (input, Matrix::rows(0, width)), (gates, rows), (true, true))
    }

    /// A matrix turned around, as the products read it: that of the states, or of the projection.
    fn turned(&self, parameter: RecurrentParameter) -> Result<Option<Panels<A>>> {
        let net = &self.layer.problem.net;
        let Some((first, rows, columns)) = net.place(self.layer.layer, self.layer.direction, parameter) else {
            return Ok(None);
        };
        let of = Matrix::rows(first, columns).turned();
        Panels::new((columns, rows), self.parameters, of).map(Some)
    }

    fn run(
        &self,
        input: &[A],
        (gates, extra): (&mut [A], &mut [A]),
        output: &mut [A],
        (state, cell): (&mut [A], &mut [A]),
    ) -> Result<()> {
        let (net, batch) = (&self.layer.problem.net, self.layer.problem.batch);
        let (rows, hidden) = (net.rows(), net.hidden);
        if net.cell == RecurrentCell::GruResetFirst {
            return self.reset_first(input, (gates, extra), output, state);
        }
        self.sums(input, gates)?;
        let is_gru = net.cell == RecurrentCell::Gru;
        let turned = self.turned(RecurrentParameter::Recurrent)?.ok_or_else(missing)?;
        let projection = self.turned(RecurrentParameter::Projection)?;
        let mut products = room::zeroed(turned.count(batch))?;
        let mut rows_of_products = room::zeroed(if is_gru { batch * rows } else { 0 })?;
        let mut raw = room::zeroed(if projection.is_some() { batch * hidden } else { 0 })?;
        let bias = self.layer.bias(self.parameters, RecurrentParameter::RecurrentBias);
        let peepholes = self.layer.peepholes(self.parameters);
        let of_extra = extra.len() / self.layer.problem.time.max(1);
        for time in self.layer.steps() {
            let (gates, extra) = (part_mut(gates, time, batch * rows), part_mut(extra, time, of_extra));
            turned.multiply(batch, state, &mut products)?;
            let to = if projection.is_some() { &mut raw[..] } else { &mut *state };
            let all = [gates, to, &mut *cell, extra, &mut rows_of_products].map(|all| Rows::new(all, batch));
            each_number(batch, least(rows), &|sequence| {
                if !self.layer.is_active(sequence, time) {
                    return;
                }
                // SAFETY: each sequence comes once.
                let [gates, state, cell, extra, own] = all.each_ref().map(|rows| unsafe { rows.of(sequence) });
                if is_gru {
                    fill(own, bias);
                }
                turned.add(sequence, &products, if is_gru { &mut *own } else { &mut *gates });
                Step { hidden, gates, extra, products: own, cell, state, peepholes }.forth(net.cell);
            });
            if let Some(projection) = &projection {
                self.project(time, (&raw, projection), state)?;
            }
            self.settle(time, state, output);
        }
        Ok(())
    }

    /// The states of an LSTM with a projection.
    fn project(&self, time: usize, (raw, projection): (&[A], &Panels<A>), state: &mut [A]) -> Result<()> {
        let (net, batch) = (&self.layer.problem.net, self.layer.problem.batch);
        let mut all = room::zeroed(projection.count(batch))?;
        projection.multiply(batch, raw, &mut all)?;
        for (sequence, to) in state.chunks_mut(net.state()).enumerate() {
            if self.layer.is_active(sequence, time) {
                to.fill(A::default());
                projection.add(sequence, &all, to);
            }
        }
        Ok(())
    }

    /// Rounds the new states, and writes them.
    pub(super) fn settle(&self, time: usize, state: &mut [A], output: &mut [A]) {
        let width = self.layer.problem.net.state();
        let (stride, first) = self.layer.stride();
        let output = part_mut(output, time, self.layer.problem.batch * stride);
        for (sequence, (to, from)) in output.chunks_mut(stride).zip(state.chunks_mut(width)).enumerate() {
            if self.layer.is_active(sequence, time) {
                from.iter_mut().for_each(|x| *x = (self.round)(*x));
                let to = to.get_mut(first..).unwrap_or_default().get_mut(..width).unwrap_or_default();
                to.copy_from_slice(from);
            }
        }
    }
}

/// Rows that are worth a second thread, of so many gates.
pub(super) fn least(rows: usize) -> usize {
    (1usize << 12).div_ceil(rows.max(1))
}

/// The rows of the sequences, also if they are empty.
struct Rows<'r, A> {
    all: Shared<'r, A>,
    width: usize,
}

impl<'r, A> Rows<'r, A> {
    fn new(all: &'r mut [A], batch: usize) -> Self {
        Rows { width: all.len() / batch.max(1), all: Shared::new(all) }
    }

    /// # Safety
    /// Nobody else uses the row of this sequence meanwhile.
    #[expect(clippy::mut_from_ref, reason = "as of what it is made of")]
    unsafe fn of(&self, sequence: usize) -> &mut [A] {
        // SAFETY: the rows of sequences do not overlap.
        unsafe { self.all.line(sequence * self.width, self.width) }
    }
}
