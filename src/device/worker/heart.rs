//! The worker's heart: it beats, publishes counts of the worker (`stats_mirror.rs`), tells the parent when the device's
//! context has failed, and ends the process with its parent.
//!
//! It starts as soon as the hello has arrived, before a device is opened: opening a GPU can take long, or hang. There
//! are three signs of the parent's end, because each of them may fail: the socket's other end closes, also after a
//! kill, unless a process that was forked from the parent holds it open; the parent's process handle becomes readable;
//! this process gets another parent. (The signal that the kernel can send on a parent's death is not used: it is sent
//! when the *thread* that started the worker ends, and a standby is started by a thread of its own.)

use crate::core::segment::Segment;
use crate::core::sync::{Arc, Ordering};
use crate::device::Device;
use crate::engines::worker::shared::program;
use crate::engines::worker::shared::{DONE_WELL, Outlet};
use crate::engines::worker::shared::{layout, stats_mirror};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open};
use smallvec::SmallVec;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::Duration;

/// The device that it looks after, once it is open.
pub(crate) type Patient = Arc<OnceLock<(Device, Arc<Outlet>)>>;

/// Starts it. `parent` is the process that sent the hello. Another process may have started this one, for example a
/// script. `None` if the parent's process id is not valid here.
pub(crate) fn start(
    socket: UnixStream,
    control: Arc<Segment>,
    beat: Duration,
    parent: Option<u32>,
    patient: Patient,
) -> std::io::Result<()> {
    let adopted = getppid();
    let pid = parent.and_then(|parent| Pid::from_raw(i32::try_from(parent).ok()?));
    let handle = match pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
        // The parent ended before this began. The process that has adopted this one is not its parent.
        Some(Err(rustix::io::Errno::SRCH)) => program::exit(DONE_WELL),
        Some(Ok(handle)) => Some(handle),
        Some(Err(_)) | None => None,
    };
    let run = move || {
        loop {
            if ended(&socket, handle.as_ref(), beat) || getppid() != adopted {
                program::exit(DONE_WELL);
            }
            control.word(layout::BEAT).fetch_add(1, Ordering::Relaxed);
            let Some((device, outlet)) = patient.get() else { continue };
            let epoch = device.epoch();
            #[cfg(feature = "cuda")]
            if epoch.engine.as_cuda().is_some_and(|engine| engine.reaches_not_all()) {
                control.half(layout::STAGED).store(1, Ordering::Relaxed);
            }
            stats_mirror::write(&control, &epoch);
            if epoch.dead() {
                let cause = epoch.cause().unwrap_or_default();
                outlet.fault(cause.message, cause.code.map(|(code, name)| (code, name.into_owned())));
            }
        }
    };
    std::thread::Builder::new().name("windlass heart".into()).spawn(run).map(drop)
}

/// Whether the parent ended within `beat`. The parent sends nothing after the hello, so a readable descriptor means its
/// end.
fn ended(socket: &UnixStream, handle: Option<&OwnedFd>, beat: Duration) -> bool {
    let all = std::iter::once(socket.as_fd()).chain(handle.map(AsFd::as_fd));
    let mut fds: SmallVec<[PollFd<'_>; 2]> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    poll(&mut fds, Timespec::try_from(beat).ok().as_ref()).is_ok_and(|n| n > 0)
}
