//! The worker's answers.

use super::program;
use super::{Answers, DONE, Message, SPILLED, message};
use crate::core::arena::Arrivals;
use crate::core::error::{Error, Result};
use crate::core::op::raw::RemoteResult;
use crate::core::sync::{Arc, Mutex};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Exit statuses of a worker, for diagnosis.
pub(crate) const DONE_WELL: i32 = 0;
pub(crate) const REFUSED: i32 = 3;
pub(crate) const FAULT: i32 = 4;
pub(crate) const GARBLED: i32 = 5;

/// What answers are sent through: shared memory and the socket.
pub(crate) struct Outlet {
    pub(crate) answers: Answers,
    pub(crate) socket: Mutex<UnixStream>,
    /// The longest message that the parent accepts, in bytes.
    pub(crate) longest: u32,
}

/// The place of one order's answer.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) outlet: Arc<Outlet>,
    pub(crate) place: u32,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reply({})", self.place)
    }
}

impl Arrivals for Reply {
    fn arrive(&self, bytes: u64) {
        self.outlet.answers.arrive(self.place, bytes);
    }
}

impl Reply {
    /// The work begins.
    pub(crate) fn start(&self) {
        self.outlet.answers.start(self.place);
    }

    /// The device's context failed: tells the parent and ends the process.
    pub(crate) fn poison(&self, message: &str) -> ! {
        self.outlet.fault(message.to_string(), None)
    }

    /// The work is done: sends its result or its error.
    pub(crate) fn left(&self, left: Result<RemoteResult>, time: Option<Duration>) {
        match left {
            Ok(RemoteResult::Slot(bytes)) => {
                self.arrive(u64::MAX);
                self.outlet.answers.answer(self.place, DONE, &bytes, time);
            }
            Ok(RemoteResult::Bulk(bytes)) => self.spill(Ok(bytes)),
            Err(error) => self.fail(error),
        }
    }

    /// Answers with a few numbers.
    pub(crate) fn words(&self, words: [u64; 8]) {
        let mut bytes = [0; 64];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        self.outlet.answers.answer(self.place, DONE, &bytes, None);
    }

    /// Answers with an error. If the error has poisoned the context, this ends the process.
    pub(crate) fn fail(&self, error: Error) {
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
        let place = self.place;
        if let Err(error) = self.outlet.say(&Message::Spill { place, answer }) {
            // Too long, or not serialisable: sends that error instead, which is short and plain.
            let _ = self.outlet.say(&Message::Spill { place, answer: Err(error) });
        }
        self.outlet.answers.answer(place, SPILLED, &[0; 64], None);
    }
}

/// The numbers of an answer, on the client's side.
pub(crate) fn words_of(bytes: &[u8; 64]) -> [u64; 8] {
    let mut words = [0; 8];
    for (to, word) in words.iter_mut().zip(bytes.as_chunks().0) {
        *to = u64::from_ne_bytes(*word);
    }
    words
}

impl Outlet {
    /// Sends a message. Ends the process if the parent is gone.
    pub(crate) fn say(&self, message: &Message) -> Result<()> {
        let bytes = message::frame(message, self.longest)?;
        if self.socket.lock().write_all(&bytes).is_err() {
            program::exit(DONE_WELL);
        }
        Ok(())
    }

    /// Tells the parent why, and ends the process.
    pub(crate) fn end(&self, message: String, code: Option<(i32, String)>, status: i32) -> ! {
        let _ = self.say(&Message::Fault { message, code });
        program::exit(status)
    }

    pub(crate) fn fault(&self, message: String, code: Option<(i32, String)>) -> ! {
        self.end(message, code, FAULT)
    }

    /// Held by a thread that the worker cannot do without: if that thread panics, the process ends.
    pub(crate) fn whole(self: &Arc<Self>) -> Whole {
        Whole(self.clone())
    }
}

/// See [`Outlet::whole`].
pub(crate) struct Whole(Arc<Outlet>);

impl Drop for Whole {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fault("one of the worker's own threads panicked".into(), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::segment::Segment;
    use crate::engines::worker::shared::answers::FOOTPRINT;
    use std::sync::atomic::Ordering;

    #[test]
    fn an_answer_that_is_too_long_is_answered_by_an_error_and_the_worker_goes_on() {
        let (mut parent, socket) = UnixStream::pair().unwrap();
        let (segment, _) = Segment::create("windlass-test", FOOTPRINT).unwrap();
        let answers = Answers::new(Arc::new(segment), 0);
        let outlet = Arc::new(Outlet { answers, socket: Mutex::new(socket), longest: 1000 });
        for (place, len) in [(3, 100), (4, 1001), (5, 7)] {
            Reply { outlet: outlet.clone(), place }.left(Ok(RemoteResult::Bulk(vec![1; len])), None);
            assert_eq!(outlet.answers.state(place).load(Ordering::Acquire), SPILLED);
            match message::receive::<Message>(&mut parent).unwrap() {
                Some(Message::Spill { place: p, answer: Ok(bytes) }) => assert_eq!((p, bytes.len()), (place, len)),
                Some(Message::Spill { place: 4, answer: Err(error) }) => {
                    assert!(matches!(error, Error::Unsupported { .. }) && len > 1000, "{error}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
