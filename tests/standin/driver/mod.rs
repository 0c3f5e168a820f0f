//! The scripted stand-in for `libcuda`, `libcublas`, `libcublasLt`, `libcufft`, `libcutensor`, `libcudss`, `libnccl` and NVTX: compiled when first needed, opened before
//! cudarc looks.
//!
//! `mod standin;` in an integration test, then `let driver = standin::session();` as the first line of a test. A session
//! holds a lock, because the simulated driver is one per process as the real one is, and begins with a reset. What the
//! control functions do is said in `standin.h`.
//!
//! The libraries carry the real ones' SONAMEs, so once they are open, opening `libcuda.so.1` by that name finds them. A
//! child process is given them by [`Driver::environment`].
//!
//! Any other program, the conformance suite too, runs on them when they are what the loader finds first:
//!
//! ```text
//! cargo test --test standin -- --exact selftest::the_folder_for_other_programs_is_told --nocapture | grep WINDLASS_
//! WINDLASS_CUDA_PATH=<that folder> WINDLASS_TEST_DEVICE=cuda:0 WINDLASS_STANDIN_MEMORY=1073741824 \
//!     WINDLASS_STANDIN_REPORT=<a file, empty afterwards> cargo test --test host conformance::
//! ```
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot be set up should stop")]

use std::ffi::{CString, c_char, c_int};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

mod build;
mod child;
mod turns;
mod watch;
mod work;

pub(crate) use child::in_child;
pub(crate) use turns::in_turns;
pub(crate) use watch::{Current, name};
pub(crate) use work::{Launch, device, endless, launch};

/// How the simulated device makes progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A query runs one to three commands; a synchronize call runs until it is done.
    Auto = 0,
    /// Nothing runs but by `step`.
    Manual = 1,
    /// Everything runs when it is enqueued, as soon as it can.
    Eager = 2,
    /// A thread runs commands while the host does something else.
    Background = 3,
    /// As `Auto`; and at each call of a thread that takes part the seed decides what runs first, and whether it fails.
    Seeded = 4,
}

macro_rules! control {
    ($($name:ident: fn($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        struct Control { $($name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)* }

        impl Control {
            fn find(driver: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the signatures are those of standin.h, and the library is never closed.
                unsafe { Ok(Self { $($name: *driver.get(concat!("standin_", stringify!($name), "\0").as_bytes())?,)* }) }
            }
        }
    };
}

control! {
    reset_process: fn();
    set_device_count: fn(c_int);
    set_total_memory: fn(usize);
    set_attribute: fn(c_int, c_int);
    set_driver_version: fn(c_int);
    seed: fn(u64);
    mode: fn(c_int);
    step: fn(c_int) -> c_int;
    step_stream: fn(c_int, c_int) -> c_int;
    pending: fn() -> c_int;
    release: fn();
    take_part: fn(c_int, c_int);
    chance: fn(c_int, c_int);
    fault: fn(c_int);
    fault_after: fn(c_int, c_int);
    script: fn(*const c_char, c_int);
    fail: fn(*const c_char, c_int, c_int);
    fail_any: fn(c_int, c_int);
    fault_any: fn(c_int, c_int);
    hold: fn(*const c_char);
    by_text: fn(c_int);
    ran_by_text: fn() -> u64;
    failed: fn() -> u64;
    clear: fn();
    log_enable: fn(c_int);
    log_clear: fn();
    log_take: fn(*mut c_char, usize) -> usize;
    calls: fn() -> u64;
    calls_here: fn() -> u64;
    calls_of: fn(*const c_char) -> u64;
    executed: fn() -> u64;
    violations: fn(*mut c_char, usize) -> c_int;
    violations_clear: fn();
    strict: fn(c_int);
    races: fn(c_int);
    live: fn(*const c_char) -> i64;
}

/// The simulated driver of this process.
pub(crate) struct Driver {
    control: Control,
    folder: PathBuf,
}

/// A test's turn with the driver.
pub(crate) struct Session {
    driver: &'static Driver,
    _turn: MutexGuard<'static, ()>,
}

impl Deref for Session {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        self.driver
    }
}

/// Waits for the other tests of this process, then forgets all that they left behind.
pub(crate) fn session() -> Session {
    static TURN: Mutex<()> = Mutex::new(());
    let driver = driver();
    // A test that failed has poisoned the lock. Its device is on its way out, and would be at work after the reset, which
    // makes good the rest.
    let turn = TURN.lock().unwrap_or_else(|poisoned| {
        TURN.clear_poison();
        driver.clear();
        driver.mode(Mode::Eager);
        driver.release();
        let until = Instant::now() + Duration::from_secs(10);
        while !driver.left().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        poisoned.into_inner()
    });
    driver.reset();
    Session { driver, _turn: turn }
}

/// The driver without a turn or a reset, for test binaries with one test.
pub(crate) fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let folder = build::build().expect("the stand-in for the CUDA driver compiles (it needs a C compiler)");
        // The unversioned names come last: they are empty and depend on the others, for callers who try them first.
        let names = [
            "libcuda.so.1",
            "libcublas.so.13",
            "libcublasLt.so.13",
            "libcufft.so.12",
            "libcusparse.so.12",
            "libcusolver.so.12",
            "libcutensor.so.2",
            "libcudss.so.1",
            "libnccl.so.2",
            "libnvtx3interop.so.1",
            "libcuda.so",
            "libcublas.so",
            "libcublasLt.so",
            "libcufft.so",
            "libcusparse.so",
            "libcusolver.so",
        ];
        let [driver, ..] = names.map(|name| {
            // SAFETY: our own library; its constructor only sets up its state. It is never closed.
            unsafe { Library::open(Some(folder.join(name)), RTLD_NOW | RTLD_GLOBAL) }.expect(name)
        });
        let control = Control::find(&driver).expect("the control functions are there");
        Driver { control, folder }
    })
}

/// Calls a control function.
macro_rules! call {
    ($driver:expr, $name:ident($($argument:expr),*)) => {{
        // SAFETY: the pointer has the signature of standin.h; the functions accept every value, and pointers that we
        // give them are valid for the call.
        unsafe { ($driver.control.$name)($($argument),*) }
    }};
}

/// Calls of a function that stand still.
pub(crate) struct Held<'d>(&'d Driver);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        call!(self.0, hold(c"".as_ptr()));
    }
}

impl Driver {
    /// Variables that give a child process the same libraries, whether it asks the linker for them or this crate's
    /// loader. Scripts for it are variables too, see `standin.h`.
    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [("LD_LIBRARY_PATH", self.folder.clone()), ("WINDLASS_CUDA_PATH", self.folder.clone())]
    }

    /// Loads cuDNN's stand-in, which computes nothing.
    pub(crate) fn with_cudnn(&self) {
        // SAFETY: our own library, without a constructor. It is never closed.
        let loaded = unsafe { Library::open(Some(self.folder.join("libcudnn.so.9")), RTLD_NOW | RTLD_GLOBAL) };
        std::mem::forget(loaded.expect("libcudnn.so.9"));
    }

    /// From now on each plan of cuDNN's stand-in copies so many bytes of the operand with one number to that with another; 0: none.
    pub(crate) fn echo_cudnn(&self, from: i64, to: i64, bytes: usize) {
        // SAFETY: our own library, and the type of its function.
        unsafe {
            let library = Library::open(Some(self.folder.join("libcudnn.so.9")), RTLD_NOW).expect("libcudnn.so.9");
            let echo =
                library.get::<unsafe extern "C" fn(i64, i64, usize)>(b"standin_cudnn_echo\0").expect("it is there");
            echo(from, to, bytes);
        }
    }

    /// From now on plans of cuDNN's stand-in have texts; a plan is made of a text if it `takes` it.
    pub(crate) fn cudnn_texts(&self, takes: bool) {
        // SAFETY: our own library, and the type of its function.
        unsafe {
            let library = Library::open(Some(self.folder.join("libcudnn.so.9")), RTLD_NOW).expect("libcudnn.so.9");
            let texts = library.get::<unsafe extern "C" fn(i32, i32)>(b"standin_cudnn_texts\0").expect("it is there");
            texts(1, i32::from(takes));
        }
    }

    /// The number that cuDNN's stand-in has kept last: one of host memory, by an echo of 4 bytes to 0.
    pub(crate) fn number_of_cudnn(&self) -> f32 {
        // SAFETY: our own library, and the type of its function.
        unsafe {
            let library = Library::open(Some(self.folder.join("libcudnn.so.9")), RTLD_NOW).expect("libcudnn.so.9");
            let number = library.get::<unsafe extern "C" fn() -> u32>(b"standin_cudnn_number\0").expect("it is there");
            f32::from_bits(number())
        }
    }

    /// Loads NVML's stand-in.
    pub(crate) fn with_nvml(&self) {
        // SAFETY: our own library, without a constructor. It is never closed.
        let loaded = unsafe { Library::open(Some(self.folder.join("libnvidia-ml.so.1")), RTLD_NOW | RTLD_GLOBAL) };
        std::mem::forget(loaded.expect("libnvidia-ml.so.1"));
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn reset(&self) {
        call!(self, reset_process());
    }

    pub(crate) fn set_device_count(&self, count: i32) {
        call!(self, set_device_count(count));
    }

    pub(crate) fn set_total_memory(&self, bytes: usize) {
        call!(self, set_total_memory(bytes));
    }

    pub(crate) fn set_attribute(&self, attribute: i32, value: i32) {
        call!(self, set_attribute(attribute, value));
    }

    pub(crate) fn set_driver_version(&self, version: i32) {
        call!(self, set_driver_version(version));
    }

    pub(crate) fn seed(&self, seed: u64) {
        call!(self, seed(seed));
    }

    pub(crate) fn mode(&self, mode: Mode) {
        call!(self, mode(mode as c_int));
    }

    /// Runs up to `count` commands; how many ran.
    pub(crate) fn step(&self, count: i32) -> i32 {
        call!(self, step(count))
    }

    pub(crate) fn step_stream(&self, stream: i32, count: i32) -> i32 {
        call!(self, step_stream(stream, count))
    }

    pub(crate) fn pending(&self) -> i32 {
        call!(self, pending())
    }

    /// Lets `endless` kernels end.
    pub(crate) fn release(&self) {
        call!(self, release());
    }

    /// The calling thread takes part in the seeded schedule, as `thread` at `step`.
    pub(crate) fn take_part(&self, thread: i32, step: i32) {
        call!(self, take_part(thread, step));
    }

    /// One in so many driver calls of those that take part fails with `code`.
    pub(crate) fn chance(&self, one_in: i32, code: i32) {
        call!(self, chance(one_in, code));
    }

    pub(crate) fn fault(&self, code: i32) {
        call!(self, fault(code));
    }

    pub(crate) fn fault_after(&self, nth: i32, code: i32) {
        call!(self, fault_after(nth, code));
    }

    pub(crate) fn script(&self, kernel: &str, code: i32) {
        let kernel = CString::new(kernel).unwrap();
        call!(self, script(kernel.as_ptr(), code));
    }

    pub(crate) fn fail(&self, function: &str, nth: i32, code: i32) {
        let function = CString::new(function).unwrap();
        call!(self, fail(function.as_ptr(), nth, code));
    }

    pub(crate) fn fail_any(&self, nth: i32, code: i32) {
        call!(self, fail_any(nth, code));
    }

    pub(crate) fn fault_any(&self, nth: i32, code: i32) {
        call!(self, fault_any(nth, code));
    }

    /// Calls of this function stop before they do anything, until the answer goes.
    pub(crate) fn hold(&self, function: &str) -> Held<'_> {
        let name = CString::new(function).unwrap();
        call!(self, hold(name.as_ptr()));
        Held(self)
    }

    /// All kernels run by their text, also those that the stand-in has in C.
    pub(crate) fn by_text(&self, all: bool) {
        call!(self, by_text(all.into()));
    }

    /// How many launches ran by their text.
    pub(crate) fn ran_by_text(&self) -> u64 {
        call!(self, ran_by_text())
    }

    pub(crate) fn clear(&self) {
        call!(self, clear());
    }

    /// How many calls were made to fail.
    pub(crate) fn failed(&self) -> u64 {
        call!(self, failed())
    }

    pub(crate) fn log(&self, on: bool) {
        call!(self, log_enable(on.into()));
    }

    /// The log without what other threads call.
    pub(crate) fn log_of_this_thread(&self) {
        call!(self, log_enable(2));
    }

    /// The log of the threads that take part in the schedule.
    pub(crate) fn log_of_parts(&self) {
        call!(self, log_enable(3));
    }

    /// The lines since the last take.
    /// The log without the ranges for a profiler.
    pub(crate) fn take_log(&self) -> Vec<String> {
        let mut lines = self.take_whole_log();
        lines.retain(|line| !line.starts_with("nvtx"));
        lines
    }

    pub(crate) fn take_whole_log(&self) -> Vec<String> {
        // More may be logged between the two calls; what did not fit stays for the next take.
        let mut text = vec![0_u8; call!(self, log_take(std::ptr::null_mut(), 0)) + 65536];
        call!(self, log_take(text.as_mut_ptr().cast(), text.len()));
        lines(&text)
    }

    pub(crate) fn calls(&self) -> u64 {
        call!(self, calls())
    }

    /// What this thread has called in its whole life.
    pub(crate) fn calls_here(&self) -> u64 {
        call!(self, calls_here())
    }

    pub(crate) fn calls_of(&self, function: &str) -> u64 {
        let function = CString::new(function).unwrap();
        call!(self, calls_of(function.as_ptr()))
    }

    pub(crate) fn executed(&self) -> u64 {
        call!(self, executed())
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        let mut text = vec![0_u8; 1 << 20];
        call!(self, violations(text.as_mut_ptr().cast(), text.len()));
        lines(&text)
    }

    pub(crate) fn clear_violations(&self) {
        call!(self, violations_clear());
    }

    /// Each violation ends the process: for tests that run side by side.
    pub(crate) fn strict(&self) {
        call!(self, strict(1));
    }

    /// Whether unordered accesses are violations; they are unless this was called with `false`.
    pub(crate) fn races(&self, on: bool) {
        call!(self, races(on.into()));
    }

    /// How many are live of "streams", "events", "allocations", ...: the words are in `standin.h`.
    pub(crate) fn live(&self, what: &str) -> i64 {
        let word = CString::new(what).unwrap();
        let count = call!(self, live(word.as_ptr()));
        assert!(count >= 0, "the stand-in does not count {what:?}");
        count
    }

    /// Stops the test if anything was done that a real driver would not forgive.
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        let violations = self.violations();
        let first = violations.get(..20).unwrap_or(&violations);
        assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), first.join("\n"));
    }
}

fn lines(text: &[u8]) -> Vec<String> {
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    String::from_utf8_lossy(text.split_at(end).0).lines().map(str::to_owned).collect()
}
