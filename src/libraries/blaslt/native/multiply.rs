//! Enqueues products.

use super::descriptors::{CANDIDATES, Descriptors};
use super::handle::Asking;
use super::{ARCH_MISMATCH, Addresses, Choice, CublasLt, Factor, MATMUL, NOT_SUPPORTED, Problem};
use crate::core::error::{Error, Result, Text};
use crate::engines::cuda::Queue;
use crate::engines::library::{Refusal, WORKSPACE};
use crate::libraries::blas::status;
use crate::libraries::blaslt::selection::Form;
use std::ffi::c_void;

/// With which algorithm a product is enqueued.
pub(in crate::libraries::blaslt) enum Which<'c> {
    /// With the best known one. `asked`: whether the library was already asked for this product.
    Known { asked: bool },
    /// With the given one.
    This(&'c Choice),
}

/// Bytes of workspace that a product may take on this slot.
pub(in crate::libraries::blaslt) fn lt_workspace(queue: &mut Queue<'_>) -> usize {
    queue.slot_workspace().map_or(0, |_| WORKSPACE)
}

/// The library's algorithms for a problem, best first.
fn lt_ways(queue: &mut Queue<'_>, problem: &Problem, addresses: &Addresses) -> Result<Vec<Choice>> {
    let (api, handle) = queue.consult::<CublasLt>()?;
    let raw = handle.raw.0;
    let ways = Descriptors::new(api, problem, addresses).and_then(|mut d| d.ways(raw, problem, CANDIDATES));
    ways.map_err(|refusal| refused(queue, refusal, problem))
}

/// Stores the library's algorithms for a problem, with the product in this form, under a number with which the
/// front fetches them.
pub(in crate::libraries::blaslt) fn lt_survey(
    queue: &mut Queue<'_>,
    number: u64,
    form: Form,
    problem: &Problem,
    addresses: &Addresses,
) -> Result<()> {
    let mut ways = lt_ways(queue, problem, addresses)?;
    ways.iter_mut().for_each(|choice| choice.form = form);
    queue.shared::<CublasLt>()?.surveyed(number, *problem, ways);
    Ok(())
}

/// Finds an algorithm for a problem, so that a problem that the library does not support is refused before any work
/// is on the stream. Returns whether the library was asked; [`lt_matmul`](lt_matmul) takes this, to count it.
///
/// `last`: there is no other form for the product. A refusal is then reported to the caller, and not cached.
pub(in crate::libraries::blaslt) fn lt_find(
    queue: &mut Queue<'_>,
    problem: &Problem,
    addresses: &Addresses,
    last: bool,
) -> Result<bool> {
    let choices = queue.shared::<CublasLt>()?;
    let (api, handle) = queue.consult::<CublasLt>()?;
    let mut asked = false;
    let mut asking = Asking { asked: &mut asked, last };
    match handle.plan(api, choices, problem, addresses, &mut asking).map(|(_, out)| out) {
        Ok(out) => forget(queue, out),
        Err(refusal) => {
            if asked {
                queue.count_plan(true);
            }
            return Err(refused(queue, refusal, problem));
        }
    }
    Ok(asked)
}

/// Enqueues a product. `factors`: alpha and beta, unless they are on the device.
///
/// # Safety
/// The addresses are of operands or scratch of this dispatch that hold what the problem says.
pub(in crate::libraries::blaslt) unsafe fn lt_matmul(
    queue: &mut Queue<'_>,
    problem: &Problem,
    addresses: &Addresses,
    factors: &[Factor; 2],
    which: Which<'_>,
) -> Result<()> {
    let choices = queue.shared::<CublasLt>()?;
    let workspace = queue.slot_workspace().unwrap_or(0);
    let stream = queue.stream_of_handles();
    let (api, handle) = queue.consult::<CublasLt>()?;
    let (mut reached, mut out) = (false, Vec::new());
    let (mut asked, known) = match which {
        Which::Known { asked } => (asked, true),
        Which::This(_) => (false, false),
    };
    let raw = handle.raw.0;
    let outcome = (|| {
        let made;
        let (descriptors, choice) = match which {
            Which::This(choice) => {
                made = Descriptors::new(api, problem, addresses)?;
                (&made, choice)
            }
            Which::Known { .. } => {
                let mut asking = Asking { asked: &mut asked, last: false };
                let (plan, forgotten) = handle.plan(api, choices, problem, addresses, &mut asking)?;
                out = forgotten;
                plan.descriptors.point(addresses)?;
                (&plan.descriptors, &plan.choice)
            }
        };
        let host = factors.each_ref().map(|factor| factor.0.as_ptr().cast::<c_void>());
        let [alpha, beta] = addresses.factors.map_or(host, |device| device.map(|address| address as *const c_void));
        let [a, b, c, d] = descriptors.layouts.map(|layout| layout.0);
        reached = true;
        // SAFETY: handle and descriptors are alive and used under this slot's lease; the operands hold what the
        // descriptors say (the caller's promise) and live until this work is done; scalars on the host are read
        // before the call returns; the workspace is the slot's, used on its stream alone, and as large as the
        // problem says.
        let code = unsafe {
            api.matmul(
                raw,
                descriptors.desc.0,
                alpha,
                addresses.a as *const _,
                a,
                addresses.b as *const _,
                b,
                beta,
                addresses.c as *const _,
                c,
                addresses.d as *mut _,
                d,
                &choice.algo,
                workspace as *mut _,
                problem.workspace,
                stream,
            )
        };
        code.ok().map_err(|code| (MATMUL, code))
    })();
    if reached {
        queue.touch();
    }
    forget(queue, out);
    // A problem that is known to be refused is not counted here, but in the form in which the product is then done.
    if known && (asked || outcome.is_ok()) {
        queue.count_plan(asked);
    }
    outcome.map_err(|refusal| refused(queue, refusal, problem))
}

/// Plans that were evicted from the cache are freed when the work is over, not under the lease.
fn forget(queue: &mut Queue<'_>, plans: Vec<super::handle::Plan>) {
    if !plans.is_empty() {
        queue.keep(plans);
    }
}

/// Converts a failed call to an error. What the library does not support is `Unsupported`, with the name of its
/// status.
#[cold]
fn refused(queue: &Queue<'_>, (call, code): Refusal, problem: &Problem) -> Error {
    use status::INVALID_VALUE;
    let unsupported = code == NOT_SUPPORTED
        || code.0 == ARCH_MISMATCH
        // See `REFUSALS`.
        || (code.0 == INVALID_VALUE && call != MATMUL)
        || (code.0 == INVALID_VALUE && problem.matrices.iter().any(|m| matches!(m.data_type, 28 | 29)));
    match queue.failure::<CublasLt>(call, code) {
        Error::LibraryError { .. } | Error::Unsupported { .. } if unsupported => {
            let name = crate::engines::library::name(status::STATUS, code);
            Error::unsupported(format!("{call} returned {name} for {problem}")).locate(|site| {
                site.set_code(code.0, Text::Borrowed(name));
            })
        }
        error => error,
    }
}
