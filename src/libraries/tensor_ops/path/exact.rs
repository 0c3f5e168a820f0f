//! The path of fewest operations or of the smallest intermediates, by dynamic programming over the subsets of operands.

use super::super::einsum::Minimize;
use super::super::modes::Modes;
use super::operations;

/// The best way to contract a subset.
#[derive(Clone)]
struct Best {
    /// Operations, then the elements of all intermediates; or the elements of the largest one, then operations.
    cost: (u128, u128),
    /// One of its two parts; 0 for an operand.
    part: usize,
}

/// Steps by the numbers of values; `None` if every path exceeds the limit. There are at most 8 operands.
pub(super) fn search(
    sets: &[Modes],
    output: &Modes,
    extents: &[usize],
    limit: u128,
    minimize: Minimize,
) -> Option<Vec<Vec<usize>>> {
    let whole = (1usize << sets.len()) - 1;
    let members = |mask: usize| sets.iter().enumerate().filter(move |(k, _)| mask >> k & 1 == 1).map(|(_, set)| set);
    let union = |mask| members(mask).fold(Modes::default(), |all, set| all.union(set));
    // What is left of a subset when it is contracted: an operand stays as it is.
    let left: Vec<Modes> = (0..=whole)
        .map(|mask| match mask.count_ones() {
            1 => union(mask),
            _ => union(mask).intersection(&union(whole & !mask).union(output)),
        })
        .collect();
    let mut best: Vec<Option<Best>> = vec![None; whole + 1];
    // A part of a subset has a smaller number than the subset.
    for mask in 1..=whole {
        let (own, single) = (left.get(mask)?, mask.count_ones() == 1);
        let size = own.size(extents);
        let mut found = single.then_some(Best { cost: (0, 0), part: 0 });
        let fits = single || mask == whole || size <= limit;
        let mut part = if fits && !single { (mask - 1) & mask } else { 0 };
        while part > 0 {
            let other = mask & !part;
            // Each pair of parts once.
            if part > other
                && let (Some(Some(one)), Some(Some(two))) = (best.get(part), best.get(other))
                && let (Some(of_one), Some(of_two)) = (left.get(part), left.get(other))
            {
                let step = operations(&of_one.union(of_two), own.len(), 2, extents);
                let sum = |a: u128, b: u128| a.saturating_add(b);
                let cost = match minimize {
                    Minimize::Operations => {
                        (sum(sum(one.cost.0, two.cost.0), step), sum(sum(one.cost.1, two.cost.1), size))
                    }
                    Minimize::Size => (one.cost.0.max(two.cost.0).max(size), sum(sum(one.cost.1, two.cost.1), step)),
                };
                if found.as_ref().is_none_or(|found| cost < found.cost) {
                    found = Some(Best { cost, part });
                }
            }
            part = (part - 1) & mask;
        }
        best.iter_mut().skip(mask).take(1).for_each(|best| *best = found.clone());
    }
    best.get(whole)?.as_ref()?;
    let mut steps = Vec::new();
    emit(whole, &best, sets.len(), &mut steps);
    Some(steps)
}

/// Appends the steps of a subset; returns the number of its value.
fn emit(mask: usize, best: &[Option<Best>], operands: usize, steps: &mut Vec<Vec<usize>>) -> usize {
    match best.get(mask) {
        Some(Some(Best { part, .. })) if *part > 0 => {
            let one = emit(*part, best, operands, steps);
            let two = emit(mask & !part, best, operands, steps);
            steps.push(vec![one.min(two), one.max(two)]);
            operands + steps.len() - 1
        }
        _ => mask.trailing_zeros() as usize,
    }
}
