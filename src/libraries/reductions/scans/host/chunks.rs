//! Totals and scans: of a chunk, whose values follow one another, and of many chunks side by side, each in a lane.

use super::{Accumulator, Chunk, Fold};

/// The chunk's total, from a value on.
pub(super) fn total<A: Accumulator>(fold: Fold, from: A, chunk: &[A]) -> A {
    let all = chunk.iter().copied();
    match fold {
        Fold::Add => all.fold(from, A::add),
        Fold::Mul => all.fold(from, A::mul),
        Fold::Min => all.fold(from, A::min),
        Fold::Max => all.fold(from, A::max),
    }
}

fn scanned<A: Accumulator>(mut own: A, chunk: &mut [A], exclusive: bool, join: impl Fn(A, A) -> A) {
    for value in chunk {
        let next = join(own, *value);
        *value = if exclusive { own } else { next };
        own = next;
    }
}

/// Joins the values of rows, one after the other, to those of lanes.
pub(super) fn join_rows<A: Accumulator>(fold: Fold, own: &mut Chunk<A>, rows: &[Chunk<A>]) {
    fn all<A: Copy>(own: &mut Chunk<A>, rows: &[Chunk<A>], join: impl Fn(A, A) -> A) {
        for row in rows {
            own.iter_mut().zip(row).for_each(|(own, value)| *own = join(*own, *value));
        }
    }
    match fold {
        Fold::Add => all(own, rows, A::add),
        Fold::Mul => all(own, rows, A::mul),
        Fold::Min => all(own, rows, A::min),
        Fold::Max => all(own, rows, A::max),
    }
}

/// Puts what lanes have then, or had before, in the place of each value.
pub(super) fn scan_rows<A: Accumulator>(fold: Fold, own: &mut Chunk<A>, rows: &mut [Chunk<A>], exclusive: bool) {
    fn all<A: Copy>(own: &mut Chunk<A>, rows: &mut [Chunk<A>], exclusive: bool, join: impl Fn(A, A) -> A) {
        for row in rows {
            for (own, value) in own.iter_mut().zip(row) {
                let next = join(*own, *value);
                *value = if exclusive { *own } else { next };
                *own = next;
            }
        }
    }
    match fold {
        Fold::Add => all(own, rows, exclusive, A::add),
        Fold::Mul => all(own, rows, exclusive, A::mul),
        Fold::Min => all(own, rows, exclusive, A::min),
        Fold::Max => all(own, rows, exclusive, A::max),
    }
}

/// The chunk's scan, from a value on.
pub(super) fn scan_chunk<A: Accumulator>(fold: Fold, from: A, chunk: &mut [A], exclusive: bool) {
    match fold {
        Fold::Add => scanned(from, chunk, exclusive, A::add),
        Fold::Mul => scanned(from, chunk, exclusive, A::mul),
        Fold::Min => scanned(from, chunk, exclusive, A::min),
        Fold::Max => scanned(from, chunk, exclusive, A::max),
    }
}
