//! The factor of an attention's scores, as the library takes it: a positive one.
//!
//! Its engines fill a tile up with keys of score -inf and take the largest product of a row before they multiply by the factor: 0 makes
//! NaN of -inf, and a negative factor makes it +inf, where there are fewer keys than a tile. So for such a factor the library gets its
//! magnitude, or 1 for 0, and a copy of the queries that are multiplied by -1, or by 0. Then the gradient of keys is right, and that of the
//! queries is multiplied by the same number afterwards.

use super::super::attention::AttentionProblem;
use super::super::formulas::{cast, kept};
use crate::core::element::DType;
use crate::core::error::Result;
use crate::device::tensor::Layout;
use crate::engines::cuda::Queue;
use crate::engines::op::Prepare;
use crate::libraries::expressions::constant;
use crate::libraries::expressions::cuda::Part;
use crate::libraries::tensor_routine::missing;

/// By what the queries are multiplied, if not by 1. A factor below the normal numbers of f32 counts as 0.
fn of_queries(problem: &AttentionProblem) -> Option<f64> {
    let scale = problem.scale() as f32;
    match scale.abs() >= f32::MIN_POSITIVE {
        true => (scale < 0.0).then_some(-1.0),
        false => Some(0.0),
    }
}

/// The factor that the library gets.
pub(super) fn of_scores(problem: &AttentionProblem) -> f32 {
    match of_queries(problem) {
        Some(0.0) => 1.0,
        _ => problem.scale().abs() as f32,
    }
}

/// The kernel that multiplies the queries, or their gradient, which lie in as many elements; none for a positive factor.
fn part(problem: &AttentionProblem) -> Result<Option<Part>> {
    let Some(factor) = of_queries(problem) else { return Ok(None) };
    let multiplied =
        kept(("attention queries", problem.dtype, [factor.to_bits(), 0, 0]), &[problem.dtype], |inputs| {
            inputs.iter().map(|x| cast(cast(*x, DType::F32) * constant(factor), problem.dtype)).collect()
        })?;
    let flat = [Layout::row_major([problem.reach_of_q()])?];
    Part::new(&multiplied, &flat, &flat).map(Some)
}

/// Names the kernel, behind the plan of the library.
pub(super) fn prepare(problem: &AttentionProblem, plans: &mut Prepare<'_>) {
    if let Ok(Some(part)) = part(problem) {
        let _ = part.plan(plans);
    }
}

/// Multiplies queries, or their gradient, to where the result is wanted, unless the factor is positive. Returns where they are then.
///
/// # Safety
/// There are as many elements as those of the queries reach, at both addresses; the dispatch may read and write them. Both may be one.
pub(super) unsafe fn multiply(
    problem: &AttentionProblem,
    queue: &mut Queue<'_>,
    from: u64,
    to: Option<u64>,
) -> Result<u64> {
    let Some(part) = part(problem)? else { return Ok(from) };
    let bytes = problem.reach_of_q().checked_mul(problem.dtype.size());
    let to = match to {
        Some(to) => to,
        None => queue.scratch(bytes.ok_or_else(missing)?)?,
    };
    // SAFETY: the caller's promise, or scratch memory of as many elements.
    unsafe { part.launch(queue, 1, &[to, from], &[]) }?;
    Ok(to)
}
