//! The handles of a slot: one place for each library of the list.

use super::contract::{CudaLibrary, Listed};
use super::{Code, Entry};
use std::any::Any;

/// A library's functions and a handle, stored together so that one lookup finds both.
pub(super) struct ApiHandle<L: CudaLibrary> {
    pub(super) api: &'static L::Api,
    pub(super) handle: L::Handle,
}

/// The handles of one slot, by the number of their library. Used only under the slot's lease.
#[derive(Default)]
pub(crate) struct Handles(Vec<Option<Box<dyn Any + Send>>>);

impl Handles {
    pub(super) fn get<L: Listed>(&mut self) -> Option<&mut ApiHandle<L>> {
        self.0.get_mut(L::ID)?.as_mut()?.downcast_mut()
    }

    pub(super) fn put<L: Listed>(&mut self, held: ApiHandle<L>) {
        if self.0.len() <= L::ID {
            self.0.resize_with(L::ID + 1, || None);
        }
        if let Some(place) = self.0.get_mut(L::ID) {
            *place = Some(Box::new(held));
        }
    }

    /// The number of handles.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().flatten().count() as u64
    }

    /// Removes and destroys all handles, at the end of the epoch.
    pub(crate) fn destroy(&mut self, libraries: &[Entry], gone: &mut dyn FnMut(Code)) {
        for (place, entry) in std::mem::take(&mut self.0).into_iter().zip(libraries) {
            if let (Some(held), Some(native)) = (place, &entry.native) {
                gone((native.destroy)(held));
            }
        }
    }

    /// Removes all handles without destroying them, because the context is gone. Returns their number.
    pub(crate) fn forget(&mut self) -> u64 {
        let count = self.count();
        self.0.clear();
        count
    }
}
