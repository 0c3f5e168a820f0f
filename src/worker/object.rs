//! Where the loaded file lies that an address belongs to.

use std::ffi::{c_int, c_void};
use std::ops::Range;

struct Search {
    address: usize,
    found: Range<usize>,
}

/// The addresses of the program or shared object that holds `address`: from the first of its loaded segments to the last.
/// Empty when there is none.
pub(super) fn around(address: usize) -> Range<usize> {
    let mut search = Search { address, found: 0..0 };
    // SAFETY: `look` is given the search, which outlives the call, and touches it only during the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader passes a filled record, and `around` its search, to this call alone.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader says how many headers lie there; they stay as long as the object is loaded, which it is now.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let ranges = loaded.map(|header| {
        let begin = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        begin..begin.wrapping_add(header.p_memsz as usize)
    });
    let whole = ranges.clone().reduce(|all, one| all.start.min(one.start)..all.end.max(one.end));
    let holds = ranges.clone().any(|range| range.contains(&search.address));
    match whole {
        Some(whole) if holds => {
            search.found = whole;
            1
        }
        _ => 0,
    }
}
