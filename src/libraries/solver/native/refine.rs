//! Solutions by factors of a lower precision, refined. The head of `dense.rs` applies here too.

use super::super::SolverElement;
use super::super::refine::Lowest;
use super::dense::At;
use super::i32s;
use super::status::IRS_MATRIX_SINGULAR;
use crate::core::error::Result;
use crate::engines::cuda::Queue;
use crate::engines::library::{Called, Code};
use crate::libraries::solver::native::calls;

/// Calls the routine for a precision: in the table its name is that of its kind with a word for the precision.
macro_rules! by_precision {
    ($lowest:expr, $api:expr, [$single:ident, $half:ident, $brain:ident, $tensor:ident], ($($arg:expr),* $(,)?)) => {
        match $lowest {
            Lowest::Single => $api.$single($($arg),*),
            Lowest::Half => $api.$half($($arg),*),
            Lowest::BFloat16 => $api.$brain($($arg),*),
            Lowest::TensorFloat32 => $api.$tensor($($arg),*),
        }
    };
}

/// Solves by factors of a lower precision: least squares if A is not square. A is `m x n` without gaps and is
/// destroyed; for least squares B is destroyed too. Returns the rounds of refinement, negative if it fell back to
/// the whole precision; `None` if the library reports that it found no solution.
pub(in crate::libraries::solver) fn refine<T: SolverElement>(
    queue: &mut Queue<'_>,
    lowest: Lowest,
    (m, n, nrhs): (usize, usize, usize),
    a: u64,
    (b, ldb): At,
    (x, ldx): At,
    info: u64,
) -> Result<Option<i64>> {
    let (square, pivots) = (m == n, queue.scratch(n.saturating_mul(size_of::<i32>()))? as *mut i32);
    let rounds = queue.keep_host(size_of::<i32>()).cast::<i32>();
    let [m, n, nrhs, ldb, ldx] = i32s([m, n, nrhs, ldb, ldx]);
    let (a, b, x) = (super::calls::pointer(a), super::calls::pointer(b), super::calls::pointer(x));
    let (letter, nowhere) = (T::LETTER, std::ptr::null_mut());
    let mut singular = false;
    calls::call_sized(
        queue,
        if square { "cusolverDn<t1><t2>gesv" } else { "cusolverDn<t1><t2>gels" },
        // SAFETY: see the head of `dense.rs`.
        |api, h, device, _| unsafe {
            let api = api.typed;
            let Called { code, .. } = if square {
                by_precision!(
                    lowest,
                    api,
                    [gesv_single_size, gesv_half_size, gesv_brain_size, gesv_tensor_size],
                    (letter, h, n, nrhs, a, n, pivots, b, ldb, x, ldx, nowhere, device)
                )
            } else {
                by_precision!(
                    lowest,
                    api,
                    [gels_single_size, gels_half_size, gels_brain_size, gels_tensor_size],
                    (letter, h, m, n, nrhs, a, m, b, ldb, x, ldx, nowhere, device)
                )
            };
            code
        },
        // SAFETY: see the head of `dense.rs`; the rounds are written to memory that is kept.
        |api, h, room| unsafe {
            let (api, work, bytes, info) = (api.typed, room.device, room.device_bytes, info as *mut i32);
            let Called { code, .. } = if square {
                by_precision!(
                    lowest,
                    api,
                    [gesv_single, gesv_half, gesv_brain, gesv_tensor],
                    (letter, h, n, nrhs, a, n, pivots, b, ldb, x, ldx, work, bytes, rounds, info)
                )
            } else {
                by_precision!(
                    lowest,
                    api,
                    [gels_single, gels_half, gels_brain, gels_tensor],
                    (letter, h, m, n, nrhs, a, m, b, ldb, x, ldx, work, bytes, rounds, info)
                )
            };
            singular = code.is_some_and(|code| code.0 == IRS_MATRIX_SINGULAR);
            if singular { Some(Code::SUCCESS) } else { code }
        },
    )?;
    // SAFETY: kept until the work is over, and the call has waited for the device.
    let rounds = unsafe { rounds.read_volatile() };
    Ok((!singular).then_some(rounds.into()))
}
