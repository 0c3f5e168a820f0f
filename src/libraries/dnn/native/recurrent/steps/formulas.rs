//! The cells as formulas, forth and back; the equations are those of the host (`../../../recurrent/host`).

use super::super::super::super::formulas::{Value, cast, either};
use crate::core::element::DType;
use crate::core::truth::Bool;
use crate::libraries::expressions::build::Operand;
use crate::libraries::expressions::build::position;
use crate::libraries::expressions::{Symbol, constant};

/// What the formulas of a call have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types {
    /// Of the operands of the call.
    pub(super) own: DType,
    /// Of sums.
    pub(super) wide: DType,
    /// Of the outputs of this layer.
    pub(super) output: DType,
    /// Sequences have lengths: each formula of a step takes them as its last input.
    pub(super) masked: bool,
}

/// A number that is a part of the formula.
fn n(x: f64) -> Operand<f64> {
    constant(x).into()
}

/// The slope of the logistic function, by its value; and of tanh.
fn logistic_slope(y: Value) -> Value {
    y * (-y + n(1.0))
}
fn tanh_slope(y: Value) -> Value {
    -(y * y) + n(1.0)
}

impl Types {
    /// Whether a sequence has the step, whose number is the formula's only parameter.
    fn active(self, inputs: &[Value]) -> Option<Symbol<Bool>> {
        let lengths = inputs.last().filter(|_| self.masked)?;
        Some(Symbol::<i32>::new(lengths.raw).gt(0i32))
    }

    /// The value, or for a sequence without the step another one.
    fn chosen(self, active: Option<Symbol<Bool>>, value: Value, other: impl Into<Operand<f64>>) -> Value {
        active.map_or(value, |active| either(active, value, other, self.wide))
    }

    /// As the operands of the call have it.
    fn rounded(self, x: Value) -> Value {
        cast(cast(x, self.own), self.wide)
    }

    /// The state and the output of a step, by the new state and the one before.
    fn settled(self, inputs: &[Value], state: Value, before: Value) -> [Value; 2] {
        let (active, state) = (self.active(inputs), self.rounded(state));
        let output = self.chosen(active, state, n(0.0));
        [self.chosen(active, state, before), cast(output, self.output)]
    }

    /// Of an element of the input: it in the type of sums, or 0 behind the end of its sequence, whose length is the second input.
    pub(super) fn input(self, inputs: &[Value]) -> Vec<Value> {
        let [x, lengths @ ..] = inputs else { return Vec::new() };
        let x = cast(*x, self.wide);
        let active = lengths.first().map(|length| {
            let length = Symbol::<i64>::new(Symbol::<i32>::new(length.raw).cast::<i64>().raw);
            position(0).lt(length)
        });
        vec![self.chosen(active, x, n(0.0))]
    }

    /// In the type of sums; 0 for a sequence without steps.
    pub(super) fn widened(self, inputs: &[Value]) -> Vec<Value> {
        let Some(x) = inputs.first() else { return Vec::new() };
        vec![self.chosen(self.active(inputs), cast(*x, self.wide), n(0.0))]
    }

    pub(super) fn wide_of(self, inputs: &[Value]) -> Vec<Value> {
        inputs.first().map(|x| cast(*x, self.wide)).into_iter().collect()
    }

    pub(super) fn narrowed(self, inputs: &[Value]) -> Vec<Value> {
        inputs.first().map(|x| cast(*x, self.own)).into_iter().collect()
    }

    /// The sum of biases.
    pub(super) fn biases(self, inputs: &[Value]) -> Vec<Value> {
        inputs.iter().copied().reduce(|a, b| a + b).into_iter().collect()
    }
}

/// An LSTM with peepholes.
impl Types {
    /// Of the sums of i, f and g, the cell, and the weights of i and f: these gates and the new cell.
    pub(super) fn gates(self, inputs: &[Value]) -> Vec<Value> {
        let [i, f, g, cell, of_i, of_f, ..] = *inputs else { return Vec::new() };
        let (i, f, g) = ((i + of_i * cell).sigmoid(), (f + of_f * cell).sigmoid(), g.tanh());
        vec![i, f, g, self.chosen(self.active(inputs), f * cell + i * g, cell)]
    }

    /// Of the sum of o, the new cell, and the weight: o, and the state before it is projected.
    pub(super) fn raw_states(self, inputs: &[Value]) -> Vec<Value> {
        let [o, cell, of_o, ..] = *inputs else { return Vec::new() };
        let o = (o + of_o * cell).sigmoid();
        vec![o, o * cell.tanh()]
    }

    /// Likewise without a projection, and of the state before: o, the state and the output.
    pub(super) fn states(self, inputs: &[Value]) -> Vec<Value> {
        let [o, cell, of_o, before, ..] = *inputs else { return Vec::new() };
        let o = (o + of_o * cell).sigmoid();
        let [state, output] = self.settled(inputs, o * cell.tanh(), before);
        vec![o, state, output]
    }

    /// Of the projected state and the state before: the state and the output.
    pub(super) fn projected(self, inputs: &[Value]) -> Vec<Value> {
        let [state, before, ..] = *inputs else { return Vec::new() };
        self.settled(inputs, state, before).into()
    }

    /// Of o and the cell: the state before it was projected.
    pub(super) fn unprojected(self, inputs: &[Value]) -> Vec<Value> {
        let [o, cell, ..] = *inputs else { return Vec::new() };
        vec![o * cell.tanh()]
    }

    /// The gradient of the state, by that of later steps and of the output; and what a sequence without the step keeps of the first.
    fn slope(self, active: Option<Symbol<Bool>>, later: Value, of_output: Value) -> [Value; 2] {
        let slope = later + cast(of_output, self.wide);
        let kept = match active {
            Some(active) => either(active, n(0.0), later, self.wide),
            None => later,
        };
        [self.chosen(active, slope, n(0.0)), kept]
    }

    /// Of a projected state: its gradient, and what is kept.
    pub(super) fn slopes(self, inputs: &[Value]) -> Vec<Value> {
        let [later, of_output, ..] = *inputs else { return Vec::new() };
        let slopes = self.slope(self.active(inputs), later, of_output);
        slopes.into_iter().take(1 + usize::from(self.masked)).collect()
    }

    /// The gradient of the sum of o, and all of that of the cell.
    fn of_output_gate(
        self,
        active: Option<Symbol<Bool>>,
        slope: Value,
        [o, cell, later, of_o]: [Value; 4],
    ) -> [Value; 2] {
        let tanh = cell.tanh();
        let of_gate = slope * tanh * logistic_slope(o);
        let of_cell = later + slope * o * tanh_slope(tanh) + of_gate * of_o;
        [self.chosen(active, of_gate, n(0.0)), self.chosen(active, of_cell, later)]
    }

    /// Of the gradients of the state and of the output, o, the cell, its gradient, the weight: the gradients of the sum of o and of the
    /// cell, and what is kept of that of the state.
    pub(super) fn states_back(self, inputs: &[Value]) -> Vec<Value> {
        let [later, of_output, o, cell, of_cell, of_o, ..] = *inputs else { return Vec::new() };
        let active = self.active(inputs);
        let [slope, kept] = self.slope(active, later, of_output);
        let made = self.of_output_gate(active, slope, [o, cell, of_cell, of_o]);
        made.into_iter().chain(self.masked.then_some(kept)).collect()
    }

    /// Likewise of the gradient before the projection.
    pub(super) fn raw_states_back(self, inputs: &[Value]) -> Vec<Value> {
        let [slope, o, cell, of_cell, of_o, ..] = *inputs else { return Vec::new() };
        self.of_output_gate(self.active(inputs), slope, [o, cell, of_cell, of_o]).into()
    }

    /// Of the gradient of the cell, i, f, g, the cell before, the weights of i and f: the gradients of these sums, and of the cell
    /// before.
    pub(super) fn gates_back(self, inputs: &[Value]) -> Vec<Value> {
        let [slope, i, f, g, before, of_i, of_f, ..] = *inputs else { return Vec::new() };
        let active = self.active(inputs);
        let (di, df) = (slope * g * logistic_slope(i), slope * before * logistic_slope(f));
        let dg = slope * i * tanh_slope(g);
        let earlier = slope * f + di * of_i + df * of_f;
        let mut all: Vec<Value> = [di, df, dg].map(|slope| self.chosen(active, slope, n(0.0))).into();
        all.push(self.chosen(active, earlier, slope));
        all
    }

    /// Of the gradients of the sums of i, f and o, the cell before and the cell: what their weights sum.
    pub(super) fn weights_back(self, inputs: &[Value]) -> Vec<Value> {
        let [di, df, do_, before, cell] = *inputs else { return Vec::new() };
        vec![di * before, df * before, do_ * cell]
    }
}

/// A GRU whose reset gate precedes the product.
impl Types {
    /// Of the sums of r and z and the state: these gates, and what r leaves of the state.
    pub(super) fn reset(self, inputs: &[Value]) -> Vec<Value> {
        let [r, z, state, ..] = *inputs else { return Vec::new() };
        let r = r.sigmoid();
        vec![r, z.sigmoid(), r * state]
    }

    /// Of the sum of n, z and the state before: n, the state and the output.
    pub(super) fn made(self, inputs: &[Value]) -> Vec<Value> {
        let [new, z, before, ..] = *inputs else { return Vec::new() };
        let new = new.tanh();
        let [state, output] = self.settled(inputs, (-z + n(1.0)) * new + z * before, before);
        vec![new, state, output]
    }

    /// Of the gradients of the state and of the output, z, n, the state before: the gradients of the sums of z and n, and of the state
    /// before by z alone.
    pub(super) fn made_back(self, inputs: &[Value]) -> Vec<Value> {
        let [later, of_output, z, new, before, ..] = *inputs else { return Vec::new() };
        let (active, slope) = (self.active(inputs), later + cast(of_output, self.wide));
        let of_z = slope * (before - new) * logistic_slope(z);
        let of_new = slope * (-z + n(1.0)) * tanh_slope(new);
        let [of_z, of_new] = [of_z, of_new].map(|slope| self.chosen(active, slope, n(0.0)));
        vec![of_z, of_new, self.chosen(active, slope * z, later)]
    }

    /// Of the gradient of what r has left, that of the state before so far, r, the state before: the gradient of the sum of r, and more
    /// of that of the state before.
    pub(super) fn reset_back(self, inputs: &[Value]) -> Vec<Value> {
        let [left, earlier, r, before, ..] = *inputs else { return Vec::new() };
        let active = self.active(inputs);
        let of_r = left * before * logistic_slope(r);
        vec![self.chosen(active, of_r, n(0.0)), self.chosen(active, earlier + left * r, earlier)]
    }
}
