//! Where the parameters of a net lie in their buffer.

use super::net::Net;
use super::spec::{Recurrent, RecurrentBias, RecurrentCell};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;

/// A gate of a cell; the order of those of a cell is that of their rows in its matrices.
///
/// | cell | order here, in cuDNN and in PyTorch | order in ONNX |
/// |---|---|---|
/// | plain | [`State`](Self::State) | the same |
/// | LSTM | [`Input`](Self::Input), [`Forget`](Self::Forget), [`State`](Self::State), [`Output`](Self::Output) (i f g o) | i o f c |
/// | GRU | [`Reset`](Self::Reset), [`Update`](Self::Update), [`State`](Self::State) (r z n) | z r h |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecurrentGate {
    /// What becomes the new state: of a plain cell the only one; g (c in ONNX) of an LSTM; n (h in ONNX) of a GRU.
    State,
    /// i of an LSTM.
    Input,
    /// f of an LSTM.
    Forget,
    /// o of an LSTM.
    Output,
    /// r of a GRU.
    Reset,
    /// z of a GRU.
    Update,
}

/// A parameter of a layer in one direction: a matrix whose rows are those of a gate after the other, or a vector. Rows are
/// contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecurrentParameter {
    /// W, of the layer's input: `weight_ih` of PyTorch, W of ONNX.
    Input,
    /// R, of the last state: `weight_hh`, R.
    Recurrent,
    /// The matrix of a projection: `weight_hr`; it has no gates.
    Projection,
    /// The bias beside W: `bias_ih`, the first half of B.
    InputBias,
    /// The bias beside R: `bias_hh`, the second half of B.
    RecurrentBias,
    /// The weights of the cells in the gates i, f and o, in this order: P, in the order i, o and f, of ONNX.
    Peephole,
}

impl RecurrentCell {
    /// The gates, in the order of their rows.
    pub const fn gates(self) -> &'static [RecurrentGate] {
        match self {
            RecurrentCell::Relu | RecurrentCell::Tanh => &[RecurrentGate::State],
            RecurrentCell::Lstm => {
                &[RecurrentGate::Input, RecurrentGate::Forget, RecurrentGate::State, RecurrentGate::Output]
            }
            RecurrentCell::Gru | RecurrentCell::GruResetFirst => {
                &[RecurrentGate::Reset, RecurrentGate::Update, RecurrentGate::State]
            }
        }
    }

    /// The gates, in the order of the rows of ONNX.
    pub const fn onnx_gates(self) -> &'static [RecurrentGate] {
        match self {
            RecurrentCell::Relu | RecurrentCell::Tanh => &[RecurrentGate::State],
            RecurrentCell::Lstm => {
                &[RecurrentGate::Input, RecurrentGate::Output, RecurrentGate::Forget, RecurrentGate::State]
            }
            RecurrentCell::Gru | RecurrentCell::GruResetFirst => {
                &[RecurrentGate::Update, RecurrentGate::Reset, RecurrentGate::State]
            }
        }
    }
}

/// The gates that see the cells, in the order of their weights.
const PEEPING: [RecurrentGate; 3] = [RecurrentGate::Input, RecurrentGate::Forget, RecurrentGate::Output];

/// The first element of a parameter, its rows and its columns.
pub(in super::super) type Place = (usize, usize, usize);

impl Net {
    pub(in super::super) fn gates(&self) -> usize {
        self.cell.gates().len()
    }

    /// Rows of all gates.
    pub(in super::super) fn rows(&self) -> usize {
        self.gates() * self.hidden
    }

    pub(in super::super) fn directions(&self) -> usize {
        if self.bidirectional { 2 } else { 1 }
    }

    /// Elements of a state in one direction.
    pub(in super::super) fn state(&self) -> usize {
        self.projection.unwrap_or(self.hidden)
    }

    /// Elements of a step of a layer's input.
    pub(in super::super) fn width(&self, layer: usize) -> usize {
        if layer == 0 { self.input } else { self.directions() * self.state() }
    }

    pub(in super::super) fn biases(&self) -> usize {
        match self.bias {
            RecurrentBias::None => 0,
            RecurrentBias::Both => 2,
            RecurrentBias::Input | RecurrentBias::Recurrent => 1,
        }
    }

    /// Elements of all matrices of a layer in one direction.
    fn matrices(&self, layer: usize) -> usize {
        self.rows() * (self.width(layer) + self.state()) + self.projection.map_or(0, |p| p * self.hidden)
    }

    /// How many gates see the cells.
    fn peeping(&self) -> usize {
        if self.peepholes { PEEPING.len() } else { 0 }
    }

    /// How many elements all parameters have; `None` if they are too many.
    pub(in super::super) fn parameter_count(&self) -> Option<usize> {
        let rows = self.gates().checked_mul(self.hidden)?;
        let state = self.state().checked_mul(self.directions())?;
        let of = |width: usize| {
            let all = rows.checked_mul(width.checked_add(self.state())?.checked_add(self.biases())?)?;
            all.checked_add(self.projection.map_or(Some(0), |p| p.checked_mul(self.hidden))?)?
                .checked_add(self.peeping().checked_mul(self.hidden)?)?
                .checked_mul(self.directions())
        };
        let later = self.layers.checked_sub(1)?.checked_mul(of(state)?)?;
        of(self.input)?.checked_add(later).filter(|all| isize::try_from(*all).is_ok())
    }

    /// Where a parameter lies; `None` if the net has none such. First all matrices, layer after layer and forward before backward: W,
    /// R, projection; then all biases in the same order: that of W, that of R; then peepholes. The sizes were checked.
    pub(in super::super) fn place(
        &self,
        layer: usize,
        direction: usize,
        parameter: RecurrentParameter,
    ) -> Option<Place> {
        let directions = self.directions();
        if layer >= self.layers || direction >= directions {
            return None;
        }
        let before = if layer == 0 { 0 } else { directions * (self.matrices(0) + (layer - 1) * self.matrices(1)) };
        let first = before + direction * self.matrices(layer);
        let recurrent = first + self.rows() * self.width(layer);
        let all = directions * (self.matrices(0) + (self.layers - 1) * self.matrices(1));
        let bias = all + (layer * directions + direction) * self.biases() * self.rows();
        let peephole = all + self.layers * directions * self.biases() * self.rows();
        let peephole = peephole + (layer * directions + direction) * self.peeping() * self.hidden;
        match (parameter, self.bias) {
            (RecurrentParameter::Peephole, _) if self.peepholes => Some((peephole, self.peeping() * self.hidden, 1)),
            (RecurrentParameter::Input, _) => Some((first, self.rows(), self.width(layer))),
            (RecurrentParameter::Recurrent, _) => Some((recurrent, self.rows(), self.state())),
            (RecurrentParameter::Projection, _) => {
                self.projection.map(|p| (recurrent + self.rows() * self.state(), p, self.hidden))
            }
            (RecurrentParameter::InputBias, RecurrentBias::Input | RecurrentBias::Both) => Some((bias, self.rows(), 1)),
            (RecurrentParameter::RecurrentBias, RecurrentBias::Recurrent) => Some((bias, self.rows(), 1)),
            (RecurrentParameter::RecurrentBias, RecurrentBias::Both) => Some((bias + self.rows(), self.rows(), 1)),
            _ => None,
        }
    }
}

impl Recurrent {
    /// How many elements the buffer of all parameters has; `None` if these are too many, or the net is none.
    pub fn parameter_count(&self) -> Option<usize> {
        let net = Net::new(self, DType::F32);
        net.check().ok().and_then(|()| net.parameter_count())
    }

    /// Where a parameter of a layer lies in the buffer of all: that of a gate, or of all gates one after the other. `direction` is 0
    /// for forward, 1 for backward. A tensor of the whole buffer with this layout is the parameter.
    ///
    /// Matrices come first, layer after layer and forward before backward: W, R, projection; then the biases in the same order: that
    /// beside W, that beside R; then the weights of peepholes.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::{RecurrentGate, RecurrentParameter, Recurrent};
    /// let net = Recurrent::lstm(3, 2);
    /// let forget = net.parameter(0, 0, RecurrentParameter::Recurrent, RecurrentGate::Forget)?;
    /// assert_eq!((forget.shape(), forget.offset()), (&[2, 2][..], 8 * 3 + 2 * 2));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a parameter, a gate, a layer or a direction that the net does not have.
    pub fn parameter(
        &self,
        layer: usize,
        direction: usize,
        parameter: RecurrentParameter,
        gate: impl Into<Option<RecurrentGate>>,
    ) -> Result<Layout> {
        let net = Net::new(self, DType::F32);
        net.check()?;
        let place = net.place(layer, direction, parameter);
        let none = |name, what: String| Error::invalid(name, what);
        let (mut first, mut rows, columns) = place.ok_or_else(|| {
            none(
                "parameter",
                format!("{parameter:?} of layer {layer} in direction {direction}, which the net does not have"),
            )
        })?;
        if let Some(gate) = gate.into() {
            let gates = match parameter {
                RecurrentParameter::Projection => &[],
                RecurrentParameter::Peephole => &PEEPING[..],
                _ => self.cell.gates(),
            };
            let at = gates.iter().position(|one| *one == gate);
            let at = at.ok_or_else(|| {
                none("gate", format!("{gate:?}, which {parameter:?} of {:?} does not have", self.cell))
            })?;
            (first, rows) = (first + at * self.hidden * columns, self.hidden);
        }
        let is_vector = columns == 1
            && !matches!(
                parameter,
                RecurrentParameter::Input | RecurrentParameter::Recurrent | RecurrentParameter::Projection
            );
        let step = isize::try_from(columns).map_err(|_| none("input", format!("{columns} columns")))?;
        match is_vector {
            true => Layout::new([rows], [1], first),
            false => Layout::new([rows, columns], [step, 1], first),
        }
    }
}
