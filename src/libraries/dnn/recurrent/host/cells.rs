//! The formulas of the cells: a step of one sequence, forth and back.

use super::super::spec::RecurrentCell;
use crate::libraries::dnn::product::{Real, exponential};
use pulp::{Arch, Simd, WithSimd};
use std::ops::Neg;

/// The functions of the cells. Those of f32 are polynomials without branches, so that a row is computed several elements at once.
pub(super) trait Cellular: Real + Neg<Output = Self> {
    fn tanh(self) -> Self;
    fn logistic(self) -> Self;
}

impl Cellular for f64 {
    fn tanh(self) -> f64 {
        f64::tanh(self)
    }
    fn logistic(self) -> f64 {
        1.0 / (1.0 + (-self).exp())
    }
}

impl Cellular for f32 {
    #[inline(always)]
    fn tanh(self) -> f32 {
        let square = self * self;
        // Taylor's series near 0, where the quotient cancels.
        let p = -1382.0 / 155_925.0;
        let p = p * square + 62.0 / 2835.0;
        let p = p * square - 17.0 / 315.0;
        let p = p * square + 2.0 / 15.0;
        let p = p * square - 1.0 / 3.0;
        let near = self * (1.0 + square * p);
        let e = exponential(-2.0 * self.abs());
        let far = ((1.0 - e) / (1.0 + e)).copysign(self);
        if square < 0.04 { near } else { far }
    }

    #[inline(always)]
    fn logistic(self) -> f32 {
        let e = exponential(-self.abs());
        let quotient = 1.0 / (1.0 + e);
        if self < 0.0 { e * quotient } else { quotient }
    }
}

/// A row of gates, split into the gates.
pub(super) fn split<A, const N: usize>(row: &mut [A], hidden: usize) -> [&mut [A]; N] {
    let mut rest = row;
    [(); N].map(|()| {
        let (gate, behind) = std::mem::take(&mut rest).split_at_mut_checked(hidden).unwrap_or_default();
        rest = behind;
        gate
    })
}

pub(super) fn part<A>(row: &[A], gate: usize, hidden: usize) -> &[A] {
    row.get(gate * hidden..).unwrap_or_default().get(..hidden).unwrap_or_default()
}

/// A sequence at a step.
pub(super) struct Step<'s, A> {
    pub(super) hidden: usize,
    /// The sums of all gates, which become the gates. Those of a GRU lack the product with the states.
    pub(super) gates: &'s mut [A],
    /// The cells of an LSTM at this step; the product of a GRU's new state with the last one.
    pub(super) extra: &'s mut [A],
    /// The products of a GRU with the last states, with their biases.
    pub(super) products: &'s [A],
    /// The cell before the step, which becomes that after it.
    pub(super) cell: &'s mut [A],
    /// The state before the step, which becomes that after it; unless it is projected.
    pub(super) state: &'s mut [A],
    /// The weights of the cells in the gates of an LSTM; empty without peepholes.
    pub(super) peepholes: &'s [A],
}

/// A step of a cell, compiled for the machine's vectors: what it calls is inlined.
struct Forth<'s, A>(Step<'s, A>, RecurrentCell);

impl<A: Cellular> WithSimd for Forth<'_, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Forth(step, cell) = self;
        match cell {
            RecurrentCell::Relu => step.plain(|x| if x < A::default() { A::default() } else { x }),
            RecurrentCell::Tanh => step.plain(A::tanh),
            RecurrentCell::Lstm if !step.peepholes.is_empty() => step.peeping(),
            RecurrentCell::Lstm => step.lstm(),
            RecurrentCell::Gru => step.gru(),
            // Its step has two halves: [`ResetFirst`].
            RecurrentCell::GruResetFirst => {}
        }
    }
}

/// A sequence at a step of a GRU whose reset gate precedes the product: before and behind that.
pub(super) enum ResetFirst<'s, A> {
    /// The sums of the reset and the update gate, which become the gates; the state, and what the reset gate leaves of it.
    Gates { gates: &'s mut [A], state: &'s [A], left: &'s mut [A] },
    /// The update gate; the sums of the new state, which become it; the state before the step, which becomes that after it.
    State { z: &'s [A], n: &'s mut [A], state: &'s mut [A] },
}

impl<A: Cellular> ResetFirst<'_, A> {
    pub(super) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl<A: Cellular> WithSimd for ResetFirst<'_, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        match self {
            ResetFirst::Gates { gates, state, left } => {
                for gate in gates.iter_mut() {
                    *gate = gate.logistic();
                }
                for (left, (r, h)) in left.iter_mut().zip(gates.iter().zip(state)) {
                    *left = *r * *h;
                }
            }
            ResetFirst::State { z, n, state } => {
                for ((state, z), n) in state.iter_mut().zip(z).zip(n) {
                    *n = n.tanh();
                    *state = (A::ONE - *z) * *n + *z * *state;
                }
            }
        }
    }
}

impl<A: Cellular> Step<'_, A> {
    pub(super) fn forth(self, cell: RecurrentCell) {
        Arch::new().dispatch(Forth(self, cell));
    }

    #[inline(always)]
    fn plain(self, f: impl Fn(A) -> A) {
        for (gate, state) in self.gates.iter_mut().zip(self.state) {
            *gate = f(*gate);
            *state = *gate;
        }
    }

    #[inline(always)]
    fn lstm(self) {
        let [i, f, g, o] = split(self.gates, self.hidden);
        for x in i.iter_mut() {
            *x = x.logistic();
        }
        for x in f.iter_mut() {
            *x = x.logistic();
        }
        for x in g.iter_mut() {
            *x = x.tanh();
        }
        for x in o.iter_mut() {
            *x = x.logistic();
        }
        let inputs = i.iter().zip(f.iter()).zip(g.iter());
        for (((i, f), g), (cell, extra)) in inputs.zip(self.cell.iter_mut().zip(self.extra)) {
            *cell = *f * *cell + *i * *g;
            *extra = *cell;
        }
        for ((state, o), cell) in self.state.iter_mut().zip(o.iter()).zip(self.cell.iter()) {
            *state = *o * cell.tanh();
        }
    }

    #[inline(always)]
    fn gru(self) {
        let h = self.hidden;
        let [r, z, n] = split(self.gates, h);
        for (x, product) in r.iter_mut().zip(part(self.products, 0, h)) {
            *x = (*x + *product).logistic();
        }
        for (x, product) in z.iter_mut().zip(part(self.products, 1, h)) {
            *x = (*x + *product).logistic();
        }
        self.extra.copy_from_slice(part(self.products, 2, h));
        for ((x, r), product) in n.iter_mut().zip(r.iter()).zip(self.extra.iter()) {
            *x = (*x + *r * *product).tanh();
        }
        for ((state, z), n) in self.state.iter_mut().zip(z.iter()).zip(n.iter()) {
            *state = (A::ONE - *z) * *n + *z * *state;
        }
    }
}

/// A sequence at a step of a backward pass.
pub(super) struct Slope<'s, A> {
    pub(super) hidden: usize,
    pub(super) gates: &'s [A],
    pub(super) extra: &'s [A],
    /// The state and the cell before the step.
    pub(super) before: &'s [A],
    pub(super) cell_before: &'s [A],
    /// The gradient of the state after the step; of a GRU it becomes the part of that before the step that passes no product.
    pub(super) slope: &'s mut [A],
    /// The gradient of the cell after the step, which becomes that before it.
    pub(super) cell_slope: &'s mut [A],
    /// Of the sums of the gates; of a GRU, of their products with the states too.
    pub(super) of_gates: &'s mut [A],
    pub(super) of_products: &'s mut [A],
    pub(super) peepholes: &'s [A],
}

/// A step of a backward pass, as [`Forth`].
struct Back<'s, A>(Slope<'s, A>, RecurrentCell);

impl<A: Cellular> WithSimd for Back<'_, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Back(step, cell) = self;
        match cell {
            RecurrentCell::Relu => step.plain(|slope, y| if y > A::default() { slope } else { A::default() }),
            RecurrentCell::Tanh => step.plain(|slope, y| slope * (A::ONE - y * y)),
            RecurrentCell::Lstm if !step.peepholes.is_empty() => step.peeping(),
            RecurrentCell::Lstm => step.lstm(),
            RecurrentCell::Gru => step.gru(),
            // `reset.rs` has the passes of the other one.
            RecurrentCell::GruResetFirst => {}
        }
    }
}

impl<A: Cellular> Slope<'_, A> {
    pub(super) fn back(self, cell: RecurrentCell) {
        Arch::new().dispatch(Back(self, cell));
    }

    #[inline(always)]
    fn plain(self, f: impl Fn(A, A) -> A) {
        for ((to, slope), gate) in self.of_gates.iter_mut().zip(self.slope.iter()).zip(self.gates) {
            *to = f(*slope, *gate);
        }
    }

    #[inline(always)]
    fn lstm(self) {
        let h = self.hidden;
        let [di, df, dg, do_] = split(self.of_gates, h);
        let [i, f, g, o] = [0, 1, 2, 3].map(|gate| part(self.gates, gate, h));
        for ((cell_slope, slope), ((to, o), cell)) in
            self.cell_slope.iter_mut().zip(self.slope.iter()).zip(do_.iter_mut().zip(o).zip(self.extra))
        {
            let tanh = cell.tanh();
            *cell_slope = *cell_slope + *slope * *o * (A::ONE - tanh * tanh);
            *to = *slope * tanh * *o * (A::ONE - *o);
        }
        let gates = i.iter().zip(f).zip(g).zip(self.cell_before);
        let slopes = di.iter_mut().zip(df).zip(dg).zip(self.cell_slope);
        for ((((i, f), g), before), (((di, df), dg), dc)) in gates.zip(slopes) {
            *di = *dc * *g * *i * (A::ONE - *i);
            *df = *dc * *before * *f * (A::ONE - *f);
            *dg = *dc * *i * (A::ONE - *g * *g);
            *dc = *dc * *f;
        }
    }

    #[inline(always)]
    fn gru(self) {
        let h = self.hidden;
        let [dr, dz, dn] = split(self.of_gates, h);
        let [pr, pz, pn] = split(self.of_products, h);
        let [r, z, n] = [0, 1, 2].map(|gate| part(self.gates, gate, h));
        let gates = r.iter().zip(z).zip(n).zip(self.extra.iter().zip(self.before));
        let slopes = dr.iter_mut().zip(dz).zip(dn).zip(pr.iter_mut().zip(pz).zip(pn)).zip(self.slope);
        for ((((r, z), n), (product, before)), ((((dr, dz), dn), ((pr, pz), pn)), slope)) in gates.zip(slopes) {
            *dn = *slope * (A::ONE - *z) * (A::ONE - *n * *n);
            *dz = *slope * (*before - *n) * *z * (A::ONE - *z);
            *dr = *dn * *product * *r * (A::ONE - *r);
            (*pr, *pz, *pn) = (*dr, *dz, *dn * *r);
            *slope = *slope * *z;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cellular;

    #[test]
    fn polynomials_are_the_functions() {
        for k in -200_000..=200_000i32 {
            let x = (k as f32) / 2_000.0;
            let (tanh, logistic) = (f64::from(x).tanh(), 1.0 / (1.0 + (-f64::from(x)).exp()));
            assert!(
                (f64::from(Cellular::tanh(x)) - tanh).abs() <= 3e-7 * tanh.abs(),
                "{x}: {} {tanh}",
                Cellular::tanh(x)
            );
            let error = (f64::from(x.logistic()) - logistic).abs();
            assert!(error <= 4e-7 * logistic + 1e-37, "{x}: {} {logistic}", x.logistic());
        }
        assert!(Cellular::tanh(f32::NAN).is_nan() && f32::NAN.logistic().is_nan());
        assert_eq!(
            [Cellular::tanh(-0.0f32).to_bits(), Cellular::tanh(1e-30f32).to_bits()],
            [1 << 31, 1e-30f32.to_bits()]
        );
        assert_eq!(
            [Cellular::tanh(f32::INFINITY), f32::INFINITY.logistic(), f32::NEG_INFINITY.logistic()],
            [1.0, 1.0, f32::NEG_INFINITY.logistic()]
        );
        assert_eq!(f32::NEG_INFINITY.logistic(), 0.0);
    }
}
