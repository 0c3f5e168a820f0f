//! The CUDA half: the kernels of the levels as plans, and their launches.

use super::kind::ReductionKind;
use super::op::Reduce;
use super::ptx::{COLUMNS, Geometry, Kernel, Launch, Way};
use super::recipe::Recipe;
use super::shape::Shape;
use super::space::Space;
use crate::core::buffer::AnySpan;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::engines::cuda::PlanBuilder;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Built, PlanKey};
use crate::libraries::expressions::formula::Shared;
use crate::libraries::expressions::low::Lane;
use crate::libraries::expressions::low::lower::computed;
use crate::libraries::kernel::{Loaded, blocks, load};

/// What a kernel depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    kind: ReductionKind,
    /// The type of the caller's formula.
    dtype: DType,
    element: Shared,
    finish: Option<Shared>,
    geometry: Geometry,
}

impl PlanKey for Key {
    type Plan = Loaded<Kernel>;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Loaded<Kernel>>> {
        let recipe = Recipe::for_kind(self.kind, self.dtype)?;
        let after = self.finish.as_ref().map(|kept| &kept.0.expr);
        let own = self.kind.result(self.dtype);
        let result = after.map_or(own, |expr| expr.output_types().next().unwrap_or(own));
        let (kernel, text) = Kernel::new(&recipe, &self.element.0.expr, after, result, &self.geometry)?;
        load(text, kernel, builder)
    }
}

/// A level of the tree.
pub(super) struct Level {
    space: Space,
    /// Its kernel.
    pub(super) key: Key,
    /// The sizes of the elements of what is read.
    sizes: Vec<usize>,
}

/// The lanes of the parts of accumulators.
fn slots(recipe: &Recipe) -> Vec<Lane> {
    let of = |dtype: &DType| std::iter::repeat_n(computed(*dtype), if dtype.is_complex() { 2 } else { 1 });
    recipe.accumulators.iter().flat_map(of).collect()
}

/// The levels of a shape that was checked, from the elements on; none if nothing is written.
pub(super) fn levels(shape: &Shape) -> Result<Vec<Level>> {
    let prepared = shape.prepared()?;
    let mut levels = Vec::new();
    let mut space = prepared.space.clone();
    if space.results == 0 {
        return Ok(levels);
    }
    let (element, dtype) = (Shared(prepared.element.clone()), shape.element_type()?);
    let mut sizes: Vec<usize> = prepared.element.expr.inputs().iter().map(|dtype| dtype.size()).collect();
    let slots = slots(&prepared.recipe);
    loop {
        let geometry = Geometry::new(&space, &sizes, levels.is_empty());
        let (ends, by_result) = (geometry.ends(), geometry.is_by_result());
        let next = space.of_groups(slots.len(), by_result)?;
        let finish = shape.finish.clone().filter(|_| ends);
        let key = Key { kind: shape.kind, dtype, element: element.clone(), finish, geometry };
        levels.push(Level { space, key, sizes });
        if ends {
            return Ok(levels);
        }
        space = next;
        sizes = slots.iter().map(|lane| lane.size()).collect();
    }
}

pub(super) fn enqueue(reduce: &Reduce, queue: &mut Enqueue<'_, Reduce>) -> Result<()> {
    let shape = &reduce.shape;
    let prepared = shape.prepared()?;
    let recipe = &prepared.recipe;
    let output = queue.writes().first().map_or(0, |span| span.address());
    // What has no elements has no place. Nothing is read there.
    let place = |span: &AnySpan| if span.is_empty() { output } else { span.address() };
    let mut addresses: Vec<u64> = queue.reads().iter().map(place).collect();
    let slots = slots(recipe);
    let (_, count) = reduce.count_bits(recipe);
    for (k, level) in shape.levels()?.iter().enumerate() {
        let geometry = &level.key.geometry;
        let loaded = queue.plan::<Key>(k)?;
        let tasks = level.space.results * level.space.groups();
        let targets = match geometry.is_last {
            true => Vec::new(),
            false => slots.iter().map(|lane| queue.scratch(tasks * lane.size())).collect::<Result<Vec<_>>>()?,
        };
        let launch = Launch {
            space: &level.space,
            recipe,
            targets: &targets,
            addresses: &addresses,
            sizes: &level.sizes,
            output,
            counter: if geometry.folds { queue.counter()? } else { 0 },
            result_size: shape.result_type().size(),
            extents: shape.shape(),
            scalars: &reduce.scalars,
            finish_scalars: &reduce.finish_scalars,
            count,
            is_leaf: geometry.is_leaf,
        };
        let mut arguments = loaded.kernel.arguments(&launch);
        let block = loaded.kernel.threads as u32;
        let threads = match geometry.way {
            Way::Warps { .. } => tasks.saturating_mul(32),
            Way::Threads { .. } => tasks,
            Way::Columns => tasks.div_ceil(COLUMNS).saturating_mul(loaded.kernel.threads),
        };
        // SAFETY: the kernel has as many words as the arguments. It reads what the layouts reach, which lies inside the operands (the
        // check of the operation), or accumulators in scratch memory, and writes the output, or as many accumulators as there is
        // scratch memory for. The counter is the slot's, whose kernels follow each other.
        unsafe { loaded.launch(queue, (blocks(threads, block), block), &mut arguments) }?;
        addresses = targets;
    }
    Ok(())
}
