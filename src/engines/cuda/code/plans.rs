//! Plans: built once per key, kept while the cache has space, destroyed late.
//!
//! - **Single flight**: the first dispatch that needs a plan starts its build on a helper thread. Others that need it
//!   meanwhile wait for the same build. No thread blocks for it, and no lease is held.
//! - **Race "build against evict"**: each user of a plan holds a share of it, so eviction only takes it off the list.
//! - The library's part of a plan is an object of the epoch (`objects.rs`), which destroys it late. So it
//!   does not matter which thread drops a plan last, or when.

use crate::core::cache::Words;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result, Site};
use crate::core::order::Runnable;
use crate::core::sync::{Arc, Mutex};
use crate::engines::cuda::Core;
use crate::engines::op::plan::{AnyPlan, Ask, Key, PlanBuilder};
use lru::LruCache;
use smallvec::SmallVec;
use std::hash::BuildHasherDefault;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// How many plans are kept, and how many bytes of device memory they may hold.
const MOST: usize = 256;
const MOST_BYTES: u64 = 1 << 30;

/// The plans of one epoch.
pub(crate) struct Plans {
    map: Mutex<Map>,
}

struct Map {
    places: LruCache<Box<Key>, PlanState, BuildHasherDefault<Words>>,
    ready: usize,
    bytes: u64,
    hits: u64,
    misses: u64,
}

enum PlanState {
    Building(Vec<(Arc<dyn Runnable>, Cell)>),
    /// The plan, and its bytes.
    Ready(AnyPlan, u64),
}

/// Where a late dispatch finds its plan when it runs.
pub(crate) type Cell = Arc<OnceLock<Result<AnyPlan>>>;

/// The plans that an op needs, as far as they are built.
pub(crate) struct Needs<'p> {
    plans: &'p Plans,
    pub(crate) all: SmallVec<[Need; 1]>,
}

pub(crate) enum Need {
    Ready(AnyPlan),
    Missing(Box<Key>),
}

impl Ask for Needs<'_> {
    fn ask(&mut self, key: &Key) {
        let known = {
            let mut map = self.plans.map.lock();
            let known = match map.places.get(key) {
                Some(PlanState::Ready(plan, _)) => Some(plan.clone()),
                _ => None,
            };
            *(if known.is_some() { &mut map.hits } else { &mut map.misses }) += 1;
            known
        };
        self.all.push(known.map_or_else(|| Need::Missing(key.boxed()), Need::Ready));
    }
}

impl Needs<'_> {
    /// All plans; what was asked for if one is missing.
    pub(crate) fn ready(self) -> Result<SmallVec<[AnyPlan; 1]>, SmallVec<[Need; 1]>> {
        if self.all.iter().any(|need| matches!(need, Need::Missing(_))) {
            return Err(self.all);
        }
        let plan = |need| match need {
            Need::Ready(plan) => Some(plan),
            Need::Missing(_) => None,
        };
        Ok(self.all.into_iter().filter_map(plan).collect())
    }
}

impl Plans {
    pub(crate) fn new() -> Self {
        let places = LruCache::unbounded_with_hasher(BuildHasherDefault::default());
        Plans { map: Mutex::new(Map { places, ready: 0, bytes: 0, hits: 0, misses: 0 }) }
    }

    pub(crate) fn needs(&self) -> Needs<'_> {
        Needs { plans: self, all: SmallVec::new() }
    }

    /// The number of requests that found their plan, and of those for which it was built or waited for.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let map = self.map.lock();
        (map.hits, map.misses)
    }

    /// The number of plans kept, and their bytes.
    pub(crate) fn held(&self) -> (u64, u64) {
        let map = self.map.lock();
        (map.ready as u64, map.bytes)
    }

    /// Fills the cell if the plan is ready. Otherwise adds a dependency to `job`, which ends with the build. True if
    /// the caller must start the build.
    fn find(&self, key: &Key, job: &Arc<dyn Runnable>, cell: &Cell) -> bool {
        let mut map = self.map.lock();
        match map.places.get_mut(key) {
            Some(PlanState::Ready(plan, _)) => {
                let _ = cell.set(Ok(plan.clone()));
                false
            }
            Some(PlanState::Building(waiters)) => {
                job.core().add_dep();
                waiters.push((job.clone(), cell.clone()));
                false
            }
            None => {
                job.core().add_dep();
                map.places.put(key.boxed(), PlanState::Building(vec![(job.clone(), cell.clone())]));
                true
            }
        }
    }

    /// The build of `key` ended with `result`: passes it to all jobs that wait.
    fn built(&self, key: &Key, result: Result<(AnyPlan, u64)>) {
        let (waiters, evicted) = {
            let mut map = self.map.lock();
            let waiters = match map.places.pop(key) {
                Some(PlanState::Building(waiters)) => waiters,
                _ => Vec::new(),
            };
            let evicted = match &result {
                Ok((plan, bytes)) => map.keep(key, plan.clone(), *bytes),
                Err(_) => Vec::new(),
            };
            (waiters, evicted)
        };
        drop(evicted);
        let result = result.map(|(plan, _)| plan);
        for (job, cell) in waiters {
            let _ = cell.set(result.clone());
            job.dep_done();
        }
    }

    /// Takes a finished plan off the list: the next op that asks for it has it built anew.
    #[allow(dead_code, reason = "for libraries that measure")]
    pub(crate) fn forget(&self, key: &Key) {
        let gone = {
            let mut map = self.map.lock();
            if !map.places.peek(key).is_some_and(PlanState::is_ready) {
                return;
            }
            let gone = map.places.pop(key);
            if let Some(PlanState::Ready(_, bytes)) = &gone {
                (map.ready, map.bytes) = (map.ready - 1, map.bytes.saturating_sub(*bytes));
            }
            gone
        };
        drop(gone);
    }

    /// Takes all finished plans off the list, at the end of the epoch.
    pub(crate) fn clear(&self) {
        let all = {
            let mut map = self.map.lock();
            (map.ready, map.bytes) = (0, 0);
            let ready = map.places.iter().filter(|(_, place)| place.is_ready());
            let keys: Vec<_> = ready.map(|(key, _)| key.boxed()).collect();
            keys.iter().filter_map(|key| map.places.pop(&**key)).collect::<Vec<_>>()
        };
        drop(all);
    }
}

impl PlanState {
    fn is_ready(&self) -> bool {
        matches!(self, PlanState::Ready(..))
    }
}

impl Map {
    /// Keeps a plan, and returns the plans that it evicts. The newest stays, however large it is.
    fn keep(&mut self, key: &Key, plan: AnyPlan, bytes: u64) -> Vec<AnyPlan> {
        (self.ready, self.bytes) = (self.ready + 1, self.bytes.saturating_add(bytes));
        self.places.put(key.boxed(), PlanState::Ready(plan, bytes));
        let mut evicted = Vec::new();
        while self.ready > 1 && (self.ready > MOST || self.bytes > MOST_BYTES) {
            // The least recently used goes first. A plan that is being built is never evicted.
            let oldest = self.places.iter().rev().find(|(_, place)| place.is_ready());
            let Some(oldest) = oldest.map(|(key, _)| key.boxed()) else { break };
            let Some(PlanState::Ready(plan, bytes)) = self.places.pop(&*oldest) else { break };
            (self.ready, self.bytes) = (self.ready - 1, self.bytes.saturating_sub(bytes));
            evicted.push(plan);
        }
        evicted
    }
}

impl Core {
    /// Adds a dependency to `job` for each plan that is missing, and starts the builds that no other job has started.
    pub(crate) fn find_plans(
        self: &Arc<Self>,
        epoch: &Arc<Epoch>,
        needs: SmallVec<[Need; 1]>,
        job: &Arc<dyn Runnable>,
        cells: &[Cell],
    ) {
        for (need, cell) in needs.into_iter().zip(cells) {
            match need {
                Need::Ready(plan) => drop(cell.set(Ok(plan))),
                Need::Missing(key) => {
                    if self.code.plans.find(&*key, job, cell) {
                        let (core, epoch) = (self.clone(), epoch.clone());
                        self.late.helpers().build(Box::new(move || core.build_plan(&epoch, &*key)));
                    }
                }
            }
        }
    }

    fn build_plan(self: &Arc<Self>, epoch: &Arc<Epoch>, key: &Key) {
        let build = || self.code.inside(epoch, || key.build(&mut PlanBuilder { epoch }));
        let build = || {
            catch_unwind(AssertUnwindSafe(build)).unwrap_or_else(|_| {
                Err(Error::Panicked { message: "while it built a plan".into(), site: Site::none() })
            })
        };
        let mut result = build();
        if let Err(Error::OutOfMemory { .. }) = result {
            // The library's own allocations can use the memory that the pool gives back.
            result = self.give_back(epoch).and_then(|()| build());
        }
        self.code.plans.built(key, result);
    }
}
