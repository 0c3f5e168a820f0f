//! Kernels and modules of a GPU in a worker process: what is loaded there, and what a bad kernel costs.

use super::{LONG, inside, isolated, standin};
use crate::common::child::this_test;
use crate::common::{assert_back_at, down, eventually, let_others_run, up};
use std::time::Duration;
use windlass::nvrtc::{Global, LaunchConfig, Len, Write};
use windlass::{Device, Error, Module, error::Stale, health::Phase, nvrtc::Image};

const PTX: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
    .visible .const .align 4 .u32 table[3] = {5, 6, 7};\n\
    .visible .entry add_one_f32(.param .u64 data, .param .u64 n) { ret; }\n\
    .visible .entry endless() { ret; }\n\
    .visible .entry fault() { ret; }\n";

type AddOne = (Write<f32>, Len);

fn module(device: &Device) -> Module {
    device.nvrtc().load(&Image::ptx(PTX).unwrap()).unwrap()
}

fn config() -> LaunchConfig {
    LaunchConfig::new(1, 32)
}

/// Launches a kernel of no parameters, and gives the error that it ends with.
fn suffer(device: &Device, module: &Module, name: &str) -> Error {
    let kernel = module.kernel(name).unwrap();
    // SAFETY: none: it runs in a process that is there to be lost.
    let error = unsafe { kernel.launch(config(), ()) }.unwrap().await_result().unwrap_err().error;
    assert_eq!(device.wait_healthy(LONG).unwrap().phase, Phase::Healthy);
    error
}

#[track_caller]
fn assert_stale<T>(answer: Result<T, Error>, now: u64) {
    match answer.map(drop) {
        Err(Error::GpuRefStale { reason: Stale::Generation { now: at, .. }, .. }) => assert_eq!(at, now),
        other => panic!("{other:?}"),
    }
}

#[test]
fn kernels_are_launched_in_the_worker_and_this_process_makes_no_context() {
    inside(&this_test!(), &[], || {
        let device = isolated().open().unwrap();
        let module = module(&device);
        // SAFETY: the kernel's own parameters; it stays below the length.
        let kernel = unsafe { module.kernel("add_one_f32").unwrap().typed::<AddOne>() }.unwrap();
        let attributes = kernel.kernel().attributes().unwrap();
        assert!(attributes.max_threads > 0 && kernel.kernel().active_blocks(32, 0).unwrap() > 0);
        assert!(kernel.kernel().best_block(0).unwrap() > 0 && device.nvrtc().arch().is_some());
        let (most, least) = device.nvrtc().priorities().unwrap();
        assert!(most <= least);
        let x = kernel.launch(config(), (up(&device, [1.0f32, 2.0]), Len)).unwrap().into_output();
        assert_eq!(down(&device, &x), [2.0, 3.0]);
        let table: Global<u32> = module.global("table").unwrap();
        drop(table.write([9, 8, 7]).unwrap());
        assert_eq!(table.read().unwrap().await_result().unwrap(), [9, 8, 7]);
        drop((x, table, kernel, module));
        assert_back_at(&device, (0, 0, 0));
        for call in ["cuDevicePrimaryCtxRetain", "cuCtxCreate", "cuModuleLoadDataEx", "cuLaunchKernel"] {
            assert_eq!(standin::driver().calls_of(call), 0, "{call} in the client's process");
        }
        assert_eq!(device.stats().faults, 0);
    });
}

#[test]
fn a_kernel_that_faults_costs_the_worker_and_reload_brings_the_others_back() {
    inside(&this_test!(), &[], || {
        let device = isolated().open().unwrap();
        let first = module(&device);
        let mut module = first.clone();
        for generation in 1..6 {
            // SAFETY: the kernel's own parameters; it stays below the length.
            let kernel = unsafe { module.kernel("add_one_f32").unwrap().typed::<AddOne>() }.unwrap();
            let table: Global<u32> = module.global("table").unwrap();
            table.write([1, 2, 3]).unwrap().await_result().unwrap();
            let error = suffer(&device, &module, "fault");
            assert!(matches!(&error, Error::ContextPoisoned { .. }) && error.is_retryable(), "{error}");
            let site = error.site().unwrap();
            assert!(site.code().is_some() && site.last_ops().any(|op| op == "fault"), "{error}");

            let rejected = kernel.launch(config(), (up(&device, [1.0f32]), Len)).unwrap_err();
            assert!(rejected.back.is_some());
            assert_stale(Err::<(), _>(rejected.error), generation);
            assert_stale(table.read(), generation);
            assert_stale(table.write([0; 3]), generation);
            assert_stale(kernel.kernel().active_blocks(32, 0), generation);
            assert_stale(module.kernel("add_one_f32"), generation);

            let kernel = kernel.reload().unwrap();
            module = first.reload().unwrap();
            let x = kernel.launch(config(), (up(&device, [1.0f32]), Len)).unwrap().into_output();
            assert_eq!(down(&device, &x), [2.0]);
            let table: Global<u32> = module.global("table").unwrap();
            assert_eq!(table.read().unwrap().await_result().unwrap(), [5, 6, 7], "as it was first loaded");
        }
        assert_eq!(device.stats().faults, 5);
    });
}

/// What the later pieces of a write do does not make good what its first one did not do; the next write does.
#[test]
fn a_write_of_a_variable_fails_with_any_piece_of_it() {
    let test = &this_test!();
    let ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 table[5000000];\n\
        .visible .entry empty() { ret; }\n";
    for piece in 0..3 {
        let fail = format!("cuMemcpyHtoDAsync:{piece}:1");
        inside(test, &[("WINDLASS_STANDIN_FAIL", &fail)], move || {
            let device = isolated().open().unwrap();
            let module = device.nvrtc().load(&Image::ptx(ptx).unwrap()).unwrap();
            let table: Global<u32> = module.global("table").unwrap();
            let written = table.write(vec![7; 5_000_000]).unwrap().await_result();
            assert!(written.is_err(), "a piece was not written");
            assert!(table.read().unwrap().await_result().is_err(), "nor is it what the program says");
            table.write(vec![8; 5_000_000]).unwrap().await_result().unwrap();
            assert!(table.read().unwrap().await_result().unwrap() == vec![8; 5_000_000]);
            assert_eq!(device.stats().faults, 0);
        });
    }
}

#[test]
fn an_endless_kernel_is_ended_with_its_worker() {
    inside(&this_test!(), &[("WINDLASS_STANDIN_MODE", "background")], || {
        let device = isolated().watchdog(Duration::from_secs(6)).open().unwrap();
        let error = suffer(&device, &module(&device), "endless");
        assert!(matches!(&error, Error::ContextPoisoned { .. }), "{error}");
        module(&device).load().unwrap();
    });
}

/// Each has 200 MB of the worker's 1 GiB.
#[test]
fn a_module_is_unloaded_in_the_worker_when_its_last_handle_is_gone() {
    let ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 table[50000000];\n\
        .visible .entry empty() { ret; }\n";
    inside(&this_test!(), &[], move || {
        let device = isolated().open().unwrap();
        for _ in 0..10 {
            let loaded = || {
                let module = device.nvrtc().load(&Image::ptx(ptx).unwrap()).unwrap();
                match module.load() {
                    Ok(()) => Some(module),
                    Err(Error::OutOfMemory { .. }) => None,
                    Err(error) => panic!("{error}"),
                }
            };
            let kernel = {
                let mut module = None;
                assert!(
                    eventually(10, || {
                        module = loaded();
                        module.is_some()
                    }),
                    "those that were dropped are still there"
                );
                module.unwrap().kernel("empty").unwrap()
            };
            // SAFETY: it does nothing.
            unsafe { kernel.launch(config(), ()) }.unwrap().await_result().unwrap();
        }
        // What is held stays.
        let held: Vec<_> = (0..5).map(|_| device.nvrtc().load(&Image::ptx(ptx).unwrap()).unwrap()).collect();
        assert!(eventually(10, || held.iter().all(|module| module.load().is_ok())));
        let error = device.nvrtc().load(&Image::ptx(ptx).unwrap()).unwrap().load().unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    });
}

#[test]
fn a_load_that_fails_in_the_worker_is_a_typed_error_and_can_be_tried_again() {
    let test = &this_test!();
    inside(test, &[("WINDLASS_STANDIN_FAIL", "cuModuleLoadDataEx:0:2,cuModuleGetFunction:0:1")], || {
        let device = isolated().open().unwrap();
        let module = module(&device);
        let error = module.load().unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        assert_eq!(error.site().unwrap().op(), Some("load"));
        let error = module.kernel("add_one_f32").unwrap_err();
        assert!(matches!(&error, Error::LibraryError { .. }) && error.site().unwrap().code() == Some(1), "{error}");
        module.kernel("add_one_f32").unwrap();
        assert!(matches!(module.kernel("none"), Err(Error::InvalidArgument { .. })));
        assert_eq!(device.stats().faults, 0);
    });
}

#[test]
fn who_asks_is_answered_when_the_worker_is_killed() {
    inside(&this_test!(), &[], || {
        let device = isolated().open().unwrap();
        let asking = std::sync::atomic::AtomicBool::new(true);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while asking.load(std::sync::atomic::Ordering::Relaxed) {
                        match module(&device).kernel("add_one_f32") {
                            Ok(kernel) => drop(kernel),
                            Err(Error::ContextPoisoned { .. } | Error::GpuRefStale { .. }) => {}
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                });
            }
            for generation in 1..=10 {
                let_others_run();
                // SAFETY: a signal to a child of this process.
                unsafe { libc::kill(device.worker_pid().unwrap().cast_signed(), libc::SIGKILL) };
                assert!(eventually(20, || device.generation() >= generation && device.health().phase == Phase::Healthy));
            }
            asking.store(false, std::sync::atomic::Ordering::Relaxed);
        });
        assert!(eventually(5, || device.stats().in_flight == 0));
        module(&device).kernel("add_one_f32").unwrap();
    });
}
