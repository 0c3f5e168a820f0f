//! The backward pass of an attention as a graph.
//!
//! The sums of `dy * o` along a row, the gradients of the queries in f32, and those of keys and values for each head of queries are
//! memory of this dispatch. With the gradients of the queries in f32 the library adds to them in the order in which blocks come;
//! without them it needs memory for all scores, and gives the same bits each time.

use super::super::attention::{AttendBackward, AttentionProblem};
use super::attend::others;
use super::choose::Rules;
use super::descriptor::{Descriptor, Refused};
use super::factor;
use super::graph::{F32, Finished, Inputs, Node, Pointwise, Reduced, TensorOf};
use super::handle::{Cudnn, Functions};
use super::lengths::{self, Blanked};
use super::plan::{Plan, settle, target};
use super::recipes::Planned;
use super::scores::{Numbers, Operand, Scores, broken, missing, packed};
use super::slices::{self, Sliced};
use crate::core::error::{Error, Result};
use crate::engines::cuda::PlanBuilder;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Built, PlanKey, Prepare};

/// The plan of a backward pass.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub(super) struct Backward(pub(super) AttentionProblem);

/// Why it is not computed, where that is known before the library is asked.
fn refusal(problem: &AttentionProblem) -> Option<String> {
    if problem.queries == 1 {
        // With one key there is no engine; with more, an H100 and 9.19 gave wrong gradients of the query.
        return Some("gradients of an attention of one query: cuDNN's are wrong; the CPU computes them".into());
    }
    missing(problem, true)
}

impl Scores<'_> {
    /// A matrix of scores, turned, in the type of the operands.
    fn turned(&mut self, x: Node) -> Result<Node, Refused> {
        let [b, h, q, k] = self.extents;
        let (extents, strides) = ([b, h, k, q], [h * q * k, q * k, 1, k]);
        let dtype = self.dtype;
        let y = TensorOf { dtype, extents: &extents, strides: &strides, operand: None, by_value: false };
        let y = self.graph.tensor(&y)?;
        let made =
            Descriptor::new(self.graph.api, 31)?.links(2200, &[self.graph.at(x)])?.links(2201, &[self.graph.at(y)])?;
        self.graph.operation(made.finalized()?);
        Ok(y)
    }

    /// The gradient of keys or values: a product for each head of queries, and their sum where one of keys serves several.
    fn of_keys(&mut self, [weights, rows]: [Node; 2], to: Node, full: Operand, width: usize) -> Result<(), Refused> {
        let [queries, keys] = self.pair();
        let lengths = [keys, None, queries];
        if self.problem.served() == 1 {
            return self.graph.multiply([weights, rows, to], lengths);
        }
        let [b, h, _, k] = self.extents;
        let extents = [b, h, k, i64::try_from(width).unwrap_or(i64::MAX)];
        let full = self.operand(full, self.dtype, extents, packed(extents))?;
        self.graph.multiply([weights, rows, full], lengths)?;
        self.graph.reduce(Reduced::Sum, full, to)
    }
}

impl Planned for Backward {
    fn graph(&self, api: &'static Functions) -> Result<Finished, Refused> {
        let problem = &self.0;
        let mut all = Scores::new(api, problem)?;
        let [b, h, s, _] = all.extents;
        let row = [b, h, s, 1];
        let (q, k) = (problem.extents_of_q(), problem.extents_of_k());
        let (v, o) = (problem.extents_of_v(), problem.extents_of_o());
        let of_q = all.rows(Operand::Q, q, problem.of_q)?;
        let of_k = all.rows(Operand::K, k, problem.of_k)?;
        let (kt, vt) = (all.columns(Operand::ColumnsOfK, k, problem.of_k)?, all.columns(Operand::V, v, problem.of_v)?);
        let (of_o, dy) = (all.rows(Operand::O, o, problem.of_o)?, all.rows(Operand::Dy, o, problem.of_o)?);
        let sums = all.operand(Operand::Sums, F32, row, packed(row))?;

        // The mean of the slopes of a row. With a mask of ours 9.19 takes the number for 1, whatever it is: what depends on dropout is in
        // the result that it is given.
        let extents = o.map(|n| i64::try_from(n).unwrap_or(i64::MAX));
        let (product, sum) = (all.inner(extents, F32)?, all.inner(row, F32)?);
        all.graph.pointwise(Pointwise::Multiply, F32, Inputs::two(dy, of_o), product)?;
        all.graph.reduce(Reduced::Sum, product, sum)?;
        let (one, mean) = (all.number(Operand::One, F32)?, all.operand(Operand::Means, F32, row, packed(row))?);
        all.graph.pointwise(Pointwise::Multiply, F32, Inputs::two(sum, one), mean)?;

        let scores = all.scores(of_q, kt)?;
        let distance = all.value(Pointwise::Subtract, Inputs::two(scores, sums))?;
        let weights = all.value(Pointwise::Exp, Inputs::one(distance))?;
        let dropout = all.dropout()?;
        let mut kept = weights;
        if let Some([mask, factor]) = dropout {
            kept = all.value(Pointwise::Multiply, Inputs::two(kept, mask))?;
            kept = all.value(Pointwise::Multiply, Inputs::two(kept, factor))?;
        }
        let turned = all.turned(kept)?;
        let dv = all.rows(Operand::Dv, v, problem.of_v)?;
        all.of_keys([turned, dy], dv, Operand::FullValues, problem.value_width)?;

        let mut slopes = all.inner(all.extents, F32)?;
        let lengths = all.of_scores();
        all.graph.multiply([dy, vt, slopes], lengths)?;
        if let Some([mask, _]) = dropout {
            slopes = all.value(Pointwise::Multiply, Inputs::two(slopes, mask))?;
        }
        slopes = all.value(Pointwise::Subtract, Inputs::two(slopes, mean))?;
        slopes = all.value(Pointwise::Multiply, Inputs::two(slopes, weights))?;
        if let Some([_, factor]) = dropout {
            slopes = all.value(Pointwise::Multiply, Inputs::two(slopes, factor))?;
        }
        let slopes = all.value(Pointwise::Multiply, Inputs::two(slopes, all.scale))?;
        let turned = all.turned(slopes)?;
        let dk = all.rows(Operand::Dk, k, problem.of_k)?;
        all.of_keys([turned, of_q], dk, Operand::FullKeys, problem.width)?;

        let dq = all.rows(Operand::Dq, q, problem.of_q)?;
        let lengths = all.of_values();
        if problem.deterministic {
            all.graph.multiply([slopes, of_k, dq], lengths)?;
            return all.graph.finished();
        }
        let extents = q.map(|n| i64::try_from(n).unwrap_or(i64::MAX));
        let wide = all.operand(Operand::WideQ, F32, extents, packed(extents))?;
        all.graph.multiply([slopes, of_k, wide], lengths)?;
        all.graph.pointwise(Pointwise::Identity, F32, Inputs::one(wide), dq)?;
        all.graph.finished()
    }

    fn rules(&self, most: u64) -> Rules {
        Rules { strict: false, deterministic: self.0.deterministic, most, only: None }
    }

    fn unpinned(&self) -> impl serde::Serialize {
        ("attend backward", &self.0)
    }
}

/// Whether this release has it.
///
/// # Errors
/// Why it has not.
pub(super) fn supported(api: &Functions, problem: &AttentionProblem) -> Result<()> {
    match broken(api.version, true).or_else(|| refusal(problem)) {
        Some(why) => Err(Error::unsupported(why)),
        None => Ok(()),
    }
}

impl PlanKey for Backward {
    type Plan = Plan;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Plan>> {
        supported(builder.api::<Cudnn>()?, &self.0)?;
        Plan::build(builder, self)
    }
}

/// Nothing is to be computed: all gradients are zeros.
pub(super) fn is_empty(problem: &AttentionProblem) -> bool {
    problem.rows() == 0 || problem.keys == 0 || problem.width == 0 || problem.value_width == 0
}

pub(in super::super) fn prepare(problem: &AttentionProblem, plans: &mut Prepare<'_>) {
    if !is_empty(problem) {
        plans.plan(&Backward(slices::part(problem, slices::MOST_BYTES)));
        factor::prepare(problem, plans);
    }
}

/// Memory of this dispatch: operand and bytes; the first is zeroed.
fn scratch(problem: &AttentionProblem) -> Vec<(Operand, usize, bool)> {
    let mut all = vec![(Operand::Means, 4 * problem.rows(), false)];
    if !problem.deterministic {
        all.push((Operand::WideQ, 4 * problem.rows() * problem.width, true));
    }
    if problem.served() > 1 {
        let rows = problem.batch * problem.heads * problem.keys * problem.dtype.size();
        all.extend([
            (Operand::FullKeys, rows * problem.width, false),
            (Operand::FullValues, rows * problem.value_width, false),
        ]);
    }
    all
}

pub(in super::super) fn enqueue(problem: &AttentionProblem, queue: &mut Enqueue<'_, AttendBackward>) -> Result<()> {
    let (reads, writes) = (queue.reads(), queue.writes());
    if is_empty(problem) {
        for span in writes {
            // SAFETY: an operand that is written.
            unsafe { queue.fill(span.address(), span.bytes(), &[0]) }?;
        }
        return Ok(());
    }
    let (plan, part) = (queue.plan::<Backward>(0)?, slices::part(problem, slices::MOST_BYTES));
    let numbers = Numbers::new(&part);
    let mut kept = numbers.operands(&part);
    kept.push(numbers.one());
    let mut names = vec![Operand::Q, Operand::K, Operand::V, Operand::O, Operand::Dy, Operand::Sums];
    names.extend(others(problem));
    let mut addresses = lengths::addresses(problem, queue, reads)?;
    // The result has zeros there.
    let operands = [
        (0, problem.extents_of_q(), problem.of_q, false),
        (1, problem.extents_of_k(), problem.of_k, true),
        (2, problem.extents_of_v(), problem.of_v, true),
        (4, problem.extents_of_o(), problem.of_o, false),
    ];
    // SAFETY: operands of a backward pass lie without gaps; there is a plan, so rows are multiples of 16 bytes.
    unsafe { lengths::clean(problem, queue, reads, &mut addresses, &operands) }?;
    if let Some(queries) = addresses.first_mut() {
        // SAFETY: the queries (the op's check), or a copy of them.
        *queries = unsafe { factor::multiply(problem, queue, *queries, None) }?;
    }
    let sliced = |(operand, address)| Sliced::new(operand, address, problem, &part);
    let mut sources: Vec<Sliced> = names.into_iter().zip(addresses).map(sliced).collect();
    let mut zeroed = None;
    for (operand, bytes, zeros) in scratch(&part) {
        let address = queue.scratch(bytes)?;
        zeroed = zeroed.or(zeros.then_some((address, bytes)));
        kept.push((operand as i64, address));
    }
    let mut written = Vec::with_capacity(3);
    for (operand, span) in [Operand::Dq, Operand::Dk, Operand::Dv].into_iter().zip(writes) {
        written.push((span, Sliced::new(operand, target(queue, span)?, problem, &part)));
    }
    let area = queue.workspace(plan.workspace())?;
    for place in slices::places(problem, &part) {
        let mut operands = kept.clone();
        for source in &mut sources {
            let address = source.source(queue, place)?;
            operands.push((source.operand as i64, address));
            if matches!(source.operand, Operand::K) {
                operands.push((Operand::ColumnsOfK as i64, address));
            }
        }
        operands.extend(written.iter().map(|(_, to)| (to.operand as i64, to.target(place))));
        if let Some((address, bytes)) = zeroed {
            // SAFETY: scratch memory of as many bytes.
            unsafe { queue.fill(address, bytes, &[0]) }?;
        }
        // SAFETY: the graph describes tensors as they lie in the operands (the op's check), in copies of them, or in scratch memory of
        // their sizes; the numbers live until the call has returned. The passes use the same memory in the order of the stream.
        unsafe { plan.execute_in(queue, &operands, area) }?;
    }
    if let Some((_, of_queries)) = written.first() {
        // SAFETY: the gradient of the queries, which lies as they do, without gaps.
        unsafe { factor::multiply(problem, queue, of_queries.address, Some(of_queries.address)) }?;
    }
    if let Some(lengths) = lengths::of(problem, reads)? {
        let tensors = [
            (problem.extents_of_q(), problem.of_q, false),
            (problem.extents_of_k(), problem.of_k, true),
            (problem.extents_of_v(), problem.of_v, true),
        ];
        for ((_, to), (extents, rows, of_keys)) in written.iter().zip(tensors) {
            let blanked = Blanked { to: to.address, sums: 0, sink: 0, extents, rows, of_keys };
            // SAFETY: a gradient, as the graph describes it; rows are multiples of 16 bytes, or there is no plan.
            unsafe { lengths::blank(problem, queue, lengths, &blanked) }?;
        }
    }
    for (span, to) in written {
        // SAFETY: the address is that of `target`.
        unsafe { settle(queue, span, to.address) }?;
    }
    Ok(())
}
