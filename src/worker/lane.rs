//! One lane of orders: a ring, and what its writers keep beside it.

use super::flights::{Flight, Flights};
use super::link::Link;
use super::order::{self, Free, head};
use super::ring::{Pushed, Ring};
use super::segment::Segment;
use super::turn::{After, Progress, Turn};
use super::{layout, turn};
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering};
use crate::{Error, Result};
use crossbeam_queue::SegQueue;

/// Submissions between two looks at what has finished.
const REAP_EVERY: u32 = 32;

/// The client's end of a lane.
pub(super) struct Lane {
    pub(super) progress: Arc<Progress>,
    outbox: Mutex<Outbox>,
    /// Orders with an answer that were sent here.
    submitted: AtomicU64,
    /// Orders that were sent here.
    sent: AtomicU64,
    /// Memory to give back that came from this lane, from drops; goes out with the next order, or by the keeper. Here the
    /// order to free it is behind the one that made it.
    frees: SegQueue<u64>,
    /// Some of them were taken out, and are not sent yet.
    flushing: AtomicBool,
    /// The last order that gave memory back.
    freed: AtomicU64,
}

struct Outbox {
    ring: Ring,
    /// Borrowed from all places, and free.
    places: Vec<u32>,
    since_reap: u32,
    /// The worker is gone. **Race "late submit"**: set under the same lock under which a dispatch is entered, so it is
    /// either swept or refused.
    over: bool,
}

/// What sending came to.
pub(super) enum Sent {
    /// It is on its way. True when it is time to look at what has finished.
    Done(Turn, bool),
    /// No room now.
    Full,
    /// The worker is gone.
    Over,
}

impl Lane {
    pub(super) fn new(control: &Arc<Segment>, index: usize) -> Self {
        let ring = Ring::new(control.clone(), layout::orders(index), layout::ORDERS_CAPACITY);
        Lane {
            progress: Progress::new(control.clone(), index),
            outbox: Mutex::new(Outbox { ring, places: Vec::new(), since_reap: 0, over: false }),
            submitted: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            frees: SegQueue::new(),
            flushing: AtomicBool::new(false),
            freed: AtomicU64::new(0),
        }
    }

    pub(super) fn index(&self) -> usize {
        self.progress.lane
    }

    /// Sends an order that is answered.
    pub(super) fn send(
        &self,
        link: &Link,
        kind: u8,
        flight: &Arc<dyn Flight>,
        after: &After,
        body: &[u8],
    ) -> Result<Sent> {
        let mut outbox = self.outbox.lock();
        if outbox.over {
            return Ok(Sent::Over);
        }
        if !self.flush(link, &outbox) {
            return Ok(Sent::Full);
        }
        let Some(place) = outbox.place(&link.flights) else { return Ok(Sent::Full) };
        link.answers.reset(place);
        flight.place().store(place, Ordering::Relaxed);
        // Before it can be answered: who sees the answer finds it, and finds it counted.
        link.flights.enter(place, flight.clone());
        self.submitted.fetch_add(1, Ordering::Relaxed);
        let pushed = self.push(link, &outbox, kind, place, after, body);
        if let Ok(Some(turn)) = pushed {
            outbox.since_reap += 1;
            let due = outbox.since_reap >= REAP_EVERY;
            if due {
                outbox.since_reap = 0;
            }
            return Ok(Sent::Done(turn, due));
        }
        self.submitted.fetch_sub(1, Ordering::Relaxed);
        let _ = link.flights.leave(place);
        outbox.places.push(place);
        pushed.map(|_| Sent::Full)
    }

    /// Sends an order that has no answer.
    pub(super) fn tell(&self, link: &Link, kind: u8, body: &[u8]) -> Result<Sent> {
        let outbox = self.outbox.lock();
        if outbox.over {
            return Ok(Sent::Over);
        }
        if !self.flush(link, &outbox) {
            return Ok(Sent::Full);
        }
        let turn = self.push(link, &outbox, kind, 0, &After::new(), body)?;
        Ok(turn.map_or(Sent::Full, |turn| Sent::Done(turn, false)))
    }

    /// `None` when there is no room now.
    fn push(
        &self,
        link: &Link,
        outbox: &Outbox,
        kind: u8,
        place: u32,
        after: &After,
        body: &[u8],
    ) -> Result<Option<Turn>> {
        let head = head(kind, after.len(), place);
        match outbox.ring.push(&[&head, bytemuck::cast_slice(after), body]) {
            Pushed::Done => {
                // Only under the lock of the outbox.
                let number = self.sent.load(Ordering::Relaxed) + 1;
                self.sent.store(number, Ordering::Relaxed);
                link.count(head.len() + after.len() * 8 + body.len());
                Ok(Some(Turn { progress: self.progress.clone(), number }))
            }
            Pushed::Full => Ok(None),
            Pushed::TooLong => {
                let (len, most) = (body.len(), outbox.ring.longest());
                Err(Error::unsupported(format!(
                    "an operation of {len} bytes does not cross to a worker, at most {most} do"
                )))
            }
        }
    }

    /// Memory is to be given back. No wait.
    pub(super) fn free(&self, id: u64) {
        self.frees.push(id);
    }

    /// Somebody's drop has left something here.
    pub(super) fn has_frees(&self) -> bool {
        !self.frees.is_empty()
    }

    /// Sends what drops have left. False when there is no room.
    fn flush(&self, link: &Link, outbox: &Outbox) -> bool {
        if !self.has_frees() {
            return true;
        }
        // Before the first is taken out: who finds none either sees this, or their number.
        self.flushing.store(true, Ordering::SeqCst);
        let flushed = self.flush_all(link, outbox);
        self.flushing.store(false, Ordering::SeqCst);
        flushed
    }

    fn flush_all(&self, link: &Link, outbox: &Outbox) -> bool {
        while let Some(id) = self.frees.pop() {
            let mut bytes = [0u8; 16];
            let sent = postcard::to_slice(&Free { id }, &mut bytes)
                .ok()
                .and_then(|body| self.push(link, outbox, order::FREE, 0, &After::new(), body).ok().flatten());
            match sent {
                Some(turn) => self.freed.store(turn.number, Ordering::Release),
                None => {
                    self.frees.push(id);
                    return false;
                }
            }
        }
        true
    }

    /// Sends what drops have left here, when nobody else does.
    pub(super) fn flush_frees(&self, link: &Link) {
        if self.has_frees() {
            let outbox = self.outbox.lock();
            if !outbox.over {
                self.flush(link, &outbox);
            }
        }
    }

    /// The last order here that gives memory back, packed, if the worker has not come to it yet.
    pub(super) fn freeing(&self) -> Option<u64> {
        if self.flushing.load(Ordering::SeqCst) {
            drop(self.outbox.lock()); // they are sent under it
        }
        let freed = self.freed.load(Ordering::Acquire);
        (freed > self.progress.carried()).then(|| turn::pack(self.index(), freed))
    }

    /// Orders with an answer that were sent here.
    pub(super) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Relaxed)
    }

    /// The worker has not carried out all that was sent.
    pub(super) fn is_behind(&self) -> bool {
        self.sent.load(Ordering::Relaxed) > self.progress.carried()
    }

    /// The worker is gone: takes no more. What was entered before is entered by the time this returns.
    pub(super) fn end(&self) {
        self.outbox.lock().over = true;
        while self.frees.pop().is_some() {}
    }
}

impl Outbox {
    fn place(&mut self, flights: &Flights) -> Option<u32> {
        if self.places.is_empty() {
            flights.borrow(&mut self.places);
        }
        self.places.pop()
    }
}
