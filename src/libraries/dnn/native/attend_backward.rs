//! The backward pass of an attention.

use super::super::attention::{AttendBackward, Scene};
use super::scores::missing;
use crate::core::error::{Error, Result};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::Prepare;

pub(in super::super) fn prepare(_: &Scene, _: &mut Prepare<'_>) {}

pub(in super::super) fn enqueue(scene: &Scene, _: &mut Enqueue<'_, AttendBackward>) -> Result<()> {
    Err(Error::unsupported(missing(scene, true).unwrap_or_default()))
}
