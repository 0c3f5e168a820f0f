//! What an expression is: plain data.
//!
//! An [`Expr`] is a flat list of at most [`Expr::MAX_NODES`] nodes in single static assignment: each node names only
//! nodes before it. `ops.rs` lists the operations, `types.rs` gives the type of each result, and `admit.rs` is the one
//! check that lists from a file and lists just recorded pass. A new operation starts in `ops.rs` and `types.rs`; the
//! compiler then names the places that must know it.
//!
//! The rules of arithmetic are said in the documentation of [`expressions`](crate::expressions).

mod admit;
pub(crate) use admit::check;
mod ops;
mod text;
mod types;

pub use ops::{Binary, Compare, Op, Overflow, Unary};
pub(crate) use text::describe;
pub(crate) use types::result_type;

use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::libraries::expressions::Scalar;
use serde::{Deserialize, Serialize};

/// The number of a node.
pub type Id = u16;

/// One operation and the type of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// The type of its result.
    pub dtype: DType,
}

/// One formula for the elements of up to 8 inputs, which gives up to 4 outputs.
///
/// Equality and hash are those of the formula, not of the parameters' values: so a kernel can be found by them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Plain")]
pub struct Expr {
    inputs: Vec<DType>,
    parameters: Vec<DType>,
    nodes: Vec<Node>,
    outputs: Vec<Id>,
    /// The axes along which positions are taken, each once, in order of appearance. Given by the nodes.
    #[serde(skip)]
    positions: Vec<u8>,
}

/// An expression that is not admitted yet.
#[derive(Deserialize)]
struct Plain {
    inputs: Vec<DType>,
    parameters: Vec<DType>,
    nodes: Vec<Node>,
    outputs: Vec<Id>,
}

impl TryFrom<Plain> for Expr {
    type Error = Error;
    fn try_from(plain: Plain) -> Result<Self> {
        Expr::admit(plain.inputs, plain.parameters, plain.nodes, plain.outputs)
    }
}

impl Expr {
    /// The largest number of nodes.
    pub const MAX_NODES: usize = 4096;
    /// The largest number of inputs.
    pub const MAX_INPUTS: usize = 8;
    /// The largest number of outputs.
    pub const MAX_OUTPUTS: usize = 4;
    /// The largest number of parameters: all of them fit into the 4 KiB of a kernel's arguments.
    pub const MAX_PARAMETERS: usize = 128;
    /// The number of axes that positions and extents can name.
    pub const MAX_AXES: usize = 64;

    /// The type of the result of `op`, whose operands have these types (as many as it has; the rest repeats the last).
    /// `declared` is the type of nodes that choose their own: leaves, casts and bit casts.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the operation has no meaning for these types.
    pub fn result_type(op: &Op, operands: [DType; 3], declared: DType) -> Result<DType> {
        result_type(op, operands, declared).map_err(|reason| Error::invalid(op.name(), reason))
    }

    /// What stands for the number of the element among the axes of positions.
    pub(crate) const INDEX: u8 = u8::MAX;

    /// The types of the inputs.
    pub fn inputs(&self) -> &[DType] {
        &self.inputs
    }

    /// The types of the parameters.
    pub fn parameters(&self) -> &[DType] {
        &self.parameters
    }

    /// Checks that `scalars` are a value for each parameter; `name` is what the error calls them.
    pub(crate) fn check_scalars(&self, name: &'static str, scalars: &[Scalar]) -> Result<()> {
        if scalars.len() != self.parameters.len() {
            let what = format!("{}, but the formula has {}", scalars.len(), self.parameters.len());
            return Err(Error::invalid(name, what));
        }
        for (k, (scalar, dtype)) in scalars.iter().zip(&self.parameters).enumerate() {
            if scalar.dtype() != *dtype || !scalar.is_well_formed() {
                return Err(Error::invalid(name, format!("number {k} is {}, not {dtype}", scalar.dtype())));
            }
        }
        Ok(())
    }

    /// The nodes, each after those that it uses.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes whose values are the outputs.
    pub fn outputs(&self) -> &[Id] {
        &self.outputs
    }

    /// The types of the outputs.
    pub fn output_types(&self) -> impl Iterator<Item = DType> {
        self.outputs.iter().filter_map(|id| self.dtype(*id))
    }

    /// The type of a node; `None` if there is none of this number.
    pub fn dtype(&self, id: Id) -> Option<DType> {
        self.nodes.get(usize::from(id)).map(|node| node.dtype)
    }

    /// The axes along which it takes positions, each once, in order of appearance.
    pub(crate) fn positions(&self) -> &[u8] {
        &self.positions
    }

    /// The number of axes that positions and extents need.
    pub fn axes(&self) -> usize {
        let axis = |node: &Node| match node.op {
            Op::Position(axis) | Op::Extent(axis) => usize::from(axis) + 1,
            _ => 0,
        };
        self.nodes.iter().map(axis).max().unwrap_or(0)
    }
}
