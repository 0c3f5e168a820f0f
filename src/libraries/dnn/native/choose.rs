//! The choice of an engine for a graph, and its plan.
//!
//! The heuristic lists configurations, best first. One is asked for first, since the list of all takes longer; the first that
//! keeps the rules and of which a plan can be made is taken.

use super::descriptor::{Descriptor, Of, Refused};
use super::graph::Finished;
use super::handle::Functions;
use crate::engines::library::Code;

// cudnnBackendDescriptorType_t and attributes.
const ENGINE: i32 = 2;
const CONFIGURATION: i32 = 3;
const HEURISTIC: i32 = 4;
const PLAN: i32 = 5;
const DEVICE: i32 = 38;

// cudnnBackendNumericalNote_t, as bits.
const TENSOR_CORE: u64 = 1 << 0;
const DOWN_CONVERT: u64 = 1 << 1;
const NARROW_SUMS: u64 = 1 << 2;
const NONDETERMINISTIC: u64 = 1 << 4;

/// `cudnnBackendHeurMode_t` and how many configurations are asked for.
const ASKED: [(i32, usize); 3] = [(3, 1), (3, 64), (2, 64)];

/// `CUDNN_STATUS_NOT_SUPPORTED`.
const NOT_SUPPORTED: Code = Code(3000);

/// What a plan must keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Products of f32 are not rounded to fewer bits before.
    pub(super) strict: bool,
    /// The same bits each time.
    pub(super) deterministic: bool,
}

impl Rules {
    fn allow(self, notes: u64) -> bool {
        let strict = !self.strict || notes & (TENSOR_CORE | DOWN_CONVERT) == 0;
        // Sums are never in fewer bits than the operation says.
        strict && notes & NARROW_SUMS == 0 && (!self.deterministic || notes & NONDETERMINISTIC == 0)
    }
}

/// The device with this number.
pub(super) fn device(api: &'static Functions, ordinal: i32) -> Result<Descriptor, Refused> {
    Descriptor::new(api, DEVICE)?.choice(2700, Of::Int32, ordinal)?.finalized()
}

/// A plan, and all that it was made of.
pub(super) struct Chosen {
    pub(super) plan: Descriptor,
    /// Bytes of its workspace.
    pub(super) workspace: usize,
    /// `cudnnBackendNumericalNote_t`, as bits.
    #[cfg(test)]
    pub(super) notes: u64,
}

/// A plan of a configuration; `None` if it does not keep the rules.
fn attempt(
    api: &'static Functions,
    configuration: &Descriptor,
    device: &Descriptor,
    rules: Rules,
) -> Result<Option<Chosen>, Refused> {
    let engines = configuration.linked(300, ENGINE, 1)?;
    let notes = engines.first().map_or(Ok(0), |engine| engine.notes(1303, Of::NumericalNote))?;
    if !rules.allow(notes) {
        return Ok(None);
    }
    let plan = Descriptor::new(api, PLAN)?.links(401, &[configuration])?.links(407, &[device])?.finalized()?;
    let workspace = usize::try_from(plan.int(402)?).unwrap_or(0);
    Ok(Some(Chosen {
        plan,
        workspace,
        #[cfg(test)]
        notes,
    }))
}

/// Makes a plan.
///
/// # Errors
/// The last refusal, if the library has none.
pub(super) fn choose(
    api: &'static Functions,
    finished: &Finished,
    device: &Descriptor,
    rules: Rules,
) -> Result<Chosen, Refused> {
    let mut last = None;
    for (mode, most) in ASKED {
        let asked = Descriptor::new(api, HEURISTIC)?
            .links(201, &[&finished.graph])?
            .choice(200, Of::HeuristicMode, mode)?
            .links(204, &[device])?
            .finalized()
            .and_then(|heuristic| heuristic.linked(202, CONFIGURATION, most));
        let configurations = match asked {
            Ok(configurations) => configurations,
            Err(refused) => {
                last = Some(refused);
                continue;
            }
        };
        for configuration in &configurations {
            match attempt(api, configuration, device, rules) {
                Ok(Some(chosen)) => return Ok(chosen),
                Ok(None) => {}
                Err(refused) => last = Some(refused),
            }
        }
    }
    Err(last.unwrap_or_else(|| Refused::told("cudnnBackendFinalize", NOT_SUPPORTED, rules.nobody())))
}

impl Rules {
    fn nobody(self) -> String {
        let strict = if self.strict { " that computes f32 without rounding its operands to TF32" } else { "" };
        let same = if self.deterministic { " that gives the same bits each time" } else { "" };
        format!("no engine of the library{strict}{same} takes these types, sizes and strides")
    }
}
