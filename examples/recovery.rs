//! A device fails in the middle of a computation, and the computation goes on.
//!
//! ```text
//! WINDLASS_DEVICE=host cargo run --release -p windlass --example recovery
//! WINDLASS_DEVICE=cuda cargo run --release -p windlass --example recovery
//! ```
//!
//! A host device is given a fault plan: two of its operations poison the context, as an illegal address does on a GPU.
//! On a GPU a real fault would end CUDA for this whole process, so there the device is rebuilt on request instead. The
//! code that recovers is the same: the device comes back in a new generation, a hook puts the data back from a
//! checkpoint in host memory, and the loop repeats what it had not yet saved.

use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use windlass::{Device, DeviceBuffer, DeviceBuilder, DeviceKind, GpuRef, health::Phase};

const LEN: usize = 1 << 12;
const ROUNDS: usize = 60;
/// Rounds between checkpoints: what a fault costs at most.
const SAVE_EVERY: usize = 10;
/// Where a device that cannot be given a fault plan is rebuilt.
const REBUILD_AT: [usize; 2] = [25, 47];
const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> Result<(), Box<dyn Error>> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    let work = Work::new();
    let hook = work.clone();
    // Runs whenever the device is made anew, before anybody else may use the new generation.
    let device = builder()?.before_admission(move |device| hook.put_back(device)).open()?;
    println!("device      {} ({})", device.name(), device.info().name);
    if device.kind() == DeviceKind::Cuda {
        println!("            a GPU is rebuilt on request: a real fault would end CUDA in this process");
    }
    run(&device, &work)?;

    let answer = lock(&work.saved).values.clone();
    if answer != expected() {
        return Err("the answer is wrong".into());
    }
    let (health, stats) = (device.health(), device.stats());
    println!("answer      right: {ROUNDS} rounds give what plain Rust gives, bit for bit");
    println!(
        "health      {:?} in generation {}, {} restarts left",
        health.phase, health.generation, health.restarts_left
    );
    println!("stats       {} dispatches, {} faults, {} rebuilds", stats.dispatches, stats.faults, stats.rebuilds);
    for (kind, count) in &stats.errors {
        println!("            {count} x {kind} returned");
    }
    Ok(())
}

/// Rounds until all are done. A failure of the device costs the rounds since the last checkpoint.
fn run(device: &Device, work: &Work) -> Result<(), Box<dyn Error>> {
    let mut to_rebuild = REBUILD_AT.iter().copied().filter(|_| device.kind() == DeviceKind::Cuda).peekable();
    loop {
        let (generation, round) = (device.generation(), work.round());
        if round == ROUNDS {
            return Ok(());
        }
        if to_rebuild.next_if_eq(&round).is_some() {
            device.rebuild(PATIENCE)?;
            work.tell(device, round, "a rebuild was requested");
            continue;
        }
        match work.advance(device) {
            Ok(()) => {}
            Err(error) if failed_since(device, generation) => {
                device.wait_healthy(PATIENCE)?;
                work.tell(device, round, &what(&error));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether the device has failed since it was in `generation`. Asked of the device rather than of the error: one
/// fault may answer as a poisoned context, as a stale buffer, or as a failure upstream, by where it finds the work.
fn failed_since(device: &Device, generation: u64) -> bool {
    device.generation() != generation || device.health().phase != Phase::Healthy
}

fn what(error: &windlass::Error) -> String {
    let op = error.site().and_then(|site| site.op()).unwrap_or("no operation");
    format!("{} in {op}", error.kind())
}

/// The computation: `x = x / 2 + b`, in rounds.
struct Work {
    saved: Mutex<Checkpoint>,
    on_device: Mutex<Option<Data>>,
}

/// In host memory, where no fault of the device reaches it.
#[derive(Clone)]
struct Checkpoint {
    round: usize,
    values: Vec<f64>,
}

/// On the device; gone with each generation.
struct Data {
    /// How many rounds are in `x`. Kept beside it: a fault may put back data of an earlier round at any time.
    round: usize,
    x: DeviceBuffer<f64>,
    b: GpuRef<f64>,
}

impl Work {
    fn new() -> Arc<Self> {
        let saved = Checkpoint { round: 0, values: vec![0.0; LEN] };
        Arc::new(Work { saved: Mutex::new(saved), on_device: Mutex::new(None) })
    }

    /// The data on the device anew, from the checkpoint.
    fn load(&self, device: &Device) -> windlass::Result<Data> {
        let Checkpoint { round, values } = lock(&self.saved).clone();
        let x = device.upload(values)?.await_result()?;
        let b = device.upload(offsets())?.await_result()?.share();
        Ok(Data { round, x, b })
    }

    /// What the hook does.
    fn put_back(&self, device: &Device) -> windlass::Result<()> {
        let data = self.load(device)?;
        *lock(&self.on_device) = Some(data);
        Ok(())
    }

    /// The rounds done, as far as the device has them.
    fn round(&self) -> usize {
        let on_device = lock(&self.on_device).as_ref().map(|data| data.round);
        on_device.unwrap_or_else(|| lock(&self.saved).round)
    }

    /// One round, and the checkpoint where one is due.
    fn advance(&self, device: &Device) -> windlass::Result<()> {
        // Taken out, for no lock may be held across a wait: the hook needs it.
        let taken = lock(&self.on_device).take();
        let Data { round, x, b } = match taken {
            Some(data) => data,
            None => self.load(device)?, // the first time
        };
        let round = round + 1;
        let halved = device.blas().scal(0.5, x)?;
        let x = device.blas().axpy(1.0, &b, halved)?.await_result()?.into_buffer();
        if round.is_multiple_of(SAVE_EVERY) || round == ROUNDS {
            let values = device.download(&x)?.await_result()?;
            *lock(&self.saved) = Checkpoint { round, values };
        }
        // Only into the empty place: what a hook put there meanwhile is newer.
        lock(&self.on_device).get_or_insert(Data { round, x, b });
        Ok(())
    }

    /// What happened, and where the computation goes on.
    fn tell(&self, device: &Device, round: usize, why: &str) {
        println!(
            "round {round:2}    {why}; continues from round {} in generation {}",
            self.round(),
            device.generation()
        );
    }
}

/// The device that the environment names, still to be opened: a host device gets its faults here.
fn builder() -> Result<DeviceBuilder, Box<dyn Error>> {
    let named = Device::from_env()?;
    match named.name().strip_prefix("cuda:") {
        Some(ordinal) => Ok(Device::builder().cuda(ordinal.parse()?)),
        None => Ok(with_faults(Device::builder().host())),
    }
}

#[cfg(feature = "host")]
fn with_faults(builder: DeviceBuilder) -> DeviceBuilder {
    builder.fault_plan(windlass::FaultPlan::new().poison(51).poison(126))
}

#[cfg(not(feature = "host"))]
fn with_faults(builder: DeviceBuilder) -> DeviceBuilder {
    builder
}

fn offsets() -> Vec<f64> {
    (0..LEN).map(|i| (i % 97) as f64).collect()
}

/// The same in plain Rust. Halving is exact, so there is one rounding a round on every engine.
fn expected() -> Vec<f64> {
    let round = |x: f64, b: f64| 0.5 * x + b;
    offsets().into_iter().map(|b| (0..ROUNDS).fold(0.0, |x, _| round(x, b))).collect()
}

/// A panic elsewhere is reported elsewhere: the data under the lock is good.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
