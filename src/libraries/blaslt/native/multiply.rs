//! Products, enqueued.

use super::descriptors::{CANDIDATES, Descriptors};
use super::handle::Asking;
use super::{ARCH_MISMATCH, Addresses, Choice, CublasLt, Factor, MATMUL, NOT_SUPPORTED, Problem};
use crate::blas::status;
use crate::blaslt::way::Form;
use crate::cuda::Queue;
use crate::error::Text;
use crate::library::{Refusal, WORKSPACE};
use crate::{Error, Result};
use std::ffi::c_void;

/// How a product is to be enqueued.
pub(in crate::libraries::blaslt) enum Which<'c> {
    /// As was found best. `asked`: the library was, for this product.
    Known { asked: bool },
    /// As given.
    This(&'c Choice),
}

impl Queue<'_> {
    /// Bytes of workspace that a product may take on this slot.
    pub(in crate::libraries::blaslt) fn lt_workspace(&mut self) -> usize {
        self.slot_workspace().map_or(0, |_| WORKSPACE)
    }

    /// The ways that the library offers for a problem, best first.
    fn lt_ways(&mut self, problem: &Problem, addresses: &Addresses) -> Result<Vec<Choice>> {
        let (api, handle) = self.consult::<CublasLt>()?;
        let raw = handle.raw.0;
        let ways = Descriptors::of(api, problem, addresses).and_then(|mut d| d.ways(raw, problem, CANDIDATES));
        ways.map_err(|refusal| self.refused(refusal, problem))
    }

    /// Keeps the ways that the library offers for a problem of a product put in this form, under a number that the front asks by.
    pub(in crate::libraries::blaslt) fn lt_survey(
        &mut self,
        number: u64,
        form: Form,
        problem: &Problem,
        addresses: &Addresses,
    ) -> Result<()> {
        let mut ways = self.lt_ways(problem, addresses)?;
        ways.iter_mut().for_each(|way| way.form = form);
        self.shared::<CublasLt>()?.surveyed(number, *problem, ways);
        Ok(())
    }

    /// Makes sure of a way for a problem, so that one that the library does not multiply is refused while nothing is on
    /// the stream yet. True: the library was asked, which is told to [`lt_matmul`](Self::lt_matmul) to be counted.
    ///
    /// `last`: there is no other form to put the product in, so that a refusal is an answer to the caller, and not remembered.
    pub(in crate::libraries::blaslt) fn lt_find(
        &mut self,
        problem: &Problem,
        addresses: &Addresses,
        last: bool,
    ) -> Result<bool> {
        let choices = self.shared::<CublasLt>()?;
        let (api, handle) = self.consult::<CublasLt>()?;
        let mut asked = false;
        let mut asking = Asking { asked: &mut asked, last };
        match handle.plan(api, choices, problem, addresses, &mut asking).map(|(_, out)| out) {
            Ok(out) => self.forget(out),
            Err(refusal) => {
                if asked {
                    self.count_plan(true);
                }
                return Err(self.refused(refusal, problem));
            }
        }
        Ok(asked)
    }

    /// Enqueues a product. `factors`: alpha and beta, where they are not on the device.
    ///
    /// # Safety
    /// The addresses are of operands or scratch of this dispatch that hold what the problem says.
    pub(in crate::libraries::blaslt) unsafe fn lt_matmul(
        &mut self,
        problem: &Problem,
        addresses: &Addresses,
        factors: &[Factor; 2],
        which: Which<'_>,
    ) -> Result<()> {
        let choices = self.shared::<CublasLt>()?;
        let workspace = self.slot_workspace().unwrap_or(0);
        let stream = self.stream_of_handles();
        let (api, handle) = self.consult::<CublasLt>()?;
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
                    made = Descriptors::of(api, problem, addresses)?;
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
            // descriptors say (the caller's promise) and live until this work is done; scalars on the host are read before the call
            // returns; the workspace is the slot's, used on its stream alone, and as large as it was said to be.
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
            self.touch();
        }
        self.forget(out);
        // What is known to be refused is counted in the form in which it is done.
        if known && (asked || outcome.is_ok()) {
            self.count_plan(asked);
        }
        outcome.map_err(|refusal| self.refused(refusal, problem))
    }

    /// Plans that the cache has forgotten go when the work is over: the lease is no place for it.
    fn forget(&mut self, plans: Vec<super::handle::Plan>) {
        if !plans.is_empty() {
            self.keep(plans);
        }
    }

    /// What a failed call means. What the library does not do is `Unsupported`, with its word for it.
    #[cold]
    fn refused(&self, (call, code): Refusal, problem: &Problem) -> Error {
        use status::INVALID_VALUE;
        let unsupported = code == NOT_SUPPORTED
            || code.0 == ARCH_MISMATCH
            // As `REFUSALS` says.
            || (code.0 == INVALID_VALUE && call != MATMUL)
            || (code.0 == INVALID_VALUE && problem.matrices.iter().any(|m| matches!(m.data_type, 28 | 29)));
        match self.failure::<CublasLt>(call, code) {
            Error::LibraryError { .. } | Error::Unsupported { .. } if unsupported => {
                let name = crate::library::name(status::STATUS, code);
                Error::unsupported(format!("{call} answers {name} to {problem}")).locate(|site| {
                    site.set_code(code.0, Text::Borrowed(name));
                })
            }
            error => error,
        }
    }
}
