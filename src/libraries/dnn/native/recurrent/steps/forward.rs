//! The forward pass.

use super::super::super::super::recurrent::{RecurrentParameter, RecurrentProblem};
use super::kernels::{Pass, Role};
use super::memory::{Layer, Matrix, bytes};
use super::work::Work;
use crate::core::buffer::AnySpan;
use crate::core::error::Result;
use crate::engines::cuda::Queue;
use crate::libraries::dnn::RecurrentCell;

/// The operands that are read.
pub(in super::super) struct Reads<'s> {
    pub(in super::super) x: &'s AnySpan,
    pub(in super::super) parameters: &'s AnySpan,
    pub(in super::super) initial: [Option<&'s AnySpan>; 2],
}

/// Enqueues a forward pass over operands that were checked; there is a step.
pub(in super::super) fn forward(
    problem: &RecurrentProblem,
    reads: &Reads<'_>,
    [y, h, c]: [&AnySpan; 3],
    reserve: Option<u64>,
    queue: &mut Queue<'_>,
) -> Result<()> {
    let net = &problem.net;
    let mut work = Work::new(problem, queue, Pass::Forward)?;
    let x = work.input(reads.x)?;
    let parameters = work.parameters(reads.parameters)?;
    let of_layer = bytes(problem, &[problem.kept_by_steps()])? as u64;
    let between = bytes(problem, &[problem.time, problem.batch, net.directions(), net.state()])? as u64;
    let inner = between * (net.layers as u64 - 1);
    if net.projection.is_some() {
        work.spare = [work.scratch(&[problem.batch, net.hidden])?, work.scratch(&[problem.batch, net.state()])?];
    }
    let kept = match reserve {
        Some(reserve) => reserve,
        // One layer after the other has the same memory.
        None => work.queue.scratch(usize::try_from(inner.saturating_add(of_layer)).unwrap_or(usize::MAX))?,
    };
    for index in 0..net.layers {
        let input = if index == 0 { x } else { kept + between * (index as u64 - 1) };
        let output = if index + 1 == net.layers { y.address() } else { kept + between * index as u64 };
        for direction in 0..net.directions() {
            let place = if reserve.is_some() { (index * net.directions() + direction) as u64 } else { 0 };
            let layer = Layer::new(problem, (index, direction), parameters, kept + inner + place * of_layer);
            // SAFETY: what is kept has as many bytes as the layers take (`RecurrentProblem::kept_by_steps`), or there is memory of one; the operands
            // have the sizes of the problem.
            unsafe { work.layer(&layer, reads, (input, output), [h, c]) }?;
        }
    }
    Ok(())
}

impl Work<'_, '_> {
    /// # Safety
    /// Input and output are those of the layer, and its memory and the operands have the sizes of the problem.
    unsafe fn layer(
        &mut self,
        layer: &Layer<'_>,
        reads: &Reads<'_>,
        (input, output): (u64, u64),
        [h, c]: [&AnySpan; 2],
    ) -> Result<()> {
        let net = &self.problem.net;
        let [first, last] = layer.ends();
        let [h0, c0] = reads.initial;
        // SAFETY: the caller's promise: all of it is memory of the layer, and the operands.
        unsafe {
            self.sums(layer, input)?;
            self.begin(layer, false, layer.states(first)[0], h0)?;
            if net.is_lstm() {
                self.begin(layer, true, layer.cells(first)[0], c0)?;
            }
            for step in layer.steps() {
                match net.cell {
                    RecurrentCell::GruResetFirst => self.reset_first(layer, step, output)?,
                    _ => self.peeping(layer, step, output)?,
                }
            }
            self.end(layer, false, h, layer.states(last)[1])?;
            if net.is_lstm() {
                self.end(layer, true, c, layer.cells(last)[1])?;
            }
        }
        Ok(())
    }

    /// The sums of the gates that need no states: all biases and the product with the input.
    ///
    /// # Safety
    /// As for [`layer`](Self::layer).
    unsafe fn sums(&mut self, layer: &Layer<'_>, input: u64) -> Result<()> {
        let net = &self.problem.net;
        let biases = [RecurrentParameter::InputBias, RecurrentParameter::RecurrentBias];
        let biases = biases.into_iter().filter_map(|bias| layer.place(layer.parameters, bias));
        let addresses: Vec<u64> = [layer.gates].into_iter().chain(biases.map(|bias| bias.at)).collect();
        let (width, rows, steps) = (net.width(layer.layer), net.rows(), self.problem.time * self.problem.batch);
        let w = layer.matrix(RecurrentParameter::Input)?.turned();
        let beta = if addresses.len() > 1 { 1.0 } else { 0.0 };
        // SAFETY: the caller's promise; a gate and the parameters that the net has.
        unsafe {
            if addresses.len() > 1 {
                self.all(Role::Biases, &addresses)?;
            }
            let to = Matrix::new(layer.gates, rows);
            self.product((steps, rows, width), to, [Matrix::new(input, width), w], beta)
        }
    }

    /// The address of the outputs of a step.
    fn output(&self, layer: &Layer<'_>, step: usize, all: u64) -> u64 {
        let net = &self.problem.net;
        layer.output(all, step, if layer.last() { net.dtype.size() } else { net.sums().size() })
    }

    /// A step of an LSTM with peepholes.
    ///
    /// # Safety
    /// As for [`layer`](Self::layer).
    unsafe fn peeping(&mut self, layer: &Layer<'_>, step: usize, output: u64) -> Result<()> {
        let (net, batch) = (&self.problem.net, self.problem.batch);
        let (rows, hidden, state, last) = (net.rows(), net.hidden, net.state(), layer.last());
        let ([before, after], [cell, next]) = (layer.states(step), layer.cells(step));
        let [i, f, g, o] = [0, 1, 2, 3].map(|gate| layer.gate(step, gate));
        let [of_i, of_f, of_o] = layer.peepholes()?;
        let output = self.output(layer, step, output);
        let r = layer.matrix(RecurrentParameter::Recurrent)?.turned();
        // SAFETY: the caller's promise.
        unsafe {
            self.product((batch, rows, state), Matrix::new(i, rows), [Matrix::new(before, state), r], 1.0)?;
            self.step(Role::Gates, step, &[i, f, g, next, i, f, g, cell, of_i, of_f])?;
            let Some(_) = net.projection else {
                return self.step(Role::States { last }, step, &[o, after, output, o, next, of_o, before]);
            };
            let [raw, made] = self.spare;
            self.all(Role::RawStates, &[o, raw, o, next, of_o])?;
            let p = layer.matrix(RecurrentParameter::Projection)?.turned();
            self.product((batch, state, hidden), Matrix::new(made, state), [Matrix::new(raw, hidden), p], 0.0)?;
            self.step(Role::Projected { last }, step, &[after, output, made, before])
        }
    }

    /// A step of a GRU whose reset gate precedes the product.
    ///
    /// # Safety
    /// As for [`layer`](Self::layer).
    unsafe fn reset_first(&mut self, layer: &Layer<'_>, step: usize, output: u64) -> Result<()> {
        let (net, batch) = (&self.problem.net, self.problem.batch);
        let (rows, hidden, last) = (net.rows(), net.hidden, layer.last());
        let ([before, after], left) = (layer.states(step), layer.left(step));
        let [r, z, n] = [0, 1, 2].map(|gate| layer.gate(step, gate));
        let output = self.output(layer, step, output);
        let all = layer.matrix(RecurrentParameter::Recurrent)?;
        let (of_gates, of_new) = (all.turned(), layer.rows(all, 2 * hidden).turned());
        // SAFETY: the caller's promise.
        unsafe {
            let states = Matrix::new(before, hidden);
            self.product((batch, 2 * hidden, hidden), Matrix::new(r, rows), [states, of_gates], 1.0)?;
            self.all(Role::Reset, &[r, z, left, r, z, before])?;
            self.product((batch, hidden, hidden), Matrix::new(n, rows), [Matrix::new(left, hidden), of_new], 1.0)?;
            self.step(Role::New { last }, step, &[n, after, output, n, z, before])
        }
    }
}
