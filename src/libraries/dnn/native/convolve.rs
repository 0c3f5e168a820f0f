//! A convolution as a graph.

use super::super::convolution::{Convolve, Direction, Problem, Sizes, Sizing};
use super::super::plans::Pin;
use super::choose::Rules;
use super::descriptor::{Descriptor, Of, Refused};
use super::graph::{F32, F64, Finished, Graph, Inputs, Node, Pointwise, TensorOf, data_type};
use super::handle::Functions;
use super::plan::{Plan, aligned, settle, target};
use super::recipes::Planned;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::engines::cuda::PlanBuilder;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Built, PlanKey};
use crate::libraries::tensor_routine::missing;
use smallvec::SmallVec;

/// Numbers of the operands: the two that are read, the residual, the bias, the result.
const OPERANDS: [i64; 5] = [1, 2, 3, 4, 5];

impl Problem {
    fn compute(&self) -> i32 {
        if self.dtype == DType::F64 { F64 } else { F32 }
    }

    /// Only the axes that the library gets: at least two spatial ones.
    fn axes<T: TryInto<i64> + Copy>(&self, spatial: [T; 3]) -> Vec<i64> {
        let from = if self.rank == 3 { 0 } else { 1 };
        // The sizes were checked: products of them are numbers of elements.
        spatial.into_iter().skip(from).map(|n| n.try_into().unwrap_or(i64::MAX)).collect()
    }

    fn all(&self, (outer, spatial): Sizes) -> Vec<i64> {
        outer.into_iter().map(|n| i64::try_from(n).unwrap_or(i64::MAX)).chain(self.axes(spatial)).collect()
    }

    fn node(&self, graph: &mut Graph, sizes: Sizes, dtype: i32, operand: Option<i64>) -> Result<Node, Refused> {
        let (extents, strides) = (self.all(sizes), self.all(self.strides(sizes)));
        graph.tensor(&TensorOf { dtype, extents: &extents, strides: &strides, operand, by_value: false })
    }

    /// The window.
    fn window(&self, api: &'static Functions) -> Result<Descriptor, Refused> {
        const CROSS_CORRELATION: i32 = 1;
        let stride = self.axes(self.stride);
        Descriptor::new(api, 1)?
            .choice(100, Of::DataType, self.compute())?
            .choice(101, Of::ConvolutionMode, CROSS_CORRELATION)?
            .ints(106, &[stride.len() as i64])?
            .ints(102, &self.axes(self.dilation))?
            .ints(103, &stride)?
            .ints(104, &self.axes(self.after))?
            .ints(105, &self.axes(self.before))?
            .finalized()
    }

    /// The operation, and the attributes of its window and tensors: the first of six in a row, which begin with the two factors.
    fn operation(&self, graph: &mut Graph, [x, w, y]: [Node; 3]) -> Result<(), Refused> {
        let (kind, first, order) = match self.direction {
            Direction::Forward => (10, 700, [w, x, y]),
            Direction::Filter => (11, 712, [w, x, y]),
            Direction::Data => (12, 706, [w, x, y]),
        };
        let window = self.window(graph.api)?;
        let made = Descriptor::new(graph.api, kind)?;
        let made = match self.compute() {
            F64 => made.double(first, 1.0)?.double(first + 1, 0.0)?,
            _ => made.float(first, 1.0)?.float(first + 1, 0.0)?,
        };
        let mut made = made.links(first + 2, &[&window])?;
        for (attribute, node) in (first + 3..).zip(order) {
            made = made.links(attribute, &[graph.at(node)])?;
        }
        let made = made.finalized()?;
        graph.setting(window);
        graph.operation(made);
        Ok(())
    }
}

impl Planned for Problem {
    fn graph(&self, api: &'static Functions) -> Result<Finished, Refused> {
        let dtype = data_type(self.dtype).unwrap_or(F32);
        let mut graph = Graph::new(api);
        let [one, other, residual, bias, result] = OPERANDS;
        let (x, w, y) = (self.x(), self.w(), self.y());
        // Of which each is, by its place.
        let (nx, nw, ny) = match self.direction {
            Direction::Forward => (one, other, result),
            Direction::Data => (result, other, one),
            Direction::Filter => (one, result, other),
        };
        let x = self.node(&mut graph, x, dtype, Some(nx))?;
        let w = self.node(&mut graph, w, dtype, Some(nw))?;
        if !self.bias {
            let y = self.node(&mut graph, y, dtype, Some(ny))?;
            self.operation(&mut graph, [x, w, y])?;
            return graph.finished();
        }
        let last = |is_last: bool| if is_last { (dtype, Some(result)) } else { (F32, None) };
        let inner = self.node(&mut graph, y, F32, None)?;
        self.operation(&mut graph, [x, w, inner])?;
        let mut value = inner;
        if self.residual {
            let b = self.node(&mut graph, y, dtype, Some(residual))?;
            let sum = self.node(&mut graph, y, F32, None)?;
            graph.pointwise(Pointwise::Add, F32, Inputs::two(value, b), sum)?;
            value = sum;
        }
        let b = self.node(&mut graph, ([1, self.filters], [1; 3]), dtype, Some(bias))?;
        let (to, operand) = last(!self.relu);
        let sum = self.node(&mut graph, y, to, operand)?;
        graph.pointwise(Pointwise::Add, F32, Inputs::two(value, b), sum)?;
        if self.relu {
            let clipped = self.node(&mut graph, y, dtype, Some(result))?;
            graph.pointwise(Pointwise::Relu, F32, Inputs::one(sum), clipped)?;
        }
        graph.finished()
    }

    fn rules(&self, free: u64) -> Rules {
        let most = self.most_workspace.map_or(free, |most| free.min(most as u64));
        Rules { strict: self.dtype == DType::F32 && !self.tf32, deterministic: self.deterministic, most, only: None }
    }

    fn pin(&self) -> Option<&Pin> {
        self.pin.as_ref()
    }

    fn unpinned(&self) -> impl serde::Serialize {
        Problem { pin: None, ..self.clone() }
    }
}

impl PlanKey for Sizing {
    type Plan = Plan;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Plan>> {
        Plan::build(builder, &**self)
    }
}

/// Enqueues a convolution.
pub(in super::super) fn enqueue(op: &Convolve, queue: &mut Enqueue<'_, Convolve>) -> Result<()> {
    let problem = &op.0;
    let (reads, writes) = (queue.reads(), queue.writes());
    let output = writes.first().ok_or_else(missing)?;
    if output.is_empty() {
        return Ok(());
    }
    if !problem.is_planned() {
        // SAFETY: the operand that is written.
        return unsafe { queue.fill(output.address(), output.bytes(), &[0]) };
    }
    let [one, other, residual, bias, result] = OPERANDS;
    let numbers = [Some(one), Some(other), problem.residual.then_some(residual), problem.bias.then_some(bias)];
    let mut operands = SmallVec::<[(i64, u64); 5]>::new();
    for (number, span) in numbers.into_iter().flatten().zip(reads) {
        operands.push((number, aligned(queue, span)?));
    }
    let to = target(queue, output)?;
    operands.push((result, to));
    let plan = queue.plan::<Sizing>(0)?;
    // SAFETY: the graph describes packed tensors, which lie in the operands (the op's check) or in copies of them.
    unsafe { plan.execute(queue, &operands) }?;
    // SAFETY: `to` is that of `target`.
    unsafe { settle(queue, output, to) }
}
