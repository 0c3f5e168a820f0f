//! The formulas.
//!
//! Moments of elements of up to 32 bits come from their sum and the sum of their squares in `f64`, where squares are exact; those of
//! `f64` are updated element by element (B. P. Welford, 1962). The rest is computed in `f32`, or in `f64` for `f64`.

use crate::core::element::DType;
use crate::core::error::Result;
use crate::libraries::dnn::formulas::{Value, cast, complex, kept, parts};
use crate::libraries::expressions::formula::Recorded;
use crate::libraries::reductions::ReductionKind;
use crate::libraries::reductions::pairs::{Made, Pair, Spread, Summed, Taken};

/// What a reduction and a map need.
pub(super) struct Formulas {
    pub(super) kind: ReductionKind,
    pub(super) element: Result<Recorded>,
    pub(super) finish: Result<Recorded>,
    pub(super) spread: Result<Recorded>,
}

/// In what a type is computed.
pub(super) const fn wide(dtype: DType) -> DType {
    match dtype {
        DType::F64 => DType::F64,
        _ => DType::F32,
    }
}

impl Taken {
    /// Of `x`, then weight and bias, which may not be there. `count` elements share moments.
    pub(super) fn forward(self, dtype: DType, [weight, bias]: [bool; 2], count: usize, epsilon: f64) -> Formulas {
        let own = wide(dtype);
        let welford = self == Taken::Moments && own == DType::F64;
        let squares = Pair { taken: self, summed: Summed::Squares, dtype };
        let element = kept(("norm element", dtype, [self as u64, 0, 0]), &[dtype], |inputs| {
            let Some(x) = inputs.first().copied() else { return Vec::new() };
            if welford { vec![cast(x, DType::F64)] } else { squares.element(inputs) }
        });
        let sum = if self == Taken::Moments { DType::C64 } else { DType::F64 };
        let finish = kept(("norm finish", dtype, [self as u64, count as u64, epsilon.to_bits()]), &[sum], |inputs| {
            let Some(sum) = inputs.first().copied() else { return Vec::new() };
            let inverse = |square: Value| cast((square + epsilon).rsqrt(), own);
            let n = count as f64;
            match self {
                Taken::Moments if welford => {
                    let [mean, variance] = parts(sum);
                    vec![complex(mean, inverse(variance))]
                }
                Taken::Moments => {
                    let [sum, squares] = parts(sum);
                    let mean = sum / n;
                    let variance = (-mean).fma(mean, squares / n).maximum(0.0);
                    vec![complex(cast(mean, own), inverse(variance))]
                }
                Taken::Root => {
                    let inverse = inverse(sum / n);
                    vec![complex(inverse * 0.0, inverse)]
                }
            }
        });
        let normal = Spread { taken: self, made: Made::Normal { weight, bias }, dtype };
        let made = ("norm", dtype, [self as u64, weight.into(), bias.into()]);
        let spread = kept(made, &normal.types(), |inputs| normal.value(inputs));
        let kind = if welford { ReductionKind::Moments } else { ReductionKind::Sum };
        Formulas { kind, element, finish, spread }
    }

    /// Of `x`, `dy`, what a row was normalised with, then the weight, which may not be there.
    pub(super) fn backward(self, dtype: DType, weight: bool, count: usize) -> Formulas {
        let own = wide(dtype);
        let gradients = Pair { taken: self, summed: Summed::Gradients { weight }, dtype };
        let made = |name| (name, dtype, [self as u64, weight.into(), 0]);
        let element = kept(made("norm gradient element"), &gradients.types(), |inputs| gradients.element(inputs));
        let sum = if self == Taken::Moments { DType::C64 } else { DType::F64 };
        let finish = kept(("norm gradient finish", dtype, [self as u64, count as u64, 0]), &[sum], |inputs| {
            let Some(sum) = inputs.first().copied() else { return Vec::new() };
            let n = count as f64;
            match self {
                Taken::Moments => {
                    let [g, both] = parts(sum).map(|sum| cast(sum / n, own));
                    vec![complex(g, both)]
                }
                Taken::Root => {
                    let both = cast(sum / n, own);
                    vec![complex(both * 0.0, both)]
                }
            }
        });
        let gradient = Spread { taken: self, made: Made::Gradient { weight }, dtype };
        let spread = kept(made("norm gradient"), &gradient.types(), |inputs| gradient.value(inputs));
        Formulas { kind: ReductionKind::Sum, element, finish, spread }
    }

    /// The gradients of bias and weight of an element, as a complex number: of `x`, `dy`, what a row was normalised with.
    pub(super) fn weights(self, dtype: DType) -> Result<Recorded> {
        let weights = Pair { taken: self, summed: Summed::Weights, dtype };
        kept(("norm weights", dtype, [self as u64, 0, 0]), &weights.types(), |inputs| weights.element(inputs))
    }
}
