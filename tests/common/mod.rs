//! What the integration tests share: devices under test, work that lasts, seeded numbers, and a limit on hanging.
//!
//! `WINDLASS_TEST_DEVICE=cuda:0` runs the same tests on that GPU, beside the host; `host:isolated` and `cuda:0:isolated`
//! run them in worker processes. `WINDLASS_TEST_SHIFT=3` lets every buffer begin three elements behind the beginning
//! of its memory (`shift.rs`). `WINDLASS_TEST_SLOTS='16 2'` takes the GPU with so many stream slots, one after the other.
#![allow(dead_code, unused_imports, unreachable_pub, reason = "each test binary uses a part of this")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod asleep;
mod captures;
pub mod child;
mod columns;
pub mod degenerate;
pub mod edge;
pub mod exchange;
pub mod fatbin;
mod grid;
mod in_place;
mod laid;
#[cfg(target_os = "linux")]
pub mod machine;
mod sample;
mod shift;
pub mod timeline;
mod work;

pub use asleep::{Asleep, lasts_an_hour, let_others_run};
pub use captures::{captures, halves_that_are_overwritten_beside_replays};
pub use columns::{columns, conjugated, into_columns, new_columns, op, rows};
pub use grid::{left_out, seed_left_out};
pub use in_place::{Deed, InPlace};
pub use laid::{INCREMENTS, Laid, assert_near, magnitude, unit};
pub use sample::{Rng, Sample, seeds};
pub use shift::{junk, shift};
pub use work::{Gate, Map, busy, map};

/// Makes every test program its own worker program: libtest has the `main`, so this stands before it.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static WORKER: extern "C" fn() = {
    extern "C" fn begin() {
        if std::env::var_os(child::NO_WORKER).is_none() {
            windlass::worker::init();
        }
        shift::watch();
    }
    begin
};

use std::time::{Duration, Instant};
use windlass::{
    Device, DeviceBuffer, DeviceBuilder, DeviceKind, Element, Error, HostPool, PendingDispatch, Rejected, Stats,
    Submitted, Tensor,
};

/// What `WINDLASS_TEST_DEVICE` names: a GPU's ordinal, or the host; and whether it shall be isolated.
fn chosen() -> (Option<usize>, bool) {
    let Ok(name) = std::env::var("WINDLASS_TEST_DEVICE") else { return (None, false) };
    let name = name.trim();
    let (device, isolated) = match name.strip_suffix(":isolated") {
        Some(device) => (device, true),
        None => (name, false),
    };
    match device.strip_prefix("cuda") {
        Some(rest) => (Some(rest.strip_prefix(':').map_or(0, |n| n.parse().expect(name))), isolated),
        None => (None, isolated),
    }
}

/// The devices under test are in worker processes.
pub fn isolated() -> bool {
    chosen().1
}

/// How to open every device under test: the host on two threads of its own and inline; or, when
/// `WINDLASS_TEST_DEVICE` names a GPU, that one beside the host, the oracle.
pub fn builders() -> Vec<DeviceBuilder> {
    match chosen() {
        (Some(ordinal), isolated) => {
            let gpu =
                || if isolated { Device::builder().cuda(ordinal).isolated() } else { Device::builder().cuda(ordinal) };
            let numbers = std::env::var("WINDLASS_TEST_SLOTS").unwrap_or_default();
            let mut all: Vec<_> = numbers.split_whitespace().map(|n| gpu().slots(n.parse().expect(n))).collect();
            if all.is_empty() {
                all.push(gpu());
            }
            all.push(host(2));
            all
        }
        (None, true) => vec![host(2).isolated(), inline().isolated(), host(2)],
        (None, false) => vec![host(2), inline()],
    }
}

/// Those of them whose devices work while the caller does something else.
pub fn concurrent_builders() -> Vec<DeviceBuilder> {
    let mut all = builders();
    all.truncate(if chosen().0.is_some() { 2 } else { 1 });
    all
}

/// Every device under test, opened.
pub fn devices() -> Vec<Device> {
    let named = |device: &Device| println!("testing {device:?}, {:?}", device.info().name);
    builders().into_iter().map(open).inspect(named).collect()
}

/// [`concurrent_builders`], opened.
pub fn concurrent_devices() -> Vec<Device> {
    concurrent_builders().into_iter().map(open).collect()
}

/// On a GPU with its library handles made: making one waits for whatever the device is doing.
fn open(builder: DeviceBuilder) -> Device {
    let device = builder.open().expect("a device under test");
    device.blas().warm().expect("library handles");
    let x = up(&device, [1.0f64; 4]);
    // Kernels are loaded when they are first launched, which may wait as well.
    let dot = device.blas().dot(&x, &x).expect("dot").await_result().expect("dot");
    let norm = device.blas().nrm2(&x).expect("nrm2").await_result().expect("nrm2");
    assert_eq!((dot, norm), (4.0, 2.0));
    drop(
        device
            .blas()
            .axpy(1.0, &x, up(&device, [1.0f64; 4]))
            .expect("axpy")
            .await_result()
            .expect("axpy")
            .into_buffer(),
    );
    let x = device.blas().scal(1.0, x).expect("scal").await_result().expect("scal").into_buffer();
    drop(busy(&device, x, 0));
    device.synchronize(LONG).expect("an idle device");
    assert_back_at(&device, (0, 0, 0));
    device
}

/// A host device on `threads` threads of its own: for what only the host engine can be made to suffer.
pub fn host(threads: usize) -> DeviceBuilder {
    Device::builder().host().host_pool(HostPool::Threads(threads))
}

/// A host device that runs everything on the caller's thread.
pub fn inline() -> DeviceBuilder {
    Device::builder().host().host_pool(HostPool::Inline)
}

/// What stands for "for ever" takes so long at least: a test that passes never waits for it, and a machine that runs many
/// things at once may take seconds over what is done in a millisecond elsewhere.
pub const LONG: Duration = Duration::from_secs(60);

/// Runs `f` on a thread of its own and fails when it takes longer than `seconds`, and [`LONG`]; a panic in it is passed on.
#[track_caller]
pub fn within<R: Send + 'static>(seconds: u64, f: impl FnOnce() -> R + Send + 'static) -> R {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    let (send, receive) = channel();
    let thread = std::thread::spawn(move || {
        let _ = send.send(f());
    });
    let limit = LONG.max(Duration::from_secs(seconds));
    match receive.recv_timeout(limit) {
        Ok(answer) => answer,
        Err(RecvTimeoutError::Timeout) => panic!("hung: no answer in {limit:?}"),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => panic!("ended without an answer"),
        },
    }
}

/// As `std::mem::forget`: `value` is never dropped. It is kept where the leak sanitizer sees that this is meant.
pub fn forget<T: Send + 'static>(value: T) {
    use std::any::Any;
    use std::sync::{Mutex, PoisonError};
    static FORGOTTEN: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());
    FORGOTTEN.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(value));
}

/// Looks until `done`, for `seconds` and [`LONG`] at most. False when it never was.
pub fn eventually(seconds: u64, mut done: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + LONG.max(Duration::from_secs(seconds));
    while !done() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_micros(200)); // a look now and then, for as long as it takes
    }
    true
}

/// Looks beside work that lasts so many milliseconds, and looks again beside work that lasts longer where it was over before
/// `look` was: the machine may have had other things to do. `look` tells whether the work was there to its end.
#[track_caller]
pub fn beside_work(ms: u64, mut look: impl FnMut(u64) -> bool) {
    let lasts = [ms, 8 * ms, 64 * ms];
    assert!(lasts.into_iter().any(&mut look), "work of {lasts:?} ms was over each time: somebody waited for it");
}

/// What a device holds: bytes, allocations, work in flight.
pub fn holdings(device: &Device) -> (u64, u64, u64) {
    let Stats { bytes_used, allocations, in_flight, .. } = device.stats();
    (bytes_used, allocations, in_flight)
}

/// Asserts that the device comes to hold what it held at `base`.
#[track_caller]
pub fn assert_back_at(device: &Device, base: (u64, u64, u64)) {
    eventually(10, || holdings(device) == base);
    assert_eq!(holdings(device), base, "(bytes, allocations, in flight) of {device:?} did not go back");
}

/// A buffer with these elements. In the suites of libraries it lies by turns beside a page that nobody may touch ([`edge`]), unless
/// buffers are shifted; other suites count their uploads and allocations.
#[track_caller]
pub fn up<T: Element>(device: &Device, data: impl Into<Vec<T>>) -> DeviceBuffer<T> {
    let data = data.into();
    let file = std::panic::Location::caller().file();
    let of_libraries = ["/blas/", "/fft/", "/rng/", "/solver/", "/sparse/", "/dnn/", "/laid.rs"]
        .iter()
        .any(|name| file.contains(name));
    let counted = ["engines.rs", "faults.rs"].iter().any(|name| file.ends_with(name));
    match of_libraries && !counted && std::env::var_os("WINDLASS_TEST_SHIFT").is_none() {
        true => edge::by_turns(device, data),
        false => device.upload(data).expect("an upload").into_output(),
    }
}

/// What a buffer holds.
#[track_caller]
pub fn down<'a, T: Element>(device: &Device, buffer: impl windlass::tensor::ReadableTensor<'a, T>) -> Vec<T> {
    device.download(buffer).expect("a download").await_result().expect("its answer")
}

/// A submission that gives the buffer of its tensor, for those that follow buffers.
pub fn buffer<T: Element>(submitted: Submitted<Tensor<T>>) -> Submitted<DeviceBuffer<T>> {
    let back = |(tensor,): (Tensor<T>,)| (tensor.into_buffer(),);
    submitted
        .map(PendingDispatch::from)
        .map_err(|Rejected { error, back: tensor }| Rejected { error, back: tensor.map(back) })
}

/// The routine that a refusal names.
#[track_caller]
pub fn routine<T>(answer: Result<T, impl Into<Error>>) -> String {
    let Err(error) = answer else { panic!("it was not refused") };
    let error = error.into();
    error.site().and_then(windlass::error::Site::op).unwrap_or_default().to_owned()
}

/// The name and the reason of an argument that was refused.
#[track_caller]
pub fn refused(error: &Error) -> (String, String) {
    match error {
        Error::InvalidArgument { argument, reason, .. } => (argument.to_string(), reason.clone()),
        other => panic!("expected InvalidArgument, got {other:?}"),
    }
}

/// Whether a device is the CPU.
pub fn is_host(device: &Device) -> bool {
    device.kind() == DeviceKind::Host
}

/// Bit for bit: NaN is equal to itself, and 0 is not equal to -0.
#[track_caller]
pub fn assert_same_bits<T: Element>(got: &[T], want: &[T], what: &str) {
    let differs = (0..got.len().max(want.len())).find(|&i| {
        let bytes = |x: &[T]| x.get(i).map(|x| bytemuck::bytes_of(x).to_vec());
        bytes(got) != bytes(want)
    });
    if let Some(i) = differs {
        panic!("{what}: element {i} is {:?} instead of {:?} ({})", got.get(i), want.get(i), T::DTYPE);
    }
}

/// Resident bytes and threads of this process.
#[cfg(target_os = "linux")]
pub fn footprint() -> (u64, usize) {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_whitespace().nth(1)?.parse().ok())
        .expect("/proc/self/statm");
    // Threads of the harness come and go.
    let is_ours = |task: &std::fs::DirEntry| {
        std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("windlass"))
    };
    let tasks = std::fs::read_dir("/proc/self/task").expect("/proc/self/task");
    (pages * 4096, tasks.flatten().filter(is_ours).count())
}
