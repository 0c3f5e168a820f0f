//! The plan of a factorization, which the analysis makes and which every factorization and solution reads.

use super::matching::{self, Weights};
use super::order::Graph;
use super::{Above, Entry, NONE, Tree, places};
use crate::core::room::{OrUnwind, collected, copied, filled, push, with_capacity};
use crate::libraries::sparse::SparseIndex;
use crate::libraries::sparse::host::{at, put};

/// Scales lie in the plan as places: this is the place of the power 0.
const ZERO: i64 = 1 << 14;

/// The result of analysing a matrix.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The elimination order of the columns of the matrix.
    pub(crate) order: Vec<usize>,
    pub(crate) tree: Tree,
    /// For LU the row that stands on the diagonal of each column, for LDL the partner of each row. Empty without a matching.
    pub(crate) mates: Vec<usize>,
    /// The powers of two that scale rows and columns. Empty without a matching.
    pub(crate) scales: [Vec<i32>; 2],
}

impl Plan {
    /// Writes order, parents, offsets, mates and scales one after the other.
    pub(crate) fn write<I: SparseIndex>(&self, to: &mut [I]) {
        let n = self.order.len();
        // The parent of a root is the number of columns, which is no column.
        let parents = self.tree.parents.iter().map(|i| *i.min(&n));
        let scales = self.scales.iter().flatten().map(|power| (i64::from(*power) + ZERO) as usize);
        let parts = self.order.iter().copied().chain(parents).chain(self.tree.offsets.iter().copied());
        let all = parts.chain(self.mates.iter().copied()).chain(scales);
        to.iter_mut().zip(all).for_each(|(to, place)| *to = I::from_place(place));
    }

    /// Reads the plan for `n` columns; mates and scales are there only if it has them.
    pub(crate) fn read<I: SparseIndex>(from: &[I], n: usize) -> Self {
        let mut parts = from.iter().map(|place| place.place());
        let mut take = |len: usize| -> Vec<usize> { collected(parts.by_ref().take(len)).or_unwind() };
        let (order, mut parents, offsets, mates) = (take(n), take(n), take(n + 1), take(n));
        parents.iter_mut().filter(|i| **i >= n).for_each(|i| *i = NONE);
        let mut scales = || {
            let powers = take(n).into_iter().map(|place| (place as i64 - ZERO) as i32);
            collected(powers).or_unwind()
        };
        let scales = [scales(), scales()];
        Plan { order, tree: Tree { parents, offsets }, mates, scales }
    }

    /// The number of columns.
    pub(crate) fn n(&self) -> usize {
        self.order.len()
    }

    /// The row of A that stands at each place of the order.
    pub(crate) fn rows(&self, lu: bool) -> Vec<usize> {
        let row = |column: &usize| if lu { at(&self.mates, *column) } else { *column };
        collected(self.order.iter().map(row)).or_unwind()
    }

    /// The power of two that scales a row, or a column.
    pub(crate) fn scale(&self, side: usize, i: usize) -> i32 {
        self.scales.get(side).map_or(0, |scales| at(scales, i))
    }

    /// The first places of pairs in the order of LDL.
    pub(crate) fn heads(&self) -> Vec<bool> {
        let next = self.order.iter().skip(1).copied().chain([NONE]);
        collected(self.order.iter().zip(next).map(|(i, next)| self.mates.get(*i) == Some(&next))).or_unwind()
    }
}

/// Two nodes of a graph that an entry joins.
pub(crate) type Link = (usize, usize);

/// A node and its partner.
fn both(mates: &[usize], i: usize) -> impl Iterator<Item = usize> + Clone + use<> {
    let mate = mates.get(i).copied().filter(|mate| *mate != i);
    std::iter::once(i).chain(mate)
}

/// The entries above the diagonal, where partners have the same neighbours and are neighbours themselves.
pub(crate) fn above(order: &[usize], mates: &[usize], links: &[Link]) -> Above {
    let places = places(order);
    let mut pairs = with_capacity(links.len()).or_unwind();
    let mut join = |i: usize, j: usize| {
        let (i, j) = (at(&places, i), at(&places, j));
        if i != j {
            push(&mut pairs, (i.min(j), i.max(j))).or_unwind();
        }
    };
    for (i, j) in links {
        both(mates, *i).for_each(|i| both(mates, *j).for_each(|j| join(i, j)));
    }
    mates.iter().enumerate().for_each(|(i, mate)| join(i, *mate));
    Above::new(order.len(), &pairs)
}

/// Orders `n` nodes, where partners stay together, and finds the structure of the factor.
fn ordered(n: usize, mates: Vec<usize>, scales: [Vec<i32>; 2], pairs: &[usize], links: &[Link]) -> Plan {
    let mut edges = filled(n, Vec::new()).or_unwind();
    // The smaller one of two partners stands for both.
    let first = |i: usize| pairs.get(i).map_or(i, |mate| i.min(*mate));
    for (i, j) in links.iter().map(|(i, j)| (first(*i), first(*j))).filter(|(i, j)| i != j) {
        for (from, to) in [(i, j), (j, i)] {
            if let Some(edges) = edges.get_mut(from) {
                push(edges, to).or_unwind();
            }
        }
    }
    for edges in &mut edges {
        edges.sort_unstable();
        edges.dedup();
    }
    let mut order = with_capacity(n).or_unwind();
    let nodes = Graph { edges, cliques: Vec::new() }.order();
    nodes.into_iter().filter(|i| first(*i) == *i).for_each(|i| order.extend(both(pairs, i)));
    let tree = Tree::new(n, &above(&order, pairs, links));
    Plan { order, tree, mates, scales }
}

/// The links of entries of which each row stands in the place of its column, or of itself.
pub(crate) fn links(entries: &[Entry], columns: Option<&[usize]>) -> Vec<Link> {
    let node = |row: usize| columns.map_or(row, |columns| at(columns, row));
    collected(entries.iter().map(|(i, j, _)| (node(*i), *j)).filter(|(i, j)| i != j)).or_unwind()
}

/// The plan for a symmetric matrix, from one of its triangles.
pub(crate) fn symmetric(n: usize, triangle: &[Entry]) -> Plan {
    ordered(n, Vec::new(), Default::default(), &[], &links(triangle, None))
}

/// The plan for LDL of a symmetric matrix, from one of its triangles with the logarithms of its sizes.
///
/// # Errors
/// A row that no permutation can match: the matrix is singular.
pub(crate) fn indefinite(n: usize, triangle: &[Entry], logs: &[f64]) -> Result<Plan, usize> {
    let mut all = with_capacity(2 * triangle.len()).or_unwind();
    for ((i, j, _), log) in triangle.iter().zip(logs) {
        all.push((*i, *j, *log));
        if i != j {
            all.push((*j, *i, *log));
        }
    }
    let mut found = matching::matching(n, &Weights::new(n, &all))?;
    let [rows, columns] = &mut found.scales;
    for (row, column) in rows.iter_mut().zip(columns) {
        *row = (*row + *column).div_euclid(2);
        *column = *row;
    }
    let mut sizes = filled(n, f64::NEG_INFINITY).or_unwind();
    let [rows, _] = &found.scales;
    for (i, j, log) in all {
        if i == j {
            put(&mut sizes, i, log + 2.0 * f64::from(at(rows, i)) * std::f64::consts::LN_2);
        }
    }
    let pairs = matching::pairs(&found, &sizes);
    Ok(ordered(n, copied(&pairs).or_unwind(), found.scales, &pairs, &links(triangle, None)))
}

/// The plan for LU, with the logarithms of the sizes of the entries.
///
/// # Errors
/// A row that no permutation can match: the matrix is singular.
pub(crate) fn general(n: usize, entries: &[Entry], logs: &[f64]) -> Result<Plan, usize> {
    let all: Vec<_> = collected(entries.iter().zip(logs).map(|((i, j, _), log)| (*i, *j, *log))).or_unwind();
    let found = matching::matching(n, &Weights::new(n, &all))?;
    let links = links(entries, Some(&places(&found.rows)));
    Ok(ordered(n, found.rows, found.scales, &[], &links))
}
