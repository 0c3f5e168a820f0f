//! A scenario in a process of its own, on a real GPU: for what lasts until the process ends, and for what the driver owes
//! nobody an answer to. The process is the test binary itself, started again for its test `child`.

use std::process::Command;

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

/// Runs one scenario. It must come to its end, and its process must exit by itself with success. Skipped without a GPU.
#[track_caller]
pub fn in_a_process_of_its_own(kind: &str) {
    if gpu().is_none() {
        eprintln!("skipped: WINDLASS_TEST_DEVICE names no GPU");
        return;
    }
    let output = Command::new(std::env::current_exe().expect("this binary"))
        .args(["child", "--exact", "--nocapture", "--test-threads=1"])
        .env(SCENARIO, kind)
        .output()
        .expect("the child starts");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{kind}: the process ended with {:?}", output.status);
    assert!(text.contains(&format!("{kind}: done")), "{kind}: it did not come to its end");
}
