//! A curve as a PNG, on a logarithmic scale with a line for each power of ten.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

const WIDTH: usize = 640;
const HEIGHT: usize = 320;
/// The powers of ten at the top and at the bottom.
const TOP: f32 = 1.0;
const BOTTOM: f32 = -4.0;

/// The row of a number.
fn row(y: f32) -> usize {
    let part = (TOP - y.max(f32::MIN_POSITIVE).log10()) / (TOP - BOTTOM);
    (part.clamp(0.0, 1.0) * (HEIGHT - 1) as f32) as usize
}

/// Draws the numbers from left to right.
pub(crate) fn write(file: &Path, all: &[f32]) -> Result<(), Box<dyn Error>> {
    let mut pixels = vec![255u8; WIDTH * HEIGHT];
    let mut dot = |x: usize, y: usize, grey: u8| {
        if let Some(pixel) = pixels.get_mut(y * WIDTH + x) {
            *pixel = grey;
        }
    };
    for power in BOTTOM as i32..=TOP as i32 {
        (0..WIDTH).for_each(|x| dot(x, row(10f32.powi(power)), 200));
    }
    let at = |x: usize| all.get(x * all.len() / WIDTH).copied().unwrap_or(f32::NAN);
    for x in 0..WIDTH {
        let (here, next) = (row(at(x)), row(at((x + 1).min(WIDTH - 1))));
        (here.min(next)..=here.max(next)).for_each(|y| dot(x, y, 0));
    }
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(file)?), WIDTH.try_into()?, HEIGHT.try_into()?);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    Ok(encoder.write_header()?.write_image_data(&pixels)?)
}
