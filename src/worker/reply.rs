//! The worker's answers.

use super::answers::{Answers, DONE, SPILLED};
use super::message::{self, Message};
use super::program;
use crate::dispatch::raw::Left;
use crate::sync::{Arc, Mutex};
use crate::{Error, Result};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Exit statuses, for whoever reads a process list.
pub(super) const DONE_WELL: i32 = 0;
pub(super) const REFUSED: i32 = 3;
pub(super) const FAULT: i32 = 4;
pub(super) const GARBLED: i32 = 5;

/// What answers go through.
pub(super) struct Outlet {
    pub(super) answers: Answers,
    pub(super) socket: Mutex<UnixStream>,
}

/// Where one order's answer goes.
#[derive(Clone)]
pub(super) struct Reply {
    pub(super) outlet: Arc<Outlet>,
    pub(super) place: u32,
}

impl Reply {
    /// The work begins.
    pub(super) fn start(&self) {
        self.outlet.answers.start(self.place);
    }

    /// The device's context failed: tells the parent and ends the process.
    pub(super) fn poison(&self, message: &str) -> ! {
        self.outlet.fault(message.to_string(), None)
    }

    /// The work is done.
    pub(super) fn left(&self, left: Result<Left>, time: Option<Duration>) {
        match left {
            Ok(Left::Slot(bytes)) => self.outlet.answers.answer(self.place, DONE, &bytes, time),
            Ok(Left::Bulk(bytes)) => self.spill(Ok(bytes)),
            Err(error) => self.fail(error),
        }
    }

    /// It failed.
    pub(super) fn fail(&self, error: Error) {
        if error.is_poisoning() {
            let code = error.site().and_then(|s| Some((s.code()?, s.code_name().unwrap_or_default().to_string())));
            let message = match error {
                Error::ContextPoisoned { cause, .. } | Error::DeviceLost { cause, .. } => cause,
                other => other.to_string(),
            };
            self.outlet.fault(message, code);
        }
        self.spill(Err(error));
    }

    fn spill(&self, answer: std::result::Result<Vec<u8>, Error>) {
        self.outlet.say(&Message::Spill { place: self.place, answer });
        self.outlet.answers.answer(self.place, SPILLED, &[0; 64], None);
    }
}

impl Outlet {
    /// A parent that does not listen is gone.
    pub(super) fn say(&self, message: &Message) {
        if message::send(&mut *self.socket.lock(), message).is_err() {
            program::exit(DONE_WELL);
        }
    }

    pub(super) fn fault(&self, message: String, code: Option<(i32, String)>) -> ! {
        self.say(&Message::Fault { message, code });
        program::exit(FAULT)
    }
}
