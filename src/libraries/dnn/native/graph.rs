//! A graph of operations: its tensors and operations as descriptors.

use super::descriptor::{Descriptor, Of, Refused};
use super::handle::Functions;
use crate::core::element::DType;

/// `cudnnDataType_t`.
pub(super) fn data_type(dtype: DType) -> Option<i32> {
    Some(match dtype {
        DType::F32 => 0,
        DType::F64 => 1,
        DType::F16 => 2,
        DType::I8 => 3,
        DType::I32 => 4,
        DType::I64 => 8,
        DType::Bf16 => 9,
        _ => return None,
    })
}

// cudnnBackendDescriptorType_t and its attributes.
const POINTWISE: i32 = 0;
const OPERATION_POINTWISE: i32 = 13;
const GRAPH: i32 = 15;
const TENSOR: i32 = 17;
const GRAPH_OPERATIONS: i32 = 801;

/// Element-wise operations, `cudnnPointwiseMode_t`.
#[derive(Clone, Copy)]
#[repr(i32)]
pub(super) enum Pointwise {
    Add = 0,
    Relu = 100,
}

/// A tensor of a graph.
#[derive(Clone, Copy)]
pub(super) struct Node(usize);

/// What a tensor is.
pub(super) struct TensorOf<'t> {
    pub(super) dtype: i32,
    pub(super) extents: &'t [i64],
    pub(super) strides: &'t [i64],
    /// It is an operand of the whole, with its number; else it is only passed from one operation to the next.
    pub(super) operand: Option<i64>,
}

/// A graph that is being made.
pub(super) struct Graph {
    pub(super) api: &'static Functions,
    tensors: Vec<Descriptor>,
    /// What operations refer to.
    settings: Vec<Descriptor>,
    operations: Vec<Descriptor>,
}

/// What a whole graph consists of; kept as long as plans of it.
pub(super) struct Finished {
    pub(super) graph: Descriptor,
    #[expect(dead_code, reason = "kept alive")]
    parts: [Vec<Descriptor>; 3],
}

impl Graph {
    pub(super) fn new(api: &'static Functions) -> Self {
        Graph { api, tensors: Vec::new(), settings: Vec::new(), operations: Vec::new() }
    }

    /// Addresses of operands are multiples of this.
    pub(super) const ALIGNMENT: usize = 16;

    /// Numbers of tensors that are no operands begin here.
    const INNER: i64 = 1 << 20;

    pub(super) fn tensor(&mut self, tensor: &TensorOf<'_>) -> Result<Node, Refused> {
        let number = tensor.operand.unwrap_or(Self::INNER + self.tensors.len() as i64);
        let made = Descriptor::new(self.api, TENSOR)?
            .choice(901, Of::DataType, tensor.dtype)?
            .ints(902, tensor.extents)?
            .ints(903, tensor.strides)?
            .ints(906, &[number])?
            .ints(900, &[Self::ALIGNMENT as i64])?
            .flag(907, tensor.operand.is_none())?
            .finalized()?;
        self.tensors.push(made);
        Ok(Node(self.tensors.len() - 1))
    }

    /// The descriptor of a tensor of this graph.
    pub(super) fn at(&self, node: Node) -> &Descriptor {
        #[expect(clippy::indexing_slicing, reason = "nodes are made by `tensor`, and tensors are never removed")]
        &self.tensors[node.0]
    }

    /// Keeps what operations refer to.
    pub(super) fn setting(&mut self, setting: Descriptor) {
        self.settings.push(setting);
    }

    pub(super) fn operation(&mut self, operation: Descriptor) {
        self.operations.push(operation);
    }

    /// `y = mode(x, b)`, computed in a data type.
    pub(super) fn pointwise(
        &mut self,
        mode: Pointwise,
        compute: i32,
        (x, b, y): (Node, Option<Node>, Node),
    ) -> Result<(), Refused> {
        let setting = Descriptor::new(self.api, POINTWISE)?
            .choice(0, Of::PointwiseMode, mode as i32)?
            .choice(1, Of::DataType, compute)?
            .finalized()?;
        let mut operation =
            Descriptor::new(self.api, OPERATION_POINTWISE)?.links(750, &[&setting])?.links(751, &[self.at(x)])?;
        if let Some(b) = b {
            operation = operation.links(752, &[self.at(b)])?;
        }
        let operation = operation.links(753, &[self.at(y)])?.finalized()?;
        self.setting(setting);
        self.operation(operation);
        Ok(())
    }

    pub(super) fn finished(self) -> Result<Finished, Refused> {
        let operations: Vec<&Descriptor> = self.operations.iter().collect();
        let graph = Descriptor::new(self.api, GRAPH)?.links(GRAPH_OPERATIONS, &operations)?.finalized()?;
        Ok(Finished { graph, parts: [self.tensors, self.settings, self.operations] })
    }
}
