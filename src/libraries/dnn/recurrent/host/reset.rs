//! A GRU whose reset gate precedes the product: each step has two, that of the new state behind that of the gates.

use super::super::parameters::RecurrentParameter;
use super::super::spec::RecurrentCell;
use super::back::Back;
use super::cells::{Cellular, ResetFirst, part as gate_of, split};
use super::forth::{Forth, least};
use super::layer::{part, part_mut};
use super::missing;
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::panels::Panels;
use crate::libraries::dnn::product::{Matrix, product};
use crate::numerics::parallel::{Parts, each_pair};

impl<A: Cellular> Forth<'_, A> {
    /// As the other pass; what is kept beside the gates is the state after the reset gate, zeros where a sequence has no step.
    pub(super) fn reset_first(
        &self,
        input: &[A],
        (gates, extra): (&mut [A], &mut [A]),
        output: &mut [A],
        state: &mut [A],
    ) -> Result<()> {
        let (net, batch, layer) = (&self.layer.problem.net, self.layer.problem.batch, &self.layer);
        let (rows, hidden) = (net.rows(), net.hidden);
        self.sums(input, gates)?;
        let place = net.place(layer.layer, layer.direction, RecurrentParameter::Recurrent);
        let (first, ..) = place.ok_or_else(missing)?;
        let of_gates = Matrix::rows(first, hidden).turned();
        let of_state = Matrix::rows(first + 2 * hidden * hidden, hidden).turned();
        let of_gates = Panels::new((hidden, 2 * hidden), self.parameters, of_gates)?;
        let of_state = Panels::new((hidden, hidden), self.parameters, of_state)?;
        let mut products = room::zeroed(of_gates.count(batch))?;
        let parts = Parts::with_size(rows).least(least(rows));
        for time in layer.steps() {
            let (gates, extra) = (part_mut(gates, time, batch * rows), part_mut(extra, time, batch * hidden));
            of_gates.multiply(batch, state, &mut products)?;
            each_pair(gates, extra, (parts, hidden), &|sequence, gates, left| {
                if !layer.is_active(sequence, time) {
                    return left.fill(A::default());
                }
                let gates = gates.get_mut(..2 * hidden).unwrap_or_default();
                of_gates.add(sequence, &products, gates);
                ResetFirst::Gates { gates, state: part(state, sequence, hidden), left }.run();
            });
            of_state.multiply(batch, extra, &mut products)?;
            each_pair(gates, state, (parts, hidden), &|sequence, gates, state| {
                if !layer.is_active(sequence, time) {
                    return;
                }
                let [_, z, n] = split(gates, hidden);
                of_state.add(sequence, &products, n);
                ResetFirst::State { z, n, state }.run();
            });
            self.settle(time, state, output);
        }
        Ok(())
    }
}

impl<A: Cellular> Back<'_, A> {
    pub(super) fn reset_first(&self, dy: &[A], dx: &mut [A], dw: &mut [A], dh: &mut [A]) -> Result<()> {
        let (problem, net, layer) = (self.layer.problem, &self.layer.problem.net, &self.layer);
        let (batch, rows, hidden) = (problem.batch, net.rows(), net.hidden);
        let parameters = self.reads.parameters;
        let place = net.place(layer.layer, layer.direction, RecurrentParameter::Recurrent);
        let (first, ..) = place.ok_or_else(missing)?;
        let of_gates = Panels::new((2 * hidden, hidden), parameters, Matrix::rows(first, hidden))?;
        let after = first + 2 * hidden * hidden;
        let of_state = Panels::new((hidden, hidden), parameters, Matrix::rows(after, hidden))?;
        let mut slopes: Vec<A> = room::zeroed(self.gates.len())?;
        // Those of a step, dense: of both gates, of the new state, and what the products make of them.
        let (mut gates, mut states) = (room::zeroed(batch * 2 * hidden)?, room::zeroed(batch * hidden)?);
        let (mut products, mut left) = (room::zeroed(of_gates.count(batch))?, room::zeroed(hidden)?);
        let zeros = room::zeroed(hidden)?;
        let dh = part_mut(dh, layer.index(), batch * hidden);
        for time in layer.steps().rev() {
            let active = || (0..batch).filter(|sequence| layer.is_active(*sequence, time));
            let before = |sequence| match layer.before(sequence, time) {
                Some(time) => layer.state(self.output, time, sequence),
                None => self.before(self.reads.states, &zeros, sequence, hidden),
            };
            gates.fill(A::default());
            states.fill(A::default());
            for sequence in active() {
                let (slope, at) = (part_mut(dh, sequence, hidden), time * batch + sequence);
                slope.iter_mut().zip(layer.state(dy, time, sequence)).for_each(|(sum, dy)| *sum = *sum + *dy);
                let [_, z, n] = [0, 1, 2].map(|gate| gate_of(part(self.gates, at, rows), gate, hidden));
                let [_, dz] = split(part_mut(&mut gates, sequence, 2 * hidden), hidden);
                let dn = part_mut(&mut states, sequence, hidden);
                let kept = z.iter().zip(n).zip(before(sequence)).zip(slope.iter());
                for ((((z, n), before), slope), (dz, dn)) in kept.zip(dz.iter_mut().zip(dn)) {
                    *dn = *slope * (A::ONE - *z) * (A::ONE - *n * *n);
                    *dz = *slope * (*before - *n) * *z * (A::ONE - *z);
                }
            }
            of_state.multiply(batch, &states, &mut products)?;
            for sequence in active() {
                let (slope, at) = (part_mut(dh, sequence, hidden), time * batch + sequence);
                left.fill(A::default());
                of_state.add(sequence, &products, &mut left);
                let [r, z] = [0, 1].map(|gate| gate_of(part(self.gates, at, rows), gate, hidden));
                let [dr, _] = split(part_mut(&mut gates, sequence, 2 * hidden), hidden);
                let kept = r.iter().zip(z).zip(before(sequence)).zip(&left);
                for ((((r, z), before), left), (dr, slope)) in kept.zip(dr.iter_mut().zip(slope)) {
                    *dr = *left * *before * *r * (A::ONE - *r);
                    *slope = *slope * *z + *left * *r;
                }
            }
            of_gates.multiply(batch, &gates, &mut products)?;
            for sequence in active() {
                of_gates.add(sequence, &products, part_mut(dh, sequence, hidden));
                let all = part(&gates, sequence, 2 * hidden).iter().chain(part(&states, sequence, hidden));
                let to = part_mut(&mut slopes, time * batch + sequence, rows);
                to.iter_mut().zip(all).for_each(|(to, from)| *to = *from);
            }
        }
        self.parameters(&slopes, &slopes, dx, dw)
    }

    /// The gradient of the part of the matrix of the states that multiplies what the reset gate has left; of other nets nothing.
    pub(super) fn after_reset(&self, slopes: &[A], dw: &mut [A]) -> Result<()> {
        let (problem, net) = (self.layer.problem, &self.layer.problem.net);
        if net.cell != RecurrentCell::GruResetFirst {
            return Ok(());
        }
        let (steps, rows, hidden) = (problem.time * problem.batch, net.rows(), net.hidden);
        let r = self.layer.matrix(RecurrentParameter::Recurrent).ok_or_else(missing)?;
        let to = Matrix { first: r.first + 2 * hidden * r.down, ..r };
        let of_slopes = Matrix { first: 2 * hidden, down: rows, right: 1 };
        let from = (self.extra, Matrix::rows(0, hidden));
        product((hidden, hidden, steps), (dw, to), (slopes, of_slopes.turned()), from, true, true)
    }
}
