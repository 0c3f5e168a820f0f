//! The CUDA half: kernels as plans, kept by the device and built by it ahead of the launch, and their launch.

use super::formula::{Recorded, Shared};
use super::nest::Nest;
use super::op::Map;
use super::ptx::{Geometry, Kernel, Launch};
use super::scalar::Scalar;
use super::shape::Shape;
use crate::core::error::Result;
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use crate::engines::cuda::{PlanBuilder, Queue};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Built, PlanKey, Prepare};
use crate::libraries::kernel::{BLOCK, Loaded, blocks, load};
use smallvec::SmallVec;

/// What a kernel depends on: an expression and a class of layouts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    formula: Shared,
    geometry: Arc<Geometry>,
}

impl Key {
    /// The key of an operation that was checked; `None` if it has nothing to do.
    pub(super) fn from_map(map: &Map) -> Option<Self> {
        let nest = map.nest().ok()?;
        let geometry = map.shape.geometry(&map.formula.0.expr).ok()?;
        (nest.len() > 0).then(|| Key { formula: map.formula.clone(), geometry: geometry.clone() })
    }
}

impl PlanKey for Key {
    type Plan = Loaded<Kernel>;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Loaded<Kernel>>> {
        let (kernel, text) = Kernel::new(&self.formula.0.expr, &self.geometry)?;
        load(text, kernel, builder)
    }
}

pub(super) fn enqueue(map: &Map, queue: &mut Enqueue<'_, Map>) -> Result<()> {
    let nest = map.nest()?;
    if nest.len() == 0 {
        return Ok(());
    }
    let loaded = queue.plan::<Key>(0)?;
    let written = queue.writes().iter().map(|span| span.address());
    let updated = if map.shape.in_place { queue.writes().len() } else { 0 };
    let addresses: SmallVec<[u64; 12]> =
        written.clone().chain(written.take(updated)).chain(queue.reads().iter().map(|span| span.address())).collect();
    // SAFETY: what the layouts reach lies inside the operands (the check of the operation).
    unsafe { loaded.run(queue, &map.formula, nest, &addresses, &map.scalars) }
}

impl Loaded<Kernel> {
    /// # Safety
    /// The dispatch may read, and write, what the layouts reach from the addresses: outputs, inputs.
    unsafe fn run(
        &self,
        queue: &mut Queue<'_>,
        formula: &Shared,
        nest: &Nest,
        addresses: &[u64],
        scalars: &[Scalar],
    ) -> Result<()> {
        let geometry = &*self.kernel.geometry;
        let launch = Launch { expr: &formula.0.expr, geometry, nest, addresses, scalars };
        let mut arguments = self.kernel.arguments(&launch);
        let blocks = blocks(geometry.threads(nest), BLOCK);
        // SAFETY: the kernel has as many words as the arguments. It reads and writes what the layouts reach (the caller's promise).
        unsafe { self.launch(queue, (blocks, BLOCK), &mut arguments) }
    }
}

/// A formula as one of the kernels of another operation, which knows where the operands lie when it launches.
pub(in crate::libraries) struct Part {
    formula: Shared,
    shape: Arc<Shape>,
}

impl Part {
    /// Of layouts of outputs and inputs from an address of each. An output may have the address of an input of the same layout, since a
    /// thread reads its elements before it writes them.
    pub(in crate::libraries) fn new(recorded: &Recorded, outputs: &[Layout], inputs: &[Layout]) -> Result<Self> {
        let shape = recorded.kept.shape(outputs, inputs, false);
        shape.check(&recorded.kept.expr)?;
        Ok(Part { formula: Shared(recorded.kept.clone()), shape })
    }

    /// Names its kernel among the plans of the operation.
    pub(in crate::libraries) fn plan(&self, plans: &mut Prepare<'_>) -> Result<()> {
        let geometry = self.shape.geometry(&self.formula.0.expr)?.clone();
        plans.plan(&Key { formula: self.formula.clone(), geometry });
        Ok(())
    }

    /// Launches it, by the plan of this number.
    ///
    /// # Safety
    /// The dispatch may read, and write, what the layouts reach from the addresses: outputs, inputs.
    pub(in crate::libraries) unsafe fn launch(
        &self,
        queue: &mut Queue<'_>,
        plan: usize,
        addresses: &[u64],
        scalars: &[Scalar],
    ) -> Result<()> {
        let nest = self.shape.nest(&self.formula.0.expr)?;
        if nest.len() == 0 {
            return Ok(());
        }
        let loaded = queue.plan::<Key>(plan)?;
        // SAFETY: the caller's promise.
        unsafe { loaded.run(queue, &self.formula, nest, addresses, scalars) }
    }
}
