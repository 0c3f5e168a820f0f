//! The discrete Fourier transform by its definition, and the error bound of a fast one.

use super::Double;
use num_complex::Complex;

/// `2 pi` in double-double.
fn full_turn() -> Double {
    Double::from(std::f64::consts::TAU) + Double::from(2.449_293_598_294_706_4e-16)
}

/// `x / d` for an integer `d`.
fn divided(x: Double, d: f64) -> Double {
    let near = x.to_f64() / d;
    let rest = x + -Double::product(near, d);
    Double::from(near) + Double::from(rest.to_f64() / d)
}

/// Cosine and sine of an angle up to an eighth of a turn, by their power series.
fn series(angle: Double) -> (Double, Double) {
    let square = angle * angle;
    let (mut cosine, mut sine) = (Double::from(1.0), angle);
    let (mut even, mut odd) = (Double::from(1.0), angle);
    for k in 1..16 {
        let k = f64::from(2 * k);
        even = -divided(divided(even * square, k - 1.0), k);
        odd = -divided(divided(odd * square, k), k + 1.0);
        (cosine, sine) = (cosine + even, sine + odd);
    }
    (cosine, sine)
}

/// Cosine and sine of `k / n` of a turn.
///
/// The angle is reduced to an eighth of a turn in integer arithmetic, so a large `k` loses no accuracy.
pub fn root_of_unity(k: usize, n: usize) -> (Double, Double) {
    let (n, k) = (n.max(1) as u128, (k % n.max(1)) as u128);
    // The quarter of the turn, and the position in it in units of 1 / (4 n) of a turn.
    let (quarter, rest) = (4 * k / n, 4 * k % n);
    let mirrored = 2 * rest > n;
    let part = if mirrored { n - rest } else { rest };
    let angle = divided(full_turn() * Double::from(part as f64), 4.0 * n as f64);
    let (cosine, sine) = series(angle);
    let (cosine, sine) = if mirrored { (sine, cosine) } else { (cosine, sine) };
    match quarter {
        0 => (cosine, sine),
        1 => (-sine, cosine),
        2 => (-cosine, -sine),
        _ => (sine, -cosine),
    }
}

/// `y[k] = sum over j of x[j] exp(-2 pi i j k / n)`, or with the opposite sign if `inverse`; not normalised. Each
/// result is rounded once.
pub fn dft(x: &[Complex<f64>], inverse: bool) -> Vec<Complex<f64>> {
    let n = x.len();
    let roots: Vec<(Double, Double)> = (0..n).map(|k| root_of_unity(k, n)).collect();
    let point = |k: usize| {
        let (mut re, mut im) = (Double::default(), Double::default());
        for (j, x) in x.iter().enumerate() {
            let place = (j as u128 * k as u128 % n as u128) as usize;
            let Some(&(cosine, sine)) = roots.get(place) else { continue };
            let sine = if inverse { sine } else { -sine };
            let (a, b) = (Double::from(x.re), Double::from(x.im));
            re = re + a * cosine + -(b * sine);
            im = im + a * sine + b * cosine;
        }
        Complex::new(re.to_f64(), im.to_f64())
    };
    (0..n).map(point).collect()
}

/// The maximum Euclidean norm of the error of a transform of `n` points, relative to the norm of the exact result.
///
/// A divide-and-conquer transform, with twiddle factors accurate to an ulp, has an error of a few `log2 n` units of
/// rounding (Higham, chapter 24). Bluestein's method, for large prime factors, consists of three transforms of at least
/// twice the length, with products between them: four times as much.
pub fn dft_error_bound(n: usize, unit: f64) -> f64 {
    let levels = f64::from(usize::BITS - (2 * n.max(1)).leading_zeros());
    let mut rest = n.max(1);
    for factor in [2, 3, 5, 7, 11, 13] {
        while rest.is_multiple_of(factor) {
            rest /= factor;
        }
    }
    4.0 * unit * levels * if rest > 1 { 4.0 } else { 1.0 }
}
