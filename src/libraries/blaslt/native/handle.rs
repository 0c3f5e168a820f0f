//! A slot's cuBLASLt handle, and the plans that it remembers.

use super::descriptors::Descriptors;
use super::functions::RawHandle;
use super::{Addresses, Choice, Choices, CublasLtFunctions, HEURISTIC, NOT_SUPPORTED, Problem, REFUSALS, REMEMBERED};
use crate::core::cache::Cache;
use crate::core::sync::Ordering;
use crate::core::trace::Stats;
use crate::engines::cuda::Native;
use crate::engines::library::{Code, CudaLibrary, LoadError, Refusal, Seat, Site, Status, decode};
use crate::libraries::blas::status;

/// cuBLASLt as a library of the core.
pub(crate) struct CublasLt;

/// A slot's handle and plans.
pub(crate) struct Handle {
    pub(super) raw: Native<RawHandle>,
    plans: Cache<Problem, Plan>,
}

/// A choice with the library's descriptors.
pub(super) struct Plan {
    pub(super) descriptors: Descriptors,
    pub(super) choice: Choice,
    /// The version of the epoch's choices at which it was looked up.
    version: u64,
}

/// How a plan is looked up.
pub(super) struct Asking<'a> {
    /// Set to true if the library is asked.
    pub(super) asked: &'a mut bool,
    /// Whether a refusal must not be cached.
    pub(super) last: bool,
}

/// Maximum number of bytes of a slot's plans. The library's part of a plan is not known; it is a few hundred bytes.
const PLAN_BYTES: usize = 1 << 20;

impl CudaLibrary for CublasLt {
    const NAME: &'static str = "blaslt";
    const STATUS: &'static [Status] = status::STATUS;
    type Api = CublasLtFunctions;
    type Handle = Handle;
    type Shared = Choices;

    fn kernels() -> &'static [&'static crate::engines::cuda::Ptx] {
        crate::libraries::blaslt::KERNELS
    }

    fn load() -> Result<&'static CublasLtFunctions, LoadError> {
        CublasLtFunctions::load()
    }

    fn create(api: &'static CublasLtFunctions, _: &mut Seat<'_>) -> Result<Handle, Refusal> {
        let mut raw = RawHandle::NULL;
        // SAFETY: `raw` is valid for the write; the context is current.
        unsafe { api.create(&mut raw) }.by("cublasLtCreate")?;
        Ok(Handle { raw: Native(raw), plans: Cache::new(REMEMBERED, PLAN_BYTES) })
    }

    fn destroy(api: &'static CublasLtFunctions, handle: Handle) -> Code {
        let Handle { raw, plans } = handle;
        drop(plans);
        // SAFETY: made by `create`, destroyed once, idle; the plans on it are gone. It may synchronize the device.
        unsafe { api.destroy(raw.0) }
    }

    fn answer(site: &Site<'_, Self>, question: &[u8]) -> crate::core::error::Result<Vec<u8>> {
        site.shared.answer(decode(question)?)
    }

    fn fill(choices: &Choices, stats: &mut Stats) {
        stats.plans_pinned += choices.pinned();
    }
}

impl Handle {
    /// The slot's plan for a problem, made if needed, and the plans that this evicts from the cache.
    pub(super) fn plan(
        &mut self,
        api: &'static CublasLtFunctions,
        choices: &Choices,
        problem: &Problem,
        addresses: &Addresses,
        asking: &mut Asking<'_>,
    ) -> Result<(&mut Plan, Vec<Plan>), Refusal> {
        let handle = self.raw.0;
        let version = choices.version.load(Ordering::Acquire);
        let (plan, out) = self.plans.get_or_insert(problem, || {
            let known = choices.find(problem);
            if let (None, Some(code)) = (known, choices.refusal(problem)) {
                return Err((HEURISTIC, code));
            }
            let mut descriptors = Descriptors::new(api, problem, addresses)?;
            let choice = match known {
                Some(choice) => choice,
                None => {
                    *asking.asked = true;
                    let ways = descriptors.ways(handle, problem, 1).inspect_err(|(call, code)| {
                        // Out of memory and faults do not depend on the problem, so they are not cached.
                        if !asking.last && *call == HEURISTIC && REFUSALS.contains(code) {
                            choices.refuse(problem, *code);
                        }
                    })?;
                    choices.remember(problem, *ways.first().ok_or((HEURISTIC, NOT_SUPPORTED))?)
                }
            };
            Ok::<_, Refusal>((Plan { descriptors, choice, version }, size_of::<(Problem, Plan)>()))
        })?;
        if plan.version != version {
            plan.choice = choices.find(problem).unwrap_or(plan.choice);
            plan.version = version;
        }
        Ok((plan, out))
    }
}
