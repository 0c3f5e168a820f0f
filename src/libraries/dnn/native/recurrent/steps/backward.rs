//! The backward pass.

use super::super::super::super::recurrent::{RecurrentParameter, RecurrentProblem};
use super::forward::Reads;
use super::kernels::{Pass, Role};
use super::memory::{Layer, Matrix, bytes};
use super::work::Work;
use crate::core::buffer::AnySpan;
use crate::core::error::Result;
use crate::engines::cuda::Queue;
use crate::libraries::dnn::RecurrentCell;
use crate::libraries::tensor_routine::missing;

/// The gradients that are read: of the outputs, and of the last states and cells.
pub(in super::super) struct Given<'s> {
    pub(in super::super) dy: &'s AnySpan,
    pub(in super::super) last: [Option<&'s AnySpan>; 2],
}

/// Memory of a backward pass, of the type of sums.
struct Back<'w, 'q> {
    work: Work<'w, 'q>,
    /// The gradients of the state and of the cell so far; and of the cell in a step, or what a product makes of one.
    state: u64,
    cell: u64,
    spare: u64,
    /// Of projected states, their gradients at all steps; and the states before.
    slopes: u64,
    raw: u64,
    /// As many ones as there are steps of sequences, and what the weights of the cells sum.
    ones: u64,
    weights: u64,
    of_parameters: u64,
}

/// Enqueues a backward pass over operands that were checked; there is a step.
pub(in super::super) fn backward(
    problem: &RecurrentProblem,
    reads: &Reads<'_>,
    given: &Given<'_>,
    kept: u64,
    [dx, dw, dh0, dc0]: [&AnySpan; 4],
    queue: &mut Queue<'_>,
) -> Result<()> {
    let net = &problem.net;
    let mut work = Work::new(problem, queue, Pass::Backward)?;
    let x = work.input(reads.x)?;
    let parameters = work.parameters(reads.parameters)?;
    let (of_layer, between) = (
        bytes(problem, &[problem.kept_by_steps()])? as u64,
        [problem.time, problem.batch, net.directions(), net.state()],
    );
    let of_outputs = bytes(problem, &between)? as u64;
    let inner = of_outputs * (net.layers as u64 - 1);
    let is_narrow = work.is_narrow();
    let to_x = if is_narrow { work.scratch(&[dx.len()])? } else { dx.address() };
    let of_parameters = if is_narrow { work.scratch(&[dw.len()])? } else { dw.address() };
    let mut back = Back::new(work, of_parameters)?;
    let mut of_output = given.dy.address();
    for index in (0..net.layers).rev() {
        let input = if index == 0 { x } else { kept + of_outputs * (index as u64 - 1) };
        let of_input = if index == 0 { to_x } else { back.work.scratch(&between)? };
        for direction in 0..net.directions() {
            let place = (index * net.directions() + direction) as u64;
            let layer = Layer::new(problem, (index, direction), parameters, kept + inner + place * of_layer);
            // SAFETY: what is kept has as many bytes as the layers take (`RecurrentProblem::kept_by_steps`); the operands have the sizes of the
            // problem, and so has scratch memory in their place.
            unsafe { back.layer(&layer, given, [input, of_input, of_output], [dh0, dc0]) }?;
        }
        of_output = of_input;
    }
    if is_narrow {
        // SAFETY: the operands that are written, and scratch memory of as many elements.
        unsafe {
            back.work.all(Role::InputBack, &[dx.address(), to_x])?;
            back.work.all(Role::ParametersBack, &[dw.address(), of_parameters])?;
        }
    }
    Ok(())
}

impl<'w, 'q> Back<'w, 'q> {
    fn new(mut work: Work<'w, 'q>, of_parameters: u64) -> Result<Self> {
        let net = &work.problem.net;
        let (batch, hidden, state) = (work.problem.batch, net.hidden, net.state());
        let steps = work.problem.time * batch;
        let (size, is_projected) = (net.sums().size(), net.projection.is_some());
        let memory = [work.scratch(&[batch, state])?, work.scratch(&[batch, hidden])?, work.scratch(&[batch, hidden])?];
        let [of_state, cell, spare] = memory;
        let [slopes, raw] = match is_projected {
            true => [work.scratch(&[steps, state])?, work.scratch(&[steps, hidden])?],
            false => [0; 2],
        };
        let ones = work.scratch(&[steps])?;
        let weights = if net.peepholes { work.scratch(&[steps, 3, hidden])? } else { 0 };
        let one = if size == 8 { 1f64.to_ne_bytes().to_vec() } else { 1f32.to_ne_bytes().to_vec() };
        // SAFETY: scratch memory of as many elements.
        unsafe { work.queue.fill(ones, steps, &one) }?;
        Ok(Back { work, state: of_state, cell, spare, slopes, raw, ones, weights, of_parameters })
    }

    /// # Safety
    /// The input, its gradient, and that of the output are those of the layer; its memory and the operands have the sizes of the problem.
    unsafe fn layer(
        &mut self,
        layer: &Layer<'_>,
        given: &Given<'_>,
        [input, of_input, of_output]: [u64; 3],
        [dh0, dc0]: [&AnySpan; 2],
    ) -> Result<()> {
        let net = &self.work.problem.net;
        let [dh, dc] = given.last;
        // SAFETY: the caller's promise: all of it is memory of the layer, the operands, and scratch memory of their sizes.
        unsafe {
            self.work.begin(layer, false, self.state, dh)?;
            if net.is_lstm() {
                self.work.begin(layer, true, self.cell, dc)?;
            }
            if net.projection.is_some() {
                let [_, cells] = layer.cells(0);
                self.work.all(Role::Unprojected, &[self.raw, layer.gate(0, 3), cells])?;
            }
            for step in layer.steps().rev() {
                match net.cell {
                    RecurrentCell::GruResetFirst => self.reset_first(layer, step, of_output)?,
                    _ => self.peeping(layer, step, of_output)?,
                }
            }
            self.work.end(layer, false, dh0, self.state)?;
            if net.is_lstm() {
                self.work.end(layer, true, dc0, self.cell)?;
            }
            self.products(layer, [input, of_input])?;
            self.vectors(layer)
        }
    }

    fn of_output(&self, layer: &Layer<'_>, step: usize, all: u64) -> u64 {
        let net = &self.work.problem.net;
        layer.output(all, step, if layer.last() { net.dtype.size() } else { net.sums().size() })
    }

    /// A step of an LSTM with peepholes.
    ///
    /// # Safety
    /// As for [`layer`](Self::layer).
    unsafe fn peeping(&mut self, layer: &Layer<'_>, step: usize, of_output: u64) -> Result<()> {
        let (problem, last) = (self.work.problem, layer.last());
        let (net, batch, masked) = (&problem.net, problem.batch, problem.lengths.is_some());
        let (rows, hidden, state) = (net.rows(), net.hidden, net.state());
        let ([before, after], [of_i, of_f, of_o]) = (layer.cells(step), layer.peepholes()?);
        let [i, f, g, o] = [0, 1, 2, 3].map(|gate| layer.gate(step, gate));
        let of_output = self.of_output(layer, step, of_output);
        // A sequence without the step keeps its gradient of the state; the others get theirs by the product alone.
        let kept: &[u64] = if masked { &[self.state] } else { &[] };
        let r = layer.matrix(RecurrentParameter::Recurrent)?;
        // SAFETY: the caller's promise. Gradients of the sums take the places of the gates.
        unsafe {
            if net.projection.is_some() {
                let slopes = self.slopes + (step * batch * state * net.sums().size()) as u64;
                let addresses = [&[slopes], kept, &[self.state, of_output]].concat();
                self.work.step(Role::Slopes { last }, step, &addresses)?;
                let p = layer.matrix(RecurrentParameter::Projection)?;
                let spare = Matrix::new(self.spare, hidden);
                self.work.product((batch, hidden, state), spare, [Matrix::new(slopes, state), p], 0.0)?;
                let addresses = [o, self.spare, self.spare, o, after, self.cell, of_o];
                self.work.step(Role::RawStatesBack, step, &addresses)?;
            } else {
                let inputs = [self.state, of_output, o, after, self.cell, of_o];
                let addresses = [&[o, self.spare], kept, &inputs].concat();
                self.work.step(Role::StatesBack { last }, step, &addresses)?;
            }
            let inputs = [self.spare, i, f, g, before, of_i, of_f];
            self.work.step(Role::GatesBack, step, &[&[i, f, g, self.cell], &inputs[..]].concat())?;
            let beta = if masked { 1.0 } else { 0.0 };
            let to = Matrix::new(self.state, state);
            self.work.product((batch, state, rows), to, [Matrix::new(i, rows), r], beta)
        }
    }

    /// A step of a GRU whose reset gate precedes the product.
    ///
    /// # Safety
    /// As for [`layer`](Self::layer).
    unsafe fn reset_first(&mut self, layer: &Layer<'_>, step: usize, of_output: u64) -> Result<()> {
        let (net, batch, last) = (&self.work.problem.net, self.work.problem.batch, layer.last());
        let (rows, hidden, [before, _]) = (net.rows(), net.hidden, layer.states(step));
        let [r, z, n] = [0, 1, 2].map(|gate| layer.gate(step, gate));
        let of_output = self.of_output(layer, step, of_output);
        let all = layer.matrix(RecurrentParameter::Recurrent)?;
        let (state, spare) = (Matrix::new(self.state, hidden), Matrix::new(self.spare, hidden));
        // SAFETY: the caller's promise. Gradients of the sums take the places of the gates.
        unsafe {
            let addresses = [z, n, self.state, self.state, of_output, z, n, before];
            self.work.step(Role::NewBack { last }, step, &addresses)?;
            let of_new = [Matrix::new(n, rows), layer.rows(all, 2 * hidden)];
            self.work.product((batch, hidden, hidden), spare, of_new, 0.0)?;
            self.work.step(Role::ResetBack, step, &[r, self.state, self.spare, self.state, r, before])?;
            self.work.product((batch, hidden, 2 * hidden), state, [Matrix::new(r, rows), all], 1.0)
        }
    }

    /// The gradients of the input and of matrices, by those of the sums at all steps.
    ///
    /// # Safety
    /// As for [`layer`](Self::layer).
    unsafe fn products(&mut self, layer: &Layer<'_>, [input, of_input]: [u64; 2]) -> Result<()> {
        let problem = self.work.problem;
        let (net, steps) = (&problem.net, problem.time * problem.batch);
        let (rows, hidden, state, width) = (net.rows(), net.hidden, net.state(), net.width(layer.layer));
        let to = |parameter| layer.place(self.of_parameters, parameter).ok_or_else(missing);
        let (w, of_w) = (layer.matrix(RecurrentParameter::Input)?, to(RecurrentParameter::Input)?);
        let of_r = to(RecurrentParameter::Recurrent)?;
        let slopes = Matrix::new(layer.gates, rows);
        let [before, _] = layer.states(0);
        let beta = if layer.direction == 0 { 0.0 } else { 1.0 };
        // The rows whose product is with the states themselves.
        let is_gru = net.cell == RecurrentCell::GruResetFirst;
        let direct = if is_gru { 2 * hidden } else { rows };
        // SAFETY: the caller's promise; gradients of parameters have the places of these.
        unsafe {
            self.work.product((steps, width, rows), Matrix::new(of_input, width), [slopes, w], beta)?;
            self.work.product((rows, width, steps), of_w, [slopes.turned(), Matrix::new(input, width)], 0.0)?;
            let states = Matrix::new(before, state);
            self.work.product((direct, state, steps), of_r, [slopes.turned(), states], 0.0)?;
            if is_gru {
                let of_new = Matrix::new(layer.gate(0, 2), rows).turned();
                let factors = [of_new, Matrix::new(layer.left(0), hidden)];
                self.work.product((hidden, hidden, steps), layer.rows(of_r, direct), factors, 0.0)?;
            }
            if net.projection.is_some() {
                let factors = [Matrix::new(self.slopes, state).turned(), Matrix::new(self.raw, hidden)];
                self.work.product((state, hidden, steps), to(RecurrentParameter::Projection)?, factors, 0.0)?;
            }
        }
        Ok(())
    }

    /// The gradients of biases and of peepholes: sums over all steps.
    ///
    /// # Safety
    /// As for [`layer`](Self::layer).
    unsafe fn vectors(&mut self, layer: &Layer<'_>) -> Result<()> {
        let problem = self.work.problem;
        let (net, steps) = (&problem.net, problem.time * problem.batch);
        let (rows, hidden, ones) = (net.rows(), net.hidden, Matrix::new(self.ones, steps));
        let to = |parameter| layer.place(self.of_parameters, parameter);
        let biases = [RecurrentParameter::InputBias, RecurrentParameter::RecurrentBias];
        let biases: Vec<Matrix> = biases.into_iter().filter_map(to).collect();
        // SAFETY: the caller's promise.
        unsafe {
            for bias in biases {
                let factors = [ones, Matrix::new(layer.gates, rows)];
                self.work.product((1, rows, steps), Matrix::new(bias.at, rows), factors, 0.0)?;
            }
            let Some(peepholes) = to(RecurrentParameter::Peephole) else { return Ok(()) };
            let part = |gate: usize| self.weights + (gate * hidden * net.sums().size()) as u64;
            let [before, after] = layer.cells(0);
            let [di, df, do_] = [0, 1, 3].map(|gate| layer.gate(0, gate));
            let addresses = [part(0), part(1), part(2), di, df, do_, before, after];
            self.work.all(Role::WeightsBack, &addresses)?;
            let factors = [ones, Matrix::new(self.weights, 3 * hidden)];
            self.work.product((1, 3 * hidden, steps), Matrix::new(peepholes.at, 3 * hidden), factors, 0.0)
        }
    }
}
