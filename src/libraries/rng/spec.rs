//! A draw as plain data: its distribution, and its place in the stream.

use super::stream::Generator;
use serde::{Deserialize, Serialize};

/// The distribution of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Spec {
    /// The generator's own bits.
    Bits,
    /// Uniform in the unit interval: with 0 and without 1 (`lower`), or with 1 and without 0.
    Uniform {
        lower: bool,
    },
    /// Uniform from `low` on and below `high`; `last` is the greatest number of the type below `high`.
    Between {
        low: f64,
        high: f64,
        last: f64,
    },
    /// `span` integers from `start` on; a `span` of 0 means 2^64.
    Integers {
        start: u64,
        span: u64,
    },
    /// Normal, or the exponential of a normal number (`log`).
    Normal {
        mean: f64,
        deviation: f64,
        log: bool,
        method: Method,
    },
    /// Exponential, with this mean.
    Exponential {
        mean: f64,
    },
    /// 1 if 64 random bits are below the threshold, or `always`; else 0.
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
    /// How many lanes, or blocks, take turns.
    pub(super) lanes: u32,
    pub(super) dimensions: u32,
    /// A Sobol sequence with cuRAND's scrambled directions.
    pub(super) scrambled: bool,
    /// The index of the first output; for a quasi-random sequence, of the first point.
    pub(super) first: u64,
}

/// Poisson and binomial numbers with a mean below this are drawn by search in the distribution function.
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
    /// `p` is above a half: the constants are for the other outcome, whose probability is at most a half.
    pub(super) flipped: bool,
    /// The mean is below [`FEW`]: numbers are drawn by search.
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
