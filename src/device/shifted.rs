//! Buffers that begin anywhere: for tests, which then try every operation of every library at odd addresses.
//!
//! With `WINDLASS_TEST_SHIFT=3` each buffer that a program makes begins at the third element of longer memory, whose other elements
//! are NaN, or -1. The first one of a process makes the file that `WINDLASS_TEST_SHIFTED` names: a suite that does not leave it has
//! shifted nothing.

use super::Device;
use crate::core::buffer::{DeviceBuffer, InitState};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use std::sync::{Once, OnceLock};

/// Elements before each buffer.
fn before() -> usize {
    static BEFORE: OnceLock<usize> = OnceLock::new();
    *BEFORE.get_or_init(|| {
        let wanted = std::env::var("WINDLASS_TEST_SHIFT").ok();
        wanted.and_then(|wanted| wanted.trim().parse().ok()).unwrap_or(0)
    })
}

/// Says once that a buffer was shifted.
fn say() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        if let Some(file) = std::env::var_os("WINDLASS_TEST_SHIFTED") {
            let _ = std::fs::write(file, []);
        }
    });
}

impl Device {
    /// A buffer of `len` elements, which are zeros or were never written, where buffers are shifted; `None` where they are not.
    pub(super) fn shifted<T: Element>(&self, len: usize, zeroed: bool) -> Result<Option<DeviceBuffer<T>>> {
        let before = before();
        if before == 0 || len == 0 || self.recording().is_some() {
            return Ok(None);
        }
        let room = len.checked_add(before + 1).ok_or_else(|| Error::invalid("len", "the size overflows"))?;
        let all = self.unshifted::<T>(room)?;
        // Tests count the dispatches of host devices, so there it is none.
        let is_here = all.region.epoch.engine.is_host();
        let all = if is_here { spoiled(all) } else { self.fill(all, of_ones())?.into_output() };
        let (_, rest) = all.split_at(before)?;
        let (buffer, _) = rest.split_at(len)?;
        say();
        let content = if zeroed { InitState::Valid } else { InitState::Uninit };
        if zeroed && is_here {
            // SAFETY: a part of new memory of this process, which nothing else uses yet.
            unsafe { start(&buffer).write_bytes(0, len) };
        } else if zeroed {
            return Ok(Some(self.fill(buffer, T::zeroed())?.into_output()));
        }
        buffer.region.init.set(content);
        Ok(Some(buffer))
    }
}

fn start<T: Element>(buffer: &DeviceBuffer<T>) -> *mut T {
    std::ptr::with_exposed_provenance_mut::<T>(buffer.region.allocation.address as usize).wrapping_add(buffer.offset)
}

/// Bits of ones: NaN, or -1.
fn of_ones<T: Element>() -> T {
    let mut junk = T::zeroed();
    bytemuck::bytes_of_mut(&mut junk).fill(0xff);
    junk
}

/// New memory of this process with bits of ones.
fn spoiled<T: Element>(all: DeviceBuffer<T>) -> DeviceBuffer<T> {
    // SAFETY: new memory of this process, which nothing else uses yet.
    unsafe { start(&all).write_bytes(0xff, all.len()) };
    all.region.init.set(InitState::Valid);
    all
}
