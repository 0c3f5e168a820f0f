//! A picture of a sound: time to the right, frequency up, loudness as brightness.
//!
//! ```text
//! cargo run --release -p windlass-more-examples --example spectrum # a sound of its own, into target/spectrum.png
//! cargo run --release -p windlass-more-examples --example spectrum -- song.wav song.png
//! WINDLASS_DEVICE=host cargo run --release -p windlass-more-examples --example spectrum
//! ```
//!
//! The sound goes to the device once. Short-time Fourier transforms of parts of it (`FftSpec::stft`) are in flight while their
//! predecessors are drawn. `sound.rs` reads WAV files and makes the sound of the first form, whose rising tone the program
//! then looks for in the spectra.

#[path = "../output.rs"]
mod output;
mod picture;
mod sound;

use indicatif::{ProgressBar, ProgressStyle};
use std::collections::VecDeque;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use windlass::fft::{Edges, Stft, Window, window};
use windlass::{Complex, Device, PendingDispatch, Rejected, Verdict};

/// Spectra on their way to the host.
type Coming = PendingDispatch<Vec<Complex<f32>>, Verdict>;

/// Points of a frame, how far frames are apart, and how many are one piece of work.
const FRAME: usize = 1024;
const HOP: usize = 256;
const TOGETHER: usize = 128;
/// Pieces in flight.
const WINDOW: usize = 4;

fn main() -> ExitCode {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spectrum: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let first = arguments.next();
    let named = first.as_ref().filter(|file| file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("wav")));
    let file = if named.is_some() { arguments.next() } else { first.clone() };
    let file = output::file(file, "spectrum.png")?;
    let sound = match named {
        Some(file) => {
            sound::read(hound::WavReader::open(file).map_err(|error| format!("{}: {error}", file.display()))?)?
        }
        None => sound::made()?,
    };
    let seconds = sound.samples.len() as f64 / f64::from(sound.rate);
    let frames = (sound.samples.len().max(FRAME) - FRAME) / HOP + 1;

    let device = Device::from_env()?;
    println!("{} ({}): {seconds:.2} s at {} Hz, {frames} frames", device.name(), device.info().name, sound.rate);
    let mut samples = sound.samples;
    samples.resize(samples.len().max(FRAME), 0.0);
    let samples = device.buffer(samples)?;
    let weights = window(Window::Hann, FRAME)?.into_iter().map(|weight| weight as f32).collect::<Vec<_>>();
    let weights = device.buffer(weights)?;

    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} frames, {per_sec}")?;
    let bar = ProgressBar::new(frames as u64).with_style(style);
    let mut picture = picture::Picture::new(frames, FRAME / 2 + 1);
    let mut flight: VecDeque<(usize, Coming)> = VecDeque::new();
    let mut finish = |(first, pending): (usize, Coming)| -> windlass::Result<()> {
        let spectra = pending.await_result()?;
        for (i, spectrum) in spectra.chunks(FRAME / 2 + 1).enumerate() {
            picture.column(first + i, spectrum);
        }
        bar.inc((spectra.len() / (FRAME / 2 + 1)) as u64);
        Ok(())
    };
    for first in (0..frames).step_by(TOGETHER) {
        let count = TOGETHER.min(frames - first);
        let (begin, len) = (first * HOP, (count - 1) * HOP + FRAME);
        let spec = Stft::new(FRAME).hop(HOP).edges(Edges::Inside);
        let part = samples.as_in().slice(begin..begin + len)?;
        let spectra = device.uninit([count, spec.bins()])?;
        let spectra = device.fft().stft(&spec, part, &weights, spectra).map_err(Rejected::into_error)?;
        flight.push_back((first, device.download(&spectra)?));
        if flight.len() == WINDOW
            && let Some(oldest) = flight.pop_front()
        {
            finish(oldest)?;
        }
    }
    flight.into_iter().try_for_each(&mut finish)?;
    bar.finish();

    let top = f64::from(sound.rate) / 2.0;
    picture.write(&file, seconds, top)?;
    println!("written to {}", file.display());
    if named.is_none() {
        // The rising tone is where it was put, to a point of a spectrum, but for the ends and where it crosses others.
        let off = (frames / 8..frames * 7 / 8).filter(|frame| {
            let middle = (frame * HOP + FRAME / 2) as f64 / f64::from(sound.rate);
            let want = sound::rising(middle) * FRAME as f64 / f64::from(sound.rate);
            (picture.loudest(*frame) as f64 - want).abs() > 2.0
        });
        let off = off.count();
        println!("the rising tone is in the wrong place in {off} of {frames} frames");
        if off > frames / 10 {
            return Err("the spectra do not show the tone of the sound".into());
        }
    }
    Ok(())
}
