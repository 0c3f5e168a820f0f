//! The thread that watches one worker, from its start until it is reaped.
//!
//! It learns of the worker's end from the process and from the socket, reads long answers from the socket, has finished
//! work settled if no other thread does it, and checks the heartbeat. However a worker ends, the steps are: it is
//! killed, the epoch ends with the cause, what was in flight is settled, it is reaped. Only if the cause is not known,
//! it is reaped first, for its exit status tells the cause.
//!
//! **The monitor does not call the user's code** until all this is done, since all waiting threads depend on it: see
//! `settle_thread.rs`. What a loss leaves to call (hooks of dispatches that no thread waits for, drops) comes last.
//!
//! **A killed worker may go on writing for a moment**, so nothing that is reused may lie where it writes. Its segments
//! are its own: the next worker gets others. The blocks of its arena that become free when their work is settled could
//! be given out again, but only after the epoch is dead (that comes first). Then no order that names a block is
//! accepted, so what the worker writes there is never read as an answer. Answers that were given are complete: their
//! flag is written last.

use super::active_clock::ActiveClock;
use super::ending::End;
use super::link::Link;
use super::process::Process;
use super::settle_thread::SettleThread;
use super::stall::{FAULTS, Stalls};
use crate::core::clock::Clock;
use crate::core::error::{Error, Result};
use crate::core::sync::{Arc, Ordering};
use crate::engines::config::WorkerSettings;
use crate::engines::worker::shared::Message;
use crate::engines::worker::shared::message;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smallvec::SmallVec;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

struct Monitor {
    link: Arc<Link>,
    process: Process,
    socket: UnixStream,
    bell: Arc<OwnedFd>,
    heartbeat: Duration,
    watchdog: Option<Duration>,
}

/// Why the watch ends.
enum Outcome {
    /// The engine was closed and nothing is in flight: the worker is asked to end.
    Asked,
    /// The worker must be killed, or has said why it ends.
    Known(End),
    /// It has ended, for a reason that is not known yet.
    Gone,
}

impl Outcome {
    fn because(message: impl Into<String>) -> Self {
        Outcome::Known(End { message: message.into(), code: None })
    }
}

/// Since when no caller can use what is in flight, and why.
#[derive(Default)]
struct Useless {
    since: Option<(Instant, &'static str)>,
    /// When it was last checked whether any handle of what is in flight is left. Each check visits all dispatches.
    asked: Option<Instant>,
}

impl Useless {
    /// The reason, once this has lasted for the time that a worker may take to end (`Watch::farewell`).
    fn look(&mut self, link: &Link, now: Instant) -> Option<&'static str> {
        if self.since.is_none() && link.doomed.load(Ordering::Acquire) {
            self.since = Some((now, "its generation had ended, but the worker did not exit"));
        }
        let long_ago = |at| now.saturating_duration_since(at) > link.timing.watch.asking;
        if self.since.is_none() && link.closing.load(Ordering::Acquire) && self.asked.is_none_or(long_ago) {
            self.asked = Some(now);
            if link.is_forsaken() {
                self.since =
                    Some((link.timing.clock.now(), "its device was dropped, and no caller waited for its work"));
            }
        }
        self.since
            .filter(|(since, _)| now.saturating_duration_since(*since) > link.timing.watch.farewell)
            .map(|(_, why)| why)
    }
}

/// Starts the monitor's thread.
pub(super) fn start(
    link: &Arc<Link>,
    process: Process,
    socket: UnixStream,
    bell: Arc<OwnedFd>,
    settings: &WorkerSettings,
) -> Result<()> {
    let (heartbeat, watchdog) = (settings.heartbeat, settings.watchdog);
    let monitor = Monitor { link: link.clone(), process, socket, bell, heartbeat, watchdog };
    // If a thread cannot be started, the monitor is taken back here, and the worker is killed and reaped.
    let monitor = Arc::new(crate::core::sync::Mutex::new(Some(monitor)));
    let theirs = monitor.clone();
    let spawned = SettleThread::new(link).and_then(|settle_thread| {
        std::thread::Builder::new().name(format!("windlass worker {}", link.pid)).spawn(move || {
            let monitor = theirs.lock().take();
            if let Some(monitor) = monitor {
                monitor.run(settle_thread);
            }
        })
    });
    match spawned {
        Ok(_) => Ok(()),
        Err(e) => {
            if let Some(mut monitor) = monitor.lock().take() {
                monitor.process.kill();
                monitor.process.wait_long();
            }
            Err(Error::library(format!("the thread that watches the worker could not be started: {e}")))
        }
    }
}

impl Monitor {
    fn run(mut self, settle_thread: SettleThread) {
        let (timing, watch) = (self.link.timing, &self.link.timing.watch);
        // All waiting threads depend on this thread: it reaches the end of this function whatever happens.
        let watched = catch_unwind(AssertUnwindSafe(|| self.watch(&settle_thread)));
        let outcome = watched.unwrap_or_else(|_| Outcome::because("the thread that watches the worker panicked"));
        let asked = matches!(outcome, Outcome::Asked);
        let end = match outcome {
            Outcome::Known(end) => end,
            Outcome::Asked => {
                let _ = self.socket.shutdown(std::net::Shutdown::Both);
                if self.process.wait(watch.farewell, timing).is_none() {
                    self.process.kill();
                    self.process.wait(watch.reaping, timing);
                }
                End { message: "the worker was closed".into(), code: None }
            }
            Outcome::Gone => {
                let mut ended = self.process.wait(watch.last_breath, timing);
                if ended.is_none() {
                    self.process.kill();
                    ended = self.process.wait(watch.reaping, timing);
                }
                let how = ended.map_or_else(|| "killed, but not reaped yet".into(), |ended| ended.to_string());
                End { message: format!("worker process {} ended ({how})", self.link.pid), code: None }
            }
        };
        if !asked && self.link.on_gpu.load(Ordering::Relaxed) {
            FAULTS.note(self.link.pid, timing.clock.now());
        }
        self.process.kill();
        let _ = catch_unwind(AssertUnwindSafe(|| self.link.ending.tell(end)));
        let swept = catch_unwind(AssertUnwindSafe(|| self.link.lose())).unwrap_or_default();
        let Monitor { link, mut process, socket, .. } = self;
        drop((socket, settle_thread));
        process.wait_long(); // no zombie stays
        link.ending.reap(link.pid);
        let _ = catch_unwind(AssertUnwindSafe(|| link.clear_up(swept)));
    }

    /// Watches until the worker ends or must end.
    fn watch(&mut self, settle_thread: &SettleThread) -> Outcome {
        let _ = self.socket.set_read_timeout(Some(self.heartbeat));
        let (clock, watch) = (self.link.timing.clock, &self.link.timing.watch);
        let mut beats = (self.link.beats(), clock.now());
        let mut looked = beats.1;
        let mut restless = Clock::SYSTEM.start();
        let mut awake = ActiveClock::new(looked);
        let (mut useless, mut stalls) = (Useless::default(), Stalls::default());
        loop {
            if self.link.is_due() {
                settle_thread.call();
            }
            if let Some(why) = self.link.garbage() {
                return Outcome::because(why);
            }
            let in_flight = self.link.unsettled();
            self.link.flush_frees();
            if self.link.closing.load(Ordering::Acquire) && in_flight == 0 {
                return Outcome::Asked;
            }
            let now = clock.now();
            if let Some(why) = useless.look(&self.link, now) {
                return Outcome::because(why);
            }
            if in_flight > 0 {
                restless = Clock::SYSTEM.start();
            }
            let idle = restless.elapsed() > watch.restless;
            self.link.bell.set_idle(idle);
            let mut nap = if idle { self.heartbeat / 4 } else { watch.tick };
            if let Some(limit) = self.watchdog.filter(|_| in_flight > 0) {
                nap = nap.min(limit / 4);
                stalls.look(&self.link, &FAULTS, &mut awake);
                if let Some(outcome) = self.too_slow(limit, &mut awake) {
                    return outcome;
                }
            }
            // Work that arrived while this thread set its idle flag is seen here, or the bell is rung.
            if idle && self.link.is_busy() {
                nap = watch.tick;
            }
            match self.listen(nap) {
                Ok(None) => {}
                Ok(Some(outcome)) => return outcome,
                Err(error) => return Outcome::because(format!("the messages of the worker cannot be read: {error}")),
            }
            let beat = self.link.beats();
            let now = clock.now();
            let slept = now - looked;
            looked = now;
            if let Some(limit) = self.watchdog {
                awake.tick(looked, nap + limit / 8);
                awake.forget(limit.saturating_mul(2));
            }
            // If this process was stopped, the worker may have been stopped as well.
            if beat != beats.0 || slept > nap + self.heartbeat / 2 {
                beats = (beat, looked);
            } else if now - beats.1 > self.heartbeat {
                return Outcome::because(format!("the worker sent no heartbeat for {:?}", self.heartbeat));
            }
        }
    }

    fn too_slow(&self, limit: Duration, awake: &mut ActiveClock) -> Option<Outcome> {
        let (time, op) = self.link.slowest(limit)?;
        // This process may have been stopped since the last round, even at this point.
        awake.tick(self.link.timing.clock.now(), limit / 8);
        let time = awake.lived(time);
        (time > limit).then(|| {
            Outcome::because(format!("watchdog: `{op}` had been running for {time:.1?}, but the limit is {limit:?}"))
        })
    }

    /// Waits for the worker's end, the socket or the bell.
    fn listen(&mut self, nap: Duration) -> Result<Option<Outcome>> {
        let failed = |e: rustix::io::Errno| Error::library(format!("poll: {e}"));
        let timeout =
            Timespec::try_from(self.link.timing.clock.slice(nap).max(self.link.timing.watch.shortest_nap)).ok();
        let handle = self.process.handle();
        let (ended, heard, rung) = {
            let both = [self.socket.as_fd(), self.bell.as_fd()];
            let all = both.into_iter().chain(handle);
            let mut fds: SmallVec<[PollFd<'_>; 3]> =
                all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            match poll(&mut fds, timeout.as_ref()) {
                Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
                Ok(_) => {}
                Err(e) => return Err(failed(e)),
            }
            let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
            let (heard, rung) = (ready.next() == Some(true), ready.next() == Some(true));
            (ready.next() == Some(true), heard, rung)
        };
        if rung {
            let mut count = [0u8; 8];
            let _ = rustix::io::read(&self.bell, &mut count);
        }
        match (ended, heard) {
            (true, _) => Ok(Some(self.last_words())),
            (false, true) => self.hear(),
            (false, false) => Ok(None),
        }
    }

    /// Reads one message.
    fn hear(&mut self) -> Result<Option<Outcome>> {
        match message::receive::<Message>(&mut self.socket)? {
            Some(Message::Spill { place, answer }) => {
                self.link.spilled(place, answer);
                Ok(None)
            }
            Some(Message::Fault { message, code }) => {
                let code = code.map(|(code, name)| (code, name.into()));
                Ok(Some(Outcome::Known(End { message, code })))
            }
            Some(Message::Ready { .. } | Message::Refused(_)) => {
                Err(Error::library("it sent an unexpected handshake message"))
            }
            None => Ok(Some(Outcome::Gone)),
        }
    }

    /// The worker has ended, and its last messages are still in the socket. Reads only what is there: a process that
    /// was forked from this one while the worker was started may hold the socket's other end, and then no end of file
    /// ever comes.
    fn last_words(&mut self) -> Outcome {
        let _ = self.socket.set_read_timeout(Some(self.link.timing.watch.tick));
        loop {
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
            if !poll(&mut fds, Some(&Timespec::default())).is_ok_and(|n| n > 0) {
                return Outcome::Gone;
            }
            match self.hear() {
                Ok(None) => {}
                Ok(Some(outcome)) => return outcome,
                Err(_) => return Outcome::Gone, // a message was cut
            }
        }
    }
}
