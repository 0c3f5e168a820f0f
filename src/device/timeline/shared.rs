//! What the clones of a recorder and the tracks of its devices share: the events, and the names in the file.

use super::event::{Event, PROGRAM, PidTid};
use super::json;
use super::names::Names;
use super::stream::Stream;
use crate::core::clock::Stopwatch;
use crate::core::sync::Mutex;
use std::collections::VecDeque;

/// The state that clones and tracks share.
pub(super) struct Shared {
    pub(super) begin: Stopwatch,
    pub(super) state: Mutex<State>,
}

pub(super) struct State {
    pub(super) names: Names,
    pub(super) out: Out,
}

pub(super) enum Out {
    /// Keeps the newest `most` events.
    Kept {
        events: VecDeque<Event>,
        most: usize,
        dropped: u64,
    },
    File(Stream),
}

impl Shared {
    /// Nanoseconds since the recorder was made.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The calling thread's place in the file.
    pub(super) fn here(&self) -> PidTid {
        use crate::core::sync::{AtomicU32, Ordering};
        thread_local! {
            static NUMBER: u32 = {
                static NEXT: AtomicU32 = AtomicU32::new(1);
                NEXT.fetch_add(1, Ordering::Relaxed)
            };
        }
        let number = NUMBER.with(|number| *number);
        let place = (PROGRAM, number);
        self.name_thread(place, || {
            let thread = std::thread::current();
            thread.name().map_or_else(|| format!("thread {number}"), str::to_owned)
        });
        place
    }

    pub(super) fn name_process(&self, process: u32, name: String) {
        let mut state = self.state.lock();
        let State { names, out } = &mut *state;
        if let Out::File(stream) = out {
            let mut text = String::new();
            json::process_name(&mut text, process, &name);
            stream.add(&text, names);
        }
        names.processes.insert(process, name);
    }

    /// Names a thread that has no name yet.
    pub(super) fn name_thread(&self, place: PidTid, name: impl FnOnce() -> String) {
        let mut state = self.state.lock();
        let State { names, out } = &mut *state;
        if names.threads.contains_key(&place) {
            return;
        }
        let name = name();
        if let Out::File(stream) = out {
            let mut text = String::new();
            json::thread_name(&mut text, place, &name);
            stream.add(&text, names);
        }
        names.threads.insert(place, name);
    }

    pub(super) fn add(&self, more: impl IntoIterator<Item = Event>) {
        let mut state = self.state.lock();
        let State { names, out } = &mut *state;
        match out {
            Out::Kept { events, most, dropped } => {
                events.extend(more);
                while events.len() > *most {
                    events.pop_front();
                    *dropped += 1;
                }
            }
            Out::File(stream) => {
                let mut text = String::new();
                for one in more {
                    text.clear();
                    json::event(&mut text, &one);
                    stream.add(&text, names);
                }
            }
        }
    }
}
