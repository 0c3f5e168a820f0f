//! Examines a machine: which CUDA libraries are found, which devices work and how fast, and what to do about the rest.
//!
//! ```text
//! cargo run --release --example doctor            # --verbose lists every place that was searched
//! ```
//!
//! Nothing that is missing is an error here; the exit code is 1 when a device that is there fails its self-test.

mod devices;
#[cfg(feature = "cuda")]
mod libraries;
mod measure;

use devices::Findings;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let verbose = std::env::args().skip(1).any(|arg| arg == "--verbose" || arg == "-v");
    println!("windlass {} on {} {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);

    println!("\nCUDA libraries");
    let mut advice = libraries(verbose);

    println!("\nDevices");
    let Findings { failed, advice: more } = devices::examine();
    advice.extend(more);

    println!("\nWhat to do");
    if advice.is_empty() {
        println!("  nothing: all that this build can use is there and works");
    }
    // The same advice often helps against several findings.
    let mut said: Vec<String> = Vec::new();
    for line in advice {
        if !said.iter().any(|before| before.starts_with(&line)) {
            println!("  - {line}");
            said.push(line);
        }
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} self-tests failed").into()) }
}

#[cfg(feature = "cuda")]
fn libraries(verbose: bool) -> Vec<String> {
    libraries::examine(verbose)
}

#[cfg(not(feature = "cuda"))]
fn libraries(_verbose: bool) -> Vec<String> {
    println!("  this build has no CUDA engine and looks for none");
    vec!["to use NVIDIA GPUs, build windlass with the feature `cuda` (the default features have it)".into()]
}
