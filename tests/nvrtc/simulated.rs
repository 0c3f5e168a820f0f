//! The suite `launch` on the stand-in for a GPU, side by side as it runs anywhere, in this process and in workers: this
//! program again, whose loader finds the stand-in first.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

#[path = "../standin/driver/build.rs"]
mod build;

/// Runs the suite on `device`, and asserts that nothing was done that a real driver would not forgive.
#[track_caller]
fn passes_on(device: &str) {
    if std::env::var_os("WINDLASS_TEST_DEVICE").is_some() {
        eprintln!("skipped: WINDLASS_TEST_DEVICE names another device");
        return;
    }
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| build::build().expect("the stand-in compiles (it needs a C compiler)"));
    let report = format!("{}/{}-{device}.violations", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["launch::", "--skip", "compiled::", "--skip", "twins::"])
        .env("LD_LIBRARY_PATH", folder)
        .env("WINDLASS_CUDA_PATH", folder)
        .env("WINDLASS_TEST_DEVICE", device)
        // Sixteen slots, as a device has unless it is asked for others, and two, which tests share.
        .env("WINDLASS_TEST_SLOTS", "16 2")
        .env("WINDLASS_STANDIN_MEMORY", "1073741824")
        .env("WINDLASS_STANDIN_REPORT", &report)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let violations = std::fs::read_to_string(&report).unwrap_or_default();
    let _ = std::fs::remove_file(&report);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && violations.is_empty(), "{violations}{text}{errors}");
    assert!(text.contains("launches::") && text.contains("globals::") && text.contains("0 failed"), "{text}");
}

#[test]
fn the_suite_passes_on_a_gpu() {
    passes_on("cuda:0");
}

#[test]
fn the_suite_passes_on_a_gpu_in_worker_processes() {
    passes_on("cuda:0:isolated");
}
