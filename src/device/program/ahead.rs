//! What the steps of a program need is made when the program is: plans, kernels.

use super::plan::Plan;
use crate::core::error::Result;
use crate::core::op::Spans;
use crate::core::sync::Arc;
use crate::device::Device;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};

/// An operation that only needs the plans of a program.
struct Ahead(Arc<Plan>);

impl Op for Ahead {
    const NAME: &'static str = "prepare";
    const LIBRARY: &'static str = "program";
    const PREPARED: bool = true;
    type Reads = ();
    type Output = ();
    type Raw = ();

    fn check(&self, (): &(), (): &()) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, (): &Spans<()>, (): &Spans<()>, plans: &mut Prepare<'_>) {
        self.0.prepare(plans);
    }

    fn host(&self, (): Slices<'_, Self>, (): SlicesMut<'_, Self>) -> Result<()> {
        Ok(())
    }

    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Begins to make the plans of a program on a GPU of this process. It is only a head start: the first replay waits for them, and
/// reports errors.
pub(super) fn make_plans(device: &Device, plan: &Arc<Plan>) {
    if plan.prepared && device.kind() == crate::core::device_info::DeviceKind::Cuda && !device.is_isolated() {
        drop(device.dispatch(Ahead(plan.clone()), (), ()));
    }
}
