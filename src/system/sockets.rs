//! Waiting for sockets: for one with a limit, and for several at once.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

/// A socket whose reads can be given a limit.
pub(crate) trait Limited {
    /// The longest that one read waits from now on; `None`: for ever.
    fn limit(&self, left: Option<Duration>) -> io::Result<()>;
}

impl Limited for TcpStream {
    fn limit(&self, left: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(left)
    }
}

#[cfg(unix)]
impl Limited for std::os::unix::net::UnixStream {
    fn limit(&self, left: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(left)
    }
}

/// A socket, and whether the caller has something to write to it besides wanting to read.
#[cfg(feature = "collective")]
pub(crate) struct Watched<'s> {
    pub(crate) socket: &'s TcpStream,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

/// Waits until one of the sockets can be read or written, as wanted, or has ended; for `limit` at most. May return early.
#[cfg(feature = "collective")]
pub(crate) fn wait(sockets: &[Watched<'_>], limit: Duration) {
    #[cfg(unix)]
    {
        use std::os::fd::AsRawFd;
        let event = |watched: &Watched<'_>| {
            let reads = if watched.reads { libc::POLLIN } else { 0 };
            let writes = if watched.writes { libc::POLLOUT } else { 0 };
            libc::pollfd { fd: watched.socket.as_raw_fd(), events: reads | writes, revents: 0 }
        };
        let mut events: Vec<libc::pollfd> = Vec::new();
        if events.try_reserve_exact(sockets.len()).is_err() {
            return std::thread::park_timeout(limit.min(Duration::from_millis(1)));
        }
        events.extend(sockets.iter().map(event));
        let limit = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX).max(1);
        // SAFETY: the array has as many elements as it is said to have; the sockets are open while they are borrowed.
        // A failure is a reason to look again, as a success is.
        let _ = unsafe { libc::poll(events.as_mut_ptr(), events.len() as libc::nfds_t, limit) };
    }
    #[cfg(not(unix))]
    {
        let _ = sockets;
        std::thread::park_timeout(limit.min(Duration::from_millis(1)));
    }
}
