//! cuBLASLt: handles, descriptors, and the ways to multiply that were asked for before.
//!
//! A handle a slot, made by the first product that needs it and used under the slot's lease alone, so that nothing
//! rests on what the library says of threads. It is bound to no stream and owns no workspace: both are arguments of the
//! call.
//!
//! Two levels remember. The epoch knows the **choice** for a problem, that is the algorithm which the heuristic gave or
//! [`autotune`](crate::BlasLt::autotune) measured: behind a lock, asked by a slot that meets a problem for the first
//! time. A slot knows the **plan**, that is the choice with the library's descriptors, which are written to by every
//! call (the addresses of a bias, of scales) and so belong to whoever holds the lease: a call that finds its plan takes
//! no lock, makes nothing and asks nothing. A pinned choice moves the epoch's version on, and plans made before look
//! once more.

mod choices;
mod descriptors;
mod problem;

pub(crate) use choices::{Choice, Choices};
pub(crate) use problem::{Addresses, Factor, MatrixOf, Problem};

use super::Native;
use super::api::cublaslt::Opaque;
use super::api::{Code, CublasLt, codes};
use super::enqueue::Enqueue;
use super::library::WORKSPACE;
use super::lru::Lru;
use super::warm::op;
use crate::error::Text;
use crate::op::Op;
use crate::sync::Ordering;
use crate::{Error, Result};
use descriptors::{CANDIDATES, Descriptors};
use std::ffi::c_void;

/// Problems that an epoch and each of its slots remember.
const REMEMBERED: usize = 256;

/// A slot's handle and plans.
pub(crate) struct LtHandle {
    raw: Native<Opaque>,
    api: &'static CublasLt,
    plans: Lru<Problem, Plan>,
}

impl LtHandle {
    /// The slot's plan for a problem, made if need be; `asked` becomes true where the library is asked for it.
    fn plan(
        &mut self,
        choices: &Choices,
        problem: &Problem,
        addresses: &Addresses,
        asked: &mut bool,
    ) -> std::result::Result<&mut Plan, Refusal> {
        let (handle, api) = (self.raw.0, self.api);
        let version = choices.version.load(Ordering::Acquire);
        let plan = self.plans.get_or_insert(problem, || {
            let mut descriptors = Descriptors::of(api, problem, addresses)?;
            let choice = match choices.of(problem) {
                Some(choice) => choice,
                None => {
                    *asked = true;
                    let ways = descriptors.ways(handle, problem, 1)?;
                    choices.remember(problem, *ways.first().ok_or((HEURISTIC, NOT_SUPPORTED))?)
                }
            };
            Ok(Plan { descriptors, choice, version })
        })?;
        if plan.version != version {
            plan.choice = choices.of(problem).unwrap_or(plan.choice);
            plan.version = version;
        }
        Ok(plan)
    }

    /// Only at the end of an epoch: it may synchronize the device.
    pub(crate) fn destroy(self) -> Code {
        let LtHandle { raw, api, plans } = self;
        drop(plans);
        // SAFETY: made by `create`, destroyed once, idle; the plans on it are gone.
        unsafe { api.destroy(raw.0) }
    }
}

/// A choice with the library's descriptors.
struct Plan {
    descriptors: Descriptors,
    choice: Choice,
    /// The version that it was looked up at.
    version: u64,
}

/// A call that failed, by name.
type Refusal = (&'static str, Code);

const HEURISTIC: &str = "cublasLtMatmulAlgoGetHeuristic";
const MATMUL: &str = "cublasLtMatmul";
const NOT_SUPPORTED: Code = Code(15);

/// How a product is to be enqueued.
pub(crate) enum Which<'c> {
    /// As was found best. `asked`: the library was, for this product.
    Known { asked: bool },
    /// As given.
    This(&'c Choice),
}

impl<O: Op> Enqueue<'_, O> {
    /// The slot's handle, made if need be.
    fn lt(&mut self) -> Result<(Opaque, &'static CublasLt)> {
        if let Some(handle) = &self.state.lt {
            return Ok((handle.raw.0, handle.api));
        }
        crate::worker::first_use();
        let api = CublasLt::load()?;
        let mut raw: Opaque = std::ptr::null_mut();
        // SAFETY: `raw` is valid for the write; the context is current.
        let code = unsafe { api.create(&mut raw) };
        // Nothing is on the stream by that: what the library refuses after it has cost nothing.
        self.library_status("cublasLtCreate", code)?;
        // Before the handlers that the library has registered by now.
        static FIRST: std::sync::Once = std::sync::Once::new();
        crate::engine::process::watch_exit_after(&FIRST);
        self.state.lt = Some(LtHandle { raw: Native(raw), api, plans: Lru::new(REMEMBERED) });
        Ok((raw, api))
    }

    /// Makes the handle and the workspace.
    pub(crate) fn warm_lt(&mut self) -> Result<()> {
        self.lt()?;
        self.workspace();
        Ok(())
    }

    /// Bytes of workspace that a product may take on this slot.
    pub(crate) fn lt_workspace(&mut self) -> usize {
        self.workspace().map_or(0, |_| WORKSPACE)
    }

    /// The ways that the library offers for a problem, best first.
    pub(crate) fn lt_ways(&mut self, problem: &Problem, addresses: &Addresses) -> Result<Vec<Choice>> {
        let (handle, api) = self.lt()?;
        let ways = Descriptors::of(api, problem, addresses).and_then(|mut d| d.ways(handle, problem, CANDIDATES));
        ways.map_err(|refusal| self.refused(refusal, problem))
    }

    /// Makes sure of a way for a problem, so that one that the library does not multiply is refused while nothing is on
    /// the stream yet. True: the library was asked, which is told to [`lt_matmul`](Self::lt_matmul) to be counted.
    pub(crate) fn lt_find(&mut self, problem: &Problem, addresses: &Addresses) -> Result<bool> {
        self.lt()?;
        let mut asked = false;
        let found = match self.state.lt.as_mut() {
            Some(lt) => lt.plan(&self.core.choices, problem, addresses, &mut asked).map(drop),
            None => Err((MATMUL, Code(1))),
        };
        if found.is_err() {
            self.shared.plans.count(asked);
        }
        found.map_err(|refusal| self.refused(refusal, problem))?;
        Ok(asked)
    }

    /// Enqueues a product. `factors`: alpha and beta, where they are not on the device.
    ///
    /// # Safety
    /// The addresses are of operands or scratch of this dispatch that hold what the problem says.
    pub(crate) unsafe fn lt_matmul(
        &mut self,
        problem: &Problem,
        addresses: &Addresses,
        factors: &[Factor; 2],
        which: Which<'_>,
    ) -> Result<()> {
        let (handle, api) = self.lt()?;
        let workspace = self.workspace().unwrap_or(0);
        let stream = self.state.stream.0;
        let (mut asked, known) = match which {
            Which::Known { asked } => (asked, true),
            Which::This(_) => (false, false),
        };
        let outcome = (|| {
            let made;
            let (descriptors, choice) = match which {
                Which::This(choice) => {
                    made = Descriptors::of(api, problem, addresses)?;
                    (&made, choice)
                }
                Which::Known { .. } => {
                    let Some(lt) = self.state.lt.as_mut() else { return Err((MATMUL, Code(1))) };
                    let plan = lt.plan(&self.core.choices, problem, addresses, &mut asked)?;
                    plan.descriptors.point(addresses)?;
                    (&plan.descriptors, &plan.choice)
                }
            };
            let host = factors.each_ref().map(|factor| factor.0.as_ptr().cast::<c_void>());
            let [alpha, beta] = addresses.factors.map_or(host, |device| device.map(|address| address as *const c_void));
            let [a, b, c, d] = descriptors.layouts.map(|layout| layout.0);
            // From here on something may be on the stream.
            self.untouched = false;
            // SAFETY: handle and descriptors are alive and used under this slot's lease; the operands hold what the
            // descriptors say (the caller's promise) and live until this work is done; scalars on the host are read before the call
            // returns; the workspace is the slot's, used on its stream alone, and as large as it was said to be.
            let code = unsafe {
                api.matmul(
                    handle,
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
        if known {
            self.shared.plans.count(asked);
        }
        outcome.map_err(|refusal| self.refused(refusal, problem))
    }

    /// What a failed call means. What the library does not do is `Unsupported`, with its word for it.
    #[cold]
    fn refused(&self, (call, code): Refusal, problem: &Problem) -> Error {
        const INVALID_VALUE: i32 = 7;
        const ARCH_MISMATCH: i32 = 8;
        let unsupported = code == NOT_SUPPORTED
            || code.0 == ARCH_MISMATCH
            // Of attributes and problems that it does not know, it says that they are invalid.
            || (code.0 == INVALID_VALUE && call != MATMUL)
            || (code.0 == INVALID_VALUE && problem.matrices.iter().any(|m| matches!(m.data_type, 28 | 29)));
        match self.library_status(call, code) {
            Err(Error::LibraryError { .. } | Error::Unsupported { .. }) if unsupported => {
                let name = codes::cublas_name(code.0).unwrap_or("an unknown status");
                Error::unsupported(format!("{call} answers {name} to {problem}")).locate(|site| {
                    site.set_code(code.0, Text::Borrowed(name));
                })
            }
            Err(error) => error,
            Ok(()) => Error::library(format!("{call} failed without a code")),
        }
    }
}

op!("blaslt", |queue| queue.warm_lt());
