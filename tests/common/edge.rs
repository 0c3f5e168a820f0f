//! Memory that ends where a page begins that nobody may touch, or that begins behind one, lent to a host device: who reads or
//! writes a byte too far ends the process.

use std::cell::Cell;
use std::ptr::NonNull;
use windlass::external::ForeignStream;
use windlass::{Device, DeviceBuffer, Element};

/// Where the page is that nobody may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The buffer is one of the device's own.
    Nowhere,
    /// Behind the last byte.
    End,
    /// Before the first byte.
    Begin,
}

/// Three pages or more, of which the first and the last may not be touched.
struct Pages {
    map: NonNull<u8>,
    all: usize,
}

// SAFETY: a private mapping, which any thread may use and unmap.
unsafe impl Send for Pages {}

const PAGE: usize = 4096;

impl Pages {
    fn new(bytes: usize) -> Self {
        let all = bytes.next_multiple_of(PAGE) + 2 * PAGE;
        // SAFETY: a fresh mapping; then whole pages of it.
        unsafe {
            let map = libc::mmap(std::ptr::null_mut(), all, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANON, -1, 0);
            assert_ne!(map, libc::MAP_FAILED);
            let open = libc::mprotect(map.byte_add(PAGE), all - 2 * PAGE, libc::PROT_READ | libc::PROT_WRITE);
            assert_eq!(open, 0);
            Pages { map: NonNull::new(map.cast()).unwrap(), all }
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing uses it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.all) };
    }
}

/// A buffer with these elements beside such a page, aligned for its elements and no further.
pub fn lent<T: Element>(device: &Device, data: &[T], edge: Edge) -> DeviceBuffer<T> {
    let bytes = size_of_val(data);
    if edge == Edge::Nowhere {
        return device.upload(data).unwrap().into_output();
    }
    let pages = Pages::new(bytes.max(1));
    let before = if edge == Edge::End { pages.all - PAGE - bytes } else { PAGE };
    // SAFETY: the pages have so many bytes, and belong to the buffer until it drops them.
    unsafe {
        let at = pages.map.byte_add(before).cast::<T>().as_ptr();
        at.copy_from_nonoverlapping(data.as_ptr(), data.len());
        device.adopt(at, data.len(), pages, ForeignStream::Idle).unwrap()
    }
}

/// A buffer with these elements: by turns one of the device's own, and one at either edge where the device can be lent memory.
pub fn by_turns<T: Element>(device: &Device, data: Vec<T>) -> DeviceBuffer<T> {
    thread_local!(static TURN: Cell<usize> = const { Cell::new(0) });
    let turn = TURN.replace((TURN.get() + 1) % 3);
    match [Edge::End, Edge::Begin, Edge::Nowhere][turn] {
        edge if edge != Edge::Nowhere && super::is_host(device) && !device.is_isolated() => lent(device, &data, edge),
        _ => device.upload(data).expect("an upload").into_output(),
    }
}
