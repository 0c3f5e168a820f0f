//! How a product is enqueued, as plain data, which is sent to a worker with the product.

use super::beside::WritePlaces;
use serde::{Deserialize, Serialize};

/// The form in which a product is passed to the library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Form {
    /// Unchanged.
    #[default]
    Direct,
    /// Without the gradient of a factor, which is a separate product.
    GradientApart,
    /// With factors and sums in scratch memory, in the layout that every kernel supports.
    Padded,
}

/// An algorithm for a product, in the library's own format.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Choice {
    pub(super) algo: [u64; 8],
    /// Bytes of workspace that it takes.
    pub(super) workspace: usize,
    /// How often it fills the GPU.
    pub(super) waves: f32,
    /// Whether it was measured; else the heuristic chose it.
    pub(super) tuned: bool,
    /// The form of the product for which it is.
    pub(super) form: Form,
}

/// What is enqueued.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) enum Selection {
    /// The product, with the best known algorithm.
    #[default]
    Usual,
    /// Enqueues nothing: asks the library for its algorithms for the product, and stores the answer under this number
    /// until a [`Question`] fetches it. `writes` are the outputs of the later product, not those of this dispatch. Only
    /// their alignment matters, which is the same in a worker.
    Survey { number: u64, writes: WritePlaces },
    /// The product, with this algorithm.
    This(Choice),
}

/// What the front asks the library.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Question {
    /// Fetches the answer of a survey. Returns `Vec<Choice>`: the algorithms, best first; empty if nothing is
    /// multiplied.
    Survey(u64),
    /// Makes this algorithm of a survey the one for its problem. Returns `()`.
    Pin(u64, Choice),
}
