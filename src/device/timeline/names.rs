//! The names of processes and threads in a file.

use super::event::PidTid;
use super::json;
use std::collections::BTreeMap;

/// The names of processes and threads in the file.
#[derive(Default)]
pub(super) struct Names {
    pub(super) processes: BTreeMap<u32, String>,
    pub(super) threads: BTreeMap<PidTid, String>,
}

impl Names {
    /// Appends all names, each followed by a separator.
    pub(super) fn all(&self, out: &mut String) {
        for (process, name) in &self.processes {
            json::process_name(out, *process, name);
            out.push_str(",\n");
        }
        for (place, name) in &self.threads {
            json::thread_name(out, *place, name);
            out.push_str(",\n");
        }
    }
}
