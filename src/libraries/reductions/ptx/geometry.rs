//! What a kernel has to know of its operands, and what it is told at each launch.

use super::super::recipe::Recipe;
use super::super::space::{CHAINS, GROUP, Space};
use super::{Program, Programs};
use crate::libraries::expressions::Scalar;
use crate::libraries::expressions::low::lower::computed;
use crate::libraries::expressions::ptx::formula::{in_register, uniform};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a group is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Way {
    /// A warp has a group. Neighbouring warps have groups of neighbouring results, or of one result.
    Warps { by_result: bool },
    /// A thread has a group, of so many chains; neighbouring threads have groups of neighbouring results.
    Threads { chains: usize },
    /// A block has the groups of neighbouring results.
    Columns,
}

/// The results of a block that has columns: as many as a warp has lanes.
pub(in super::super) const COLUMNS: usize = 32;

/// From how many groups on a thread has one, where results lie side by side. With less of them more of the device is busy if a
/// warp has one. Tests lower it.
#[doc(hidden)]
pub static THREADS_FROM: AtomicUsize = AtomicUsize::new(1 << 14);
/// Results with at most so many elements take a thread each: a warp would be idle for the most part.
const FEW: usize = 16;
/// The most groups of accumulators that a block joins. More of them take a launch of their own, which has many blocks.
pub(super) const FOLDED: usize = 8;

/// What the text of a kernel depends on besides the expressions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Geometry {
    pub(in super::super) way: Way,
    /// The axes of the results, and of the elements of one.
    pub(super) kept: usize,
    pub(super) reduced: usize,
    /// Whether numbers and offsets need 64 bits.
    pub(super) is_wide: bool,
    /// Whether it reads elements, not accumulators.
    pub(in super::super) is_leaf: bool,
    /// Whether it makes results, not accumulators.
    pub(in super::super) is_last: bool,
    /// Whether it makes the result as well: the last of its blocks joins the accumulators of all of them.
    pub(in super::super) folds: bool,
}

impl Geometry {
    /// Of a level whose operands have elements of these sizes, of which positions have none.
    pub(in super::super) fn new(space: &Space, sizes: &[usize], is_leaf: bool) -> Self {
        let tasks = space.results.saturating_mul(space.groups());
        let near = space.results_are_near();
        let threads = THREADS_FROM.load(Ordering::Relaxed);
        let way = if near && space.results >= COLUMNS && space.length > CHAINS {
            Way::Columns
        } else if space.results >= CHAINS / 2 && (space.length <= FEW || (near && tasks >= threads)) {
            Way::Threads { chains: space.length.clamp(1, CHAINS).next_power_of_two() }
        } else {
            Way::Warps { by_result: near }
        };
        let far = |extents: &[usize], strides: &[isize]| -> i128 {
            extents.iter().zip(strides).map(|(n, stride)| (*n as i128 - 1).max(0) * (*stride as i128).abs()).sum()
        };
        let reach = |(k, walk): (usize, &super::super::space::Walk)| {
            let own = far(walk.kept.shape(), walk.kept.strides()) + far(&space.reduced, &walk.reduced) + 1;
            own * sizes.get(k).copied().unwrap_or(1) as i128
        };
        let output = (far(space.output.shape(), space.output.strides()) + 1) * 16;
        let farthest = space.walks.iter().enumerate().map(reach).max().unwrap_or(0).max(output);
        let most = 1 << 30;
        Geometry {
            way,
            kept: space.output.rank(),
            reduced: space.reduced.len(),
            is_wide: farthest > most || tasks > most as usize || space.length > most as usize,
            is_leaf,
            is_last: space.groups() == 1,
            folds: matches!(way, Way::Warps { .. })
                && space.results == 1
                && space.groups() > 1
                && space.groups().div_ceil(GROUP) <= FOLDED,
        }
    }

    /// Whether it makes results.
    pub(in super::super) fn ends(&self) -> bool {
        self.is_last || self.folds
    }

    /// Whether the accumulators of the level lie with those of neighbouring results side by side.
    pub(in super::super) fn is_by_result(&self) -> bool {
        !matches!(self.way, Way::Warps { by_result: false })
    }
}

/// A word of the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    Tasks,
    /// A slot of accumulators that is written.
    Target(usize),
    /// The result of offset 0 that is written.
    Output,
    /// What counts the blocks that are done: zero, and again when the kernel ends.
    Counter,
    /// The address of an operand's first element; of a position its first value.
    Base(usize),
    Results,
    Groups,
    Length,
    /// The extent of an axis of the results.
    Kept(usize),
    /// The stride of an operand along an axis of the results, in bytes; of a position in numbers.
    KeptStride(usize, usize),
    /// That of what is written.
    OutputStride(usize),
    /// The extent of a reduced axis.
    Reduced(usize),
    ReducedStride(usize, usize),
    /// The distance between neighbours of a chain.
    ChainStride(usize),
    /// A part of an accumulator that a chain begins with.
    Identity(usize, usize),
    /// The number of elements, as the kind takes it.
    Count,
    Uniform(Program, u16),
}

/// One launch.
pub(in super::super) struct Launch<'a> {
    pub(in super::super) space: &'a Space,
    pub(in super::super) recipe: &'a Recipe,
    /// The addresses of the slots that are written.
    pub(in super::super) targets: &'a [u64],
    /// That of the results, and of the counter of blocks.
    pub(in super::super) output: u64,
    pub(in super::super) counter: u64,
    /// Those of what is read.
    pub(in super::super) addresses: &'a [u64],
    /// The sizes of the elements of what is read.
    pub(in super::super) sizes: &'a [usize],
    /// Of a result.
    pub(in super::super) result_size: usize,
    pub(in super::super) extents: &'a [usize],
    pub(in super::super) scalars: &'a [Scalar],
    pub(in super::super) finish_scalars: &'a [Scalar],
    pub(in super::super) count: u64,
    pub(in super::super) is_leaf: bool,
}

impl Launch<'_> {
    fn stride(&self, operand: usize, stride: Option<&isize>) -> u64 {
        let size = self.sizes.get(operand).copied().unwrap_or(1);
        (stride.copied().unwrap_or(0) * size as isize) as u64
    }

    fn reduced(&self, operand: usize, axis: usize) -> Option<&isize> {
        self.space.walks.get(operand).and_then(|walk| walk.reduced.get(axis))
    }

    /// A word of the arguments.
    pub(super) fn word(&self, argument: &Argument, programs: &Programs) -> u64 {
        let space = self.space;
        match *argument {
            Argument::Tasks => (space.results * space.groups()) as u64,
            Argument::Target(k) => self.targets.get(k).copied().unwrap_or(0),
            Argument::Output => self.output.wrapping_add((space.output.offset() * self.result_size) as u64),
            Argument::Counter => self.counter,
            Argument::Base(k) => {
                let offset = space.walks.get(k).map_or(0, |walk| walk.kept.offset());
                match self.addresses.get(k) {
                    Some(address) => address.wrapping_add((offset * self.sizes.get(k).copied().unwrap_or(1)) as u64),
                    None => offset as u64,
                }
            }
            Argument::Results => space.results as u64,
            Argument::Groups => space.groups() as u64,
            Argument::Length => space.length as u64,
            Argument::Kept(axis) => space.output.shape().get(axis).copied().unwrap_or(1) as u64,
            Argument::KeptStride(k, axis) => {
                self.stride(k, space.walks.get(k).and_then(|walk| walk.kept.strides().get(axis)))
            }
            Argument::OutputStride(axis) => {
                let stride = space.output.strides().get(axis).copied().unwrap_or(0);
                (stride * self.result_size as isize) as u64
            }
            Argument::Reduced(axis) => space.reduced.get(axis).copied().unwrap_or(1) as u64,
            Argument::ReducedStride(k, axis) => self.stride(k, self.reduced(k, axis)),
            Argument::ChainStride(k) => self.stride(k, self.reduced(k, 0)).wrapping_mul(CHAINS as u64),
            Argument::Identity(k, part) => {
                let is_empty = self.is_leaf && space.length == 0;
                let values = if is_empty { &self.recipe.empty } else { &self.recipe.identity };
                let words = values.get(k).map_or([0; 2], |scalar| scalar.words());
                let bits = words.get(part).copied().unwrap_or(0);
                values.get(k).map_or(bits, |scalar| in_register(computed(scalar.dtype()), bits))
            }
            Argument::Count => self.count,
            Argument::Uniform(program, k) => {
                let scalars = if program == Program::After { self.finish_scalars } else { self.scalars };
                uniform(programs.get(program), k, scalars, self.extents)
            }
        }
    }
}
