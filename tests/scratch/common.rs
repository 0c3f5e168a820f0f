#[path = "../common/machine/mod.rs"]
pub mod machine;
pub mod child {
    pub const NO_WORKER: &str = "WINDLASS_TEST_NO_WORKER";
}
use windlass::{Device, Stats};
pub fn holdings(device: &Device) -> (u64, u64, u64) {
    let Stats { bytes_used, allocations, in_flight, .. } = device.stats();
    (bytes_used, allocations, in_flight)
}
pub fn assert_back_at(device: &Device, base: (u64, u64, u64)) {
    for _ in 0..1000 {
        if holdings(device) == base {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(holdings(device), base);
}
pub fn devices() -> Vec<Device> {
    let mut all = vec![Device::host().unwrap()];
    if std::env::var_os("WINDLASS_TEST_DEVICE").is_some() {
        all.push(Device::builder().cuda(0).open().unwrap());
    }
    all
}
pub fn host() -> Device {
    Device::host().unwrap()
}
pub fn is_host(d: &Device) -> bool {
    d.kind() == windlass::DeviceKind::Host
}
pub const LONG: std::time::Duration = std::time::Duration::from_secs(60);
pub fn down<T: windlass::Element>(device: &Device, b: &windlass::DeviceBuffer<T>) -> Vec<T> {
    device.to_vec(b).unwrap()
}
