//! Temperatures as colours: black, red, yellow, white.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

pub(crate) fn write(file: &Path, plate: &[f32], size: u32) -> Result<(), Box<dyn Error>> {
    // A square root shows what is nearly cold.
    let bright = |t: f32| t.clamp(0.0, 1.0).sqrt() * 3.0;
    let part = |t: f32, from: f32| ((t - from).clamp(0.0, 1.0) * 255.0) as u8;
    let pixels: Vec<u8> = plate.iter().flat_map(|t| [0.0, 1.0, 2.0].map(|from| part(bright(*t), from))).collect();
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(file)?), size, size);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    Ok(encoder.write_header()?.write_image_data(&pixels)?)
}
