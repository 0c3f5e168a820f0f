//! Plans by way of what is kept of earlier ones.
//!
//! | what is found | what happens |
//! |---|---|
//! | a plan of this release | the library reads its text: about a millisecond |
//! | a measured plan of another release | its engine and knobs make a plan, which is kept for this release |
//! | nothing | the heuristic chooses; the plan is kept |
//! | a plan that the library refuses, or whose workspace is not the one that was kept | it is removed; then as for nothing |

use super::super::plans::{Pin, PlanSource, Recipe, Store, material};
use super::choose::{Chosen, Rules, choose, pinned, restored, text};
use super::descriptor::Refused;
use super::graph::Finished;
use super::handle::Functions;
use super::target::Target;

/// What a plan is for: a graph, and rules for its engine.
pub(super) trait Planned: serde::Serialize {
    fn graph(&self, api: &'static Functions) -> Result<Finished, Refused>;

    /// `free`: bytes of memory that a workspace can have.
    fn rules(&self, free: u64) -> Rules;

    /// The engine that the caller has chosen.
    fn pin(&self) -> Option<&Pin> {
        None
    }

    /// The same without a choice of the caller; it is the key.
    fn unpinned(&self) -> impl serde::Serialize;
}

/// A plan that was made, with what must live as long.
pub(super) struct Made {
    pub(super) chosen: Chosen,
    pub(super) source: PlanSource,
    pub(super) graph: Option<Finished>,
}

pub(super) fn release(api: &Functions) -> String {
    api.version.to_string()
}

/// Both keys of a plan: of a release, and of all.
fn keys<W: Planned>(release: &str, target: &Target, wanted: &W) -> Option<[Vec<u8>; 2]> {
    let (model, rules) = (target.model(), wanted.rules(u64::MAX));
    let key = |release| material(&wanted.unpinned(), (&model, [rules.strict, rules.deterministic]), release);
    Some([key(Some(release))?, key(None)?])
}

/// Makes the plan. It may call the driver if `target` is a device of this process.
pub(super) fn made<W: Planned>(
    api: &'static Functions,
    target: &Target,
    (wanted, free): (&W, u64),
    store: &Store,
) -> Result<Made, Refused> {
    let rules = wanted.rules(free);
    if let Some(pin) = wanted.pin() {
        let graph = wanted.graph(api)?;
        let chosen = pinned(api, &graph, &target.descriptor, (rules, pin))?;
        let chosen = chosen.ok_or_else(|| Refused::broken_rules("cudnnBackendFinalize"))?;
        return Ok(Made { chosen, source: PlanSource::Chosen, graph: Some(graph) });
    }
    let keys = keys(&release(api), target, wanted);
    let fits = |recipe: &Recipe| recipe.workspace <= rules.most;
    let source = |recipe: &Recipe| if recipe.tuned { PlanSource::Tuned } else { PlanSource::Kept };
    let own = keys.as_ref().and_then(|[own, _]| store.get(own));
    let mut refused = false;
    if let (Some(recipe), Some([own, _])) =
        (own.filter(|recipe| fits(recipe) && !recipe.text.is_empty() && recipe.release == release(api)), &keys)
    {
        match restored(api, &target.descriptor, &recipe) {
            Ok(chosen) if chosen.recipe.workspace == recipe.workspace => {
                store.restored(own);
                return Ok(Made { source: source(&chosen.recipe), chosen, graph: None });
            }
            _ => {
                store.remove(own);
                refused = true;
            }
        }
    }
    let graph = wanted.graph(api)?;
    let measured = keys.as_ref().and_then(|[_, any]| store.get(any)).filter(fits);
    let again = measured.and_then(|recipe| {
        let made = pinned(api, &graph, &target.descriptor, (rules, &recipe.pin)).ok().flatten();
        made.map(|chosen| Chosen { recipe: Recipe { tuned: true, ..chosen.recipe }, ..chosen })
    });
    let (mut chosen, source) = match again {
        Some(chosen) => (chosen, PlanSource::Tuned),
        None if refused => (choose(api, &graph, &target.descriptor, rules)?, PlanSource::Replaced),
        None => (choose(api, &graph, &target.descriptor, rules)?, PlanSource::Chosen),
    };
    // What memory allowed at this moment is not for later processes. A plan whose text cannot be had is made anew in each.
    let lasts = !chosen.short || rules.most == wanted.rules(u64::MAX).most;
    if let (true, Some([own, _]), Ok(text)) = (lasts, &keys, text(&chosen.plan)) {
        chosen.recipe.text = text;
        store.put(own, &chosen.recipe);
    }
    Ok(Made { chosen, source, graph: Some(graph) })
}

/// Keeps a plan that was made elsewhere, or measured: as one of the release that made it.
pub(super) fn keep<W: Planned>(target: &Target, (wanted, recipe): (&W, &Recipe), store: &Store) {
    let Some([own, any]) = keys(&recipe.release, target, wanted) else { return };
    store.put(&own, recipe);
    if recipe.tuned {
        store.put(&any, &Recipe { text: Vec::new(), ..recipe.clone() });
    }
}
