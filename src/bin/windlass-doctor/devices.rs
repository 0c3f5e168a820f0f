//! Every device: what it is, whether it works, how fast it answers.

use crate::Findings;
use crate::json::Json;
use crate::measure::{Rates, copy_rates, round_trip, self_test};
use windlass::{Device, DeviceInfo, DeviceKind, Error};

/// Bytes of the copies that are timed, with the number of times.
const COPIES: [(usize, usize); 3] = [(4 << 10, 101), (1 << 20, 21), (64 << 20, 5)];

/// A paragraph for each GPU and for the host.
pub(crate) fn examine(findings: &mut Findings) {
    gpus(findings);
    match Device::host() {
        Ok(device) => one(&device, findings),
        Err(error) => absent("host", &error, findings),
    }
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
    findings.say(format!("  {name:<9} not available: {why}"));
    findings.devices.push(Json::Object(vec![("name", name.into()), ("error", error.to_string().into())]));
    match error {
        Error::LibraryMissing { library, help, .. } => findings.advise(format!("{library}: {help}")),
        Error::DeviceLost { remedy, .. } => findings.advise(format!("{name}: {remedy}")),
        Error::InvalidArgument { .. } => {
            findings.advise("no GPU is visible: check `nvidia-smi` and CUDA_VISIBLE_DEVICES".into());
        }
        Error::Unsupported { .. } => {} // said where the libraries are, or wanted so
        other => findings.advise(format!("{name} cannot be opened: {other}; check `nvidia-smi`")),
    }
}

fn one(device: &Device, findings: &mut Findings) {
    let model = device.info().name.clone();
    findings.say(format!("  {:<9} {model}", device.name()));
    let mut lines = details(&device.info());
    lines.extend(libraries(device));
    if let Ok(memory) = device.memory() {
        lines.push(format!("{} of memory, {} free", bytes(memory.total), bytes(memory.free)));
    }
    match self_test(device) {
        Ok(()) => lines.push("self-test: passed (upload, product, download)".into()),
        Err(error) => {
            lines.push(format!("self-test: FAILED, {error}"));
            findings.failed += 1;
            findings.advise(match error.downcast_ref() {
                Some(Error::LibraryMissing { library, help, .. }) => format!("{library}: {help}"),
                _ => format!("{} fails its self-test: do not trust its results", device.name()),
            });
        }
    }
    lines.push(match round_trip(device) {
        Ok(time) => format!("dispatch and wait: {time:.1?}"),
        Err(error) => format!("dispatch and wait: {error}"),
    });
    for (size, times) in COPIES {
        let label = bytes(size as u64);
        lines.push(match copy_rates(device, size, times) {
            Ok(Rates { up, down }) => format!("copy {label:>7}: {up:>6.2} GB/s up, {down:>6.2} GB/s down"),
            Err(error) => format!("copy {label:>7}: {error}"),
        });
    }
    lines.push(isolated(device, findings));
    lines.iter().for_each(|line| findings.say(format!("            {line}")));
    let name = device.name().to_string().into();
    findings.devices.push(Json::Object(vec![("name", name), ("model", model.into()), ("findings", lines.into())]));
}

/// Whether a worker process can have the same device.
fn isolated(device: &Device, findings: &mut Findings) -> String {
    let builder = match device.name().strip_prefix("cuda:").and_then(|n| n.parse().ok()) {
        Some(ordinal) if device.kind() == DeviceKind::Cuda => Device::builder().cuda(ordinal),
        _ => Device::builder().host(),
    };
    let begin = std::time::Instant::now();
    match builder.isolated().open() {
        Ok(isolated) => {
            let pid = isolated.worker_pid().unwrap_or_default();
            format!("isolated: works, in process {pid}, opened in {:.1?}", begin.elapsed())
        }
        Err(error @ Error::Unsupported { .. }) => format!("isolated: {error}"),
        Err(error) => {
            findings.advise(format!("{} cannot be isolated: {error}", device.name()));
            format!("isolated: FAILED, {error}")
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
