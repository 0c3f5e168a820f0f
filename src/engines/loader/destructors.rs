//! The destructors of a compiler's static objects wait until no thread is inside a compiler.
//!
//! An exit runs its handlers last in, first out, and the destructors of static objects are such handlers. A compiler makes
//! static objects while it works (NVRTC 13.0: five during its first compilation, and eighteen more for `sm_100`), so
//! their destructors run before every handler that we could have registered, and another thread still uses the objects:
//! heap corruption and a segmentation fault, in one exit of forty into the middle of a first compilation on a busy machine.
//!
//! A library registers destructors with the C library's `__cxa_atexit`, through a slot that the dynamic linker fills in.
//! [`guard`] puts [`register`] there, for this library alone. It registers the destructor with the order that it has, but
//! when it is called, the exit begins for us too: compilations are told to stop, and are waited for. If one does not
//! stop in time, its objects are left as they are, for the process ends anyway.
//!
//! The tables read here are those of the ELF standard; the linker of glibc keeps addresses in them relocated.

use super::Loaded;
use crate::core::process::leaving;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

type Run = unsafe extern "C" fn(*mut c_void);

unsafe extern "C" {
    fn __cxa_atexit(run: Run, argument: *mut c_void, library: *mut c_void) -> c_int;
}

/// A destructor that waits, and its argument.
struct Destructor {
    run: Run,
    argument: *mut c_void,
}

/// Stands in for `__cxa_atexit`.
unsafe extern "C" fn register(run: Run, argument: *mut c_void, library: *mut c_void) -> c_int {
    let destructor = Box::into_raw(Box::new(Destructor { run, argument }));
    // SAFETY: `destroy` is called once at most, with this pointer, as the C library promises.
    let code = unsafe { __cxa_atexit(destroy, destructor.cast(), library) };
    if code != 0 {
        // SAFETY: made above, and nobody else received it.
        drop(unsafe { Box::from_raw(destructor) });
    }
    code
}

unsafe extern "C" fn destroy(destructor: *mut c_void) {
    // SAFETY: `register` made it, and the C library calls this once.
    let Destructor { run, argument } = *unsafe { Box::from_raw(destructor.cast::<Destructor>()) };
    if leaving::begin() {
        // SAFETY: the library's own destructor and argument; no thread is inside the library, and none comes in again.
        unsafe { run(argument) };
    }
}

/// Makes the destructors that `loaded` registers from now on wait. It has a function of one of the names `entries`. False
/// if the library does not register any in the usual way.
pub(super) fn guard(loaded: &Loaded, entries: &[&CStr]) -> bool {
    // SAFETY: an untyped pointer is valid for every symbol.
    let entry = |name: &&CStr| unsafe { loaded.symbol::<*mut c_void>(name) };
    let Some(inside) = entries.iter().find_map(entry) else { return false };
    let mut search = Search { inside: inside as usize, found: None };
    // SAFETY: `visit` reads what the linker gives it, and gets our own pointer back, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found.is_some_and(|object| object.redirect())
}

/// A library in memory.
struct Object {
    /// The difference between its addresses in memory and in its file.
    base: usize,
    /// Its table of tables.
    dynamic: usize,
    /// What the linker makes read-only after it has filled it in.
    sealed: Range<usize>,
}

struct Search {
    inside: usize,
    found: Option<Object>,
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: the linker's record for the time of this call, and the pointer that `guard` passed.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: that many headers, in the library's own memory.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let base = info.dlpi_addr as usize;
    let place = |header: &libc::Elf64_Phdr| {
        let start = base.wrapping_add(header.p_vaddr as usize);
        start..start.wrapping_add(header.p_memsz as usize)
    };
    let of = |kind: u32| headers.iter().filter(move |header| header.p_type == kind).map(place);
    if !of(libc::PT_LOAD).any(|part| part.contains(&search.inside)) {
        return 0;
    }
    let sealed = of(libc::PT_GNU_RELRO).next().unwrap_or(0..0);
    search.found = of(libc::PT_DYNAMIC).next().map(|dynamic| Object { base, dynamic: dynamic.start, sealed });
    1
}

/// `Elf64_Dyn`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    tag: i64,
    value: usize,
}

/// `Elf64_Rela`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

#[cfg(target_arch = "x86_64")]
const SLOTS: [u32; 2] = [6, 7]; // R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT
#[cfg(target_arch = "aarch64")]
const SLOTS: [u32; 2] = [1025, 1026]; // R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT

impl Object {
    /// The value of an entry of the table of tables.
    fn entry(&self, tag: i64) -> Option<usize> {
        let mut at = self.dynamic as *const Entry;
        loop {
            // SAFETY: the table ends with an entry of tag 0, which ends this loop.
            let entry = unsafe { *at };
            if entry.tag == tag || entry.tag == 0 {
                return (entry.tag == tag).then_some(entry.value);
            }
            at = at.wrapping_add(1);
        }
    }

    /// The address of a table.
    fn table(&self, tag: i64) -> Option<usize> {
        // The linker has added the base, except where the table of tables is read-only.
        self.entry(tag).map(|at| if at < self.base { at + self.base } else { at })
    }

    /// Puts [`register`] into every slot of `__cxa_atexit`.
    fn redirect(&self) -> bool {
        const STRINGS: i64 = 5;
        const SYMBOLS: i64 = 6;
        /// The address and the size in bytes of a table of relocations.
        const RELOCATIONS: [(i64, i64); 2] = [(7, 8), (23, 2)];
        let (Some(strings), Some(symbols)) = (self.table(STRINGS), self.table(SYMBOLS)) else { return false };
        let mut done = false;
        for (table, size) in RELOCATIONS {
            let (Some(table), Some(size)) = (self.table(table), self.entry(size)) else { continue };
            let count = size / size_of::<Relocation>();
            // SAFETY: the linker has just used this table, of that size.
            let relocations = unsafe { std::slice::from_raw_parts(table as *const Relocation, count) };
            for relocation in relocations.iter().filter(|relocation| SLOTS.contains(&(relocation.info as u32))) {
                let symbol = (symbols as *const libc::Elf64_Sym).wrapping_add((relocation.info >> 32) as usize);
                // SAFETY: a relocation names a symbol of the table of symbols, and that a terminated string of the strings.
                let name =
                    unsafe { CStr::from_ptr((strings as *const c_char).wrapping_add((*symbol).st_name as usize)) };
                if name == c"__cxa_atexit" {
                    done |= self.fill(self.base.wrapping_add(relocation.offset));
                }
            }
        }
        done
    }

    /// Puts [`register`] into a slot.
    fn fill(&self, slot: usize) -> bool {
        let protect = |access| {
            // SAFETY: a constant of the system.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
            let start = slot - slot % page.max(1);
            // SAFETY: the page of the slot, which is the library's own memory and stays readable.
            unsafe { libc::mprotect(start as *mut c_void, page, access) == 0 }
        };
        let sealed = self.sealed.contains(&slot);
        if sealed && !protect(libc::PROT_READ | libc::PROT_WRITE) {
            return false;
        }
        // SAFETY: an aligned word of the library that the linker has filled with an address. Other threads read it with
        // one instruction, and both values are functions that do what they want.
        unsafe { AtomicUsize::from_ptr(slot as *mut usize) }.store(register as *const () as usize, Ordering::Release);
        if sealed {
            protect(libc::PROT_READ);
        }
        true
    }
}
