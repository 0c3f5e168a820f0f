//! `WINDLASS_TEST_SHIFT`: every buffer begins so many elements behind the beginning of its memory.

use crate::common::{Deed, InPlace, child::this_test, down, host, up};
use std::process::Command;
use windlass::{Device, DeviceBuffer, Result};

/// Writes the address of its buffer into it.
struct Told;

impl Deed for Told {
    const NAME: &'static str = "told";
    type Element = u64;

    fn host(&self, x: &mut [u64]) -> Result<()> {
        let address = x.as_ptr() as u64;
        x.fill(address);
        Ok(())
    }
}

fn begins_at(device: &Device, x: DeviceBuffer<u64>) -> u64 {
    let told = device.dispatch(InPlace(Told), (), (x,)).unwrap().into_output();
    down(device, &told)[0] % 64
}

/// Starts this test again with a shift of 3. `None` in that process.
fn shifted(test: &str) -> Option<(bool, String)> {
    if std::env::var("WINDLASS_TEST_SHIFT").is_ok_and(|shift| shift == "3") {
        return None;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env("WINDLASS_TEST_SHIFT", "3")
        .env_remove("WINDLASS_TEST_SHIFT_CHILD")
        .env_remove("WINDLASS_TEST_DEVICE")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Some((output.status.success(), text))
}

#[test]
fn every_buffer_begins_behind_its_memory() {
    if let Some((passed, text)) = shifted(&this_test!()) {
        assert!(passed && text.contains("1 passed"), "{text}");
        return;
    }
    let device = host(2).open().unwrap();
    assert_eq!(begins_at(&device, up(&device, [0; 5])), 24);
    assert_eq!(begins_at(&device, device.zeros(5).unwrap().into_buffer()), 24);
    assert_eq!(begins_at(&device, device.fill(device.uninit(70_000).unwrap(), 0).unwrap().into_buffer()), 24);
    let tensor = device.full([2, 3], 7u64).unwrap();
    assert_eq!(begins_at(&device, tensor.into_buffer()), 24);
    // What an operation makes while it runs, too.
    let made = device.unique(&device.tensor([4], vec![3u64, 1, 3, 2]).unwrap()).unwrap().await_result().unwrap();
    assert_eq!(begins_at(&device, made.into_buffer()), 24);
}

#[test]
fn a_process_that_shifts_nothing_fails() {
    if let Some((passed, text)) = shifted(&this_test!()) {
        assert!(!passed && text.contains("1 passed") && text.contains("no buffer was shifted"), "{text}");
    }
}
