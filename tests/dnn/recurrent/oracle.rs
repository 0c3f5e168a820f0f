//! Recurrent nets by the definition, one sequence after the other, in f64; their gradients by central differences.

use crate::common::Rng;
use windlass::dnn::{Recurrent, RecurrentBias, RecurrentCell};

/// A call with all its sizes.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) cell: RecurrentCell,
    pub(crate) time: usize,
    pub(crate) batch: usize,
    pub(crate) input: usize,
    pub(crate) hidden: usize,
    pub(crate) projection: Option<usize>,
    pub(crate) layers: usize,
    pub(crate) both_ways: bool,
    pub(crate) bias: RecurrentBias,
    pub(crate) peepholes: bool,
    pub(crate) lengths: Option<Vec<usize>>,
    pub(crate) initial: [bool; 2],
}

/// What a pass reads: the input, the parameters, the initial states and cells.
#[derive(Clone)]
pub(crate) struct Operands {
    pub(crate) all: [Vec<f64>; 4],
}

/// By a loop that is fast without optimisation, too.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (mut sum, mut k) = (0.0, 0);
    while k < a.len() {
        sum += a[k] * b[k];
        k += 1;
    }
    sum
}

impl Case {
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let cell = rng.pick(&[
            RecurrentCell::Relu,
            RecurrentCell::Tanh,
            RecurrentCell::Lstm,
            RecurrentCell::Lstm,
            RecurrentCell::Gru,
        ]);
        let (time, batch) = (1 + rng.below(5), 1 + rng.below(4));
        let hidden = 1 + rng.below(6);
        let is_lstm = cell == RecurrentCell::Lstm;
        let projection = (is_lstm && hidden > 1 && rng.below(3) == 0).then(|| 1 + rng.below(hidden - 1));
        let lengths = (rng.below(2) == 0).then(|| (0..batch).map(|_| rng.below(time + 1)).collect());
        Case {
            cell,
            time,
            batch,
            input: 1 + rng.below(6),
            hidden,
            projection,
            layers: rng.pick(&[1, 1, 2, 3]),
            both_ways: rng.below(2) == 0,
            bias: rng.pick(&[
                RecurrentBias::Both,
                RecurrentBias::Both,
                RecurrentBias::None,
                RecurrentBias::Input,
                RecurrentBias::Recurrent,
            ]),
            peepholes: false,
            lengths,
            initial: [rng.below(2) == 0, is_lstm && rng.below(2) == 0],
        }
    }

    /// With what cuDNN does not have: peepholes, or the reset gate first.
    pub(crate) fn beyond_cudnn(mut self) -> Self {
        self.peepholes = self.cell == RecurrentCell::Lstm;
        if self.cell == RecurrentCell::Gru {
            self.cell = RecurrentCell::GruResetFirst;
        }
        self
    }

    pub(crate) fn net(&self) -> Recurrent {
        let net = Recurrent::new(self.cell, self.input, self.hidden).layers(self.layers).bidirectional(self.both_ways);
        let net = net.bias(self.bias).peepholes(self.peepholes);
        self.projection.map_or(net.clone(), |p| net.projection(p))
    }

    /// Whether cuDNN has no such nets.
    pub(crate) fn is_beyond_cudnn(&self) -> bool {
        self.peepholes || self.cell == RecurrentCell::GruResetFirst
    }

    pub(crate) fn ways(&self) -> usize {
        if self.both_ways { 2 } else { 1 }
    }
    pub(crate) fn state(&self) -> usize {
        self.projection.unwrap_or(self.hidden)
    }
    pub(crate) fn gates(&self) -> usize {
        match self.cell {
            RecurrentCell::Lstm => 4,
            RecurrentCell::Gru | RecurrentCell::GruResetFirst => 3,
            _ => 1,
        }
    }
    pub(crate) fn x(&self) -> [usize; 3] {
        [self.time, self.batch, self.input]
    }
    pub(crate) fn y(&self) -> [usize; 3] {
        [self.time, self.batch, self.ways() * self.state()]
    }
    pub(crate) fn h(&self) -> [usize; 3] {
        [self.layers * self.ways(), self.batch, self.state()]
    }
    pub(crate) fn c(&self) -> [usize; 3] {
        let layers = if self.cell == RecurrentCell::Lstm { self.layers * self.ways() } else { 0 };
        [layers, self.batch, self.hidden]
    }
    pub(crate) fn length(&self, b: usize) -> usize {
        self.lengths.as_ref().map_or(self.time, |all| all[b])
    }

    /// Small enough that the states of plain nets do not grow much.
    pub(crate) fn operands(&self, rng: &mut Rng, round: impl Fn(f64) -> f64) -> Operands {
        let mut list = |n: usize, there: bool| -> Vec<f64> {
            (0..n).map(|_| if there { round(rng.real() * 0.75) } else { 0.0 }).collect()
        };
        let count = |e: [usize; 3]| e.iter().product::<usize>();
        let (x, w) = (list(count(self.x()), true), list(self.net().parameter_count().unwrap(), true));
        let [has_h, has_c] = self.initial;
        Operands { all: [x, w, list(count(self.h()), has_h), list(count(self.c()), has_c)] }
    }

    /// The states of all steps, the last states, the last cells.
    pub(crate) fn forward(&self, operands: &Operands) -> [Vec<f64>; 3] {
        let [x, w, h0, c0] = &operands.all;
        let (g, h, p, ways) = (self.gates(), self.hidden, self.state(), self.ways());
        let width = |layer: usize| if layer == 0 { self.input } else { ways * p };
        let of_bias = match self.bias {
            RecurrentBias::None => 0,
            RecurrentBias::Both => 2,
            _ => 1,
        };
        // The matrices one after the other; the biases behind all of them.
        let matrices = |layer: usize| g * h * (width(layer) + p) + self.projection.map_or(0, |p| p * h);
        let all: usize = (0..self.layers).map(|layer| ways * matrices(layer)).sum();
        let mut last_h = h0.clone();
        let mut last_c = c0.clone();
        let mut input = x.clone();
        let mut first = 0;
        for layer in 0..self.layers {
            let mut output = vec![0.0; self.time * self.batch * ways * p];
            for way in 0..ways {
                let (n, index) = (width(layer), layer * ways + way);
                // Rows of the matrices.
                let wi = |row: usize| &w[first + row * n..][..n];
                let wr = |row: usize| &w[first + g * h * n + row * p..][..p];
                let wp = |row: usize| &w[first + g * h * (n + p) + row * h..][..h];
                let bias = |which: usize, row: usize| w[all + index * of_bias * g * h + which * g * h + row];
                let bi = |row: usize| match self.bias {
                    RecurrentBias::Input | RecurrentBias::Both => bias(0, row),
                    _ => 0.0,
                };
                let br = |row: usize| match self.bias {
                    RecurrentBias::Recurrent => bias(0, row),
                    RecurrentBias::Both => bias(1, row),
                    _ => 0.0,
                };
                let seen = |gate: usize, k: usize| match self.peepholes {
                    true => w[all + self.layers * ways * of_bias * g * h + (index * 3 + gate) * h + k],
                    false => 0.0,
                };
                for b in 0..self.batch {
                    let at = |k: usize, width: usize| (index * self.batch + b) * width + k;
                    let mut state: Vec<f64> = (0..p).map(|k| h0[at(k, p)]).collect();
                    let mut cell: Vec<f64> = (0..h).map(|k| c0.get(at(k, h)).copied().unwrap_or(0.0)).collect();
                    let length = self.length(b);
                    for step in 0..length {
                        let t = if way == 0 { step } else { length - 1 - step };
                        let from = (t * self.batch + b) * n;
                        let sum = |row: usize| bi(row) + dot(wi(row), &input[from..from + n]);
                        let product = |row: usize| br(row) + dot(wr(row), &state);
                        let s = |x: f64| 1.0 / (1.0 + (-x).exp());
                        let mut next = vec![0.0; h];
                        // What the reset gate leaves: only of such a GRU, which has no projection.
                        let count = if self.cell == RecurrentCell::GruResetFirst { h } else { 0 };
                        let left: Vec<f64> = (0..count).map(|k| s(sum(k) + product(k)) * state[k]).collect();
                        let after = |row: usize| br(row) + dot(wr(row), &left);
                        for k in 0..h {
                            let gate = |gate: usize| sum(gate * h + k) + product(gate * h + k);
                            next[k] = match self.cell {
                                RecurrentCell::Relu => gate(0).max(0.0),
                                RecurrentCell::Tanh => gate(0).tanh(),
                                RecurrentCell::Lstm => {
                                    let (i, f) = (gate(0) + seen(0, k) * cell[k], gate(1) + seen(1, k) * cell[k]);
                                    cell[k] = s(f) * cell[k] + s(i) * gate(2).tanh();
                                    s(gate(3) + seen(2, k) * cell[k]) * cell[k].tanh()
                                }
                                RecurrentCell::GruResetFirst => {
                                    let (z, n) = (s(gate(1)), (sum(2 * h + k) + after(2 * h + k)).tanh());
                                    (1.0 - z) * n + z * state[k]
                                }
                                // The only other one.
                                _ => {
                                    let (r, z) = (s(gate(0)), s(gate(1)));
                                    let n = (sum(2 * h + k) + r * product(2 * h + k)).tanh();
                                    (1.0 - z) * n + z * state[k]
                                }
                            };
                        }
                        state = match self.projection {
                            None => next,
                            Some(_) => (0..p).map(|row| dot(wp(row), &next)).collect(),
                        };
                        let to = (t * self.batch + b) * ways * p + way * p;
                        output[to..to + p].copy_from_slice(&state);
                    }
                    (0..p).for_each(|k| last_h[at(k, p)] = state[k]);
                    if self.cell == RecurrentCell::Lstm {
                        (0..h).for_each(|k| last_c[at(k, h)] = cell[k]);
                    }
                }
                first += matrices(layer);
            }
            input = output;
        }
        [input, last_h, last_c]
    }

    /// The gradients of all operands, by those of all results.
    pub(crate) fn gradients(&self, operands: &Operands, slopes: &[Vec<f64>; 3]) -> [Vec<f64>; 4] {
        let loss = |operands: &Operands| -> f64 {
            let all = self.forward(operands);
            all.iter().zip(slopes).flat_map(|(y, d)| y.iter().zip(d)).map(|(y, d)| y * d).sum()
        };
        let mut moved = operands.clone();
        [0, 1, 2, 3].map(|k| {
            (0..operands.all[k].len())
                .map(|i| {
                    let (at, step) = (operands.all[k][i], 1e-5);
                    moved.all[k][i] = at + step;
                    let above = loss(&moved);
                    moved.all[k][i] = at - step;
                    let below = loss(&moved);
                    moved.all[k][i] = at;
                    (above - below) / (2.0 * step)
                })
                .collect()
        })
    }
}
