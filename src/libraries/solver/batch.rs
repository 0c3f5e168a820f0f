//! Loops over the matrices of a batch on the host: in parallel with one thread for each matrix, or, for fewer matrices
//! than threads, one after the other with all threads.

use super::matrix::Matrix;
use crate::core::room::{OrUnwind, collected, grown_with};
use crate::numerics::level3::batch;

/// A matrix in the form of the host's functions: its elements, rows, columns and leading dimension.
pub(super) type Part<'a, T> = (&'a [T], usize, usize, usize);
/// The same, to be written.
pub(super) type PartMut<'a, T> = (&'a mut [T], usize, usize, usize);

/// The matrices that are read.
pub(super) fn parts<'a, T>(of: &Matrix, x: &'a [T]) -> Vec<Part<'a, T>> {
    let (rows, cols, ld) = (of.rows, of.cols, of.leading());
    collected(batch::parts(x, of.distance(), of.count).map(|x| (x, rows, cols, ld))).or_unwind()
}

/// The matrices that are written.
pub(super) fn parts_mut<'a, T>(of: &Matrix, x: &'a mut [T]) -> Vec<PartMut<'a, T>> {
    let (rows, cols, ld) = (of.rows, of.cols, of.leading());
    let mut parts = batch::parts_mut(x, of.distance(), of.count);
    // Matrices without elements may have fewer parts than matrices: the missing ones are empty.
    grown_with(&mut parts, of.count, Default::default).or_unwind();
    collected(parts.into_iter().map(|x| (x, rows, cols, ld))).or_unwind()
}

/// `each` elements for each of `count` matrices.
pub(super) fn vectors<T>(x: &[T], each: usize, count: usize) -> Vec<&[T]> {
    collected(batch::parts(x, each, count).map(|x| x.get(..each).unwrap_or_default())).or_unwind()
}

/// The same, to be written.
pub(super) fn vectors_mut<'a, T>(x: &'a mut [T], each: usize, count: usize) -> Vec<&'a mut [T]> {
    let first = |x: &'a mut [T]| if x.len() > each { x.split_at_mut(each).0 } else { x };
    let mut parts: Vec<_> = collected(batch::parts_mut(x, each, count).into_iter().map(first)).or_unwind();
    grown_with(&mut parts, count, Default::default).or_unwind();
    parts
}

/// Calls `f` with each of `items`, each of about `work` multiply-adds, and with the number of threads that it may use.
pub(super) fn each<I: Send>(items: Vec<I>, work: usize, f: impl Fn(I, usize) + Sync + Send) {
    let threads = rayon::current_num_threads();
    if items.len() < threads {
        return items.into_iter().for_each(|item| f(item, threads));
    }
    batch::each(items, work, |item| f(item, 1));
}

/// The cube of a size.
pub(super) fn cube(n: usize) -> usize {
    n.saturating_mul(n).saturating_mul(n)
}
