//! The last operations of a device, written to a file when it fails.
//!
//! After a device is lost, the first question is what was in flight. A fault does not answer it: its address names no
//! operation. So a device can be asked to remember its newest operations, with the lengths of their operands and their
//! labels but none of their data, and to write them to a file when it fails, before recovery begins.

use super::OpInfo;
use crate::core::buffer::View;
use crate::core::element::DType;
use crate::core::sync::Mutex;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::fmt::Write;
use std::path::PathBuf;

/// What a device is asked to remember: the newest `most` operations, and the file to write them to.
#[derive(Clone, Debug)]
pub(crate) struct FlightPlan {
    pub(crate) most: usize,
    pub(crate) path: PathBuf,
}

/// The flight recorder of one device.
pub(crate) struct FlightRecorder {
    plan: FlightPlan,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    /// The number of all operations that were submitted.
    count: u64,
    newest: VecDeque<Note>,
}

struct Note {
    info: OpInfo,
    /// The number of elements of each operand; operands that are read come first.
    lens: SmallVec<[usize; 4]>,
    reads: usize,
    over: bool,
}

impl FlightRecorder {
    pub(crate) fn new(plan: FlightPlan) -> Self {
        FlightRecorder { plan, noted: Mutex::default() }
    }

    /// An operation is about to be enqueued.
    pub(super) fn begun(&self, info: &OpInfo, (views, reads): (&[View<'_>], usize)) {
        let note = Note { info: *info, lens: views.iter().map(|view| view.elements().1).collect(), reads, over: false };
        let mut noted = self.noted.lock();
        noted.count += 1;
        if noted.newest.len() >= self.plan.most {
            noted.newest.pop_front();
        }
        noted.newest.push_back(note);
    }

    /// An operation is complete.
    pub(super) fn over(&self, number: u64) {
        let mut noted = self.noted.lock();
        if let Some(note) = noted.newest.iter_mut().find(|note| note.info.number == number) {
            note.over = true;
        }
    }

    /// The device has failed. A failed write is ignored: there is no caller to report it to.
    pub(super) fn write(&self, cause: &str) {
        let text = self.text(cause);
        let _ = crate::system::files::replace_privately(&self.plan.path, text.as_bytes());
    }

    fn text(&self, cause: &str) -> String {
        let noted = self.noted.lock();
        let in_flight = noted.newest.iter().filter(|note| !note.over).count();
        let mut text = format!("{cause}\n");
        let _ = writeln!(
            text,
            "the last {} of {} operations, the newest last; {in_flight} of them not known to be complete",
            noted.newest.len(),
            noted.count
        );
        for Note { info, lens, reads, over } in &noted.newest {
            let state = if *over { "complete " } else { "in flight" };
            let _ = write!(text, "#{} {state} {}.{}", info.number, info.library, info.kernel.unwrap_or(info.op));
            if let Some(label) = info.label {
                let _ = write!(text, " {label:?}");
            }
            let (read, written) = lens.split_at((*reads).min(lens.len()));
            shapes(&mut text, " reads", info.reads, read);
            shapes(&mut text, " writes", info.writes, written);
            let _ = writeln!(text, "; {} flops, {} bytes", info.flops, info.bytes);
        }
        text
    }
}

/// `reads f32[100] f32[200]`.
fn shapes(text: &mut String, what: &str, types: &[DType], lens: &[usize]) {
    if !lens.is_empty() {
        text.push_str(what);
    }
    for (index, len) in lens.iter().enumerate() {
        let _ = match types.get(index) {
            Some(dtype) => write!(text, " {dtype}[{len}]"),
            None => write!(text, " [{len}]"),
        };
    }
}
