//! An LSTM whose gates see its cells (F. Gers and J. Schmidhuber, 2000).

use super::super::parameters::RecurrentParameter;
use super::back::Back;
use super::cells::{Cellular, Slope, Step, part, split};
use super::layer::part as row;

impl<A: Cellular> Step<'_, A> {
    #[inline(always)]
    pub(super) fn peeping(self) {
        let h = self.hidden;
        let [i, f, g, o] = split(self.gates, h);
        let [of_i, of_f, of_o] = [0, 1, 2].map(|gate| part(self.peepholes, gate, h));
        let (of_cells, gates) = (of_i.iter().zip(of_f).zip(of_o), i.iter_mut().zip(f).zip(g).zip(o));
        let cells = self.cell.iter_mut().zip(self.extra).zip(self.state);
        for (((of_i, of_f), of_o), ((((i, f), g), o), ((cell, extra), state))) in of_cells.zip(gates.zip(cells)) {
            *i = (*i + *of_i * *cell).logistic();
            *f = (*f + *of_f * *cell).logistic();
            *g = g.tanh();
            *cell = *f * *cell + *i * *g;
            *extra = *cell;
            *o = (*o + *of_o * *cell).logistic();
            *state = *o * cell.tanh();
        }
    }
}

impl<A: Cellular> Slope<'_, A> {
    #[inline(always)]
    pub(super) fn peeping(self) {
        let h = self.hidden;
        let [di, df, dg, do_] = split(self.of_gates, h);
        let [i, f, g, o] = [0, 1, 2, 3].map(|gate| part(self.gates, gate, h));
        let [of_i, of_f, of_o] = [0, 1, 2].map(|gate| part(self.peepholes, gate, h));
        let gates = i.iter().zip(f).zip(g).zip(o).zip(self.extra.iter().zip(self.cell_before));
        let slopes = di.iter_mut().zip(df).zip(dg).zip(do_).zip(self.slope.iter().zip(self.cell_slope));
        let of_cells = of_i.iter().zip(of_f).zip(of_o);
        for ((((((i, f), g), o), (cell, before)), ((((di, df), dg), do_), (slope, dc))), ((of_i, of_f), of_o)) in
            gates.zip(slopes).zip(of_cells)
        {
            let tanh = cell.tanh();
            *do_ = *slope * tanh * *o * (A::ONE - *o);
            let all = *dc + *slope * *o * (A::ONE - tanh * tanh) + *do_ * *of_o;
            *di = all * *g * *i * (A::ONE - *i);
            *df = all * *before * *f * (A::ONE - *f);
            *dg = all * *i * (A::ONE - *g * *g);
            *dc = all * *f + *di * *of_i + *df * *of_f;
        }
    }
}

impl<A: Cellular> Back<'_, A> {
    /// The gradients of the weights of the cells, step after step.
    pub(super) fn peepholes(&self, of_gates: &[A], dw: &mut [A]) {
        let (problem, net) = (self.layer.problem, &self.layer.problem.net);
        let (hidden, rows) = (net.hidden, net.rows());
        let place = net.place(self.layer.layer, self.layer.direction, RecurrentParameter::Peephole);
        let Some((first, count, _)) = place else { return };
        let to = dw.get_mut(first..).unwrap_or_default().get_mut(..count).unwrap_or_default();
        let [of_i, of_f, of_o] = split(to, hidden);
        let steps = (0..problem.time).flat_map(|time| (0..problem.batch).map(move |sequence| (time, sequence)));
        for (time, sequence) in steps.filter(|(time, sequence)| self.layer.is_active(*sequence, *time)) {
            let at = time * problem.batch + sequence;
            let slopes = row(of_gates, at, rows);
            let before = match self.layer.before(sequence, time) {
                Some(time) => Some(row(self.extra, time * problem.batch + sequence, hidden)),
                None => self.reads.cells.map(|all| row(all, self.layer.index() * problem.batch + sequence, hidden)),
            };
            let seen = [before, before, Some(row(self.extra, at, hidden))];
            for (to, (gate, cells)) in
                [&mut *of_i, &mut *of_f, &mut *of_o].into_iter().zip([0, 1, 3].into_iter().zip(seen))
            {
                let slopes = part(slopes, gate, hidden).iter().zip(cells.unwrap_or_default());
                to.iter_mut().zip(slopes).for_each(|(sum, (slope, cell))| *sum = *sum + *slope * *cell);
            }
        }
    }
}
