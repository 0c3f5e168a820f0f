//! Reading from a socket until a moment.

use super::Deadline;
use crate::system::sockets::Limited;
use std::io::{self, Read};

/// Reads what comes until a moment, however slowly. A socket's own timeout begins again with every piece, and with every
/// signal that interrupts the thread (a profiler's, a debugger's): so it may never end.
pub(crate) struct Until<'s, S> {
    pub(crate) socket: &'s S,
    /// `None`: too far away to matter.
    pub(crate) end: Option<Deadline>,
}

impl<'s, S: Limited> Read for Until<'s, S>
where
    &'s S: Read,
{
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let left = self.end.map(Deadline::left);
        if left.is_some_and(|left| left.is_zero()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.socket.limit(left)?;
        let mut socket = self.socket;
        socket.read(room)
    }
}
