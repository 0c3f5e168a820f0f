//! Sounds: read from WAV files, or made.

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use std::error::Error;
use std::f64::consts::TAU;
use std::io::{Cursor, Read};

/// Of one channel, between -1 and 1.
pub(crate) struct Sound {
    pub(crate) samples: Vec<f32>,
    pub(crate) rate: u32,
}

/// All channels of a WAV file mixed into one.
pub(crate) fn read<R: Read>(mut file: WavReader<R>) -> Result<Sound, Box<dyn Error>> {
    let WavSpec { channels, sample_rate: rate, bits_per_sample, sample_format } = file.spec();
    let all: Vec<f32> = match sample_format {
        SampleFormat::Float => file.samples::<f32>().collect::<Result<_, _>>()?,
        SampleFormat::Int => {
            let scale = 2f32.powi(1 - i32::from(bits_per_sample));
            file.samples::<i32>().map(|sample| Ok(sample? as f32 * scale)).collect::<Result<_, hound::Error>>()?
        }
    };
    let channels = usize::from(channels.max(1));
    let samples: Vec<f32> = all.chunks(channels).map(|each| each.iter().sum::<f32>() / channels as f32).collect();
    if samples.is_empty() || rate == 0 {
        return Err("the file contains no sound".into());
    }
    Ok(Sound { samples, rate })
}

const RATE: u32 = 16_000;
const SECONDS: f64 = 4.0;

/// The frequency of the rising tone.
pub(crate) fn rising(seconds: f64) -> f64 {
    300.0 + 6500.0 * seconds / SECONDS
}

/// A tone that rises, two that stay and are softer, and a click each second: written as a WAV file and read again.
pub(crate) fn made() -> Result<Sound, Box<dyn Error>> {
    let spec = WavSpec { channels: 1, sample_rate: RATE, bits_per_sample: 16, sample_format: SampleFormat::Int };
    let mut file = Cursor::new(Vec::new());
    let mut writer = WavWriter::new(&mut file, spec)?;
    for i in 0..(SECONDS * f64::from(RATE)) as u32 {
        let t = f64::from(i) / f64::from(RATE);
        // The phase of the rising tone is the integral of its frequency.
        let rise = (TAU * (300.0 * t + 6500.0 * t * t / (2.0 * SECONDS))).sin();
        let stay = (TAU * 1000.0 * t).sin() + (TAU * 3000.0 * t).sin();
        let click = if i % RATE == RATE / 2 { 0.6 } else { 0.0 };
        let sample = 0.5 * rise + 0.02 * stay + click;
        writer.write_sample((sample.clamp(-1.0, 1.0) * 32767.0) as i16)?;
    }
    writer.finalize()?;
    file.set_position(0);
    read(WavReader::new(file)?)
}
