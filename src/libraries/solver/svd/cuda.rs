//! The calls of the library for one matrix, or for a batch of small ones.

use super::super::method::{Jacobi, Reached, SvdMethod};
use super::super::prelude::*;
use super::{SvdShape, Vectors, polar};
use crate::engines::cuda::Queue;
use crate::libraries::solver::native::kernels;
use crate::libraries::solver::native::range;
use crate::libraries::solver::native::singular;
use crate::libraries::solver::native::singular::fits_gesvdj_batched;

/// The options of the Jacobi method if one call takes the whole batch: small matrices without gaps.
pub(crate) fn in_one_call(shape: &SvdShape, method: SvdMethod) -> Option<Jacobi> {
    let of = &shape.a;
    match method {
        SvdMethod::Jacobi(jacobi) if of.is_batch() && of.leading() == of.rows => {
            fits_gesvdj_batched(of.rows, of.cols, of.count).then_some(jacobi)
        }
        _ => None,
    }
}

pub(in crate::libraries::solver) fn room<T>(queue: &mut Queue<'_>, rows: usize, cols: usize) -> Result<At> {
    let bytes = rows.checked_mul(cols).and_then(|all| all.checked_mul(size_of::<T>()));
    Ok((queue.scratch(bytes.unwrap_or(usize::MAX))?, rows.max(1)))
}

/// Decomposes with memory for U and V, since some routines write to it even if vectors are not wanted. Writes `V^H` if
/// they are.
pub(crate) fn with_vectors<T: SolverElement, R>(
    queue: &mut Queue<'_>,
    full: bool,
    (m, n): (usize, usize),
    vectors: Option<[At; 2]>,
    decompose: impl FnOnce(&mut Queue<'_>, [At; 2]) -> Result<R>,
) -> Result<R> {
    let columns = |square: usize| if full { square } else { m.min(n) };
    let u = match vectors {
        Some([u, _]) => u,
        None => room::<T>(queue, m, columns(m))?,
    };
    let v = room::<T>(queue, n, columns(n))?;
    let answer = decompose(queue, [u, v])?;
    if let Some([_, vh]) = vectors {
        // SAFETY: scratch of this dispatch, and `V^H` inside its buffer (checked).
        unsafe { kernels::copy_matrix::<T>(queue, Copy::Adjoint, v, vh, (n, columns(n))) }?;
    }
    Ok(answer)
}

/// Many small matrices in one call: U and V are square, and the requested columns are copied out of them.
pub(crate) fn batched<T: SolverElement>(
    queue: &mut Queue<'_>,
    shape: &SvdShape,
    jacobi: Jacobi,
    (a, s): (u64, u64),
    vectors: Option<[u64; 2]>,
    info: u64,
) -> Result<()> {
    let Matrix { rows: m, cols: n, count, .. } = shape.a;
    let (u, v) = (room::<T>(queue, m * m, count)?.0, room::<T>(queue, n * n, count)?.0);
    let group = Group { at: (a, m), step: shape.a.distance(), size: (m, n), count, part: None };
    let largest = range::bring_into_range::<T>(queue, group)?;
    singular::gesvdj_batched::<T>(queue, (vectors.is_some(), jacobi), (m, n, count), a, s, [u, v], info)?;
    range::bring_back::<T::Real>(queue, largest, s, shape.values(), count)?;
    let Some([to_u, to_vh]) = vectors else { return Ok(()) };
    let (of_u, of_vh) = (shape.u(), shape.vh());
    // Both without the columns that were not requested.
    let (from, to) = ((u, m, m * m), (to_u, of_u.leading(), of_u.distance()));
    // SAFETY: U lies inside its buffer (checked), what is copied in scratch of this dispatch.
    unsafe { kernels::copy_matrices::<T>(queue, Copy::All, from, to, (m, of_u.cols), count) }?;
    let (from, to) = ((v, n, n * n), (to_vh, of_vh.leading(), of_vh.distance()));
    // SAFETY: as above, of `V^H`.
    unsafe { kernels::copy_matrices::<T>(queue, Copy::Adjoint, from, to, (n, of_vh.rows), count) }
}

/// One matrix.
pub(crate) fn one<T: SolverElement>(
    queue: &mut Queue<'_>,
    (shape, method): (&SvdShape, SvdMethod),
    a: At,
    s: u64,
    vectors: Option<[At; 2]>,
    info: u64,
) -> Result<Reached> {
    let Matrix { rows, cols, .. } = shape.a;
    let largest = range::bring_into_range::<T>(queue, Group::one(a, (rows, cols)))?;
    let reached = by_method::<T>(queue, (shape, method), a, s, vectors, info)?;
    range::bring_back::<T::Real>(queue, largest, s, shape.values(), 1)?;
    Ok(reached)
}

/// The same of a matrix whose numbers are in range.
fn by_method<T: SolverElement>(
    queue: &mut Queue<'_>,
    (shape, method): (&SvdShape, SvdMethod),
    a: At,
    s: u64,
    vectors: Option<[At; 2]>,
    info: u64,
) -> Result<Reached> {
    let (Matrix { rows: m, cols: n, .. }, full) = (shape.a, shape.vectors == Vectors::Full);
    match method {
        SvdMethod::Auto => polar::checked::<T>(queue, full, (m, n), a, s, vectors, info)?,
        SvdMethod::Bidiagonal => bidiagonal::<T>(queue, full, (m, n), a, s, vectors, info)?,
        SvdMethod::Randomized(how) => projected::<T>(queue, shape, how, a, s, vectors, info)?,
        SvdMethod::Polar => {
            let moved = polar::decompose::<T>(queue, full, (m, n), a, s, vectors, info)?;
            return Ok(Reached { sweeps: None, error: Some(moved) });
        }
        SvdMethod::Jacobi(jacobi) => {
            let how = (vectors.is_some(), full, jacobi);
            let (sweeps, error) = with_vectors::<T, _>(queue, full, (m, n), vectors, |queue, factors| {
                singular::gesvdj::<T>(queue, how, (m, n), a, s, factors, info)
            })?;
            return Ok(Reached { sweeps: Some(sweeps), error: Some(error) });
        }
    }
    Ok(Reached::default())
}

/// The thin decomposition by a bidiagonal matrix, of a matrix whose numbers may be at the ends of the range.
pub(in crate::libraries::solver) fn thin<T: SolverElement>(
    queue: &mut Queue<'_>,
    size: (usize, usize),
    a: At,
    s: u64,
    vectors: [At; 2],
    info: u64,
) -> Result<()> {
    let largest = range::bring_into_range::<T>(queue, Group::one(a, size))?;
    bidiagonal::<T>(queue, false, size, a, s, Some(vectors), info)?;
    range::bring_back::<T::Real>(queue, largest, s, size.0.min(size.1), 1)
}

/// The library takes matrices with at least as many rows as columns. For others the adjoint is decomposed: `A^H = V * S
/// * U^H`.
pub(crate) fn bidiagonal<T: SolverElement>(
    queue: &mut Queue<'_>,
    full: bool,
    (m, n): (usize, usize),
    a: At,
    s: u64,
    vectors: Option<[At; 2]>,
    info: u64,
) -> Result<()> {
    let [u, vh] = vectors.unwrap_or([(0, m.max(1)), (0, n.max(1))]);
    if m >= n {
        return singular::gesvd::<T>(queue, full, (m, n), a, s, [u, vh], info);
    }
    let h = room::<T>(queue, n, m)?;
    // SAFETY: A lies inside its buffer (checked), the copy in scratch of this dispatch.
    unsafe { kernels::copy_matrix::<T>(queue, Copy::Adjoint, a, h, (m, n)) }?;
    if vectors.is_none() {
        return singular::gesvd::<T>(queue, full, (n, m), h, s, [(0, n), (0, m)], info);
    }
    // V is n x k, U^H is m x m (k = m, or n if all of V is wanted).
    let k = if full { n } else { m };
    let (v, uh) = (room::<T>(queue, n, k)?, room::<T>(queue, m, m)?);
    singular::gesvd::<T>(queue, full, (n, m), h, s, [v, uh], info)?;
    // SAFETY: scratch of this dispatch, and U and V^H inside their buffers (checked).
    unsafe { kernels::copy_matrix::<T>(queue, Copy::Adjoint, uh, u, (m, m)) }?;
    // SAFETY: as above.
    unsafe { kernels::copy_matrix::<T>(queue, Copy::Adjoint, v, vh, (n, k)) }
}

/// The largest values by random projections, of the adjoint if there are more columns than rows. With so many
/// projections that they save nothing, takes the largest of the whole decomposition.
fn projected<T: SolverElement>(
    queue: &mut Queue<'_>,
    shape: &SvdShape,
    how: super::super::method::Randomized,
    a: At,
    s: u64,
    vectors: Option<[At; 2]>,
    info: u64,
) -> Result<()> {
    let (Matrix { rows: m, cols: n, .. }, rank, size) = (shape.a, how.rank, shape.a.size());
    let (element, real) = (size_of::<T>(), size_of::<T::Real>());
    let values = queue.scratch(size.saturating_mul(real))?;
    if how.is_whole(size) {
        let (u, vh) = (room::<T>(queue, m, size)?, room::<T>(queue, size, n)?);
        bidiagonal::<T>(queue, false, (m, n), a, values, vectors.is_some().then_some([u, vh]), info)?;
        if let Some([to_u, to_vh]) = vectors {
            // SAFETY: scratch of this dispatch, and U and `V^H` inside their buffers (checked).
            unsafe {
                queue.copy_columns((to_u.0, to_u.1 * element), (u.0, m * element), m * element, rank)?;
                queue.copy_columns((to_vh.0, to_vh.1 * element), (vh.0, size * element), rank * element, n)?;
            }
        }
    } else {
        let tall = m >= n;
        let (rows, cols) = if tall { (m, n) } else { (n, m) };
        let a = if tall {
            a
        } else {
            let h = room::<T>(queue, rows, cols)?;
            // SAFETY: A lies inside its buffer (checked), the copy in scratch of this dispatch.
            unsafe { kernels::copy_matrix::<T>(queue, Copy::Adjoint, a, h, (m, n)) }?;
            h
        };
        let (left, right) = (room::<T>(queue, rows, size)?, room::<T>(queue, cols, size)?);
        singular::gesvdr::<T>(queue, (vectors.is_some(), how), (rows, cols), a, values, [left, right], info)?;
        if let Some([u, vh]) = vectors {
            let (of_u, of_v) = if tall { (left, right) } else { (right, left) };
            // SAFETY: as above.
            unsafe {
                queue.copy_columns((u.0, u.1 * element), (of_u.0, of_u.1 * element), m * element, rank)?;
                kernels::copy_matrix::<T>(queue, Copy::Adjoint, of_v, vh, (n, rank))?;
            }
        }
    }
    // SAFETY: the values lie inside their buffer (checked).
    unsafe { queue.copy(s, values, rank * real) }
}
