//! What a caller says of an attention.

use crate::core::element::Element;
use crate::device::tensor::{ReadableTensor, TensorRef};
use serde::{Deserialize, Serialize};

/// Where the diagonal of a causal mask ends, if there are not as many queries as keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Corner {
    /// The first query sees the first key alone.
    TopLeft,
    /// The last query sees all keys: those of earlier steps are kept.
    BottomRight,
}

/// What queries see, and the factor of their scores.
///
/// ```
/// use windlass::dnn::{Attention, Corner};
/// let causal = Attention::<f32>::new().causal(Corner::BottomRight).window(128);
/// ```
#[derive(Clone, Debug)]
pub struct Attention<'a, T: Element> {
    pub(super) scale: Option<f64>,
    pub(super) causal: Option<Corner>,
    pub(super) window: Option<usize>,
    pub(super) bias: Option<TensorRef<'a, T>>,
    #[cfg(feature = "rng")]
    pub(super) dropout: Option<(f64, crate::libraries::rng::Stream)>,
    pub(super) sink: Option<TensorRef<'a, T>>,
    pub(super) pages: Option<TensorRef<'a, i32>>,
    pub(super) lengths: Option<[TensorRef<'a, i32>; 2]>,
    pub(super) tf32: bool,
    pub(super) deterministic: bool,
}

impl<T: Element> Default for Attention<'_, T> {
    fn default() -> Self {
        Attention {
            scale: None,
            causal: None,
            window: None,
            bias: None,
            #[cfg(feature = "rng")]
            dropout: None,
            sink: None,
            pages: None,
            lengths: None,
            tf32: false,
            deterministic: false,
        }
    }
}

impl<'a, T: Element> Attention<'a, T> {
    /// Every query sees every key; the factor is 1 / sqrt(width).
    pub fn new() -> Self {
        Self::default()
    }

    /// The factor of the scores: any number, 0 and negative ones too.
    #[must_use]
    pub fn scale(mut self, scale: f64) -> Self {
        self.scale = Some(scale);
        self
    }

    /// A query sees the keys up to its own place. On the CPU what it does not see may be anything; cuDNN multiplies some of it by weights
    /// of 0, and NaN stays NaN.
    #[must_use]
    pub fn causal(mut self, corner: Corner) -> Self {
        self.causal = Some(corner);
        self
    }

    /// A query sees so many keys at most, the last of which is the one at its own place. Needs [`causal`](Self::causal).
    /// A GPU has it at [`Corner::TopLeft`], and where there are as many queries as keys.
    #[must_use]
    pub fn window(mut self, keys: usize) -> Self {
        self.window = Some(keys);
        self
    }

    /// A tensor that is added to the scores after the factor: batch, heads, queries, keys. It is broadcast to these.
    ///
    /// To hide a key, add -inf: its weight is 0, by which its value is multiplied. A large finite number is added as it is, and takes the
    /// lower bits of the score: by -1e9 all keys of a row have one score. On a GPU the logarithms of their sums have that precision too, so
    /// gradients of a row that has nothing else are wrong by a factor; the CPU takes the largest score apart.
    #[must_use]
    pub fn bias(mut self, bias: impl ReadableTensor<'a, T>) -> Self {
        self.bias = Some(bias.into());
        self
    }

    /// For each head one more score, as if there were one more key that every query sees, whose value is zeros: attention that
    /// belongs to no key. [`Dnn::attend_sink_gradient`](crate::dnn::Dnn::attend_sink_gradient) is its gradient.
    #[must_use]
    pub fn sink(mut self, sink: impl ReadableTensor<'a, T>) -> Self {
        self.sink = Some(sink.into());
        self
    }

    /// For each batch, how many of its queries and keys there are; the others are neither seen nor computed: they have zeros as result
    /// and as gradients, also in a batch without queries or keys. Lengths count from 0 to the sizes; what is beyond is as if it were
    /// there. What lies behind them may be anything, NaN too: cuDNN gets a copy of the values, and for gradients of all operands, with
    /// zeros there.
    #[must_use]
    pub fn lengths(mut self, queries: impl ReadableTensor<'a, i32>, keys: impl ReadableTensor<'a, i32>) -> Self {
        self.lengths = Some([queries.into(), keys.into()]);
        self
    }

    /// On a GPU, factors of products of f32 may be rounded to the 10 bits of TF32. Without it cuDNN has no attention of f32.
    #[must_use]
    pub fn tf32(mut self, tf32: bool) -> Self {
        self.tf32 = tf32;
        self
    }

    /// On a GPU, gradients of the same bits each time. The library then needs memory for all scores.
    #[must_use]
    pub fn deterministic(mut self, deterministic: bool) -> Self {
        self.deterministic = deterministic;
        self
    }
}
