//! An expression as text, for errors and people.

use super::{Expr, Id, Node, Op};
use std::fmt::Write;

/// The node as a formula, down to a depth; what lies deeper is `..`.
pub(crate) fn describe(nodes: &[Node], id: Id, depth: usize) -> String {
    let Some(node) = nodes.get(usize::from(id)) else { return format!("node {id}") };
    match node.op {
        Op::Input(k) => format!("input {k}"),
        Op::Parameter(k) => format!("parameter {k}"),
        Op::Constant(scalar) => format!("{scalar:?}"),
        Op::Position(axis) => format!("position({axis})"),
        Op::Extent(axis) => format!("extent({axis})"),
        Op::Index => "index".into(),
        _ if depth == 0 => "..".into(),
        op => {
            let operands: Vec<String> = op.operands().map(|id| describe(nodes, id, depth - 1)).collect();
            format!("{}({})", op.name(), operands.join(", "))
        }
    }
}

impl std::fmt::Display for Expr {
    /// One line for each node: its number, type and operation; then the outputs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (id, node) in self.nodes().iter().enumerate() {
            let mut operands = String::new();
            for operand in node.op.operands() {
                write!(operands, " %{operand}")?;
            }
            match node.op {
                Op::Input(k) => writeln!(f, "%{id}: {} = input {k}", node.dtype)?,
                Op::Parameter(k) => writeln!(f, "%{id}: {} = parameter {k}", node.dtype)?,
                Op::Constant(c) => writeln!(f, "%{id}: {} = constant {c:?}", node.dtype)?,
                Op::Position(axis) | Op::Extent(axis) => {
                    writeln!(f, "%{id}: {} = {} {axis}", node.dtype, node.op.name())?;
                }
                op => writeln!(f, "%{id}: {} = {}{operands}", node.dtype, op.name())?,
            }
        }
        writeln!(f, "outputs {:?}", self.outputs())
    }
}
