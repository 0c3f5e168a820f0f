//! The loop over blocks.

use super::compile::{Place, Port, Step, block_length};
use super::kernels::{Args, CHUNK};
use super::{Program, gather};
use crate::core::element::DType;
use crate::core::error::Result;
use crate::core::harsh;
use crate::device::tensor::Layout;
use crate::libraries::expressions::ir::Expr;
use crate::libraries::expressions::low::{Lane, Uniform};
use crate::libraries::expressions::nest::Nest;
use crate::libraries::expressions::scalar::Scalar;
use crate::numerics::parallel;
use smallvec::SmallVec;
use std::cell::RefCell;

/// Where the elements of offset 0 of the operands are.
pub(in super::super) struct Bases<'a> {
    pub(in super::super) outputs: &'a [*mut u8],
    pub(in super::super) inputs: &'a [*const u8],
}

/// A part of an operand with its place in memory.
struct Bound {
    port: Port,
    /// Null for a position.
    base: *mut u8,
    /// Strides and offset in elements of the part's lane.
    layout: Layout,
    /// The elements of a row lie side by side, so that they are used where they are.
    is_dense: bool,
    /// The elements of a row are all the same one.
    is_same: bool,
}

/// One run: what all threads share.
struct Run<'a> {
    steps: &'a [Step],
    loads: Vec<Bound>,
    stores: Vec<Bound>,
    /// A chunk for each uniform.
    uniforms: Vec<[u64; CHUNK]>,
    scratch: usize,
    block: usize,
    /// The elements of a row, which a block does not leave.
    row: usize,
}

// SAFETY: the pointers are to inputs, which nothing writes while they are borrowed, and to outputs, whose elements each
// belong to one block, which one thread computes.
unsafe impl Sync for Run<'_> {}

/// Elements below which a second thread costs more than it gains.
const PARALLEL: usize = 1 << 15;

/// The elements of a row from which on blocks end with it: what a block costs is then little beside its elements, as are the steps of
/// their own for the last elements, which do not fill a chunk. Half as many are enough if all chunks are full.
const LONG: usize = 16 * CHUNK;

/// The same elements in units of a part: those of a complex number are its real and its imaginary part.
pub(in crate::libraries) fn in_parts(layout: &Layout, dtype: DType, part: usize) -> Result<Layout> {
    if !dtype.is_complex() {
        return Ok(layout.clone());
    }
    let strides: Vec<isize> = layout.strides().iter().map(|stride| stride.saturating_mul(2)).collect();
    Layout::new(layout.shape(), strides, layout.offset().saturating_mul(2).saturating_add(part))
}

impl Program {
    /// Computes the outputs, on the current rayon pool if there are enough elements. In place, an input may be an output: each
    /// element is read before it is written.
    ///
    /// # Safety
    /// `expr` is the program's. The nest is of its operands. All that its layouts reach from the bases on lies in memory that
    /// may be read, or written for outputs, and is aligned for the parts of its type; the elements of outputs are distinct, and
    /// nothing else uses them, but for an input of the same layout and base if `in_place`.
    pub(in super::super) unsafe fn run(
        &self,
        expr: &Expr,
        scalars: &[Scalar],
        nest: &Nest,
        bases: &Bases<'_>,
        in_place: bool,
    ) -> Result<()> {
        let plan = &self.plan;
        let (rank, inner) =
            nest.layouts.first().map_or((0, 1), |all| (all.rank(), all.shape().last().copied().unwrap_or(1)));
        let by_rows = rank < 2 || inner >= LONG || (inner >= LONG / 2 && inner.is_multiple_of(CHUNK));
        let row = if by_rows && rank > 1 { inner } else { usize::MAX };
        let types: Vec<DType> = expr.output_types().collect();
        let outputs = types.len();
        let bind = |port: &Port, index: usize, base: *mut u8, dtype: DType| -> Result<Bound> {
            let layout = in_parts(nest.layout(index)?, dtype, port.part)?;
            let stride = if by_rows { layout.strides().last().copied() } else { None };
            let is_dense = layout.rank() == 0 || stride == Some(1);
            Ok(Bound {
                port: *port,
                base,
                layout,
                is_dense: is_dense && !base.is_null(),
                is_same: stride == Some(0) && !base.is_null(),
            })
        };
        let mut loads = Vec::with_capacity(plan.loads.len());
        for port in &plan.loads {
            let (index, base, dtype) = if port.is_position {
                let nth = expr.positions().iter().position(|axis| usize::from(*axis) == port.operand);
                (outputs + expr.inputs().len() + nth.unwrap_or(0), std::ptr::null_mut(), DType::I64)
            } else {
                let base = bases.inputs.get(port.operand).map_or(std::ptr::null_mut(), |base| base.cast_mut());
                (outputs + port.operand, base, expr.inputs().get(port.operand).copied().unwrap_or(DType::U8))
            };
            loads.push(bind(port, index, base, dtype)?);
        }
        let mut stores = Vec::with_capacity(plan.stores.len());
        for port in &plan.stores {
            let base = bases.outputs.get(port.operand).copied().unwrap_or(std::ptr::null_mut());
            let store = bind(port, port.operand, base, types.get(port.operand).copied().unwrap_or(DType::U8))?;
            // In place an output is written only when all steps of a block have read it as an input.
            stores.push(Bound { is_dense: store.is_dense && !in_place, ..store });
        }
        let uniforms = self.low.uniforms().iter().map(|uniform| splat(*uniform, scalars, &nest.extents)).collect();
        let staged = loads.iter().chain(&stores).filter(|bound| !bound.is_dense && !bound.is_same);
        let block = block_length(plan.between + staged.map(|bound| bound.port.lane.size()).sum::<usize>());
        Run { steps: &plan.steps, loads, stores, uniforms, scratch: plan.scratch, block, row }.go(nest.len());
        Ok(())
    }
}

/// A chunk of the same value.
pub(super) fn splat((uniform, lane): (Uniform, Lane), scalars: &[Scalar], extents: &[usize]) -> [u64; CHUNK] {
    let bits = match uniform {
        Uniform::Parameter(k, part) => {
            let [re, im] = scalars.get(usize::from(k)).map_or([0; 2], |scalar| scalar.words());
            if part == 0 { re } else { im }
        }
        Uniform::Constant(bits) => bits,
        Uniform::Extent(axis) => extents.get(usize::from(axis)).map_or(0, |n| *n as u64),
    };
    let word = match lane.size() {
        1 => u64::from_ne_bytes([bits as u8; 8]),
        2 => (bits & 0xffff) * 0x0001_0001_0001_0001,
        4 => (bits & 0xffff_ffff) * 0x0000_0001_0000_0001,
        _ => bits,
    };
    [word; CHUNK]
}

thread_local! {
    /// Scratch memory is kept: a call of few elements does not allocate.
    static SCRATCH: RefCell<Vec<[u64; 8]>> = const { RefCell::new(Vec::new()) };
}

impl Run<'_> {
    fn go(&self, len: usize) {
        if len == 0 {
            return;
        }
        // Work is shared out in pieces of several blocks.
        let piece = (self.block * 8).max(PARALLEL / 2);
        if len < PARALLEL || rayon::current_num_threads() == 1 {
            return self.range(0, len);
        }
        parallel::each_number(len.div_ceil(piece), 1, &|k| self.range(k * piece, len.min((k + 1) * piece)));
    }

    /// Computes the elements `start..end`.
    fn range(&self, start: usize, end: usize) {
        SCRATCH.with(|cell| {
            // No function of the loops comes back here, so that the scratch memory is free; a nested run has its own.
            let mut own = Vec::new();
            let mut kept = cell.try_borrow_mut();
            let scratch = kept.as_deref_mut().unwrap_or(&mut own);
            scratch.resize((self.scratch * self.block).div_ceil(64).max(scratch.len()), [0; 8]);
            harsh::spoil_values(scratch);
            let scratch: *mut u8 = scratch.as_mut_ptr().cast();
            let mut at = start;
            while at < end {
                let len = self.block.min(end - at).min(self.row - at % self.row);
                let whole = len / CHUNK * CHUNK;
                // The last elements do not fill a chunk: they go through scratch memory.
                let (len, staged) = if whole == 0 { (len, true) } else { (whole, false) };
                self.block(scratch, at, len, staged);
                at += len;
            }
        });
    }

    fn block(&self, scratch: *mut u8, start: usize, len: usize, staged: bool) {
        let stage = |port: &Port| scratch.wrapping_add(port.stage * self.block);
        for load in self.loads.iter().filter(|load| staged || !load.is_dense) {
            let dst = stage(&load.port);
            let len = if load.is_same { len.min(CHUNK) } else { len };
            if load.base.is_null() {
                // SAFETY: the stage has a block of 8 bytes for each element, aligned to 64, and nothing else uses it.
                let dst = unsafe { std::slice::from_raw_parts_mut(dst.cast::<i64>(), len) };
                gather::positions(dst, &load.layout, start);
            } else {
                // SAFETY: the operand holds its layout (`Program::run`); the stage has a block of this lane.
                unsafe { gather::gather(dst, load.base, load.port.lane.size(), &load.layout, start, len) };
            }
        }
        let at = |bound: &Bound| -> *mut u8 {
            if staged || !bound.is_dense {
                return stage(&bound.port);
            }
            let offset = gather::offset_of(&bound.layout, start);
            bound.base.wrapping_offset(offset * bound.port.lane.size() as isize)
        };
        let loads: SmallVec<[*mut u8; 8]> = self.loads.iter().map(at).collect();
        let stores: SmallVec<[*mut u8; 8]> = self.stores.iter().map(at).collect();
        let resolve = |place: Place| -> *mut u8 {
            match place {
                Place::Scratch(offset) => scratch.wrapping_add(offset * self.block),
                Place::Uniform(k) => {
                    self.uniforms.get(k).map_or(scratch.cast_const(), |u| u.as_ptr().cast()).cast_mut()
                }
                Place::Load(k) => loads.get(k).copied().unwrap_or(scratch),
                Place::Store(k) => stores.get(k).copied().unwrap_or(scratch),
            }
        };
        let chunks = len.div_ceil(CHUNK);
        for step in self.steps {
            let mut advance = step.sizes.map(|size| size * CHUNK);
            for (advance, arg) in advance.iter_mut().zip(step.args) {
                let is_same = match arg {
                    Place::Uniform(_) => true,
                    Place::Load(k) => self.loads.get(k).is_some_and(|load| load.is_same),
                    _ => false,
                };
                if is_same {
                    *advance = 0;
                }
            }
            let src = step.args.map(|arg| resolve(arg).cast_const());
            let args = Args { dst: resolve(step.dst), src, advance, chunks };
            // SAFETY: each place has whole chunks: scratch memory and stages do, tensors are used in place only for whole
            // chunks of one row, and what is the same for all elements does not advance, and has a chunk. The plan gives results
            // places of their own. The level was detected.
            unsafe { (step.kernel)(&args) };
        }
        for store in self.stores.iter().filter(|store| staged || !store.is_dense) {
            let src = stage(&store.port);
            // SAFETY: the operand holds its layout, whose elements are distinct (`Program::run`); the stage has a block.
            unsafe { gather::scatter(store.base, src, store.port.lane.size(), &store.layout, start, len) };
        }
    }
}
