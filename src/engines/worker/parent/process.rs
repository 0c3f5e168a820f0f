//! A child process, identified by more than its process id.
//!
//! An id is reused once its process was reaped, and not only this crate reaps: with `SIGCHLD` ignored the kernel does,
//! and a `waitpid(-1)` elsewhere in the program takes any child. So a child is held by a descriptor (`pidfd_open`,
//! Linux 5.3). It refers to this child for ever, can be polled for its end, and a signal through it reaches this child
//! or no process. Where there is no such descriptor, the id is used as long as the child is known not to be reaped.

use super::oom_kill::{Kills, OomKill};
use crate::core::clock::{self, Deadline, Timing};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus};
use rustix::process::{kill_process, pidfd_open, pidfd_send_signal, waitid};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// A child of this process.
pub(crate) struct Process {
    pid: Pid,
    handle: Option<OwnedFd>,
    ended: Option<Ended>,
    /// The counts of OOM kills when it was started.
    kills: Kills,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    With(ExitStatus, OomKill),
    /// Another wait has taken the status.
    Unknown,
}

impl Process {
    /// Call right after the start.
    pub(crate) fn new(child: &Child) -> Self {
        let pid = Pid::from_child(child);
        Process { pid, handle: pidfd_open(pid, PidfdFlags::empty()).ok(), ended: None, kills: Kills::now() }
    }

    pub(crate) fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Becomes readable when the process has ended.
    pub(crate) fn handle(&self) -> Option<BorrowedFd<'_>> {
        self.handle.as_ref().map(AsFd::as_fd)
    }

    /// Reaps it if it has ended.
    pub(crate) fn look(&mut self) -> Option<Ended> {
        self.wait_with(WaitIdOptions::EXITED | WaitIdOptions::NOHANG)
    }

    /// Waits for its end, at most `limit`.
    pub(crate) fn wait(&mut self, limit: Duration, timing: &Timing) -> Option<Ended> {
        let until = timing.clock.after(limit);
        loop {
            let ended = self.look();
            let left = until.map_or(limit, Deadline::slice);
            if ended.is_some() || left.is_zero() {
                return ended;
            }
            match (self.handle(), Timespec::try_from(left)) {
                // Readable, but for a moment not ready to be reaped: try again.
                (Some(handle), Ok(left)) => match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&left)) {
                    Ok(0) | Err(Errno::INTR) => {}
                    _ => clock::pause(timing.waits.shortest_pause),
                },
                _ => clock::pause(timing.waits.glance),
            }
        }
    }

    /// Waits for its end, for as long as it takes. (A kill can hang in the kernel.)
    pub(crate) fn wait_long(&mut self) -> Ended {
        loop {
            if let Some(ended) = self.wait_with(WaitIdOptions::EXITED) {
                return ended;
            }
        }
    }

    /// Kills it, unless it has ended. Returns at once; the process may run on for a moment.
    pub(crate) fn kill(&mut self) {
        if self.look().is_some() {
            return;
        }
        let _ = match &self.handle {
            Some(handle) => pidfd_send_signal(handle, Signal::KILL),
            None => kill_process(self.pid, Signal::KILL), // not reaped a moment ago, so the id is its own
        };
    }

    fn wait_with(&mut self, how: WaitIdOptions) -> Option<Ended> {
        if self.ended.is_none() {
            let which = self.handle().map_or(WaitId::Pid(self.pid), WaitId::PidFd);
            self.ended = match waitid(which, how) {
                Ok(status) => status.map(|status| Ended::With(exit_status(&status), self.oom_kill(&status))),
                Err(Errno::CHILD) => Some(Ended::Unknown),
                Err(Errno::INTR) => None,
                // Linux 5.3: such a descriptor can be polled, but not be waited for.
                Err(_) if self.handle.take().is_some() => None,
                Err(_) => Some(Ended::Unknown),
            };
        }
        self.ended
    }
}

impl Process {
    /// Whether the OOM killer ended it. Looked up for killed processes only, because it reads some files.
    fn oom_kill(&self, status: &WaitIdStatus) -> OomKill {
        match status.terminating_signal() {
            Some(libc::SIGKILL) => Kills::now().since(self.kills),
            _ => OomKill::No,
        }
    }
}

fn exit_status(status: &WaitIdStatus) -> ExitStatus {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ExitStatus::from_raw((code & 0xff) << 8),
        (None, Some(signal)) => ExitStatus::from_raw(signal),
        (None, None) => ExitStatus::from_raw(0),
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ended::With(status, oom_kill) = self else {
            return write!(f, "exit status unknown: SIGCHLD is ignored, or another wait in this process reaped it");
        };
        match (status.signal(), status.code()) {
            (Some(libc::SIGKILL), _) => f.write_str(match oom_kill {
                OomKill::Likely => {
                    "killed by SIGKILL, probably by the OOM killer, which has killed in this control group while it ran"
                }
                OomKill::Possible => {
                    "killed by SIGKILL: by windlass, by a user, or by the OOM killer, which has killed while it ran"
                }
                OomKill::No => {
                    "killed by SIGKILL: by windlass or by a user; the OOM killer has not killed while it ran"
                }
                OomKill::Unknown => "killed by SIGKILL: by windlass, by a user, or by the OOM killer",
            }),
            (Some(libc::SIGSEGV), _) => write!(f, "killed by SIGSEGV: a segmentation fault"),
            (Some(libc::SIGABRT), _) => write!(f, "killed by SIGABRT: it aborted"),
            (Some(signal), _) => write!(f, "killed by signal {signal}"),
            (None, Some(code)) => write!(f, "exit status {code}"),
            (None, None) => write!(f, "{status}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Both ways to hold a child: by a descriptor, and by its id, as on a kernel without such descriptors.
    fn start(words: &str) -> [Process; 2] {
        [true, false].map(|handle| {
            let mut process = Process::new(&Command::new("/bin/sh").args(["-c", words]).spawn().unwrap());
            assert!(process.handle.is_some(), "this kernel is older than the tests");
            process.handle = process.handle.filter(|_| handle);
            process
        })
    }

    #[test]
    fn a_child_tells_how_it_ended() {
        for mut process in start("exit 7") {
            let ended = process.wait(Duration::from_secs(60), Timing::standard()).unwrap();
            assert_eq!((ended.to_string(), process.look()), ("exit status 7".into(), Some(ended)));
        }
        for mut process in start("exec sleep 60") {
            assert_eq!((process.look(), process.wait(Duration::ZERO, Timing::standard())), (None, None));
            process.kill();
            let how = process.wait_long().to_string();
            assert!(how.contains("SIGKILL"), "{how}");
            // Unless the machine is short of memory just now.
            let counted = std::fs::read_to_string("/proc/vmstat").is_ok_and(|text| text.contains("oom_kill "));
            assert!(!counted || how.contains("has not killed") || how.contains("which has killed while"), "{how}");
            process.kill();
        }
    }

    #[test]
    fn a_child_that_somebody_else_reaped_is_over_and_not_killed() {
        for mut process in start("exit 7") {
            let mut status = 0;
            // SAFETY: reaps a child of this process; `status` outlives the call.
            assert_eq!(unsafe { libc::waitpid(process.id() as i32, &mut status, 0) }, process.id() as i32);
            process.kill();
            assert_eq!((process.look(), process.wait_long()), (Some(Ended::Unknown), Ended::Unknown));
        }
    }
}
