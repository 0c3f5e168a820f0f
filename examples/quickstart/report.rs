//! What is printed.

use crate::alike::{Compared, Pair};
use crate::files::{Found, TextFile};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use windlass::Device;

/// Characters of a file name that are shown; of a longer one, the end.
const NAME: usize = 44;

/// Times one phase after the other.
pub(crate) struct Stopwatch {
    start: Instant,
    last: Instant,
    laps: Vec<(&'static str, Duration, String)>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        Stopwatch { start: now, last: now, laps: Vec::new() }
    }

    /// Ends a phase; `what` tells what was done in its time.
    pub(crate) fn lap(&mut self, name: &'static str, what: impl FnOnce(Duration) -> String) {
        let taken = self.last.elapsed();
        self.laps.push((name, taken, what(taken)));
        self.last = Instant::now();
    }
}

pub(crate) fn device(device: &Device) -> io::Result<()> {
    let info = device.info();
    writeln!(out(), "windlass on {}, {} with {}", device.name(), info.name.trim(), bytes(info.total_memory))
}

pub(crate) fn found(folder: &Path, found: &Found) -> io::Result<()> {
    writeln!(out(), "\n  {} text files in {}", found.files.len(), folder.display())?;
    let count = |n: usize, what: &str| (n > 0).then(|| format!("{n} {what}"));
    let first = found.unreadable.first().map_or("", |first| first);
    let skipped: Vec<String> = [
        count(found.not_text, "not text"),
        count(found.too_long, "too long"),
        count(found.unreadable.len(), &format!("unreadable ({first})")),
        found.cut.then(|| "the rest, because there are too many files".to_string()),
    ]
    .into_iter()
    .flatten()
    .collect();
    if skipped.is_empty() { Ok(()) } else { writeln!(out(), "  skipped: {}", skipped.join(", ")) }
}

/// The most alike pairs; `=` where the texts are the same to the last byte.
pub(crate) fn pairs(files: &[TextFile], pairs: &[Pair]) -> io::Result<()> {
    let mut lines = Vec::new();
    for pair in pairs {
        let (a, b) = pair.texts();
        let (Some(a), Some(b)) = (files.get(a), files.get(b)) else { continue };
        let sign = if a.text == b.text { '=' } else { '~' };
        lines.push((pair.cosine(), sign, shorten(&a.name), shorten(&b.name)));
    }
    let width = lines.iter().map(|line| line.2.chars().count()).max().unwrap_or(0);
    writeln!(out(), "\n  most alike")?;
    for (cosine, sign, a, b) in lines {
        writeln!(out(), "  {cosine:.3}  {a:width$}  {sign}  {b}")?;
    }
    Ok(())
}

pub(crate) fn work(compared: &Compared, taken: Duration) -> String {
    let gflop = compared.flops as f64 * 1e-9;
    format!("{} tiles, {gflop:.2} GFLOP: {:.1} GFLOP/s", compared.tiles, gflop / taken.as_secs_f64())
}

/// The phases, and what the device did in the last one.
pub(crate) fn times(time: &Stopwatch, compared: &Compared) -> io::Result<()> {
    writeln!(out(), "\n  time")?;
    for (name, taken, what) in &time.laps {
        line(name, *taken, what)?;
    }
    line("  gemm", compared.multiplying, "of the device's time")?;
    line("  download", compared.downloading, &format!("of the device's time, {}", bytes(compared.bytes)))?;
    line("all", time.start.elapsed(), "")
}

fn line(name: &str, time: Duration, what: &str) -> io::Result<()> {
    let text = format!("  {name:<11} {:>8.1} ms   {what}", time.as_secs_f64() * 1e3);
    writeln!(out(), "{}", text.trim_end())
}

/// `612 KiB`, `139.8 GiB`.
pub(crate) fn bytes(n: u64) -> String {
    match n {
        0..0x400 => format!("{n} bytes"),
        0x400..0x10_0000 => format!("{} KiB", n >> 10),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", n as f64 / (1u64 << 20) as f64),
        _ => format!("{:.1} GiB", n as f64 / (1u64 << 30) as f64),
    }
}

fn shorten(name: &str) -> String {
    let length = name.chars().count();
    if length <= NAME {
        return name.to_string();
    }
    let end: String = name.chars().skip(length + 1 - NAME).collect();
    format!("…{end}")
}

fn out() -> impl Write {
    io::stdout().lock()
}
