//! The thread that watches one worker, from its start until it is reaped.
//!
//! It learns of the worker's end from the socket, takes long answers out of it, reaps finished work when nobody else does,
//! and listens for the heart-beat. However a worker ends, the order is: it is killed and reaped (so that it writes nothing
//! any more), the epoch ends with the cause, and what was in flight is settled.

use super::link::{End, Link};
use super::message::{self, Message};
use crate::device::WorkerSettings;
use crate::sync::{Arc, Ordering};
use crate::{Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// While work is in flight: how long what has finished may go unnoticed by those who do not ask.
const TICK: Duration = Duration::from_millis(2);
/// With nothing to do for this long, it sleeps until the next look at the heart.
const RESTLESS: Duration = Duration::from_millis(50);
/// How long reaping a killed worker holds the settling of its work up. (A kill can hang in the kernel.)
const REAPING: Duration = Duration::from_millis(500);
/// How long a worker that was told to end may take.
const FAREWELL: Duration = Duration::from_secs(2);

struct Keeper {
    link: Arc<Link>,
    child: Child,
    socket: UnixStream,
    heartbeat: Duration,
    watchdog: Option<Duration>,
}

/// Starts it.
pub(super) fn start(link: &Arc<Link>, child: Child, socket: UnixStream, settings: &WorkerSettings) -> Result<()> {
    let (heartbeat, watchdog) = (settings.heartbeat, settings.watchdog);
    let keeper = Keeper { link: link.clone(), child, socket, heartbeat, watchdog };
    // Should the thread not start, the socket closes with it, and the worker ends; it is reaped here.
    let keeper = Arc::new(crate::sync::Mutex::new(Some(keeper)));
    let theirs = keeper.clone();
    let spawned = std::thread::Builder::new().name(format!("windlass worker {}", link.pid)).spawn(move || {
        let keeper = theirs.lock().take();
        if let Some(keeper) = keeper {
            keeper.run();
        }
    });
    match spawned {
        Ok(_) => Ok(()),
        Err(e) => {
            if let Some(mut keeper) = keeper.lock().take() {
                let _ = keeper.child.kill();
                let _ = keeper.child.wait();
            }
            Err(Error::library(format!("no thread to watch the worker: {e}")))
        }
    }
}

impl Keeper {
    fn run(mut self) {
        let end = self.watch();
        let bye = end.is_none();
        if bye {
            let _ = self.socket.shutdown(std::net::Shutdown::Both);
        }
        let status = self.reap(if bye { FAREWELL } else { Duration::ZERO });
        let (message, code) = match end {
            Some(End { message, code }) => (message, code),
            None => ("the worker was closed".into(), None),
        };
        let message = match status {
            _ if bye => message,
            Some(status) => format!("{message} ({})", describe(status)),
            None => format!("{message} (killed, and not reaped yet)"),
        };
        self.link.end(End { message, code });
        self.link.lose();
        if status.is_none() {
            let _ = self.child.wait(); // for as long as it takes: no zombie stays
        }
    }

    /// Until the worker ends or is to end. `None` when it was asked to.
    fn watch(&mut self) -> Option<End> {
        let _ = self.socket.set_read_timeout(Some(self.heartbeat));
        let mut beats = (self.link.beats(), Instant::now());
        let mut looked = Instant::now();
        let mut restless = Instant::now();
        let mut doomed = None;
        loop {
            let in_flight = self.link.in_flight();
            self.link.flush_frees();
            if self.link.closing.load(Ordering::Acquire) && in_flight == 0 {
                return None;
            }
            let now = Instant::now();
            if self.link.doomed.load(Ordering::Acquire) && now - *doomed.get_or_insert(now) > FAREWELL {
                return Some(End { message: "its generation was over, and it hung".into(), code: None });
            }
            if in_flight > 0 {
                restless = now;
            }
            let idle = now - restless > RESTLESS;
            self.link.idle.store(idle, Ordering::Release);
            let mut nap = if idle { self.heartbeat / 4 } else { TICK };
            if let Some(limit) = self.watchdog.filter(|_| in_flight > 0) {
                nap = nap.min(limit / 4);
                if let Some(end) = self.too_slow(limit) {
                    return Some(end);
                }
            }
            // Entered while it fell asleep: seen here, or the bell is rung.
            if idle && self.link.is_busy() {
                nap = TICK;
            }
            match self.listen(nap) {
                Ok(None) => {}
                Ok(Some(end)) => return Some(end),
                Err(error) => return Some(End { message: format!("the worker cannot be heard: {error}"), code: None }),
            }
            let beat = self.link.beats();
            let slept = looked.elapsed();
            looked = Instant::now();
            // If this process itself was stopped, so may the worker have been.
            if beat != beats.0 || slept > nap + self.heartbeat / 2 {
                beats = (beat, looked);
            } else if beats.1.elapsed() > self.heartbeat {
                return Some(End {
                    message: format!("the worker gave no sign of life for {:?}", self.heartbeat),
                    code: None,
                });
            }
        }
    }

    fn too_slow(&self, limit: Duration) -> Option<End> {
        let (time, op) = self.link.slowest(limit)?;
        (time > limit).then(|| End {
            message: format!("watchdog: `{op}` had been running for {time:.1?}, {limit:?} are allowed"),
            code: None,
        })
    }

    /// Waits for the socket or the bell.
    fn listen(&mut self, nap: Duration) -> Result<Option<End>> {
        let failed = |e: rustix::io::Errno| Error::library(format!("poll: {e}"));
        let timeout = Timespec::try_from(nap.max(Duration::from_micros(500))).ok();
        let (heard, rung) = {
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&self.link.bell, PollFlags::IN)];
            match poll(&mut fds, timeout.as_ref()) {
                Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
                Ok(_) => {}
                Err(e) => return Err(failed(e)),
            }
            let [socket, bell] = &fds;
            (!socket.revents().is_empty(), !bell.revents().is_empty())
        };
        if rung {
            let mut count = [0u8; 8];
            let _ = rustix::io::read(&self.link.bell, &mut count);
        }
        if !heard {
            return Ok(None);
        }
        match message::receive::<Message>(&mut self.socket)? {
            Some(Message::Spill { place, answer }) => {
                self.link.spilled(place, answer);
                Ok(None)
            }
            Some(Message::Fault { message, code }) => {
                Ok(Some(End { message, code: code.map(|(code, name)| (code, name.into())) }))
            }
            Some(Message::Ready { .. } | Message::Refused(_)) => Err(Error::library("it began anew")),
            None => Ok(Some(End { message: format!("worker process {} ended", self.link.pid), code: None })),
        }
    }

    /// Lets it end for `patience`, then kills it. `None` when that has not helped yet.
    fn reap(&mut self, patience: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        // What ended by itself tells how.
        let patience = patience.max(Duration::from_millis(50));
        let mut killed = false;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if !killed && start.elapsed() >= patience {
                let _ = self.child.kill();
                killed = true;
            }
            if start.elapsed() >= patience + REAPING {
                return None;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// How a process ended, in words.
pub(super) fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(libc::SIGKILL), _) => "killed by SIGKILL: by us, by a user, or by the system for want of memory".into(),
        (Some(libc::SIGSEGV), _) => "killed by SIGSEGV: a segmentation fault".into(),
        (Some(libc::SIGABRT), _) => "killed by SIGABRT: it aborted".into(),
        (Some(signal), _) => format!("killed by signal {signal}"),
        (None, Some(code)) => format!("exit status {code}"),
        (None, None) => format!("{status}"),
    }
}
