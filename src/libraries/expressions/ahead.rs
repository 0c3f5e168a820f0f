//! Kernels made ahead of their first use.

use super::formula::Shared;
use super::op::Map;
use crate::core::error::Result;
use crate::core::op::{Spans, Wire};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut, WritesOf};
use crate::libraries::tensor_routine::TensorRoutine;
use serde::{Deserialize, Serialize};

/// An operation that only makes the kernel of another one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ahead(pub(super) Map);

impl Op for Ahead {
    const NAME: &'static str = "prepare";
    const LIBRARY: &'static str = <Map as TensorRoutine>::LIBRARY;
    const PREPARED: bool = true;
    type Reads = ();
    type Output = ();
    type Raw = ();

    fn check(&self, (): &(), (): &()) -> Result<()> {
        self.0.check_data()
    }

    fn host(&self, (): Slices<'_, Self>, (): SlicesMut<'_, Self>) -> Result<()> {
        let Shared(kept) = &self.0.formula;
        #[cfg(feature = "host")]
        kept.program();
        let _ = kept;
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, (): &Spans<()>, (): &Spans<WritesOf<Self>>, plans: &mut Prepare<'_>) {
        TensorRoutine::prepare(&self.0, &[], &[], plans);
    }

    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Ok(())
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}
