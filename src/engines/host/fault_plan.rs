//! Fault injection, so that recovery can be tested without a GPU.

use crate::core::sync::{Arc, AtomicU64, Ordering};
use std::time::Duration;

/// The faults to inject into a host device, and when. Operations and allocations are counted from 0 over the whole life
/// of the device, across rebuilds, in the order of submission. Each device that is opened with a plan has its own
/// count. The self-test after each rebuild counts too: it takes three operations (six if the device is isolated) and
/// some allocations, and a fault in it uses up another restart.
///
/// ```
/// use windlass::{Device, Error, FaultPlan};
/// # fn main() -> Result<(), Error> {
/// let device = Device::builder().host().fault_plan(FaultPlan::new().fail(1)).open()?;
/// let x = device.upload(vec![1.0f32])?.into_output(); // operation 0
/// let pending = device.fill(x, 2.0)?;                 // operation 1 fails
/// assert!(matches!(pending.await_result().unwrap_err().error, Error::LibraryError { .. }));
/// # Ok(()) }
/// ```
#[must_use]
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    rules: Arc<[Rule]>,
    ops: Arc<AtomicU64>,
    allocations: Arc<AtomicU64>,
}

#[derive(Clone, Debug)]
struct Rule {
    at: u64,
    every: Option<u64>,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Op(Fault),
    OutOfMemory,
}

/// The fault of one operation.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Fail,
    Poison,
    Delay(Duration),
}

impl FaultPlan {
    /// A plan without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Operation `n` fails with a library error.
    pub fn fail(self, n: u64) -> Self {
        self.rule(n, None, What::Op(Fault::Fail))
    }

    /// Operation `n` poisons the context, as an illegal address on a GPU does.
    pub fn poison(self, n: u64) -> Self {
        self.rule(n, None, What::Op(Fault::Poison))
    }

    /// Every `n`-th operation poisons the context, beginning with operation `n - 1`. With a small `n` faults also hit
    /// the self-test of each rebuild, and the device is lost when its restarts are used up.
    pub fn poison_every(self, n: u64) -> Self {
        let n = n.max(1);
        self.rule(n - 1, Some(n), What::Op(Fault::Poison))
    }

    /// Operation `n` takes `time` longer.
    pub fn delay(self, n: u64, time: Duration) -> Self {
        self.rule(n, None, What::Op(Fault::Delay(time)))
    }

    /// Allocation `n` fails for lack of memory. The error reports the memory that is really there.
    pub fn out_of_memory(self, n: u64) -> Self {
        self.rule(n, None, What::OutOfMemory)
    }

    fn rule(mut self, at: u64, every: Option<u64>, what: What) -> Self {
        let mut rules = self.rules.to_vec();
        rules.push(Rule { at, every, what });
        self.rules = rules.into();
        self
    }

    fn due(&self, n: u64) -> impl Iterator<Item = &What> {
        self.rules
            .iter()
            .filter(move |r| n == r.at || r.every.is_some_and(|e| n > r.at && (n - r.at).is_multiple_of(e)))
            .map(|r| &r.what)
    }

    /// The same plan with counts of zero.
    pub(crate) fn afresh(&self) -> Self {
        FaultPlan { rules: self.rules.clone(), ..Self::default() }
    }

    /// Counts one operation and returns its fault, if any.
    pub(crate) fn next_op(&self) -> Option<Fault> {
        let n = self.ops.fetch_add(1, Ordering::Relaxed);
        self.due(n).find_map(|what| match what {
            What::Op(fault) => Some(fault.clone()),
            What::OutOfMemory => None,
        })
    }

    /// Counts one allocation and says whether it fails.
    pub(crate) fn next_allocation_fails(&self) -> bool {
        let n = self.allocations.fetch_add(1, Ordering::Relaxed);
        self.due(n).any(|what| matches!(what, What::OutOfMemory))
    }
}
