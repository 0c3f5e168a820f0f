//! The name of the CPU and the size of the memory.

/// This machine's memory in bytes; `i64::MAX` if the system does not report it.
pub(crate) fn total_memory() -> u64 {
    let kib = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("MemTotal:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    kib.map_or(i64::MAX as u64, |kib| kib.saturating_mul(1024))
}

/// The processor's product name.
#[cfg(feature = "host")]
pub(crate) fn processor_name() -> String {
    std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|l| l.starts_with("model name"))?.to_string();
            line.split_once(':').map(|(_, name)| name.trim().to_string())
        })
        .unwrap_or_else(|| std::env::consts::ARCH.to_string())
}
