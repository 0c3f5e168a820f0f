//! What windlass costs beside the calls it makes, on a GPU: `cargo bench --bench gpu`.
//!
//! Every row runs ours and the raw calls of the driver or of cuBLAS in the same process, in turn (A B, B A, ...), on
//! random data, and checks what was computed. That is why this is no criterion benchmark: criterion measures one
//! function after the other, and on a GPU clocks and neighbours move more between two such runs than the library costs.
//! Ours run on a thread where no CUDA context is current, as a program's own threads are.
//!
//! ```text
//! gpu [--out FILE] [--only NAME] [--quick] [--tiny]
//!   --out FILE    also writes the table there, tab-separated
//!   --only NAME   that topic alone; else only rows (or topics) whose name contains NAME
//!   --quick       an eighth of the rounds
//!   --tiny        sizes that a simulated device can follow; the numbers mean nothing
//! ```
//!
//! Without a GPU it says so and ends. The exit code is 1 when an answer was wrong or a topic failed, not when a target
//! was missed. Where there is no Rust: `cargo bench --bench gpu --profile bundle --no-run` makes a program to carry.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot run should stop")]
#![expect(clippy::panic, clippy::indexing_slicing, reason = "as above")]

mod alloc;
mod copies;
mod enqueue;
mod fft;
mod functions;
mod gemm;
mod harness;
mod level3;
mod lt;
mod maps;
mod neighbours;
mod ops;
mod program;
mod random;
mod raw;
mod raw_rows;
mod reductions;
mod rng;
mod round_trip;
mod scalar;
mod solver;
mod sparse;
mod table;
mod threads;
mod waits;

use harness::Bench;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use windlass::Device;

/// A topic: its name, whether it needs cuBLAS, its rows.
type Topic = (&'static str, bool, fn(&mut Bench));

const TOPICS: &[Topic] = &[
    ("enqueue", false, enqueue::run),
    ("program", false, program::run),
    ("round trip", false, round_trip::run),
    ("waits", false, waits::run),
    ("alloc", false, alloc::run),
    ("scalar", true, scalar::run),
    ("threads", true, threads::run),
    ("copies", false, copies::run),
    ("gemm", true, gemm::run),
    ("matmul", true, lt::run),
    ("level3", true, level3::run),
    ("fft", false, fft::run),
    ("random", false, rng::run),
    ("maps", false, maps::run),
    ("reductions", false, reductions::run),
    ("solver", false, solver::run),
    ("sparse", false, sparse::run),
    ("neighbours", false, neighbours::run),
    ("raw", true, raw_rows::run),
];

struct Args {
    out: Option<String>,
    only: Option<String>,
    quick: bool,
    tiny: bool,
}

/// `cargo bench` adds `--bench`, which says nothing here.
fn args() -> Result<Args, String> {
    let mut args = Args { out: None, only: None, quick: false, tiny: false };
    let mut given = std::env::args().skip(1);
    while let Some(arg) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--out" => args.out = Some(value()?),
            "--only" => args.only = Some(value()?),
            "--quick" => args.quick = true,
            "--tiny" => (args.tiny, args.quick) = (true, true),
            "--bench" => {}
            other => return Err(format!("unknown argument {other}; known are --out, --only, --quick and --tiny")),
        }
    }
    Ok(args)
}

fn main() -> ExitCode {
    let args = match args() {
        Ok(args) => args,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let start = Instant::now();
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(error) => {
            println!("no GPU, so nothing is measured: {error}");
            return ExitCode::SUCCESS;
        }
    };
    let raw = raw::Raw::open(&CString::new(ops::PTX).unwrap());
    let blas = warm_blas(&device);
    let head = describe(&device, &raw, start);
    head.iter().for_each(|line| println!("{line}"));

    let Args { out, only, quick, tiny } = args;
    let rows = Vec::new();
    let mut bench = Bench { device, raw, quick, tiny, only, rows, topic: "", context_current: false };
    let mut failed = Vec::new();
    let alone = TOPICS.iter().map(|&(topic, ..)| topic).find(|topic| bench.only.as_deref() == Some(topic));
    for &(topic, needs_blas, run) in TOPICS {
        if alone.is_some_and(|alone| alone != topic) {
            continue;
        }
        bench.topic = topic;
        println!("\n{topic:<60} {:>10} {:>10}", "ours", "raw");
        if needs_blas && !blas {
            println!("  not measured: no cuBLAS");
            continue;
        }
        bench.raw.enter();
        bench.context_current = false;
        if catch_unwind(AssertUnwindSafe(|| run(&mut bench))).is_err() {
            failed.push(topic);
            continue;
        }
        bench.raw.enter();
        bench.raw.settle();
    }
    let (goals, met) = bench.score();
    println!("\n{met} of {goals} targets met; {:.1} s in all", start.elapsed().as_secs_f64());
    let missed = bench.missed();
    if !missed.is_empty() {
        println!("missed: {}", missed.join("; "));
    }
    if let Some(Err(error)) = out.map(|file| std::fs::write(file, bench.tsv(&head))) {
        eprintln!("the table was not written: {error}");
        failed.push("--out");
    }
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        eprintln!("FAILED: {}", failed.join(", "));
        ExitCode::FAILURE
    }
}

/// Opens cuBLAS through windlass, which looks in more places than the raw side can. False when there is none.
fn warm_blas(device: &Device) -> bool {
    let dot = || -> windlass::Result<f32> {
        let (x, y) = (device.upload([1f32, 2.0])?.into_output(), device.upload([3f32, 4.0])?.into_output());
        device.blas().dot(&x, &y)?.await_result()
    };
    match dot() {
        Ok(dot) => {
            assert_eq!(dot, 11.0);
            true
        }
        Err(error) => {
            println!("{error}");
            false
        }
    }
}

/// What the numbers were measured on.
fn describe(device: &Device, raw: &raw::Raw, start: Instant) -> Vec<String> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = date(seconds / 86_400);
    let (driver, flags) = raw.about();
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let command: Vec<String> = std::env::args().skip(1).collect();
    vec![
        format!("date: {year}-{month:02}-{day:02}"),
        format!("machine: {}, CUDA {driver} in the driver, {processors} CPU threads", device.info().name),
        format!("primary context flags: {flags}; opening took {:.2} s", start.elapsed().as_secs_f64()),
        format!("windlass {}, command: gpu {}", env!("CARGO_PKG_VERSION"), command.join(" ")),
    ]
}

/// The civil date of a day since 1970 (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn date(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    (year, month, of_year - (153 * shifted + 2) / 5 + 1)
}
