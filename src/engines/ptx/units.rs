//! Memory that several threads access by different sizes: each byte always by an atomic of one size.
//!
//! Two atomic accesses of different sizes to one address, of which one writes and which nothing orders, are undefined behaviour in
//! Rust, as a race without atomics is. So the bytes of a [`Span`] are parted into units: the largest aligned words of 8, 4, 2 or 1
//! bytes that lie in it. The units do not overlap, for aligned words either contain each other or are apart. A narrower access works on
//! its unit: a load takes its part, and a store replaces that part by compare and exchange, so that it keeps what others write beside it.
//!
//! The file stands on nothing else of the crate, so that Miri can run it alone.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Memory of this process: its first address, and the one behind its last. All accesses to it use the same span.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The part of a unit that an access works on.
#[derive(Clone, Copy)]
struct Part {
    /// The address and the bytes of the unit.
    unit: u64,
    size: u64,
    shift: u32,
    mask: u64,
}

impl Part {
    #[inline(always)]
    fn of(self, word: u64) -> u64 {
        word >> self.shift & self.mask
    }

    #[inline(always)]
    fn replaced(self, word: u64, value: u64) -> u64 {
        word & !(self.mask << self.shift) | (value & self.mask) << self.shift
    }
}

impl Span {
    #[inline(always)]
    fn part(&self, address: u64, bytes: u32) -> Part {
        let wide = |size: &u64| address & !(size - 1) >= self.start && (address & !(size - 1)) + size <= self.end;
        let size = [8, 4, 2].into_iter().find(wide).unwrap_or(1);
        let within = address & (size - 1);
        let first = if cfg!(target_endian = "little") { within } else { (size - within).saturating_sub(bytes.into()) };
        let mask = u64::MAX >> (64 - 8 * bytes.clamp(1, 8));
        Part { unit: address - within, size, shift: 8 * first as u32, mask }
    }
}

/// Calls a method of the unit's atomic, by its size.
macro_rules! unit {
    ($part:ident, |$unit:ident, $word:ident| $e:expr) => {{
        macro_rules! of {
            ($atomic:ty, $ty:ty) => {{
                type $word = $ty;
                // SAFETY: as the caller promises: the unit is in the span, aligned, and every access to it is by this size.
                let $unit = unsafe { <$atomic>::from_ptr($part.unit as usize as *mut $ty) };
                $e
            }};
        }
        match $part.size {
            8 => of!(AtomicU64, u64),
            4 => of!(AtomicU32, u32),
            2 => of!(AtomicU16, u16),
            _ => of!(AtomicU8, u8),
        }
    }};
}

/// Reads 1, 2, 4 or 8 bytes.
///
/// # Safety
/// They are in the span, and the address is a multiple of their number. The span is memory that lives, and that nothing else
/// accesses meanwhile but the functions of this file with the same span.
#[inline(always)]
pub(super) unsafe fn load(span: &Span, address: u64, bytes: u32) -> u64 {
    let part = span.part(address, bytes);
    part.of(unit!(part, |unit, Word| u64::from(unit.load(Ordering::Relaxed) as Word)))
}

/// Writes 1, 2, 4 or 8 bytes.
///
/// # Safety
/// As [`load`], of memory that may be written.
#[inline(always)]
pub(super) unsafe fn store(span: &Span, address: u64, bytes: u32, value: u64) {
    let part = span.part(address, bytes);
    if part.size == u64::from(bytes) {
        return unit!(part, |unit, Word| unit.store(value as Word, Ordering::Relaxed));
    }
    unit!(part, |unit, Word| {
        let next = |old: Word| Some(part.replaced(old.into(), value) as Word);
        let _ = unit.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    });
}

/// Replaces a value by a function of it, at once; returns what was there.
///
/// # Safety
/// As [`store`].
pub(super) unsafe fn update(span: &Span, address: u64, bytes: u32, mut f: impl FnMut(u64) -> u64) -> u64 {
    let part = span.part(address, bytes);
    part.of(unit!(part, |unit, Word| {
        let next = |old: Word| Some(part.replaced(old.into(), f(part.of(old.into()))) as Word);
        match unit.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) {
            Ok(old) | Err(old) => u64::from(old),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All aligned accesses within any part of three words, against the bytes themselves.
    #[test]
    fn every_access_reads_and_writes_its_own_bytes() {
        for (from, to) in (0..16).flat_map(|from| (from..=24).map(move |to| (from, to))) {
            let (mut words, mut want) = ([0u64; 3], [0u8; 24]);
            let base = words.as_mut_ptr() as u64;
            let span = Span { start: base + from, end: base + to };
            let mut value = 0x0102_0304_0506_0708u64;
            for bytes in [1u32, 8, 2, 4, 1] {
                for at in (0..24).step_by(bytes as usize).filter(|at| *at >= from && at + u64::from(bytes) <= to) {
                    value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                    let here = &mut want[at as usize..][..bytes as usize];
                    // SAFETY: in the span, which is this thread's.
                    let (old, new) = unsafe {
                        match value & 2 {
                            0 => store(&span, base + at, bytes, value),
                            _ => drop(update(&span, base + at, bytes, |old| old ^ value)),
                        }
                        (load(&span, base + at, bytes), value)
                    };
                    let mut before = [0; 8];
                    before[..bytes as usize].copy_from_slice(here);
                    let after = if value & 2 == 0 { new } else { u64::from_le_bytes(before) ^ new };
                    here.copy_from_slice(&after.to_le_bytes()[..bytes as usize]);
                    assert_eq!(old, after & (u64::MAX >> (64 - 8 * bytes)), "{from}..{to}, {bytes} bytes at {at}");
                }
            }
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(bytes, want, "{from}..{to}");
        }
    }

    /// Threads that write neighbours and parts of one word: nothing of another is lost. Miri finds no two sizes at one address.
    #[test]
    fn accesses_of_all_sizes_side_by_side_lose_nothing() {
        let rounds = if cfg!(miri) { 20 } else { 10_000 };
        let mut words = [0u64; 2];
        let base = words.as_mut_ptr() as u64;
        // Units of 2, 4 and 4 bytes: the ends of the words are not in it.
        let span = Span { start: base + 2, end: base + 12 };
        std::thread::scope(|scope| {
            for (at, bytes) in [(2u64, 1u32), (3, 1), (4, 2), (6, 1), (8, 2), (10, 1), (11, 1)] {
                scope.spawn(move || {
                    for round in 0..rounds {
                        // SAFETY: in the span, which the scope keeps.
                        unsafe {
                            update(&span, base + at, bytes, |old| old + round % 2);
                            load(&span, base + 4, 4);
                            let own = load(&span, base + at, bytes);
                            store(&span, base + at, bytes, own);
                        }
                    }
                });
            }
        });
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let half = (rounds / 2) as u16;
        let low = half as u8;
        assert_eq!(bytes[..4], [0, 0, low, low]);
        assert_eq!(bytes[4..6], half.to_le_bytes());
        assert_eq!((bytes[6], bytes[10], bytes[11]), (low, low, low));
        assert_eq!((u16::from_le_bytes([bytes[8], bytes[9]]), &bytes[12..]), (half, &[0; 4][..]));
    }
}
