//! The events of one device.

use super::calls::{Call, Calls};
use super::event::{Event, STATE};
use super::lanes::{self, Lanes};
use super::shared::Shared;
use crate::core::sync::{Arc, Mutex};
use crate::core::trace::{AllocationInfo, Loss, OpInfo, Recovery, Trace};
use crate::device::Inner;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::{OnceLock, Weak};
use std::time::Duration;

/// A device's part of a timeline.
pub(crate) struct Track {
    shared: Arc<Shared>,
    process: u32,
    state: Mutex<State>,
    device: OnceLock<Weak<Inner>>,
}

#[derive(Default)]
struct State {
    calls: Calls,
    lanes: Lanes,
    /// Below zero for a moment if the completion of a call is reported before its enqueue.
    in_flight: i64,
    bytes: u64,
    /// What was last said of each label; and the generation and the version of the ledger that this was read from.
    labels: BTreeMap<&'static str, u64>,
    version: (u64, u64),
    /// Plans that had to be made so far; and in `asked`, when they were last counted.
    misses: u64,
    asked: u64,
}

impl State {
    fn in_flight(&self) -> u64 {
        u64::try_from(self.in_flight).unwrap_or(0)
    }
}

/// The least time between two counts of the plans, in nanoseconds: counting looks at every slot.
const ASKED: u64 = 10_000_000;

type Events = SmallVec<[Event; 8]>;

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Track {
    pub(super) fn new(shared: Arc<Shared>, process: u32) -> Self {
        Track { shared, process, state: Mutex::default(), device: OnceLock::new() }
    }

    /// The device was opened.
    pub(crate) fn attach(&self, device: &Arc<Inner>) {
        let what = if device.config.isolated { ", in a worker process" } else { "" };
        self.shared.name_process(self.process, format!("{}{what}: {}", device.label, device.info.name));
        let _ = self.device.set(Arc::downgrade(device));
    }

    /// The part of a call that held the lease of a slot, as far as the calling thread did it.
    fn leased(call: &Call, leased: u64, enqueued: u64) -> Event {
        let at = leased.min(enqueued).max(call.at);
        Event::Slice { place: call.place, name: "leased", at, took: enqueued.saturating_sub(at), info: None }
    }

    fn level(&self, events: &mut Events, name: &'static str, at: u64, value: u64) {
        events.push(Event::Level { process: self.process, name, at, value });
    }

    /// The bytes of each label, if they changed.
    fn labels(&self, events: &mut Events, device: &Inner, at: u64) {
        let epoch = device.epoch();
        let (ledger, mut state) = (epoch.meter.ledger(), self.state.lock());
        let version = (epoch.generation, ledger.version());
        if std::mem::replace(&mut state.version, version) == version {
            return;
        }
        let now = ledger.by_label();
        // Once more for those that hold nothing any more: a viewer keeps the last value of each.
        let gone: Vec<_> =
            state.labels.keys().filter(|label| !now.contains_key(*label)).map(|gone| (*gone, 0)).collect();
        state.labels = now.into_iter().map(|(label, (bytes, _))| (label, bytes)).collect();
        let parts = state.labels.iter().map(|(label, bytes)| (*label, *bytes)).chain(gone).collect();
        events.push(Event::Shares { process: self.process, name: "bytes by label", at, parts });
    }

    /// The values that only the device knows, if they changed.
    fn levels(&self, events: &mut Events, at: u64) {
        let Some(device) = self.device.get().and_then(Weak::upgrade) else { return };
        let bytes = device.epoch().meter.used();
        let (changed, asks) = {
            let mut state = self.state.lock();
            let changed = std::mem::replace(&mut state.bytes, bytes) != bytes;
            let asks = at >= state.asked + ASKED;
            if asks {
                state.asked = at;
            }
            (changed, asks)
        };
        if changed {
            self.level(events, "bytes in use", at, bytes);
        }
        self.labels(events, &device, at);
        if asks {
            let misses = device.stats().plan_misses;
            let before = std::mem::replace(&mut self.state.lock().misses, misses);
            if misses > before {
                let text = format!("{} plans had to be built", misses - before).into();
                events.push(Event::Incident { process: self.process, name: "plan miss", at, text });
                self.level(events, "plan misses", at, misses);
            }
        }
    }

    /// The execution of an operation: the thread of the file that shows it, and its time.
    fn executed(&self, state: &mut State, info: &OpInfo, (submitted, over): (u64, u64)) -> Event {
        let took = info.ran.map(|ran| nanos(ran.took));
        let began = info.ran.and_then(|ran| ran.began).map(|after| submitted + nanos(after));
        let thread = info.stream.map(lanes::of_slot);
        // As early as possible if the beginning is not known.
        let begin = began.unwrap_or_else(|| match thread {
            Some(thread) => state.lanes.free_from(thread, submitted),
            None => submitted,
        });
        let begin = begin.min(over).max(submitted);
        let end = took.map_or(over, |took| begin.saturating_add(took).min(over));
        let (thread, (at, end)) = match thread {
            Some(thread) => (thread, state.lanes.on_slot(thread, (begin, end))),
            None => (state.lanes.in_lane((begin, end)), (begin, end)),
        };
        let name = info.kernel.unwrap_or(info.op);
        Event::Slice { place: (self.process, thread), name, at, took: end.saturating_sub(at), info: Some(*info) }
    }
}

impl Trace for Track {
    fn wants_device_times(&self) -> bool {
        true
    }

    fn allocated(&self, _: &AllocationInfo) {
        let Some(device) = self.device.get().and_then(Weak::upgrade) else { return };
        let mut events = Events::new();
        self.labels(&mut events, &device, self.shared.now());
        self.shared.add(events);
    }

    fn before_enqueue(&self, op: &OpInfo) {
        let place = self.shared.here();
        self.state.lock().calls.begun(op.number, place, self.shared.now());
    }

    fn after_enqueue(&self, op: &OpInfo) {
        let (at, place) = (self.shared.now(), self.shared.here());
        let mut events = Events::new();
        let in_flight = {
            let mut state = self.state.lock();
            let Some(call) = state.calls.enqueued(op.number, at, place) else { return };
            // If another thread enqueued it, the return of the call is not known: the calling thread may have made
            // other calls since.
            let own = call.place == place;
            let took = if own { at.saturating_sub(call.at) } else { 0 };
            let name = op.kernel.unwrap_or(op.op);
            events.push(Event::Slice { place: call.place, name, at: call.at, took, info: Some(*op) });
            events.push(Event::Arrow { place: call.place, at: call.at, number: op.number, leaves: true });
            events.extend(call.over.filter(|_| own).map(|leased| Self::leased(&call, leased, at)));
            state.in_flight += 1;
            state.in_flight()
        };
        self.level(&mut events, "in flight", at, in_flight);
        self.shared.add(events);
    }

    fn after_complete(&self, op: &OpInfo, latency: Duration) {
        let (over, here) = (self.shared.now(), self.shared.here());
        let submitted = over.saturating_sub(nanos(latency));
        let mut events = Events::new();
        let (thread, in_flight) = {
            let mut state = self.state.lock();
            let call = state.calls.over(op.number, submitted);
            if let Some(call) = call
                && let Some((enqueued, true)) = call.enqueued
            {
                events.push(Self::leased(&call, submitted, enqueued));
            }
            let slice = self.executed(&mut state, op, (submitted, over));
            let thread = match &slice {
                Event::Slice { place, at, .. } => {
                    if call.is_some() {
                        events.push(Event::Arrow { place: *place, at: *at, number: op.number, leaves: false });
                    }
                    place.1
                }
                _ => STATE,
            };
            events.push(slice);
            state.in_flight -= 1;
            (thread, state.in_flight())
        };
        self.shared.name_thread((self.process, thread), || lanes::name(thread));
        events.push(Event::Moment { place: here, name: "observed", at: over, number: Some(op.number) });
        self.level(&mut events, "in flight", over, in_flight);
        self.levels(&mut events, over);
        self.shared.add(events);
    }

    fn lost(&self, loss: &Loss<'_>) {
        let text = format!("generation {}: {}", loss.generation, loss.cause).into();
        let lost = Event::Incident { process: self.process, name: "lost", at: self.shared.now(), text };
        self.shared.add([lost]);
    }

    fn recovered(&self, recovery: &Recovery<'_>) {
        let (now, took) = (self.shared.now(), nanos(recovery.time));
        let place = (self.process, STATE);
        self.shared.name_thread(place, || "generations".into());
        let text = format!("generation {}", recovery.generation).into();
        self.shared.add([
            Event::Slice { place, name: "rebuild", at: now.saturating_sub(took), took: took.min(now), info: None },
            Event::Incident { process: self.process, name: "recovered", at: now, text },
        ]);
    }
}
