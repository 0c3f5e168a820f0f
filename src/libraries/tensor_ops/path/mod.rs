//! The order in which the operands of an expression are contracted.
//!
//! `exact.rs` finds the one of fewest operations for a few operands, `greedy.rs` a good one for many. What they find is a
//! [`Path`]: plain data in the form of NumPy's and opt_einsum's paths, so that theirs can be given too.

mod exact;
mod greedy;

use super::einsum::Minimize;
use super::modes::Modes;
use super::network::Network;
use crate::core::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most operands for which the best path is searched.
const FEW: usize = 8;
/// The most operands of one step: those of a formula.
pub(super) const MOST_AT_ONCE: usize = 8;

/// The order in which operands are contracted, in the form of `numpy.einsum_path` and opt_einsum: each step takes the operands at
/// these places out of the list, and appends its result at the end.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::tensor_ops::{Einsum, Path};
/// let chain = Einsum::parse("ij,jk,kl->il")?;
/// let path = chain.search(&[&[100, 2], &[2, 100], &[100, 2]])?;
/// assert_eq!(path, Path::new([[1, 2], [0, 1]]));
/// assert_eq!(path.to_string(), "(1, 2) (0, 1)");
/// let kept = chain.path(path);
/// # let _ = kept;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Path {
    steps: Vec<Vec<usize>>,
}

impl Path {
    /// A path of these steps, which is checked when it is used. A step has one or two operands, or up to eight, which are then
    /// multiplied and summed in one pass without intermediates.
    pub fn new<S: Into<Vec<usize>>>(steps: impl IntoIterator<Item = S>) -> Self {
        Path { steps: steps.into_iter().map(Into::into).collect() }
    }

    /// The places of the operands of each step.
    pub fn steps(&self) -> impl Iterator<Item = &[usize]> {
        self.steps.iter().map(Vec::as_slice)
    }

    /// Of steps that name values by their numbers: operands first, then the results in the order of the steps.
    fn of_values(operands: usize, steps: &[Vec<usize>]) -> Self {
        let mut list: Vec<usize> = (0..operands).collect();
        let mut places = Vec::with_capacity(steps.len());
        for (k, step) in steps.iter().enumerate() {
            let mut own: Vec<usize> =
                step.iter().filter_map(|value| list.iter().position(|other| other == value)).collect();
            own.sort_unstable();
            list.retain(|value| !step.contains(value));
            list.push(operands + k);
            places.push(own);
        }
        Path { steps: places }
    }

    /// The steps by the numbers of values: operands first, then the results.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] that names the step.
    pub(super) fn values(&self, operands: usize) -> Result<Vec<Vec<usize>>> {
        let mut list: Vec<usize> = (0..operands).collect();
        let mut steps = Vec::with_capacity(self.steps.len());
        for (k, step) in self.steps.iter().enumerate() {
            let refused = |what: String| Err(Error::invalid("path", format!("step {k} is {step:?}: {what}")));
            if step.is_empty() || step.len() > MOST_AT_ONCE {
                return refused(format!("a step takes one to {MOST_AT_ONCE} operands"));
            }
            let mut taken = Vec::with_capacity(step.len());
            for place in step {
                let Some(value) = list.get(*place) else {
                    return refused(format!("there are {} operands left, counted from 0", list.len()));
                };
                if taken.contains(value) {
                    return refused(format!("{place} is there twice"));
                }
                taken.push(*value);
            }
            list.retain(|value| !taken.contains(value));
            list.push(operands + k);
            steps.push(taken);
        }
        match list.len() {
            1 => Ok(steps),
            left => Err(Error::invalid("path", format!("{left} operands are left at its end: a path leaves one"))),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, step) in self.steps.iter().enumerate() {
            f.write_str(if k == 0 { "(" } else { " (" })?;
            for (j, place) in step.iter().enumerate() {
                write!(f, "{}{place}", if j == 0 { "" } else { ", " })?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

/// The number of operations of one step, as opt_einsum counts them: multiplications, and additions if anything is summed.
pub(super) fn operations(all: &Modes, left: usize, operands: usize, extents: &[usize]) -> u128 {
    let each = operands.saturating_sub(1).max(1) + usize::from(left < all.len() && operands > 1);
    all.size(extents).saturating_mul(each as u128)
}

/// Finds a path.
///
/// # Errors
/// [`Error::InvalidArgument`] if each path has an intermediate that is larger than the limit.
pub(super) fn search(network: &Network, limit: Option<u64>, minimize: Minimize) -> Result<Path> {
    let count = network.sets.len();
    let output: Modes = network.varying_output().into_iter().collect();
    let limit = limit.map_or(u128::MAX, u128::from);
    let all: Vec<usize> = (0..count).collect();
    let found = match count {
        0..=2 => Some(vec![all.clone()]),
        3..=FEW => exact::search(&network.sets, &output, &network.extents, limit, minimize),
        _ => greedy::search(&network.sets, &output, &network.extents, limit, minimize),
    };
    // All at once has no intermediate.
    let steps = found.or_else(|| (count <= MOST_AT_ONCE).then(|| vec![all]));
    steps.map(|steps| Path::of_values(count, &steps)).ok_or_else(|| {
        let what =
            format!("no path was found whose intermediates have at most {limit} elements: raise it, or give a path");
        Error::invalid("memory_limit", what)
    })
}

#[cfg(test)]
mod tests {
    use super::super::einsum::Einsum;
    use super::*;

    fn cost(network: &Network, path: &Path) -> u128 {
        let mut sets = network.sets.clone();
        let output: Modes = network.varying_output().into_iter().collect();
        let steps = path.values(sets.len()).unwrap();
        let mut alive: Vec<usize> = (0..sets.len()).collect();
        let mut total = 0;
        for step in steps {
            alive.retain(|value| !step.contains(value));
            let kept = alive.iter().fold(output.clone(), |kept, value| kept.union(&sets[*value]));
            let all = step.iter().fold(Modes::default(), |all, value| all.union(&sets[*value]));
            let left = all.intersection(&kept);
            total += operations(&all, left.len(), step.len(), &network.extents);
            alive.push(sets.len());
            sets.push(left);
        }
        total
    }

    /// The least cost of all orders of pairs, by trying each.
    fn least(network: &Network) -> u128 {
        fn rest(network: &Network, list: &[usize], sets: &[Modes]) -> u128 {
            let output: Modes = network.varying_output().into_iter().collect();
            let mut best = u128::MAX;
            for i in 0..list.len() {
                for j in i + 1..list.len() {
                    let others: Vec<usize> = list.iter().copied().filter(|v| *v != list[i] && *v != list[j]).collect();
                    let kept = others.iter().fold(output.clone(), |kept, value| kept.union(&sets[*value]));
                    let all = sets[list[i]].union(&sets[list[j]]);
                    let left = all.intersection(&kept);
                    let own = operations(&all, left.len(), 2, &network.extents);
                    let mut sets = sets.to_vec();
                    sets.push(left);
                    let after = [&others[..], &[sets.len() - 1]].concat();
                    best = best.min(own + if after.len() > 1 { rest(network, &after, &sets) } else { 0 });
                }
            }
            best
        }
        rest(network, &(0..network.sets.len()).collect::<Vec<_>>(), &network.sets)
    }

    fn network(text: &str, extents: &[&[usize]]) -> Network {
        Network::new(&Einsum::parse(text).unwrap(), extents).unwrap()
    }

    #[test]
    fn the_path_of_a_few_operands_is_the_best_one() {
        for (text, extents) in [
            ("ij,jk,kl->il", &[&[9, 2][..], &[2, 8], &[8, 3]][..]),
            ("ij,jk,kl,lm->im", &[&[2, 9], &[9, 3], &[3, 7], &[7, 2]]),
            ("ab,bc,cd,de,ea->", &[&[3, 4], &[4, 5], &[5, 2], &[2, 6], &[6, 3]]),
            ("abc,bd,cd,a->d", &[&[2, 3, 4], &[3, 5], &[4, 5], &[2]]),
            ("a,b,c->abc", &[&[2], &[3], &[4]]),
        ] {
            let network = network(text, extents);
            let path = search(&network, None, Minimize::Operations).unwrap();
            assert_eq!(cost(&network, &path), least(&network), "{text}: {path}");
        }
    }

    #[test]
    fn the_smallest_path_has_no_larger_intermediate_than_the_shortest() {
        let largest = |of: &Network, path: &Path| {
            let (mut sets, output) = (of.sets.clone(), of.varying_output().into_iter().collect::<Modes>());
            let mut alive: Vec<usize> = (0..sets.len()).collect();
            let mut most = 0;
            for step in path.values(sets.len()).unwrap() {
                alive.retain(|value| !step.contains(value));
                let kept = alive.iter().fold(output.clone(), |kept, value| kept.union(&sets[*value]));
                let all = step.iter().fold(Modes::default(), |all, value| all.union(&sets[*value]));
                let left = all.intersection(&kept);
                most = most.max(left.size(&of.extents));
                alive.push(sets.len());
                sets.push(left);
            }
            most
        };
        // opt_einsum's costs: the least operations, and the largest intermediate of the smallest path.
        for (text, sizes, operations, size) in [
            ("bfgj,ci,hb,jhefdc,da,gie->a", [6, 9, 7, 2, 5, 5, 5, 9, 3, 5], 131_574, 1125),
            ("bhd,aif,hdgb,fec,ecgj,ji->a", [2, 9, 7, 2, 8, 5, 4, 5, 2, 9], 7928, 180),
            ("fdc,ib,gjifh,hde,be,jagc->a", [4, 8, 9, 7, 3, 2, 9, 2, 4, 3], 12_072, 243),
        ] {
            let of_term = |term: &str| term.bytes().map(|c| sizes[usize::from(c - b'a')]).collect::<Vec<usize>>();
            let extents: Vec<Vec<usize>> = text.trim_end_matches("->a").split(',').map(of_term).collect();
            let of = network(text, &extents.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let [few, small] = [Minimize::Operations, Minimize::Size].map(|what| search(&of, None, what).unwrap());
            assert!(cost(&of, &few) <= operations && cost(&of, &few) < cost(&of, &small), "{text}: {few}, {small}");
            assert!(
                largest(&of, &small) <= size && largest(&of, &small) < largest(&of, &few),
                "{text}: {few}, {small}"
            );
        }
    }

    #[test]
    fn a_limit_is_kept_or_named() {
        let of = network("ij,jk,kl->il", &[&[100, 2], &[2, 100], &[100, 2]]);
        let free = search(&of, None, Minimize::Operations).unwrap();
        assert_eq!(free, Path::new([[1, 2], [0, 1]]));
        assert_eq!(
            search(&of, Some(3), Minimize::Operations).unwrap(),
            Path::new([[0, 1, 2]]),
            "all at once has no intermediate"
        );
        let long: String = (0..12).map(|k| format!("{}{},", (b'a' + k) as char, (b'b' + k) as char)).collect();
        let many = network(long.trim_end_matches(','), &[&[10, 10][..]; 12]);
        let error = search(&many, Some(99), Minimize::Operations).map(|path| path.to_string()).unwrap_err().to_string();
        assert!(error.contains("at most 99 elements"), "{error}");
        let path = search(&many, Some(100), Minimize::Operations).unwrap();
        assert_eq!(path.steps().count(), 11);
    }

    #[test]
    fn a_path_that_is_none_is_refused() {
        for (path, part) in [
            (Path::new([[0, 3]]), "step 0 is [0, 3]: there are 3 operands left"),
            (Path::new([[1, 1]]), "1 is there twice"),
            (Path::new([[0, 1]]), "2 operands are left"),
            (Path::new([Vec::new()]), "one to 8 operands"),
        ] {
            assert!(path.values(3).unwrap_err().to_string().contains(part));
        }
        assert_eq!(Path::new([[0, 2], [0, 1]]).values(3).unwrap(), [[0, 2], [1, 3]]);
    }

    #[test]
    fn a_large_network_has_a_path_soon() {
        // A ring of 500 matrices, and 500 letters.
        let lists: Vec<[u32; 2]> = (0..500).map(|k| [k, (k + 1) % 500]).collect();
        let ring = Einsum::lists(lists.iter().map(|list| &list[..]), None).unwrap();
        let of = Network::new(&ring, &vec![&[3, 3][..]; 500]).unwrap();
        let path = search(&of, Some(9), Minimize::Operations).unwrap();
        assert_eq!(path.values(500).unwrap().len(), 499);
    }
}
