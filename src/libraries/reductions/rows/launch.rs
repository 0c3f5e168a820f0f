//! The CUDA half: kernels as plans, and their launch.

use super::super::exponentials::is_it;
use super::super::space::{CHAINS, GROUP};
use super::kernel::{Argument, KEEPING, Kernel, Key, Program, QUAD, TEAM, block};
use super::op::Rows;
use super::shape::Plan;
use super::softmax::of_exponential;
use crate::core::buffer::AnySpan;
use crate::core::cache::Words;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::core::sync::Arc;
use crate::engines::cuda::PlanBuilder;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Built, PlanKey};
use crate::libraries::expressions::formula::Shared;
use crate::libraries::expressions::ir::Expr;
use crate::libraries::expressions::low::lower::computed;
use crate::libraries::expressions::ptx::formula::{in_register, uniform};
use crate::libraries::kernel::{Loaded, load};
use smallvec::SmallVec;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

/// Whether it is faster: of exponentials of halves only softmax, which then computes each once (H100, benches/results).
fn is_worth_it(rows: &Rows) -> Result<bool> {
    let shape = &rows.reduce.shape;
    let (dtype, finish) = (shape.element_type()?, &shape.finish);
    match (is_it(shape.kind) && dtype.size() == 2, finish) {
        (false, _) => Ok(true),
        (true, None) => Ok(false),
        (true, Some(finish)) => {
            let made = &rows.map.formula.0.expr;
            Ok(of_exponential(dtype, &finish.0.expr, made)?.is_some())
        }
    }
}

/// A key that is hashed once, and compared by where it lies first.
#[derive(Clone, Debug)]
pub(super) struct Hashed(Arc<(u64, Key)>);

impl Hashed {
    fn new(key: Key) -> Self {
        Hashed(Arc::new((BuildHasherDefault::<Words>::default().hash_one(&key), key)))
    }
}

impl PartialEq for Hashed {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}
impl Eq for Hashed {}

impl Hash for Hashed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.0);
    }
}

impl PlanKey for Hashed {
    type Plan = Loaded<Kernel>;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Loaded<Kernel>>> {
        let (kernel, text) = Kernel::new(&self.0.1)?;
        load(text, kernel, builder)
    }
}

/// Whether the layouts allow four elements at once, if the addresses do.
fn is_aligned(rows: &Rows, plan: &Plan) -> bool {
    let constants = (0..plan.space.walks.len()).map(|k| plan.is_constant(k));
    let multiple = |n: isize| n % QUAD as isize == 0;
    let mut along = plan.space.walks.iter().zip(constants).filter(|(_, constant)| !constant).map(|(walk, _)| walk);
    rows.map.formula.0.expr.inputs().len() == plan.space.walks.len()
        && plan.space.length.is_multiple_of(QUAD)
        && along.all(|walk| walk.kept.strides().iter().all(|stride| multiple(*stride)))
}

/// Whether threads keep their elements: those of one operand, in registers of 32 bits.
fn keeps(element: &Expr, inputs: &[(DType, bool)], groups: usize) -> bool {
    let mut moving = inputs.iter().take(element.inputs().len()).filter(|(_, constant)| !constant);
    let one = moving.next().is_some_and(|(dtype, _)| dtype.size() <= 4) && moving.next().is_none();
    one && TEAM * groups <= KEEPING
}

/// The kernels: for single elements, and for four at once if the layouts allow it.
pub(super) struct Keys {
    pub(super) all: SmallVec<[Hashed; 2]>,
}

pub(super) fn keys(rows: &Rows) -> Result<&Keys> {
    let found = &rows.spreading.keys;
    if let Some(keys) = found.get() {
        return Ok(keys);
    }
    let all = made(rows)?.into_iter().map(Hashed::new).collect();
    Ok(found.get_or_init(|| Keys { all }))
}

fn made(rows: &Rows) -> Result<Vec<Key>> {
    let plan = rows.plan()?;
    let (shape, expr) = (&rows.reduce.shape, &rows.map.formula.0.expr);
    let read = plan.space.walks.len().saturating_sub(1);
    let inputs = expr.inputs().iter().take(read).enumerate().map(|(k, dtype)| (*dtype, plan.is_constant(k)));
    let inputs: Vec<(DType, bool)> = inputs.collect();
    let (length, groups) = (plan.space.length, plan.space.groups());
    let keeps = keeps(&shape.prepared()?.element.expr, &inputs, groups) && is_worth_it(rows)?;
    let all = if groups > 1 { GROUP / CHAINS } else { length.div_ceil(CHAINS).next_power_of_two() };
    let several: &[usize] = if keeps { &[all] } else { &[4, 2, 1] };
    let turns = several.iter().copied().find(|turns| length.is_multiple_of(turns * CHAINS));
    let otherwise = if length > CHAINS { 2 } else { 1 };
    let places = [TEAM, 2 * TEAM, 4 * TEAM].into_iter().find(|places| groups <= *places);
    let key = |is_vector: bool| -> Result<Key> {
        Ok(Key {
            kind: shape.kind,
            dtype: shape.element_type()?,
            element: Shared(shape.prepared()?.element.clone()),
            finish: shape.finish.clone(),
            spread: rows.map.formula.clone(),
            inputs: inputs.clone(),
            kept: plan.space.output.rank(),
            is_vector,
            turns: turns.unwrap_or(if keeps { all } else { otherwise }),
            is_whole: turns.is_some(),
            places: if groups == 1 { 1 } else { places.unwrap_or(4 * TEAM) },
            keeps,
        })
    };
    let single = key(false)?;
    Ok(if is_aligned(rows, plan) { vec![single, key(true)?] } else { vec![single] })
}

pub(super) fn enqueue(rows: &Rows, queue: &mut Enqueue<'_, Rows>) -> Result<()> {
    let (plan, shape, expr) = (rows.plan()?, &rows.reduce.shape, &rows.map.formula.0.expr);
    let (space, recipe) = (&plan.space, &shape.prepared()?.recipe);
    let read = space.walks.len().saturating_sub(1);
    let target_size = expr.output_types().next().map_or(1, DType::size);
    let size = |k: usize| if k < read { expr.inputs().get(k).map_or(1, |dtype| dtype.size()) } else { target_size };
    let written: Vec<u64> = queue.writes().iter().map(AnySpan::address).collect();
    let target = written.first().copied().unwrap_or(0);
    let offset = |k: usize| space.walks.get(k).map_or(0, |walk| walk.kept.offset() * size(k)) as u64;
    let bases: Vec<u64> = queue.reads().iter().enumerate().map(|(k, span)| span.address() + offset(k)).collect();
    let result_size = shape.result_type().size();
    let constant = |k: usize| plan.is_constant(k);
    let aligned = |(k, address): (usize, &u64)| constant(k) || address.is_multiple_of((QUAD * size(k)).min(16) as u64);
    let vector = keys(rows)?.all.len() > 1 && bases.iter().chain([&(target + offset(read))]).enumerate().all(aligned);
    let loaded = queue.plan::<Hashed>(if vector { 1 } else { 0 })?;
    let groups = space.groups();
    let (together, threads) = block(groups);
    let (_, count) = rows.reduce.count_bits(recipe);
    let stride =
        |strides: &[isize], axis: usize, size: usize| (strides.get(axis).copied().unwrap_or(0) * size as isize) as u64;
    let word = |argument: &Argument| match *argument {
        Argument::Rows => space.results as u64,
        Argument::Target => target + offset(read),
        Argument::Results => written.get(1).map_or(0, |at| at + (space.output.offset() * result_size) as u64),
        Argument::Base(k) => bases.get(k).copied().unwrap_or(0),
        Argument::Length => space.length as u64,
        Argument::Groups => groups as u64,
        Argument::Together => together as u64,
        Argument::Kept(axis) => space.output.shape().get(axis).copied().unwrap_or(1) as u64,
        Argument::KeptStride(k, axis) => {
            space.walks.get(k).map_or(0, |walk| stride(walk.kept.strides(), axis, size(k)))
        }
        Argument::ResultStride(axis) => stride(space.output.strides(), axis, result_size),
        Argument::Identity(k, part) => {
            let scalar = recipe.identity.get(k);
            let bits = scalar.and_then(|scalar| scalar.words().get(part).copied()).unwrap_or(0);
            scalar.map_or(bits, |scalar| in_register(computed(scalar.dtype()), bits))
        }
        Argument::Count => count,
        Argument::Uniform(program, k) => {
            let scalars = match program {
                Program::After => &rows.reduce.finish_scalars,
                Program::Spread => &rows.map.scalars,
                _ => &rows.reduce.scalars,
            };
            // The expressions have no extents: see `shape.rs`.
            uniform(loaded.kernel.programs.get(program), k, scalars, &[])
        }
    };
    let mut arguments = loaded.kernel.words.values(word);
    let blocks = space.results.div_ceil(together) as u32;
    // SAFETY: the kernel has as many words as the arguments. It reads and writes what the layouts reach, which lies inside the operands
    // (the check of the operation); a row is no longer than a block takes.
    unsafe { loaded.launch(queue, (blocks, threads as u32), &mut arguments) }
}

const _: () = assert!(TEAM * QUAD == CHAINS && GROUP.is_multiple_of(CHAINS));
