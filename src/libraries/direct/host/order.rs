//! An elimination order with little fill: minimum degree on a quotient graph, with approximate degrees (Amestoy, Davis
//! and Duff, "An approximate minimum degree ordering algorithm", SIAM J. Matrix Anal. Appl. 17, 1996), without their
//! supervariables.
//!
//! A graph consists of edges and cliques: when a variable is eliminated, its neighbours become a clique. For the
//! columns of `A^H * A` each row of A is a clique from the beginning, so the product is never formed.

use crate::core::room::{OrUnwind, collected, extend, filled, grown_with, out_of_memory, push, with_capacity};
use crate::libraries::sparse::host::{at, put};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Variables with their edges and their cliques.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// The neighbours of each variable.
    pub(crate) edges: Vec<Vec<usize>>,
    /// The variables of each clique.
    pub(crate) cliques: Vec<Vec<usize>>,
}

/// The state of the elimination.
struct Elimination {
    edges: Vec<Vec<usize>>,
    /// The members of each clique; empty for a clique that is part of another one.
    members: Vec<Vec<usize>>,
    /// The cliques of each variable.
    cliques: Vec<Vec<usize>>,
    dead: Vec<bool>,
    done: Vec<bool>,
    degrees: Vec<usize>,
    heap: BinaryHeap<Reverse<(usize, usize)>>,
    /// The last round in which a variable or a clique was seen.
    seen: Vec<usize>,
    counted: Vec<usize>,
    /// The number of members of a clique that are not in the newest one.
    outside: Vec<usize>,
}

impl Graph {
    /// The variables in elimination order.
    pub(crate) fn order(self) -> Vec<usize> {
        let n = self.edges.len();
        let mut cliques = filled(n, Vec::new()).or_unwind();
        for (k, members) in self.cliques.iter().enumerate() {
            for i in members {
                if let Some(cliques) = cliques.get_mut(*i) {
                    push(cliques, k).or_unwind();
                }
            }
        }
        let degree = |i: usize| {
            let of_cliques = cliques.get(i).into_iter().flatten().filter_map(|k| self.cliques.get(*k));
            of_cliques.map(|members| members.len().saturating_sub(1)).sum::<usize>()
                + self.edges.get(i).map_or(0, Vec::len)
        };
        let degrees: Vec<usize> = collected((0..n).map(|i| degree(i).min(n))).or_unwind();
        let heap = collected(degrees.iter().enumerate().map(|(i, degree)| Reverse((*degree, i)))).or_unwind().into();
        let mut members = self.cliques;
        let first = members.len();
        grown_with(&mut members, first + n, Vec::new).or_unwind();
        let all = members.len();
        let mut state = Elimination {
            edges: self.edges,
            members,
            cliques,
            dead: filled(all, false).or_unwind(),
            done: filled(n, false).or_unwind(),
            degrees,
            heap,
            seen: filled(n, 0).or_unwind(),
            counted: filled(all, 0).or_unwind(),
            outside: filled(all, 0).or_unwind(),
        };
        let mut order = with_capacity(n).or_unwind();
        while let Some(Reverse((degree, i))) = state.heap.pop() {
            if !at(&state.done, i) && at(&state.degrees, i) == degree {
                order.push(i);
                state.eliminate(i, first + i, order.len(), n - order.len());
            }
        }
        order
    }
}

impl Elimination {
    /// Variable `p` becomes the clique `new`; `left` other variables are not eliminated yet. Rounds are counted from 1.
    fn eliminate(&mut self, p: usize, new: usize, round: usize, left: usize) {
        put(&mut self.done, p, true);
        put(&mut self.seen, p, round);
        let mut around = Vec::new();
        let take = |all: &mut Vec<Vec<usize>>, i: usize| all.get_mut(i).map(std::mem::take).unwrap_or_default();
        let mut near = take(&mut self.edges, p);
        for clique in take(&mut self.cliques, p) {
            if !at(&self.dead, clique) {
                put(&mut self.dead, clique, true);
                extend(&mut near, take(&mut self.members, clique)).or_unwind();
            }
        }
        for i in near {
            if !at(&self.done, i) && at(&self.seen, i) != round {
                put(&mut self.seen, i, round);
                push(&mut around, i).or_unwind();
            }
        }
        for i in &around {
            for clique in self.cliques.get(*i).into_iter().flatten() {
                if at(&self.dead, *clique) {
                    continue;
                }
                if at(&self.counted, *clique) != round {
                    put(&mut self.counted, *clique, round);
                    put(&mut self.outside, *clique, self.members.get(*clique).map_or(0, Vec::len));
                }
                let left = at(&self.outside, *clique).saturating_sub(1);
                put(&mut self.outside, *clique, left);
            }
        }
        let others = around.len().saturating_sub(1);
        for i in &around {
            let (dead, outside, done, seen) = (&mut self.dead, &self.outside, &self.done, &self.seen);
            let mut degree = others;
            if let Some(cliques) = self.cliques.get_mut(*i) {
                // A clique inside the new one adds no information.
                cliques.retain(|k| {
                    if !at(dead, *k) && at(outside, *k) == 0 {
                        put(dead, *k, true);
                    }
                    !at(dead, *k)
                });
                degree += cliques.iter().map(|k| at(outside, *k)).sum::<usize>();
                push(cliques, new).or_unwind();
            }
            if let Some(edges) = self.edges.get_mut(*i) {
                edges.retain(|j| !at(done, *j) && at(seen, *j) != round);
                degree += edges.len();
            }
            let degree = degree.min(at(&self.degrees, *i) + others).min(left.saturating_sub(1));
            if degree != at(&self.degrees, *i) {
                put(&mut self.degrees, *i, degree);
                let more = self.heap.len().saturating_mul(2 * size_of::<(usize, usize)>());
                self.heap.try_reserve(1).map_err(|_| out_of_memory(more)).or_unwind();
                self.heap.push(Reverse((degree, *i)));
            }
        }
        if let Some(members) = self.members.get_mut(new) {
            *members = around;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Graph;

    /// A star is eliminated from its leaves, a path from one of its ends.
    #[test]
    fn who_has_few_neighbours_goes_first() {
        let star = Graph { edges: vec![vec![1, 2, 3, 4], vec![0], vec![0], vec![0], vec![0]], cliques: Vec::new() };
        let order = star.order();
        assert!(order.iter().position(|i| *i == 0).is_some_and(|place| place >= 3), "{order:?}");
        let path = Graph { edges: vec![vec![1], vec![0, 2], vec![1, 3], vec![2]], cliques: Vec::new() };
        assert!([0, 3].contains(&path.order()[0]));
    }

    #[test]
    fn every_variable_is_eliminated_once_whatever_the_graph() {
        let mut state = 1u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % n
        };
        for n in [0, 1, 2, 7, 40] {
            let mut graph = Graph { edges: vec![Vec::new(); n], cliques: Vec::new() };
            for _ in 0..n {
                let (i, j) = (below(n), below(n));
                if i != j {
                    graph.edges[i].push(j);
                    graph.edges[j].push(i);
                }
                graph.cliques.push((0..n).filter(|_| below(5) == 0).collect());
            }
            let mut order = graph.order();
            order.sort_unstable();
            assert_eq!(order, (0..n).collect::<Vec<_>>());
        }
    }
}
