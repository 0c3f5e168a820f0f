//! Twins that stand in the executable: plain functions, so that a worker process of the same executable has them too.
//!
//! A function is named to a worker by its distance in the executable (`worker/distance.rs`), beside that of a constant which
//! knows how to call it with the arguments of its signature. Not so a closure, even one of no size: what it captures may be
//! a value that only this process may have (a private token), and a worker would make one from nothing.

use super::signature::Signature;
use super::twin::{Run, Twin, TwinFn, threads};
use crate::launch::LaunchConfig;
use crate::{Error, Result};
use std::marker::PhantomData;

/// How functions of one signature are called.
#[repr(C)]
pub(crate) struct StaticTwin {
    mark: u64,
    threads: unsafe fn(&Run<'_>, &LaunchConfig, u64, u64, *const ()) -> Option<()>,
}

/// So that a distance that leads elsewhere is noticed.
const MARK: u64 = 0x7477_696e_7374_616e;

struct Of<S>(PhantomData<S>);

impl<S: Signature> Of<S> {
    const STATIC: StaticTwin = StaticTwin { mark: MARK, threads: stand::<S> };
}

/// Runs a function's threads.
///
/// # Safety
/// `function` is a [`TwinFn<S>`].
unsafe fn stand<S: Signature>(
    run: &Run<'_>,
    config: &LaunchConfig,
    first: u64,
    count: u64,
    function: *const (),
) -> Option<()> {
    // SAFETY: the caller's promise.
    let function = unsafe { std::mem::transmute::<*const (), TwinFn<S>>(function) };
    threads::<S, _>(&function, run, config, first, count)
}

/// A function with what calls it. Made of a function of the signature alone, here or from its two distances.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    static_twin: &'static StaticTwin,
    at: u64,
}

impl Function {
    pub(super) fn of<S: Signature>(function: TwinFn<S>) -> Self {
        Function { static_twin: &Of::<S>::STATIC, at: function as usize as u64 }
    }

    /// Some blocks of it.
    pub(super) fn threads(self, run: &Run<'_>, config: &LaunchConfig, first: u64, count: u64) -> Option<()> {
        // SAFETY: both are of one signature: nothing else makes a pair of them (`of`), and what another process says it took
        // from such a pair.
        unsafe { (self.static_twin.threads)(run, config, first, count, self.at as *const ()) }
    }

    /// What lies at these distances.
    ///
    /// # Safety
    /// They are those of a function of another process of this very file.
    pub(super) unsafe fn found(static_twin: u64, function: u64) -> Option<Self> {
        let at = crate::worker::place::<StaticTwin>(static_twin)?;
        // SAFETY: it lies in this file, aligned and whole; the caller promises that it is such a constant.
        let static_twin = unsafe { &*at };
        let at = crate::worker::code_at(function)?;
        (static_twin.mark == MARK).then_some(Function { static_twin, at })
    }
}

impl Twin {
    /// Whether a worker process can run it, and if not, why.
    pub(super) fn crosses(&self, name: &str, is_same_program: bool) -> Result<()> {
        if !is_same_program {
            return Err(Error::unsupported(format!(
                "the twin of `{name}` is code of this program, which the worker program does not have: let this program \
                 be its own worker (`windlass::worker::init()` first in `main`)"
            )));
        }
        self.distances(name).map(drop)
    }

    /// Where a worker finds it: what calls it, and the function.
    pub(super) fn distances(&self, name: &str) -> Result<(u64, u64)> {
        let Function { static_twin, at } = self.function.ok_or_else(|| {
            Error::unsupported(format!(
                "the twin of `{name}` is a closure, and what it captures its worker process does not have: give it as a \
                 function (`twin_fn`, which takes a closure that captures nothing too), and pass what it needs as an \
                 argument"
            ))
        })?;
        Ok((crate::worker::distance(static_twin)?, crate::worker::code_distance(at)?))
    }
}
