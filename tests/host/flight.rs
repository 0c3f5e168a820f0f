//! The last operations of a device that failed.

use crate::common;

use common::{LONG, eventually, host, up};
use std::path::PathBuf;
use windlass::{Device, FaultPlan, RestartPolicy};

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("windlass-flight-{}-{name}.txt", std::process::id()))
}

fn failing(name: &str, at: u64, most: usize) -> (Device, PathBuf) {
    let file = file(name);
    let builder = host(1).fault_plan(FaultPlan::new().poison(at)).restart_policy(RestartPolicy::unlimited());
    (builder.flight_recorder(most, &file).open().unwrap(), file)
}

#[test]
fn the_newest_operations_are_written_with_labels_types_and_lengths_when_the_device_fails() {
    let (device, file) = failing("newest", 5, 3);
    let mut x = up(&device, vec![1.0f64; 7]);
    for label in ["one", "two", "three", "four"] {
        x = device.labelled(label).blas().scal(2.0, x).unwrap().await_result().unwrap().into_buffer();
    }
    assert!(!file.exists(), "nothing failed");
    let y = up(&device, vec![1.0f64; 7]);
    let _ = device.labelled("five").blas().axpy(1.0, &x, y).map(|pending| pending.await_result());
    assert!(eventually(LONG.as_secs(), || file.exists()));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("poisoned by the fault plan"), "{text}");
    assert!(lines[1].starts_with("the last 3 of "), "{text}");
    assert_eq!(lines.len(), 5, "{text}");
    assert!(text.contains("complete  blas.scal \"four\" writes f64[7]"), "{text}");
    assert!(!text.contains("\"one\""), "{text}");
}

#[test]
fn each_failure_writes_its_own() {
    let (device, file) = failing("each", 1, 10);
    let x = up(&device, vec![1.0f32; 2]);
    assert!(device.labelled("first life").blas().scal(2.0, x).unwrap().await_result().is_err());
    device.wait_healthy(LONG).unwrap();
    assert!(eventually(LONG.as_secs(), || std::fs::read_to_string(&file).is_ok_and(|text| text.contains("first life"))));
    std::fs::remove_file(&file).unwrap();
    drop(up(&device, vec![1.0f32; 2]));
    assert!(!file.exists());
}

/// The file names what a program computes, and may lie in a folder where others write.
#[cfg(unix)]
#[test]
fn only_its_owner_reads_the_file_and_no_link_beside_it_is_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (device, told) = failing("private", 1, 10);
    let (beside, victim) = (told.with_extension(format!("draft-{}", std::process::id())), file("victim"));
    std::fs::write(&victim, "keep").unwrap();
    symlink(&victim, &beside).unwrap();
    let x = up(&device, vec![1.0f32; 2]);
    assert!(device.labelled("secret").blas().scal(2.0, x).unwrap().await_result().is_err());
    device.wait_healthy(LONG).unwrap();
    assert!(eventually(LONG.as_secs(), || std::fs::read_to_string(&told).is_ok_and(|text| text.contains("secret"))));
    let mode = told.metadata().unwrap().permissions().mode();
    let kept = std::fs::read_to_string(&victim).unwrap();
    for path in [&told, &beside, &victim] {
        let _ = std::fs::remove_file(path);
    }
    assert_eq!((mode & 0o077, &kept[..]), (0, "keep"));
}
