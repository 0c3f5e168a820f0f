//! A graph of operations: its tensors and operations as descriptors.

use super::descriptor::{Descriptor, Of, Refused};
use super::handle::Functions;
use crate::core::element::DType;
use crate::engines::library::Code;

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

/// `cudnnDataType_t` of sums, indices and masks.
pub(super) const F32: i32 = 0;
pub(super) const F64: i32 = 1;
pub(super) const I32: i32 = 4;
pub(super) const BOOLEAN: i32 = 12;

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
    Multiply = 1,
    Max = 3,
    Divide = 6,
    Subtract = 9,
    Exp = 13,
    Log = 15,
    Identity = 21,
    Relu = 100,
    Greater = 302,
    AtLeast = 303,
    Less = 304,
    And = 400,
    Index = 501,
    /// `x` where the mask `t` is true, else `b`.
    Select = 601,
}

/// `cudnnReduceTensorOp_t`.
#[derive(Clone, Copy)]
#[repr(i32)]
pub(super) enum Reduced {
    Sum = 0,
    Max = 3,
}

/// The inputs of an element-wise operation.
#[derive(Clone, Copy)]
pub(super) struct Inputs {
    pub(super) x: Node,
    pub(super) b: Option<Node>,
    pub(super) mask: Option<Node>,
    /// The axis of an index.
    pub(super) axis: Option<i64>,
}

impl Inputs {
    pub(super) fn one(x: Node) -> Self {
        Inputs { x, b: None, mask: None, axis: None }
    }
    pub(super) fn two(x: Node, b: Node) -> Self {
        Inputs { b: Some(b), ..Self::one(x) }
    }
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
    /// A number in host memory.
    pub(super) by_value: bool,
}

/// A graph that is being made.
pub(super) struct Graph {
    pub(super) api: &'static Functions,
    /// The numbers of the operands so far.
    numbers: Vec<i64>,
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
        Graph { api, numbers: Vec::new(), tensors: Vec::new(), settings: Vec::new(), operations: Vec::new() }
    }

    /// Addresses of operands are multiples of this.
    pub(super) const ALIGNMENT: usize = 16;

    /// Numbers of tensors that are no operands begin here.
    const INNER: i64 = 1 << 20;

    /// Adds a tensor. An operand that is read in two layouts has two numbers: the library's text of a plan keeps one layout for each
    /// number, and a plan that is made of it would read the operand in the other one too, beyond its end.
    pub(super) fn tensor(&mut self, tensor: &TensorOf<'_>) -> Result<Node, Refused> {
        if let Some(number) = tensor.operand {
            if self.numbers.contains(&number) {
                let why = format!("internal error: operand {number} stands twice in a graph");
                return Err(Refused::told("cudnnBackendFinalize", Code(2000), why));
            }
            self.numbers.push(number);
        }
        let number = tensor.operand.unwrap_or(Self::INNER + self.tensors.len() as i64);
        let made = Descriptor::new(self.api, TENSOR)?
            .choice(901, Of::DataType, tensor.dtype)?
            .ints(902, tensor.extents)?
            .ints(903, tensor.strides)?
            .ints(906, &[number])?
            .ints(900, &[Self::ALIGNMENT as i64])?
            .flag(907, tensor.operand.is_none())?
            .flag(908, tensor.by_value)?
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
    pub(super) fn pointwise(&mut self, mode: Pointwise, compute: i32, inputs: Inputs, y: Node) -> Result<(), Refused> {
        let setting = Descriptor::new(self.api, POINTWISE)?.choice(0, Of::PointwiseMode, mode as i32)?.choice(
            1,
            Of::DataType,
            compute,
        )?;
        let setting = match inputs.axis {
            Some(axis) => setting.ints(9, &[axis])?,
            None => setting,
        };
        let setting = setting.finalized()?;
        let mut operation = Descriptor::new(self.api, OPERATION_POINTWISE)?
            .links(750, &[&setting])?
            .links(751, &[self.at(inputs.x)])?;
        for (attribute, node) in [(752, inputs.b), (758, inputs.mask)] {
            if let Some(node) = node {
                operation = operation.links(attribute, &[self.at(node)])?;
            }
        }
        let operation = operation.links(753, &[self.at(y)])?.finalized()?;
        self.setting(setting);
        self.operation(operation);
        Ok(())
    }

    /// `y` has one element where `x` has several along an axis.
    pub(super) fn reduce(&mut self, how: Reduced, x: Node, y: Node) -> Result<(), Refused> {
        let setting = Descriptor::new(self.api, 21)?
            .choice(1600, Of::ReductionOperator, how as i32)?
            .choice(1601, Of::DataType, F32)?
            .finalized()?;
        let operation = Descriptor::new(self.api, 22)?
            .links(1612, &[&setting])?
            .links(1610, &[self.at(x)])?
            .links(1611, &[self.at(y)])?
            .finalized()?;
        self.setting(setting);
        self.operation(operation);
        Ok(())
    }

    /// `c = a * b`, the last two axes, in f32. `lengths`: tensors of the numbers of rows of `a`, columns of `b`, and columns of `a` that
    /// are there.
    pub(super) fn multiply(&mut self, [a, b, c]: [Node; 3], lengths: [Option<Node>; 3]) -> Result<(), Refused> {
        let setting = Descriptor::new(self.api, 18)?.choice(1500, Of::DataType, F32)?;
        let setting = match lengths {
            [None, None, None] => setting,
            _ => setting.double(1503, 0.0)?,
        };
        let setting = setting.finalized()?;
        let mut operation = Descriptor::new(self.api, 19)?.links(1523, &[&setting])?;
        let operands = [(1520, Some(a)), (1521, Some(b)), (1522, Some(c))];
        for (attribute, node) in operands.into_iter().chain((1525..).zip(lengths)) {
            if let Some(node) = node {
                operation = operation.links(attribute, &[self.at(node)])?;
            }
        }
        let operation = operation.finalized()?;
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
