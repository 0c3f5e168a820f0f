//! How the end of a worker is learned of, whatever else goes on in the process.

use crate::common::child::of_module;
use crate::common::{InPlace, down, eventually, let_others_run, up, within};
use crate::gate::{Gate, Pass};
use crate::ops::{Deed, submit};
use crate::{LONG, alone, isolated, kill, system, tells};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use windlass::clock::{ManualClock, Timing};
use windlass::{Device, Error, Result, op::Wire};

/// The cause of the loss of what is in flight.
#[track_caller]
fn loss(device: &Device, deed: Deed, end: impl FnOnce()) -> String {
    let pending = submit(device, deed).unwrap();
    end();
    let Ok(answer) = pending.await_timeout(LONG) else { panic!("it was never told") };
    let error = answer.unwrap_err().error;
    device.wait_healthy(LONG).unwrap();
    assert_eq!(down(device, &up(device, [5u8])), [5]);
    error.to_string()
}

#[test]
fn the_end_is_seen_while_another_process_holds_the_socket_open() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    drop(submit(&device, Deed::Fork(120_000)).unwrap().await_result().unwrap());
    let forked = system::children_of(device.worker_pid().unwrap());
    assert_eq!(forked.len(), 1);
    let cause = loss(&device, Deed::Sleep(600_000), || kill(&device));
    assert!(tells(&cause, "SIGKILL"), "{cause}");
    assert!(!system::is_gone(forked[0]), "nobody held it open");
    system::signal(forked[0], libc::SIGKILL);
}

/// What is freed last in an operation's dispatch is the operation, and that may be on the monitor's thread.
/// How many were dropped in this process.
static DROPPED: AtomicU32 = AtomicU32::new(0);

#[derive(Serialize, Deserialize)]
struct Brittle;

impl Drop for Brittle {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, SeqCst);
        assert!(!std::thread::current().name().is_some_and(|name| name.starts_with("windlass worker")), "on purpose");
    }
}

impl crate::common::Deed for Brittle {
    const NAME: &'static str = "brittle";
    type Element = f64;

    fn host(&self, _: &mut [f64]) -> Result<()> {
        let_others_run(); // so that it is in flight when its pending is dropped
        Ok(())
    }
    fn wire() -> Option<Wire<InPlace<Self>>> {
        Wire::plain()
    }
}

#[test]
fn a_panic_in_what_an_operation_owns_leaves_nobody_waiting() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    within(60, move || {
        for _ in 0..2 {
            let before = DROPPED.load(SeqCst);
            drop(device.dispatch(InPlace(Brittle), (), (device.zeros(1).unwrap().into_buffer(),)).unwrap());
            assert!(eventually(60, || DROPPED.load(SeqCst) > before), "nobody but the monitor looks");
            let cause = loss(&device, Deed::Sleep(600_000), || kill(&device));
            assert!(tells(&cause, "SIGKILL"), "{cause}");
        }
        // In flight at the end: dropped where what was lost is settled.
        drop(device.dispatch(InPlace(Brittle), (), (device.zeros(1).unwrap().into_buffer(),)).unwrap());
        let cause = loss(&device, Deed::Sleep(600_000), || kill(&device));
        assert!(tells(&cause, "SIGKILL"), "{cause}");
        crate::common::assert_back_at(&device, (0, 0, 0));
    });
}

/// This program again, for one scenario.
fn scenario(name: &str) -> Child {
    scenario_with(name, &[])
}

fn scenario_with(name: &str, variables: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &of_module(module_path!(), name), "--ignored", "--nocapture"])
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Not a test of its own: children are reaped by the kernel, or by another thread.
#[test]
#[ignore = "run by the test below"]
fn reaped_by_others() {
    let device = isolated().open().unwrap();
    for ignored in [true, false] {
        if ignored {
            // SAFETY: this process has no other use of the signal.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        } else {
            // SAFETY: as above.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
            std::thread::spawn(|| {
                loop {
                    // SAFETY: takes the status of any child.
                    unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) };
                    std::thread::yield_now();
                }
            });
            let_others_run();
        }
        for _ in 0..5 {
            let pid = device.worker_pid().unwrap();
            let cause = loss(&device, Deed::Abort, || ());
            let known = !ignored && cause.contains("SIGABRT");
            assert!(known || tells(&cause, "exit status unknown"), "{cause}");
            assert!(eventually(10, || system::is_gone(pid)));
        }
        device.rebuild(LONG).unwrap();
    }
    println!("came to its end");
}

#[test]
fn a_worker_that_others_reap_is_known_to_have_ended() {
    let _alone = alone();
    let output = scenario("reaped_by_others").wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("came to its end"), "{text}");
}

const GATE: &str = "WINDLASS_TEST_GATE";

/// What the watchdog of the program below allows.
const ALLOWED: Duration = Duration::from_secs(6);

/// Not a test of its own: one operation, which its parent lets go on before the watchdog's limit.
#[test]
#[ignore = "run by the test below"]
fn frozen() {
    let device = isolated().watchdog(ALLOWED).open().unwrap();
    drop(submit(&device, Deed::Nothing).unwrap().await_result().unwrap());
    let pending = submit(&device, Deed::Held(Pass::at(std::env::var_os(GATE).unwrap()))).unwrap();
    // Lines of their own, also where the name of the test stands unfinished before them.
    println!("\nworker {}", device.worker_pid().unwrap());
    println!("ended {:?}", pending.await_result().map_err(|rejected| rejected.error));
}

#[test]
#[ignore = "timed: `.ci/deep timed`, for both processes live by the system's clock"]
fn time_in_which_the_program_and_its_worker_are_stopped_is_nobodys_slowness() {
    let _alone = alone();
    let gate = Gate::new();
    let mut program = scenario_with("frozen", &[(GATE, gate.pass().path().to_str().unwrap())]);
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines().map_while(Result::ok);
    let worker = lines.find_map(|line| line.strip_prefix("worker ")?.parse().ok()).unwrap();
    gate.await_arrival();
    [worker, program.id()].into_iter().for_each(|pid| system::signal(pid, libc::SIGSTOP));
    std::thread::sleep(ALLOWED + Duration::from_secs(1));
    [worker, program.id()].into_iter().for_each(|pid| system::signal(pid, libc::SIGCONT));
    std::thread::sleep(Duration::from_millis(300)); // its watchdog looks every few milliseconds
    gate.open();
    let ended = lines.find(|line| line.starts_with("ended ")).unwrap();
    assert!(ended.starts_with("ended Ok"), "{ended}");
    assert!(program.wait().unwrap().success());
}

/// Bytes that this process has allocated.
fn heap() -> i64 {
    // SAFETY: reads the allocator's own numbers.
    let info = unsafe { libc::mallinfo2() };
    (info.uordblks + info.hblkhd) as i64
}

/// Handles of lives that are over may lie around for long: each costs an address range.
#[test]
fn a_stale_handle_keeps_nothing_of_its_worker() {
    const LIVES: usize = 100;
    let _alone = alone();
    system::quiet();
    let device = isolated().open().unwrap();
    drop(submit(&device, Deed::Nothing).unwrap().await_result().unwrap());
    let base = system::held_with_threads(2); // which name themselves once they run
    let mut stale = Vec::new();
    let mut lose = || {
        let x = up(&device, vec![1.0f64; 1 << 16]);
        let under_way: Vec<_> = (0..2_000).map(|_| device.blas().nrm2(&x).unwrap()).collect();
        drop(under_way);
        loss(&device, Deed::Abort, || ());
        stale.push(x);
    };
    // What grows by itself has grown: tables of threads, of errors, of the allocator.
    (0..20).for_each(|_| lose());
    let before = heap();
    (0..LIVES).for_each(|_| lose());
    assert!(eventually(10, || system::held() == base), "{base:?} {:?}", system::held());
    let each = (heap() - before) / LIVES as i64;
    println!("{each} bytes for each life");
    assert!(each < 20 << 10, "{each} bytes are kept of each life");
    // Those of the worker that is in use.
    assert!(system::resident("windlass-control").len() == 1 && system::resident("windlass-bulk").len() == 1);
    drop(stale);
    system::assert_back_at(base);
}

/// A pipe of the program's that closes in no child by itself: the worker must not hold its end.
#[test]
fn a_descriptor_that_went_along_is_closed_in_the_worker() {
    let _alone = alone();
    let mut ends = [0; 2];
    // SAFETY: valid for the two numbers.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    let device = isolated().standby(true).open().unwrap();
    assert!(eventually(20, || device.stats().standby.is_some()));
    // SAFETY: made above, closed once each; nobody reads what the pipe says but the end.
    let end = unsafe {
        libc::close(ends[1]);
        let mut poll = libc::pollfd { fd: ends[0], events: libc::POLLIN, revents: 0 };
        libc::poll(&mut poll, 1, 20_000);
        libc::close(ends[0]);
        poll.revents
    };
    assert_eq!(end & libc::POLLHUP, libc::POLLHUP, "a worker holds the other end");
    assert_eq!(down(&device, &up(&device, [5u8])), [5]);
}

#[test]
fn a_rebuild_that_is_asked_for_waits_for_the_old_worker_to_be_gone() {
    let _alone = alone();
    let clock = ManualClock::new();
    let mut timing = Timing::by(clock);
    timing.recovery.parting = Duration::from_secs(1 << 30);
    let device = isolated().timing(timing).open().unwrap();
    let pid = device.worker_pid().unwrap();
    system::signal(pid, libc::SIGSTOP); // it does not end when it is told to
    assert!(eventually(10, || system::process(pid).unwrap().0 == 'T'));
    std::thread::scope(|scope| {
        let rebuild = scope.spawn(|| device.rebuild(Duration::from_secs(1 << 30)));
        // Told to end it has two seconds, then it is killed.
        let gone = eventually(60, || {
            clock.advance(Duration::from_millis(100));
            rebuild.is_finished()
        });
        assert!(gone && system::is_gone(pid), "what it holds of a GPU the new one may need");
        rebuild.join().unwrap().unwrap();
    });
    assert_eq!((device.generation(), down(&device, &up(&device, [5u8]))), (1, vec![5]));
}

#[test]
fn a_rebuild_that_was_asked_for_and_fails_is_tried_again_as_the_policy_allows() {
    let _alone = alone();
    let failures = AtomicU32::new(2);
    let device = isolated()
        .before_admission(move |_| {
            let left = failures.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
            left.map_or(Ok(()), |_| Err(Error::library("not yet")))
        })
        .open()
        .unwrap();
    device.rebuild(LONG).unwrap();
    assert_eq!((device.generation(), down(&device, &up(&device, [5u8]))), (1, vec![5]));
}
