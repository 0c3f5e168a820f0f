//! A program on arrays of the caller, block by block: what reductions are made of.

use super::Program;
use super::compile::{Place, block_length};
use super::kernels::{Args, CHUNK};
use super::run::splat;
use crate::libraries::expressions::low::{Lane, LowOp};
use crate::libraries::expressions::scalar::Scalar;

/// Values of one lane, in whole chunks.
#[derive(Clone, Copy, Debug)]
pub(in crate::libraries) struct Array {
    pub(in crate::libraries) base: *mut u8,
    /// Bytes from one chunk to the next; 0 if all are the same one.
    pub(in crate::libraries) advance: usize,
}

/// A part of an operand of a program.
#[derive(Clone, Copy, Debug)]
pub(in crate::libraries) struct Operand {
    /// The input or output; of a position its axis.
    pub(in crate::libraries) number: usize,
    pub(in crate::libraries) part: usize,
    pub(in crate::libraries) lane: Lane,
    pub(in crate::libraries) is_position: bool,
}

/// A program with the values of its scalars.
pub(in crate::libraries) struct Blocks<'a> {
    program: &'a Program,
    uniforms: Vec<[u64; CHUNK]>,
}

/// Memory for values between steps, which grows as needed.
pub(in crate::libraries) type Scratch = Vec<[u64; 8]>;

impl Program {
    /// With these values of its scalars, and these numbers of elements along the axes.
    pub(in crate::libraries) fn blocks(&self, scalars: &[Scalar], extents: &[usize]) -> Blocks<'_> {
        let uniforms = self.low.uniforms().iter().map(|uniform| splat(*uniform, scalars, extents)).collect();
        Blocks { program: self, uniforms }
    }
}

impl Blocks<'_> {
    /// What it reads, in the order of [`run`](Self::run).
    pub(in crate::libraries) fn loads(&self) -> impl Iterator<Item = Operand> {
        self.program.plan.loads.iter().map(|port| Operand {
            number: port.operand,
            part: port.part,
            lane: port.lane,
            is_position: port.is_position,
        })
    }

    /// The lanes of what it writes: the parts of the outputs.
    pub(in crate::libraries) fn stores(&self) -> impl Iterator<Item = Lane> {
        self.program.plan.stores.iter().map(|port| port.lane)
    }

    /// If all that it does is to give loads as they are: which ones.
    pub(in crate::libraries) fn moved(&self) -> Option<Vec<usize>> {
        let low = &self.program.low;
        let load = |value: &u32| {
            let LowOp::Input(input, part) = low.instrs().get(*value as usize)?.op else { return None };
            let mut loads = self.loads();
            loads.position(|load| !load.is_position && (load.number, load.part) == (input.into(), part.into()))
        };
        low.outputs().iter().flatten().map(load).collect()
    }

    /// Computes so many chunks.
    ///
    /// # Safety
    /// There is an array for each load and each store, whose base is aligned for its lane. Each has the chunks, or one if it does
    /// not advance; stores lie without gaps, and nothing else uses them.
    pub(in crate::libraries) unsafe fn run(
        &self,
        loads: &[Array],
        stores: &[*mut u8],
        chunks: usize,
        scratch: &mut Scratch,
    ) {
        let plan = &self.program.plan;
        let most = (block_length(plan.between + 16) / CHUNK).max(1);
        scratch.resize((plan.between * most * CHUNK).div_ceil(64).max(scratch.len()), [0; 8]);
        let scratch: *mut u8 = scratch.as_mut_ptr().cast();
        let mut done = 0;
        while done < chunks {
            let count = most.min(chunks - done);
            let resolve = |place: Place| -> (*mut u8, Option<usize>) {
                match place {
                    Place::Scratch(offset) => (scratch.wrapping_add(offset * most * CHUNK), None),
                    Place::Uniform(k) => {
                        let uniform = self.uniforms.get(k).map_or(scratch.cast_const(), |u| u.as_ptr().cast());
                        (uniform.cast_mut(), Some(0))
                    }
                    Place::Load(k) => match loads.get(k) {
                        Some(array) => (array.base.wrapping_add(array.advance * done), Some(array.advance)),
                        None => (scratch, Some(0)),
                    },
                    Place::Store(k) => {
                        let size = plan.stores.get(k).map_or(1, |port| port.lane.size());
                        let base = stores.get(k).copied().unwrap_or(scratch);
                        (base.wrapping_add(size * CHUNK * done), None)
                    }
                }
            };
            for step in &plan.steps {
                let mut advance = step.sizes.map(|size| size * CHUNK);
                let mut src = [std::ptr::null(); 3];
                for ((advance, src), arg) in advance.iter_mut().zip(&mut src).zip(step.args) {
                    let (base, own) = resolve(arg);
                    *src = base.cast_const();
                    *advance = own.unwrap_or(*advance);
                }
                let args = Args { dst: resolve(step.dst).0, src, advance, chunks: count };
                // SAFETY: each place has the chunks: scratch memory by its size, the others by the caller's promise. The plan
                // gives results places of their own. The level was detected.
                unsafe { (step.kernel)(&args) };
            }
            done += count;
        }
    }
}
