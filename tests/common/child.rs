//! A scenario in a process of its own, on a real GPU: for what lasts until the process ends, and for what the driver owes
//! nobody an answer to. The process is the test program itself, started again for one test.

use std::process::Command;

/// The path of the test that this stands in, as the harness has it.
#[allow(unused_macros, reason = "each test program uses a part of this")]
macro_rules! this_test {
    () => {{
        fn here() {}
        $crate::common::child::of_function(std::any::type_name_of_val(&here))
    }};
}
pub(crate) use this_test;

/// The test that the function `here` is in.
pub fn of_function(path: &str) -> String {
    let path = path.split("::{{closure}}").next().expect("a path");
    path.trim_end_matches("::here").split_once("::").expect("a module").1.to_owned()
}

/// The path of a test of the module `module`, of which `module_path!()` tells.
pub fn of_module(module: &str, test: &str) -> String {
    match module.split_once("::") {
        Some((_, module)) => format!("{module}::{test}"),
        None => test.to_owned(),
    }
}

/// A process that has this in its environment is no worker, whatever it was started for.
pub const NO_WORKER: &str = "WINDLASS_TEST_NO_WORKER";

const ALONE: &str = "WINDLASS_TEST_ALONE";

/// Runs `body` in a process in which nothing else runs: this very test, started again.
#[track_caller]
pub fn alone(test: &str, body: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some() {
        return body();
    }
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(ALONE, "1")
        .output()
        .expect("the child starts");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{test}: the process ended with {:?}", output.status);
}

const SCENARIO: &str = "WINDLASS_SCENARIO";

/// The GPU that `WINDLASS_TEST_DEVICE` names.
pub fn gpu() -> Option<String> {
    std::env::var("WINDLASS_TEST_DEVICE").ok().filter(|device| device.starts_with("cuda"))
}

/// The body of the test `child`: runs `body` with the scenario and the GPU in a process that was started for one, and
/// nothing elsewhere.
pub fn scenario(body: impl FnOnce(&str, &str)) {
    let (Ok(kind), Some(device)) = (std::env::var(SCENARIO), gpu()) else { return };
    body(&kind, &device);
    println!("{kind}: done");
}

/// Runs one scenario by the test `child` of `module`. It must come to its end, and its process must exit by itself with success. Skipped without a GPU.
#[track_caller]
pub fn in_a_process_of_its_own(module: &str, kind: &str) {
    if gpu().is_none() {
        eprintln!("skipped: WINDLASS_TEST_DEVICE names no GPU");
        return;
    }
    let output = Command::new(std::env::current_exe().expect("this binary"))
        .args([of_module(module, "child").as_str(), "--exact", "--nocapture", "--test-threads=1"])
        .env(SCENARIO, kind)
        .output()
        .expect("the child starts");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{kind}: the process ended with {:?}", output.status);
    assert!(text.contains(&format!("{kind}: done")), "{kind}: it did not come to its end");
}
