//! Which tickets of a slot are over.
//!
//! Tickets of a slot are issued in the order of its stream, so one number tells: all up to `completed` are over.
//! `is_ready` is usually the load of it. When it is not enough, one poller at a time asks the driver (the *polling
//! right*); the others watch the number, which the poller raises.
//!
//! A poller may stand still where it is: its thread is stopped, a debugger holds it. So one in [`IMPATIENT`] of those who
//! find the right taken asks beside it; of these there is one at a time too.
//!
//! The number is raised with release and read with acquire: what was done before a ticket was seen to be over (the
//! event that may be recycled now, the result that may be read now) is seen by whoever sees the number.

use crate::sync::{AtomicU64, Mutex, Ordering};

/// The tickets of one slot.
#[derive(Debug)]
pub(crate) struct Sequence {
    issued: AtomicU64,
    completed: AtomicU64,
    polling: Mutex<()>,
    /// How many found the right taken since somebody had it.
    turned_away: AtomicU64,
    /// The right to ask beside who has the right.
    beside: Mutex<()>,
}

/// Looks that are in vain while another asks, before one asks beside it: a spinning waiter comes to as many in a tenth of a
/// millisecond, and one that pauses in a second at most. An answer takes a microsecond.
const IMPATIENT: u64 = if cfg!(loom) { 2 } else { 1000 };

impl Sequence {
    pub(crate) fn new() -> Self {
        Sequence {
            issued: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            polling: Mutex::new(()),
            turned_away: AtomicU64::new(0),
            beside: Mutex::new(()),
        }
    }

    /// The next ticket. Only under the slot's lease.
    pub(crate) fn issue(&self) -> u64 {
        let ticket = self.issued.load(Ordering::Relaxed) + 1;
        self.issued.store(ticket, Ordering::Release);
        ticket
    }

    /// The last ticket issued.
    pub(crate) fn issued(&self) -> u64 {
        self.issued.load(Ordering::Acquire)
    }

    /// All up to this are over.
    pub(crate) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Acquire)
    }

    /// `ticket` is known to be over.
    pub(crate) fn reached(&self, ticket: u64) -> bool {
        self.completed.load(Ordering::Acquire) >= ticket
    }

    /// Tickets issued and not known to be over.
    pub(crate) fn in_flight(&self) -> u64 {
        let completed = self.completed();
        self.issued().saturating_sub(completed)
    }

    /// Somebody learned that `ticket` is over.
    pub(crate) fn observe(&self, ticket: u64) {
        self.completed.fetch_max(ticket, Ordering::AcqRel);
    }

    /// Whether `ticket` is over; asks the driver by `ask` unless another thread is already asking. `ask` answers with
    /// the last ticket that it found to be over, `ticket` or a later one, or with `None`.
    ///
    /// The event that `ask` looks at may have been recycled for a later ticket by a thread that saw this one to be over.
    /// Then the answer may be a needless "no", so the number is looked at once more after it; a "yes" is always true,
    /// because a later ticket of the same stream implies this one.
    pub(crate) fn poll<E>(&self, ticket: u64, ask: impl FnOnce() -> Result<Option<u64>, E>) -> Result<bool, E> {
        if self.reached(ticket) {
            return Ok(true);
        }
        let right = match self.polling.try_lock() {
            Some(right) => {
                if self.turned_away.load(Ordering::Relaxed) != 0 {
                    self.turned_away.store(0, Ordering::Relaxed);
                }
                Some(right)
            }
            None if self.turned_away.fetch_add(1, Ordering::Relaxed) % IMPATIENT == IMPATIENT - 1 => {
                self.beside.try_lock()
            }
            None => None,
        };
        if right.is_none() || self.reached(ticket) {
            return Ok(self.reached(ticket));
        }
        if let Some(over) = ask()? {
            self.observe(over.max(ticket));
            return Ok(true);
        }
        Ok(self.reached(ticket))
    }

    /// Keeps every poller out of the driver while `f` runs.
    pub(crate) fn without_pollers<R>(&self, f: impl FnOnce() -> R) -> R {
        let _rights = (self.polling.lock(), self.beside.lock());
        f()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_later_ticket_answers_for_all_before_it() {
        let sequence = Sequence::new();
        let (first, second) = (sequence.issue(), sequence.issue());
        assert_eq!(sequence.in_flight(), 2);
        assert_eq!(sequence.poll::<()>(first, || Ok(None)), Ok(false));
        assert_eq!(sequence.poll::<()>(second, || Ok(Some(second))), Ok(true));
        assert_eq!(sequence.poll::<()>(first, || Err(())), Ok(true));
        assert_eq!(sequence.in_flight(), 0);
    }

    #[test]
    fn an_answer_about_a_later_ticket_counts_for_it() {
        let sequence = Sequence::new();
        let (first, second, third) = (sequence.issue(), sequence.issue(), sequence.issue());
        assert_eq!(sequence.poll::<()>(first, || Ok(Some(second))), Ok(true));
        assert!(sequence.reached(second) && !sequence.reached(third));
    }

    #[test]
    fn a_poller_that_stands_still_hides_no_completion() {
        let sequence = Sequence::new();
        let ticket = sequence.issue();
        let seen = sequence.poll::<()>(ticket, || {
            // It stands here, in the driver, as long as the others take.
            let mut looks = 0;
            while !sequence.reached(ticket) {
                looks += 1;
                assert!(looks < 10 * IMPATIENT, "nobody else may ask");
                let _ = sequence.poll::<()>(ticket, || Ok(Some(ticket)));
            }
            Ok(None)
        });
        assert_eq!(seen, Ok(true));
    }

    #[test]
    fn a_recycled_event_cannot_hide_a_completion() {
        let sequence = Sequence::new();
        let ticket = sequence.issue();
        let answer = sequence.poll::<()>(ticket, || {
            sequence.observe(ticket); // another thread saw it, and recorded the event anew
            Ok(None)
        });
        assert_eq!(answer, Ok(true));
    }
}
