//! A path for many operands: always the pair whose result adds least to what must be kept.

use super::super::einsum::Minimize;
use super::super::modes::Modes;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The values that are left, and how often each mode is in one or in the result.
struct Values<'a> {
    sets: BTreeMap<usize, Modes>,
    uses: Vec<usize>,
    extents: &'a [usize],
    next: usize,
    steps: Vec<Vec<usize>>,
    minimize: Minimize,
}

impl Values<'_> {
    /// The modes of the result of a pair.
    fn left(&self, a: &Modes, b: &Modes) -> Modes {
        let shared = |mode| usize::from(a.contains(mode)) + usize::from(b.contains(mode));
        let uses = |mode| self.uses.get(mode).copied().unwrap_or(0);
        a.union(b).iter().filter(|mode| uses(*mode) > shared(*mode)).collect()
    }

    /// Contracts a pair; returns the number of the result.
    fn contract(&mut self, i: usize, j: usize) -> usize {
        let (a, b) = (self.sets.remove(&i).unwrap_or_default(), self.sets.remove(&j).unwrap_or_default());
        let left = self.left(&a, &b);
        for mode in a.iter().chain(b.iter()) {
            self.uses.iter_mut().skip(mode).take(1).for_each(|uses| *uses = uses.saturating_sub(1));
        }
        for mode in left.iter() {
            self.uses.iter_mut().skip(mode).take(1).for_each(|uses| *uses += 1);
        }
        self.steps.push(vec![i.min(j), i.max(j)]);
        self.sets.insert(self.next, left);
        self.next += 1;
        self.next - 1
    }

    /// The size of the result, less the sizes of the operands if operations count: the order of the pairs.
    fn cost(&self, i: usize, j: usize, limit: u128) -> Option<i128> {
        let (a, b) = (self.sets.get(&i)?, self.sets.get(&j)?);
        let size = self.left(a, b).size(self.extents);
        let is_last = self.sets.len() == 2;
        let signed = |size: u128| i128::try_from(size).unwrap_or(i128::MAX);
        let freed = match self.minimize {
            Minimize::Operations => signed(a.size(self.extents)).saturating_add(signed(b.size(self.extents))),
            Minimize::Size => 0,
        };
        (is_last || size <= limit).then(|| signed(size).saturating_sub(freed))
    }
}

/// Steps by the numbers of values; `None` if it finds none within the limit.
pub(super) fn search(
    sets: &[Modes],
    output: &Modes,
    extents: &[usize],
    limit: u128,
    minimize: Minimize,
) -> Option<Vec<Vec<usize>>> {
    let mut uses = vec![0usize; extents.len()];
    for mode in sets.iter().chain([output]).flat_map(Modes::iter) {
        uses.iter_mut().skip(mode).take(1).for_each(|uses| *uses += 1);
    }
    let numbered = sets.iter().cloned().enumerate().collect();
    let mut values = Values { sets: numbered, uses, extents, next: sets.len(), steps: Vec::new(), minimize };
    let mut pairs = BinaryHeap::new();
    let numbers: Vec<usize> = values.sets.keys().copied().collect();
    for (k, i) in numbers.iter().enumerate() {
        for j in numbers.iter().skip(k + 1) {
            offer(&values, *i, *j, limit, &mut pairs);
        }
    }
    // First the pairs that share a mode.
    while let Some(Reverse((cost, i, j))) = pairs.pop() {
        // What a pair costs can change when a mode of both leaves the others: then it is offered again.
        match values.cost(i, j, limit) {
            None => {}
            Some(now) if now != cost => pairs.push(Reverse((now, i, j))),
            Some(_) => {
                let made = values.contract(i, j);
                let others: Vec<usize> = values.sets.keys().copied().filter(|other| *other != made).collect();
                others.into_iter().for_each(|other| offer(&values, other, made, limit, &mut pairs));
            }
        }
    }
    // What is left has no mode in common, or too large a result: the smallest first.
    while values.sets.len() > 1 {
        let mut by_size: Vec<(u128, usize)> =
            values.sets.iter().map(|(number, set)| (set.size(extents), *number)).collect();
        by_size.sort_unstable();
        let numbers: Vec<usize> = by_size.into_iter().map(|(_, number)| number).collect();
        let pairs = numbers.iter().enumerate().flat_map(|(k, i)| numbers.iter().skip(k + 1).map(move |j| (*i, *j)));
        let (i, j) = pairs.into_iter().find(|(i, j)| values.cost(*i, *j, limit).is_some())?;
        values.contract(i, j);
    }
    Some(values.steps)
}

type Pairs = BinaryHeap<Reverse<(i128, usize, usize)>>;

fn offer(values: &Values<'_>, i: usize, j: usize, limit: u128, pairs: &mut Pairs) {
    let meet = values.sets.get(&i).zip(values.sets.get(&j)).is_some_and(|(a, b)| a.meets(b));
    if meet && let Some(cost) = values.cost(i, j, limit) {
        pairs.push(Reverse((cost, i, j)));
    }
}
