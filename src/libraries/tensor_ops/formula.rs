//! The formulas of products.

use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::libraries::expressions::{Binary, Expr, Id, Node, Op, Overflow, Unary};

/// Nodes of a formula.
pub(super) struct Nodes(Vec<Node>);

impl Nodes {
    pub(super) fn push(&mut self, op: Op, dtype: DType) -> Id {
        self.0.push(Node { op, dtype });
        // There are a few for each of at most 9 operands.
        (self.0.len() - 1).min(Id::MAX.into()) as Id
    }

    pub(super) fn times(&mut self, a: Id, b: Id, dtype: DType) -> Id {
        self.push(Op::Binary(Binary::Mul, a, b), dtype)
    }

    pub(super) fn cast(&mut self, x: Id, from: DType, to: DType) -> Id {
        if from == to { x } else { self.push(Op::Cast(Overflow::Wrap, x), to) }
    }

    /// The nodes, and the product of the inputs from number `first` on, those that are marked as their conjugates.
    pub(super) fn product(types: &[DType], conjugate: &[bool], first: usize, wide: DType) -> Result<(Self, Id)> {
        let (mut nodes, mut product) = (Nodes(Vec::new()), None);
        for (k, dtype) in types.iter().enumerate() {
            let number = u8::try_from(k).map_err(|_| Error::invalid("operands", "more than a formula can take"))?;
            let input = nodes.push(Op::Input(number), *dtype);
            let Some(place) = k.checked_sub(first) else { continue };
            let own = match conjugate.get(place) {
                Some(true) if dtype.is_complex() => nodes.push(Op::Unary(Unary::Conj, input), *dtype),
                _ => input,
            };
            let own = nodes.cast(own, *dtype, wide);
            product = Some(match product {
                Some(product) => nodes.times(product, own, wide),
                None => own,
            });
        }
        let product = product.ok_or_else(|| Error::invalid("operands", "there is none"))?;
        Ok((nodes, product))
    }

    pub(super) fn finish(self, inputs: Vec<DType>, parameters: Vec<DType>, output: Id) -> Result<Expr> {
        Expr::admit(inputs, parameters, self.0, vec![output])
    }
}

/// The product of operands, computed in a type that holds it, as `result`.
pub(super) fn product(types: &[DType], conjugate: &[bool], own: DType, result: DType) -> Result<Expr> {
    let (mut nodes, product) = Nodes::product(types, conjugate, 0, own)?;
    let product = nodes.cast(product, own, result);
    nodes.finish(types.to_vec(), Vec::new(), product)
}

/// A value in another type; integers wrap.
pub(super) fn cast(from: DType, to: DType) -> Result<Expr> {
    let mut nodes = Nodes(Vec::new());
    let input = nodes.push(Op::Input(0), from);
    let output = nodes.cast(input, from, to);
    nodes.finish(vec![from], Vec::new(), output)
}

/// `alpha * product + beta * c` in the type of C, of C and the operands; without C if it is not read. The factors are parameters.
pub(super) fn scaled(dtype: DType, types: Vec<DType>, conjugate: &[bool], reads_c: bool, wide: DType) -> Result<Expr> {
    let mut inputs = types;
    if reads_c {
        inputs.insert(0, dtype);
    }
    let (mut nodes, product) = Nodes::product(&inputs, conjugate, usize::from(reads_c), wide)?;
    let alpha = nodes.push(Op::Parameter(0), wide);
    let (mut value, mut parameters) = (nodes.times(alpha, product, wide), vec![wide]);
    if reads_c {
        // The first node is C.
        let (beta, c) = (nodes.push(Op::Parameter(1), wide), nodes.cast(0, dtype, wide));
        let kept = nodes.times(beta, c, wide);
        value = nodes.push(Op::Binary(Binary::Add, value, kept), wide);
        parameters.push(wide);
    }
    let value = nodes.cast(value, wide, dtype);
    nodes.finish(inputs, parameters, value)
}
