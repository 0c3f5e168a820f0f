//! Whichever call it is that fails: every call of a program in turn.

use super::{LIMIT, assert_works, open, program};
use crate::common::{eventually, let_others_run};
use crate::standin::{Driver, session};
use windlass::{Device, Error, Result, health::Phase};

/// The end of the log.
fn last(driver: &Driver) -> String {
    let log = driver.take_log();
    let failed = log.iter().position(|line| line.contains("made to fail")).unwrap_or_default();
    let part = log.get(failed.saturating_sub(5)..(failed + 40).min(log.len()));
    part.unwrap_or_default().join("\n")
}

/// Fails the nth call for every n until the program runs through without one, and counts the errors that were seen.
fn sweep(driver: &Driver, code: i32, program: impl Fn(&Device) -> Vec<Result<()>>, broken: impl Fn(&Device, i32)) {
    let mut errors = 0;
    for nth in 0.. {
        driver.reset();
        driver.set_total_memory(8 << 20); // too little for a workspace, whose 32 MiB would take most of the time
        driver.fail_any(nth, code);
        driver.log(true);
        let device = open();
        let answers = device.as_ref().map_or_else(|error| vec![Err(error.clone())], &program);
        let fired = driver.failed() > 0;
        driver.clear();
        let failed: Vec<&Error> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
        errors += failed.len();
        for error in failed {
            let known =
                matches!(error, Error::LibraryError { .. } | Error::OutOfMemory { .. } | Error::Upstream { .. });
            assert!(known || error.is_poisoning(), "call {nth} with {code}: {error:?}");
        }
        let leaked = device.as_ref().map_or(0, |device| {
            broken(device, nth);
            driver.await_rest(); // who failed to free may be about to count it
            device.stats().leaked
        });
        drop((answers, device));
        let gone = || driver.left().iter().map(|(_, count)| *count as u64).sum::<u64>() <= leaked;
        let left = || format!("{leaked} counted as leaked, {:?} left; last calls:\n{}", driver.left(), last(driver));
        assert!(eventually(5, gone), "call {nth} with {code}: {}", left());
        assert!(driver.violations().is_empty(), "call {nth} with {code}: {:?}\n{}", driver.violations(), last(driver));
        if !fired {
            println!("{nth} calls, {errors} errors for code {code}");
            assert!(nth > 60 && errors > 15, "hardly anything failed");
            return;
        }
    }
}

#[test]
fn any_one_call_may_run_out_of_memory() {
    sweep(&session(), 2, program, |device, _| assert_works(device));
}

#[test]
fn any_one_call_may_be_refused() {
    sweep(&session(), 1, program, |device, _| assert_works(device));
}

/// Whatever fails inside a rebuild: the device is healthy and works, or is lost and says so.
#[test]
fn any_one_call_of_a_rebuild_may_fail() {
    let driver = session();
    let rebuilt = |device: &Device| {
        let rebuild = device.rebuild(LIMIT);
        let mut answers = program(device);
        answers.push(rebuild);
        answers
    };
    sweep(&driver, 2, rebuilt, |device, nth| match device.health().phase {
        Phase::Healthy => assert_works(device),
        Phase::Lost => assert!(program(device).into_iter().all(|answer| answer.is_err_and(|e| e.is_poisoning()))),
        phase => panic!("call {nth}: {phase:?}"),
    });
}

/// A device fault shows in every call in turn: what was moved in comes back (`keep`), every GPU is lost, and nothing is
/// called any more, not even for the end of the devices.
#[test]
fn any_one_call_may_fault() {
    let driver = session();
    let mut errors = 0;
    for nth in 0.. {
        driver.reset();
        driver.set_device_count(2);
        driver.set_total_memory(8 << 20);
        let other = Device::builder().cuda(1).slots(1).open().unwrap();
        driver.fault_any(nth, 700);
        driver.log(true);
        let device = open();
        let answers = device.as_ref().map_or_else(|error| vec![Err(error.clone())], program);
        if driver.failed() == 0 {
            println!("{nth} calls, {errors} errors");
            assert!(nth > 60 && errors > 15, "hardly anything failed");
            driver.clear();
            drop((answers, device, other));
            driver.assert_finished();
            return;
        }
        for error in answers.iter().filter_map(|answer| answer.as_ref().err()) {
            errors += 1;
            let site = error.site().expect("a site");
            let known = error.is_poisoning() || device.is_err();
            assert!(known && site.code() == Some(700), "call {nth}: {error:?}\n{}", last(&driver));
        }
        // It may have shown where nobody was to be told: then the next to come sees it.
        let seen = other.memory().expect_err("CUDA has ended for this process");
        assert!(matches!(seen, Error::DeviceLost { .. }), "call {nth}: {seen:?}");
        let trail = last(&driver);
        let gpus: Vec<&Device> = device.iter().chain([&other]).collect();
        for gpu in &gpus {
            assert!(eventually(1, || gpu.health().phase == Phase::Lost), "call {nth}: {gpu:?} {:?}", gpu.health());
        }
        // Who was between two calls, and had no turn since, may still put back what was current.
        let deeds = || driver.calls() - driver.calls_of("cuCtxSetCurrent");
        driver.await_rest();
        for gpu in &gpus {
            let silent = (0..10).any(|_| {
                let before = deeds();
                let again = program(gpu);
                assert!(again.into_iter().all(|answer| answer.is_err_and(|e| e.is_poisoning())), "call {nth}");
                let_others_run();
                deeds() == before
            });
            assert!(silent, "call {nth}: a lost device is called on and on\n{}", last(&driver));
        }
        driver.await_rest();
        let before = deeds();
        drop((answers, device, other));
        let_others_run();
        assert_eq!(deeds(), before, "call {nth}: after the end\n{}", trail);
        assert!(driver.violations().is_empty(), "call {nth}: {:?}\n{}", driver.violations(), trail);
    }
}
