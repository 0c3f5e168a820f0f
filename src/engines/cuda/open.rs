//! Opening a GPU.

use super::api::{Code, Driver};
use super::code::LoadedCode;
use super::context::fault;
use super::context::{BINDING, Context};
use super::housekeeping::Housekeeper;
use super::late::Helpers;
use super::late::LateWork;
use super::memory::Memory;
use super::memory::Reclaim;
use super::memory::{MemoryPool, PinnedPool};
use super::streams::Pool;
use super::streams::Slot;
use super::streams::Streams;
use super::wait::BlockingWaits;
use super::{Core, CudaEngine};
use crate::core::device_info::{DeviceInfo, DeviceKind};
use crate::core::epoch::Epoch;
use crate::core::epoch::life::Life;
use crate::core::error::{Error, Result};
use crate::core::process;
use crate::core::sync::{Arc, AtomicBool};
use crate::core::trace::Counters;
use crate::engines::config::{EngineConfig, Opened};
use cudarc::driver::sys::{CUstream, CUuuid};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Loads and initialises the driver.
fn driver() -> Result<&'static Driver> {
    let api = Driver::load()?;
    api.init().ok().map_err(|code| match code {
        Code(100) => Error::invalid("ordinal", "the driver finds no GPU (cuInit: CUDA_ERROR_NO_DEVICE)"),
        code => fault::error(code, "cuInit"),
    })?;
    // After cuInit, so that at process exit our handler runs before the driver's.
    static WATCH: std::sync::Once = std::sync::Once::new();
    WATCH.call_once(process::watch_exit);
    Ok(api)
}

/// The number of GPUs; 0 if there is no driver.
pub(crate) fn device_count() -> usize {
    known_count().unwrap_or(0)
}

/// The number of GPUs, at least one.
///
/// # Errors
/// Why there is none.
pub(crate) fn known_count() -> Result<usize> {
    match driver().and_then(count)? {
        0 => Err(Error::invalid("ordinal", "the driver shows no GPU to this process")),
        some => Ok(some),
    }
}

fn count(api: &Driver) -> Result<usize> {
    let mut count = 0;
    // SAFETY: `count` is valid for the write.
    check(unsafe { api.device_get_count(&mut count) }, "cuDeviceGetCount")?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// The UUID of GPU `ordinal`. Makes no context.
#[cfg(target_os = "linux")]
pub(crate) fn uuid_of(ordinal: usize) -> Option<[u8; 16]> {
    let api = driver().ok()?;
    let mut device = 0;
    // SAFETY: `device` is valid for the write. The driver refuses an ordinal that does not exist.
    check(unsafe { api.device_get(&mut device, i32::try_from(ordinal).ok()?) }, "cuDeviceGet").ok()?;
    uuid(api, device)
}

fn uuid(api: &Driver, device: i32) -> Option<[u8; 16]> {
    let mut uuid = std::mem::MaybeUninit::<CUuuid>::zeroed();
    // SAFETY: valid for the write.
    let known = unsafe { api.device_get_uuid(uuid.as_mut_ptr(), device) }.is_success();
    // SAFETY: a CUuuid is sixteen plain bytes, all set to zero before.
    let uuid = unsafe { uuid.as_ptr().cast::<[u8; 16]>().read() };
    known.then_some(uuid)
}

/// Opens GPU `ordinal` for the first time.
pub(crate) fn open(
    ordinal: usize,
    config: &EngineConfig,
    life: Arc<Life>,
    counters: Arc<Counters>,
) -> Result<Opened<CudaEngine>> {
    let api = driver()?;
    let count = count(api)?;
    if ordinal >= count {
        return Err(Error::invalid("ordinal", format!("there is no GPU {ordinal}; this machine has {count}")));
    }
    let mut device = 0;
    // SAFETY: `device` is valid for the write, the ordinal exists.
    check(unsafe { api.device_get(&mut device, ordinal as i32) }, "cuDeviceGet")?;
    let info = describe(api, device)?;
    let context = retain(api, device)?;
    let engine = match make(context.clone(), config, life, counters) {
        Ok(engine) => engine,
        Err(error) => {
            let _ = context.release();
            return Err(error);
        }
    };
    // Libraries allocate memory outside our pool: leave some for them.
    const HEADROOM: u64 = 1 << 30;
    let limit = info.total_memory.saturating_sub(HEADROOM).max(info.total_memory / 2);
    Ok(Opened { engine, info, label: format!("cuda:{ordinal}"), limit })
}

/// Call after a device was made around the engine.
pub(crate) fn installed(epoch: &Arc<Epoch>) {
    if epoch.engine.as_cuda().is_some() {
        epoch.engine.installed(epoch);
        fault::enlist(&epoch.owner);
    }
}

fn check(code: Code, call: &str) -> Result<()> {
    code.ok().map_err(|code| fault::error(code, call))
}

impl CudaEngine {
    /// Makes the engine of the next epoch: on the same context, or on a new one if other code destroyed it.
    pub(crate) fn again(&self, config: &EngineConfig, life: Arc<Life>, counters: Arc<Counters>) -> Result<Self> {
        let old = &self.core.context;
        let active = old.active().map_err(|code| fault::error(code, "cuDevicePrimaryCtxGetState"))?;
        // A destroyed context may be made anew at the same address. So its state decides, not the pointer.
        let gone = old.released()
            || !active
            || match old.bind() {
                Ok(_) => false,
                Err(code) if fault::is_context_gone(code) => true,
                Err(code) => return Err(fault::error(code, BINDING)),
            };
        if !gone {
            return make(old.clone(), config, life, counters);
        }
        let context = retain(old.api, old.device)?;
        self.core.forsake(&context);
        make(context.clone(), config, life, counters).inspect_err(|_| {
            let _ = context.release();
        })
    }
}

fn retain(api: &'static Driver, device: i32) -> Result<Arc<Context>> {
    Context::retain(api, device).map(Arc::new).map_err(|code| fault::error(code, "cuDevicePrimaryCtxRetain"))
}

/// Makes the pool, the slots and the rest on a retained context.
fn make(context: Arc<Context>, config: &EngineConfig, life: Arc<Life>, counters: Arc<Counters>) -> Result<CudaEngine> {
    const NON_BLOCKING: u32 = 1;
    let _bound = context.bind().map_err(|code| fault::error(code, BINDING))?;
    let api = context.api;
    let pool = MemoryPool::new(&context).map_err(|code| fault::error(code, "cuMemPoolCreate"))?;
    let epoch = Arc::new(OnceLock::new());
    let housekeeper = Housekeeper::new();
    let reclaim = Arc::new(Reclaim::new(housekeeper.nudge.clone(), counters.clone()));
    let mut slots = Vec::with_capacity(config.slots);
    for index in 0..config.slots {
        let mut stream: CUstream = std::ptr::null_mut();
        // SAFETY: `stream` is valid for the write; the context is current.
        let code = unsafe { api.stream_create(&mut stream, NON_BLOCKING) };
        if let Err(code) = code.ok() {
            for slot in &slots {
                let slot: &Slot = slot;
                // SAFETY: made above, never used.
                let _ = unsafe { api.stream_destroy(slot.lease.lock().stream.0) };
            }
            // SAFETY: made above, empty.
            let _ = unsafe { api.mem_pool_destroy(pool.raw.0) };
            return Err(fault::error(code, "cuStreamCreate"));
        }
        slots.push(Slot::new(
            index,
            stream,
            context.clone(),
            life.clone(),
            epoch.clone(),
            reclaim.clone(),
            config.timing,
        ));
    }
    let pools = Pool::all(config.slots, config.libraries);
    let (waits, timing) = (Arc::new(BlockingWaits::default()), config.timing);
    let helpers = Helpers::new(pools.iter().map(Pool::helpers).sum(), timing);
    let pinned = PinnedPool::new(context.clone(), config.staging_limit, timing);
    let (shared, nudge) = ((context.clone(), counters.clone(), timing), &housekeeper.nudge);
    let core = Arc::new(Core {
        streams: Streams::new(slots, pools, waits.clone(), helpers.clone(), shared),
        memory: Memory::new(pool, reclaim, pinned, waits.clone(), context.clone()),
        late: LateWork::new(helpers),
        code: LoadedCode::new(config.libraries, nudge, waits, (context.clone(), counters.clone())),
        context: context.clone(),
        housekeeper,
        torn: AtomicBool::new(false),
        left: AtomicBool::new(false),
        timing,
        counters,
        epoch,
    });
    context.enter();
    core.housekeeper.serve(&core);
    super::memory::handed_on::enter(&core);
    core.memory.pinned().warm();
    for slot in core.streams.all() {
        let _ = slot.shared.core.set(Arc::downgrade(&core));
    }
    drop(_bound);
    Ok(CudaEngine { core })
}

/// The oldest generation of GPUs that this process has looked at.
static OLDEST: AtomicU32 = AtomicU32::new(u32::MAX);

/// Whether all GPUs that this process uses are of this generation or newer; false before there is one.
pub(crate) fn all_are_since(major: u32) -> bool {
    (major..u32::MAX).contains(&OLDEST.load(Ordering::Relaxed))
}

fn describe(api: &'static Driver, device: i32) -> Result<DeviceInfo> {
    const MULTIPROCESSORS: u32 = 16;
    const CAPABILITY_MAJOR: u32 = 75;
    const CAPABILITY_MINOR: u32 = 76;
    const MEMORY_POOLS: u32 = 115;
    const MPS: u32 = 133;
    let attribute = |which| {
        let mut value = 0;
        // SAFETY: `value` is valid for the write.
        let code = unsafe { api.device_get_attribute(&mut value, which, device) };
        if code.is_success() { u32::try_from(value).unwrap_or(0) } else { 0 }
    };
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
    };
    let mut name = [0u8; 256];
    // SAFETY: the buffer has the length given.
    check(unsafe { api.device_get_name(name.as_mut_ptr().cast(), 256, device) }, "cuDeviceGetName")?;
    let mut pci = [0u8; 64];
    // SAFETY: the buffer has the length given.
    let pci_known = unsafe { api.device_get_pci_bus_id(pci.as_mut_ptr().cast(), 64, device) }.is_success();
    let mut total = 0usize;
    // SAFETY: `total` is valid for the write.
    check(unsafe { api.device_total_mem(&mut total, device) }, "cuDeviceTotalMem")?;
    let mut version = 0;
    // SAFETY: `version` is valid for the write.
    let version_known = unsafe { api.driver_get_version(&mut version) }.is_success();
    let mut pools = 0;
    // SAFETY: `pools` is valid for the write.
    check(unsafe { api.device_get_attribute(&mut pools, MEMORY_POOLS, device) }, "cuDeviceGetAttribute")?;
    if pools == 0 {
        return Err(Error::unsupported(format!(
            "{} has no stream-ordered memory pools, which windlass requires",
            text(&name)
        )));
    }
    OLDEST.fetch_min(attribute(CAPABILITY_MAJOR), Ordering::Relaxed);
    Ok(DeviceInfo {
        kind: DeviceKind::Cuda,
        name: text(&name),
        compute_capability: Some((attribute(CAPABILITY_MAJOR), attribute(CAPABILITY_MINOR))),
        total_memory: total as u64,
        uuid: uuid(api, device),
        pci: pci_known.then(|| text(&pci)),
        processors: attribute(MULTIPROCESSORS),
        driver_version: version_known.then(|| u32::try_from(version).unwrap_or(0)),
        passed_over: Vec::new(),
        shared_by_mps: attribute(MPS) != 0,
    })
}
