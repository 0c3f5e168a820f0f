//! Which tickets of a slot have completed.
//!
//! Tickets of a slot are issued in the order of its stream, so one number is enough: all up to `completed` have
//! completed. `is_ready` is usually one load of it. When that is not enough, one poller at a time asks the driver (it
//! has the *polling right*). The others watch the number, which the poller raises.
//!
//! A poller may be stopped while it has the right (a signal, a debugger). So one in [`IMPATIENT`] of the polls that
//! find the right taken asks beside the poller; of these there is also only one at a time.
//!
//! The number is raised with release and read with acquire. So a thread that reads the number sees all that was done
//! before the ticket was seen complete (the event may be recycled, the result may be read).

use crate::core::sync::{AtomicU64, Mutex, Ordering};

/// The tickets of one slot.
#[derive(Debug)]
pub(crate) struct Sequence {
    issued: AtomicU64,
    completed: AtomicU64,
    polling: Mutex<()>,
    /// How many polls have found the right taken since a poll last got it.
    turned_away: AtomicU64,
    /// The right to ask beside the thread that has the polling right.
    beside: Mutex<()>,
}

/// How many polls find the right taken before one asks beside its holder. A spinning waiter makes that many in a tenth
/// of a millisecond, and one that pauses, in at most a second. An answer takes a microsecond.
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

    /// Issues the next ticket. Only under the slot's lease.
    pub(crate) fn issue(&self) -> u64 {
        let ticket = self.issued.load(Ordering::Relaxed) + 1;
        self.issued.store(ticket, Ordering::Release);
        ticket
    }

    /// The last ticket issued.
    pub(crate) fn issued(&self) -> u64 {
        self.issued.load(Ordering::Acquire)
    }

    /// All tickets up to this one have completed.
    pub(crate) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Acquire)
    }

    /// Whether `ticket` is known to have completed.
    pub(crate) fn reached(&self, ticket: u64) -> bool {
        self.completed.load(Ordering::Acquire) >= ticket
    }

    /// The number of tickets issued and not known to have completed.
    pub(crate) fn in_flight(&self) -> u64 {
        let completed = self.completed();
        self.issued().saturating_sub(completed)
    }

    /// Records that `ticket` has completed.
    pub(crate) fn observe(&self, ticket: u64) {
        self.completed.fetch_max(ticket, Ordering::AcqRel);
    }

    /// Whether `ticket` has completed. Asks the driver by `ask`, unless another thread is already asking. `ask` returns
    /// the last ticket that it found complete (`ticket` or a later one), or `None`.
    ///
    /// The event that `ask` queries may have been recycled for a later ticket by a thread that saw this one complete.
    /// Then the answer may be a false "no", so the number is read once more after it. A "yes" is always true, because a
    /// later ticket of the same stream implies this one.
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

    /// Runs `f` while no poller is in the driver.
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
            // This poller stands still here, in the driver, until the others are done.
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
            sequence.observe(ticket); // another thread saw it complete, and recorded the event anew
            Ok(None)
        });
        assert_eq!(answer, Ok(true));
    }
}
