//! Starts the first worker of a device, and the next one after a loss.

use super::engine::WorkerEngine;
use super::link::Link;
use super::standby::Standby;
use super::{launch, monitor};
use crate::core::clock;
use crate::core::error::{Error, Result};
use crate::core::sync::{Arc, AtomicU64, Ordering};
use crate::core::trace::Counters;
use crate::engines::config::{EngineConfig, Kind, Opened};
use crate::engines::worker::shared::DeviceOrder;
use std::time::Duration;

/// Starts the first worker of a device.
pub(crate) fn open(config: &EngineConfig, counters: Arc<Counters>) -> Result<Opened<WorkerEngine>> {
    let order = device_order(config, None)?;
    let (mut engine, limit, label) = start(config, order, counters.clone())?;
    let (info, label) = (engine.info.clone(), name_of(&label));
    engine.standby = config.worker.standby.then(|| Arc::new(Standby::new(config.timing)));
    #[cfg(feature = "cuda")]
    {
        engine.nvml_keep_alive = info.pci.as_deref().and_then(super::nvml_keep_alive::NvmlKeepAlive::new).map(Arc::new);
    }
    engine.prepare(config, &label, &counters);
    Ok(Opened { engine, info, label, limit })
}

/// Every worker gives its device the same label. A number tells the devices of this process apart.
fn name_of(label: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    match COUNT.fetch_add(1, Ordering::Relaxed) {
        0 => format!("{label}/worker"),
        n => format!("{label}/worker:{n}"),
    }
}

fn device_order(config: &EngineConfig, uuid: Option<[u8; 16]>) -> Result<DeviceOrder> {
    #[cfg(feature = "host")]
    let threads = match config.pool {
        crate::engines::host::HostPool::Cores => Some(0),
        crate::engines::host::HostPool::Threads(n) => Some(n),
        crate::engines::host::HostPool::Inline => None,
        crate::engines::host::HostPool::Shared(_) => {
            return Err(Error::invalid("host_pool", "a pool of this process cannot be shared with a worker process"));
        }
    };
    #[cfg(not(feature = "host"))]
    let threads = Some(0);
    let (shortest, longest) = config.timing.watch.beat;
    Ok(DeviceOrder {
        ordinal: match config.kind {
            Kind::Cuda(ordinal) => Some(ordinal),
            Kind::Host | Kind::Best => None,
        },
        uuid,
        label: config.label.clone(),
        threads,
        slots: config.slots,
        memory_limit: config.memory_limit,
        staging_limit: config.staging_limit,
        test: false,
        beat: (config.worker.heartbeat / 8).max(shortest).min(longest).as_millis() as u64,
    })
}

fn start(config: &EngineConfig, order: DeviceOrder, counters: Arc<Counters>) -> Result<(WorkerEngine, u64, String)> {
    let inline = order.threads.is_none() && order.ordinal.is_none();
    let mut started = launch::start(&config.worker, order, config.timing)?;
    if started.info.kind == crate::core::device_info::DeviceKind::Cuda {
        started.bulk.pin(); // the worker registers it with the driver
    }
    let (process, bell) = (started.process, started.bell);
    let link = Link::new(process.id(), started.control, started.bulk, bell.clone(), counters);
    link.on_gpu.store(started.info.kind == crate::core::device_info::DeviceKind::Cuda, Ordering::Relaxed);
    monitor::start(&link, process, started.socket, bell, &config.worker)?;
    let engine = WorkerEngine {
        link,
        code: started.code,
        info: started.info,
        inline,
        standby: None,
        #[cfg(feature = "cuda")]
        nvml_keep_alive: None,
        #[cfg(feature = "host")]
        plan: config.plan.clone(),
    };
    Ok((engine, started.limit, started.label))
}

impl WorkerEngine {
    /// A fresh worker for the next generation: the standby, if there is one.
    pub(crate) fn again(&self, config: &EngineConfig, label: &str, counters: Arc<Counters>) -> Result<Self> {
        let mut engine = match self.standby.as_ref().and_then(|standby| standby.take()) {
            Some(engine) => engine,
            None => self.start_cold(config, label, &counters)?,
        };
        engine.standby = self.standby.clone();
        #[cfg(feature = "cuda")]
        {
            engine.nvml_keep_alive = self.nvml_keep_alive.clone();
        }
        engine.prepare(config, label, &counters);
        Ok(engine)
    }

    /// Starts a worker while the old one may still be ending, to save time. If that fails, tries once more when the old
    /// one is gone, for it may hold what the new one needs: a GPU in exclusive mode, or most of its memory.
    fn start_cold(&self, config: &EngineConfig, label: &str, counters: &Arc<Counters>) -> Result<Self> {
        let order = self.next_order(config, label)?;
        let start = |order| start(config, order, counters.clone()).map(|(engine, ..)| engine);
        let alone = self.link.ending.is_gone();
        match start(order.clone()) {
            Err(_) if !alone && self.await_gone(config.timing.recovery.parting) => start(order),
            started => started,
        }
    }

    /// Waits until the worker's process is gone, with all that it held. False if that takes longer than `limit`.
    pub(crate) fn await_gone(&self, limit: Duration) -> bool {
        let timing = self.link.timing;
        let start = timing.clock.start();
        while !self.link.ending.is_gone() {
            if start.elapsed() > limit {
                return false;
            }
            clock::pause(timing.waits.glance);
        }
        true
    }

    pub(super) fn wait_at(&self, standby: &Arc<Standby>) {
        self.link.ending.wait_at(standby);
    }

    fn next_order(&self, config: &EngineConfig, label: &str) -> Result<DeviceOrder> {
        Ok(DeviceOrder { label: Some(label.to_string()), ..device_order(config, self.info.uuid)? })
    }

    /// Starts a standby in the background, if the device has one.
    fn prepare(&self, config: &EngineConfig, label: &str, counters: &Arc<Counters>) {
        let (Some(standby), Ok(order)) = (&self.standby, self.next_order(config, label)) else { return };
        let (config, counters) = (config.clone(), counters.clone());
        let order = DeviceOrder { test: true, ..order };
        standby.prepare(move || start(&config, order.clone(), counters.clone()).map(|(engine, ..)| engine));
    }
}
