//! Totals and scans of chunks, one or several side by side.

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

/// Chunks that are taken side by side: in one alone each sum waits for the one before.
pub(super) const BESIDE: usize = 4;

/// The totals of the first `n` elements of chunks, from a value on.
pub(super) fn totals_beside<A: Accumulator>(fold: Fold, from: A, chunks: &[Chunk<A>; BESIDE], n: usize) -> [A; BESIDE] {
    fn all<A: Copy>(from: A, chunks: &[Chunk<A>; BESIDE], n: usize, join: impl Fn(A, A) -> A) -> [A; BESIDE] {
        let [a, b, c, d] = chunks.each_ref().map(|chunk| chunk.get(..n).unwrap_or_default());
        let [mut p, mut q, mut r, mut s] = [from; BESIDE];
        for ((a, b), (c, d)) in a.iter().zip(b).zip(c.iter().zip(d)) {
            (p, q, r, s) = (join(p, *a), join(q, *b), join(r, *c), join(s, *d));
        }
        [p, q, r, s]
    }
    match fold {
        Fold::Add => all(from, chunks, n, A::add),
        Fold::Mul => all(from, chunks, n, A::mul),
        Fold::Min => all(from, chunks, n, A::min),
        Fold::Max => all(from, chunks, n, A::max),
    }
}

/// The scans of the first `n` elements of chunks, each from a value of its own on.
pub(super) fn scan_beside<A: Accumulator>(
    fold: Fold,
    from: [A; BESIDE],
    chunks: &mut [Chunk<A>; BESIDE],
    n: usize,
    exclusive: bool,
) {
    fn all<A: Copy>(
        [mut p, mut q, mut r, mut s]: [A; BESIDE],
        chunks: &mut [Chunk<A>; BESIDE],
        n: usize,
        exclusive: bool,
        join: impl Fn(A, A) -> A,
    ) {
        let [a, b, c, d] = chunks.each_mut().map(|chunk| chunk.get_mut(..n).unwrap_or_default());
        for ((a, b), (c, d)) in a.iter_mut().zip(b).zip(c.iter_mut().zip(d)) {
            let next = (join(p, *a), join(q, *b), join(r, *c), join(s, *d));
            (*a, *b, *c, *d) = if exclusive { (p, q, r, s) } else { next };
            (p, q, r, s) = next;
        }
    }
    match fold {
        Fold::Add => all(from, chunks, n, exclusive, A::add),
        Fold::Mul => all(from, chunks, n, exclusive, A::mul),
        Fold::Min => all(from, chunks, n, exclusive, A::min),
        Fold::Max => all(from, chunks, n, exclusive, A::max),
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
