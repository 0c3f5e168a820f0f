//! Direct solvers of sparse systems: an order with little fill, the elimination tree that follows from it, and the
//! numerical part.

pub(crate) mod cholesky;
mod order;
pub(crate) mod qr;
mod tree;

use crate::core::room::{OrUnwind, collected, filled, push};
use crate::libraries::sparse::element::SparseIndex;
use crate::libraries::sparse::host::{at, put};
use order::Graph;
pub(crate) use tree::{Above, NONE, Reach, Tree};

/// The result of analysing a structure, without its values.
pub(crate) struct Plan {
    /// The elimination order of the columns of the matrix.
    pub(crate) order: Vec<usize>,
    pub(crate) tree: Tree,
}

/// The inverse of a permutation: the position of each element in `order`.
pub(crate) fn places(order: &[usize]) -> Vec<usize> {
    let mut places = filled(order.len(), 0).or_unwind();
    order.iter().enumerate().for_each(|(place, i)| put(&mut places, *i, place));
    places
}

/// The columns of each row.
fn rows<'a, I: SparseIndex>(
    offsets: &'a [I],
    indices: &'a [I],
    count: usize,
) -> impl Iterator<Item = (usize, &'a [I])> + Clone {
    (0..count).map(move |row| {
        let end = at(offsets, row + 1).place().min(indices.len());
        (row, indices.get(at(offsets, row).place().min(end)..end).unwrap_or_default())
    })
}

/// The entries of a triangle of a square matrix with permuted rows and columns: row, column, number of the entry.
pub(crate) fn pairs<'a, I: SparseIndex>(
    offsets: &'a [I],
    indices: &'a [I],
    upper: bool,
    places: &'a [usize],
) -> impl Iterator<Item = (usize, usize, usize)> + Clone + 'a {
    let n = places.len();
    rows(offsets, indices, n).flat_map(move |(row, columns)| {
        let first = at(offsets, row).place();
        columns.iter().enumerate().filter_map(move |(k, column)| {
            let column = column.place();
            let counts = column < n && if upper { column > row } else { column < row };
            let (i, j) = (at(places, row), at(places, column));
            counts.then_some((i.min(j), i.max(j), first + k))
        })
    })
}

/// The plan for a symmetric matrix, from one of its triangles.
pub(crate) fn symmetric<I: SparseIndex>(offsets: &[I], indices: &[I], n: usize, upper: bool) -> Plan {
    let mut graph = Graph { edges: filled(n, Vec::new()).or_unwind(), cliques: Vec::new() };
    let own: Vec<usize> = collected(0..n).or_unwind();
    for (i, j, _) in pairs(offsets, indices, upper, &own) {
        for (from, to) in [(i, j), (j, i)] {
            if let Some(edges) = graph.edges.get_mut(from) {
                push(edges, to).or_unwind();
            }
        }
    }
    let order = graph.order();
    let places = places(&order);
    let tree = Tree::new(n, &Above::new(n, pairs(offsets, indices, upper, &places)));
    Plan { order, tree }
}

/// The plan for `A^H * A` of an `m x n` matrix, whose factor has the structure of R in `A = Q * R`.
pub(crate) fn normal<I: SparseIndex>(offsets: &[I], indices: &[I], m: usize, n: usize) -> Plan {
    let columns = |all: &[I]| collected(all.iter().map(|c| c.place()).filter(|c| *c < n)).or_unwind();
    let cliques =
        collected(rows(offsets, indices, m).map(|(_, row)| columns(row)).filter(|row| row.len() > 1)).or_unwind();
    let order = Graph { edges: filled(n, Vec::new()).or_unwind(), cliques }.order();
    let places = places(&order);
    // A clique causes the same fill as a star around its first eliminated member.
    let stars = rows(offsets, indices, m).flat_map(|(_, row)| {
        let row = row.iter().filter(|c| c.place() < n).map(|c| at(&places, c.place()));
        let first = row.clone().min().unwrap_or(0);
        row.filter(move |place| *place != first).map(move |place| (first, place, 0))
    });
    let tree = Tree::new(n, &Above::new(n, stars));
    Plan { order, tree }
}
