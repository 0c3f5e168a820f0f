//! A sign of large letters, and what a camera that is out of focus makes of it.

/// Points from top to bottom; letters are 7 high and 5 wide, with this many points around them.
const HEIGHT: usize = 7 + 2 * AROUND;
const AROUND: usize = 3;
/// The width of the blur, in points.
const SIGMA: f64 = 1.5;
/// Each point of the photograph is off by up to this much.
const NOISE: f64 = 3e-4;

/// The letters from A to Z: seven rows of five points each, the upper row in the highest bits.
const LETTERS: [u64; 26] = [
    0x3a31fc631,
    0x7a31f463e,
    0x3a308422e,
    0x7a318c63e,
    0x7e10f421f,
    0x7e10f4210,
    0x3a30bc62e,
    0x4631fc631,
    0x7c842109f,
    0x1c4210a4c,
    0x4654c5251,
    0x42108421f,
    0x4775ac631,
    0x4739ace71,
    0x3a318c62e,
    0x7a31f4210,
    0x3a318d64d,
    0x7a31f5251,
    0x3e107043e,
    0x7c8421084,
    0x46318c62e,
    0x46318c544,
    0x4631ad771,
    0x462a22a31,
    0x462a21084,
    0x7c222221f,
];

pub(crate) struct Sign {
    width: usize,
    /// Row by row: 0 is dark, 1 is bright.
    points: Vec<f64>,
}

impl Sign {
    /// `None` for what is not 1 to 12 letters.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let letter = |c: char| LETTERS.get((c.to_ascii_uppercase() as usize).checked_sub('A' as usize)?).copied();
        let letters: Vec<u64> = text.chars().map(letter).collect::<Option<_>>()?;
        let width = 6 * letters.len() + 2 * AROUND - 1;
        let bright = |x: usize, y: usize| {
            let (x, y) = (x.checked_sub(AROUND)?, y.checked_sub(AROUND).filter(|y| *y < 7)?);
            let letter = letters.get(x / 6).filter(|_| x % 6 < 5)?;
            Some((letter >> (34 - 5 * y - x % 6) & 1) as f64)
        };
        let points = (0..width * HEIGHT).map(|at| bright(at % width, at / width).unwrap_or(0.0)).collect();
        (1..=12).contains(&letters.len()).then_some(Sign { width, points })
    }

    /// The blur of the columns and that of the rows, as matrices: how much each point adds to each one of its column, or row.
    pub(crate) fn blur(&self) -> [Vec<f64>; 2] {
        let near = |a: usize, b: usize| (-(a.abs_diff(b) as f64 / SIGMA).powi(2) / 2.0).exp();
        let all = (2.0 * std::f64::consts::PI).sqrt() * SIGMA;
        [HEIGHT, self.width].map(|n| (0..n * n).map(|at| near(at / n, at % n) / all).collect())
    }

    /// Blurred, and with the noise of a sensor.
    pub(crate) fn photograph(&self) -> Vec<f64> {
        let mut state = 1u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            NOISE * (2.0 * f64::from(state) / f64::from(u32::MAX) - 1.0)
        };
        let [column_blur, row_blur] = self.blur();
        let mut photograph = Vec::with_capacity(self.points.len());
        for blur in column_blur.chunks_exact(HEIGHT) {
            let mut row = vec![0.0; self.width];
            for (a, points) in blur.iter().zip(self.points.chunks_exact(self.width)) {
                row.iter_mut().zip(points).for_each(|(sum, x)| *sum += a * x);
            }
            let blurs = row_blur.chunks_exact(self.width);
            photograph.extend(blurs.map(|blur| blur.iter().zip(&row).map(|(a, x)| a * x).sum::<f64>() + noise()));
        }
        photograph
    }

    /// The share of the points that are told right, dark or bright, in per cent.
    pub(crate) fn right(&self, points: &[f64]) -> f64 {
        let right = self.points.iter().zip(points).filter(|(a, b)| (**a > 0.5) == (**b > 0.5)).count();
        100.0 * right as f64 / self.points.len() as f64
    }

    pub(crate) fn print(&self, points: &[f64]) {
        let shade = |x: &f64| b" .:-=+*#%@".get((x * 10.0).clamp(0.0, 9.0) as usize).map_or(' ', |c| char::from(*c));
        points.chunks(self.width).for_each(|row| println!("  {}", row.iter().map(shade).collect::<String>()));
    }
}
