//! Examines a machine: which CUDA libraries are found, which devices work and how fast, and what to do about the rest.
//!
//! ```text
//! cargo install windlass # with `--features full` it looks for the libraries of all features
//! windlass-doctor        # --verbose lists every place that was searched
//! windlass-doctor --json # the same as one JSON object, for bug reports
//! ```
//!
//! In the source: `cargo run --release -p windlass --bin windlass-doctor -- --verbose`.
//!
//! Nothing that is missing is an error here; the exit code is 1 when a device that is there fails its self-test.

mod devices;
mod json;
#[cfg(feature = "cuda")]
mod libraries;
mod measure;

use json::Json;
use std::error::Error;

/// What was found so far.
#[derive(Default)]
pub(crate) struct Findings {
    /// Lines are printed as they come; not where JSON was asked for.
    quiet: bool,
    /// Libraries and devices, for JSON.
    libraries: Vec<Json>,
    devices: Vec<Json>,
    /// Self-tests that failed.
    failed: usize,
    /// What would help, each once.
    advice: Vec<String>,
}

impl Findings {
    pub(crate) fn say(&self, line: impl std::fmt::Display) {
        if !self.quiet {
            println!("{line}");
        }
    }

    /// The same advice often helps against several findings.
    pub(crate) fn advise(&mut self, line: String) {
        if !self.advice.iter().any(|before| before.starts_with(&line)) {
            self.advice.push(line);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    windlass::worker::init(); // the isolated tier is tried as well
    let asked = |names: &[&str]| std::env::args().skip(1).any(|arg| names.contains(&arg.as_str()));
    let (verbose, as_json) = (asked(&["--verbose", "-v"]), asked(&["--json"]));
    let mut findings = Findings { quiet: as_json, ..Findings::default() };
    let machine =
        format!("windlass {} on {} {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    findings.say(&machine);

    findings.say("\nCUDA libraries");
    libraries(verbose, &mut findings);

    findings.say("\nDevices");
    devices::examine(&mut findings);

    findings.say("\nWhat to do");
    if findings.advice.is_empty() {
        findings.say("  nothing: everything that this build can use is installed and works");
    }
    findings.advice.iter().for_each(|line| findings.say(format!("  - {line}")));
    let Findings { libraries, devices, failed, advice, .. } = findings;
    if as_json {
        let report = vec![
            ("machine", machine.into()),
            ("libraries", Json::List(libraries)),
            ("devices", Json::List(devices)),
            ("what_to_do", advice.into()),
        ];
        println!("{}", Json::Object(report));
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} self-tests failed").into()) }
}

#[cfg(feature = "cuda")]
fn libraries(verbose: bool, findings: &mut Findings) {
    libraries::examine(verbose, findings);
}

#[cfg(not(feature = "cuda"))]
fn libraries(_verbose: bool, findings: &mut Findings) {
    findings.say("  this build has no CUDA engine, so it does not search for CUDA libraries");
    findings.advise("to use NVIDIA GPUs, build windlass with the feature `cuda` (the default features have it)".into());
}
