//! Pinned memory of epochs that have ended, for reuse by other epochs on the same GPU.
//!
//! While `cuMemFreeHost` runs, the launches of every other thread wait until the GPU is idle. So an epoch that ends
//! while others are alive frees nothing. It hands its pieces on to the store in this file, and another epoch that needs
//! a piece of that size takes it from there. [`MOST`] bytes are kept for each GPU. A housekeeping thread frees what
//! exceeds that, while nothing of this crate is in flight on the GPU. The last epoch that ends on the GPU frees
//! everything.
//!
//! The pieces belong to the GPU's primary context, which the live epochs retain. Other code may reset the context, and
//! that frees them too. So before a piece is reused, the driver is asked whether it still knows it.

use crate::core::sync::{Arc, Mutex, Ordering};
use crate::engines::cuda::api::Code;
use crate::engines::cuda::context::Context;
use crate::engines::cuda::{Core, Native};
use std::collections::BTreeMap;
use std::sync::Weak;

/// The most bytes that are kept for each GPU.
const MOST: usize = 256 << 20;

/// One allocation of pinned memory by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) at: Native<*mut u8>,
    pub(crate) bytes: usize,
}

/// The epochs of one GPU, and the pieces that are kept for them.
#[derive(Default)]
struct Store {
    epochs: Vec<Weak<Core>>,
    pieces: Vec<Piece>,
}

/// The stores, by the GPU's number in this process.
static STORES: Mutex<BTreeMap<i32, Store>> = Mutex::new(BTreeMap::new());

impl Store {
    /// Removes and returns the newest piece of exactly that size: it is the most likely one to be in a cache.
    fn take(&mut self, bytes: usize) -> Option<Piece> {
        let place = self.pieces.iter().rposition(|piece| piece.bytes == bytes)?;
        Some(self.pieces.remove(place))
    }

    /// Removes and returns the oldest piece, if more than [`MOST`] bytes are kept.
    fn take_excess(&mut self) -> Option<Piece> {
        (self.bytes() > MOST).then(|| self.pieces.remove(0))
    }

    fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes).sum()
    }
}

/// Registers an epoch.
pub(crate) fn enter(core: &Arc<Core>) {
    let mut stores = STORES.lock();
    let epochs = &mut stores.entry(core.context.device).or_default().epochs;
    epochs.retain(|epoch| epoch.strong_count() > 0);
    epochs.push(Arc::downgrade(core));
}

/// Forgets the pieces of a GPU: other code destroyed its context, and the pieces with it.
pub(crate) fn forget(device: i32) {
    if let Some(store) = STORES.lock().get_mut(&device) {
        store.pieces.clear();
    }
}

/// A piece of exactly `bytes`, which the driver still knows. The context must be current.
pub(crate) fn take(context: &Context, bytes: usize) -> Option<Native<*mut u8>> {
    loop {
        let piece = STORES.lock().get_mut(&context.device)?.take(bytes)?;
        let mut flags = 0;
        // SAFETY: `flags` is valid for the write. An address that is no pinned memory of the driver's is refused.
        match unsafe { context.api.mem_host_get_flags(&mut flags, piece.at.0.cast()) } {
            Code::SUCCESS => return Some(piece.at),
            Code::INVALID_VALUE => {} // freed with a context that was reset
            // The query itself failed, which says nothing about the piece: it stays in the store, to be freed from there.
            _ => {
                STORES.lock().entry(context.device).or_default().pieces.push(piece);
                return None;
            }
        }
    }
}

/// The epochs of a GPU that have not ended.
fn alive(device: i32) -> Vec<Arc<Core>> {
    // Collected under the lock, and dropped without it: this may drop the last `Arc` of a core.
    let all: Vec<_> = match STORES.lock().get(&device) {
        Some(store) => store.epochs.iter().filter_map(Weak::upgrade).collect(),
        None => Vec::new(),
    };
    all.into_iter().filter(|core| !core.streams.have_ended()).collect()
}

/// Call when this epoch has ended and `pieces` are no longer used. Hands them on if another epoch of the GPU is
/// alive. Returns the pieces that the caller must free.
///
/// If two epochs end at the same time, the later one finds that the other has ended, and gets all pieces that were
/// handed on.
pub(in crate::engines::cuda) fn hand_on(core: &Core, mut pieces: Vec<Piece>) -> Vec<Piece> {
    let device = core.context.device;
    let others = alive(device);
    let mut stores = STORES.lock();
    let store = stores.entry(device).or_default();
    // Checked under the lock: an epoch that ends later gets here later, and finds the pieces that are left here
    // now.
    if others.iter().any(|core| !core.streams.have_ended()) {
        store.pieces.append(&mut pieces);
    } else {
        pieces.append(&mut store.pieces);
    }
    drop(stores);
    pieces
}

/// Frees what exceeds [`MOST`], as long as nothing of this crate is in flight on the GPU.
pub(in crate::engines::cuda) fn free_excess(core: &Core) {
    let device = core.context.device;
    while !core.streams.have_ended()
        && alive(device).iter().all(|core| core.late.in_flight() == 0 && core.streams.are_idle())
    {
        let Some(piece) = STORES.lock().get_mut(&device).and_then(Store::take_excess) else { return };
        let code = match core.context.bind() {
            // SAFETY: from `mem_host_alloc`, and owned here alone. Nothing uses it, because its epoch had ended
            // when it was handed on. The context is current.
            Ok(_bound) => unsafe { core.context.api.mem_free_host(piece.at.0.cast()) },
            Err(code) => code,
        };
        if code != Code::SUCCESS {
            core.counters.leaked.fetch_add(1, Ordering::Relaxed);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(number: usize, bytes: usize) -> Piece {
        Piece { at: Native(std::ptr::without_provenance_mut(number)), bytes }
    }

    #[test]
    fn a_piece_is_taken_by_its_size_and_the_newest_first() {
        let mut store = Store { pieces: vec![piece(1, 10), piece(2, 20), piece(3, 10)], ..Store::default() };
        assert_eq!(store.take(15), None);
        assert_eq!(store.take(10), Some(piece(3, 10)));
        assert_eq!(store.take(10), Some(piece(1, 10)));
        assert_eq!((store.take(10), store.bytes()), (None, 20));
    }

    #[test]
    fn the_oldest_goes_when_there_is_too_much() {
        let mut store = Store { pieces: vec![piece(1, MOST), piece(2, 1), piece(3, MOST)], ..Store::default() };
        assert_eq!(store.take_excess(), Some(piece(1, MOST)));
        assert_eq!(store.take_excess(), Some(piece(2, 1)));
        assert_eq!((store.take_excess(), store.bytes()), (None, MOST));
    }
}
