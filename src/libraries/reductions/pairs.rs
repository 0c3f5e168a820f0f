//! Sums from which elements are normalised, and their gradients: of an element and of its product with another, as one complex number.
//!
//! The formulas are here because the host engine knows them again, and has loops of its own for them (`host/pairs.rs`, `host/spread.rs`); all else treats
//! them as any other formula.

use super::recipe::{Value, cast, wide};
#[cfg(feature = "host")]
use super::{kind::ReductionKind, shape::Shape};
use crate::core::element::DType;
#[cfg(feature = "host")]
use crate::core::error::Result;
#[cfg(feature = "host")]
use crate::libraries::expressions::formula::{Kept, record};

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
    #[cfg(feature = "host")]
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
        let (x, dy, stats) = (*inputs.first()?, *inputs.get(1)?, *inputs.get(2)?);
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
            Summed::Squares => inputs.first().map(|x| cast(*x, DType::F64)).map(|x| (x, x)),
            Summed::Gradients { .. } => {
                self.gradient(inputs).map(|[g, normal, _]| (cast(g, DType::F64), cast(normal, DType::F64)))
            }
            Summed::Weights => self.gradient(inputs).map(|[g, normal, _]| (g, normal)),
        };
        let Some((g, normal)) = two else { return Vec::new() };
        if self.is_single() {
            return vec![g * normal];
        }
        vec![Value::new(g.complex(g * normal).raw)]
    }

    /// Which of them a reduction sums, if it is one.
    #[cfg(feature = "host")]
    pub(super) fn of(shape: &Shape) -> Result<Option<Pair>> {
        let (formula, output) = (&shape.formula.0, shape.element_type()?);
        let Some(dtype) = dtype_of(formula).filter(|_| shape.kind == ReductionKind::Sum) else { return Ok(None) };
        for k in 0..8 {
            let taken = if k % 2 == 0 { Taken::Moments } else { Taken::Root };
            let summed = match k / 2 {
                0 => Summed::Squares,
                1 => Summed::Weights,
                weight => Summed::Gradients { weight: weight == 3 },
            };
            let pair = Pair { taken, summed, dtype };
            if pair.output() == output && is_it(formula, &pair.types(), &|inputs| pair.element(inputs))? {
                return Ok(Some(pair));
            }
        }
        Ok(None)
    }
}

/// What becomes of an element, when the sums of its row are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::libraries) enum Made {
    /// Of `x`, weight and bias if so, mean and inverse deviation: the normalised element times the weight, plus the bias.
    Normal { weight: bool, bias: bool },
    /// Of what [`Summed::Gradients`] takes and the means of its sums: the gradient of the element.
    Gradient { weight: bool },
}

/// A formula of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::libraries) struct Spread {
    pub(in crate::libraries) taken: Taken,
    pub(in crate::libraries) made: Made,
    /// Of the elements.
    pub(in crate::libraries) dtype: DType,
}

impl Spread {
    fn gradients(self, weight: bool) -> Pair {
        Pair { taken: self.taken, summed: Summed::Gradients { weight }, dtype: self.dtype }
    }

    /// The types of the formula's inputs.
    pub(in crate::libraries) fn types(self) -> Vec<DType> {
        let mut types = match self.made {
            Made::Normal { weight, bias } => vec![self.dtype; 1 + usize::from(weight) + usize::from(bias)],
            Made::Gradient { weight } => self.gradients(weight).types(),
        };
        types.push(complex(wide(self.dtype)));
        types
    }

    /// The formula's value.
    pub(in crate::libraries) fn value(self, inputs: &[Value]) -> Vec<Value> {
        let (Some(x), Some(stats), own) = (inputs.first().copied(), inputs.last().copied(), wide(self.dtype)) else {
            return Vec::new();
        };
        let operand = |k: usize| inputs.get(k).map(|value| cast(*value, own));
        let made = match self.made {
            Made::Normal { weight, bias } => {
                let [y, _] = self.taken.normal(x, stats, own);
                match (weight, bias) {
                    (true, true) => match (operand(1), operand(2)) {
                        (Some(w), Some(b)) => y.fma(w, b),
                        _ => y,
                    },
                    (true, false) => operand(1).map_or(y, |w| y * w),
                    (false, true) => operand(1).map_or(y, |b| y + b),
                    (false, false) => y,
                }
            }
            Made::Gradient { weight } => {
                let Some([g, normal, inverse]) = self.gradients(weight).gradient(inputs) else { return Vec::new() };
                let (mean, both) = (stats.re(), stats.im());
                let g = if self.taken == Taken::Moments { g - mean } else { g };
                (-normal).fma(both, g) * inverse
            }
        };
        vec![cast(made, self.dtype)]
    }

    /// Which of them a formula is, if it is one.
    #[cfg(feature = "host")]
    pub(super) fn of(formula: &Kept) -> Result<Option<Spread>> {
        let Some(dtype) = dtype_of(formula) else { return Ok(None) };
        for k in 0..12 {
            let taken = if k % 2 == 0 { Taken::Moments } else { Taken::Root };
            let (weight, bias) = (k / 2 % 2 == 1, k / 4 == 1);
            let made = if k < 8 { Made::Normal { weight, bias } } else { Made::Gradient { weight } };
            let spread = Spread { taken, made, dtype };
            if is_it(formula, &spread.types(), &|inputs| spread.value(inputs))? {
                return Ok(Some(spread));
            }
        }
        Ok(None)
    }
}

/// The type of the first input of a formula, if elements of it are normalised.
#[cfg(feature = "host")]
fn dtype_of(formula: &Kept) -> Option<DType> {
    let dtype = formula.expr.inputs().first().copied();
    dtype.filter(|dtype| matches!(dtype, DType::F16 | DType::Bf16 | DType::F32 | DType::F64))
}

/// Whether a formula is one of inputs of these types.
#[cfg(feature = "host")]
fn is_it(formula: &Kept, types: &[DType], value: &dyn Fn(&[Value]) -> Vec<Value>) -> Result<bool> {
    if formula.expr.inputs() != types {
        return Ok(false);
    }
    let recorded = record(types, |open| {
        let inputs: Vec<Value> = (0..types.len()).map(|k| Value::new(open.input(k))).collect();
        value(&inputs).into_iter().map(|value| value.raw).collect()
    })?;
    Ok(*recorded.kept == *formula)
}
