//! Memory that a launch takes for its blocks and its checks: counted against the limit of the device, and refused with a reason.

use super::Fault;
use super::finding::Found;
use crate::core::buffer::Meter;
use crate::core::error::{Error, FindingKind};
use parking_lot::Mutex;

/// The least that is charged at once, where there is as much: pages of cells are many and small.
const CHUNK: u64 = 256 << 10;

/// What memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum For {
    Blocks,
    Races,
    Initialised,
}

impl For {
    /// What would do without it.
    fn remedy(self) -> &'static str {
        match self {
            For::Blocks => "for the registers and the memory of a kernel's blocks on the CPU",
            For::Races => {
                "for the check for races of a kernel on the CPU, which `KernelChecks::bounds` or `Checks { races: false, .. }` leaves out"
            }
            For::Initialised => {
                "for the check of what a kernel on the CPU wrote, which `KernelChecks::bounds` or `Checks { initialised: false, .. }` leaves out"
            }
        }
    }
}

/// What a launch has taken. It gives everything back when it is dropped.
pub(super) struct Ledger<'l> {
    meter: &'l Meter,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Bytes that were charged, by parts, and those of them that are in use.
    charged: Vec<u64>,
    all: u64,
    used: u64,
    refused: Option<Fault>,
}

impl<'l> Ledger<'l> {
    pub(super) fn new(meter: &'l Meter) -> Self {
        Ledger { meter, state: Mutex::default() }
    }

    /// The most that all blocks that are put aside may have together.
    pub(super) fn aside(&self) -> u64 {
        self.meter.limit() / 4
    }

    /// Counts `bytes` more; they come back by [`release`](Self::release), or at the end.
    pub(super) fn charge(&self, bytes: u64) -> Result<(), Error> {
        let mut state = self.state.lock();
        let used = state.used.saturating_add(bytes);
        if let Some(more) = used.checked_sub(state.all).filter(|more| *more > 0) {
            let chunk = more.max(CHUNK);
            let taken = match self.meter.take(chunk) {
                Ok(()) => chunk,
                Err(_) => self.meter.take(more).map(|()| more)?,
            };
            state.charged.push(taken);
            state.all += taken;
        }
        state.used = used;
        Ok(())
    }

    pub(super) fn release(&self, bytes: u64) {
        let mut state = self.state.lock();
        state.used = state.used.saturating_sub(bytes);
    }

    /// The launch ends for lack of memory: [`refusal`](Self::refusal) tells it, whatever else is found.
    #[cold]
    pub(super) fn refuse(&self, error: &Error, what: For) -> Box<Found> {
        self.state.lock().refused.get_or_insert_with(|| Fault::no_memory(error, what.remedy()));
        Found::new(FindingKind::Launch, 0, what.remedy().into())
    }

    pub(super) fn refusal(&self) -> Option<Fault> {
        self.state.lock().refused.take()
    }

    /// Counts the bytes of a vector, and makes it.
    pub(super) fn counted<T: Clone>(&self, n: usize, value: T) -> Result<Vec<T>, Error> {
        let bytes = n.saturating_mul(size_of::<T>()) as u64;
        self.charge(bytes)?;
        crate::core::room::filled(n, value).inspect_err(|_| self.release(bytes))
    }
}

impl Drop for Ledger<'_> {
    fn drop(&mut self) {
        self.state.get_mut().charged.drain(..).for_each(|bytes| self.meter.give(bytes));
    }
}
