//! Who touched which bytes of global memory: for races and for reads before the first write.
//!
//! A cell stands for four bytes, and keeps the last write and two reads of different threads. An access is ordered after an
//! earlier one by the same thread; by a barrier of the block between them; within a warp by what its lanes know of each other
//! (warp barriers tell it); between warps and blocks by a release that the later side has seen in memory. A release is a number
//! that rises over the whole launch: who sees it is taken for ordered after all that came before it, of any block, so that a race
//! is missed now and then, and none is invented. Writes of the value that is there already are no race.

use super::cells::Cells;
use super::finding::Found;
use super::ledger::{For, Ledger};
use parking_lot::{Mutex, MutexGuard};

/// Bytes of a page of cells.
const PAGE: u64 = 4096;
const CELLS: usize = PAGE as usize / 4;

/// A page of cells, made when it is first touched.
type Page = Mutex<Cells>;

/// A page at which a thread works.
pub(super) type Held<'s> = MutexGuard<'s, Cells>;

/// The cells of an area of global memory.
pub(super) struct GlobalShadow {
    pages: Vec<Page>,
    races: bool,
}

impl GlobalShadow {
    pub(super) fn new(bytes: u64, races: bool, ledger: &Ledger<'_>) -> Result<Self, Box<Found>> {
        let (mut pages, count) = (Vec::new(), bytes.div_ceil(PAGE) as usize);
        let made = ledger.charge((count * size_of::<Page>()) as u64);
        made.and_then(|()| crate::core::room::grown_with(&mut pages, count, Page::default))
            .map_err(|error| ledger.refuse(&error, if races { For::Races } else { For::Initialised }))?;
        Ok(GlobalShadow { pages, races })
    }

    /// The page with the byte `at`, and where it is there. The page stays held for the next access.
    #[inline(always)]
    pub(super) fn page<'s, 'h>(
        &'s self,
        held: &'h mut Option<Held<'s>>,
        at: u64,
        ledger: &Ledger<'_>,
    ) -> Result<Option<(&'h mut Cells, u64)>, Box<Found>> {
        let Some(page) = self.pages.get((at / PAGE) as usize) else { return Ok(None) };
        if !held.as_ref().is_some_and(|held| std::ptr::eq(MutexGuard::mutex(held), page)) {
            self.turn(held, page, ledger)?;
        }
        Ok(held.as_mut().map(|held| (&mut **held, at % PAGE)))
    }

    fn turn<'s>(&'s self, held: &mut Option<Held<'s>>, page: &'s Page, ledger: &Ledger<'_>) -> Result<(), Box<Found>> {
        // Not two at a time: another thread may want them the other way round.
        *held = None;
        let mut next = page.lock();
        if next.is_empty() {
            *next = Cells::new(CELLS, self.races, ledger)?;
        }
        *held = Some(next);
        Ok(())
    }

    /// Whether a byte that is so far from the start of a page is in that page.
    #[inline(always)]
    pub(super) fn are_together(&self, at: u64) -> bool {
        at < PAGE
    }

    /// The first byte that nothing wrote, of `bytes` from `skip` on.
    pub(super) fn unwritten(&self, skip: u64, bytes: u64) -> Option<u64> {
        let end = skip + bytes;
        for (number, page) in self.pages.iter().enumerate() {
            let start = number as u64 * PAGE;
            let (from, to) = (skip.max(start), end.min(start + PAGE));
            let page = page.lock();
            if let Some(at) = (from..to).find(|at| !page.is_written(*at - start)) {
                return Some(at - skip);
            }
        }
        None
    }
}
