//! Names constants and functions of the executable by their distance from a fixed one, for two processes that run the
//! same file.
//!
//! Addresses differ from process to process; distances within one loaded file do not. What lies in another file (a
//! shared library beside the program) has no distance that is valid in the other process.

use crate::core::error::{Error, Result};
use std::ffi::{CStr, OsStr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The constant from which distances are measured. (Its value means nothing, and is not the mark of a handler.)
static HERE: u64 = 0x6865_7265;

fn here() -> u64 {
    &raw const HERE as u64
}

/// A file that the loader has mapped.
#[derive(Clone)]
struct Loaded {
    /// Its readable segments; between two there may be unmapped addresses.
    segments: Vec<Range<u64>>,
    path: PathBuf,
}

/// The file that contains this code.
fn loaded() -> Option<&'static Loaded> {
    static LOADED: OnceLock<Option<Loaded>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        let mut found: Option<Loaded> = None;
        // SAFETY: `each` is called with `found` during this call only.
        unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut found).cast()) };
        found
    });
    loaded.as_ref()
}

/// Its path.
pub(crate) fn file() -> Option<PathBuf> {
    Some(loaded()?.path.clone())
}

/// Called for one loaded file: if it is this one, stores it and ends the iteration.
unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: libc::size_t, found: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the loader's own description of a file, valid during the call.
    let info = unsafe { &*info };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader gives the address of the file's headers and their number.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let readable = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_R != 0;
    let segments = headers.iter().filter(readable).map(|header| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
        start..start.saturating_add(header.p_memsz)
    });
    let segments: Vec<_> = segments.collect();
    match segments.iter().any(|segment| segment.contains(&here())) {
        true => {
            // The loader gives no name for the program itself.
            // SAFETY: a name ends with a zero byte, and is valid during the call.
            let name = (!info.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes());
            let path = match name.unwrap_or_default() {
                [] => PathBuf::from("/proc/self/exe"),
                name => OsStr::from_bytes(name).into(),
            };
            // SAFETY: the pointer that `loaded` passed; nothing else uses it meanwhile.
            unsafe { *found.cast::<Option<Loaded>>() = Some(Loaded { segments, path }) };
            1
        }
        false => 0,
    }
}

/// Returns `at` if a `T` at this address lies completely inside this file.
fn inside<T>(at: u64) -> Option<u64> {
    let end = at.checked_add(size_of::<T>() as u64)?;
    loaded()?.segments.iter().any(|segment| segment.contains(&at) && end <= segment.end).then_some(at)
}

/// The distance of a constant. Fails if it lies in another file.
pub(crate) fn distance<T>(place: &'static T) -> Result<u64> {
    let at = inside::<T>(std::ptr::from_ref(place) as u64);
    let at = at.ok_or_else(|| Error::unsupported("its code lies in a shared library, not in the program"))?;
    Ok(at.wrapping_sub(here()))
}

/// The distance of a function. Fails if it lies in another file.
pub(crate) fn code_distance(at: u64) -> Result<u64> {
    let at = inside::<u8>(at);
    let at = at.ok_or_else(|| Error::unsupported("its code lies in a shared library, not in the program"))?;
    Ok(at.wrapping_sub(here()))
}

/// The address at a distance, if it lies inside this file.
pub(crate) fn code_at(distance: u64) -> Option<u64> {
    inside::<u8>(here().wrapping_add(distance))
}

/// The address at a distance, if it is aligned for a `T` that lies completely inside this file.
pub(crate) fn place<T>(distance: u64) -> Option<*const T> {
    let at = inside::<T>(here().wrapping_add(distance))?;
    at.is_multiple_of(align_of::<T>() as u64).then_some(at as *const T)
}

#[cfg(test)]
mod tests {
    use super::*;

    static ONE: u64 = 7;

    #[test]
    fn a_constant_is_found_by_its_distance_and_nothing_outside_the_file_is() {
        let there = distance(&ONE).unwrap();
        assert_eq!(place::<u64>(there), Some(&raw const ONE));
        assert_eq!(place::<u64>(there + 1), None, "not aligned");
        static HEAP: OnceLock<Box<u64>> = OnceLock::new();
        let heap: &'static u64 = HEAP.get_or_init(|| Box::new(5));
        assert!(distance(heap).is_err());
        assert_eq!(place::<u64>((std::ptr::from_ref(heap) as u64).wrapping_sub(here())), None);
        assert_eq!(place::<u64>(u64::MAX / 2), None);
    }
}
