//! What a caller says of a recurrent net.

use serde::{Deserialize, Serialize};

/// What a net computes at a step, of its input x and its last state h. `W`, `R` and both biases are of each gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum RecurrentCell {
    /// `max(0, W x + R h + b)`.
    Relu,
    /// `tanh(W x + R h + b)`.
    Tanh,
    /// Gates i, f, g and o: `c' = f * c + i * g`, `h' = o * tanh(c')`; g is a tanh, the others are logistic. Hochreiter and
    /// Schmidhuber 1997, Gers et al. 2000.
    Lstm,
    /// Gates r, z and n: `h' = (1 - z) * n + z * h` with `n = tanh(W x + b + r * (R h + b'))`: the reset gate follows the product
    /// (`linear_before_reset = 1` of ONNX; PyTorch has the same). Cho et al. 2014.
    Gru,
    /// [`Gru`](Self::Gru) with the reset gate before the product, as it was published: `n = tanh(W x + b + R (r * h) + b')`
    /// (`linear_before_reset = 0` of ONNX). cuDNN has none such: a GPU computes it by products and kernels at each step.
    GruResetFirst,
}

/// Which biases a net has, for each gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RecurrentBias {
    /// None.
    None,
    /// One, beside the product with the input.
    Input,
    /// One, beside the product with the state.
    Recurrent,
    /// Both, as PyTorch and ONNX have.
    Both,
}

/// A recurrent net: its cell, its sizes and its layers.
///
/// ```
/// use windlass::dnn::Recurrent;
/// let net = Recurrent::lstm(16, 32).layers(2).bidirectional(true);
/// assert_eq!(net.parameter_count(), Some(2 * (128 * 16 + 128 * 32) + 2 * (128 * 64 + 128 * 32) + 4 * 2 * 128));
/// ```
///
/// [`Dnn::recur`](crate::dnn::Dnn::recur) computes it; where its parameters lie is told by [`parameter`](Self::parameter).
/// There is no dropout between layers: a call for each layer with `Dnn::dropout` between them has the same bits on each engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Recurrent {
    pub(super) cell: RecurrentCell,
    pub(super) input: usize,
    pub(super) hidden: usize,
    pub(super) projection: Option<usize>,
    pub(super) layers: usize,
    pub(super) bidirectional: bool,
    pub(super) bias: RecurrentBias,
    pub(super) peepholes: bool,
    pub(super) tf32: bool,
}

impl Recurrent {
    /// One layer in one direction, with both biases: vectors of `input` elements in, states of `hidden` elements.
    pub fn new(cell: RecurrentCell, input: usize, hidden: usize) -> Self {
        let bias = RecurrentBias::Both;
        Recurrent {
            cell,
            input,
            hidden,
            projection: None,
            layers: 1,
            bidirectional: false,
            bias,
            peepholes: false,
            tf32: false,
        }
    }

    /// As [`new`](Self::new), of [`RecurrentCell::Lstm`].
    pub fn lstm(input: usize, hidden: usize) -> Self {
        Self::new(RecurrentCell::Lstm, input, hidden)
    }

    /// As [`new`](Self::new), of [`RecurrentCell::Gru`].
    pub fn gru(input: usize, hidden: usize) -> Self {
        Self::new(RecurrentCell::Gru, input, hidden)
    }

    /// How many layers, each of which reads the states of the one before.
    #[must_use]
    pub fn layers(mut self, layers: usize) -> Self {
        self.layers = layers;
        self
    }

    /// Each layer reads its input in both directions, and its states are those of both, one after the other.
    #[must_use]
    pub fn bidirectional(mut self, bidirectional: bool) -> Self {
        self.bidirectional = bidirectional;
        self
    }

    /// Which biases there are.
    #[must_use]
    pub fn bias(mut self, bias: RecurrentBias) -> Self {
        self.bias = bias;
        self
    }

    /// The states of an LSTM are multiplied by a matrix, and have so many elements: fewer than `hidden`. Sak et al. 2014.
    #[must_use]
    pub fn projection(mut self, projection: usize) -> Self {
        self.projection = Some(projection);
        self
    }

    /// The gates of an LSTM see its cells: `p * c` is added to the sums of i and f, of the new cells `c'` to that of o, with a vector of
    /// weights for each ([`RecurrentParameter::Peephole`](crate::dnn::RecurrentParameter::Peephole)). Gers and Schmidhuber 2000. cuDNN
    /// has no such nets: a GPU computes them by products and kernels at each step.
    #[must_use]
    pub fn peepholes(mut self, peepholes: bool) -> Self {
        self.peepholes = peepholes;
        self
    }

    /// On a GPU, factors of products of f32 may be rounded to the 10 bits of TF32, for speed. Other types and the CPU ignore it.
    #[must_use]
    pub fn tf32(mut self, tf32: bool) -> Self {
        self.tf32 = tf32;
        self
    }
}
