//! A dispatch over several devices.
//!
//! **One order of leases**: a thread that holds the lease of a slot may wait for a slot of a device with a higher number,
//! never for one of a device with a lower number. So no two threads wait for each other.

use super::lease::{Lease, Place};
use crate::Result;
use smallvec::SmallVec;

/// Leases a slot on each device. The leases are in the order of `places`.
pub(super) fn lease_each<'p>(places: &mut [Place<'p, '_>]) -> Result<SmallVec<[Lease<'p>; 1]>> {
    let mut order: SmallVec<[(usize, &mut Place<'p, '_>); 1]> = places.iter_mut().enumerate().collect();
    order.sort_unstable_by_key(|(_, place)| place.around.epoch.device);
    let mut leases: SmallVec<[(usize, Lease<'p>); 1]> = SmallVec::new();
    for (index, place) in order {
        leases.push((index, place.lease()?));
    }
    leases.sort_unstable_by_key(|(index, _)| *index);
    Ok(leases.into_iter().map(|(_, lease)| lease).collect())
}
