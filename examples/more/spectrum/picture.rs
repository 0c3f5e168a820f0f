//! Spectra side by side as a PNG, with axes.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use windlass::Complex;

/// Pixels of the spectra at most, and around them.
const WIDTH: usize = 960;
const HEIGHT: usize = 512;
const LEFT: usize = 52;
const RIGHT: usize = 14;
const TOP: usize = 12;
const BOTTOM: usize = 30;
/// Decibels below the loudest that are still seen.
const DEPTH: f32 = 80.0;

/// The loudness of every point.
pub(crate) struct Picture {
    frames: usize,
    bins: usize,
    decibels: Vec<f32>,
}

impl Picture {
    pub(crate) fn new(frames: usize, bins: usize) -> Self {
        Picture { frames, bins, decibels: vec![f32::MIN; frames * bins] }
    }

    /// The spectrum of one frame.
    pub(crate) fn column(&mut self, frame: usize, spectrum: &[Complex<f32>]) {
        let to = self.decibels.get_mut(frame * self.bins..(frame + 1) * self.bins).unwrap_or_default();
        to.iter_mut().zip(spectrum).for_each(|(to, x)| *to = 10.0 * x.norm_sqr().max(1e-20).log10());
    }

    fn spectrum(&self, frame: usize) -> &[f32] {
        self.decibels.get(frame * self.bins..(frame + 1) * self.bins).unwrap_or_default()
    }

    /// The loudest point of a frame.
    pub(crate) fn loudest(&self, frame: usize) -> usize {
        let best = self.spectrum(frame).iter().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
        best.map_or(0, |(bin, _)| bin)
    }

    /// The loudest of the points that fall on a pixel.
    fn at(&self, x: usize, y: usize, (width, height): (usize, usize)) -> f32 {
        let range = |i: usize, of: usize, all: usize| i * all / of..((i + 1) * all).div_ceil(of).min(all);
        let mut most = f32::MIN;
        for frame in range(x, width, self.frames) {
            for bin in range(height - 1 - y, height, self.bins) {
                most = most.max(self.spectrum(frame).get(bin).copied().unwrap_or(f32::MIN));
            }
        }
        most
    }

    /// Writes the picture of so many seconds, up to `top` Hz.
    pub(crate) fn write(&self, file: &Path, seconds: f64, top: f64) -> Result<(), Box<dyn Error>> {
        let (width, height) = (WIDTH, HEIGHT);
        let mut canvas = Canvas::new(LEFT + width + RIGHT, TOP + height + BOTTOM);
        let loudest = self.decibels.iter().copied().fold(f32::MIN, f32::max);
        for y in 0..height {
            for x in 0..width {
                let bright = 1.0 - (loudest - self.at(x, y, (width, height))) / DEPTH;
                canvas.dot(LEFT + x, TOP + y, colour(bright.clamp(0.0, 1.0)));
            }
        }
        const INK: [u8; 3] = [40; 3];
        let step = tick(seconds, 8.0);
        for i in 0..=(seconds / step) as usize {
            let (at, x) = (i as f64 * step, LEFT + (i as f64 * step / seconds * width as f64) as usize);
            (0..5).for_each(|y| canvas.dot(x, TOP + height + y, INK));
            canvas.text(x, TOP + height + 9, &format!("{}s", short(at)), true, INK);
        }
        let step = tick(top / 1000.0, 8.0);
        for i in 0..=(top / 1000.0 / step) as usize {
            let at = i as f64 * step;
            let y = TOP + height - (at * 1000.0 / top * height as f64) as usize;
            (0..5).for_each(|x| canvas.dot(LEFT - 5 + x, y.min(TOP + height - 1), INK));
            canvas.text(2, y.saturating_sub(5).max(2), &format!("{}kHz", short(at)), false, INK);
        }
        let mut encoder =
            png::Encoder::new(BufWriter::new(File::create(file)?), canvas.width as u32, canvas.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        Ok(encoder.write_header()?.write_image_data(&canvas.pixels)?)
    }
}

/// A round distance of marks, about so many in all.
fn tick(reach: f64, marks: f64) -> f64 {
    let rough = (reach / marks).max(1e-6);
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= rough).unwrap_or(rough)
}

fn short(x: f64) -> String {
    let text = format!("{x:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Black, violet, orange, white.
fn colour(bright: f32) -> [u8; 3] {
    const STOPS: [[f32; 3]; 5] =
        [[0.0, 0.0, 4.0], [80.0, 18.0, 123.0], [182.0, 54.0, 121.0], [251.0, 136.0, 97.0], [252.0, 253.0, 191.0]];
    let at = bright * (STOPS.len() - 1) as f32;
    let i = (at as usize).min(STOPS.len() - 2);
    let stop = |i: usize| STOPS.get(i).copied().unwrap_or_default();
    let mut mixed = [0; 3];
    for (to, (from, next)) in mixed.iter_mut().zip(stop(i).into_iter().zip(stop(i + 1))) {
        *to = (from + (at - i as f32) * (next - from)) as u8;
    }
    mixed
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Self {
        Canvas { width, height, pixels: vec![255; 3 * width * height] }
    }

    fn dot(&mut self, x: usize, y: usize, colour: [u8; 3]) {
        let at = 3 * (y * self.width + x);
        if x < self.width
            && y < self.height
            && let Some(pixel) = self.pixels.get_mut(at..at + 3)
        {
            pixel.copy_from_slice(&colour);
        }
    }

    /// Letters of 3 x 5 points, two pixels each.
    fn text(&mut self, x: usize, y: usize, text: &str, centred: bool, colour: [u8; 3]) {
        let wide = 8 * text.chars().count();
        let mut x = if centred { x.saturating_sub(wide / 2).min(self.width.saturating_sub(wide)) } else { x };
        for letter in text.chars() {
            for (row, bits) in glyph(letter).into_iter().enumerate() {
                for column in (0..3).filter(|column| bits >> (2 - column) & 1 == 1) {
                    for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                        self.dot(x + 2 * column + dx, y + 2 * row + dy, colour);
                    }
                }
            }
            x += 8;
        }
    }
}

/// Rows from the top, the left point in the highest bit.
fn glyph(letter: char) -> [u8; 5] {
    match letter {
        '0' => [7, 5, 5, 5, 7],
        '1' => [2, 6, 2, 2, 7],
        '2' => [7, 1, 7, 4, 7],
        '3' => [7, 1, 7, 1, 7],
        '4' => [5, 5, 7, 1, 1],
        '5' => [7, 4, 7, 1, 7],
        '6' => [7, 4, 7, 5, 7],
        '7' => [7, 1, 1, 1, 1],
        '8' => [7, 5, 7, 5, 7],
        '9' => [7, 5, 7, 1, 7],
        '.' => [0, 0, 0, 0, 2],
        'k' => [4, 5, 6, 5, 5],
        'H' => [5, 5, 7, 5, 5],
        'z' => [0, 7, 1, 2, 7],
        's' => [0, 3, 6, 1, 6],
        _ => [0; 5],
    }
}
