//! One lane of orders: a ring, and the state that its writers keep beside it.

use super::flights::{Flight, Flights};
use super::frees::Frees;
use super::link::Link;
use crate::core::error::{Error, Result};
use crate::core::order::{LaneOrder, Progress};
use crate::core::segment::Segment;
use crate::core::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::engines::worker::shared::After;
use crate::engines::worker::shared::order;
use crate::engines::worker::shared::{Free, head};
use crate::engines::worker::shared::{Pushed, Ring};
use crate::engines::worker::shared::{follows, layout};

/// Submissions between two reaps.
const REAP_EVERY: u32 = 32;

/// The client's end of a lane.
pub(super) struct Lane {
    pub(super) progress: Arc<Progress>,
    outbox: Mutex<Outbox>,
    /// Orders with an answer that were sent here.
    submitted: AtomicU64,
    /// Orders that were sent here.
    sent: AtomicU64,
    /// Memory that orders of this lane made and that drops have queued to be freed. It is sent with the next order, or
    /// by the monitor. In this lane the order that frees it comes after the one that made it.
    frees: Frees,
}

struct Outbox {
    ring: Ring,
    /// The table of dispatches in flight; `None` once the worker is gone. **Race "late submit"**: it is taken away
    /// under the lock under which dispatches are entered, so a dispatch is either swept or refused.
    flights: Option<Arc<Flights>>,
    /// Free places, borrowed from the pool.
    places: Vec<u32>,
    since_reap: u32,
}

/// The result of sending.
pub(super) enum Sent {
    /// The order was sent. True if it is time to reap.
    Done(LaneOrder, bool),
    /// Not enough space now.
    Full,
    /// The worker is gone.
    Over,
}

impl Lane {
    pub(super) fn new(control: &Arc<Segment>, flights: &Arc<Flights>, index: usize) -> Self {
        let ring = Ring::new(control.clone(), layout::orders(index), layout::ORDERS_CAPACITY);
        Lane {
            progress: Progress::new(control.clone(), index, layout::carried(index)),
            outbox: Mutex::new(Outbox { ring, flights: Some(flights.clone()), places: Vec::new(), since_reap: 0 }),
            submitted: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            frees: Frees::default(),
        }
    }

    pub(super) fn index(&self) -> usize {
        self.progress.lane
    }

    /// Sends an order that gets an answer.
    pub(super) fn send(
        &self,
        link: &Link,
        kind: u8,
        flight: &Arc<dyn Flight>,
        after: &After,
        body: &[u8],
    ) -> Result<Sent> {
        let mut outbox = self.outbox.lock();
        let Outbox { ring, flights, places, since_reap } = &mut *outbox;
        let Some(flights) = flights else { return Ok(Sent::Over) };
        if !self.flush(link, ring) {
            return Ok(Sent::Full);
        }
        if places.is_empty() {
            flights.borrow(places);
        }
        let Some(place) = places.pop() else { return Ok(Sent::Full) };
        link.answers.reset(place);
        flight.place().store(place, Ordering::Relaxed);
        // Before it can be answered: a thread that sees the answer finds the dispatch, and finds it counted.
        flights.enter(place, flight.clone());
        self.submitted.fetch_add(1, Ordering::Relaxed);
        let pushed = self.push(link, ring, kind, place, after, body);
        if let Ok(Some(sent)) = pushed {
            *since_reap += 1;
            let due = *since_reap >= REAP_EVERY;
            if due {
                *since_reap = 0;
            }
            return Ok(Sent::Done(sent, due));
        }
        self.submitted.fetch_sub(1, Ordering::Relaxed);
        let _ = flights.leave(place);
        places.push(place);
        pushed.map(|_| Sent::Full)
    }

    /// Sends an order that has no answer.
    pub(super) fn tell(&self, link: &Link, kind: u8, body: &[u8]) -> Result<Sent> {
        let outbox = self.outbox.lock();
        if outbox.flights.is_none() {
            return Ok(Sent::Over);
        }
        if !self.flush(link, &outbox.ring) {
            return Ok(Sent::Full);
        }
        let sent = self.push(link, &outbox.ring, kind, 0, &After::new(), body)?;
        Ok(sent.map_or(Sent::Full, |sent| Sent::Done(sent, false)))
    }

    /// Writes an order into the ring; `None` if there is not enough space now.
    fn push(
        &self,
        link: &Link,
        ring: &Ring,
        kind: u8,
        place: u32,
        after: &After,
        body: &[u8],
    ) -> Result<Option<LaneOrder>> {
        let head = head(kind, after.len(), place);
        match ring.push(&[&head, bytemuck::cast_slice(after), body]) {
            Pushed::Done => {
                // Written under the lock of the outbox only.
                let number = self.sent.load(Ordering::Relaxed) + 1;
                self.sent.store(number, Ordering::Relaxed);
                link.count(head.len() + after.len() * 8 + body.len());
                Ok(Some(LaneOrder { progress: self.progress.clone(), number }))
            }
            Pushed::Full => Ok(None),
            Pushed::TooLong => {
                let (len, most) = (body.len(), ring.longest());
                Err(Error::unsupported(format!(
                    "an operation of {len} bytes is too large for a worker, at most {most} are possible"
                )))
            }
        }
    }

    /// Queues memory to be freed. Does not wait.
    pub(super) fn free(&self, id: u64) {
        self.frees.push(id);
    }

    /// Drops have queued memory here.
    pub(super) fn has_frees(&self) -> bool {
        !self.frees.is_empty()
    }

    /// Sends the frees that drops have queued. False if there is not enough space.
    fn flush(&self, link: &Link, ring: &Ring) -> bool {
        self.frees.flush(|id| {
            let mut bytes = [0u8; 16];
            let body = postcard::to_slice(&Free { id }, &mut bytes).ok()?;
            self.push(link, ring, order::FREE, 0, &After::new(), body).ok().flatten().map(|sent| sent.number)
        })
    }

    /// Sends the frees that drops have queued, for when no thread sends an order.
    pub(super) fn flush_frees(&self, link: &Link) {
        if self.has_frees() {
            let outbox = self.outbox.lock();
            if outbox.flights.is_some() {
                self.flush(link, &outbox.ring);
            }
        }
    }

    /// The last order here that frees memory, packed, if the worker has not carried it out yet.
    pub(super) fn freeing(&self) -> Option<u64> {
        let freed = self.frees.last(|| drop(self.outbox.lock()));
        (freed > self.progress.carried()).then(|| follows::pack(self.index(), freed))
    }

    /// Orders with an answer that were sent here.
    pub(super) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Relaxed)
    }

    /// The worker has not carried out all that was sent.
    pub(super) fn is_behind(&self) -> bool {
        self.sent.load(Ordering::Relaxed) > self.progress.carried()
    }

    /// The worker is gone: accepts no more orders. When this returns, every dispatch that was accepted is in the table.
    pub(super) fn end(&self) {
        let mut outbox = self.outbox.lock();
        outbox.flights = None;
        outbox.places = Vec::new();
        drop(outbox);
        self.frees.clear();
    }
}
