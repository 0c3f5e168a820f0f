//! Curves on two logarithmic scales, as a PNG.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

const WIDTH: usize = 720;
const HEIGHT: usize = 540;
const MARGIN: usize = 30;
const COLOURS: [[u8; 3]; 2] = [[200, 40, 40], [40, 70, 200]];

struct Plot {
    pixels: Vec<u8>,
    /// Powers of ten at the left, the right, the bottom and the top.
    bounds: [f64; 4],
}

impl Plot {
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let [left, right, bottom, top] = self.bounds;
        let (across, up) = ((WIDTH - 2 * MARGIN) as f64, (HEIGHT - 2 * MARGIN) as f64);
        let (x, y) = (x.log10().clamp(left, right), y.max(1e-300).log10().clamp(bottom, top));
        (MARGIN as f64 + across * (x - left) / (right - left), MARGIN as f64 + up * (top - y) / (top - bottom))
    }

    fn dot(&mut self, x: f64, y: f64, size: usize, colour: [u8; 3]) {
        for dy in 0..size {
            for dx in 0..size {
                let at = 3 * ((y.round() as usize + dy) * WIDTH + x.round() as usize + dx);
                if let Some(pixel) = self.pixels.get_mut(at..at + 3) {
                    pixel.copy_from_slice(&colour);
                }
            }
        }
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), size: usize, colour: [u8; 3]) {
        let ((x0, y0), (x1, y1)) = (self.place(from), self.place(to));
        let steps = ((x1 - x0).abs().max((y1 - y0).abs()) as usize).max(1);
        for i in 0..=steps {
            let t = i as f64 / steps as f64;
            self.dot(x0 + t * (x1 - x0), y0 + t * (y1 - y0), size, colour);
        }
    }
}

/// A curve for each of the lists, with a grid of powers of ten.
pub(crate) fn write(file: &Path, curves: &[Vec<(f64, f64)>; 2]) -> Result<(), Box<dyn Error>> {
    let all = || curves.iter().flatten().filter(|(_, y)| *y > 0.0);
    let reach = |pick: fn(&(f64, f64)) -> f64| {
        let (low, high) = all().map(pick).fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
        [low.log10().floor(), high.log10().ceil()]
    };
    let ([left, right], [bottom, top]) = (reach(|p| p.0), reach(|p| p.1));
    let bounds = [left, right.max(left + 1.0), bottom, top.max(bottom + 1.0)];
    let mut plot = Plot { pixels: vec![255; 3 * WIDTH * HEIGHT], bounds };
    let [left, right, bottom, top] = bounds;
    let power = |k: i32| 10f64.powi(k);
    for k in left as i32..=right as i32 {
        plot.line((power(k), power(bottom as i32)), (power(k), power(top as i32)), 1, [190; 3]);
    }
    for k in bottom as i32..=top as i32 {
        plot.line((power(left as i32), power(k)), (power(right as i32), power(k)), 1, [190; 3]);
    }
    for (curve, colour) in curves.iter().zip(COLOURS) {
        for (from, to) in curve.iter().zip(curve.iter().skip(1)) {
            plot.line(*from, *to, 2, colour);
        }
        for point in curve {
            let (x, y) = plot.place(*point);
            plot.dot(x - 2.0, y - 2.0, 5, colour);
        }
    }
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(file)?), WIDTH as u32, HEIGHT as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    Ok(encoder.write_header()?.write_image_data(&plot.pixels)?)
}
