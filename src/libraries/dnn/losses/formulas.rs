//! The formulas, of operands that are broadcast to the scores: batch, classes, and the axes behind.

use crate::core::element::DType;
use crate::core::error::Result;
use crate::device::tensor::Layout;
use crate::libraries::dnn::formulas::{Value, cast, complex, either, formula, parts};
use crate::libraries::expressions::formula::Recorded;
use crate::libraries::expressions::{Symbol, constant, position};

/// What a call has.
#[derive(Clone, Copy)]
pub(super) struct Given {
    /// Of the scores, the labels, and in what is computed.
    pub(super) scores: DType,
    pub(super) labels: DType,
    pub(super) wide: DType,
    pub(super) ignored: Option<i64>,
    pub(super) classes: usize,
    pub(super) weighted: bool,
    /// Whether the scores are logarithms of probabilities; else the largest one and the sum of the exponentials of the distances from it
    /// are an operand, a pair: their logarithm in one number would have the precision of the largest one.
    pub(super) normal: bool,
}

impl Given {
    /// The types of the label's score, the label, its weight, and the pair of the sum.
    pub(super) fn types(&self) -> Vec<DType> {
        let mut types = vec![self.scores, self.labels];
        types.extend(self.weighted.then_some(self.scores));
        types.extend((!self.normal).then_some(self.pair()));
        types
    }

    fn label(&self, inputs: &[Value]) -> Option<Symbol<i64>> {
        inputs.get(1).map(|label| Symbol::new(cast(*label, DType::I64).raw))
    }

    /// The value, or NaN where the label is no class and not ignored.
    fn of_class(&self, inputs: &[Value], value: Value) -> Value {
        let Some(label) = self.label(inputs) else { return value };
        let wrong = label.lt(0i64) | label.ge(i64::try_from(self.classes).unwrap_or(i64::MAX));
        let wrong = match self.ignored {
            Some(ignored) => wrong & label.ne(constant(ignored)),
            None => wrong,
        };
        either(wrong, constant(f64::NAN), value, self.wide)
    }

    /// The weight of the label's class.
    fn weight(&self, inputs: &[Value]) -> Value {
        match inputs.get(2).filter(|_| self.weighted) {
            Some(weight) => cast(*weight, self.wide),
            None => cast(Symbol::new(crate::libraries::expressions::build::recording::leaf(1f64.into())), self.wide),
        }
    }

    /// The value, or 0 where the label is ignored.
    fn unless_ignored(&self, inputs: &[Value], value: Value) -> Value {
        match self.label(inputs).zip(self.ignored) {
            Some((label, ignored)) => either(label.ne(constant(ignored)), value, constant(0.0), self.wide),
            None => value,
        }
    }

    /// The logarithm of the probability of a score, by the pair of its sum.
    fn logarithm(&self, score: Value, pair: Option<Value>) -> Value {
        let score = cast(score, self.wide);
        match pair.filter(|_| !self.normal) {
            Some(pair) => {
                let [largest, logarithm] = parts(pair);
                score - largest - logarithm
            }
            None => score,
        }
    }

    /// Of the largest score and the sum of exponentials, the former and the logarithm of the latter.
    pub(super) fn logarithm_of_sum(&self) -> Result<Recorded> {
        formula(&[self.pair()], |pairs| pairs.iter().map(|pair| complex(pair.re(), pair.im().log())).collect())
    }

    /// The number of the element of a label's class, from the lowest element of a layout on. The layout has an axis of classes; the label
    /// has one of extent 1 in its place.
    pub(super) fn numbers(&self, layout: &Layout, lowest: usize) -> Result<Recorded> {
        let last = i64::try_from(self.classes).unwrap_or(i64::MAX) - 1;
        formula(&[self.labels], |inputs| {
            let Some(label) = inputs.first() else { return Vec::new() };
            let class = Symbol::<i64>::new(cast(*label, DType::I64).raw).clamp(0i64, last);
            #[expect(clippy::erasing_op, reason = "a constant of the formula")]
            let mut number: Symbol<i64> = class * 0i64 + (layout.offset() - lowest) as i64;
            let axes = layout.shape().iter().zip(layout.strides()).enumerate();
            for (axis, (_, stride)) in axes.filter(|(_, (n, stride))| **n > 1 && **stride != 0) {
                let place = if axis == 1 { class } else { position(axis as u8) };
                number = number + place * *stride as i64;
            }
            vec![Value::new(number.raw)]
        })
    }

    /// The label as a number.
    pub(super) fn number(&self) -> Result<Recorded> {
        formula(&[self.labels], |inputs| inputs.iter().map(|label| cast(*label, DType::I64)).collect())
    }

    /// The loss of a label, and its weight, as a complex number.
    pub(super) fn loss(&self) -> Result<Recorded> {
        formula(&self.types(), |inputs| {
            let Some(score) = inputs.first() else { return Vec::new() };
            let (weight, logarithm) = (self.weight(inputs), self.logarithm(*score, inputs.last().copied()));
            let loss = self.unless_ignored(inputs, -logarithm * weight);
            vec![complex(self.of_class(inputs, loss), self.unless_ignored(inputs, weight))]
        })
    }

    /// What is there for a label beside the slope: its weight and the gradient of its loss. Of the label, its loss and weight, the gradient,
    /// and of a mean the losses and weights of all labels.
    pub(super) fn factor(&self, is_mean: bool) -> Result<Recorded> {
        let mut types = vec![self.labels, self.pair(), self.scores];
        types.extend(is_mean.then_some(self.pair()));
        formula(&types, |inputs| {
            let [label, own, dy, all @ ..] = inputs else { return Vec::new() };
            let ([_, weight], dy) = (parts(*own), cast(*dy, self.wide));
            let factor = match all {
                [all] => {
                    let [_, all] = parts(*all);
                    weight * dy / all
                }
                _ => weight * dy,
            };
            // The label in the place that it has among the other operands.
            vec![self.of_class(&[*label, *label], factor)]
        })
    }

    /// The gradient for a score. Of the score, the label, the pair of the sum, and the factor.
    pub(super) fn gradient(&self) -> Result<Recorded> {
        let mut types = vec![self.scores, self.labels];
        types.extend((!self.normal).then_some(self.pair()));
        types.push(self.wide);
        formula(&types, |inputs| {
            let ([score, _, between @ .., factor], Some(label)) = (inputs, self.label(inputs)) else {
                return Vec::new();
            };
            let one = either(position(1).eq(label), constant(1.0), constant(0.0), self.wide);
            let slope = match between.first() {
                Some(pair) => self.logarithm(*score, Some(*pair)).exp() - one,
                None => -one,
            };
            vec![cast(slope * *factor, self.scores)]
        })
    }

    pub(super) const fn pair(&self) -> DType {
        match self.wide {
            DType::F64 => DType::C64,
            _ => DType::C32,
        }
    }

    /// A part of a complex number, or the quotient of both.
    pub(super) fn part(&self, which: Part) -> Result<Recorded> {
        formula(&[self.pair()], |inputs| {
            let Some(pair) = inputs.first() else { return Vec::new() };
            let [loss, weight] = parts(*pair);
            vec![match which {
                Part::Loss => cast(loss, self.scores),
                Part::Mean => cast(loss / weight, self.scores),
                Part::Both => *pair,
            }]
        })
    }
}

/// What is made of the sum of losses and that of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Loss,
    Mean,
    Both,
}
