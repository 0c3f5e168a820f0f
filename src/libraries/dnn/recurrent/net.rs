//! A net and a call with all their sizes: what both engines compute.

use super::spec::{Recurrent, RecurrentBias, RecurrentCell};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::libraries::tensor_routine::{Operand, Operands};
use serde::{Deserialize, Serialize};

/// A net of some element type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in super::super) struct Net {
    pub(in super::super) cell: RecurrentCell,
    pub(in super::super) dtype: DType,
    pub(in super::super) input: usize,
    pub(in super::super) hidden: usize,
    /// Of an LSTM; fewer than `hidden`.
    pub(in super::super) projection: Option<usize>,
    pub(in super::super) layers: usize,
    pub(in super::super) bidirectional: bool,
    pub(in super::super) bias: RecurrentBias,
    /// Of an LSTM.
    pub(in super::super) peepholes: bool,
    pub(in super::super) tf32: bool,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in super::super) struct RecurrentProblem {
    pub(in super::super) net: Net,
    /// Steps of the longest sequence that the tensors hold.
    pub(in super::super) time: usize,
    pub(in super::super) batch: usize,
    /// Steps of each sequence, unless all have as many.
    pub(in super::super) lengths: Option<Vec<i32>>,
    /// Whether there are initial states, and initial cells.
    pub(in super::super) initial: [bool; 2],
    /// Elements of the reserve, of the type of sums: 0 if the pass is not for training.
    pub(in super::super) reserve: usize,
}

impl Net {
    pub(super) fn new(spec: &Recurrent, dtype: DType) -> Self {
        let Recurrent { cell, input, hidden, projection, layers, bidirectional, bias, peepholes, tf32 } = *spec;
        // Only f32 has the choice: one plan serves both.
        let tf32 = tf32 && dtype == DType::F32;
        Net { cell, dtype, input, hidden, projection, layers, bidirectional, bias, peepholes, tf32 }
    }

    /// Checks what may have come from elsewhere.
    pub(super) fn check(&self) -> Result<()> {
        if !matches!(self.dtype, DType::F16 | DType::Bf16 | DType::F32 | DType::F64) {
            let what = format!("elements of {}; f16, bf16, f32 and f64 are possible", self.dtype);
            return Err(Error::invalid("x", what));
        }
        for (name, n) in [("input", self.input), ("hidden", self.hidden), ("layers", self.layers)] {
            if n == 0 || i32::try_from(n).is_err() {
                return Err(Error::invalid(name, format!("{n}; 1 to {} are possible", i32::MAX)));
            }
        }
        if let Some(projection) = self.projection {
            if self.cell != RecurrentCell::Lstm {
                return Err(Error::invalid("projection", format!("a {:?} has none; only an LSTM can", self.cell)));
            }
            if projection == 0 || projection >= self.hidden {
                let what = format!("{projection} elements; 1 to {} are possible", self.hidden - 1);
                return Err(Error::invalid("projection", what));
            }
        }
        if self.peepholes && !self.is_lstm() {
            return Err(Error::invalid("peepholes", format!("a {:?} has no cells; only an LSTM has", self.cell)));
        }
        match self.parameter_count() {
            Some(_) => Ok(()),
            None => {
                Err(Error::invalid("hidden", format!("{} make more parameters than there are addresses", self.hidden)))
            }
        }
    }

    pub(in super::super) fn is_lstm(&self) -> bool {
        self.cell == RecurrentCell::Lstm
    }

    /// Whether cuDNN has no such net, so that a GPU computes it by products and kernels of our own.
    pub(in super::super) fn is_own(&self) -> bool {
        self.peepholes || self.cell == RecurrentCell::GruResetFirst
    }

    /// The type of sums.
    pub(in super::super) fn sums(&self) -> DType {
        if self.dtype == DType::F64 { DType::F64 } else { DType::F32 }
    }

    /// Elements that the host keeps of a step, for each element of a state: the gates, the cell of an LSTM, the product of a GRU or
    /// the state that its reset gate has left.
    pub(super) fn kept(&self) -> usize {
        match self.cell {
            RecurrentCell::Relu | RecurrentCell::Tanh => 1,
            RecurrentCell::Lstm => 5,
            RecurrentCell::Gru | RecurrentCell::GruResetFirst => 4,
        }
    }
}

impl RecurrentProblem {
    /// The product; `usize::MAX` if it is too large, which no buffer has.
    fn product(sizes: &[usize]) -> usize {
        sizes.iter().fold(1, |all, n| all.saturating_mul(*n))
    }

    /// Extents of the input, of the states at all steps, of the last states and of the last cells.
    pub(super) fn extents_of_x(&self) -> [usize; 3] {
        [self.time, self.batch, self.net.input]
    }
    pub(super) fn extents_of_y(&self) -> [usize; 3] {
        [self.time, self.batch, self.net.directions().saturating_mul(self.net.state())]
    }
    pub(super) fn extents_of_h(&self) -> [usize; 3] {
        [self.net.layers.saturating_mul(self.net.directions()), self.batch, self.net.state()]
    }
    pub(super) fn extents_of_c(&self) -> [usize; 3] {
        let [all, batch, _] = self.extents_of_h();
        [if self.net.is_lstm() { all } else { 0 }, batch, self.net.hidden]
    }

    pub(super) fn parameters(&self) -> usize {
        self.net.parameter_count().unwrap_or(usize::MAX)
    }

    /// Whether no step is computed.
    pub(in super::super) fn is_empty(&self) -> bool {
        let none = self.lengths.as_ref().is_some_and(|all| all.iter().all(|n| *n == 0));
        self.time == 0 || self.batch == 0 || none
    }

    /// Elements that a GPU without cuDNN keeps of a layer in one direction: the gates, the states before and after all steps, and
    /// the same of the cells of an LSTM, or what the reset gates of a GRU have left of the states.
    pub(in super::super) fn kept_by_steps(&self) -> usize {
        let (net, product) = (&self.net, RecurrentProblem::product);
        let places = self.time.saturating_add(1);
        let extra = if net.is_lstm() { places } else { self.time };
        let all = [
            product(&[self.time, self.batch, net.rows()]),
            product(&[places, self.batch, net.state()]),
            product(&[extra, self.batch, net.hidden]),
        ];
        all.into_iter().fold(0, usize::saturating_add)
    }

    /// The elements of the reserve of an engine. That of cuDNN is measured, and has a margin: the library is asked when it is used.
    pub(super) fn reserve(&self, is_host: bool) -> Option<usize> {
        let net = &self.net;
        let steps = RecurrentProblem::product(&[self.time, self.batch, net.directions()]);
        let states = (net.layers - 1).checked_mul(net.state())?;
        let all = match is_host {
            true => steps.checked_mul(net.layers.checked_mul(net.kept() * net.hidden)?.checked_add(states)?)?,
            false if net.is_own() => {
                let layers = net.layers.checked_mul(net.directions())?;
                layers.checked_mul(self.kept_by_steps())?.checked_add(steps.checked_mul(states)?)?
            }
            false => {
                // Measured are the gates, a cell or a product, an input of a later layer; and half a KiB.
                let gates = (net.gates() + 4).checked_mul(net.hidden)?.checked_add(net.state())?;
                let (own, sum) = (net.dtype.size(), net.sums().size());
                let bytes = steps.checked_mul(net.layers)?.checked_mul(gates)?.checked_mul(own)?;
                bytes.div_ceil(sum).checked_add((1 << 16) / sum)?
            }
        };
        (all <= isize::MAX as usize / 8).then_some(all)
    }

    /// An operand of the type of the net.
    fn operand(&self, name: &'static str, extents: [usize; 3]) -> Operand<'_> {
        Operand::exactly(name, self.net.dtype, RecurrentProblem::product(&extents))
    }

    /// What the forward pass reads and writes.
    pub(super) fn forward(&self) -> Operands<'_> {
        let initial = [("h0", self.extents_of_h()), ("c0", self.extents_of_c())];
        let initial = initial.into_iter().zip(self.initial).filter(|(_, there)| *there);
        let parameters = Operand::exactly("parameters", self.net.dtype, self.parameters());
        let reads = [self.operand("x", self.extents_of_x()), parameters]
            .into_iter()
            .chain(initial.map(|((name, extents), _)| self.operand(name, extents)));
        let last = [("y", self.extents_of_y()), ("h", self.extents_of_h()), ("c", self.extents_of_c())];
        let reserve = (self.reserve > 0).then(|| Operand::exactly("reserve", self.net.sums(), self.reserve));
        Operands::new(reads, last.map(|(name, extents)| self.operand(name, extents)).into_iter().chain(reserve))
    }

    /// What the backward pass reads and writes: the reserve first, which it uses up. `given`: whether there are gradients of the last
    /// states and cells.
    pub(super) fn backward(&self, given: [bool; 2]) -> Operands<'_> {
        let Operands { reads, writes } = self.forward();
        let [y, h, c] = [self.extents_of_y(), self.extents_of_h(), self.extents_of_c()];
        let last = [("dh", h), ("dc", c)].into_iter().zip(given).filter(|(_, there)| *there).map(|(one, _)| one);
        let more = [("y", y), ("dy", y)].into_iter().chain(last).map(|(name, extents)| self.operand(name, extents));
        let dx = self.operand("dx", self.extents_of_x());
        let dparameters = Operand::exactly("dparameters", self.net.dtype, self.parameters());
        let initial = [self.operand("dh0", h), self.operand("dc0", c)];
        let gradients = [dx, dparameters].into_iter().chain(initial);
        Operands::new(reads.into_iter().chain(more), writes.into_iter().skip(3).chain(gradients))
    }

    pub(super) fn check(&self) -> Result<()> {
        self.net.check()?;
        for (name, n) in [("time", self.time), ("batch", self.batch)] {
            if i32::try_from(n).is_err() {
                return Err(Error::invalid("x", format!("{n} as its {name}; at most {} are possible", i32::MAX)));
            }
        }
        if self.initial[1] && !self.net.is_lstm() {
            return Err(Error::invalid("c0", format!("a {:?} has no cells; only an LSTM has", self.net.cell)));
        }
        let Some(lengths) = &self.lengths else { return Ok(()) };
        if lengths.len() != self.batch {
            return Err(Error::invalid("lengths", format!("{} of them, but {} sequences", lengths.len(), self.batch)));
        }
        let out = lengths.iter().find(|n| usize::try_from(**n).is_ok_and(|n| n > self.time) || **n < 0);
        match out {
            Some(n) => Err(Error::invalid("lengths", format!("{n}, but the tensors have {} steps", self.time))),
            None => Ok(()),
        }
    }

    /// About how many multiplications a forward pass makes.
    pub(super) fn work(&self) -> u64 {
        let of_step = self.parameters() as u64;
        of_step.saturating_mul(self.time as u64).saturating_mul(self.batch as u64)
    }
}
