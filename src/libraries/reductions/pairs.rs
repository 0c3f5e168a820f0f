//! Sums from which elements are normalised, and their gradients: of an element and of its product with another, as one complex number.
//!
//! The formulas are here because the host engine knows them again, and has a loop of its own for each (`host/pairs.rs`); all else treats
//! them as any other formula.

use super::recipe::{Value, cast, wide};
#[cfg(feature = "host")]
use super::{kind::ReductionKind, shape::Shape};
use crate::core::element::DType;
#[cfg(feature = "host")]
use crate::core::error::Result;
#[cfg(feature = "host")]
use crate::libraries::expressions::formula::record;

/// With what elements are normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::libraries) enum Taken {
    /// Mean and inverse deviation.
    Moments,
    /// The inverse root of the mean square, beside 0.
    Root,
}

/// What is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::libraries) enum Summed {
    /// Of `x`: it and its square, in `f64`.
    Squares,
    /// Of `x`, `dy`, what it was normalised with, then a weight if so: the gradient of the normalised element and its product with that, in
    /// `f64`.
    Gradients { weight: bool },
    /// Of `x`, `dy`, what it was normalised with: the gradients of bias and weight.
    Weights,
}

/// A formula. Of [`Taken::Root`] only the product is there, but for weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::libraries) struct Pair {
    pub(in crate::libraries) taken: Taken,
    pub(in crate::libraries) summed: Summed,
    /// Of the elements: a floating point number of 16 bits or more.
    pub(in crate::libraries) dtype: DType,
}

fn complex(wide: DType) -> DType {
    if wide == DType::F64 { DType::C64 } else { DType::C32 }
}

impl Taken {
    /// The distance from the mean over the deviation, and the inverse deviation.
    pub(in crate::libraries) fn normal(self, x: Value, stats: Value, wide: DType) -> [Value; 2] {
        let x = cast(x, wide);
        let (mean, inverse) = (stats.re(), stats.im());
        match self {
            Taken::Moments => [(x - mean) * inverse, inverse],
            Taken::Root => [x * inverse, inverse],
        }
    }
}

impl Pair {
    /// Whether there is but one sum.
    pub(super) fn is_single(self) -> bool {
        self.taken == Taken::Root && self.summed != Summed::Weights
    }

    /// The type of the formula's value.
    fn output(self) -> DType {
        match self.summed {
            Summed::Weights => complex(wide(self.dtype)),
            _ if self.is_single() => DType::F64,
            _ => DType::C64,
        }
    }

    /// The types of the formula's inputs.
    pub(in crate::libraries) fn types(self) -> Vec<DType> {
        let (dtype, stats) = (self.dtype, complex(wide(self.dtype)));
        match self.summed {
            Summed::Squares => vec![dtype],
            Summed::Gradients { weight: true } => vec![dtype, dtype, stats, dtype],
            Summed::Gradients { weight: false } | Summed::Weights => vec![dtype, dtype, stats],
        }
    }

    /// The gradient of the normalised element, that element, and the inverse deviation; of nothing if inputs are missing.
    pub(in crate::libraries) fn gradient(self, inputs: &[Value]) -> Option<[Value; 3]> {
        let (own, has_weight) = (wide(self.dtype), self.summed == Summed::Gradients { weight: true });
        let [x, dy, stats] = [inputs.first()?, inputs.get(1)?, inputs.get(2)?].map(|value| *value);
        let [normal, inverse] = self.taken.normal(x, stats, own);
        let dy = cast(dy, own);
        let g = match inputs.get(3).filter(|_| has_weight) {
            Some(weight) => dy * cast(*weight, own),
            None => dy,
        };
        Some([g, normal, inverse])
    }

    /// The formula's value.
    pub(in crate::libraries) fn element(self, inputs: &[Value]) -> Vec<Value> {
        let two = match self.summed {
            Summed::Squares => inputs.first().map(|x| [cast(*x, DType::F64); 2]),
            _ => self.gradient(inputs).map(|[g, normal, _]| [g, normal]),
        };
        let Some([g, normal]) = two.map(|two| match self.summed {
            Summed::Weights => two,
            _ => two.map(|value| cast(value, DType::F64)),
        }) else {
            return Vec::new();
        };
        if self.is_single() {
            return vec![g * normal];
        }
        vec![Value::new(g.complex(g * normal).raw)]
    }

    /// Which of them a reduction sums, if it is one.
    #[cfg(feature = "host")]
    pub(super) fn of(shape: &Shape) -> Result<Option<Pair>> {
        let (formula, output) = (&shape.formula.0, shape.element_type()?);
        let Some(dtype) = formula.expr.inputs().first().copied() else { return Ok(None) };
        if shape.kind != ReductionKind::Sum || !matches!(dtype, DType::F16 | DType::Bf16 | DType::F32 | DType::F64) {
            return Ok(None);
        }
        let all =
            [Summed::Squares, Summed::Weights, Summed::Gradients { weight: false }, Summed::Gradients { weight: true }];
        for summed in all {
            for taken in [Taken::Moments, Taken::Root] {
                let pair = Pair { taken, summed, dtype };
                if pair.output() != output || pair.types() != formula.expr.inputs() {
                    continue;
                }
                let recorded = record(formula.expr.inputs(), |open| {
                    let inputs: Vec<Value> =
                        (0..formula.expr.inputs().len()).map(|k| Value::new(open.input(k))).collect();
                    pair.element(&inputs).into_iter().map(|value| value.raw).collect()
                })?;
                if recorded.kept == *formula {
                    return Ok(Some(pair));
                }
            }
        }
        Ok(None)
    }
}
