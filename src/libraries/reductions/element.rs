//! The element that a kind takes, from a formula.

use super::kind::ReductionKind;
use super::recipe::wide;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::libraries::expressions::formula::Kept;
use crate::libraries::expressions::ir::{Binary, Compare, Expr, Id, Node, Op, Overflow, Unary};
use crate::libraries::expressions::{Function, Scalar};

/// The nodes of a formula, and what is appended to them.
struct Nodes(Vec<Node>);

impl Nodes {
    fn push(&mut self, op: Op, dtype: DType) -> Id {
        self.0.push(Node { op, dtype });
        // One that is beyond the range of numbers is beyond the bound on nodes too.
        (self.0.len() - 1).min(Id::MAX.into()) as Id
    }

    fn cast(&mut self, x: Id, from: DType, to: DType) -> Id {
        if from == to { x } else { self.push(Op::Cast(Overflow::Saturate, x), to) }
    }

    fn parts(&mut self, x: Id, part: DType) -> [Id; 2] {
        [Unary::Re, Unary::Im].map(|op| self.push(Op::Unary(op, x), part))
    }
}

/// The formula, followed by what a kind needs of its value.
pub(super) fn element(kind: ReductionKind, formula: &Expr) -> Result<Arc<Kept>> {
    let missing = || Error::invalid("formula", "a formula for elements has one output");
    let ([x], Some(dtype)) = (formula.outputs(), formula.output_types().next()) else { return Err(missing()) };
    let (x, part) = (*x, dtype.part());
    let mut nodes = Nodes(formula.nodes().to_vec());
    let out = match kind {
        ReductionKind::Sum
        | ReductionKind::Prod
        | ReductionKind::Mean
        | ReductionKind::Var
        | ReductionKind::Std
        | ReductionKind::LogSumExp => nodes.cast(x, dtype, wide(kind.result(dtype))),
        ReductionKind::Exponentials | ReductionKind::Moments => nodes.cast(x, dtype, kind.result(dtype).part()),
        ReductionKind::Min | ReductionKind::Max | ReductionKind::ArgMin | ReductionKind::ArgMax => {
            nodes.cast(x, dtype, wide(dtype))
        }
        ReductionKind::All | ReductionKind::Any | ReductionKind::Count if dtype == DType::Bool => x,
        ReductionKind::All | ReductionKind::Any | ReductionKind::Count => {
            let zero = Scalar::new(0i32).adopt(if dtype.is_narrow() { DType::F32 } else { dtype });
            let zero = zero.map(|zero| if dtype.is_narrow() { Scalar::half(dtype, 0.0) } else { zero });
            let zero = nodes.push(Op::Constant(zero.ok_or_else(missing)?), dtype);
            nodes.push(Op::Compare(Compare::Ne, x, zero), DType::Bool)
        }
        ReductionKind::Norm1 | ReductionKind::NormInf => {
            let size = if dtype.is_complex() {
                let [re, im] = nodes.parts(x, part);
                nodes.push(Op::Call(Function::Hypot, re, Some(im)), part)
            } else {
                nodes.push(Op::Unary(Unary::Abs, x), dtype)
            };
            nodes.cast(size, part, wide(part))
        }
        ReductionKind::Norm2 if part == DType::F64 => x,
        ReductionKind::Norm2 => {
            let parts = if dtype.is_complex() { nodes.parts(x, part) } else { [x; 2] };
            let [re, im] = parts.map(|x| {
                let x = nodes.cast(x, part, DType::F64);
                nodes.push(Op::Binary(Binary::Mul, x, x), DType::F64)
            });
            if dtype.is_complex() { nodes.push(Op::Binary(Binary::Add, re, im), DType::F64) } else { re }
        }
    };
    let expr = Expr::admit(formula.inputs().to_vec(), formula.parameters().to_vec(), nodes.0, vec![out])?;
    Ok(Kept::for_expr(expr))
}
