//! What a draw is, as plain data: which numbers, and where the stream stands.

use super::stream::Generator;
use serde::{Deserialize, Serialize};

/// The numbers of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Spec {
    /// The generator's own.
    Bits,
    /// Of the unit interval: without 1 (`lower`) or without 0.
    Uniform {
        lower: bool,
    },
    /// From `low` on, below `high`; `last` is the greatest number of the type that is.
    Between {
        low: f64,
        high: f64,
        last: f64,
    },
    /// `span` integers from `start` on; 0: all that 64 bits have.
    Integers {
        start: u64,
        span: u64,
    },
    /// Normal, or the exponential of that.
    Normal {
        mean: f64,
        deviation: f64,
        log: bool,
        method: Method,
    },
    /// With this mean.
    Exponential {
        mean: f64,
    },
    /// 1 where 64 bits are below the threshold.
    Bernoulli {
        threshold: u64,
        always: bool,
    },
    Poisson(PoissonPlan),
    Binomial(BinomialPlan),
}

/// How normal numbers are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    BoxMuller,
    Quantile,
    Curand,
}

/// Where a draw begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    pub(super) generator: Generator,
    pub(super) seed: u64,
    /// Lanes, or blocks, that take turns.
    pub(super) lanes: u32,
    pub(super) dimensions: u32,
    /// A sequence with cuRAND's scrambled directions.
    pub(super) scrambled: bool,
    /// The number of the first output; of a quasi-random sequence, of the first point.
    pub(super) first: u64,
}

/// Means below it are drawn by search.
pub(super) const FEW: f64 = 10.0;

/// Constants of a Poisson distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoissonPlan {
    pub(super) lambda: f64,
    /// The probability of 0.
    pub(super) zero: f64,
    pub(super) ln_lambda: f64,
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) ln_inverse_alpha: f64,
    pub(super) v_r: f64,
}

/// Constants of a binomial distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BinomialPlan {
    pub(super) n: f64,
    /// The probability is that of the other outcome, at most a half.
    pub(super) flipped: bool,
    /// The mean is small.
    pub(super) search: bool,
    /// The probability of 0.
    pub(super) zero: f64,
    pub(super) odds: f64,
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) c: f64,
    pub(super) v_r: f64,
    pub(super) alpha: f64,
    pub(super) ln_odds: f64,
    pub(super) mode: f64,
    pub(super) h: f64,
}
