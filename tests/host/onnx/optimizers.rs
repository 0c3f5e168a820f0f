//! Rows of the table that take a step of an optimizer: rate, number of the step, then tensors, gradients and states.

use super::node::{Made, Node};
use super::value::Value;
use windlass::expressions::Unary;
use windlass::tensor::AnyTensorRef;

/// A formula for each tensor, with its gradient and its states; the outputs are all new tensors, then all new states.
fn each(n: &Node<'_>, states: usize, f: impl for<'f> Fn(&[Value<'f>]) -> Vec<Value<'f>>) -> Made {
    let all = n.inputs();
    let count = (all.len() - 2) / (2 + states);
    let mut made: Vec<Vec<_>> = (0..=states).map(|_| vec![]).collect();
    for k in 0..count {
        let operands: Vec<AnyTensorRef<'_>> = (0..2 + states).map(|kind| all[2 + kind * count + k].clone()).collect();
        let new = n.several(&operands, &f)?;
        made.iter_mut().zip(new).for_each(|(list, new)| list.push(new));
    }
    Ok(made.into_iter().flatten().collect())
}

pub(super) fn adagrad(n: &Node<'_>) -> Made {
    let (rate, step) = (n.scalar(0).unwrap(), n.scalar(1).unwrap());
    let rate = rate / (1.0 + step * n.float("decay_factor", 0.0));
    let (epsilon, norm) = (n.float("epsilon", 0.0), n.float("norm_coefficient", 0.0));
    each(n, 1, |v| {
        let g = v[0] * norm + v[1];
        let h = v[2] + g * g;
        vec![v[0] - g * rate / (h.unary(Unary::Sqrt) + epsilon), h]
    })
}

pub(super) fn adam(n: &Node<'_>) -> Made {
    let (rate, step) = (n.scalar(0).unwrap(), n.scalar(1).unwrap());
    let (alpha, beta) = (n.float("alpha", 0.9), n.float("beta", 0.999));
    let rate = if step > 0.0 { rate * (1.0 - beta.powf(step)).sqrt() / (1.0 - alpha.powf(step)) } else { rate };
    let (epsilon, norm) = (n.float("epsilon", 0.0), n.float("norm_coefficient", 0.0));
    let after = n.float("norm_coefficient_post", 0.0);
    each(n, 2, |v| {
        let g = v[0] * norm + v[1];
        let m = v[2] * alpha + g * (1.0 - alpha);
        let s = v[3] * beta + g * g * (1.0 - beta);
        vec![(v[0] - m * rate / (s.unary(Unary::Sqrt) + epsilon)) * (1.0 - after), m, s]
    })
}

pub(super) fn momentum(n: &Node<'_>) -> Made {
    let (rate, step) = (n.scalar(0).unwrap(), n.scalar(1).unwrap());
    let (alpha, norm) = (n.float("alpha", 0.0), n.float("norm_coefficient", 0.0));
    let beta = if step > 0.0 { n.float("beta", 1.0) } else { 1.0 };
    let nesterov = n.text("mode", "standard") == "nesterov";
    each(n, 1, |v| {
        let g = v[0] * norm + v[1];
        let m = v[2] * alpha + g * beta;
        let down = if nesterov { g + m * alpha } else { m };
        vec![v[0] - down * rate, m]
    })
}
