//! What the front asks about plans: answered where the device is, or for a device that is only described.

use super::super::convolution::{Problem, Sizing};
use super::super::plans::{PlanSource, Question, Recipe, Store, Wanted};
use super::attend::{self, Forward};
use super::attend_backward::{self, Backward};
use super::choose::candidates;
use super::descriptor::Refused;
use super::handle::{Cudnn, Functions};
use super::recipes::{Planned, keep, made, release};
use super::slices;
use super::target::Target;
use crate::core::error::Result;
use crate::engines::cuda::Core;
use crate::engines::library::{CudaLibrary, Site, decode, encode};
use crate::engines::op::plan::Key;

/// A plan that is wanted, by its type.
enum Sorted {
    Convolve(Problem),
    Attend(Forward),
    AttendBackward(Backward),
    /// Nothing is computed.
    Nothing,
}

fn sorted(api: &Functions, wanted: Wanted) -> Result<Sorted> {
    Ok(match wanted {
        Wanted::Convolve(problem) if problem.is_empty_sum() || problem.count(problem.operands().1) == 0 => {
            Sorted::Nothing
        }
        Wanted::Convolve(problem) => Sorted::Convolve(problem),
        Wanted::Attend(problem) if attend::is_empty(&problem) => Sorted::Nothing,
        Wanted::Attend(problem) => {
            attend::supported(api, &problem)?;
            Sorted::Attend(Forward(problem))
        }
        Wanted::AttendBackward(problem) if attend_backward::is_empty(&problem) => Sorted::Nothing,
        Wanted::AttendBackward(problem) => {
            attend_backward::supported(api, &problem)?;
            Sorted::AttendBackward(Backward(slices::part(&problem, slices::MOST_BYTES)))
        }
    })
}

/// Where questions are answered.
struct Place<'p> {
    api: &'static Functions,
    target: Target,
    free: u64,
    store: &'p Store,
}

impl Place<'_> {
    fn plan(&self, wanted: &impl Planned) -> Result<(Recipe, PlanSource)> {
        let made = made(self.api, &self.target, (wanted, self.free), self.store).map_err(|refused| refused.plain())?;
        Ok((made.chosen.recipe, made.source))
    }

    fn candidates(&self, wanted: &impl Planned) -> Result<Vec<Recipe>> {
        let all = wanted
            .graph(self.api)
            .and_then(|graph| candidates(self.api, &graph, &self.target.descriptor, wanted.rules(self.free)));
        all.map_err(|refused| refused.plain())
    }

    fn keep(&self, wanted: &impl Planned, recipe: &Recipe) {
        keep(&self.target, (wanted, recipe), self.store);
    }

    fn answer(&self, question: Question, forget: impl FnOnce(&Key)) -> Result<Vec<u8>> {
        match question {
            Question::Describe => encode(&(&self.target.text, release(self.api))),
            Question::Plan(wanted) => match sorted(self.api, wanted)? {
                Sorted::Convolve(problem) => encode(&Some(self.plan(&problem)?)),
                Sorted::Attend(forward) => encode(&Some(self.plan(&forward)?)),
                Sorted::AttendBackward(backward) => encode(&Some(self.plan(&backward)?)),
                Sorted::Nothing => encode(&None::<(Recipe, PlanSource)>),
            },
            Question::Candidates(wanted) => match sorted(self.api, wanted)? {
                Sorted::Convolve(problem) => encode(&self.candidates(&problem)?),
                Sorted::Attend(forward) => encode(&self.candidates(&forward)?),
                Sorted::AttendBackward(backward) => encode(&self.candidates(&backward)?),
                Sorted::Nothing => encode(&Vec::<Recipe>::new()),
            },
            Question::Keep(wanted, recipe) => {
                match sorted(self.api, wanted)? {
                    Sorted::Convolve(problem) => {
                        self.keep(&problem, &recipe);
                        forget(&Sizing::new(problem));
                    }
                    Sorted::Attend(forward) => {
                        self.keep(&forward, &recipe);
                        forget(&forward);
                    }
                    Sorted::AttendBackward(backward) => {
                        self.keep(&backward, &recipe);
                        forget(&backward);
                    }
                    Sorted::Nothing => {}
                }
                encode(&())
            }
        }
    }
}

/// Answers where the device is.
pub(super) fn answer(site: &Site<'_, Cudnn>, question: &[u8]) -> Result<Vec<u8>> {
    let api = Cudnn::load()?;
    let core: &Core = site.core;
    let bound = core.context.bind().map_err(|code| Refused::told("cuCtxSetCurrent", code, String::new()).plain())?;
    let target = Target::of(api, core.context.device).map_err(|refused| refused.plain())?;
    let place = Place { api, target, free: core.free_memory(), store: Store::shared() };
    let answer = place.answer(decode(question)?, |key| core.code.plans().forget(key));
    drop(bound);
    answer
}

/// Answers in this process, for a device of another one.
///
/// # Errors
/// [`LibraryMissing`](crate::Error::LibraryMissing) if this process has no library.
pub(in super::super) fn here(description: &str, question: Question) -> Result<Vec<u8>> {
    let api = Cudnn::load()?;
    let target = Target::described(api, description).map_err(|refused| refused.plain())?;
    Place { api, target, free: u64::MAX, store: Store::shared() }.answer(question, |_| {})
}
