//! The formulas, of operands that are broadcast to the scores: batch, classes, and the axes behind.

use crate::core::element::DType;
use crate::core::error::Result;
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
    /// The types of scores, labels, weights, and the pair of the sum.
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

    /// Whether the element is that of the label, and the weight of its class.
    fn chosen(&self, inputs: &[Value]) -> Option<(Symbol<crate::core::truth::Bool>, Value)> {
        let label = self.label(inputs)?;
        let own = position(1).eq(label);
        let own = match self.ignored {
            Some(ignored) => own & label.ne(constant(ignored)),
            None => own,
        };
        let weight = match inputs.get(2).filter(|_| self.weighted) {
            Some(weight) => cast(*weight, self.wide),
            None => cast(Symbol::new(crate::libraries::expressions::build::recording::leaf(1f64.into())), self.wide),
        };
        Some((own, weight))
    }

    /// The logarithm of the probability of an element.
    fn logarithm(&self, inputs: &[Value]) -> Option<Value> {
        let score = cast(*inputs.first()?, self.wide);
        if self.normal {
            return Some(score);
        }
        inputs.get(if self.weighted { 3 } else { 2 }).map(|pair| {
            let [largest, sum] = parts(*pair);
            score - largest - sum.log()
        })
    }

    /// The loss of an element, and its weight, as a complex number: 0 unless it is that of the label.
    pub(super) fn loss(&self) -> Result<Recorded> {
        formula(&self.types(), |inputs| {
            let made = self.chosen(inputs).zip(self.logarithm(inputs)).map(|((own, weight), logarithm)| {
                let zero = constant(0.0);
                let loss = either(own, -logarithm * weight, zero, self.wide);
                complex(self.of_class(inputs, loss), either(own, weight, zero, self.wide))
            });
            made.into_iter().collect()
        })
    }

    /// The gradient for a score. Behind the other operands: loss and weight of the label, those of all labels together, and the
    /// gradient of the loss.
    pub(super) fn gradient(&self, is_mean: bool) -> Result<Recorded> {
        let mut types = self.types();
        types.extend([self.pair(), self.pair(), self.scores]);
        formula(&types, |inputs| {
            let mut last = inputs.iter().rev().copied();
            let (Some(dy), Some(all), Some(own)) = (last.next(), last.next(), last.next()) else { return Vec::new() };
            let made = self.chosen(inputs).zip(self.logarithm(inputs)).map(|((is_own, _), logarithm)| {
                let ([_, weight], [_, all]) = (parts(own), parts(all));
                let one = either(is_own, constant(1.0), constant(0.0), self.wide);
                let slope = if self.normal { -one } else { logarithm.exp() - one };
                let slope = slope * weight * cast(dy, self.wide);
                cast(self.of_class(inputs, if is_mean { slope / all } else { slope }), self.scores)
            });
            made.into_iter().collect()
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
