//! The choice of an engine for a graph, and its plan.
//!
//! The heuristic lists configurations, best first. One is asked for first, since the list of all takes longer; the first that
//! keeps the rules and of which a plan can be made is taken.

use super::super::plans::{Pin, Recipe};
use super::descriptor::{Descriptor, Of, Refused};
use super::graph::Finished;
use super::handle::Functions;
use crate::engines::library::Code;

// cudnnBackendDescriptorType_t and attributes.
const ENGINE: i32 = 2;
const CONFIGURATION: i32 = 3;
const HEURISTIC: i32 = 4;
const PLAN: i32 = 5;
const KNOB: i32 = 7;

// cudnnBackendNumericalNote_t, as bits.
const TENSOR_CORE: u64 = 1 << 0;
const DOWN_CONVERT: u64 = 1 << 1;
const NARROW_SUMS: u64 = 1 << 2;
const NONDETERMINISTIC: u64 = 1 << 4;

/// `cudnnBackendHeurMode_t` and how many configurations are asked for.
const ASKED: [(i32, usize); 3] = [(3, 1), (3, 64), (2, 64)];

/// `CUDNN_STATUS_NOT_SUPPORTED`.
const NOT_SUPPORTED: Code = Code(3000);
/// `CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED`.
const NO_MEMORY: Code = Code(4004);

/// What a plan must keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Products of f32 are not rounded to fewer bits before.
    pub(super) strict: bool,
    /// The same bits each time.
    pub(super) deterministic: bool,
    /// The most bytes of workspace.
    pub(super) most: u64,
    /// The number of the engine, where others give wrong results.
    pub(super) only: Option<i64>,
}

impl Rules {
    fn allow(self, notes: u64) -> bool {
        let strict = !self.strict || notes & (TENSOR_CORE | DOWN_CONVERT) == 0;
        // Sums are never in fewer bits than the operation says.
        strict && notes & NARROW_SUMS == 0 && (!self.deterministic || notes & NONDETERMINISTIC == 0)
    }
}

/// A plan, and what it was made of.
pub(super) struct Chosen {
    pub(super) plan: Descriptor,
    pub(super) recipe: Recipe,
    /// A better engine needs more workspace than the rules allow.
    pub(super) short: bool,
}

impl Chosen {
    /// Bytes of its workspace.
    pub(super) fn workspace(&self) -> usize {
        usize::try_from(self.recipe.workspace).unwrap_or(usize::MAX)
    }
}

/// What became of a configuration.
enum Attempt {
    Made(Chosen),
    BreaksRules,
    /// Its workspace has so many bytes.
    TooLarge(u64),
}

fn workspace(plan: &Descriptor) -> Result<u64, Refused> {
    Ok(u64::try_from(plan.int(402)?).unwrap_or(0))
}

/// The engine of a configuration with its knobs, and its notes.
fn pin(configuration: &Descriptor) -> Result<(Pin, [u64; 2]), Refused> {
    let engines = configuration.linked(300, ENGINE, 1)?;
    let Some(engine) = engines.first() else { return Ok((Pin { engine: -1, knobs: Vec::new() }, [0; 2])) };
    let mut knobs = Vec::new();
    for knob in configuration.linked(302, KNOB, 64)? {
        knobs.push((knob.kind(600, Of::KnobType)?, knob.int(601)?));
    }
    let notes = [engine.notes(1303, Of::NumericalNote)?, engine.notes(1305, Of::BehaviorNote)?];
    Ok((Pin { engine: engine.int(1301)?, knobs }, notes))
}

/// A plan of a configuration.
fn attempt(
    api: &'static Functions,
    configuration: &Descriptor,
    device: &Descriptor,
    rules: Rules,
) -> Result<Attempt, Refused> {
    let engines = configuration.linked(300, ENGINE, 1)?;
    let notes = engines.first().map_or(Ok(0), |engine| engine.notes(1303, Of::NumericalNote))?;
    let number = engines.first().filter(|_| rules.only.is_some()).map(|engine| engine.int(1301)).transpose()?;
    if !rules.allow(notes) || number != rules.only {
        return Ok(Attempt::BreaksRules);
    }
    let plan = Descriptor::new(api, PLAN)?.links(401, &[configuration])?.links(407, &[device])?.finalized()?;
    let workspace = workspace(&plan)?;
    if workspace > rules.most {
        return Ok(Attempt::TooLarge(workspace));
    }
    let (pin, notes) = pin(configuration)?;
    let recipe = Recipe { pin, text: Vec::new(), release: api.version.to_string(), workspace, notes, tuned: false };
    Ok(Attempt::Made(Chosen { plan, recipe, short: false }))
}

/// The configurations that the heuristic lists.
fn configurations(
    api: &'static Functions,
    finished: &Finished,
    device: &Descriptor,
    (mode, most): (i32, usize),
) -> Result<Vec<Descriptor>, Refused> {
    Descriptor::new(api, HEURISTIC)?
        .links(201, &[&finished.graph])?
        .choice(200, Of::HeuristicMode, mode)?
        .links(204, &[device])?
        .finalized()?
        .linked(202, CONFIGURATION, most)
}

/// Makes a plan.
///
/// # Errors
/// The last refusal, if the library has none; the smallest workspace, if there are engines but no memory for one.
pub(super) fn choose(
    api: &'static Functions,
    finished: &Finished,
    device: &Descriptor,
    rules: Rules,
) -> Result<Chosen, Refused> {
    let (mut last, mut least) = (None, None::<u64>);
    for asked in ASKED {
        let all = match configurations(api, finished, device, asked) {
            Ok(all) => all,
            Err(refused) => {
                last = Some(refused);
                continue;
            }
        };
        for configuration in &all {
            match attempt(api, configuration, device, rules) {
                Ok(Attempt::Made(chosen)) => return Ok(Chosen { short: least.is_some(), ..chosen }),
                Ok(Attempt::BreaksRules) => {}
                Ok(Attempt::TooLarge(bytes)) => least = Some(least.map_or(bytes, |least| least.min(bytes))),
                Err(refused) => last = Some(refused),
            }
        }
    }
    if let Some(least) = least {
        return Err(Refused::needing("cudnnBackendFinalize", NO_MEMORY, least, rules.most));
    }
    Err(last.unwrap_or_else(|| Refused::told("cudnnBackendFinalize", NOT_SUPPORTED, rules.nobody())))
}

/// All plans that keep the rules, best first, each engine with its knobs once.
pub(super) fn candidates(
    api: &'static Functions,
    finished: &Finished,
    device: &Descriptor,
    rules: Rules,
) -> Result<Vec<Recipe>, Refused> {
    let mut all: Vec<Recipe> = Vec::new();
    for configuration in &configurations(api, finished, device, (3, 64))? {
        if let Ok(Attempt::Made(chosen)) = attempt(api, configuration, device, rules)
            && !all.iter().any(|other| other.pin == chosen.recipe.pin)
        {
            all.push(chosen.recipe);
        }
    }
    Ok(all)
}

/// The plan of an engine with its knobs; `None` if it does not keep the rules.
pub(super) fn pinned(
    api: &'static Functions,
    finished: &Finished,
    device: &Descriptor,
    (rules, pin): (Rules, &Pin),
) -> Result<Option<Chosen>, Refused> {
    let engine = Descriptor::new(api, ENGINE)?
        .links(1300, &[&finished.graph])?
        .ints(1301, &[pin.engine])?
        .links(1307, &[device])?
        .finalized()?;
    let mut knobs = Vec::with_capacity(pin.knobs.len());
    for (kind, value) in &pin.knobs {
        knobs.push(Descriptor::new(api, KNOB)?.choice(600, Of::KnobType, *kind)?.ints(601, &[*value])?.finalized()?);
    }
    let configuration = Descriptor::new(api, CONFIGURATION)?.links(300, &[&engine])?;
    let configuration = match &knobs[..] {
        [] => configuration,
        all => configuration.links(302, &all.iter().collect::<Vec<_>>())?,
    };
    match attempt(api, &configuration.finalized()?, device, rules)? {
        Attempt::Made(chosen) => Ok(Some(chosen)),
        Attempt::BreaksRules | Attempt::TooLarge(_) => Ok(None),
    }
}

/// The library's text of a plan.
pub(super) fn text(plan: &Descriptor) -> Result<Vec<u8>, Refused> {
    plan.bytes(405)
}

/// The plan of a recipe, by the library's text.
pub(super) fn restored(api: &'static Functions, device: &Descriptor, recipe: &Recipe) -> Result<Chosen, Refused> {
    let plan = Descriptor::new(api, PLAN)?.text(405, &recipe.text)?;
    // Without the device the library crashes.
    let plan = plan.links(407, &[device])?.finalized()?;
    let recipe = Recipe { workspace: workspace(&plan)?, ..recipe.clone() };
    Ok(Chosen { plan, recipe, short: false })
}

impl Rules {
    fn nobody(self) -> String {
        let strict = if self.strict { " that computes f32 without rounding its operands to TF32" } else { "" };
        let same = if self.deterministic { " that gives the same bits each time" } else { "" };
        format!("no engine of the library{strict}{same} takes these types, sizes and strides")
    }
}
