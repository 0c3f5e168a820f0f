//! Images side by side as one PNG, in grey.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Writes square images of `size x size` numbers in rows of `across`, each stretched over all greys. A pixel becomes a square of
/// `zoom x zoom`.
pub(crate) fn write(
    file: &Path,
    images: &[&[f32]],
    size: usize,
    across: usize,
    zoom: usize,
) -> Result<(), Box<dyn Error>> {
    let (cell, down) = (size * zoom + 2, images.len().div_ceil(across));
    let (width, height) = (cell * across + 2, cell * down + 2);
    let mut pixels = vec![32u8; width * height];
    for (k, image) in images.iter().enumerate() {
        let (left, top) = (2 + k % across * cell, 2 + k / across * cell);
        let (low, high) = image.iter().fold((f32::MAX, f32::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
        let grey = |x: f32| ((x - low) / (high - low).max(f32::MIN_POSITIVE) * 255.0) as u8;
        for y in 0..size * zoom {
            let row = image.iter().skip(y / zoom * size).take(size);
            let line = pixels.iter_mut().skip((top + y) * width + left).take(size * zoom);
            let stretched = row.flat_map(|x| std::iter::repeat_n(grey(*x), zoom));
            line.zip(stretched).for_each(|(pixel, grey)| *pixel = grey);
        }
    }
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(file)?), width.try_into()?, height.try_into()?);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    Ok(encoder.write_header()?.write_image_data(&pixels)?)
}
