//! The memory that a launch may touch.
//!
//! Addresses of global memory are those of this process, or those that the caller gives his areas. Each access is compared with
//! the areas of the launch, so a kernel reaches nothing else, whatever its text does. Accesses of what may be written are atomic and
//! relaxed, each byte by words of one size (`units.rs`): blocks run on several threads of the pool, and a race between them is a
//! finding, not undefined behaviour of this process.

use super::finding::Found;
use super::shadow::GlobalShadow;
use super::units::{self, Span};
use crate::core::error::FindingKind;
use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;

/// Where generic addresses of the other spaces begin. No process has memory there.
pub(super) const SHARED_WINDOW: u64 = 1 << 60;
pub(super) const LOCAL_WINDOW: u64 = 2 << 60;
pub(super) const PARAMETER_WINDOW: u64 = 3 << 60;

/// To what the addresses of an area are equal, as a kernel sees them and in this process: no access is aligned to more.
const ALIGNMENT: u64 = 256;

/// A part of global memory that a launch may touch.
pub struct Area<'m> {
    pub(super) name: String,
    /// Its first address, as a kernel sees it.
    pub(super) start: u64,
    /// What is added to such an address to have that of the memory in this process.
    shift: u64,
    pub(super) bytes: u64,
    pub(super) writable: bool,
    /// Nothing in it is written yet.
    pub(super) fresh: bool,
    /// Others may write it meanwhile: all but what the caller lends to be read.
    shared: bool,
    pub(super) shadow: Option<GlobalShadow>,
    memory: PhantomData<&'m mut [u8]>,
}

impl<'m> Area<'m> {
    /// What the kernel may read. `name` appears in findings.
    pub fn read(name: impl Into<String>, memory: &'m [u8]) -> Self {
        Area::new(name.into(), memory.as_ptr() as u64, memory.len() as u64, false)
    }

    /// What the kernel may read and write.
    pub fn write(name: impl Into<String>, memory: &'m mut [u8]) -> Self {
        Area::new(name.into(), memory.as_mut_ptr() as u64, memory.len() as u64, true)
    }

    /// What the kernel must write, all of it, before it reads it.
    pub fn output(name: impl Into<String>, memory: &'m mut [u8]) -> Self {
        Area { fresh: true, ..Area::write(name, memory) }
    }

    fn new(name: String, start: u64, bytes: u64, writable: bool) -> Self {
        let (shared, memory) = (writable, PhantomData);
        Area { name, start, shift: 0, bytes, writable, fresh: false, shared, shadow: None, memory }
    }

    /// The same memory at another address, as on a GPU, whose memory the host does not see.
    ///
    /// The launch is refused unless `address` and that of the memory are equal modulo 256, the area ends below 2^60, and it shares
    /// no byte with another area, unless both are only read.
    pub fn at(self, address: u64) -> Self {
        let memory = self.start.wrapping_add(self.shift);
        Area { start: address, shift: memory.wrapping_sub(address), ..self }
    }

    /// Memory that lives as long as a module, whose words can be written by any thread.
    pub(super) fn of_words(name: &str, words: &'m [AtomicU64], from: u64, bytes: u64, writable: bool) -> Self {
        Area { shared: true, ..Area::new(name.to_owned(), words.as_ptr() as u64 + from, bytes, writable) }
    }

    /// Its address, as a kernel sees it.
    pub fn address(&self) -> u64 {
        self.start
    }

    /// Why a launch cannot have it.
    fn refusal(&self) -> Option<String> {
        let Area { name, start, bytes, shift, .. } = self;
        if shift % ALIGNMENT != 0 {
            return Some(format!("{name} is at {start:#x}, and its memory is not, modulo {ALIGNMENT}"));
        }
        let ends = start.checked_add(*bytes).is_some_and(|end| end <= SHARED_WINDOW);
        (!ends).then(|| format!("{name} ({bytes} bytes) is at {start:#x}, and ends above {SHARED_WINDOW:#x}"))
    }

    /// The address in this process of what a kernel sees at `address`, in the area.
    #[inline(always)]
    fn host(&self, address: u64) -> u64 {
        address.wrapping_add(self.shift)
    }

    #[inline(always)]
    fn span(&self) -> Span {
        let start = self.host(self.start);
        Span { start, end: start.wrapping_add(self.bytes) }
    }

    /// Reads 1, 2, 4 or 8 bytes.
    ///
    /// # Safety
    /// They are in the area, and the address is a multiple of their number.
    #[inline(always)]
    pub(super) unsafe fn load(&self, address: u64, bytes: u32) -> u64 {
        let at = self.host(address);
        if self.shared {
            // SAFETY: as the caller promises; all accesses to the area are by its span.
            return unsafe { units::load(&self.span(), at, bytes) };
        }
        let at = at as usize;
        // SAFETY: as the caller promises; it is memory that is lent to be read for the lifetime of the area.
        unsafe {
            match bytes {
                1 => (at as *const u8).read().into(),
                2 => (at as *const u16).read().into(),
                4 => (at as *const u32).read().into(),
                _ => (at as *const u64).read(),
            }
        }
    }

    /// Writes 1, 2, 4 or 8 bytes.
    ///
    /// # Safety
    /// As [`load`](Self::load), in an area that may be written.
    #[inline(always)]
    pub(super) unsafe fn store(&self, address: u64, bytes: u32, value: u64) {
        // SAFETY: as the caller promises; all accesses to the area are by its span.
        unsafe { units::store(&self.span(), self.host(address), bytes, value) }
    }

    /// Replaces a value by a function of it, at once; returns what was there.
    ///
    /// # Safety
    /// As [`store`](Self::store).
    pub(super) unsafe fn update(&self, address: u64, bytes: u32, f: impl FnMut(u64) -> u64) -> u64 {
        // SAFETY: as the caller promises; all accesses to the area are by its span.
        unsafe { units::update(&self.span(), self.host(address), bytes, f) }
    }

    fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes)
    }

    pub(super) fn contains(&self, address: u64, bytes: u64) -> bool {
        address.checked_sub(self.start).is_some_and(|at| at <= self.bytes && self.bytes - at >= bytes)
    }
}

/// All areas of a launch, by their addresses.
pub(super) struct Memory<'m> {
    pub(super) areas: Vec<Area<'m>>,
    /// Of each area the furthest end of it and those before.
    ends: Vec<u64>,
}

// SAFETY: an area is borrowed memory of the lifetime `'m`, exclusively where it is written, and every access to that is atomic.
unsafe impl Sync for Memory<'_> {}

impl<'m> Memory<'m> {
    pub(super) fn new(mut areas: Vec<Area<'m>>) -> Self {
        areas.sort_unstable_by_key(|area| (area.start, area.bytes));
        let ends = areas.iter().scan(0u64, |furthest, area| {
            *furthest = area.end().max(*furthest);
            Some(*furthest)
        });
        let ends = ends.collect();
        Memory { areas, ends }
    }

    /// Why the areas cannot be those of a launch.
    pub(super) fn refusal(&self) -> Option<String> {
        if let Some(refusal) = self.areas.iter().find_map(Area::refusal) {
            return Some(refusal);
        }
        // By their addresses: each against the furthest end before it, of those that are written and of all.
        let (mut all, mut written): (Option<&Area<'_>>, Option<&Area<'_>>) = (None, None);
        for area in self.areas.iter().filter(|area| area.bytes > 0) {
            let before = if area.writable { all } else { written };
            if let Some(before) = before.filter(|before| before.end() > area.start) {
                return Some(format!("{} and {} share memory", before.name, area.name));
            }
            let further = |than: Option<&Area<'_>>| than.is_none_or(|than| than.end() < area.end());
            all = if further(all) { Some(area) } else { all };
            written = if area.writable && further(written) { Some(area) } else { written };
        }
        None
    }

    /// The area with all of these bytes.
    pub(super) fn find(&self, address: u64, bytes: u64) -> Option<usize> {
        let after = self.areas.partition_point(|area| area.start <= address);
        let end = address.checked_add(bytes)?;
        // Areas that are only read may overlap; all others are apart.
        let mut reached = (0..after).rev().take_while(|at| self.ends.get(*at).is_some_and(|furthest| *furthest >= end));
        reached.find(|at| self.areas.get(*at).is_some_and(|area| area.contains(address, bytes)))
    }

    /// Why an access is outside: the nearest area.
    pub(super) fn outside(&self, lane: usize, address: u64, bytes: u64, writes: bool) -> Box<Found> {
        let access = if writes { "write" } else { "read" };
        let distance = |area: &Area<'_>| match address < area.start {
            true => area.start - address,
            false => address.saturating_sub(area.end()),
        };
        let detail = match self.areas.iter().min_by_key(|area| distance(area)) {
            None => format!("{access} of {bytes} bytes at {address:#x}, and the launch has no buffer"),
            Some(area) => {
                let Area { name, start, bytes: all, .. } = area;
                let place = match address.checked_sub(*start) {
                    Some(at) => format!("{at} bytes after the start of"),
                    None => format!("{} bytes before", start - address),
                };
                format!("{access} of {bytes} bytes at {address:#x}, {place} {name} ({all} bytes), which is the nearest")
            }
        };
        Found::new(FindingKind::OutOfBounds, lane, detail)
    }
}

/// Reads up to 8 bytes of a block's or a thread's memory.
pub(super) fn load_bytes(memory: &[u8], at: u64, bytes: u32) -> Option<u64> {
    let from = memory.get(usize::try_from(at).ok()?..)?.get(..bytes as usize)?;
    let mut word = [0; 8];
    word.get_mut(..bytes as usize)?.copy_from_slice(from);
    Some(u64::from_le_bytes(word))
}

/// Writes up to 8 bytes.
pub(super) fn store_bytes(memory: &mut [u8], at: u64, bytes: u32, value: u64) -> Option<()> {
    let to = memory.get_mut(usize::try_from(at).ok()?..)?.get_mut(..bytes as usize)?;
    to.copy_from_slice(value.to_le_bytes().get(..bytes as usize)?);
    Some(())
}
