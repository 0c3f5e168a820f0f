//! Residuals over iterations, on a logarithmic scale.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use windlass::sparse::IterationProgress;

const WIDTH: usize = 800;
const HEIGHT: usize = 500;
const COLOURS: [[u8; 3]; 4] = [[90, 90, 90], [31, 119, 180], [44, 160, 44], [214, 39, 40]];

/// Writes a curve for each history; a second engine's curves are drawn over the first's in the same colours.
pub(crate) fn write(file: &Path, curves: &[Vec<IterationProgress>], least: f64) -> Result<(), Box<dyn Error>> {
    let mut pixels = vec![255u8; WIDTH * HEIGHT * 3];
    let mut dot = |x: usize, y: usize, colour: [u8; 3]| {
        let at = (y.min(HEIGHT - 1) * WIDTH + x.min(WIDTH - 1)) * 3;
        if let Some(pixel) = pixels.get_mut(at..at + 3) {
            pixel.copy_from_slice(&colour);
        }
    };
    let last = curves.iter().filter_map(|curve| curve.last()).map(|at| at.iteration).max().unwrap_or(1).max(1);
    // From 10 at the top to a tenth of the tolerance at the bottom.
    let decades = 2.0 - least.log10();
    let height = |residual: f64| ((1.0 - residual.max(1e-300).log10()) / decades * HEIGHT as f64).max(0.0) as usize;
    for decade in 0..decades as i32 {
        (0..WIDTH).for_each(|x| dot(x, height(10f64.powi(-decade)), [225, 225, 225]));
    }
    for (curve, colour) in curves.iter().zip(COLOURS.into_iter().cycle()) {
        for (from, to) in curve.iter().zip(curve.iter().skip(1)) {
            let place = |at: &IterationProgress| (at.iteration * (WIDTH - 1) / last, height(at.residual));
            let ((x0, y0), (x1, y1)) = (place(from), place(to));
            let steps = x0.abs_diff(x1).max(y0.abs_diff(y1)).max(1);
            let between = |a: usize, b: usize, step: usize| (a * (steps - step) + b * step) / steps;
            for step in 0..=steps {
                let (x, y) = (between(x0, x1, step), between(y0, y1, step));
                [(0, 0), (0, 1), (1, 0)].into_iter().for_each(|(dx, dy)| dot(x + dx, y + dy, colour));
            }
        }
    }
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(file)?), WIDTH as u32, HEIGHT as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    Ok(encoder.write_header()?.write_image_data(&pixels)?)
}
