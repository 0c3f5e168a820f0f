//! Makes a plan: the steps of a path over operands of known strides.

use super::call::{Call, Into, wide};
use super::contraction::Shape;
use super::modes::Modes;
use super::network::Network;
use super::pair::{Choice, Pair, Place, Slot};
use super::path::{Path, operations};
use super::plan::{Plan, Step, Work};
use super::settings::{CuTensor, Ways};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;

/// What the last step writes.
pub(super) enum Target {
    /// A new row-major tensor of these modes.
    New(Vec<usize>),
    /// A tensor that is there.
    There { c: Slot, reads_c: bool },
}

/// What one step of a path has become.
enum Way {
    /// One pass over these slots.
    General(Vec<usize>),
    /// A product of matrices of two slots that are ready for it.
    Gemm([usize; 2], Pair, Place),
    CuTensor([usize; 2], Pair),
}

pub(super) struct Planner<'n> {
    network: &'n Network,
    ways: Ways,
    plan: Plan,
}

fn missing() -> Error {
    Error::library("internal error: a value is missing")
}

impl<'n> Planner<'n> {
    /// Of operands as they were given.
    pub(super) fn new(network: &'n Network, operands: Vec<Slot>, ways: Ways) -> Self {
        let plan = Plan {
            labels: network.labels.clone(),
            operands: operands.len(),
            slots: operands,
            steps: Vec::new(),
            extents: network.output_extents(),
            path: Path::default(),
            flops: 0,
            largest: 0,
        };
        Planner { network, ways, plan }
    }

    fn slot(&self, slot: usize) -> Result<&Slot> {
        self.plan.slots.get(slot).ok_or_else(missing)
    }

    fn slots(&self, slots: &[usize]) -> Result<Vec<&Slot>> {
        slots.iter().map(|slot| self.slot(*slot)).collect()
    }

    fn two(&self, [a, b]: [usize; 2]) -> Result<[&Slot; 2]> {
        Ok([self.slot(a)?, self.slot(b)?])
    }

    fn row_major(&self, dtype: DType, modes: Vec<usize>) -> Result<Slot> {
        Slot::row_major(dtype, modes, &self.network.extents)
    }

    fn push(&mut self, reads: &[usize], made: Slot, work: Work, call: Call) -> usize {
        let number = self.plan.slots.len();
        self.plan.slots.push(made);
        self.plan.steps.push(Step { reads: reads.to_vec(), made: number, work, call, frees: Vec::new() });
        number
    }

    /// One pass; its result has these modes, the last one fastest.
    fn general(&mut self, reads: &[usize], dtype: DType, modes: Vec<usize>) -> Result<usize> {
        let call = Call::general(&self.slots(reads)?, &modes, dtype)?;
        let made = self.row_major(dtype, modes)?;
        Ok(self.push(reads, made, Work::General, call))
    }

    /// The slot without the modes that stand in it alone: their sum.
    fn summed(&mut self, slot: usize, dtype: DType, stays: &dyn Fn(usize) -> bool) -> Result<usize> {
        let own = self.slot(slot)?;
        if own.modes.iter().all(|mode| stays(*mode)) {
            return Ok(slot);
        }
        let modes = own.in_memory_order(stays);
        self.general(&[slot], dtype, modes)
    }

    /// How two slots are contracted. If it is by a product: lone modes are summed and operands brought into order before. `kept`
    /// has the modes that are not summed.
    fn pair(&mut self, [a, b]: [usize; 2], kept: &Modes, wanted: Option<&Slot>) -> Result<Way> {
        let (of_a, of_b) = (self.slot(a)?.set(), self.slot(b)?.set());
        // Sums of halves stay wide until the step's end, where they are rounded once.
        let sums = wide(self.ways.dtype);
        let a = self.summed(a, sums, &|mode| kept.contains(mode) || of_b.contains(mode))?;
        let b = self.summed(b, sums, &|mode| kept.contains(mode) || of_a.contains(mode))?;
        let (one, two) = (self.slot(a)?, self.slot(b)?);
        let is_wide = one.dtype != self.ways.dtype || two.dtype != self.ways.dtype;
        let wanted = wanted.filter(|_| !is_wide);
        let pair = Pair::new(one, two, |mode| kept.contains(mode));
        let nothing = one.layout.is_empty() || two.layout.is_empty();
        if nothing || pair.k.is_empty() {
            return Ok(Way::General(vec![a, b]));
        }
        let takes = |slot: &Slot| Shape::takes(&slot.layout);
        let library = match !is_wide && takes(one) && takes(two) && wanted.is_none_or(takes) {
            true => self.ways.cutensor,
            false => CuTensor::Never,
        };
        if library == CuTensor::Always {
            return Ok(Way::CuTensor([a, b], pair));
        }
        if !self.ways.gemm || (pair.m.is_empty() && pair.n.is_empty()) {
            return Ok(Way::General(vec![a, b]));
        }
        let Choice { pair, copies, place } = pair.arrange(one, two, wanted);
        let moves = copies.contains(&true) || place == Place::Apart;
        if moves && library == CuTensor::ToSpareCopies {
            return Ok(Way::CuTensor([a, b], pair));
        }
        let dtype = if is_wide { sums } else { self.ways.dtype };
        let copies = [copies[0] || one.dtype != dtype, copies[1] || two.dtype != dtype];
        // A product with a vector takes as long as reading the matrix: a copy would cost more than it gains.
        if (pair.m.is_empty() || pair.n.is_empty()) && copies.contains(&true) {
            return Ok(Way::General(vec![a, b]));
        }
        let mut reads = [a, b];
        let orders = [[&pair.batch[..], &pair.m, &pair.k].concat(), [&pair.batch[..], &pair.k, &pair.n].concat()];
        for ((slot, modes), copy) in reads.iter_mut().zip(orders).zip(copies) {
            if copy {
                *slot = self.general(&[*slot], dtype, modes)?;
            }
        }
        Ok(Way::Gemm(reads, pair, place))
    }

    /// The modes that one pass over these slots leaves, in their order.
    fn left(&self, reads: &[usize], kept: &Modes) -> Result<Vec<usize>> {
        let mut modes: Vec<usize> = Vec::new();
        for slot in self.slots(reads)? {
            let new = slot.in_memory_order(|mode| kept.contains(mode) && !modes.contains(&mode));
            modes.extend(new);
        }
        Ok(modes)
    }

    fn shape(&self, reads: [usize; 2], made: &Slot) -> Result<Arc<Shape>> {
        let [a, b] = self.two(reads)?;
        Ok(Arc::new(Shape::new(self.ways.dtype, self.ways.math, [a, b, made])))
    }

    /// One step of the path; `wanted` is the last result.
    fn contract(&mut self, reads: &[usize], kept: &Modes, wanted: Option<&Target>) -> Result<usize> {
        if let ([slot], None) = (reads, wanted) {
            return self.summed(*slot, self.ways.dtype, &|mode| kept.contains(mode));
        }
        let place = match wanted {
            None => None,
            Some(Target::New(modes)) => Some(self.row_major(self.ways.dtype, modes.clone())?),
            Some(Target::There { c, .. }) => Some(c.clone()),
        };
        let way = match reads {
            [a, b] => self.pair([*a, *b], kept, place.as_ref())?,
            _ => Way::General(reads.to_vec()),
        };
        match wanted {
            Some(Target::There { c, reads_c }) => self.last(way, c, *reads_c),
            Some(Target::New(modes)) => self.made(way, kept, Some(modes)),
            None => self.made(way, kept, None),
        }
    }

    /// A step that makes a new value.
    fn made(&mut self, way: Way, kept: &Modes, wanted: Option<&[usize]>) -> Result<usize> {
        match way {
            Way::General(reads) => {
                let modes = match wanted {
                    Some(modes) => modes.to_vec(),
                    None => self.left(&reads, kept)?,
                };
                self.general(&reads, self.ways.dtype, modes)
            }
            Way::CuTensor(reads, pair) => {
                let modes = wanted.map_or_else(|| pair.result(), <[usize]>::to_vec);
                let made = self.row_major(self.ways.dtype, modes)?;
                let call = Call::CuTensor(self.shape(reads, &made)?);
                Ok(self.push(&reads, made, Work::CuTensor(pair), call))
            }
            Way::Gemm(reads, pair, place) => {
                let (product, is_wide) = self.product(reads, &pair, wanted.filter(|_| place == Place::Direct))?;
                let is_there = wanted.is_none() || place == Place::Direct;
                match is_there && !is_wide {
                    true => Ok(product),
                    false => {
                        let modes = wanted.map_or_else(|| pair.result(), <[usize]>::to_vec);
                        self.general(&[product], self.ways.dtype, modes)
                    }
                }
            }
        }
    }

    /// A product of matrices of these modes, if they are its own; else, and of wide values, in the order that it has. Returns
    /// whether it is wide.
    fn product(&mut self, reads: [usize; 2], pair: &Pair, direct: Option<&[usize]>) -> Result<(usize, bool)> {
        let dtype = self.slot(reads[0])?.dtype;
        let is_wide = dtype != self.ways.dtype;
        let modes = direct.filter(|_| !is_wide).map_or_else(|| pair.result(), <[usize]>::to_vec);
        let made = self.row_major(dtype, modes)?;
        let call = Call::gemm(self.two(reads)?, pair, &made)?;
        Ok((self.push(&reads, made, Work::Gemm(pair.clone()), call), is_wide))
    }

    /// The step that writes a tensor that is there.
    fn last(&mut self, way: Way, c: &Slot, reads_c: bool) -> Result<usize> {
        let (reads, work, call) = match way {
            Way::General(reads) => {
                let call = Into::general(&self.slots(&reads)?, c, reads_c)?;
                (reads, Work::General, call)
            }
            Way::Gemm(reads, pair, _) if self.slot(reads[0])?.dtype != self.ways.dtype => {
                let (product, _) = self.product(reads, &pair, None)?;
                let call = Into::general(&self.slots(&[product])?, c, reads_c)?;
                (vec![product], Work::General, call)
            }
            Way::CuTensor(reads, pair) => (reads.to_vec(), Work::CuTensor(pair), Into::CuTensor(self.shape(reads, c)?)),
            Way::Gemm(reads, pair, place) => {
                let call = Into::gemm(self.two(reads)?, &pair, c, place == Place::Direct, reads_c)?;
                (reads.to_vec(), Work::Gemm(pair), call)
            }
        };
        Ok(self.push(&reads, c.clone(), work, Call::Into(Box::new(call))))
    }

    /// All steps of a path.
    pub(super) fn follow(mut self, path: Path, target: &Target) -> Result<Plan> {
        let operands = self.plan.operands;
        let mut steps = path.values(operands)?;
        if steps.is_empty() {
            steps.push(vec![0]);
        }
        let output = self.network.varying_output();
        // The slot of each value, and how many values of the rest have a mode.
        let mut slots: Vec<Option<usize>> = (0..operands).map(Some).collect();
        let count = steps.len();
        for (k, step) in steps.into_iter().enumerate() {
            let mut reads: Vec<usize> =
                step.iter().filter_map(|value| slots.get_mut(*value).and_then(Option::take)).collect();
            reads.sort_unstable();
            let mut kept: Modes = output.iter().copied().collect();
            for slot in slots.iter().flatten() {
                kept = kept.union(&self.slot(*slot)?.set());
            }
            let mut all = Modes::default();
            for slot in &reads {
                all = all.union(&self.slot(*slot)?.set());
            }
            let left = all.intersection(&kept);
            let flops = operations(&all, left.len(), reads.len(), &self.network.extents);
            self.plan.flops = self.plan.flops.saturating_add(flops);
            self.plan.largest = self.plan.largest.max(left.size(&self.network.extents));
            let made = self.contract(&reads, &kept, (k + 1 == count).then_some(target))?;
            slots.push(Some(made));
        }
        self.plan.path = path;
        self.free();
        Ok(self.plan)
    }

    /// Notes after which step a value is not needed any more.
    fn free(&mut self) {
        let mut known = Modes::default();
        for step in self.plan.steps.iter_mut().rev() {
            for slot in &step.reads {
                if !known.contains(*slot) {
                    known.insert(*slot);
                    step.frees.push(*slot);
                }
            }
        }
    }
}
