//! Every driver call of a program fails once: a typed error or success, never a wrong answer, a panic or a leak.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![cfg(all(feature = "blas", target_os = "linux"))]

mod common;
mod standin;

use common::eventually;
use standin::{Driver, Mode, launch, session};
use std::time::Duration;
use windlass::{Device, DeviceBuffer, Error, Gemm, Phase, Rejected, Result};

const LIMIT: Duration = Duration::from_secs(60);

fn open() -> Result<Device> {
    Device::builder().cuda(0).slots(2).open()
}

/// What a failed submission of an operation owes: the buffers.
fn keep<B>(rejected: Rejected<B>) -> Error {
    assert!(rejected.back.is_some(), "the buffers did not come back after {}", rejected.error);
    rejected.error
}

/// Waits with a limit: a failure must not make anything hang.
fn wait<O: windlass::Output>(pending: windlass::PendingDispatch<O>) -> Result<O>
where
    Rejected<windlass::Bufs<O>>: Into<Error>,
{
    match pending.await_timeout(LIMIT) {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => panic!("hung"),
    }
}

/// A bit of everything. Whatever is answered is right.
fn program(device: &Device) -> Vec<Result<()>> {
    let vectors = || -> Result<()> {
        let x = device.upload(vec![1.0f64, 2.0, 3.0, 4.0])?.into_output();
        let y = device.zeros::<f64>(4)?;
        let y = wait(device.blas().axpy(2.0, &x, y).map_err(keep)?)?;
        assert_eq!(wait(device.blas().dot(&x, &y)?)?, 60.0);
        assert_eq!(wait(device.blas().nrm2(x.as_in().slice(2..4)?)?)?, 5.0);
        assert_eq!(wait(device.download(&y)?)?, [2.0, 4.0, 6.0, 8.0]);
        Ok(())
    };
    let matrices = || -> Result<()> {
        let a = device.upload([1.0f32, 3.0, 2.0, 4.0])?.into_output();
        let c = device.blas().gemm(Gemm::new(2, 2, 2), &a, &a, device.uninit(4)?).map_err(keep)?.into_output();
        let copy = device.duplicate(&c)?.into_output();
        drop(c);
        assert_eq!(wait(device.download(&copy)?)?, [7.0, 15.0, 10.0, 22.0]);
        Ok(())
    };
    let parts = || -> Result<()> {
        let (left, right) = device.zeros::<u16>(8)?.split_at(4)?;
        let left = device.fill(left, 3).map_err(keep)?.into_output();
        let right = device.fill(right, 0x0102).map_err(keep)?.into_output();
        let all = left.join(right)?;
        let [three, other] = [3u16, 0x0102];
        assert_eq!(wait(device.download(&all)?)?, [three, three, three, three, other, other, other, other]);
        Ok(())
    };
    let rest = || -> Result<()> {
        let x = device.upload([1.0f32, 2.0])?.into_output();
        let timed = device.timed().dispatch(standin::Launch(c"add_one_f32"), (), (x,)).map_err(keep)?;
        let x = timed.await_timed()?.output;
        let blocking = device.waiting(windlass::Wait::Block).download(&x)?;
        assert_eq!(blocking.await_result()?, [2.0, 3.0]);
        device.memory()?;
        device.synchronize(LIMIT)
    };
    vec![vectors(), matrices(), parts(), rest()]
}

/// Everything answers again, rightly.
fn assert_works(device: &Device) {
    for answer in program(device) {
        answer.expect("nothing fails any more");
    }
}

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
            device.stats().leaked
        });
        drop((answers, device));
        let gone = || driver.left().iter().map(|(_, count)| *count as u64).sum::<u64>() <= leaked;
        let left = || format!("{leaked} counted as leaked, {:?} left; last calls:\n{}", driver.left(), last(driver));
        assert!(eventually(5, gone), "call {nth} with {code}: {}", left());
        assert!(driver.violations().is_empty(), "call {nth} with {code}: {:?}\n{}", driver.violations(), last(driver));
        if !fired {
            println!("{nth} calls, {errors} errors for code {code}");
            assert!(nth > 60 && errors > nth as usize / 4, "hardly anything failed");
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
            assert!(nth > 60 && errors > nth as usize / 4, "hardly anything failed");
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
                std::thread::sleep(Duration::from_millis(2));
                deeds() == before
            });
            assert!(silent, "call {nth}: a lost device is called on and on\n{}", last(&driver));
        }
        driver.await_rest();
        let before = deeds();
        drop((answers, device, other));
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(deeds(), before, "call {nth}: after the end\n{}", trail);
        assert!(driver.violations().is_empty(), "call {nth}: {:?}\n{}", driver.violations(), trail);
    }
}

/// A warm device with two buffers of ones.
fn ready(driver: &Driver) -> (Device, DeviceBuffer<f32>, DeviceBuffer<f32>) {
    driver.reset();
    let device = open().expect("the stand-in opens");
    assert_works(&device);
    let x = device.upload([1.0f32; 4]).unwrap().await_result().unwrap();
    let y = device.upload([1.0f32; 4]).unwrap().await_result().unwrap();
    (device, x, y)
}

/// Runs `f` on a warm device with that call failing, and everything again without.
fn fails<R>(
    driver: &Driver,
    call: &str,
    code: i32,
    f: impl Fn(&Device, DeviceBuffer<f32>, DeviceBuffer<f32>) -> R,
) -> R {
    let (device, x, y) = ready(driver);
    driver.await_rest(); // else the housekeeping thread may be the one to fail
    driver.fail(call, 0, code);
    let answer = f(&device, x, y);
    assert_eq!(driver.failed(), 1, "{call} was not called");
    driver.clear();
    assert_works(&device);
    drop(device);
    driver.assert_finished();
    answer
}

/// An operation on two buffers whose submission fails: the buffer comes back.
fn rejected(device: &Device, x: &DeviceBuffer<f32>, y: DeviceBuffer<f32>) -> (Error, DeviceBuffer<f32>) {
    let rejected = device.blas().axpy(1.0, x, y).expect_err("the call was to fail");
    (rejected.error, rejected.back.expect("the buffer comes back").0)
}

#[test]
fn a_failed_record_gives_the_buffer_back_without_contents_until_it_is_overwritten() {
    let driver = session();
    fails(&driver, "cuEventRecord", 1, |device, x, y| {
        let (error, y) = rejected(device, &x, y);
        assert_eq!((error.site().unwrap().code(), error.site().unwrap().op()), (Some(1), Some("axpy")));
        let read = device.blas().dot(&x, &y).map(drop).expect_err("it has no contents");
        assert!(matches!(read, Error::Upstream { .. }), "{read:?}");
        let y = device.fill(y, 2.0).expect("it can be overwritten").into_output();
        assert_eq!(wait(device.blas().dot(&x, &y).unwrap()), Ok(8.0));
    });
}

#[test]
fn a_failed_launch_of_the_library_is_told_under_its_name() {
    let driver = session();
    for (call, code, name) in
        [("cublasAxpyEx", 13, "CUBLAS_STATUS_EXECUTION_FAILED"), ("cublasAxpyEx", 7, "CUBLAS_STATUS_INVALID_VALUE")]
    {
        fails(&driver, call, code, |device, x, y| {
            let (error, y) = rejected(device, &x, y);
            let site = error.site().unwrap();
            assert_eq!((site.library(), site.code(), site.code_name()), (Some("blas"), Some(code), Some(name)));
            drop((x, y));
        });
    }
    fails(&driver, "cublasGemmEx", 14, |device, x, y| {
        let rejected = device.blas().gemm(Gemm::new(2, 2, 2), &x, &x, y).expect_err("the call was to fail");
        assert!(matches!(rejected.error, Error::LibraryError { .. }) && rejected.back.is_some());
    });
}

#[test]
fn a_pointer_mode_that_could_not_be_set_is_set_by_the_next_call() {
    let driver = session();
    fails(&driver, "cublasSetPointerMode", 14, |device, x, y| {
        // Both directions: one of them sets the mode, whatever it was.
        let (mut errors, mut y) = (0, y);
        for _ in 0..2 {
            errors += device.blas().dot(&x, &x).map(|p| assert_eq!(wait(p), Ok(4.0))).is_err() as u32;
            y = match device.blas().axpy(1.0, &x, y) {
                Ok(pending) => pending.into_output(),
                Err(rejected) => {
                    errors += 1;
                    device.fill(rejected.back.unwrap().0, 1.0).unwrap().into_output()
                }
            };
            assert_eq!(wait(device.blas().dot(&x, &x).unwrap()), Ok(4.0), "the mode was taken for set");
        }
        assert_eq!(errors, 1);
    });
}

#[test]
fn a_mode_that_could_not_be_set_is_set_by_the_next_call() {
    let driver = session();
    for call in ["cublasSetMathMode", "cublasSetAtomicsMode"] {
        fails(&driver, call, 14, |device, x, y| {
            let blas = device.blas().math(windlass::blas::Math::Pedantic).atomics(true);
            let y = match blas.axpy(1.0, &x, y) {
                Ok(_) => panic!("the mode was to be refused"),
                Err(rejected) => device.fill(rejected.back.unwrap().0, 1.0).unwrap().into_output(),
            };
            let before = driver.calls_of(call);
            drop(blas.axpy(1.0, &x, y).unwrap());
            assert_eq!(driver.calls_of(call), before + 1, "the mode was taken for set");
        });
    }
    // A library that does not know the mode is an answer of its own.
    fails(&driver, "cublasSetMathMode", 7, |device, x, y| {
        let rejected = device.blas().math(windlass::blas::Math::EmulatedBf16x9).axpy(1.0, &x, y).unwrap_err();
        assert!(matches!(rejected.error, Error::Unsupported { .. }), "{rejected}");
    });
}

#[test]
fn what_fails_before_anything_was_enqueued_leaves_the_contents() {
    let driver = session();
    // Without events left, one has to be made.
    fails(&driver, "cuEventCreate", 2, |device, x, y| {
        driver.mode(Mode::Manual);
        let (mut y, mut errors) = (y, 0);
        for _ in 0..200 {
            y = match device.blas().axpy(1.0, &x, y) {
                Ok(pending) => pending.into_output(),
                Err(rejected) => {
                    errors += 1;
                    device.fill(rejected.back.unwrap().0, 0.0).unwrap().into_output()
                }
            };
        }
        assert_eq!(errors, 1);
        driver.mode(Mode::Eager);
        assert!(wait(device.blas().dot(&x, &y).unwrap()).unwrap() < 800.0);
    });
    fails(&driver, "cuStreamWaitEvent", 1, |device, x, y| {
        driver.mode(Mode::Manual);
        let (x, y) = (device.fill(x, 2.0).unwrap().into_output(), device.fill(y, 3.0).unwrap().into_output());
        let (_, y) = rejected(device, &x, y);
        let y = device.blas().axpy(1.0, &x, y).expect("its contents are as before").into_output();
        driver.mode(Mode::Eager);
        assert_eq!(common::down(device, &y), [5.0; 4]);
    });
    for call in ["cuCtxGetCurrent", "cuCtxSetCurrent"] {
        fails(&driver, call, 1, |device, x, y| {
            let (_, y) = rejected(device, &x, y);
            assert_eq!(common::down(device, &y), [1.0; 4]);
        });
    }
    let (device, x, y) = ready(&driver);
    let current = standin::Current::of(0); // where it is current, its state is asked for
    driver.fail("cuDevicePrimaryCtxGetState", 0, 1);
    let (_, y) = rejected(&device, &x, y);
    assert_eq!((driver.failed(), common::down(&device, &y)), (1, vec![1.0; 4]));
    drop((x, y, device, current));
    driver.assert_finished();
}

#[test]
fn a_refused_copy_is_told_and_a_refused_allocation_is_tried_again_only_for_want_of_memory() {
    let driver = session();
    for (call, code) in [("cuMemcpyHtoDAsync", 1), ("cuMemAllocFromPoolAsync", 1)] {
        let error =
            fails(&driver, call, code, |device, _, _| device.upload([1.0f32; 4]).map(drop).expect_err("refused"));
        assert_eq!(error.site().unwrap().code(), Some(code), "{call}");
    }
    let out_of_memory = |device: &Device, _, _| {
        let before = driver.calls_of("cuMemPoolTrimTo");
        let x = device.upload([1.0f32; 4]).expect("the second attempt finds room").into_output();
        assert_eq!(common::down(device, &x), [1.0; 4]);
        assert!(driver.calls_of("cuMemPoolTrimTo") > before, "the pool was trimmed meanwhile");
    };
    fails(&driver, "cuMemAllocFromPoolAsync", 2, out_of_memory);
    let error =
        fails(&driver, "cuMemcpyDtoHAsync", 1, |device, x, _| device.download(&x).map(drop).expect_err("refused"));
    assert_eq!(error.site().unwrap().op(), Some("download"));
    let error = fails(&driver, "cuMemHostAlloc", 2, |device, _, _| {
        device.upload(vec![1u8; 3 << 20]).map(drop).expect_err("a block of a size not seen before")
    });
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error:?}");
}

#[test]
fn a_library_handle_that_finds_no_memory_is_made_after_the_ladder() {
    let driver = session();
    for status in [1, 3] {
        driver.reset();
        let device = open().unwrap();
        driver.fail("cublasCreate", 0, status);
        assert_works(&device);
        assert_eq!(driver.failed(), 1);
        assert!(driver.calls_of("cuMemPoolTrimTo") > 0, "the pool may hold what the library wants");
        drop(device);
        driver.assert_finished();
    }
    for (call, code) in [("cublasCreate", 14), ("cublasSetStream", 1), ("cublasSetWorkspace", 7)] {
        driver.reset();
        driver.set_total_memory(256 << 20); // room for several workspaces
        let device = Device::builder().cuda(0).slots(1).open().unwrap();
        let x = common::up(&device, [1.0f32; 4]);
        driver.fail(call, 0, code);
        let first = device.blas().dot(&x, &x).and_then(wait);
        assert!(first.is_err() || code == 1, "{call}: {first:?}");
        assert_eq!(driver.failed(), 1);
        assert_works(&device);
        drop((x, device));
        driver.assert_finished();
    }
}

#[test]
fn a_device_that_cannot_be_opened_leaves_nothing_and_can_be_opened_later() {
    let driver = session();
    let calls =
        [("cuStreamCreate", 1), ("cuDevicePrimaryCtxRetain", 0), ("cuMemPoolSetAttribute", 1), ("cuCtxSetCurrent", 0)];
    for (call, nth) in calls {
        driver.reset();
        driver.fail(call, nth, 2);
        let error = open().map(drop).expect_err(call);
        assert!(matches!(error, Error::OutOfMemory { .. }), "{call}: {error:?}");
        driver.assert_finished();
        assert_works(&open().unwrap());
        driver.assert_finished();
    }
}

#[test]
fn a_pool_that_may_not_be_exported_is_a_plain_one() {
    let driver = session();
    driver.log(true);
    driver.fail("cuMemPoolCreate", 0, 801);
    let device = open().expect("a plain pool will do");
    let pools: Vec<String> = driver.take_log().into_iter().filter(|l| l.starts_with("cuMemPoolCreate")).collect();
    assert!(pools[0].ends_with("-> 801") && pools[1].contains("handles 0"), "{pools:?}");
    assert_works(&device);
    let x = launch(&device, c"add_one_f32", common::up(&device, [1.0f32])).await_result().unwrap();
    assert_eq!(common::down(&device, &x), [2.0]);
    drop((x, device));
    driver.assert_finished();
}
