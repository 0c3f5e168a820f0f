//! The CUDA engine in a worker process, on the stand-in driver: device faults end the worker, and the program goes on.
#![cfg(all(feature = "host", feature = "blas", feature = "blaslt", target_os = "linux"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;
mod standin;

use common::{assert_back_at, down, up, within};
use std::process::Command;
use std::time::Duration;
use windlass::blaslt::{Epilogue, Operands};
use windlass::nvrtc::{Image, LaunchConfig};
use windlass::{Device, DeviceBuilder, DeviceKind, Error, Matmul, Phase, RestartPolicy};

const INSIDE: &str = "WINDLASS_TEST_INSIDE";
const LONG: Duration = Duration::from_secs(20);

/// Runs `body` in a process whose children find the stand-in as well: this very test, started again with `variables`.
#[track_caller]
fn inside(test: &str, variables: &[(&str, &str)], body: impl FnOnce() + Send + 'static) {
    if std::env::var_os(INSIDE).is_some() {
        return within(60, body);
    }
    let driver = standin::driver();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .envs(driver.environment())
        .envs(variables.iter().copied())
        .env("WINDLASS_STANDIN_MEMORY", "1073741824")
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
}

fn isolated() -> DeviceBuilder {
    Device::builder().cuda(0).isolated().restart_policy(RestartPolicy::unlimited())
}

#[test]
fn a_gpu_in_a_worker_gives_the_same_answers() {
    inside("a_gpu_in_a_worker_gives_the_same_answers", &[], || {
        let device = isolated().open().unwrap();
        assert!(device.kind() == DeviceKind::Cuda && device.is_isolated() && device.info().uuid.is_some());
        let x = up(&device, (0..100_000).map(f64::from).collect::<Vec<_>>());
        let y = device.blas().axpy(2.0, &x, device.zeros(100_000).unwrap()).unwrap().into_output();
        let (left, right) = y.split_at(50_000).unwrap();
        let left = device.fill(left, 1.0).unwrap().into_output();
        let y = down(&device, &left.join(right).unwrap());
        assert_eq!((y[0], y[49_999], y[50_000], y[99_999]), (1.0, 1.0, 100_000.0, 199_998.0));
        assert_eq!(device.blas().nrm2(&up(&device, [3.0f32, 4.0])).unwrap().await_result().unwrap(), 5.0);
        let memory = device.memory().unwrap();
        assert!(memory.total >= memory.free && memory.free > 0, "{memory:?}");
        drop(x);
        assert_back_at(&device, (0, 0, 0));
        device.rebuild(LONG).unwrap();
        assert_eq!((device.generation(), down(&device, &up(&device, [7u8]))), (1, vec![7]));
    });
}

#[test]
fn what_does_not_cross_to_a_gpu_in_a_worker_says_why() {
    inside("what_does_not_cross_to_a_gpu_in_a_worker_says_why", &[], || {
        let device = isolated().open().unwrap();
        let refused = |error: Error, word: &str| match error {
            Error::Unsupported { reason, .. } => assert!(reason.contains(word), "{reason}"),
            other => panic!("{other:?}"),
        };
        let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
        let ptx = format!("{head}.global .f32 factor;\n.visible .entry nothing(.param .u32 a) {{ ret; }}\n");
        let module = device.nvrtc().load(&Image::ptx(ptx).unwrap()).unwrap();
        refused(module.load().unwrap_err(), "worker process");
        refused(module.global::<f32>("factor").map(drop).unwrap_err(), "worker process");
        let kernel = module.kernel("nothing").unwrap();
        // SAFETY: it does nothing.
        refused(unsafe { kernel.launch(LaunchConfig::new(1, 1), (1u32,)) }.unwrap_err().error, "worker process");
        let (a, d) = (up(&device, [1.0f32; 4]), device.zeros::<f32>(4).unwrap());
        let tuned = device.blas_lt().autotune(Matmul::new(2, 2, 2), Operands::new(&a, &a), Epilogue::none(), d);
        let rejected = tuned.unwrap_err();
        assert!(rejected.back.is_some());
        refused(rejected.error, "measured");
        assert_eq!(device.stats().faults, 0);
    });
}

#[test]
fn the_watchdog_of_a_gpu_holds_nothing_against_work_that_waits() {
    inside("the_watchdog_of_a_gpu_holds_nothing_against_work_that_waits", &[], || {
        let limit = Duration::from_millis(600);
        let device = isolated().watchdog(limit).open().unwrap();
        let x = up(&device, vec![1u8; 64 << 20]).share();
        let mut other = device.zeros::<u8>(64 << 20).unwrap();
        device.synchronize(LONG).unwrap();
        let start = std::time::Instant::now();
        // Each takes the stand-in a few milliseconds; all of them take longer than the limit.
        for _ in 0..400 {
            other = device.copy(&x, other).unwrap().into_output();
        }
        device.synchronize(LONG).unwrap();
        assert!(start.elapsed() > limit, "{:?} for all is no test", start.elapsed());
        assert_eq!(device.stats().faults, 0, "{:?}", device.stats().last_fault);
        assert_eq!(down(&device, other.as_in().slice(5..6).unwrap()), [1]);
    });
}

#[test]
fn a_device_fault_ends_the_worker_and_the_program_goes_on() {
    let test = "a_device_fault_ends_the_worker_and_the_program_goes_on";
    for code in ["700", "719"] {
        // The two hundredth command of every worker faults.
        let fault = format!("200:{code}");
        let code: i32 = code.parse().unwrap();
        inside(test, &[("WINDLASS_STANDIN_FAULT", &fault), ("WINDLASS_TEST_CODE", &code.to_string())], || {
            let code: i32 = std::env::var("WINDLASS_TEST_CODE").unwrap().parse().unwrap();
            let device = isolated().open().unwrap();
            let (mut right, mut lost) = (0u32, 0);
            while right < 150 {
                let value = f64::from(right);
                let attempt = || -> Result<f64, Error> {
                    let x = device.upload([value, 0.0])?.into_output();
                    let x = device.blas().scal(2.0, x)?.into_output();
                    Ok(device.blas().nrm2(&x)?.await_result()?)
                };
                match attempt() {
                    Ok(norm) => {
                        assert_eq!(norm, 2.0 * value);
                        right += 1;
                    }
                    Err(error @ Error::ContextPoisoned { .. }) => {
                        let site = error.site().unwrap();
                        assert_eq!(site.code(), Some(code), "{error}");
                        assert!(site.last_ops().count() > 0 && error.is_retryable(), "{error}");
                        lost += 1;
                        assert_eq!(device.wait_healthy(LONG).unwrap().phase, Phase::Healthy);
                    }
                    Err(Error::GpuRefStale { .. } | Error::Upstream { .. }) => drop(device.wait_healthy(LONG).unwrap()),
                    Err(error) => panic!("{error:?}"),
                }
            }
            let stats = device.stats();
            assert!(lost >= 3 && stats.faults == stats.generation && stats.faults >= 3, "{lost} lost, {stats:?}");
            assert_back_at(&device, (0, 0, 0));
        });
    }
}
