//! Every allocation of every host half fails in turn: the n-th, for every n, until the operation succeeds. The answer is
//! `OutOfMemory` and the buffers come back (or it was done without), the process goes on, and the next operation is done.
//!
//! Refused are allocations of [`LEAST`] bytes or more that the code of a host half makes, or the threads of collectives between
//! processes; those that other
//! crates make for themselves (packed panels of products, tables of transforms) end the process, and are checked by a
//! probe where they can be large. The call stack tells them apart.
//!
//! A second walk goes over fronts and buffers: there the n-th allocation of [`LARGE`] bytes or more is refused, whoever makes it, and
//! all that follow (memory that is kept for reuse is given back first, and then one tries again). What was refused must not be what a
//! later buffer gets.

use crate::{alone, common};

use std::backtrace::Backtrace;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use windlass::{
    Device, Error, PendingDispatch, Rejected,
    op::{Bufs, Output},
};

/// The least allocation that is refused. Smaller ones (an error's text, a box) are taken for granted.
const LEAST: usize = 1 << 10;
/// The same for the second walk: what only a caller's size can ask for.
const LARGE: usize = 64 << 10;
/// The second walk is under way.
static IN_FRONTS: AtomicBool = AtomicBool::new(false);

/// The least that is refused now.
static AT_LEAST: AtomicUsize = AtomicUsize::new(LEAST);

/// Refuses smaller ones too, until it is dropped.
struct Least;

fn least(bytes: usize) -> Least {
    AT_LEAST.store(bytes, Ordering::Relaxed);
    Least
}

impl Drop for Least {
    fn drop(&mut self) {
        AT_LEAST.store(LEAST, Ordering::Relaxed);
    }
}

/// Counts the allocations before the one to be refused; [`NONE`] while nothing is. All threads count: a device that
/// works inline has one of its own, and the test's thread waits for it.
static LEFT: AtomicUsize = AtomicUsize::new(NONE);
const NONE: usize = usize::MAX;
static REFUSED: AtomicBool = AtomicBool::new(false);
/// Which allocation is refused.
static NTH: AtomicUsize = AtomicUsize::new(0);

/// How often [`arm`] was called: a thread that has looked at its stack for long does not disturb a later count.
static ARMED: AtomicUsize = AtomicUsize::new(0);

/// How many stacks were looked at for the first time. That takes long, and meanwhile no other thread's allocations are counted.
static NEW_STACKS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// This thread looks at its stack. That takes a lock of the standard library and allocates, so it must not begin again.
    static LOOKS: Cell<bool> = const { Cell::new(false) };
}

/// Whether the allocator refuses these bytes: asked before every allocation.
pub(crate) fn refuses(bytes: usize) -> bool {
    let fronts = IN_FRONTS.load(Ordering::Relaxed);
    if bytes < if fronts { LARGE } else { AT_LEAST.load(Ordering::Relaxed) } || LOOKS.get() {
        return false;
    }
    let armed = ARMED.load(Ordering::Relaxed);
    // One thread at a time looks at its stack: meanwhile nothing is counted.
    let counted = LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| match left {
        NONE => None,
        0 if fronts => Some(0),
        0 => Some(NONE),
        left => Some(left - 1),
    });
    if counted != Ok(0) {
        return false;
    }
    if fronts {
        REFUSED.store(true, Ordering::Relaxed);
        return true;
    }
    LOOKS.set(true);
    let ours = is_ours();
    LOOKS.set(false);
    if ARMED.load(Ordering::Relaxed) != armed {
        return false;
    }
    LEFT.store(if ours { NONE } else { 0 }, Ordering::Relaxed);
    REFUSED.store(ours, Ordering::Relaxed);
    ours
}

/// Begins to count, as far as [`NTH`].
fn arm() {
    ARMED.fetch_add(1, Ordering::Relaxed);
    LEFT.store(NTH.load(Ordering::Relaxed), Ordering::Relaxed);
}

fn disarm() {
    LEFT.store(NONE, Ordering::Relaxed);
}

/// Whether a host half allocates here. To find the names of a stack takes milliseconds, so each stack
/// is looked at once.
fn is_ours() -> bool {
    static KNOWN: Mutex<BTreeMap<u64, bool>> = Mutex::new(BTreeMap::new());
    let mut frames = [std::ptr::null_mut(); 64];
    // SAFETY: the array has as many places as are named.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), 64) };
    let mut hasher = DefaultHasher::new();
    frames[..count as usize].hash(&mut hasher);
    let key = hasher.finish();
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
    known.unwrap_or_else(|| {
        NEW_STACKS.fetch_add(1, Ordering::Relaxed);
        let ours = names_us(&Backtrace::force_capture().to_string());
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(key, ours);
        ours
    })
}

/// Whether the first frame of code that wants memory is one of a host half. The files of frames tell,
/// for the names of inlined functions are short; without debug information there is only a name.
fn names_us(stack: &str) -> bool {
    /// What stands between the code that wants memory and the allocator.
    const BETWEEN: [&str; 9] = [
        "/rustc/",
        "tests/allocations",
        "allocations/",
        "/bytemuck-",
        "/dyn-stack-",
        "/smallvec-",
        "std::",
        "alloc::",
        "core::",
    ];
    let mut lines = stack.lines().map(str::trim_start).peekable();
    let mut owner = None;
    while let Some(line) = lines.next() {
        let Some((_, name)) = line.split_once(": ") else { continue };
        let file = lines.next_if(|next| next.starts_with("at ")).map(|at| &at[3..]);
        let what = file.unwrap_or(name.trim_start_matches(['<', '&', '(', '[']));
        let between = match file {
            Some(file) => BETWEEN.iter().any(|between| file.contains(between)),
            None => ["std::", "alloc::", "core::", "allocations::", "__", "dyn_stack::", "bytemuck::"]
                .iter()
                .any(|between| what.starts_with(between)),
        };
        if !between {
            owner = Some(what);
            break;
        }
    }
    if std::env::var_os("WINDLASS_TEST_STACKS").is_some() {
        println!("{owner:?}\n{stack}");
    }
    let ours = |owner: &str| {
        ["src/libraries/", "src/numerics/", "src/core/room.rs", "src/engines/ptx/"].iter().any(|of| owner.contains(of))
    };
    // (A function that is called through a pointer has its name in the debug information, and no path.)
    let theirs = ["::host_half", ": host_half<", "::collective::mesh::", "::collective::store::"];
    owner.is_some_and(ours) && theirs.iter().any(|of| stack.contains(of))
}

/// The error of a call, and whether its buffers came back.
type Failure = Option<(Error, bool)>;

trait Outcome {
    fn failure(self) -> Failure;
}

impl<O: Output, V, B> Outcome for Result<PendingDispatch<O, V>, Rejected<B>> {
    fn failure(self) -> Failure {
        match self.map(PendingDispatch::await_result) {
            Ok(Ok(_)) => None,
            Ok(Err(failure)) => {
                let rejected = (&failure as &dyn std::any::Any).downcast_ref::<Rejected<Bufs<O>>>();
                let came_back = rejected.is_none_or(|rejected| rejected.back.is_some());
                Some((failure.into(), came_back))
            }
            Err(rejected) => Some((rejected.error, rejected.back.is_some())),
        }
    }
}

impl<O: Output, V> Outcome for Result<PendingDispatch<O, V>, Error> {
    fn failure(self) -> Failure {
        self.map_err(Rejected::<Bufs<O>>::from).failure()
    }
}

/// A call of several steps, which waits itself.
struct Whole<T>(Result<T, Error>);

impl<T> Outcome for Whole<T> {
    fn failure(self) -> Failure {
        self.0.err().map(|error| (error, true))
    }
}

type Case = (&'static str, Box<dyn Fn(&Device) -> Failure>);

/// Adds a case: what is made before, and the call in which allocations fail.
macro_rules! case {
    ($all:ident, $name:literal, |$d:ident| { $($before:tt)* } $call:expr) => {
        $all.push(($name, Box::new(move |$d: &Device| {
            $($before)*
            arm();
            let failure = Outcome::failure($call);
            disarm();
            failure
        }) as Box<dyn Fn(&Device) -> Failure>) as Case)
    };
}

mod cases;
mod fronts;
mod kernels;
mod ranks;

use cases::{of_blas, of_fft, of_rng, of_solver, of_sparse};

/// Walks through the allocations of each case, and calls `after` behind each refusal. Returns how many were refused.
fn walk(cases: Vec<Case>, after: &dyn Fn(&Device)) -> usize {
    let device = common::inline().open().unwrap();
    let all = std::env::var_os("WINDLASS_TEST_WALK").is_some();
    let mut refusals = 0;
    for (name, run) in cases {
        // Every one only in `.ci/deep`, which takes ten times as long.
        let step = |nth: &usize| all || *nth < 2 || nth.is_multiple_of(11);
        for nth in (0..).filter(step) {
            NTH.store(nth, Ordering::Relaxed);
            REFUSED.store(false, Ordering::Relaxed);
            println!("{name}: allocation {nth}");
            let failure = loop {
                let known = NEW_STACKS.load(Ordering::Relaxed);
                let failure = run(&device);
                let all_counted = NEW_STACKS.load(Ordering::Relaxed) == known;
                if all_counted || REFUSED.load(Ordering::Relaxed) || failure.is_some() {
                    break failure;
                }
            };
            match (REFUSED.load(Ordering::Relaxed), failure) {
                (true, Some((Error::OutOfMemory { requested, .. }, back))) => {
                    assert!(requested >= LEAST as u64, "{name}, {nth}: {requested} bytes wanted");
                    assert!(back, "{name}, {nth}: the buffers did not come back");
                }
                (true, None) => {} // done without it: what was to be kept for the next time
                (true, Some((error, _))) => panic!("{name}, {nth}: {error} instead of a lack of memory"),
                (false, None) => break,
                (false, Some((error, _))) => panic!("{name}, {nth}: {error}"),
            }
            refusals += 1;
            after(&device);
        }
        assert_eq!(device.stats().in_flight, 0, "{name}");
    }
    refusals
}

fn walked(cases: fn() -> Vec<Case>) -> usize {
    let _alone = alone();
    let refusals = walk(cases(), &|_| ());
    println!("{refusals} allocations refused");
    refusals
}

#[test]
fn each_allocation_of_an_operation_of_blas_may_fail() {
    assert!(walked(of_blas) > 10);
}

#[test]
fn each_allocation_of_a_kernel_on_the_cpu_may_fail() {
    assert!(walked(kernels::of_kernels) > 3);
}

#[test]
fn each_allocation_of_a_transform_may_fail() {
    assert!(walked(of_fft) > 10);
}

#[test]
fn each_allocation_of_a_random_draw_may_fail() {
    assert!(walked(of_rng) > 5);
}

#[test]
fn each_allocation_of_a_dense_factorization_may_fail() {
    assert!(walked(of_solver) > 60);
}

#[test]
fn each_allocation_of_a_sparse_operation_may_fail() {
    assert!(walked(of_sparse) > 20);
}
