//! cuTENSOR in a worker process: it is the worker's library that is asked and called.

use crate::common::child::this_test;
use crate::common::within;
use crate::standin::driver;
use std::process::Command;
use windlass::Device;
use windlass::tensor_ops::{Backend, Route};

const INSIDE: &str = "WINDLASS_TEST_CUTENSOR_INSIDE";

#[test]
fn a_worker_contracts_by_its_library() {
    if std::env::var_os(INSIDE).is_some() {
        return within(300, || {
            let device = Device::builder().cuda(0).isolated().open().unwrap();
            let ops = device.tensor_ops();
            let data: Vec<f64> = (0..30).map(|k| f64::from(k % 7 - 3)).collect();
            let (a, b) = (device.tensor([5, 2, 3], &data).unwrap(), device.tensor([5, 3, 2], &data).unwrap());
            let plan = ops.explain("bij,bjk->ibk", (&a, &b)).unwrap();
            assert!(plan.routes().eq([Route::CuTensor { batch: 5, m: 2, n: 2, k: 3 }]), "{plan}");
            let by = |backend| {
                let made = ops.clone().backend(backend).einsum("bij,bjk->ibk", (&a, &b)).unwrap();
                device.download(&made.await_result().unwrap()).unwrap().await_result().unwrap()
            };
            assert_eq!(by(Backend::Auto), by(Backend::OnePass));
            assert_eq!(driver().calls_of("cutensorContract"), 0, "the worker has called it");
        });
    }
    let driver = driver();
    let report = format!("{}/{}-cutensor.violations", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&*this_test!(), "--exact", "--nocapture"])
        .envs(driver.environment())
        .env("WINDLASS_STANDIN_MEMORY", "1073741824")
        .env("WINDLASS_STANDIN_REPORT", &report)
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let violations = std::fs::read_to_string(&report).unwrap_or_default();
    let _ = std::fs::remove_file(&report);
    assert!(output.status.success(), "{violations}{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed") && violations.is_empty(), "{violations}{text}");
}
