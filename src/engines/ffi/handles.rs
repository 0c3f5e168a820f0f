//! The handles of a slot: one place for each library of the list.

use super::{Code, Entry};
use std::any::Any;

/// The handles of one slot, by the number of their library. Used only under the slot's lease.
#[derive(Default)]
pub(crate) struct Handles(Vec<Option<Box<dyn Any + Send>>>);

impl Handles {
    /// The handle of one library, of the library's type `H`.
    pub(crate) fn get<H: 'static>(&mut self, library: usize) -> Option<&mut H> {
        self.0.get_mut(library)?.as_mut()?.downcast_mut()
    }

    pub(crate) fn put<H: Send + 'static>(&mut self, library: usize, held: H) {
        if self.0.len() <= library {
            self.0.resize_with(library + 1, || None);
        }
        if let Some(place) = self.0.get_mut(library) {
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
