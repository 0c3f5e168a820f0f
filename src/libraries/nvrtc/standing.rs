//! Twins that stand in the executable: those that capture nothing, so that a worker process of the same executable has
//! them too.
//!
//! A function of Rust is a type of no bytes, and so is a closure without captures: the type alone says what it does. For
//! each such twin there is a constant in the executable, and its distance names it to a worker (`worker/distance.rs`).

use super::signature::Signature;
use super::twin::{Run, ThreadIndex, Twin, threads};
use crate::launch::LaunchConfig;
use crate::{Error, Result};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A twin that any process of this executable can run.
#[repr(C)]
pub(crate) struct Standing {
    mark: u64,
    pub(super) threads: fn(&Run<'_>, &LaunchConfig, u64, u64) -> Option<()>,
}

/// So that a distance that leads elsewhere is noticed.
const MARK: u64 = 0x7477_696e_7374_616e;

struct Of<S, F>(PhantomData<(S, F)>);

impl<S: Signature, F> Of<S, F>
where
    F: for<'t> Fn(ThreadIndex, S::Views<'t>) + Send + Sync + 'static,
{
    const STANDING: Standing = Standing { mark: MARK, threads: stand::<S, F> };
}

/// Only entered in a constant for a type that [`Standing::of`] has looked at.
fn stand<S: Signature, F>(run: &Run<'_>, config: &LaunchConfig, first: u64, count: u64) -> Option<()>
where
    F: for<'t> Fn(ThreadIndex, S::Views<'t>) + Send + Sync + 'static,
{
    if !captures_nothing::<F>() {
        return None;
    }
    // SAFETY: a reference to a value of no bytes, aligned. There is such a value: whoever named this constant had one,
    // and it is never dropped here.
    let f = unsafe { NonNull::<F>::dangling().as_ref() };
    threads::<S, F>(f, run, config, first, count)
}

fn captures_nothing<F>() -> bool {
    size_of::<F>() == 0 && !std::mem::needs_drop::<F>()
}

impl Standing {
    /// That of a twin, unless it captures something.
    pub(super) fn of<S: Signature, F>() -> Option<&'static Self>
    where
        F: for<'t> Fn(ThreadIndex, S::Views<'t>) + Send + Sync + 'static,
    {
        captures_nothing::<F>().then_some(&Of::<S, F>::STANDING)
    }

    pub(super) fn is_marked(&self) -> bool {
        self.mark == MARK
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
        self.distance(name).map(drop)
    }

    /// Where a worker finds it.
    pub(super) fn distance(&self, name: &str) -> Result<u64> {
        let standing = self.standing.ok_or_else(|| {
            Error::unsupported(format!(
                "the twin of `{name}` captures something of this process, which its worker process does not have: pass \
                 it as an argument"
            ))
        })?;
        crate::worker::distance(standing)
    }
}
