//! What a call will do: the steps of an expression over operands of known strides, as plain data.

use super::label::{Label, Row};
use super::modes::Modes;
use super::network::Network;
use super::pair::{Choice, Pair, Place, Slot};
use super::path::{Path, operations};
use crate::core::error::{Error, Result};
use std::fmt;

/// How a step is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Route {
    /// Elements are moved to where the next step can take them.
    Copy,
    /// Elements are multiplied, without a sum: one formula.
    Map,
    /// Products of elements are summed in one pass, whatever the strides are: one reduction of a formula.
    Reduce,
    /// Products of matrices, by [`Blas`](crate::Blas).
    Gemm {
        /// The number of products.
        batch: usize,
        /// Rows of the result.
        m: usize,
        /// Columns of the result.
        n: usize,
        /// Elements of each sum.
        k: usize,
    },
}

/// One call of another front.
#[derive(Debug)]
pub(super) struct Step {
    /// The slots that are read.
    pub(super) reads: Vec<usize>,
    /// The slot that is made.
    pub(super) made: usize,
    pub(super) work: Work,
}

#[derive(Clone, Debug)]
pub(super) enum Work {
    /// The product of the operands, summed over all modes that the result does not have.
    General,
    Gemm(Pair),
}

/// The steps of a call, with what they cost: what [`TensorOps::explain`](super::TensorOps::explain) gives. Its text has a line for
/// each step.
#[derive(Debug)]
pub struct Plan {
    labels: Vec<Label>,
    pub(super) slots: Vec<Slot>,
    pub(super) steps: Vec<Step>,
    pub(super) extents: Vec<usize>,
    operands: usize,
    path: Path,
    flops: u128,
    largest: u128,
}

/// What one step of a path has become.
pub(super) enum Way {
    /// One pass over these slots.
    General(Vec<usize>),
    /// A product of matrices of two slots that are ready for it.
    Gemm([usize; 2], Pair, Place),
}

/// Makes a plan.
pub(super) struct Planner<'n> {
    network: &'n Network,
    /// Whether the element type has products of matrices.
    has_gemm: bool,
    plan: Plan,
}

impl<'n> Planner<'n> {
    /// Of operands as they were given.
    pub(super) fn new(network: &'n Network, operands: Vec<Slot>, has_gemm: bool) -> Self {
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
        Planner { network, has_gemm, plan }
    }

    fn slot(&self, slot: usize) -> Result<&Slot> {
        self.plan.slots.get(slot).ok_or_else(|| Error::library("internal error: a value is missing"))
    }

    /// A step whose result has these modes, the last one fastest.
    pub(super) fn push(&mut self, reads: Vec<usize>, modes: Vec<usize>, work: Work) -> Result<usize> {
        let made = self.plan.slots.len();
        self.plan.slots.push(Slot::row_major(modes, &self.network.extents)?);
        self.plan.steps.push(Step { reads, made, work });
        Ok(made)
    }

    /// The slot without the modes that stand in it alone: their sum.
    fn summed(&mut self, slot: usize, stays: &dyn Fn(usize) -> bool) -> Result<usize> {
        let own = self.slot(slot)?;
        if own.modes.iter().all(|mode| stays(*mode)) {
            return Ok(slot);
        }
        let modes = own.in_memory_order(stays);
        self.push(vec![slot], modes, Work::General)
    }

    /// Two slots as a product of matrices, if that is what they are: lone modes are summed and operands brought into order
    /// before. `kept` has the modes that are not summed.
    pub(super) fn pair(&mut self, [a, b]: [usize; 2], kept: &Modes, wanted: Option<&Slot>) -> Result<Way> {
        let (of_a, of_b) = (self.slot(a)?.set(), self.slot(b)?.set());
        let a = self.summed(a, &|mode| kept.contains(mode) || of_b.contains(mode))?;
        let b = self.summed(b, &|mode| kept.contains(mode) || of_a.contains(mode))?;
        let (one, two) = (self.slot(a)?, self.slot(b)?);
        let pair = Pair::new(one, two, |mode| kept.contains(mode));
        let nothing = one.layout.is_empty() || two.layout.is_empty();
        if !self.has_gemm || nothing || pair.k.is_empty() || (pair.m.is_empty() && pair.n.is_empty()) {
            return Ok(Way::General(vec![a, b]));
        }
        let Choice { pair, copies, place } = pair.arrange(one, two, wanted);
        // A product with a vector takes as long as reading the matrix: a copy would cost more than it gains.
        if (pair.m.is_empty() || pair.n.is_empty()) && copies.contains(&true) {
            return Ok(Way::General(vec![a, b]));
        }
        let mut reads = [a, b];
        let orders = [[&pair.batch[..], &pair.m, &pair.k].concat(), [&pair.batch[..], &pair.k, &pair.n].concat()];
        for ((slot, modes), copy) in reads.iter_mut().zip(orders).zip(copies) {
            if copy {
                *slot = self.push(vec![*slot], modes, Work::General)?;
            }
        }
        Ok(Way::Gemm(reads, pair, place))
    }

    /// One step of the path. `wanted` are the modes of the last result, in their order.
    fn contract(&mut self, reads: &[usize], kept: &Modes, wanted: Option<&[usize]>) -> Result<usize> {
        if let ([slot], None) = (reads, wanted) {
            return self.summed(*slot, &|mode| kept.contains(mode));
        }
        let way = match reads {
            [a, b] => {
                let place = wanted.map(|modes| Slot::row_major(modes.to_vec(), &self.network.extents)).transpose()?;
                self.pair([*a, *b], kept, place.as_ref())?
            }
            _ => Way::General(reads.to_vec()),
        };
        match (way, wanted) {
            (Way::General(reads), Some(modes)) => self.push(reads, modes.to_vec(), Work::General),
            (Way::General(reads), None) => {
                let mut modes: Vec<usize> = Vec::new();
                for slot in reads.iter().map(|slot| self.slot(*slot)).collect::<Result<Vec<_>>>()? {
                    let new = slot.in_memory_order(|mode| kept.contains(mode) && !modes.contains(&mode));
                    modes.extend(new);
                }
                self.push(reads, modes, Work::General)
            }
            (Way::Gemm(reads, pair, Place::Direct), Some(modes)) => {
                self.push(reads.to_vec(), modes.to_vec(), Work::Gemm(pair))
            }
            (Way::Gemm(reads, pair, _), wanted) => {
                let result = pair.result();
                let made = self.push(reads.to_vec(), result, Work::Gemm(pair))?;
                match wanted {
                    Some(modes) => self.push(vec![made], modes.to_vec(), Work::General),
                    None => Ok(made),
                }
            }
        }
    }

    /// All steps of a path.
    pub(super) fn follow(mut self, path: Path) -> Result<Plan> {
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
            let wanted = (k + 1 == count).then_some(&output[..]);
            let made = self.contract(&reads, &kept, wanted)?;
            slots.push(Some(made));
        }
        self.plan.path = path;
        Ok(self.plan)
    }

    /// What was planned so far.
    pub(super) fn finish(self) -> Plan {
        self.plan
    }
}

impl Plan {
    /// The order in which operands are contracted.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of operations of the path, as opt_einsum counts them.
    pub fn flops(&self) -> u128 {
        self.flops
    }

    /// The number of elements of the largest intermediate or result.
    pub fn largest(&self) -> u128 {
        self.largest
    }

    /// How each step is computed; one step is one dispatch.
    pub fn routes(&self) -> impl Iterator<Item = Route> {
        self.steps.iter().map(|step| self.route(step))
    }

    fn modes(&self, slot: usize) -> &[usize] {
        self.slots.get(slot).map_or(&[], |slot| &slot.modes)
    }

    fn extent(&self, step: &Step, modes: &[usize]) -> usize {
        let of = |mode: &usize| {
            let slots = step.reads.iter().filter_map(|slot| self.slots.get(*slot));
            let mut axes = slots.flat_map(|slot| slot.modes.iter().zip(slot.layout.extents()));
            axes.find(|(other, _)| *other == mode).map_or(1, |(_, n)| *n)
        };
        modes.iter().map(of).fold(1, usize::saturating_mul)
    }

    fn route(&self, step: &Step) -> Route {
        let made = self.modes(step.made);
        match &step.work {
            Work::Gemm(Pair { batch, m, n, k }) => Route::Gemm {
                batch: self.extent(step, batch),
                m: self.extent(step, m),
                n: self.extent(step, n),
                k: self.extent(step, k),
            },
            Work::General => {
                let sums = step.reads.iter().any(|slot| self.modes(*slot).iter().any(|mode| !made.contains(mode)));
                let conjugates = step.reads.iter().any(|slot| self.slots.get(*slot).is_some_and(|s| s.conjugate));
                match (sums, step.reads.len()) {
                    (true, _) => Route::Reduce,
                    (false, 1) if !conjugates => Route::Copy,
                    _ => Route::Map,
                }
            }
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "path {}, {} operations, largest result {} elements", self.path, self.flops, self.largest)?;
        for (k, step) in self.steps.iter().enumerate() {
            write!(f, "{k}: ")?;
            for (j, slot) in step.reads.iter().enumerate() {
                f.write_str(if j == 0 { "" } else { ", " })?;
                match slot.checked_sub(self.operands) {
                    None => write!(f, "operand {slot}")?,
                    Some(step) => write!(f, "result {step}")?,
                }
                write!(f, " `{}`", self.names(self.modes(*slot)))?;
            }
            write!(f, " -> `{}` by ", self.names(self.modes(step.made)))?;
            match self.route(step) {
                Route::Copy => writeln!(f, "a copy")?,
                Route::Map => writeln!(f, "a formula")?,
                Route::Reduce => writeln!(f, "a reduction")?,
                Route::Gemm { batch, m, n, k } => writeln!(f, "gemm, {batch} x ({m} x {k}) ({k} x {n})")?,
            }
        }
        Ok(())
    }
}

impl Plan {
    fn names(&self, modes: &[usize]) -> String {
        let labels: Vec<Label> = modes.iter().filter_map(|mode| self.labels.get(*mode).copied()).collect();
        Row(&labels).to_string()
    }
}
