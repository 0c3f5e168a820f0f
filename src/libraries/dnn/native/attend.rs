//! The forward pass of an attention as a graph.

use super::super::attention::{Attend, AttentionProblem};
use super::super::formulas::{cast, either, kept};
use super::choose::Rules;
use super::descriptor::Refused;
use super::factor;
use super::graph::{F32, Finished, Inputs, Node, Pointwise, Reduced, TensorOf};
use super::handle::{Cudnn, Functions};
use super::lengths::{self, Blanked};
use super::plan::{Plan, settle, target};
use super::recipes::Planned;
use super::scores::{Numbers, Operand, Scores, broken, missing};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;
use crate::engines::cuda::PlanBuilder;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Built, PlanKey, Prepare};
use crate::libraries::expressions::cuda::Part;
use crate::libraries::expressions::{Symbol, constant, position};
use crate::libraries::tensor_routine;

/// The plan of a forward pass.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub(super) struct Forward(pub(super) AttentionProblem);

impl Scores<'_> {
    fn keys(&mut self) -> Result<Node, Refused> {
        let (extents, rows) = (self.problem.extents_of_k(), self.problem.of_k);
        if self.problem.pages.is_none() {
            return self.columns(Operand::K, extents, rows);
        }
        let stored = self.rows(Operand::K, self.problem.stored(extents), rows)?;
        let [b, h, s, d] = extents.map(|n| i64::try_from(n).unwrap_or(i64::MAX));
        let (extents, strides) = ([b, h, d, s], [h * s * d, s * d, 1, d]);
        let inner =
            TensorOf { dtype: self.dtype, extents: &extents, strides: &strides, operand: None, by_value: false };
        let inner = self.graph.tensor(&inner)?;
        self.load([stored, inner], Operand::Table)?;
        Ok(inner)
    }

    fn values(&mut self) -> Result<Node, Refused> {
        let (extents, rows) = (self.problem.extents_of_v(), self.problem.of_v);
        if self.problem.pages.is_none() {
            return self.rows(Operand::V, extents, rows);
        }
        let stored = self.rows(Operand::V, self.problem.stored(extents), rows)?;
        let inner = self.inner(extents.map(|n| i64::try_from(n).unwrap_or(i64::MAX)), self.dtype)?;
        self.load([stored, inner], Operand::TableOfValues)?;
        Ok(inner)
    }

    /// The weights of values, in the type of the operands.
    fn weights(&mut self, scores: Node) -> Result<Node, Refused> {
        let [b, h, s, _] = self.extents;
        let row = [b, h, s, 1];
        let (largest, log) = (self.inner(row, F32)?, self.inner(row, F32)?);
        self.graph.reduce(Reduced::Max, scores, largest)?;
        let sink = match self.problem.sink {
            true => Some(self.operand(Operand::Sink, F32, [1, h, 1, 1], [h, 1, 1, 1])?),
            false => None,
        };
        let largest = self.with_sink(Pointwise::Max, largest, sink)?;
        let distance = self.value(Pointwise::Subtract, Inputs::two(scores, largest))?;
        let exponential = self.value(Pointwise::Exp, Inputs::one(distance))?;
        let of_sink = match sink {
            Some(sink) => {
                let (distance, exponential) = (self.inner(row, F32)?, self.inner(row, F32)?);
                self.graph.pointwise(Pointwise::Subtract, F32, Inputs::two(sink, largest), distance)?;
                self.graph.pointwise(Pointwise::Exp, F32, Inputs::one(distance), exponential)?;
                Some(exponential)
            }
            None => None,
        };
        let sum = self.inner(row, F32)?;
        self.graph.reduce(Reduced::Sum, exponential, sum)?;
        let sum = self.with_sink(Pointwise::Add, sum, of_sink)?;
        self.graph.pointwise(Pointwise::Log, F32, Inputs::one(sum), log)?;
        // The library has no engine for a graph without the logarithms of the sums.
        let stats = match self.problem.stats {
            true => self.operand(Operand::Sums, F32, row, super::scores::packed(row))?,
            false => self.inner(row, F32)?,
        };
        let both = if sink.is_some() { Inputs::two(largest, log) } else { Inputs::two(log, largest) };
        self.graph.pointwise(Pointwise::Add, F32, both, stats)?;
        let Some([mask, factor]) = self.dropout()? else {
            let weights = self.inner(self.extents, self.dtype)?;
            self.graph.pointwise(Pointwise::Divide, F32, Inputs::two(exponential, sum), weights)?;
            return Ok(weights);
        };
        let weights = self.value(Pointwise::Divide, Inputs::two(exponential, sum))?;
        let weights = self.value(Pointwise::Multiply, Inputs::two(weights, factor))?;
        let kept = self.inner(self.extents, self.dtype)?;
        self.graph.pointwise(Pointwise::Multiply, F32, Inputs::two(weights, mask), kept)?;
        Ok(kept)
    }

    /// A value of each row, and that of the sink.
    fn with_sink(&mut self, mode: Pointwise, of_row: Node, sink: Option<Node>) -> Result<Node, Refused> {
        let Some(sink) = sink else { return Ok(of_row) };
        let [b, h, s, _] = self.extents;
        let both = self.inner([b, h, s, 1], F32)?;
        self.graph.pointwise(mode, F32, Inputs::two(of_row, sink), both)?;
        Ok(both)
    }
}

impl Planned for Forward {
    fn graph(&self, api: &'static Functions) -> Result<Finished, Refused> {
        let problem = &self.0;
        let mut all = Scores::new(api, problem)?;
        let q = all.rows(Operand::Q, problem.extents_of_q(), problem.of_q)?;
        let k = all.keys()?;
        let scores = all.scores(q, k)?;
        let weights = all.weights(scores)?;
        let v = all.values()?;
        let o = all.rows(Operand::O, problem.extents_of_o(), problem.of_o)?;
        let lengths = all.of_values();
        all.graph.multiply([weights, v, o], lengths)?;
        all.graph.finished()
    }

    fn rules(&self, most: u64) -> Rules {
        // Of the two of 9.19, the other one lets what lies in unused places of pages into the result: a weight of 0 times NaN.
        let only = self.0.pages.map(|_| 1);
        Rules { strict: false, deterministic: self.0.deterministic, most, only }
    }

    fn unpinned(&self) -> impl serde::Serialize {
        ("attend", &self.0)
    }
}

impl PlanKey for Forward {
    type Plan = Plan;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Plan>> {
        supported(builder.api::<Cudnn>()?, &self.0)?;
        Plan::build(builder, self)
    }
}

/// Whether this release has it.
///
/// # Errors
/// Why it has not.
pub(super) fn supported(api: &Functions, problem: &AttentionProblem) -> Result<()> {
    match broken(api.version, false).or_else(|| missing(problem, false)) {
        Some(why) => Err(Error::unsupported(why)),
        None => Ok(()),
    }
}

/// Nothing is to be computed.
pub(super) fn is_empty(problem: &AttentionProblem) -> bool {
    problem.rows() == 0 || problem.keys == 0 || problem.value_width == 0
}

pub(in super::super) fn prepare(problem: &AttentionProblem, plans: &mut Prepare<'_>) {
    if !is_empty(problem) {
        plans.plan(&Forward(problem.clone()));
        factor::prepare(problem, plans);
    } else if let Ok(Some(part)) = sums_of_sink(problem) {
        let _ = part.plan(plans);
    }
}

/// The kernel for the sums where there is no key: that of the sink, or -inf for a query behind its length; none without a sink.
fn sums_of_sink(problem: &AttentionProblem) -> Result<Option<Part>> {
    if !problem.sink || !problem.stats || problem.rows() == 0 {
        return Ok(None);
    }
    let (extents, wide) = ([problem.batch, problem.heads, problem.queries], problem.sums());
    let (mut types, mut inputs) = (vec![wide], vec![Layout::new(extents, [0, 1, 0], 0)?]);
    if problem.lengths {
        types.push(DType::I32);
        inputs.push(Layout::new(extents, [1, 0, 0], 0)?);
    }
    let sums = kept(("sums of a sink", wide, [problem.lengths.into(), 0, 0]), &types, |inputs| match inputs {
        [sink] => vec![*sink],
        [sink, length] => {
            let length = Symbol::<i64>::new(cast(*length, DType::I64).raw);
            vec![either(position(2).lt(length), *sink, constant(f64::NEG_INFINITY), wide)]
        }
        _ => Vec::new(),
    })?;
    Part::new(&sums, &[Layout::row_major(extents)?], &inputs).map(Some)
}

pub(in super::super) fn enqueue(problem: &AttentionProblem, queue: &mut Enqueue<'_, Attend>) -> Result<()> {
    let (reads, writes) = (queue.reads(), queue.writes());
    let (o, sums) = (writes.first().ok_or_else(tensor_routine::missing)?, writes.get(1));
    if is_empty(problem) {
        // SAFETY: the operand that is written.
        unsafe { queue.fill(o.address(), o.bytes(), &[0]) }?;
        if let (Some(sums), Some(part)) = (sums, sums_of_sink(problem)?) {
            let place =
                others(problem).position(|operand| matches!(operand, Operand::Sink)).map_or(0, |place| 3 + place);
            let lengths = lengths::of(problem, reads)?.map(|[queries, _]| queries);
            let sink = reads.get(place).ok_or_else(tensor_routine::missing)?.address();
            let addresses: Vec<u64> = [sums.address(), sink].into_iter().chain(lengths).collect();
            // SAFETY: the sums, the sink of each head and the lengths of each batch (the op's check).
            return unsafe { part.launch(queue, 0, &addresses, &[]) };
        }
        if let Some(sums) = sums {
            let lowest = f32::NEG_INFINITY.to_ne_bytes();
            // SAFETY: as above; an element has as many bytes unless it is f64, which has no plan when it is not empty.
            return unsafe {
                match sums.bytes() == 4 * sums.len() {
                    true => queue.fill(sums.address(), sums.len(), &lowest),
                    false => queue.fill(sums.address(), sums.len(), &f64::NEG_INFINITY.to_ne_bytes()),
                }
            };
        }
        return Ok(());
    }
    let (plan, numbers) = (queue.plan::<Forward>(0)?, Numbers::new(problem));
    let mut operands = numbers.operands(problem);
    let mut names = vec![Operand::Q, Operand::K, Operand::V];
    names.extend(others(problem));
    let mut addresses = lengths::addresses(problem, queue, reads)?;
    if problem.blanks_values() {
        let values = [(2, problem.extents_of_v(), problem.of_v, true)];
        // SAFETY: the values, which lie without gaps then; there is a plan, so rows are multiples of 16 bytes.
        unsafe { lengths::clean(problem, queue, reads, &mut addresses, &values) }?;
    }
    if let Some(queries) = addresses.first_mut() {
        // SAFETY: the queries (the op's check), or an aligned copy of them.
        *queries = unsafe { factor::multiply(problem, queue, *queries, None) }?;
    }
    operands.extend(names.iter().zip(&addresses).map(|(operand, address)| (*operand as i64, *address)));
    let table = names.iter().zip(&addresses).find(|(operand, _)| matches!(operand, Operand::Table));
    operands.extend(table.map(|(_, address)| (Operand::TableOfValues as i64, *address)));
    let to = target(queue, o)?;
    operands.push((Operand::O as i64, to));
    let to_sums = sums.map(|sums| target(queue, sums)).transpose()?;
    operands.extend(to_sums.map(|address| (Operand::Sums as i64, address)));
    // SAFETY: the graph describes tensors as they lie in the operands (the op's check) or in copies of them; the numbers live until
    // the call has returned.
    unsafe { plan.execute(queue, &operands) }?;
    let lengths = match lengths::of(problem, reads)? {
        Some(lengths) => Some(lengths),
        None => lengths::whole(problem, queue)?,
    };
    if let Some(lengths) = lengths {
        let (extents, rows) = (problem.extents_of_o(), problem.of_o);
        let place = names.iter().position(|operand| matches!(operand, Operand::Sink));
        let sink = place.and_then(|place| addresses.get(place)).copied().unwrap_or(0);
        let blanked = Blanked { to, sums: to_sums.unwrap_or(0), sink, extents, rows, of_keys: false };
        // SAFETY: the result and the sums, as the graph describes them; rows are multiples of 16 bytes, or there is no plan.
        unsafe { lengths::blank(problem, queue, lengths, &blanked) }?;
    }
    // SAFETY: the addresses are those of `target`.
    unsafe {
        settle(queue, o, to)?;
        match (sums, to_sums) {
            (Some(sums), Some(to)) => settle(queue, sums, to),
            _ => Ok(()),
        }
    }
}

/// Bias, mask, sink, pages and lengths, in the order in which they are read.
pub(super) fn others(problem: &AttentionProblem) -> impl Iterator<Item = Operand> + use<> {
    let one = [
        problem.bias.map(|_| Operand::Bias),
        problem.dropout.map(|_| Operand::Mask),
        problem.sink.then_some(Operand::Sink),
        problem.pages.map(|_| Operand::Table),
    ];
    let lengths = problem.lengths.then_some([Operand::QueryLengths, Operand::KeyLengths]);
    one.into_iter().flatten().chain(lengths.into_iter().flatten())
}
