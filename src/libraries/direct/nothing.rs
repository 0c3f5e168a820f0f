//! A build without the CUDA engine: no analysis and no factor is in a library, so no value of these types exists.

use crate::core::sync::Arc;
use crate::device::Device;

#[derive(Debug)]
pub(super) enum Systems {}

pub(super) enum Held {}

#[derive(Debug)]
pub(super) enum Owner {}

pub(super) enum Use {}

impl Systems {
    pub(super) fn of(_: &Device) -> Option<Arc<Self>> {
        None
    }

    pub(super) fn place(self: &Arc<Self>) -> Owner {
        match **self {}
    }
}

impl Owner {
    pub(super) fn held(&self) -> Arc<Held> {
        match *self {}
    }

    pub(super) fn share(&self) -> Use {
        match *self {}
    }
}
