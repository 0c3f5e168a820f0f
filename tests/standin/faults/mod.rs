//! Device faults on the CUDA engine, a process each: everything is answered, nothing is called, the host goes on.

use crate::{common, kernels};
mod process;
use crate::standin;

use common::child::this_test;
use common::{buffer, columns, down, into_columns, up};
use standin::{Driver, Mode, endless, in_child, launch, session};
use std::time::Duration;
use windlass::loader::Library;
use windlass::nvrtc::{LaunchConfig, Len};
use windlass::{
    Device, DeviceBuffer, Error, PendingDispatch, Rejected, Verdict, Wait,
    health::Phase,
    op::{Bufs, Output},
};

/// Codes that end CUDA for the process.
const STICKY: [&str; 14] =
    ["214", "220", "226", "700", "702", "710", "714", "715", "716", "717", "718", "719", "721", "999"];

/// Two GPUs and the host, with work of all sorts in flight on the GPUs.
struct Scene {
    gpus: [Device; 2],
    host: Device,
    x: DeviceBuffer<f32>,
    sums: Vec<PendingDispatch<DeviceBuffer<f32>>>,
    dots: Vec<PendingDispatch<f32, Verdict>>,
    data: Vec<PendingDispatch<Vec<f32>, Verdict>>,
    code: i32,
}

fn scene(driver: &Driver, case: &str) -> Scene {
    let gpus = [0, 1].map(|n| Device::builder().cuda(n).slots(3).open().expect("the stand-in opens"));
    let host = Device::host().unwrap();
    let x = up(&gpus[0], [1.0f32; 8]);
    assert_eq!(down(&gpus[0], &x), [1.0; 8]);
    let one = up(&gpus[1], [1.0f32; 8]);
    let add_one = gpus.each_ref().map(kernels::add_one);
    driver.mode(Mode::Manual);
    let blas = gpus[0].blas();
    let mut sums =
        vec![blas.axpy(1.0, &x, gpus[0].zeros(8).unwrap()).unwrap().into(), gpus[1].fill(one, 3.0).unwrap().into()];
    sums.push(launch(&gpus[0], c"add_one_f32", gpus[0].zeros(8).unwrap().into_buffer()));
    // On both, because either may be the first to notice.
    for (gpu, add_one) in gpus.iter().zip(&add_one) {
        sums.push(add_one.launch(LaunchConfig::new(1, 32), (gpu.zeros(8).unwrap().into_buffer(), Len)).unwrap());
    }
    let dots = (0..3).map(|_| blas.dot(&x, &x).unwrap()).collect();
    let data = (0..2).map(|_| gpus[0].download(&x).unwrap()).collect();
    Scene { gpus, host, x, sums, dots, data, code: case.parse().expect("a code") }
}

/// A lost device's error, which says what happened, what ran before, and what helps.
#[track_caller]
fn lost(error: &Error, code: i32) {
    let Error::DeviceLost { cause, remedy, site, .. } = error else { panic!("expected DeviceLost, got {error:?}") };
    assert_eq!(site.code(), Some(code), "{error}");
    let name = site.code_name().expect("the code's name");
    assert!(name.starts_with("CUDA_ERROR_") && cause.contains(name), "{error}");
    assert!(remedy.contains("process"), "{error}");
    assert!(!error.is_retryable() && error.is_poisoning());
}

/// Resolves with the fault, at once and for everybody.
#[track_caller]
fn resolves<O: Output, V>(pending: PendingDispatch<O, V>, code: i32) {
    match pending.await_timeout(Duration::from_secs(1)) {
        Ok(Err(failure)) => lost(&failure.into(), code),
        Ok(Ok(_)) => panic!("it was never done"),
        Err(_) => panic!("still in flight"),
    }
}

impl Scene {
    /// The fault was noticed: all that follows is said, and done without a call.
    fn assert_lost(self, driver: &Driver) {
        let Scene { gpus, host, x, sums, dots, data, code } = self;
        for gpu in &gpus {
            // Who noticed it tells the GPUs one after the other.
            assert!(common::eventually(1, || gpu.health().phase == Phase::Lost), "{gpu:?}");
            assert!(gpu.health().reason.is_some_and(|reason| reason.contains("CUDA_ERROR_")));
        }
        // The fault may just have been noticed by a thread that is still on its way out of a call.
        driver.await_rest();
        let before = driver.calls();
        sums.into_iter().for_each(|pending| resolves(pending, code));
        dots.into_iter().for_each(|pending| resolves(pending, code));
        data.into_iter().for_each(|pending| resolves(pending, code));
        driver.silently("what comes later", || {
            for gpu in &gpus {
                lost(&gpu.zeros::<f32>(4).unwrap_err(), code);
                lost(&gpu.memory().unwrap_err(), code);
                lost(&gpu.library_version(Library::Cublas).unwrap_err(), code);
                lost(&gpu.rebuild(Duration::from_secs(9)).unwrap_err(), code);
                lost(&gpu.wait_healthy(Duration::from_secs(9)).unwrap_err(), code);
            }
            lost(&gpus[0].download(&x).unwrap_err(), code);
            lost(&gpus[0].blas().dot(&x, &x).unwrap_err(), code);
            let Rejected { error, back } = gpus[0].fill(x, 1.0).unwrap_err();
            lost(&error, code);
            let mut last = error.site().unwrap().last_ops();
            assert!(last.any(|op| op == "add_one_f32"), "a kernel by its own name: {error}");
            drop(back.expect("the buffer comes back"));
        });
        let stats = gpus[0].stats();
        let told = gpus.iter().map(Device::stats).find(|stats| stats.faults == 1).expect("one of them saw it");
        assert!(told.last_fault.as_ref().is_some_and(|fault| fault.contains("CUDA_ERROR_")), "{told:?}");
        assert!(stats.leaked > 0, "what cannot be freed any more is counted: {stats:?}");
        let y = up(&host, [2.0f32; 8]);
        assert_eq!(host.blas().dot(&y, &y).unwrap().await_result().unwrap(), 32.0);
        drop(gpus);
        common::let_others_run();
        assert_eq!(driver.calls(), before, "nobody calls a driver whose context is gone");
        // Results that were in flight never come, and nobody waits for them.
        assert!(common::eventually(30, || housekeepers() == 0), "{} threads are left", housekeepers());
        driver.assert_clean();
    }
}

/// Housekeeping threads of this process.
fn housekeepers() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").expect("this process's threads");
    let names = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
    names.filter(|name| name.starts_with("windlass house")).count()
}

fn in_flight<O: Output, V>(pending: &PendingDispatch<O, V>) -> bool
where
    Bufs<O>: Send,
{
    !pending.is_ready()
}

#[test]
fn a_fault_that_a_query_shows_is_the_end_of_every_gpu_and_of_nothing_else() {
    in_child(&this_test!(), &STICKY, |driver, case| {
        let scene = scene(driver, case);
        assert!(in_flight(&scene.sums[0]));
        driver.fault(scene.code);
        // Another thread may be asking just now, and then this one looks again.
        assert!(common::eventually(1, || scene.sums[0].is_ready()), "an error is an answer");
        scene.assert_lost(driver);
    });
}

#[test]
fn a_fault_wakes_who_is_blocked_in_the_driver() {
    in_child(&this_test!(), &STICKY, |driver, case| {
        let scene = scene(driver, case);
        let (device, code) = (scene.gpus[1].clone(), scene.code);
        let blocked = device.waiting(Wait::Block).fill(device.zeros(4).unwrap(), 1.0f32).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| blocked.await_result().map(drop).expect_err("never done"));
            assert!(common::eventually(5, || driver.calls_of("cuEventSynchronize") > 0));
            driver.fault(code);
            lost(&waiter.join().unwrap().error, code);
        });
        drop(device);
        scene.assert_lost(driver);
    });
}

#[test]
fn a_fault_that_an_enqueue_meets_gives_the_buffers_back() {
    in_child(&this_test!(), &STICKY, |driver, case| {
        let mut scene = scene(driver, case);
        let free = scene.gpus[0].uninit(8).unwrap();
        driver.fault(scene.code);
        // A library's own status hides the fault; the code that the stream tells outranks it.
        let rejected = match scene.code % 2 {
            0 => {
                let (a, b) = (columns(&scene.x, 2, 2), columns(&scene.x, 2, 4));
                let product =
                    scene.gpus[0].blas().gemm(windlass::Gemm::new(), a, b, into_columns(free.into_buffer(), 2, 4));
                buffer(product).unwrap_err()
            }
            _ => buffer(scene.gpus[0].fill(free, 1.0f32)).unwrap_err(),
        };
        lost(&rejected.error, scene.code);
        assert!(rejected.back.is_some());
        scene.sums.rotate_left(1);
        scene.assert_lost(driver);
    });
}

#[test]
fn a_kernel_that_faults_ends_what_is_behind_it() {
    in_child(&this_test!(), &["700", "716", "719"], |driver, case| {
        let mut scene = scene(driver, case);
        driver.script("fault", scene.code);
        let device = &scene.gpus[0];
        scene.sums.insert(0, launch(device, c"fault", device.zeros(4).unwrap().into_buffer()));
        driver.mode(Mode::Background);
        // What ran before the fault may have been done; what it stopped resolves with it.
        assert!(common::eventually(5, || device.health().phase == Phase::Lost || scene.sums[0].is_ready()));
        resolves(scene.sums.remove(0), scene.code);
        assert!(common::eventually(5, || scene.gpus[1].health().phase == Phase::Lost));
        for pending in scene.sums {
            match pending.await_timeout(common::LONG).expect("answered") {
                Ok(_) => {}
                Err(rejected) => lost(&rejected.error, scene.code),
            }
        }
    });
}

#[test]
fn a_refusal_is_no_fault() {
    let driver = session();
    for code in [1, 2, 200, 209, 218, 701, 720, 801] {
        driver.reset();
        let device = Device::builder().cuda(0).slots(2).open().unwrap();
        let x = up(&device, [1.0f32; 4]);
        driver.fail("cuLaunchKernel", 0, code);
        if code == 2 {
            driver.fail("cuLaunchKernel", 1, code); // it is tried once more when memory was given back
        }
        let rejected = device.dispatch(standin::Launch::of(c"add_one_f32"), (), (x,)).unwrap_err();
        assert_eq!(rejected.error.site().unwrap().code(), Some(code), "{:?}", rejected.error);
        assert_eq!(matches!(rejected.error, Error::OutOfMemory { .. }), code == 2);
        assert!(!rejected.error.is_poisoning() && rejected.back.is_some());
        assert_eq!((device.health().phase, device.stats().faults), (Phase::Healthy, 0));
        let x = device.fill(rejected.back.unwrap().0, 1.0).unwrap().into_output();
        assert_eq!(down(&device, &launch(&device, c"add_one_f32", x.into_buffer()).into_output()), [2.0; 4]);
        drop(device);
        driver.assert_finished();
    }
}

/// A fault in another device's queue, and in a process whose other GPU only ever slept.
#[test]
fn waiting_threads_on_every_gpu_are_answered() {
    in_child(&this_test!(), &["719"], |driver, _| {
        let gpus = [0, 1].map(|n| Device::builder().cuda(n).slots(2).open().unwrap());
        let waiting: Vec<_> = [Wait::Adaptive, Wait::Spin, Wait::Yield, Wait::Block, Wait::Rayon]
            .into_iter()
            .flat_map(|how| gpus.iter().map(move |gpu| endless(&gpu.waiting(how))))
            .collect();
        let begun = &std::sync::Barrier::new(waiting.len() + 1);
        std::thread::scope(|scope| {
            let wait = |pending: PendingDispatch<windlass::DeviceBuffer<f32>>| {
                begun.wait();
                pending.await_result().map(drop)
            };
            let threads: Vec<_> = waiting.into_iter().map(|pending| scope.spawn(move || wait(pending))).collect();
            begun.wait();
            common::let_others_run();
            driver.fault(719);
            for thread in threads {
                lost(&thread.join().unwrap().unwrap_err().error, 719);
            }
        });
    });
}
