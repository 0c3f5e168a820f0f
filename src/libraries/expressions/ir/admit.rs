//! The one way to an expression.

use super::text::describe;
use super::{Expr, Id, Node, Op, result_type};
use crate::{DType, Error, Result};

impl Expr {
    /// An expression of these parts, which may come from a file.
    ///
    /// # Errors
    /// [`Error`] that names `inputs`, `parameters`, `nodes` or `outputs`: too many of them, a node that uses a later one,
    /// a type that does not fit its operation, an axis above 63, no output.
    pub fn admit(inputs: Vec<DType>, parameters: Vec<DType>, nodes: Vec<Node>, outputs: Vec<Id>) -> Result<Self> {
        let at_most = |name: &'static str, len: usize, most: usize| {
            if len <= most {
                Ok(())
            } else {
                Err(Error::invalid(name, format!("{len}, but at most {most} are allowed")))
            }
        };
        at_most("inputs", inputs.len(), Expr::MAX_INPUTS)?;
        at_most("parameters", parameters.len(), Expr::MAX_PARAMETERS)?;
        at_most("nodes", nodes.len(), Expr::MAX_NODES)?;
        at_most("outputs", outputs.len(), Expr::MAX_OUTPUTS)?;
        if outputs.is_empty() {
            return Err(Error::invalid("outputs", "an expression has at least one output"));
        }
        for (at, node) in nodes.iter().enumerate() {
            let earlier = nodes.get(..at).unwrap_or_default();
            check(node, earlier, &inputs, &parameters)
                .map_err(|e| Error::invalid("nodes", format!("node {at}, {e}")))?;
        }
        if let Some(output) = outputs.iter().find(|id| usize::from(**id) >= nodes.len()) {
            return Err(Error::invalid("outputs", format!("node {output}, but there are {}", nodes.len())));
        }
        let mut positions = Vec::new();
        for node in &nodes {
            let axis = match node.op {
                Op::Position(axis) => axis,
                Op::Index => Expr::INDEX,
                _ => continue,
            };
            if !positions.contains(&axis) {
                positions.push(axis);
            }
        }
        Ok(Expr { inputs, parameters, nodes, outputs, positions })
    }
}

/// Checks one node against the nodes before it.
pub(crate) fn check(node: &Node, earlier: &[Node], inputs: &[DType], parameters: &[DType]) -> Result<(), String> {
    let name = node.op.name();
    let declared = |kind: &[DType], k: usize| match kind.get(k) {
        Some(dtype) if *dtype == node.dtype => Ok(()),
        Some(dtype) => Err(format!("{name} {k} is {dtype}, not {}", node.dtype)),
        None => Err(format!("{name} {k}, but there are {}", kind.len())),
    };
    match node.op {
        Op::Input(k) => declared(inputs, k.into())?,
        Op::Parameter(k) => declared(parameters, k.into())?,
        Op::Position(axis) | Op::Extent(axis) if usize::from(axis) >= Expr::MAX_AXES => {
            return Err(format!("{name}: axis {axis}, but there are at most {} axes", Expr::MAX_AXES));
        }
        Op::Constant(scalar) if !scalar.is_well_formed() => return Err("constant: its bits exceed its type".into()),
        _ => {}
    }
    let mut types = [DType::Bool; 3];
    for (k, id) in node.op.operands().enumerate() {
        let Some(operand) = earlier.get(usize::from(id)) else {
            return Err(format!("{name}: uses node {id}, which does not come before it"));
        };
        types.iter_mut().skip(k).for_each(|dtype| *dtype = operand.dtype);
    }
    match result_type(&node.op, types, node.dtype) {
        Ok(dtype) if dtype == node.dtype => Ok(()),
        Ok(dtype) => Err(format!("{name}: its result is {dtype}, not {}", node.dtype)),
        Err(reason) => {
            let operands: Vec<String> = node.op.operands().map(|id| describe(earlier, id, 2)).collect();
            Err(format!("{name} of {}: {reason}", operands.join(" and ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Binary, Unary};
    use super::*;
    use crate::expressions::scalar::Scalar;

    fn input(k: u8, dtype: DType) -> Node {
        Node { op: Op::Input(k), dtype }
    }

    fn admit(inputs: &[DType], nodes: Vec<Node>, outputs: &[Id]) -> Result<Expr> {
        Expr::admit(inputs.to_vec(), vec![], nodes, outputs.to_vec())
    }

    #[test]
    fn a_sound_list_is_admitted() {
        let sum = Node { op: Op::Binary(Binary::Add, 0, 0), dtype: DType::F32 };
        let expr = admit(&[DType::F32], vec![input(0, DType::F32), sum], &[1]).unwrap();
        assert_eq!(expr.output_types().collect::<Vec<_>>(), [DType::F32]);
        assert_eq!(expr.to_string(), "%0: f32 = input 0\n%1: f32 = add %0 %0\noutputs [1]\n");
    }

    #[test]
    fn each_defect_is_named() {
        let f = DType::F32;
        let node = |op, dtype| Node { op, dtype };
        let refused = |nodes: Vec<Node>, outputs: &[Id]| admit(&[f], nodes, outputs).unwrap_err().to_string();
        let late = refused(vec![node(Op::Unary(Unary::Neg, 0), f)], &[0]);
        assert_eq!(late, "invalid nodes: node 0, neg: uses node 0, which does not come before it");
        let wrong = refused(vec![input(0, DType::F64)], &[0]);
        assert_eq!(wrong, "invalid nodes: node 0, input 0 is f32, not f64");
        let missing = refused(vec![input(1, f)], &[0]);
        assert_eq!(missing, "invalid nodes: node 0, input 1, but there are 1");
        let lie = refused(vec![input(0, f), node(Op::Unary(Unary::Neg, 0), DType::F64)], &[1]);
        assert_eq!(lie, "invalid nodes: node 1, neg: its result is f32, not f64");
        let bits = refused(vec![node(Op::Constant(Scalar::from_bits(DType::U8, [256, 0])), DType::U8)], &[0]);
        assert_eq!(bits, "invalid nodes: node 0, constant: its bits exceed its type");
        let axis = refused(vec![node(Op::Position(64), DType::I64)], &[0]);
        assert_eq!(axis, "invalid nodes: node 0, position: axis 64, but there are at most 64 axes");
        assert_eq!(refused(vec![input(0, f)], &[]), "invalid outputs: an expression has at least one output");
        assert_eq!(refused(vec![input(0, f)], &[1]), "invalid outputs: node 1, but there are 1");
        let many = refused(vec![input(0, f); 4097], &[0]);
        assert_eq!(many, "invalid nodes: 4097, but at most 4096 are allowed");
        assert_eq!(admit(&[f; 9], vec![], &[0]).unwrap_err().argument(), "inputs");
        let mixed = admit(&[f, DType::I8], vec![input(0, f), input(1, DType::I8), node(Op::Fma(0, 0, 1), f)], &[2]);
        let mixed = mixed.unwrap_err().to_string();
        assert_eq!(
            mixed,
            "invalid nodes: node 2, fma of input 0 and input 0 and input 1: f32 and i8 differ: cast one of them, as in \
             x.cast(I8)"
        );
    }
}
