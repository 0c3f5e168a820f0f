//! The formulas.
//!
//! Moments of elements of up to 32 bits come from their sum and the sum of their squares in `f64`, where squares are exact; those of
//! `f64` are updated element by element (B. P. Welford, 1962). The rest is computed in `f32`, or in `f64` for `f64`.

use crate::core::element::DType;
use crate::core::error::Result;
use crate::libraries::dnn::formulas::{Value, cast, complex, kept, parts};
use crate::libraries::expressions::formula::Recorded;
use crate::libraries::reductions::ReductionKind;

/// What is taken of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Mean and inverse deviation.
    Moments,
    /// The inverse root of the mean square, beside 0.
    Root,
}

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

const fn pair(wide: DType) -> DType {
    match wide {
        DType::F64 => DType::C64,
        _ => DType::C32,
    }
}

impl Taken {
    /// The distance from the mean over the deviation, and the inverse deviation.
    fn normal(self, x: Value, stats: Value, wide: DType) -> [Value; 2] {
        let x = cast(x, wide);
        match self {
            Taken::Moments => {
                let [mean, inverse] = parts(stats);
                [(x - mean) * inverse, inverse]
            }
            Taken::Root => {
                let [_, inverse] = parts(stats);
                [x * inverse, inverse]
            }
        }
    }

    /// Of `x`, then weight and bias, which may not be there. `count` elements share moments.
    pub(super) fn forward(self, dtype: DType, [weight, bias]: [bool; 2], count: usize, epsilon: f64) -> Formulas {
        let own = wide(dtype);
        let welford = self == Taken::Moments && own == DType::F64;
        let element = kept(("norm element", dtype, [self as u64, 0, 0]), &[dtype], |inputs| {
            let Some(x) = inputs.first().copied() else { return Vec::new() };
            let x = cast(x, DType::F64);
            match self {
                Taken::Moments if welford => vec![x],
                Taken::Moments => vec![complex(x, x * x)],
                Taken::Root => vec![x * x],
            }
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
        let mut types = vec![dtype];
        types.extend([weight, bias].into_iter().filter(|there| *there).map(|_| dtype));
        types.push(pair(own));
        let made = ("norm", dtype, [self as u64, weight.into(), bias.into()]);
        let spread = kept(made, &types, |inputs| {
            let (Some(x), Some(stats)) = (inputs.first().copied(), inputs.last().copied()) else { return Vec::new() };
            let [y, _] = self.normal(x, stats, own);
            let operand = |k: usize| inputs.get(k).map(|value| cast(*value, own));
            let y = match (weight, bias) {
                (true, true) => match (operand(1), operand(2)) {
                    (Some(w), Some(b)) => y.fma(w, b),
                    _ => y,
                },
                (true, false) => operand(1).map_or(y, |w| y * w),
                (false, true) => operand(1).map_or(y, |b| y + b),
                (false, false) => y,
            };
            vec![cast(y, dtype)]
        });
        let kind = if welford { ReductionKind::Moments } else { ReductionKind::Sum };
        Formulas { kind, element, finish, spread }
    }

    /// Of `x`, `dy`, what a row was normalised with, then the weight, which may not be there.
    pub(super) fn backward(self, dtype: DType, weight: bool, count: usize) -> Formulas {
        let own = wide(dtype);
        let mut types = vec![dtype, dtype, pair(own)];
        types.extend(weight.then_some(dtype));
        // The gradient of the normalised element, that element, and the inverse deviation.
        let take = |inputs: &[Value]| -> Option<[Value; 3]> {
            let [x, dy, stats] = [inputs.first()?, inputs.get(1)?, inputs.get(2)?].map(|value| *value);
            let [normal, inverse] = self.normal(x, stats, own);
            let dy = cast(dy, own);
            let g = match inputs.get(3).filter(|_| weight) {
                Some(weight) => dy * cast(*weight, own),
                None => dy,
            };
            Some([g, normal, inverse])
        };
        let made = |name| (name, dtype, [self as u64, weight.into(), 0]);
        let element = kept(made("norm gradient element"), &types, |inputs| {
            let Some([g, normal, _]) = take(inputs) else { return Vec::new() };
            let [g, normal] = [g, normal].map(|value| cast(value, DType::F64));
            match self {
                Taken::Moments => vec![complex(g, g * normal)],
                Taken::Root => vec![g * normal],
            }
        });
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
        types.push(pair(own));
        let spread = kept(made("norm gradient"), &types, |inputs| {
            let (Some([g, normal, inverse]), Some(means)) = (take(inputs), inputs.last().copied()) else {
                return Vec::new();
            };
            let [mean, both] = parts(means);
            let g = if self == Taken::Moments { g - mean } else { g };
            let dx = (-normal).fma(both, g) * inverse;
            vec![cast(dx, dtype)]
        });
        Formulas { kind: ReductionKind::Sum, element, finish, spread }
    }

    /// The gradients of bias and weight of an element, as a complex number: of `x`, `dy`, what a row was normalised with.
    pub(super) fn weights(self, dtype: DType) -> Result<Recorded> {
        let own = wide(dtype);
        kept(("norm weights", dtype, [self as u64, 0, 0]), &[dtype, dtype, pair(own)], |inputs| {
            let [Some(x), Some(dy), Some(stats)] = [0, 1, 2].map(|k| inputs.get(k).copied()) else { return Vec::new() };
            let ([normal, _], dy) = (self.normal(x, stats, own), cast(dy, own));
            vec![complex(dy, dy * normal)]
        })
    }
}
