//! Twins that are part of the executable: plain functions, which a worker process of the same executable has too.
//!
//! A worker gets the distance of a function in the executable (`worker/distance.rs`), and that of a constant which can
//! call it with the arguments of its signature. A closure cannot be passed in this way, not even one of zero size: it
//! may capture a value that only this process may have (a private token), and the worker would make such a value from
//! nothing.

use super::signature::Signature;
use super::twin::{Run, Twin, TwinFn, threads};
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchConfig;
use std::marker::PhantomData;

/// The caller of the functions of one signature.
#[repr(C)]
pub(crate) struct StaticTwin {
    mark: u64,
    threads: unsafe fn(&Run<'_>, &LaunchConfig, u64, u64, *const ()) -> Option<()>,
}

/// Detects a distance that leads to something else.
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

/// A function and its caller. Made only from a function of the signature, in this process or from its two distances.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    static_twin: &'static StaticTwin,
    at: u64,
}

impl Function {
    pub(super) fn new<S: Signature>(function: TwinFn<S>) -> Self {
        Function { static_twin: &Of::<S>::STATIC, at: function as usize as u64 }
    }

    /// Runs some blocks of the function.
    pub(super) fn threads(self, run: &Run<'_>, config: &LaunchConfig, first: u64, count: u64) -> Option<()> {
        // SAFETY: both belong to one signature: only `new` makes such a pair, and distances from another process come
        // from such a pair.
        unsafe { (self.static_twin.threads)(run, config, first, count, self.at as *const ()) }
    }

    /// The function and its caller at these distances.
    ///
    /// # Safety
    /// They are the distances of a function in another process of this same file.
    pub(super) unsafe fn found(static_twin: u64, function: u64) -> Option<Self> {
        let at = crate::engines::worker::place::<StaticTwin>(static_twin)?;
        // SAFETY: it lies in this file, aligned and whole; the caller promises that it is such a constant.
        let static_twin = unsafe { &*at };
        let at = crate::engines::worker::code_at(function)?;
        (static_twin.mark == MARK).then_some(Function { static_twin, at })
    }
}

impl Twin {
    /// Checks whether a worker process can run it; the error says why not.
    pub(super) fn crosses(&self, name: &str, is_same_program: bool) -> Result<()> {
        if !is_same_program {
            return Err(Error::unsupported(format!(
                "the twin of `{name}` is code of this program, which a separate worker program does not contain: let \
                 this program be its own worker (call `windlass::worker::init()` first in `main`)"
            )));
        }
        self.distances(name).map(drop)
    }

    /// The distances with which a worker finds the caller and the function.
    pub(super) fn distances(&self, name: &str) -> Result<(u64, u64)> {
        let Function { static_twin, at } = self.function.ok_or_else(|| {
            Error::unsupported(format!(
                "the twin of `{name}` is a closure, and the worker process does not have what it captures: pass a \
                 function, or a closure that captures nothing, to `twin_fn`, and pass captured values as kernel \
                 arguments"
            ))
        })?;
        Ok((crate::engines::worker::distance(static_twin)?, crate::engines::worker::code_distance(at)?))
    }
}
