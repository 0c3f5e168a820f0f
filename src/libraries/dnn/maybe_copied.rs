//! Operands as a library takes them: the caller's memory where it lies so, else a copy.

use crate::core::buffer::AnyIn;
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::{AnyTensor, AnyTensorRef, Layout};

/// The caller's operand, or a copy of it.
pub(super) enum MaybeCopied<'a> {
    Own(AnyIn<'a>),
    Copied(AnyTensor),
}

impl<'a> MaybeCopied<'a> {
    pub(super) fn part(&self) -> AnyIn<'_> {
        match self {
            MaybeCopied::Own(part) => *part,
            MaybeCopied::Copied(tensor) => tensor.buffer().as_in(),
        }
    }

    /// The elements of a view without gaps, the last axis fastest.
    pub(super) fn contiguous(device: &Device, view: &AnyTensorRef<'a>) -> Result<Self> {
        Ok(match view.layout().is_row_major() {
            true => MaybeCopied::Own(view.operand()?.0),
            false => {
                device.counts_copy();
                MaybeCopied::Copied(device.contiguous_any(view)?)
            }
        })
    }

    /// The elements of a view, copied into this layout of as many.
    pub(super) fn copied(device: &Device, view: &AnyTensorRef<'_>, layout: Layout) -> Result<Self> {
        device.counts_copy();
        let (buffer, _) = device.uninit_any(view.dtype(), [layout.len()])?.into_parts();
        let target = AnyTensor::from_buffer(buffer, layout)?;
        Ok(MaybeCopied::Copied(device.assign_any(target, |all| Ok(all.clone()), view)?))
    }
}
