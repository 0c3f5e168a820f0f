//! The list of reserves, their mappings, and who may make calls for them. It makes no call of the driver.

use crate::core::sync::{Arc, AtomicU64, Mutex};
use crate::engines::cuda::housekeeping::Nudge;

/// The reserves of one epoch.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    pub(super) inner: Mutex<Inner>,
    /// The granularity of mappings; 0 until the driver was asked.
    pub(super) granule: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) all: Vec<Reserve>,
    /// The number of the next reserve or shrinking.
    pub(super) next: u64,
    /// GPUs that have access, besides this one.
    pub(super) peers: Vec<i32>,
}

#[derive(Debug)]
pub(super) struct Reserve {
    pub(super) number: u64,
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// Where its mappings end, from its beginning.
    pub(super) ends: Vec<u64>,
    /// Up to here the GPUs have access.
    pub(super) opened: u64,
    /// Mappings that begin here or behind may go.
    pub(super) keep: u64,
    /// The last shrinking.
    pub(super) cut: u64,
    /// All work that used what lies behind `keep` is complete.
    pub(super) is_idle: bool,
    /// Nothing uses it any more.
    pub(super) dropped: bool,
    /// A thread makes calls for it.
    pub(super) busy: bool,
    /// The driver refused to take something back: not tried again for a while.
    pub(super) refused: bool,
}

impl Reserve {
    pub(super) fn mapped(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The least end of a mapping that covers `to`; `None` if less is mapped.
    pub(super) fn covering(&self, to: u64) -> Option<u64> {
        if to == 0 { Some(0) } else { self.ends.iter().copied().find(|end| *end >= to) }
    }

    fn has_work(&self) -> bool {
        !self.refused && (self.dropped || (self.is_idle && self.keep < self.mapped()))
    }
}

/// Mappings of a reserve, as address and length, the last one first.
fn mappings(address: u64, ends: &[u64], from: u64) -> Vec<(u64, u64)> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let all = starts.zip(ends).filter(|(start, _)| *start >= from).map(|(start, end)| (address + start, end - start));
    let mut all: Vec<_> = all.collect();
    all.reverse();
    all
}

/// What is to be given back: the reserve's number, its mappings, and its addresses if it is gone.
pub(super) struct Work {
    pub(super) number: u64,
    pub(super) mappings: Vec<(u64, u64)>,
    pub(super) addresses: Option<(u64, u64)>,
}

/// What owns a reserve, or what lies behind a shrinking; its drop makes no driver call.
pub(super) struct Held {
    pub(super) number: u64,
    pub(super) cut: Option<u64>,
    pub(super) growth: Arc<Growth>,
    pub(super) nudge: Arc<Nudge>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let marked = self.growth.of(self.number, |reserve| {
            reserve.refused = false;
            match self.cut {
                None => reserve.dropped = true,
                // Growth, or another shrinking, may have come in between.
                Some(cut) => reserve.is_idle |= reserve.cut == cut,
            }
        });
        // The end of its epoch may have freed it.
        if marked.is_some() {
            self.nudge.nudge();
        }
    }
}

/// The right to make calls for a reserve.
pub(super) struct Turn<'a> {
    pub(super) growth: &'a Growth,
    pub(super) number: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.growth.of(self.number, |reserve| reserve.busy = false);
    }
}

impl Growth {
    pub(super) fn of<R>(&self, number: u64, f: impl FnOnce(&mut Reserve) -> R) -> Option<R> {
        self.inner.lock().all.iter_mut().find(|reserve| reserve.number == number).map(f)
    }

    pub(super) fn next(&self) -> u64 {
        let mut inner = self.inner.lock();
        inner.next += 1;
        inner.next
    }

    /// Adds a reserve that nothing is mapped to.
    pub(super) fn add(&self, address: u64, bytes: u64) -> u64 {
        let number = self.next();
        let (ends, opened, keep, cut) = (Vec::new(), 0, 0, 0);
        let (is_idle, dropped, busy, refused) = (false, false, false, false);
        let reserve = Reserve { number, address, bytes, ends, opened, keep, cut, is_idle, dropped, busy, refused };
        self.inner.lock().all.push(reserve);
        number
    }

    /// The reserve in use that begins there. The driver may have given the addresses of one that is dropped to the next already,
    /// before [`done`](Self::done) takes it off the list.
    pub(super) fn number_of(&self, address: u64) -> Option<u64> {
        let inner = self.inner.lock();
        inner.all.iter().find(|reserve| reserve.address == address && !reserve.dropped).map(|reserve| reserve.number)
    }

    /// The turn, unless another thread has it.
    pub(super) fn turn(&self, number: u64) -> Option<Turn<'_>> {
        let free = self.of(number, |reserve| !std::mem::replace(&mut reserve.busy, true));
        (free == Some(true)).then_some(Turn { growth: self, number })
    }

    /// Objects of the driver: reserves and mappings.
    pub(crate) fn count(&self) -> usize {
        self.inner.lock().all.iter().map(|reserve| 1 + reserve.ends.len()).sum()
    }

    /// Whether something waits to be given back, or is being given back.
    pub(crate) fn has_work(&self) -> bool {
        self.inner.lock().all.iter().any(Reserve::has_work)
    }

    /// Something to give back; its reserve is busy until [`done`](Self::done).
    pub(super) fn take_work(&self) -> Option<Work> {
        let mut inner = self.inner.lock();
        let reserve = inner.all.iter_mut().find(|reserve| reserve.has_work() && !reserve.busy)?;
        reserve.busy = true;
        let from = if reserve.dropped { 0 } else { reserve.keep };
        let mappings = mappings(reserve.address, &reserve.ends, from);
        let addresses = reserve.dropped.then_some((reserve.address, reserve.bytes));
        Some(Work { number: reserve.number, mappings, addresses })
    }

    /// So many of its mappings are unmapped; `all` of it is given back, or the driver refused the rest, which stays.
    pub(super) fn done(&self, work: &Work, unmapped: usize, all: bool) {
        let mut inner = self.inner.lock();
        if all && work.addresses.is_some() {
            return inner.all.retain(|reserve| reserve.number != work.number);
        }
        if let Some(reserve) = inner.all.iter_mut().find(|reserve| reserve.number == work.number) {
            reserve.ends.truncate(reserve.ends.len().saturating_sub(unmapped));
            reserve.opened = reserve.opened.min(reserve.mapped());
            (reserve.busy, reserve.refused) = (false, !all);
        }
    }

    /// What was refused is tried again.
    pub(super) fn again(&self) {
        self.inner.lock().all.iter_mut().for_each(|reserve| reserve.refused = false);
    }

    /// Forgets all of it, and returns what has to be given back.
    pub(super) fn take_all(&self) -> Vec<Work> {
        let all = std::mem::take(&mut self.inner.lock().all);
        let work = |reserve: Reserve| Work {
            number: reserve.number,
            mappings: mappings(reserve.address, &reserve.ends, 0),
            addresses: Some((reserve.address, reserve.bytes)),
        };
        all.into_iter().map(work).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(growth: &Arc<Growth>, number: u64, cut: Option<u64>) -> Held {
        Held { number, cut, growth: growth.clone(), nudge: Nudge::idle() }
    }

    fn mapped(growth: &Growth, number: u64, ends: &[u64], keep: u64) {
        growth.of(number, |reserve| (reserve.ends, reserve.keep) = (ends.to_vec(), keep)).unwrap();
    }

    #[test]
    fn only_whole_mappings_behind_what_is_kept_go_and_the_last_one_first() {
        let growth = Arc::new(Growth::default());
        let number = growth.add(0x1000, 100);
        mapped(&growth, number, &[10, 20, 40], 10);
        assert!(!growth.has_work() && growth.take_work().is_none(), "work may be in flight");
        growth.of(number, |reserve| reserve.cut = 7).unwrap();
        drop(held(&growth, number, Some(6)));
        assert!(!growth.has_work(), "an earlier shrinking, which growth has ended");
        drop(held(&growth, number, Some(7)));
        let work = growth.take_work().unwrap();
        assert_eq!((&*work.mappings, work.addresses), (&[(0x1014, 20), (0x100a, 10)][..], None));
        assert!(growth.has_work() && growth.take_work().is_none() && growth.turn(number).is_none(), "it is busy");
        growth.done(&work, 1, false);
        assert!(!growth.has_work() && growth.count() == 3, "the second was refused");
        growth.again();
        let work = growth.take_work().unwrap();
        assert_eq!(work.mappings, [(0x100a, 10)]);
        growth.done(&work, 1, true);
        assert!(!growth.has_work() && growth.count() == 2);
        drop(growth.turn(number).unwrap());
        drop(held(&growth, number, None));
        let work = growth.take_work().unwrap();
        assert_eq!((&*work.mappings, work.addresses), (&[(0x1000, 10)][..], Some((0x1000, 100))));
        growth.done(&work, 1, false);
        assert_eq!((growth.count(), growth.has_work()), (1, false), "the addresses were refused");
        growth.again();
        let work = growth.take_work().unwrap();
        assert!(work.mappings.is_empty());
        growth.done(&work, 0, true);
        assert_eq!((growth.count(), growth.has_work()), (0, false));
        drop(held(&growth, number, None)); // finds nothing
    }

    #[test]
    fn the_next_reserve_may_have_the_addresses_of_one_that_is_being_freed() {
        let growth = Arc::new(Growth::default());
        let first = growth.add(0x1000, 100);
        assert_eq!(growth.number_of(0x1000), Some(first));
        drop(held(&growth, first, None));
        assert_eq!(growth.number_of(0x1000), None);
        let work = growth.take_work().unwrap();
        let second = growth.add(0x1000, 200);
        assert_eq!(growth.number_of(0x1000), Some(second), "the driver has freed the first, which is still listed");
        growth.done(&work, 0, true);
        assert_eq!((growth.number_of(0x1000), growth.count()), (Some(second), 1));
    }

    #[test]
    fn a_mapping_covers_what_lies_before_its_end() {
        let growth = Growth::default();
        let number = growth.add(0, 100);
        mapped(&growth, number, &[10, 20], 20);
        let covering = |to| growth.of(number, |reserve| reserve.covering(to)).unwrap();
        assert_eq!([0, 1, 10, 11, 20, 21].map(covering), [Some(0), Some(10), Some(10), Some(20), Some(20), None]);
        assert_eq!(growth.take_all().iter().map(|work| work.mappings.len()).sum::<usize>(), 2);
        assert_eq!(growth.count(), 0);
    }
}
