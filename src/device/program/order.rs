//! Which step follows which.

use super::entry::{Entry, Source, Use};
use smallvec::SmallVec;

/// With more steps than this, each step follows the one before it, because the dependency matrix takes memory that
/// grows with the square of their number.
pub(super) const MOST: usize = 8192;
/// Dependencies where each step follows the one before it.
pub(super) fn chain(len: usize) -> Vec<SmallVec<[usize; 2]>> {
    (0..len).map(|i| i.checked_sub(1).into_iter().collect()).collect()
}

/// The steps that each step follows directly.
pub(super) fn follows(entries: &[Entry]) -> Vec<SmallVec<[usize; 2]>> {
    let mut open: std::collections::HashMap<Source, Vec<(usize, Use)>> = std::collections::HashMap::new();
    let mut all = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let mut after: SmallVec<[usize; 2]> = SmallVec::new();
        for one in entry.uses.iter().filter(|one| one.bytes > 0) {
            let earlier = open.entry(one.source).or_default();
            let conflicts = earlier.iter().filter(|(_, other)| (one.writes || other.writes) && one.meets(other));
            after.extend(conflicts.map(|(step, _)| *step).filter(|step| *step != index));
            if one.writes {
                // A later step that conflicts with one of these conflicts with this one too, which follows them.
                earlier.retain(|(step, other)| *step == index || !one.covers(other));
            }
            earlier.push((index, *one));
        }
        after.sort_unstable();
        after.dedup();
        all.push(after);
    }
    all
}

/// For each step, all steps that it follows, directly or not. `None`: all earlier ones.
pub(super) struct Ancestors(Option<Vec<Vec<u64>>>);

pub(super) fn ancestors(after: &[SmallVec<[usize; 2]>]) -> Ancestors {
    if after.len() > MOST {
        return Ancestors(None);
    }
    let mut all: Vec<Vec<u64>> = Vec::with_capacity(after.len());
    for (index, direct) in after.iter().enumerate() {
        let mut own = vec![0u64; index.div_ceil(64)];
        for &step in direct {
            let theirs = all.get(step).map(Vec::as_slice).unwrap_or_default();
            own.iter_mut().zip(theirs).for_each(|(own, theirs)| *own |= theirs);
            if let Some(word) = own.get_mut(step / 64) {
                *word |= 1 << (step % 64);
            }
        }
        all.push(own);
    }
    Ancestors(Some(all))
}

impl Ancestors {
    /// Whether `later` follows `earlier`.
    pub(super) fn has(&self, later: usize, earlier: usize) -> bool {
        match &self.0 {
            None => earlier < later,
            Some(all) => {
                let word = all.get(later).and_then(|own| own.get(earlier / 64)).copied().unwrap_or(0);
                word >> (earlier % 64) & 1 == 1
            }
        }
    }
}
