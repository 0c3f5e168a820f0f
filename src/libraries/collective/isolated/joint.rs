//! The dispatches of all ranks, as the task of one pending.
//!
//! It is settled when all of them are, or when one tells that the communicator is lost: a worker that was stopped does not
//! answer.

use super::team::Team;
use crate::core::clock::{self, Clock, Deadline, Timing};
use crate::core::dispatch::{Ongoing, Subscribed, Task, Wait};
use crate::core::error::{Error, Result, Site};
use crate::core::op::raw::{Landing, RemoteResult, RemoteTarget};
use crate::core::op::{AnyOp, Made};
use crate::core::order::Parker;
use crate::core::sync::Arc;
use crate::libraries::collective::mesh::SKIPPED;
use std::sync::OnceLock;
use std::time::Duration;

/// How long it waits for one rank before it looks at the others.
const SLICE: Duration = Duration::from_millis(10);

pub(super) struct Joint {
    pub(super) team: Arc<Team>,
    pub(super) sequence: u64,
    pub(super) operation: &'static str,
    pub(super) timing: &'static Timing,
    parts: Vec<Part>,
}

/// What a rank does, and what came of it. (No lock: whoever sees the end of a task calls the hooks, which may look at this.)
struct Part {
    task: Task<()>,
    outcome: OnceLock<Result<()>>,
}

impl Joint {
    /// `tasks`: that of each rank, in their order.
    pub(super) fn new(
        team: &Arc<Team>,
        (sequence, operation): (u64, &'static str),
        timing: &'static Timing,
        tasks: Vec<Task<()>>,
    ) -> Self {
        let parts = tasks.into_iter().map(|task| Part { task, outcome: OnceLock::new() }).collect();
        Joint { team: team.clone(), sequence, operation, timing, parts }
    }

    /// The task of a rank that has not answered, unless it is settled as a whole.
    fn open(&self) -> Option<&dyn Ongoing> {
        for part in self.parts.iter().filter(|part| part.outcome.get().is_none()) {
            if part.task.hold.is_settled() {
                part.outcome.get_or_init(|| part.task.take());
            }
        }
        if self.parts.iter().any(|part| matches!(part.outcome.get(), Some(Err(Error::CollectiveLost { .. })))) {
            return None;
        }
        self.parts.iter().find(|part| part.outcome.get().is_none()).map(|part| &*part.task.hold)
    }

    /// What came of the collective.
    fn verdict(&self) -> Result<()> {
        let mut errors = Vec::new();
        for (rank, part) in self.parts.iter().enumerate() {
            match part.outcome.get() {
                Some(Ok(())) => {}
                Some(Err(error)) => errors.push((rank, error.clone())),
                None => part.task.hold.abandon(),
            }
        }
        for (rank, error) in &errors {
            match error {
                Error::CollectiveLost { ranks, cause, .. } => self.team.lose(ranks, cause),
                error if error.is_poisoning() => self.team.lose(&[*rank], &error.to_string()),
                _ => {}
            }
        }
        let lost = |error: &Error| error.is_poisoning() || matches!(error, Error::CollectiveLost { .. });
        if errors.iter().any(|(_, error)| lost(error)) {
            return Err(self.team.loss(self.sequence, self.operation));
        }
        // Where it failed tells more than that it failed elsewhere.
        let elsewhere = |error: &Error| error.site().and_then(Site::code_name) == Some(SKIPPED);
        let own = errors.iter().position(|(_, error)| !elsewhere(error)).unwrap_or_default();
        errors.into_iter().nth(own).map_or(Ok(()), |(_, error)| Err(error))
    }
}

impl Ongoing for Joint {
    fn answer(&self, _: &mut Landing, _: &mut Made) -> Result<AnyOp<'_>> {
        while self.open().is_some() {
            self.wait(Wait::Adaptive, None);
        }
        self.verdict().map(|()| AnyOp::none())
    }

    fn op(&self) -> Option<AnyOp<'_>> {
        None
    }

    fn is_settled(&self) -> bool {
        self.open().is_none()
    }

    fn wait(&self, how: Wait, until: Option<Deadline>) -> bool {
        loop {
            let Some(task) = self.open() else { return true };
            if clock::is_over(until) {
                return self.is_settled();
            }
            task.wait(how, Clock::SYSTEM.after(until.map_or(SLICE, |until| until.slice().min(SLICE))));
        }
    }

    fn timing(&self) -> &'static Timing {
        self.timing
    }

    fn to_remote(&self, _: RemoteTarget) -> Result<RemoteResult> {
        Err(Error::library("internal error: a collective over workers in a worker"))
    }

    fn abandon(&self) {
        self.parts.iter().for_each(|part| part.task.hold.abandon());
    }

    fn device_time(&self) -> Option<Duration> {
        self.parts.iter().map(|part| part.task.hold.device_time()).max().flatten()
    }

    fn subscribe(&self, _: &Arc<Parker>) -> Subscribed {
        if self.is_settled() { Subscribed::Settled } else { Subscribed::Poll }
    }

    fn unsubscribe(&self, _: &Arc<Parker>) {}
}
