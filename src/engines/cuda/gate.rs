//! Operands that nobody owns.

use super::submit::Around;
use crate::buffer::View;
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};

/// Between the look at what a submission must follow and the publication of its own completion another may be submitted.
/// Where nobody owns what is written, writers keep all others out meanwhile.
#[derive(Default)]
pub(super) struct Gate<'x> {
    _read: Option<RwLockReadGuard<'x, ()>>,
    _write: Option<RwLockWriteGuard<'x, ()>>,
}

impl<'x> Gate<'x> {
    pub(super) fn enter(s: Around<'_, 'x>) -> Self {
        let gated = |(i, view): (usize, &View<'x>)| Some((i, view.region.gate.as_deref()?));
        match s.views.iter().enumerate().find_map(gated) {
            None => Gate::default(),
            Some((i, gate)) if i < s.read_count => Gate { _read: Some(gate.read()), _write: None },
            Some((_, gate)) => Gate { _read: None, _write: Some(gate.write()) },
        }
    }
}
