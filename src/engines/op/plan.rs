//! Plans: objects that take from a millisecond to seconds to build, and are built once for many ops.
//!
//! A plan is identified by its key, which is plain data and contains everything that the plan depends on. The device
//! builds the plan when the first op asks for it, on a helper thread and without a lease. Ops that ask meanwhile wait
//! for the same build, in a queue that occupies no thread. Plans are kept per epoch, bounded by count and bytes. The
//! least recently used plan is evicted first; it is dropped when its last user is done.

use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::op::Contained;
use crate::core::order::KeepAlive;
use crate::core::sync::Arc;
use std::any::Any;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// Identifies a plan, and builds it.
///
/// An op says which plans it needs in [`Op::prepare`](crate::op::Op::prepare), and its CUDA half gets them from
/// [`Enqueue::plan`](crate::op::Enqueue::plan). Only GPUs build plans; a host half makes what it needs itself.
pub trait PlanKey: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// The plan. Ops on several streams may use it at once, so anything in it that only one op may use at a time is
    /// behind a lock of its own. The plan is dropped when the last work that uses it is complete, by whichever thread
    /// notices that. So its `Drop` must call no library: native library objects in the plan belong to the epoch, which
    /// destroys them.
    type Plan: Send + Sync + 'static;

    /// Builds the plan. Runs on a helper thread with the device's context current and no stream leased; it may block.
    ///
    /// # Errors
    /// The error becomes the error of every op that waits for this build. It is not cached: the next op tries again.
    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Self::Plan>>;
}

/// A new plan.
#[derive(Debug)]
pub struct Built<P> {
    /// The plan.
    pub plan: P,
    /// Device memory that the plan holds outside the device's own pool, in bytes.
    pub bytes: u64,
}

/// What a plan is built with. The device's context is current, and no stream is leased.
pub struct PlanBuilder<'b> {
    pub(crate) epoch: &'b Arc<Epoch>,
}

impl PlanBuilder<'_> {
    /// The device's name: `cuda:0`.
    pub fn device(&self) -> &str {
        &self.epoch.label
    }
}

impl std::fmt::Debug for PlanBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PlanBuilder({})", self.epoch.label)
    }
}

/// Collects the keys of the plans that an op needs.
pub struct Prepare<'p>(pub(crate) &'p mut dyn Ask);

/// A collector of plan keys.
pub(crate) trait Ask {
    fn ask(&mut self, key: &Key);
}

impl Prepare<'_> {
    /// Requests a plan. [`Enqueue::plan`](crate::op::Enqueue::plan) numbers the plans from 0 in the order of these calls.
    pub fn plan<K: PlanKey>(&mut self, key: &K) {
        self.0.ask(key);
    }
}

impl Debug for Prepare<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Prepare")
    }
}

/// A plan without its type (in a [`Contained`]), shared by the cache and the work that uses it: a slot's ring keeps it.
pub(crate) type AnyPlan = Arc<dyn KeptPlan>;

pub(crate) trait KeptPlan: Any + KeepAlive {}
impl<P: Any + Send + Sync> KeptPlan for Contained<P> {}

impl<P: Send + Sync> KeepAlive for Contained<P> {
    fn retire(&self) {}
}

/// A key without its type; it borrows nothing.
pub(crate) type Key = dyn AnyKey;

/// A [`PlanKey`] without its type.
pub(crate) trait AnyKey: Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn is(&self, other: &dyn AnyKey) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
    fn boxed(&self) -> Box<dyn AnyKey>;
    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<(AnyPlan, u64)>;
}

impl<K: PlanKey> AnyKey for K {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn is(&self, other: &dyn AnyKey) -> bool {
        other.as_any().downcast_ref::<K>() == Some(self)
    }
    fn feed(&self, mut hasher: &mut dyn Hasher) {
        std::any::TypeId::of::<K>().hash(&mut hasher);
        self.hash(&mut hasher);
    }
    fn boxed(&self) -> Box<dyn AnyKey> {
        Box::new(self.clone())
    }
    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<(AnyPlan, u64)> {
        PlanKey::build(self, builder).map(|Built { plan, bytes }| (Arc::new(Contained::new(plan)) as AnyPlan, bytes))
    }
}

impl PartialEq for dyn AnyKey {
    fn eq(&self, other: &Self) -> bool {
        self.is(other)
    }
}
impl Eq for dyn AnyKey {}
impl Hash for dyn AnyKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.feed(state);
    }
}

/// The error if an op's CUDA half asks for a plan that it did not prepare, or by another type.
#[cold]
pub(crate) fn unprepared(index: usize) -> Error {
    Error::library(format!("`Op::prepare` prepared no plan {index} of the requested type"))
}
