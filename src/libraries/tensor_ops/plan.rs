//! What a call will do: the steps of an expression over operands of known strides, as plain data.

use super::call::Call;
use super::label::{Label, Row};
use super::pair::{Pair, Slot};
use super::path::Path;
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
    /// A contraction by cuTENSOR, whatever the order of the axes.
    CuTensor {
        /// The number of products of matrices that it is.
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
    /// What is submitted.
    pub(super) call: Call,
    /// The slots that no later step reads.
    pub(super) frees: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Work {
    /// The product of the operands, summed over all modes that the result does not have.
    General,
    Gemm(Pair),
    CuTensor(Pair),
}

/// The steps of a call, with what they cost: what [`TensorOps::explain`](super::TensorOps::explain) gives. Its text has a line for
/// each step.
#[derive(Debug)]
pub struct Plan {
    pub(super) labels: Vec<Label>,
    pub(super) slots: Vec<Slot>,
    pub(super) steps: Vec<Step>,
    pub(super) extents: Vec<usize>,
    pub(super) operands: usize,
    pub(super) path: Path,
    pub(super) flops: u128,
    pub(super) largest: u128,
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
            let mut axes = slots.flat_map(|slot| slot.modes.iter().zip(slot.layout.shape()));
            axes.find(|(other, _)| *other == mode).map_or(1, |(_, n)| *n)
        };
        modes.iter().map(of).fold(1, usize::saturating_mul)
    }

    fn sizes(&self, step: &Step, Pair { batch, m, n, k }: &Pair) -> [usize; 4] {
        [batch, m, n, k].map(|modes| self.extent(step, modes))
    }

    /// What a product of matrices is called: `transpose-gemm` if operands or the result are brought into order for it.
    fn name(&self, step: &Step, batch: usize) -> &'static str {
        let copied = |slot: &usize| {
            let of = slot.checked_sub(self.operands).and_then(|step| self.steps.get(step));
            of.is_some_and(|step| self.route(step) == Route::Copy)
        };
        let leaves = step.made.checked_sub(self.operands).and_then(|number| self.steps.get(number + 1));
        let after = leaves.is_some_and(|next| next.reads == [step.made] && self.route(next) == Route::Copy);
        match (step.reads.iter().any(copied) || after || step.call.is_apart(), batch) {
            (true, _) => "transpose-gemm",
            (false, 1) => "gemm",
            _ => "batched gemm",
        }
    }

    fn route(&self, step: &Step) -> Route {
        let made = self.modes(step.made);
        match &step.work {
            Work::Gemm(pair) => {
                let [batch, m, n, k] = self.sizes(step, pair);
                Route::Gemm { batch, m, n, k }
            }
            Work::CuTensor(pair) => {
                let [batch, m, n, k] = self.sizes(step, pair);
                Route::CuTensor { batch, m, n, k }
            }
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
                Route::Gemm { batch, m, n, k } => {
                    writeln!(f, "{}, {batch} x ({m} x {k}) ({k} x {n})", self.name(step, batch))?;
                }
                Route::CuTensor { batch, m, n, k } => writeln!(f, "cuTENSOR, {batch} x ({m} x {k}) ({k} x {n})")?,
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
