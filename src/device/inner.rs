//! What all handles of one device share.

use super::Config;
use crate::core::buffer::Meter;
use crate::core::clock::{self, Clock};
use crate::core::device_info::{DeviceInfo, MemoryInfo};
use crate::core::dispatch::{Backoff, Spinner, Wait};
use crate::core::epoch::life::{Life, Stand};
use crate::core::epoch::{AnyEngine, Cause, Epoch, Owner, Parts};
use crate::core::error::{Error, Result};
use crate::core::process;
use crate::core::sync::{Arc, AtomicU64, Ordering, RwLock};
use crate::core::trace::{Counters, Stats};
use crate::device::dispatch::InFlight;
use crate::device::engine::Engine;
use crate::device::mirrored::Mirrors;
use crate::device::supervisor::Supervisor;
use crate::engines::config::{Kind, Opened};
use std::any::Any;
use std::sync::Weak;
use std::time::Duration;

/// One device through all its generations.
pub(crate) struct Inner {
    pub(crate) id: u64,
    pub(crate) label: Arc<str>,
    pub(crate) config: Config,
    pub(crate) info: Arc<DeviceInfo>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) now: Arc<AtomicU64>,
    pub(crate) in_flight: InFlight,
    pub(crate) supervisor: Supervisor,
    pub(crate) mirrors: Mirrors,
    current: RwLock<Arc<Epoch>>,
}

impl Inner {
    pub(super) fn open(config: Config) -> Result<Arc<Self>> {
        static IDS: AtomicU64 = AtomicU64::new(0);
        process::watch_fork();
        let life = Arc::new(Life::new());
        let track = config.timeline.as_ref().map(crate::device::timeline::Timeline::track);
        let timeline = track.clone().map(|track| track as Arc<dyn crate::core::trace::Trace>);
        let traces = config.trace.clone().into_iter().chain(timeline);
        let counters = Arc::new(Counters::with_flight(traces, config.flight.clone(), config.engine.timing));
        crate::device::worker::guard();
        let mut opened = match config.engine.kind {
            #[cfg(target_os = "linux")]
            _ if config.isolated => crate::engines::worker::open(&config.engine, counters.clone())?.map(AnyEngine::new),
            #[cfg(not(target_os = "linux"))]
            _ if config.isolated => return Err(Error::unsupported("isolated devices need Linux")),
            #[cfg(feature = "host")]
            Kind::Best | Kind::Host => open_host(&config)?,
            #[cfg(not(feature = "host"))]
            Kind::Best | Kind::Host => {
                return Err(Error::unsupported("this build has no host engine (feature `host`)"));
            }
            #[cfg(feature = "cuda")]
            Kind::Cuda(ordinal) => {
                crate::engines::cuda::open(ordinal, &config.engine, life.clone(), counters.clone())?.map(AnyEngine::new)
            }
            #[cfg(not(feature = "cuda"))]
            Kind::Cuda(_) => return Err(Error::unsupported("this build has no CUDA engine (feature `cuda`)")),
        };
        opened.info.passed_over = config.passed_over.clone();
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let label: Arc<str> = config.engine.label.clone().unwrap_or(opened.label).into();
        let limit = config.engine.memory_limit.unwrap_or(opened.limit);
        let meter = Arc::new(Meter::new(limit, opened.info.total_memory));
        let now = Arc::new(AtomicU64::new(0));
        let inner = Arc::new_cyclic(|owner: &Weak<Inner>| {
            let owner: Weak<dyn Owner> = owner.clone();
            let epoch = Epoch::new(Parts {
                device: id,
                label: label.clone(),
                generation: 0,
                life,
                engine: opened.engine,
                meter,
                counters: counters.clone(),
                now: now.clone(),
                owner,
            });
            Inner {
                id,
                supervisor: Supervisor::new(label.clone(), config.policy),
                label,
                in_flight: config.in_flight,
                mirrors: Mirrors::default(),
                config,
                info: Arc::new(opened.info),
                counters,
                now,
                current: RwLock::new(epoch),
            }
        });
        #[cfg(feature = "cuda")]
        crate::engines::cuda::installed(&inner.epoch());
        #[cfg(target_os = "linux")]
        if let Some(engine) = inner.epoch().engine.as_worker() {
            engine.installed(&inner.epoch());
        }
        if let Some(track) = track {
            track.attach(&inner);
        }
        Ok(inner)
    }

    pub(crate) fn epoch(&self) -> Arc<Epoch> {
        self.current.read().clone()
    }

    /// A new epoch for `generation`, not installed yet.
    pub(crate) fn next_epoch(self: &Arc<Self>, generation: u64) -> Result<Arc<Epoch>> {
        let life = Arc::new(Life::new());
        let old = self.epoch();
        let (engine, meter) = match Engine::for_epoch(&old) {
            // Keeps the meter: the memory is this process's, so what stale handles hold is still in use.
            #[cfg(feature = "host")]
            Engine::Host(engine) => (AnyEngine::new(engine.clone()), old.meter.clone()),
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => {
                let engine = engine.again(&self.config.engine, life.clone(), self.counters.clone())?;
                (AnyEngine::new(engine), Arc::new(old.meter.again()))
            }
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => {
                let engine = engine.again(&self.config.engine, &self.label, self.counters.clone())?;
                (AnyEngine::new(engine), Arc::new(old.meter.again()))
            }
            // The current epoch of a device is never a recording.
            Engine::Tape(_) => return Err(Error::unsupported("internal error: a recording cannot be rebuilt")),
        };
        let epoch = Epoch::new(Parts {
            device: self.id,
            label: self.label.clone(),
            generation,
            life,
            engine,
            meter,
            counters: self.counters.clone(),
            now: self.now.clone(),
            owner: Arc::downgrade(&(Arc::clone(self) as Arc<dyn Owner>)),
        });
        epoch.engine.installed(&epoch);
        Ok(epoch)
    }

    /// Swaps the epoch pointer: installs the epoch, raises the generation and admits work in one step. The old epoch
    /// becomes stale.
    pub(crate) fn install(&self, epoch: Arc<Epoch>) {
        let old = {
            let mut current = self.current.write();
            self.now.store(epoch.generation, Ordering::SeqCst);
            std::mem::replace(&mut *current, epoch)
        };
        old.end(Stand::Stale, Cause::default);
    }

    /// Waits until nothing is in flight in `epoch`, which admits no new work. False when `limit` was not enough.
    pub(crate) fn drain(&self, epoch: &Arc<Epoch>, limit: Duration) -> Result<bool> {
        Self::wait_for(epoch, (limit, Wait::Block), || epoch.engine.is_drained(epoch))
    }

    /// The same for what has been submitted so far, whatever is submitted after it.
    pub(super) fn synchronize(&self, epoch: &Arc<Epoch>, limit: Duration, how: Wait) -> Result<bool> {
        let earlier = epoch.engine.earlier(epoch);
        Self::wait_for(epoch, (limit, how), || epoch.engine.is_over(&earlier))
    }

    fn wait_for(epoch: &Epoch, (limit, how): (Duration, Wait), over: impl Fn() -> bool) -> Result<bool> {
        let (until, waits) = (epoch.timing.clock.after(limit), &epoch.timing.waits);
        // Spins as a wait for one dispatch does. The longer spin is for CUDA only: work in flight on the host engine
        // needs the cores itself.
        let spinner = if how == Wait::Adaptive && epoch.engine.is_polled() { Spinner::enter() } else { None };
        let spin = match (how, &spinner) {
            (Wait::Spin, _) => Duration::MAX,
            (Wait::Adaptive, Some(_)) => waits.spin + waits.gpu_spin,
            (Wait::Adaptive, None) => waits.spin,
            _ => Duration::ZERO,
        };
        let (start, mut backoff) = (Clock::SYSTEM.start(), Backoff::learning(waits, "synchronize"));
        loop {
            if over() {
                backoff.ended();
                return Ok(true);
            }
            if epoch.dead() {
                return Err(epoch.verdict());
            }
            if clock::is_over(until) {
                // Much may have happened between the check of `over` and that of the clock.
                return Ok(over());
            }
            let waited = start.elapsed();
            if waited >= spin {
                backoff.pause(until);
            } else if waited > waits.longest_pause {
                std::thread::yield_now(); // where cores are few, other threads may need this one
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// The memory of `epoch`, which may not be installed yet.
    pub(super) fn memory(&self, epoch: &Arc<Epoch>) -> Result<MemoryInfo> {
        let (used, limit) = (epoch.meter.used(), epoch.meter.limit());
        let (free, total, pool) = match epoch.engine.memory(epoch)? {
            Some((free, total, pool)) => (free, total, Some(pool)),
            None => (self.info.total_memory.saturating_sub(used), self.info.total_memory, None),
        };
        Ok(MemoryInfo { free, total, used, limit, addresses: epoch.meter.addresses(), pool })
    }

    pub(crate) fn stats(&self) -> Stats {
        let c = &self.counters;
        let epoch = self.epoch();
        epoch.engine.look();
        let mut stats = Stats {
            dispatches: c.dispatches(),
            in_flight: c.in_flight(),
            bytes_used: epoch.meter.used(),
            bytes_peak: epoch.meter.peak(),
            bytes_limit: epoch.meter.limit(),
            allocations: epoch.meter.count(),
            table_bytes: epoch.meter.held(),
            bytes_up: c.bytes_up.load(Ordering::Relaxed),
            bytes_down: c.bytes_down.load(Ordering::Relaxed),
            leaked: c.leaked.load(Ordering::Relaxed),
            forced_waits: c.forced_waits.load(Ordering::Relaxed),
            operand_copies: c.operand_copies.load(Ordering::Relaxed),
            faults: c.faults.load(Ordering::Relaxed),
            rebuilds: c.rebuilds.load(Ordering::Relaxed),
            last_fault: c.last_fault(),
            recovery: c.recovery(),
            orders: c.orders.load(Ordering::Relaxed),
            bytes_crossed: c.bytes_crossed.load(Ordering::Relaxed),
            generation: epoch.generation,
            errors: c.errors(),
            ..Stats::default()
        };
        for entry in self.config.engine.libraries {
            (entry.fill)(&self.config.settings, &mut stats);
        }
        epoch.engine.fill(&mut stats);
        stats
    }
}

impl Owner for Inner {
    fn current(&self) -> Arc<Epoch> {
        self.epoch()
    }

    fn on_fault(self: Arc<Self>, epoch: &Arc<Epoch>) {
        self.supervisor.on_fault(&self, epoch);
    }

    #[cfg(feature = "cuda")]
    fn lost(&self, cause: String) {
        self.supervisor.lost(cause);
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl Drop for Inner {
    /// Every handle is gone. No driver call here: the engine's housekeeping tears it down.
    fn drop(&mut self) {
        let epoch = self.current.get_mut();
        epoch.end(Stand::Gone, || Cause { message: "the device was dropped".into(), ..Cause::default() });
        epoch.engine.close();
    }
}

#[cfg(feature = "host")]
fn open_host(config: &Config) -> Result<Opened<AnyEngine>> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let label = format!("host:{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let engine = crate::engines::host::HostEngine::new(config.engine.pool.clone(), &label, config.engine.plan.clone())?;
    let total_memory = crate::core::machine::total_memory();
    let info = DeviceInfo {
        kind: crate::core::device_info::DeviceKind::Host,
        name: crate::core::machine::processor_name(),
        compute_capability: None,
        total_memory,
        uuid: None,
        pci: None,
        processors: engine.threads() as u32,
        driver_version: None,
        passed_over: Vec::new(),
        shared_by_mps: false,
    };
    Ok(Opened { engine: AnyEngine::new(Arc::new(engine)), info, label, limit: total_memory })
}
