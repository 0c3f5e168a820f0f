//! Normal numbers as cuRAND's host generators make them: with the C library's functions.

use super::super::stream::Generator;
use super::math::{exp32, exp64};
use super::normal::Scale;
use super::units::{P32, P33};

/// The angles of pairs of f32, from the words of their second numbers. Only MRG32k3a's are made from the uniform number,
/// which is in `out`; for the others 2 pi is in the constants, and what is rounded is another product.
pub(super) fn angles32(generator: Generator, words: &[u32], out: &mut [f32]) {
    use std::f32::consts::TAU;
    for (out, word) in out.iter_mut().zip(words) {
        *out = match generator {
            Generator::Mrg32k3a => *out * TAU,
            _ => *word as f32 * (P32 * TAU) + P33 * TAU,
        };
    }
}

/// The angles of pairs of f64, from their second numbers.
pub(super) fn angles64(out: &mut [f64]) {
    out.iter_mut().for_each(|t| *t *= std::f64::consts::TAU);
}

macro_rules! normals { ($($f:ty: $normals:ident, $exp:ident;)*) => { $(
    /// Makes pairs of normal numbers from uniform ones and angles.
    pub(super) fn $normals(u: &[$f], angle: &[$f], scale: Scale<$f>, out: &mut [$f]) {
        let Scale { mean, deviation, log } = scale;
        let (pairs, _) = out.as_chunks_mut::<2>();
        for ((out, u), angle) in pairs.iter_mut().zip(u).zip(angle) {
            let (r, (sin, cos)) = ((-2.0 * u.ln()).sqrt(), angle.sin_cos());
            *out = [deviation * (r * sin) + mean, deviation * (r * cos) + mean];
        }
        if log {
            out.iter_mut().for_each(|x| *x = $exp(*x));
        }
    }
)* } }
normals! {
    f32: normals32, exp32;
    f64: normals64, exp64;
}
