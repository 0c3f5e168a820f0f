//! Which files of a folder are most alike? All of them are compared with all others on a GPU, or on the CPU.
//!
//! ```text
//! cargo run --release --example quickstart            # this crate's own sources
//! cargo run --release --example quickstart -- FOLDER
//! WINDLASS_DEVICE=host cargo run --release --example quickstart -- FOLDER
//! ```
//!
//! `files.rs` reads, `vectors.rs` makes vectors of texts, and **`alike.rs` is what uses this library**: it uploads
//! blocks of vectors, multiplies them tile by tile from rayon's workers, and downloads the cosines.

mod alike;
mod files;
mod report;
mod vectors;

use alike::Vectors;
use rayon::prelude::*;
use report::Stopwatch;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use vectors::{DIMENSIONS, Rarity, Terms};
use windlass::{Device, Gemm};

/// Pairs that are printed.
const PAIRS: usize = 8;

fn main() -> ExitCode {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quickstart: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let folder = folder()?;
    let mut time = Stopwatch::start();
    let device = open()?;
    time.lap("open", |_| device.name().to_string());
    report::device(&device)?;

    let found = files::read(&folder).map_err(|error| format!("cannot read `{}`: {error}", folder.display()))?;
    time.lap("read", |_| report::bytes(found.files.iter().map(|file| file.text.len() as u64).sum()));
    report::found(&folder, &found)?;
    if found.files.len() < 2 {
        println!("  Nothing to compare: give a folder with two text files or more.");
        return Ok(());
    }

    // A few blocks at least, so that there is something to do side by side; large ones, where there is enough.
    let rows = (found.files.len() / 8).clamp(64, 1024);
    let (blocks, terms) = vectorise(&found.files, rows);
    time.lap("vectorise", |_| format!("{terms} words and pairs of words, into {DIMENSIONS} dimensions"));

    let vectors = Vectors::upload(&device, blocks, rows)?;
    time.lap("upload", |_| report::bytes((found.files.len() * DIMENSIONS * size_of::<f32>()) as u64));

    let compared = alike::compare(&device, &vectors, PAIRS)?;
    time.lap("compare", |taken| report::work(&compared, taken));
    report::pairs(&found.files, &compared.pairs)?;
    report::times(&time, &compared)?;
    Ok(())
}

/// The folder to look at: the argument, or this crate's sources.
fn folder() -> Result<PathBuf, Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    match (args.next(), args.next()) {
        (None, _) => Ok(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")),
        (Some(arg), None) if !arg.to_string_lossy().starts_with('-') => Ok(arg.into()),
        _ => Err("usage: quickstart [FOLDER]".into()),
    }
}

/// Opens the device and makes one small product: the first one loads libraries, which is not what is to be timed.
fn open() -> windlass::Result<Device> {
    let device = Device::from_env()?;
    let one = device.upload([1.0f32])?.into_output();
    let product = device.blas().gemm(Gemm::new(1, 1, 1), &one, &one, device.uninit(1)?)?.into_output();
    device.download(&product)?.await_result()?;
    Ok(device)
}

/// Blocks of `rows` vectors, and how many features they stand for.
fn vectorise(files: &[files::TextFile], rows: usize) -> (Vec<Vec<f32>>, usize) {
    let terms: Vec<Terms> = files.par_iter().map(|file| Terms::of(&file.text)).collect();
    let rarity = Rarity::among(&terms);
    let block = |texts: &[Terms]| {
        let mut block = vec![0.0; texts.len() * DIMENSIONS];
        block.chunks_exact_mut(DIMENSIONS).zip(texts).for_each(|(row, terms)| rarity.weigh(terms, row));
        block
    };
    (terms.par_chunks(rows).map(block).collect(), terms.iter().map(Terms::len).sum())
}
