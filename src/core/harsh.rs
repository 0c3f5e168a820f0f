//! Memory that shows what is read or written where nothing may be: for tests, in builds with debug assertions only.
//!
//! `WINDLASS_TEST_MEMORY` holds one of these words, or several:
//!
//! - `end`: buffers of the host engine end where a page begins that nobody may touch. They are aligned for their elements and no
//!   further, and no memory is used again. What is written before them ends the process when they are freed.
//! - `begin`: the same, but they begin behind such a page.
//! - `junk`: what was never written is 0xFF in every byte, which is NaN, -1 and true. That is true of buffers that nobody wants
//!   zeroed, of memory that a host half reserves or uses again, and of blocks shared with a worker. (Memory of the simulated
//!   driver always is so.)

use crate::core::sync::{AtomicUsize, Ordering};
use crate::system::memory::Fenced;
use std::sync::LazyLock;

#[derive(Clone, Copy, Default)]
struct Modes {
    end: bool,
    begin: bool,
    junk: bool,
}

const JUNK: u8 = 0xff;

/// Buffers beside such pages at a time. A system allows a process some 65 000 mappings, of which each takes three; further buffers
/// are ordinary memory.
const MOST: usize = 8_000;
static ALIVE: AtomicUsize = AtomicUsize::new(0);

fn modes() -> Modes {
    static MODES: LazyLock<Modes> = LazyLock::new(|| {
        let words = std::env::var("WINDLASS_TEST_MEMORY").unwrap_or_default();
        let has = |wanted| words.split_whitespace().any(|word| word == wanted);
        Modes { end: has("end"), begin: has("begin"), junk: has("junk") }
    });
    if cfg!(debug_assertions) { *MODES } else { Modes::default() }
}

/// Whether buffers are [`Harsh`], and no memory is used again.
pub(crate) fn is_fenced() -> bool {
    let modes = modes();
    modes.end || modes.begin
}

/// Makes bytes junk that nobody has written, or that hold what nobody may read any more.
///
/// # Safety
/// They may be written.
pub(crate) unsafe fn spoil(at: *mut u8, bytes: usize) {
    if modes().junk {
        // SAFETY: the caller's promise.
        unsafe { at.write_bytes(JUNK, bytes) };
    }
}

/// The same for what a vector has reserved.
pub(crate) fn spoil_spare<T>(all: &mut Vec<T>) {
    let spare = all.spare_capacity_mut();
    // SAFETY: memory of the vector without values.
    unsafe { spoil(spare.as_mut_ptr().cast(), size_of_val(spare)) };
}

/// The same for memory of a thread that is used again.
pub(crate) fn spoil_values<T: bytemuck::Pod>(all: &mut [T]) {
    // SAFETY: an exclusive slice, of a type for which every bit pattern is a value.
    unsafe { spoil(all.as_mut_ptr().cast(), size_of_val(all)) };
}

/// A buffer beside a page that nobody may touch.
#[derive(Debug)]
pub(crate) struct Harsh {
    pages: Fenced,
    bytes: usize,
    at_end: bool,
}

impl Harsh {
    /// `None` if the tests do not want it, or there is not enough memory.
    pub(crate) fn new(bytes: usize, zeroed: bool) -> Option<Self> {
        let modes = modes();
        if !modes.end && !modes.begin {
            return None;
        }
        let pages = Fenced::new(bytes)?;
        // The drop counts down, of what is refused as well.
        let before = ALIVE.fetch_add(1, Ordering::Relaxed);
        let harsh = Harsh { pages, bytes, at_end: modes.end };
        // SAFETY: the pages are new, and these bytes lie inside; nothing else uses them.
        unsafe {
            harsh.rest().write_bytes(JUNK, harsh.pages.len() - bytes);
            if !zeroed {
                spoil(harsh.start(), bytes);
            }
        }
        if before < MOST { Some(harsh) } else { None }
    }

    fn start(&self) -> *mut u8 {
        let before = if self.at_end { self.pages.len() - self.bytes } else { 0 };
        self.pages.start().wrapping_add(before)
    }

    /// The bytes of the pages that are none of the buffer's.
    fn rest(&self) -> *mut u8 {
        self.pages.start().wrapping_add(if self.at_end { 0 } else { self.bytes })
    }

    /// The address of the first byte.
    pub(crate) fn address(&self) -> u64 {
        self.start().expose_provenance() as u64
    }
}

impl Drop for Harsh {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: inside the pages, written by `new`; the buffer is gone.
        let rest = unsafe { std::slice::from_raw_parts(self.rest(), self.pages.len() - self.bytes) };
        if rest.iter().any(|byte| *byte != JUNK) {
            eprintln!("something was written outside of a buffer of {} bytes", self.bytes);
            std::process::abort();
        }
    }
}
