//! How a product is to be enqueued, as plain data: it crosses to a worker with the product.

use super::epilogue::WritePlaces;
use serde::{Deserialize, Serialize};

/// How a product is put to the library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Form {
    /// As it is.
    #[default]
    Direct,
    /// Without the gradient of a factor, which is a product of its own.
    GradientApart,
    /// Factors and sums in scratch, where they lie as every kernel takes them.
    Padded,
}

/// A way to multiply, in the library's own form.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Choice {
    pub(super) algo: [u64; 8],
    /// Bytes of workspace that it takes.
    pub(super) workspace: usize,
    /// How often it fills the GPU.
    pub(super) waves: f32,
    /// It was measured, not guessed.
    pub(super) tuned: bool,
    /// What it is a way of multiplying.
    pub(super) form: Form,
}

/// What is to be enqueued.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) enum Way {
    /// The product, as is known to be best.
    #[default]
    Usual,
    /// Enqueues nothing: asks the library for its algorithms for the product, and keeps the answer under this number until a
    /// [`Question`] fetches it. The outputs are other buffers than those of the product later: only their alignment matters,
    /// which is the same in a worker.
    Survey { number: u64, writes: WritePlaces },
    /// The product, in this way.
    This(Choice),
}

/// What the library is asked by the front.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Question {
    /// The answer of a survey. `Vec<Choice>`: the ways, best first; none where nothing is multiplied.
    Survey(u64),
    /// This way of a survey is the one for its problem from now on. `()`.
    Pin(u64, Choice),
}
