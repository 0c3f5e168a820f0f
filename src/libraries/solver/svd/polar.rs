//! By the polar decomposition, always in double precision. In single precision cuSOLVER's loses half of the digits as
//! soon as a matrix is not well-conditioned (20 x 20 with a condition of 10^6, 700 x 700 random numbers; on an H100,
//! CUDA 13.0). In double precision its values and vectors were better than those of all other methods whenever it
//! reported that it moved nothing.

use super::super::prelude::*;
use super::cuda::{bidiagonal, room, with_vectors};
use crate::engines::cuda::Queue;
use crate::libraries::solver::native::kernels;
use crate::libraries::solver::native::singular;

/// Decomposes a matrix, and returns how far its values were moved.
pub(super) fn decompose<T: SolverElement>(
    queue: &mut Queue<'_>,
    full: bool,
    (m, n): (usize, usize),
    a: At,
    s: u64,
    vectors: Option<[At; 2]>,
    info: u64,
) -> Result<f64> {
    let how = (T::DTYPE.is_complex(), vectors.is_some(), full);
    if size_of::<T::Real>() == size_of::<f64>() {
        return with_vectors::<T, _>(queue, full, (m, n), vectors, |queue, factors| {
            singular::gesvdp(queue, how, (m, n), a, s, factors, info)
        });
    }
    let columns = |square: usize| if full { square } else { m.min(n) };
    let wide_a = room::<[T; 2]>(queue, m, n)?;
    // SAFETY: A lies inside its buffer (checked), the copy in scratch of this dispatch.
    unsafe { kernels::convert::<T>(queue, true, a, wide_a, (m, n)) }?;
    let (wide_s, size) = (queue.scratch(m.min(n).saturating_mul(size_of::<f64>()))?, m.min(n));
    let (wide_u, wide_v) = (room::<[T; 2]>(queue, m, columns(m))?, room::<[T; 2]>(queue, n, columns(n))?);
    let moved = singular::gesvdp(queue, how, (m, n), wide_a, wide_s, [wide_u, wide_v], info)?;
    // SAFETY: the values lie inside their buffer (checked).
    unsafe { kernels::convert::<T::Real>(queue, false, (wide_s, size), (s, size), (size, 1)) }?;
    if let Some([u, vh]) = vectors {
        let v = room::<T>(queue, n, columns(n))?;
        // SAFETY: U and `V^H` lie inside their buffers (checked), the rest in scratch of this dispatch.
        unsafe {
            kernels::convert::<T>(queue, false, wide_u, u, (m, columns(m)))?;
            kernels::convert::<T>(queue, false, wide_v, v, (n, columns(n)))?;
            kernels::copy_matrix::<T>(queue, Copy::Adjoint, v, vh, (n, columns(n)))?;
        }
    }
    Ok(moved)
}

/// The same, but if a value was moved, decomposes a copy of A by the bidiagonal method.
pub(super) fn checked<T: SolverElement>(
    queue: &mut Queue<'_>,
    full: bool,
    (m, n): (usize, usize),
    a: At,
    s: u64,
    vectors: Option<[At; 2]>,
    info: u64,
) -> Result<()> {
    let kept = room::<T>(queue, m, n)?;
    // SAFETY: A lies inside its buffer (checked), the copy in scratch of this dispatch.
    unsafe { kernels::copy_matrix::<T>(queue, Copy::All, a, kept, (m, n)) }?;
    let moved = decompose::<T>(queue, full, (m, n), a, s, vectors, info)?;
    // SAFETY: the info of this matrix.
    if moved == 0.0 && unsafe { queue.look(info) }? == [0; 4] {
        return Ok(());
    }
    bidiagonal::<T>(queue, full, (m, n), kept, s, vectors, info)
}
