//! The user's own code may take long and wait: whoever watches the worker is not held up by it.

use crate::callers::Lingering;
use crate::common::{eventually, within};
use crate::ops::{Deed, submit};
use crate::{LONG, alone, isolated, kill};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use windlass::{
    Device, Error, Program,
    health::Phase,
    trace::{OpInfo, Trace},
};

/// What a test's hook does at the end of operations.
type Hook = dyn Fn(&Device, &OpInfo) + Send + Sync;

/// Calls it once, for an operation that nobody waits for.
struct Hooked {
    device: Mutex<Option<Device>>,
    ready: AtomicBool,
    begun: AtomicBool,
    hook: Box<Hook>,
}

impl Trace for Hooked {
    fn before_complete(&self, op: &OpInfo) {
        if op.op == "do" && self.ready.swap(false, SeqCst) {
            let device = self.device.lock().unwrap().clone().unwrap();
            self.begun.store(true, SeqCst);
            (self.hook)(&device, op);
        }
    }
}

/// Calls `test` with a device that is in the middle of that hook.
fn in_hook(hook: impl Fn(&Device, &OpInfo) + Send + Sync + 'static, test: impl FnOnce(&Device) + Send + 'static) {
    let _alone = alone();
    within(60, move || {
        let (ready, begun) = (AtomicBool::new(true), AtomicBool::new(false));
        let hooked = Arc::new(Hooked { device: Mutex::default(), ready, begun, hook: Box::new(hook) });
        let device = isolated().trace(hooked.clone()).open().unwrap();
        *hooked.device.lock().unwrap() = Some(device.clone());
        drop(submit(&device, Deed::Nothing).unwrap());
        assert!(eventually(10, || hooked.begun.load(SeqCst)), "the hook is not called");
        test(&device);
        *hooked.device.lock().unwrap() = None;
    });
}

/// The answer of an operation that fails comes through the socket, which somebody has to read.
#[test]
fn a_hook_may_wait_for_an_operation_that_fails() {
    let answer = Arc::new(Mutex::new(None));
    let told = answer.clone();
    let hook = move |device: &Device, _: &OpInfo| {
        let failed = submit(device, Deed::Fail("of the hook".into())).unwrap().await_timeout(LONG);
        *told.lock().unwrap() = failed.ok().map(|failed| failed.unwrap_err().to_string());
    };
    in_hook(hook, move |device| {
        let told = || answer.lock().unwrap().clone();
        assert!(eventually(10, || told().is_some()), "it waits");
        assert!(told().unwrap().contains("of the hook") && device.generation() == 0, "{:?}", told());
    });
}

#[test]
fn a_hook_may_want_a_lock_of_one_who_waits_for_an_operation_that_fails() {
    let (lock, wanted, had) = (Arc::new(Mutex::new(())), Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    let had = Arc::new(had);
    let hook = {
        let (lock, wanted, had) = (lock.clone(), wanted.clone(), had.clone());
        move |_: &Device, _: &OpInfo| {
            eventually(20, || wanted.load(SeqCst));
            drop(lock.lock().unwrap());
            had.store(true, SeqCst);
        }
    };
    in_hook(hook, move |device| {
        let held = lock.lock().unwrap();
        wanted.store(true, SeqCst);
        let failed = submit(device, Deed::Fail("meanwhile".into())).unwrap().await_timeout(Duration::from_secs(30));
        let failed = failed.expect("no answer while the hook waits").unwrap_err();
        assert!(failed.to_string().contains("meanwhile") && !had.load(SeqCst), "{failed}");
        drop(held);
        assert!(eventually(10, || had.load(SeqCst)), "the hook waits on");
    });
}

#[test]
fn a_hook_that_takes_long_hides_no_loss() {
    let (over, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let hook = {
        let (over, done) = (over.clone(), done.clone());
        move |_: &Device, _: &OpInfo| {
            eventually(20, || over.load(SeqCst));
            done.store(true, SeqCst);
        }
    };
    in_hook(hook, move |device| {
        loses(device);
        assert!(!done.load(SeqCst));
        over.store(true, SeqCst);
        assert!(eventually(10, || done.load(SeqCst)));
    });
}

/// The worker is killed: whoever waits learns it soon, and another takes its place. (How soon is `loss`'s to hold: a loss
/// that is hidden here stays so until the test lets go.)
fn loses(device: &Device) {
    let waiting: Vec<_> = (0..4).map(|_| submit(device, Deed::Sleep(60_000)).unwrap()).collect();
    let generation = device.generation();
    kill(device);
    for pending in waiting {
        let settled = pending.await_timeout(LONG).expect("it waits for a worker that is no more");
        assert!(settled.is_err());
    }
    let healthy = || device.health().phase == Phase::Healthy && device.generation() > generation;
    assert!(eventually(20, healthy), "{:?}", device.health());
}

#[test]
fn a_drop_that_takes_long_hides_no_loss() {
    let _alone = alone();
    within(60, || {
        let device = isolated().open().unwrap();
        let dropping = Lingering::dropping(&device);
        loses(&device);
        drop(dropping);
    });
}

/// Once, after a replay was enqueued: replays the program again, and tries to wait for the device.
#[derive(Default)]
struct Replays {
    with: Mutex<Option<(Device, Arc<Program>)>>,
    refused: AtomicBool,
}

impl Trace for Replays {
    fn after_enqueue(&self, op: &OpInfo) {
        let with = if op.op == "replay" { self.with.lock().unwrap().take() } else { None };
        if let Some((device, program)) = with {
            let waits = [device.synchronize(LONG), device.rebuild(LONG)];
            let is_refused = |wait: &windlass::Result<()>| matches!(wait, Err(Error::Unsupported { .. }));
            self.refused.store(waits.iter().all(is_refused), SeqCst);
            drop(program.replay((), ()).unwrap().await_result().unwrap());
        }
    }
}

/// The order of replays is not locked while the hook runs.
#[test]
fn a_hook_after_the_enqueue_of_a_replay_may_replay_the_same_program() {
    let _alone = alone();
    within(60, || {
        let replays = Arc::new(Replays::default());
        let device = isolated().trace(replays.clone()).open().unwrap();
        let (program, ()) =
            device.record(|r| r.fill(r.uninit::<f64>(4)?, 1.0).map(drop).map_err(windlass::Error::from)).unwrap();
        let program = Arc::new(program);
        *replays.with.lock().unwrap() = Some((device.clone(), program.clone()));
        program.replay((), ()).unwrap().await_result().unwrap();
        assert!(replays.with.lock().unwrap().is_none() && replays.refused.load(SeqCst));
        device.synchronize(LONG).unwrap();
    });
}

fn settle_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("windlass settl")).count()
}

#[test]
fn the_thread_that_calls_the_users_code_ends_with_the_worker() {
    let _alone = alone();
    assert!(eventually(10, || settle_threads() == 0), "{} of other tests", settle_threads());
    let device = isolated().open().unwrap();
    for _ in 0..2 {
        drop(submit(&device, Deed::Nothing).unwrap());
        assert!(eventually(10, || settle_threads() == 1), "{}", settle_threads());
        loses(&device);
    }
    drop(device);
    assert!(eventually(10, || settle_threads() == 0), "{} are left", settle_threads());
}
