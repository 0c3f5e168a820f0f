//! The device addresses that a slot has allocated and not freed, so that the end of an epoch can free them.

use crate::core::sync::Mutex;

/// A list with holes: to add or remove an address takes a few nanoseconds and no search.
#[derive(Debug, Default)]
pub(crate) struct Live(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    addresses: Vec<u64>,
    holes: Vec<u32>,
}

impl Live {
    /// Adds an address and returns its place.
    pub(crate) fn enter(&self, address: u64) -> u32 {
        let mut places = self.0.lock();
        if let Some(hole) = places.holes.pop()
            && let Some(place) = places.addresses.get_mut(hole as usize)
        {
            *place = address;
            return hole;
        }
        places.addresses.push(address);
        (places.addresses.len() - 1) as u32
    }

    /// Removes the address at `place`, which was freed.
    pub(crate) fn leave(&self, place: u32) {
        let mut places = self.0.lock();
        if let Some(address) = places.addresses.get_mut(place as usize) {
            *address = 0;
            places.holes.push(place);
        }
    }

    /// Removes and returns all addresses that are left.
    pub(crate) fn take(&self) -> Vec<u64> {
        let mut places = std::mem::take(&mut *self.0.lock());
        places.addresses.retain(|&address| address != 0);
        places.addresses
    }

    /// The number of addresses.
    pub(crate) fn count(&self) -> usize {
        let places = self.0.lock();
        places.addresses.len() - places.holes.len()
    }
}
