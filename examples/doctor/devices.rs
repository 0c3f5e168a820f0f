//! Every device: what it is, whether it works, how fast it answers.

use crate::measure::{Rates, copy_rates, round_trip, self_test};
use windlass::{Device, DeviceInfo, Error};

/// What the devices' examination ends with.
#[derive(Default)]
pub(crate) struct Findings {
    /// Self-tests that failed.
    pub(crate) failed: usize,
    /// What would help.
    pub(crate) advice: Vec<String>,
}

/// Bytes of the copies that are timed, with the number of times.
const COPIES: [(usize, usize); 3] = [(4 << 10, 101), (1 << 20, 21), (64 << 20, 5)];

/// Prints a paragraph for each GPU and for the host.
pub(crate) fn examine() -> Findings {
    let mut findings = Findings::default();
    gpus(&mut findings);
    match Device::host() {
        Ok(device) => one(&device, &mut findings),
        Err(error) => absent("host", &error, &mut findings),
    }
    findings
}

/// Asks for one ordinal after the other, so that a GPU that cannot be opened is reported and does not hide the next.
fn gpus(findings: &mut Findings) {
    let mut refused_in_a_row = 0;
    for ordinal in 0.. {
        match Device::cuda(ordinal) {
            Ok(device) => {
                refused_in_a_row = 0;
                one(&device, findings);
            }
            Err(Error::InvalidArgument { .. }) if ordinal > 0 => return, // there are no more
            Err(error) => {
                absent(&format!("cuda:{ordinal}"), &error, findings);
                refused_in_a_row += 1;
                let of_the_machine = matches!(
                    error,
                    Error::InvalidArgument { .. } | Error::LibraryMissing { .. } | Error::Unsupported { .. }
                );
                if of_the_machine || refused_in_a_row == 2 {
                    return;
                }
            }
        }
    }
}

fn absent(name: &str, error: &Error, findings: &mut Findings) {
    let why = match error {
        Error::LibraryMissing { library, .. } => format!("{library} is missing"),
        other => other.to_string(),
    };
    println!("  {name:<9} not available: {why}");
    match error {
        Error::LibraryMissing { library, help, .. } => findings.advice.push(format!("{library}: {help}")),
        Error::DeviceLost { remedy, .. } => findings.advice.push(format!("{name}: {remedy}")),
        Error::InvalidArgument { .. } => {
            findings.advice.push("no GPU is seen: check `nvidia-smi` and CUDA_VISIBLE_DEVICES".into());
        }
        Error::Unsupported { .. } => {} // said where the libraries are, or wanted so
        other => findings.advice.push(format!("{name} cannot be opened: {other}; check `nvidia-smi`")),
    }
}

fn one(device: &Device, findings: &mut Findings) {
    println!("  {:<9} {}", device.name(), device.info().name);
    for line in details(device.info()) {
        println!("            {line}");
    }
    if let Some(line) = libraries(device) {
        println!("            {line}");
    }
    if let Ok(memory) = device.memory() {
        println!("            {} of memory, {} free", bytes(memory.total), bytes(memory.free));
    }
    match self_test(device) {
        Ok(()) => println!("            self-test: right (upload, product, download)"),
        Err(error) => {
            println!("            self-test: FAILED, {error}");
            findings.failed += 1;
            findings.advice.push(match error.downcast_ref() {
                Some(Error::LibraryMissing { library, help, .. }) => format!("{library}: {help}"),
                _ => format!("{} fails its self-test: do not trust its results", device.name()),
            });
        }
    }
    match round_trip(device) {
        Ok(time) => println!("            dispatch and wait: {time:.1?}"),
        Err(error) => println!("            dispatch and wait: {error}"),
    }
    for (size, times) in COPIES {
        let label = bytes(size as u64);
        match copy_rates(device, size, times) {
            Ok(Rates { up, down }) => println!("            copy {label:>7}: {up:>6.2} GB/s up, {down:>6.2} GB/s down"),
            Err(error) => println!("            copy {label:>7}: {error}"),
        }
    }
}

/// What a GPU tells of itself beyond its name; of the CPU, its threads.
fn details(info: &DeviceInfo) -> Vec<String> {
    let mut lines = Vec::new();
    match info.compute_capability {
        Some((major, minor)) => lines.push(format!(
            "compute capability {major}.{minor}, {} multiprocessors{}",
            info.processors,
            if info.shared_by_mps { ", shared through MPS" } else { "" }
        )),
        None => lines.push(format!("{} threads", info.processors)),
    }
    let uuid = info.uuid_text();
    let pci = info.pci.as_ref().map(|pci| format!("PCI {pci}"));
    let driver = info.driver_version.map(|v| format!("driver for CUDA {}.{}", v / 1000, v % 1000 / 10));
    let identity: Vec<String> = [uuid, pci, driver].into_iter().flatten().collect();
    if !identity.is_empty() {
        lines.push(identity.join(", "));
    }
    lines
}

/// What it works with: `cuBLAS 13.1.0, cuBLASLt 13.1.0, NVRTC 13.0`. What is missing is told elsewhere.
#[cfg(feature = "cuda")]
fn libraries(device: &Device) -> Option<String> {
    use windlass::loader::Library;
    let asked = Library::ALL.iter().filter(|library| library.is_enabled() && **library != Library::Driver);
    let told = asked.filter_map(|library| Some(format!("{library} {}", device.library_version(*library).ok()??)));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("works with {}", told.join(", ")))
}

#[cfg(not(feature = "cuda"))]
fn libraries(_: &Device) -> Option<String> {
    None
}

/// `64 MiB`, `139.8 GiB`.
fn bytes(n: u64) -> String {
    match n {
        0..0x10_0000 => format!("{} KiB", n >> 10),
        0x10_0000..0x4000_0000 => format!("{} MiB", n >> 20),
        _ => format!("{:.1} GiB", n as f64 / (1u64 << 30) as f64),
    }
}
