//! One import of a loaded library, bound to another function.
//!
//! A library's calls of other libraries go through a table of addresses, which the dynamic linker fills in (`JUMP_SLOT`
//! relocations). A library that is never unloaded can be given another function in place of one that does it harm; the
//! rest of the process is not touched. Done only where the entry is found and its page may be written as it stands: a
//! library linked with `-z now` has its table read-only, and is left alone.

use super::Loaded;
use libloading::os::unix::{Library as Handle, RTLD_NOW};
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

impl Loaded {
    /// Binds the import `name` to `to`. False where that cannot be done; then nothing was changed.
    ///
    /// # Safety
    /// `to` is a function that may stand in `name`'s place whenever the library calls it.
    pub(crate) unsafe fn rebind(&self, name: &CStr, to: *const c_void) -> bool {
        // Known of glibc alone, and of the relocations of two machines.
        if !cfg!(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64"))) {
            return false;
        }
        // SAFETY: the library is loaded already, so nothing of it runs now. The handle stays open for ever.
        let Ok(handle) = (unsafe { Handle::open(Some(&self.path), RTLD_NOW | libc::RTLD_NOLOAD) }) else {
            return false;
        };
        let mut map: *const LinkMap = std::ptr::null();
        // SAFETY: an open handle; RTLD_DI_LINKMAP writes one pointer, and `map` has room for it.
        let code = unsafe { libc::dlinfo(handle.into_raw(), libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
        // SAFETY: null, or the linker's record of the library, which lives as long as that is open.
        let (0, Some(map)) = (code, unsafe { map.as_ref() }) else { return false };
        // SAFETY: of a library that is loaded.
        let Some(slot) = (unsafe { slot_of(map, name) }).filter(|slot| is_writable(*slot)) else { return false };
        // SAFETY: an aligned word of the library's own table, whose page may be written (looked up just now). The
        // library reads it as one word, so it finds the old function or the new one.
        unsafe { AtomicUsize::from_ptr(slot as *mut usize) }.store(to as usize, Ordering::Release);
        true
    }
}

/// The head of `struct link_map` of `<link.h>`.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *const Dyn,
}

/// `Elf64_Dyn`.
#[repr(C)]
struct Dyn {
    tag: i64,
    value: usize,
}

/// `Elf64_Rela`: its symbol is the upper half of `info`, its type the lower.
#[repr(C)]
struct Rela {
    offset: usize,
    info: u64,
    addend: i64,
}

/// `Elf64_Sym`.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// The address of the entry through which a library calls `name`.
///
/// # Safety
/// The record of a library that is loaded.
unsafe fn slot_of(map: &LinkMap, name: &CStr) -> Option<usize> {
    const JUMP_SLOT: u64 = if cfg!(target_arch = "aarch64") { 1026 } else { 7 };
    const END: i64 = 0;
    const PLT_BYTES: i64 = 2;
    const STRINGS: i64 = 5;
    const SYMBOLS: i64 = 6;
    const PLT: i64 = 23;
    let (mut bytes, mut strings, mut symbols, mut plt) = (0, 0, 0, 0);
    // glibc has made addresses of the offsets that are in the file.
    let address = |value: usize| if value < map.base { map.base + value } else { value };
    let mut entry = map.dynamic;
    loop {
        // SAFETY: the section ends with an entry of tag 0, where this stops.
        let Dyn { tag, value } = unsafe { std::ptr::read(entry) };
        match tag {
            END => break,
            PLT_BYTES => bytes = value,
            STRINGS => strings = address(value),
            SYMBOLS => symbols = address(value),
            PLT => plt = address(value),
            _ => {}
        }
        // SAFETY: it was not the last.
        entry = unsafe { entry.add(1) };
    }
    if strings == 0 || symbols == 0 || plt == 0 {
        return None;
    }
    // SAFETY: the library's own table, of so many bytes, mapped as long as it is loaded.
    let relocations = unsafe { std::slice::from_raw_parts(plt as *const Rela, bytes / size_of::<Rela>()) };
    let found = relocations.iter().find(|rela| {
        // SAFETY: the symbol's index and the place of its name are the library's own; names end with a zero.
        let called = unsafe {
            let symbol = &*(symbols as *const Symbol).add((rela.info >> 32) as usize);
            CStr::from_ptr((strings as *const c_char).add(symbol.name as usize))
        };
        rela.info & 0xffff_ffff == JUMP_SLOT && called == name
    })?;
    Some(map.base + found.offset)
}

/// Whether the word at `address` may be written, as the kernel says.
fn is_writable(address: usize) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().any(|line| {
        let mut fields = line.split(' ');
        let range = fields.next().and_then(|range| range.split_once('-'));
        let hex = |text| usize::from_str_radix(text, 16).ok();
        let inside = range.and_then(|(from, to)| Some(hex(from)? <= address && address + 8 <= hex(to)?));
        inside == Some(true) && fields.next().is_some_and(|mode| mode.starts_with("rw"))
    })
}
