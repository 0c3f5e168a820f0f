//! The algorithms that an epoch knows.

use super::functions::Heuristic;
use super::{Problem, REMEMBERED};
use crate::core::cache::Cache;
use crate::core::error::{Error, Result};
use crate::core::sync::{AtomicU64, Mutex, Ordering};
use crate::engines::library::{Code, encode};
use crate::libraries::blaslt::selection::{Choice, Form, Question};

impl From<&Heuristic> for Choice {
    fn from(h: &Heuristic) -> Self {
        Choice { algo: h.algo, workspace: h.workspace, waves: h.waves, tuned: false, form: Form::Direct }
    }
}

/// The bytes that a choice takes.
const BYTES: usize = size_of::<(Problem, Choice)>();

/// Surveys whose answers have not been fetched yet, by number.
type Surveys = Cache<u64, (Problem, Vec<Choice>)>;
/// Maximum number of stored surveys; one that is never fetched is evicted eventually.
const SURVEYS: usize = 64;

/// The choices of an epoch.
pub(crate) struct Choices {
    surveys: Mutex<Surveys>,
    known: Mutex<Cache<Problem, Choice>>,
    /// Problems that the library does not support. It is asked about each only once; later products use another form
    /// directly.
    refused: Mutex<Cache<Problem, Code>>,
    /// The number of choices pinned so far.
    pub(super) version: AtomicU64,
}

impl Default for Choices {
    fn default() -> Self {
        Choices {
            surveys: Mutex::new(Cache::new(SURVEYS, usize::MAX)),
            known: Mutex::new(Cache::new(REMEMBERED, REMEMBERED * BYTES)),
            refused: Mutex::new(Cache::new(REMEMBERED, REMEMBERED * BYTES)),
            version: AtomicU64::new(0),
        }
    }
}

impl Choices {
    /// Replaces a choice of the heuristic by a measured one.
    pub(crate) fn pin(&self, problem: &Problem, choice: Choice) {
        self.known.lock().insert(*problem, Choice { tuned: true, ..choice }, BYTES);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Stores the answer of a survey.
    pub(super) fn surveyed(&self, number: u64, problem: Problem, choices: Vec<Choice>) {
        self.surveys.lock().insert(number, (problem, choices), 0);
    }

    /// Answers a question of the front.
    pub(super) fn answer(&self, question: Question) -> Result<Vec<u8>> {
        match question {
            Question::Survey(number) => {
                let choices = self.surveys.lock().get(&number).map(|(_, choices)| choices.clone());
                encode(&choices.unwrap_or_default())
            }
            Question::Pin(number, choice) => {
                let survey = self.surveys.lock().get(&number).map(|(problem, _)| *problem);
                let problem =
                    survey.ok_or_else(|| Error::library("internal error: the measured problem is not known"))?;
                self.pin(&problem, choice);
                encode(&())
            }
        }
    }

    /// The number of choices pinned so far.
    pub(crate) fn pinned(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    pub(super) fn find(&self, problem: &Problem) -> Option<Choice> {
        self.known.lock().get(problem).copied()
    }

    /// The status with which the heuristic refused a problem.
    pub(super) fn refusal(&self, problem: &Problem) -> Option<Code> {
        self.refused.lock().get(problem).copied()
    }

    /// Remembers that the library does not support a problem.
    pub(super) fn refuse(&self, problem: &Problem, code: Code) {
        self.refused.lock().insert(*problem, code, BYTES);
    }

    /// Remembers the choice of the heuristic, unless a measured one was pinned meanwhile. Returns the choice to use.
    pub(super) fn remember(&self, problem: &Problem, choice: Choice) -> Choice {
        let mut known = self.known.lock();
        match known.get(problem) {
            Some(other) if other.tuned => *other,
            _ => {
                known.insert(*problem, choice, BYTES);
                choice
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::tests::problem;
    use super::*;

    #[test]
    fn every_part_of_a_problem_is_part_of_the_key() {
        let known = problem();
        type Change = Box<dyn Fn(&mut Problem)>;
        let others: Vec<Change> = vec![
            Box::new(|p| p.matrices[0].ld = 65),
            Box::new(|p| p.matrices[1].stride = 0),
            Box::new(|p| p.matrices[2].order = 1),
            Box::new(|p| p.matrices[3].data_type = 14),
            Box::new(|p| p.matrices[3].rows = 33),
            Box::new(|p| p.trans = [0, 0]),
            Box::new(|p| p.batch = 4),
            Box::new(|p| p.compute = 77),
            Box::new(|p| p.scale = 1),
            Box::new(|p| p.epilogue = 1),
            Box::new(|p| p.bias_type = None),
            Box::new(|p| p.aux_type = None),
            Box::new(|p| p.bias_stride = 0),
            Box::new(|p| p.aux_ld = 40),
            Box::new(|p| p.aux_stride = 0),
            Box::new(|p| p.scaled[3] = false),
            Box::new(|p| p.outer[1] = false),
            Box::new(|p| p.factors_on_device = false),
            Box::new(|p| p.fast_accumulation = false),
            Box::new(|p| p.in_place = true),
            Box::new(|p| p.alignment[5] = 16),
            Box::new(|p| p.workspace = 0),
        ];
        let choice = Choice { algo: [7; 8], workspace: 0, waves: 1.0, tuned: false, form: Form::Direct };
        let choices = Choices::default();
        choices.remember(&known, choice);
        for change in others {
            let mut other = known;
            change(&mut other);
            assert_eq!(choices.find(&other), None, "{other:?}");
        }
        assert_eq!(choices.find(&known), Some(choice));
    }

    #[test]
    fn a_measured_choice_outlives_what_the_heuristic_says() {
        let (choices, problem) = (Choices::default(), problem());
        let guess = |waves| Choice { algo: [1; 8], workspace: 0, waves, tuned: false, form: Form::Direct };
        assert_eq!(choices.remember(&problem, guess(1.0)).waves, 1.0);
        choices.pin(&problem, guess(2.0));
        assert_eq!(choices.pinned(), 1);
        assert_eq!(choices.remember(&problem, guess(3.0)).waves, 2.0);
        assert_eq!(choices.find(&problem).map(|c| (c.waves, c.tuned)), Some((2.0, true)));
    }
}
