//! Probabilities as a PNG, in grey: the square root of each, so that small ones are seen.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Writes numbers in rows of `across`, each as a square.
pub(crate) fn write(file: &Path, numbers: &[f64], across: usize) -> Result<(), Box<dyn Error>> {
    let zoom = (512 / across).max(1);
    let down = numbers.len().div_ceil(across);
    let most = numbers.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut pixels = Vec::with_capacity(numbers.len() * zoom * zoom);
    for row in numbers.chunks(across) {
        let line: Vec<u8> =
            row.iter().flat_map(|x| std::iter::repeat_n(((x / most).sqrt() * 255.0) as u8, zoom)).collect();
        (0..zoom).for_each(|_| pixels.extend_from_slice(&line));
    }
    let (width, height) = ((across * zoom).try_into()?, (down * zoom).try_into()?);
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(file)?), width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    Ok(encoder.write_header()?.write_image_data(&pixels)?)
}
