//! The backward pass.

use super::super::net::RecurrentProblem;
use super::super::parameters::RecurrentParameter;
use super::super::spec::RecurrentCell;
use super::cells::{Cellular, Slope};
use super::layer::{Layer, Parts, part, part_mut, trimmed};
use super::{Reads, missing};
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::panels::Panels;
use crate::libraries::dnn::product::{Matrix, product};

/// Writes the gradients of the input, the parameters, the initial states and the initial cells.
pub(super) fn back<A: Cellular>(
    problem: &RecurrentProblem,
    given: [bool; 2],
    reads: &Reads<'_, A>,
    writes: Vec<&mut [A]>,
    reserve: &mut [A],
) -> Result<()> {
    let Ok([dx, dw, dh, dc]) = <[&mut [A]; 4]>::try_from(writes) else { return Err(missing()) };
    let mut more = reads.more.iter().copied();
    let (y, dy) = (more.next().ok_or_else(missing)?, more.next().ok_or_else(missing)?);
    for (to, there) in [&mut *dh, &mut *dc].into_iter().zip(given) {
        match if there { more.next() } else { None } {
            Some(from) => to.copy_from_slice(from),
            None => to.fill(A::default()),
        }
    }
    dx.fill(A::default());
    dw.fill(A::default());
    if problem.is_empty() {
        return Ok(());
    }
    let net = &problem.net;
    let parts = Parts::new(problem);
    let between = (net.layers - 1) * parts.states;
    let (states, gates) = reserve.split_at_checked(between).ok_or_else(missing)?;
    let (own_x, own_y) = (trimmed(problem, reads.x, net.input)?, trimmed(problem, y, net.directions() * net.state())?);
    let (x, y) = (own_x.as_deref().unwrap_or(reads.x), own_y.as_deref().unwrap_or(y));
    let mut slopes = room::with_capacity(dy.len())?;
    slopes.extend_from_slice(dy);
    for index in (0..net.layers).rev() {
        let input = if index == 0 { x } else { part(states, index - 1, parts.states) };
        let output = if index + 1 == net.layers { y } else { part(states, index, parts.states) };
        let mut inner = room::zeroed(if index == 0 { 0 } else { parts.states })?;
        let of_input: &mut [A] = if index == 0 { &mut *dx } else { &mut inner };
        for direction in 0..net.directions() {
            let layer = Layer { problem, layer: index, direction };
            let mine = part(gates, layer.index(), parts.gates + parts.extra);
            let (gates, extra) = mine.split_at_checked(parts.gates).ok_or_else(missing)?;
            let pass = Back { layer, reads, input, output, gates, extra };
            pass.run(&slopes, &mut *of_input, &mut *dw, &mut *dh, &mut *dc)?;
        }
        slopes = inner;
    }
    Ok(())
}

pub(super) struct Back<'b, A> {
    pub(super) layer: Layer<'b>,
    pub(super) reads: &'b Reads<'b, A>,
    input: &'b [A],
    pub(super) output: &'b [A],
    pub(super) gates: &'b [A],
    pub(super) extra: &'b [A],
}

impl<A: Cellular> Back<'_, A> {
    /// The state of a sequence before a step, in a row of zeros where there is none.
    pub(super) fn before<'a>(&'a self, all: Option<&'a [A]>, zeros: &'a [A], sequence: usize, width: usize) -> &'a [A] {
        all.map_or(zeros, |all| part(all, self.layer.index() * self.layer.problem.batch + sequence, width))
    }

    fn run(&self, dy: &[A], dx: &mut [A], dw: &mut [A], dh: &mut [A], dc: &mut [A]) -> Result<()> {
        let (problem, net) = (self.layer.problem, &self.layer.problem.net);
        let (batch, rows, hidden, width) = (problem.batch, net.rows(), net.hidden, net.state());
        if net.cell == RecurrentCell::GruResetFirst {
            return self.reset_first(dy, dx, dw, dh);
        }
        let is_gru = net.cell == RecurrentCell::Gru;
        let peepholes = self.layer.peepholes(self.reads.parameters);
        let mut of_gates: Vec<A> = room::zeroed(self.gates.len())?;
        let mut of_products: Vec<A> = room::zeroed(if is_gru { self.gates.len() } else { 0 })?;
        let r = self.layer.matrix(RecurrentParameter::Recurrent).ok_or_else(missing)?;
        let r = Panels::new((rows, width), self.reads.parameters, r)?;
        let (mut raw, mut next) = (room::zeroed(batch * hidden)?, room::zeroed(r.count(batch))?);
        let zeros = room::zeroed(hidden)?;
        let dh = part_mut(dh, self.layer.index(), batch * width);
        let mut no_cells = room::zeroed(if net.is_lstm() { 0 } else { batch * hidden })?;
        let dc = if net.is_lstm() { part_mut(dc, self.layer.index(), batch * hidden) } else { no_cells.as_mut_slice() };
        for time in self.layer.steps().rev() {
            for sequence in (0..batch).filter(|sequence| self.layer.is_active(*sequence, time)) {
                let slope = part_mut(dh, sequence, width);
                slope.iter_mut().zip(self.layer.state(dy, time, sequence)).for_each(|(sum, dy)| *sum = *sum + *dy);
            }
            if net.projection.is_some() {
                self.unproject(time, dh, &mut raw, dw)?;
            }
            for sequence in (0..batch).filter(|sequence| self.layer.is_active(*sequence, time)) {
                let at = time * batch + sequence;
                let earlier = self.layer.before(sequence, time);
                let before = match earlier {
                    Some(time) => self.layer.state(self.output, time, sequence),
                    None => self.before(self.reads.states, &zeros, sequence, width),
                };
                let cell_before = match earlier {
                    Some(time) => part(self.extra, time * batch + sequence, hidden),
                    None => self.before(self.reads.cells, &zeros, sequence, hidden),
                };
                let slope = match net.projection {
                    Some(_) => part_mut(&mut raw, sequence, hidden),
                    None => part_mut(dh, sequence, width),
                };
                Slope {
                    hidden,
                    gates: part(self.gates, at, rows),
                    extra: part(self.extra, at, hidden),
                    before,
                    cell_before,
                    slope,
                    cell_slope: part_mut(dc, sequence, hidden),
                    of_gates: part_mut(&mut of_gates, at, rows),
                    of_products: part_mut(&mut of_products, at, rows),
                    peepholes,
                }
                .back(net.cell);
            }
            let of_states = if is_gru { &of_products } else { &of_gates };
            r.multiply(batch, part(of_states, time, batch * rows), &mut next)?;
            for sequence in (0..batch).filter(|sequence| self.layer.is_active(*sequence, time)) {
                let to = part_mut(dh, sequence, width);
                if !is_gru {
                    to.fill(A::default());
                }
                r.add(sequence, &next, to);
            }
        }
        let of_states = if is_gru { &of_products } else { &of_gates };
        self.parameters(&of_gates, of_states, dx, dw)
    }

    /// The gradient of the states before the projection, and of the projection.
    fn unproject(&self, time: usize, dh: &[A], raw: &mut [A], dw: &mut [A]) -> Result<()> {
        let (net, batch) = (&self.layer.problem.net, self.layer.problem.batch);
        let (hidden, width, rows) = (net.hidden, net.state(), net.rows());
        let p = self.layer.matrix(RecurrentParameter::Projection).ok_or_else(missing)?;
        // What belongs to sequences without this step is not looked at.
        let mut slopes = room::zeroed(batch * width)?;
        let mut states: Vec<A> = room::zeroed(batch * hidden)?;
        for sequence in (0..batch).filter(|sequence| self.layer.is_active(*sequence, time)) {
            part_mut(&mut slopes, sequence, width).copy_from_slice(part(dh, sequence, width));
            let at = time * batch + sequence;
            let output = part(part(self.gates, at, rows), 3, hidden).iter().zip(part(self.extra, at, hidden));
            let to = part_mut(&mut states, sequence, hidden);
            to.iter_mut().zip(output).for_each(|(to, (o, cell))| *to = *o * cell.tanh());
        }
        let (of_raw, of_slopes) = (Matrix::rows(0, hidden), Matrix::rows(0, width));
        product((batch, hidden, width), (raw, of_raw), (&slopes, of_slopes), (self.reads.parameters, p), false, true)?;
        product((width, hidden, batch), (dw, p), (&slopes, of_slopes.turned()), (&states, of_raw), true, true)
    }

    /// The gradients of the input and of the parameters, by those of the sums.
    pub(super) fn parameters(&self, of_gates: &[A], of_states: &[A], dx: &mut [A], dw: &mut [A]) -> Result<()> {
        let (problem, net) = (self.layer.problem, &self.layer.problem.net);
        let (batch, rows, width) = (problem.batch, net.rows(), net.width(self.layer.layer));
        let steps = problem.time * batch;
        let all = Matrix::rows(0, rows);
        let of_input = Matrix::rows(0, width);
        let w = self.layer.matrix(RecurrentParameter::Input).ok_or_else(missing)?;
        product((steps, width, rows), (dx, of_input), (of_gates, all), (self.reads.parameters, w), true, true)?;
        product((rows, width, steps), (&mut *dw, w), (of_gates, all.turned()), (self.input, of_input), true, true)?;
        self.recurrent(of_states, dw)?;
        self.peepholes(of_gates, dw);
        let biases = [(RecurrentParameter::InputBias, of_gates), (RecurrentParameter::RecurrentBias, of_states)];
        for (parameter, slopes) in biases {
            let place = net.place(self.layer.layer, self.layer.direction, parameter);
            let Some((first, ..)) = place else { continue };
            let to = dw.get_mut(first..).unwrap_or_default().get_mut(..rows).unwrap_or_default();
            for row in slopes.chunks(rows) {
                to.iter_mut().zip(row).for_each(|(sum, slope)| *sum = *sum + *slope);
            }
        }
        Ok(())
    }

    /// The gradient of the matrix of the states: of the steps that follow another one, and of the first ones.
    fn recurrent(&self, of_states: &[A], dw: &mut [A]) -> Result<()> {
        let (problem, net) = (self.layer.problem, &self.layer.problem.net);
        let (batch, rows, width) = (problem.batch, net.rows(), net.state());
        let r = self.layer.matrix(RecurrentParameter::Recurrent).ok_or_else(missing)?;
        // The rows whose product is with the states themselves.
        let direct = if net.cell == RecurrentCell::GruResetFirst { 2 * net.hidden } else { rows };
        self.after_reset(of_states, dw)?;
        let count = (problem.time - 1) * batch;
        // Behind the end of a sequence its states are zeros, and so are its gradients.
        let (of_slopes, of_before) = match self.layer.direction {
            0 => (batch * rows, self.layer.states(0)),
            _ => (0, self.layer.states(1)),
        };
        if count > 0 {
            let slopes = (of_states, Matrix::rows(of_slopes, rows).turned());
            product((direct, width, count), (&mut *dw, r), slopes, (self.output, of_before), true, true)?;
        }
        let Some(states) = self.reads.states else { return Ok(()) };
        // Of a sequence without steps the state may be anything, and stays zeros here.
        let (mut first, mut before): (Vec<A>, Vec<A>) = (room::zeroed(batch * rows)?, room::zeroed(batch * width)?);
        for sequence in 0..batch {
            let steps = (0..problem.time).filter(|time| self.layer.is_active(sequence, *time));
            let time = if self.layer.direction == 0 { steps.min() } else { steps.max() };
            let Some(time) = time else { continue };
            part_mut(&mut first, sequence, rows).copy_from_slice(part(of_states, time * batch + sequence, rows));
            let state = part(states, self.layer.index() * batch + sequence, width);
            part_mut(&mut before, sequence, width).copy_from_slice(state);
        }
        let (slopes, before) = ((&first[..], Matrix::rows(0, rows).turned()), (&before[..], Matrix::rows(0, width)));
        product((direct, width, batch), (dw, r), slopes, before, true, true)
    }
}
