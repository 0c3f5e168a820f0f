//! The places of truth values in order: those of one value, then those of the other. Both are written in one pass, eight elements at
//! a time, once it is known how many there are of each in the parts before.

use crate::core::error::Result;
use crate::core::room;
use crate::numerics::parallel::{self, Parts};

/// Elements of a part, which one thread treats.
const PART: usize = 1 << 14;

/// The numbers of the bits of a byte that are set, from the lowest one on; then zeros.
pub(in crate::libraries::arrays) static SET: [[u8; 8]; 256] = set();

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn set() -> [[u8; 8]; 256] {
    let mut all = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                all[byte][count] = bit;
                count += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    all
}

/// A bit for each of eight bytes that is not zero.
#[inline(always)]
pub(in crate::libraries::arrays) fn mask(bytes: [u8; 8]) -> u8 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let word = u64::from_le_bytes(bytes);
    let ones = (((word & LOW) + LOW) | word) >> 7 & 0x0101_0101_0101_0101;
    (ones.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// How many bytes are not zero.
pub(in crate::libraries::arrays) fn count(x: &[u8]) -> usize {
    // Sums of bytes that are 0 or 1 fit a byte.
    x.chunks(128).map(|x| usize::from(x.iter().map(|x| u8::from(*x != 0)).sum::<u8>())).sum()
}

/// A part of the places of one value.
struct Places {
    next: *mut i64,
    /// Behind the part.
    end: *mut i64,
}

impl Places {
    /// Appends the places of the bits that are set.
    ///
    /// # Safety
    /// There are places for them.
    #[inline(always)]
    unsafe fn push(&mut self, first: i64, mask: u8) {
        let found = SET.get(usize::from(mask)).copied().unwrap_or_default();
        let count = mask.count_ones() as usize;
        // SAFETY: the caller's promise. Eight places are written at once where as many are left; what is too much comes later.
        unsafe {
            if self.end.offset_from(self.next) >= 8 {
                *self.next.cast::<[i64; 8]>() = found.map(|bit| first + i64::from(bit));
            } else {
                for (k, bit) in found.iter().take(count).enumerate() {
                    *self.next.add(k) = first + i64::from(*bit);
                }
            }
        }
        self.next = self.next.wrapping_add(count);
    }
}

/// Where the places of the elements go.
struct Target(*mut i64);

// SAFETY: each place is written by the thread whose part has its element.
unsafe impl Sync for Target {}

/// Writes the places of all elements, those that are true first or last.
///
/// # Safety
/// There are as many places as elements, and nothing else uses them.
pub(super) unsafe fn places(x: &[u8], true_first: bool, places: *mut i64) -> Result<()> {
    let mut before = room::filled(x.len().div_ceil(PART), 0usize)?;
    let (target, parts) = (&Target(places), Parts::with_size(1).least(4));
    let part = |k: usize| x.get(k * PART..x.len().min((k + 1) * PART)).unwrap_or_default();
    parallel::each_part(&mut before, parts, &|k, own| own.iter_mut().for_each(|own| *own = count(part(k))));
    let mut all = 0;
    for own in &mut before {
        (*own, all) = (all, all + *own);
    }
    let begins = if true_first { (0, all) } else { (x.len() - all, 0) };
    parallel::each_part(&mut before, parts, &|k, own| {
        let (x, known) = (part(k), own.iter().copied().next().unwrap_or(0));
        let there = count(x);
        let list = |begin: usize, len: usize| {
            let next = target.0.wrapping_add(begin);
            Places { next, end: next.wrapping_add(len) }
        };
        let mut own = list(begins.0 + known, there);
        let mut other = list(begins.1 + k * PART - known, x.len() - there);
        for (first, bytes) in (k * PART..).step_by(8).zip(x.chunks(8)) {
            let mut eight = [0; 8];
            eight.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            let (is_true, there) = (mask(eight), u8::MAX >> (8 - bytes.len()));
            // SAFETY: the part has so many places of either value.
            unsafe {
                own.push(first as i64, is_true);
                other.push(first as i64, !is_true & there);
            }
        }
    });
    Ok(())
}
