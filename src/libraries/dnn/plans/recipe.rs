//! Plans as data.

use super::super::attention::AttentionProblem;
use super::super::convolution::Problem;
use serde::{Deserialize, Serialize};

/// An engine of the library with its knobs. A plan can be made of it again, also by another release of the library.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in super::super) struct Pin {
    /// The number of the engine for its graph.
    pub(in super::super) engine: i64,
    /// `cudnnBackendKnobType_t`, and the value.
    pub(in super::super) knobs: Vec<(i32, i64)>,
}

/// A plan, as it is kept and sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Recipe {
    pub(in super::super) pin: Pin,
    /// The library's own text, with compiled kernels in it; only the release that wrote it reads it. Empty if there is none.
    pub(in super::super) text: Vec<u8>,
    /// That release.
    pub(in super::super) release: String,
    /// Bytes of workspace.
    pub(in super::super) workspace: u64,
    /// `cudnnBackendNumericalNote_t` and `cudnnBackendBehaviorNote_t`, as bits.
    pub(in super::super) notes: [u64; 2],
    /// It was measured; else the heuristic chose it.
    pub(in super::super) tuned: bool,
}

/// What a plan is for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in super::super) enum Wanted {
    Convolve(Problem),
    Attend(AttentionProblem),
    AttendBackward(AttentionProblem),
}

/// Where a plan came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PlanSource {
    /// No plan is needed: a host device, or nothing to compute.
    None,
    /// The library's heuristic chose the engine now.
    Chosen,
    /// This process or an earlier one had chosen it.
    Kept,
    /// The library refused the plan of an earlier process, which was removed; its heuristic chose the engine now.
    Replaced,
    /// It was measured by [`autotune_convolution`](crate::dnn::Dnn::autotune_convolution).
    Tuned,
}

/// What the front asks the library where the device is.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) enum Question {
    /// The plan, which is made and kept. Returns `(Recipe, PlanSource)`.
    Plan(Wanted),
    /// All engines that keep the rules, best first. Returns `Vec<Recipe>`, without texts.
    Candidates(Wanted),
    /// Keeps this plan from now on. Returns `()`.
    Keep(Wanted, Recipe),
    /// The device as the library describes it, and the library's release. Returns `(String, String)`.
    Describe,
}
