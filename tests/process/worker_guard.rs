//! A worker program that does not call `windlass::worker::init()`: this one, told not to. (`tests/common` calls it.)

use crate::common::child::{NO_WORKER, alone, of_module, this_test};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use windlass::{Device, Error};

/// Not a test of its own: a `main` that goes on to open a device, and to other things.
#[test]
#[ignore = "run by the test below"]
fn a_main() {
    let said = PathBuf::from(std::env::var_os("WINDLASS_TEST_SAID").unwrap());
    std::fs::write(said.with_extension("begun"), "").unwrap();
    let device = Device::host();
    std::fs::write(said.with_extension("gone-on"), format!("{device:?}")).unwrap();
    loop {
        std::thread::park();
    }
}

/// This program for one test, with what it says in a file.
fn program(said: &Path) -> PathBuf {
    let path = said.with_extension("sh");
    let words = format!(
        "#!/bin/sh\nexport {NO_WORKER}=1 WINDLASS_TEST_SAID='{said}'\nexec '{}' --exact {} --ignored --nocapture 2>'{said}'\n",
        std::env::current_exe().unwrap().display(),
        of_module(module_path!(), "a_main"),
        said = said.display(),
    );
    std::fs::write(&path, words).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_worker_that_comes_to_open_a_device_stops_there_and_both_sides_say_why() {
    alone(&this_test!(), || {
        let said = std::env::temp_dir().join(format!("windlass-worker-guard-{}", std::process::id()));
        let builder = Device::builder().host().isolated().worker_patience(Duration::from_secs(300));
        let builder = builder.worker_program(program(&said));
        // Long before its patience is over.
        let error = crate::common::within(60, move || builder.open().unwrap_err());
        assert!(matches!(&error, Error::Unsupported { reason, .. } if reason.contains("worker::init")), "{error}");
        let theirs = std::fs::read_to_string(&said).unwrap_or_default();
        assert!(theirs.contains("worker::init"), "{theirs}"); // said before its parent knew
        assert!(said.with_extension("begun").exists(), "it never came to its main");
        assert!(!said.with_extension("gone-on").exists(), "it went on with what its parent does");
        ["sh", "begun"].iter().for_each(|end| std::fs::remove_file(said.with_extension(end)).unwrap());
        std::fs::remove_file(said).unwrap();
    });
}

/// Its own standard input is no worker's socket.
#[test]
fn a_program_that_is_no_worker_opens_devices_whatever_its_environment_says() {
    alone(&this_test!(), || {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &of_module(module_path!(), "opens_one"), "--ignored", "--nocapture"])
            .env("WINDLASS_WORKER_SOCKET", "1:2")
            .env(NO_WORKER, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("open"), "{text}");
    });
}

/// Not a test of its own.
#[test]
#[ignore = "run by the test above"]
fn opens_one() {
    println!("open {:?}", Device::host().unwrap());
}
