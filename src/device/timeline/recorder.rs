//! The recorder: keeps events, or writes them to a file.

use super::event::{Event, PROGRAM};
use super::json;
use super::names::Names;
use super::shared::{Out, Shared, State};
use super::stream::Stream;
use super::track::Track;
use crate::core::clock::Clock;
use crate::core::sync::{Arc, Mutex};
use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Events that a recorder keeps by default: those of about ten thousand operations.
pub const KEPT: usize = 1 << 16;

/// The size of a file after which the next one is begun: viewers have trouble with files larger than 256 MiB.
const FILE_BYTES: u64 = 200 << 20;
/// The number of files that are kept.
const FILES: usize = 8;

/// Records the activity of the devices that it is passed to, and writes it for Perfetto: see
/// [`timeline`](crate::timeline).
///
/// Clones share one recording.
#[derive(Clone)]
pub struct Timeline {
    pub(super) shared: Arc<Shared>,
}

impl Timeline {
    /// Keeps the last [`KEPT`] events.
    #[expect(clippy::new_without_default, reason = "what it keeps is worth a name")]
    pub fn new() -> Self {
        Self::keeping(KEPT)
    }

    /// Keeps the last `events` events; an operation has about eight.
    pub fn keeping(events: usize) -> Self {
        Self::with(Out::Kept { events: VecDeque::new(), most: events, dropped: 0 })
    }

    /// Writes events to a file as they occur, for a program that runs for a long time. If the file is `trace.json`:
    /// after 200 MiB it is closed and renamed to `trace.1.json`, the previous `trace.1.json` to `trace.2.json`, and so
    /// on up to `trace.7.json`. Each file can be opened by itself, the newest one at any time.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn to_file(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::to_files(path, FILE_BYTES, FILES)
    }

    /// The same with files of about `bytes` bytes, of which the newest `files` are kept, at least one.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn to_files(path: impl AsRef<Path>, bytes: u64, files: usize) -> io::Result<Self> {
        Ok(Self::with(Out::File(Stream::open(path.as_ref(), bytes, files)?)))
    }

    fn with(out: Out) -> Self {
        let shared = Shared { begin: Clock::SYSTEM.start(), state: Mutex::new(State { names: Names::default(), out }) };
        shared.name_process(PROGRAM, format!("the program (process {})", std::process::id()));
        Timeline { shared: Arc::new(shared) }
    }

    /// Marks this moment on the calling thread, under a name that the caller chooses.
    pub fn mark(&self, name: &'static str) {
        let (at, place) = (self.shared.now(), self.shared.here());
        self.shared.add([Event::Moment { place, name, at, number: None }]);
    }

    /// Writes all events that are kept. A recorder that writes to a file keeps none: then this writes only names.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let (mut text, events) = {
            let state = self.shared.state.lock();
            let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
            state.names.all(&mut text);
            match &state.out {
                Out::Kept { events, .. } => (text, events.iter().cloned().collect()),
                Out::File(_) => (text, Vec::new()),
            }
        };
        for one in events {
            json::event(&mut text, &one);
            text.push_str(",\n");
            if text.len() > 1 << 16 {
                out.write_all(text.as_bytes())?;
                text.clear();
            }
        }
        // The last event must not be followed by a comma, so one more name ends the list.
        json::process_name(&mut text, PROGRAM, &format!("the program (process {})", std::process::id()));
        text.push_str("\n]}\n");
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// The same to a file, which is replaced.
    ///
    /// # Errors
    /// The file cannot be created or written.
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.write(BufWriter::new(super::stream::create(path.as_ref())?))
    }

    /// Writes everything recorded so far to the file, if this recorder writes to one.
    ///
    /// # Errors
    /// The first failed write since the last call. Nothing is written after a failure.
    pub fn flush(&self) -> io::Result<()> {
        match &mut self.shared.state.lock().out {
            Out::Kept { .. } => Ok(()),
            Out::File(stream) => stream.flush(),
        }
    }

    /// Events that were dropped because newer ones took their place.
    pub fn dropped(&self) -> u64 {
        match &self.shared.state.lock().out {
            Out::Kept { dropped, .. } => *dropped,
            Out::File(_) => 0,
        }
    }

    /// A track for another device.
    pub(crate) fn track(&self) -> Arc<Track> {
        let mut state = self.shared.state.lock();
        let process = state.names.processes.keys().next_back().map_or(PROGRAM, |last| last + 1);
        state.names.processes.insert(process, "a device".into());
        drop(state);
        Arc::new(Track::new(self.shared.clone(), process))
    }
}

impl std::fmt::Debug for Timeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.shared.state.lock().out {
            Out::Kept { events, most, .. } => write!(f, "Timeline({} of {most} events)", events.len()),
            Out::File(stream) => write!(f, "Timeline({stream:?})"),
        }
    }
}
