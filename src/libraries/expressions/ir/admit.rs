//! The one way to an expression.

use super::text::describe;
use super::{Expr, Id, Node, Op, result_type};
use crate::core::element::DType;
use crate::core::error::{Error, Result};

impl Expr {
    /// An expression of these parts, which may come from a file.
    ///
    /// # Errors
    /// [`Error`] that names `inputs`, `parameters`, `nodes` or `outputs`: too many of them, a node that uses a later one,
    /// a type that does not fit its operation, an axis above 63, no output.
    pub fn admit(inputs: Vec<DType>, parameters: Vec<DType>, nodes: Vec<Node>, outputs: Vec<Id>) -> Result<Self> {
        at_most("nodes", nodes.len(), Expr::MAX_NODES)?;
        for (at, node) in nodes.iter().enumerate() {
            let earlier = nodes.get(..at).unwrap_or_default();
            check(node, earlier, &inputs, &parameters)
                .map_err(|e| Error::invalid("nodes", format!("node {at}, {e}")))?;
        }
        Expr::of_checked(inputs, parameters, nodes, outputs)
    }

    /// As [`admit`](Self::admit), of nodes each of which was [checked](check) as it came.
    pub(crate) fn of_checked(
        inputs: Vec<DType>,
        parameters: Vec<DType>,
        nodes: Vec<Node>,
        outputs: Vec<Id>,
    ) -> Result<Self> {
        at_most("inputs", inputs.len(), Expr::MAX_INPUTS)?;
        at_most("parameters", parameters.len(), Expr::MAX_PARAMETERS)?;
        at_most("nodes", nodes.len(), Expr::MAX_NODES)?;
        at_most("outputs", outputs.len(), Expr::MAX_OUTPUTS)?;
        if outputs.is_empty() {
            return Err(Error::invalid("outputs", "an expression has at least one output"));
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

fn at_most(name: &'static str, len: usize, most: usize) -> Result<()> {
    if len <= most {
        return Ok(());
    }
    Err(Error::invalid(name, format!("{len}, but at most {most} are allowed")))
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
