//! Ends of a process: an exit with work in flight, and a fork.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use windlass::{Device, Error};

use crate::common::child::this_test;
use crate::common::{eventually, let_others_run, up, within};
use crate::standin::{Mode, driver, endless, in_child};

/// Sees to it that the driver comes to rest while the process exits. Handlers run last in, first out: this one,
/// registered before the crate's, runs after it. Who was between two calls then may still make the second.
extern "C" fn watch_the_exit() {
    for _ in 0..50 {
        let before = driver().calls();
        std::thread::sleep(Duration::from_millis(20));
        if driver().calls() == before {
            return;
        }
    }
    // SAFETY: ends the process; that is all it does.
    unsafe { libc::_exit(77) };
}

#[test]
fn a_process_exits_with_work_in_flight_and_calls_nothing_meanwhile() {
    let cases = ["quietly", "while others submit", "with a static device"];
    in_child(&this_test!(), &cases, |driver, case| {
        static DEVICE: OnceLock<Device> = OnceLock::new();
        // SAFETY: an `extern "C"` function without captures.
        unsafe { libc::atexit(watch_the_exit) };
        let device = Device::builder().cuda(0).slots(2).open().unwrap();
        driver.mode(Mode::Background);
        let x = up(&device, [1.0f32; 8]);
        let (busy, dot) = (endless(&device), device.blas().dot(&x, &x).unwrap());
        match case {
            "quietly" => drop((busy, dot, x, device)),
            "while others submit" => {
                for _ in 0..3 {
                    let (device, x) = (device.clone(), x.as_in().len());
                    std::thread::spawn(move || {
                        // Until the exit has closed the device.
                        while let Ok(y) = device.zeros::<f32>(x) {
                            drop(device.blas().scal(2.0, y).map(|pending| pending.into_output()));
                        }
                    });
                }
                let submitted = device.stats().dispatches;
                assert!(eventually(10, || device.stats().dispatches > submitted + 100));
                std::process::exit(0);
            }
            _ => {
                crate::common::forget((busy, dot, x));
                assert!(DEVICE.set(device).is_ok());
            }
        }
    });
}

/// The library registers its own handlers when it is first used: after the crate's, so they would run before them.
#[test]
fn an_exit_right_after_the_first_use_of_a_library_keeps_everybody_out_of_it() {
    let test = &this_test!();
    in_child(test, &["1", "2", "3"], |_, _| {
        let device = Device::builder().cuda(0).slots(2).open().unwrap();
        let x = up(&device, [3.0f32, 4.0]);
        assert_eq!(device.blas().nrm2(&x).unwrap().await_result().unwrap(), 5.0);
        drop((x, device)); // its thread goes to work
        std::process::exit(0);
    });
}

#[test]
fn a_forked_child_is_told_so_and_calls_nothing() {
    in_child(&this_test!(), &["once"], |driver, _| {
        let device = Device::builder().cuda(0).slots(2).open().unwrap();
        let x = up(&device, [1.0f32; 8]);
        assert_eq!(device.blas().dot(&x, &x).unwrap().await_result().unwrap(), 8.0);
        let (dot, data) = (device.blas().dot(&x, &x).unwrap(), device.download(&x).unwrap());
        let (busy, blocked) = (endless(&device), endless(&device));
        // The housekeeping thread is asleep or between two calls, as far as a test can see to that.
        let_others_run();
        // SAFETY: the child only uses this crate, allocates, and ends by `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            static STEP: AtomicI32 = AtomicI32::new(10);
            let told = move |step: i32, error: Error| {
                STEP.store(step, Ordering::SeqCst);
                assert!(matches!(&error, Error::DeviceLost { cause, .. } if cause.contains("fork")), "{error:?}");
            };
            let answers = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                told(1, device.zeros::<f32>(4).map(drop).unwrap_err());
                told(2, device.download(&x).map(drop).unwrap_err());
                told(3, busy.await_result().map(drop).unwrap_err().error);
                told(4, blocked.waiting(windlass::Wait::Block).await_result().map(drop).unwrap_err().error);
                told(5, device.memory().unwrap_err());
                told(6, device.synchronize(Duration::from_secs(5)).unwrap_err());
                // These may have been done before the fork; then they are answered, else they never will be.
                let _ = dot.await_result().map_err(|rejected| told(7, rejected));
                let _ = data.await_result().map_err(|rejected| told(8, rejected));
                drop((x, device));
            }));
            let code = if answers.is_ok() { 0 } else { STEP.load(Ordering::SeqCst) };
            // SAFETY: ends the child without running what its parent registered.
            unsafe { libc::_exit(code) };
        }
        let status = within(15, move || {
            let mut status = 0;
            // SAFETY: the pointer is valid for the write, the child is ours.
            unsafe { libc::waitpid(child, &mut status, 0) };
            status
        });
        assert_eq!((status & 0x7f, status >> 8), (0, 0), "(signal, step) of the child");
        // The parent goes on. What the child called would be in the report of violations.
        driver.release();
        busy.await_result().unwrap();
        assert_eq!(dot.await_result().unwrap(), 8.0);
        drop((blocked, data, x, device));
        driver.assert_finished();
    });
}

/// Its own drops wait for no lock that a thread of the parent held when it was forked.
#[test]
fn a_child_that_was_forked_beside_drops_does_not_wait_for_who_made_them() {
    in_child(&this_test!(), &["once"], |driver, _| {
        let device = Device::builder().cuda(0).slots(1).open().unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    drop(device.uninit::<f32>(4).unwrap());
                }
            });
            for _ in 0..200 {
                let x = device.uninit::<f32>(4).unwrap();
                // SAFETY: the child drops what this crate made, and ends by `_exit`, or by the alarm where it hangs.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    // SAFETY: as above.
                    unsafe { libc::alarm(60) };
                    drop(x);
                    // SAFETY: as above.
                    unsafe { libc::_exit(0) };
                }
                let mut status = 0;
                // SAFETY: the pointer is valid for the write, the child is ours.
                unsafe { libc::waitpid(child, &mut status, 0) };
                if status != 0 {
                    over.store(true, Ordering::Relaxed);
                }
                assert_eq!(status, 0, "it hung");
            }
            over.store(true, Ordering::Relaxed);
        });
        drop(device);
        driver.assert_finished();
    });
}
