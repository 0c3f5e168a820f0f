//! Normal numbers as cuRAND's host generators make them: with the C library's functions.

use super::math::{exp32, exp64};
use super::normal::Scale;

macro_rules! normals { ($($f:ty: $normals:ident, $turn:expr, $exp:ident;)*) => { $(
    /// Makes pairs of normal numbers from pairs of uniform ones.
    pub(super) fn $normals(u: &[$f], t: &[$f], scale: Scale<$f>, out: &mut [$f]) {
        let Scale { mean, deviation, log } = scale;
        let (pairs, _) = out.as_chunks_mut::<2>();
        for ((out, u), t) in pairs.iter_mut().zip(u).zip(t) {
            let (r, (sin, cos)) = ((-2.0 * u.ln()).sqrt(), (t * $turn).sin_cos());
            *out = [deviation * (r * sin) + mean, deviation * (r * cos) + mean];
        }
        if log {
            out.iter_mut().for_each(|x| *x = $exp(*x));
        }
    }
)* } }
normals! {
    f32: normals32, std::f32::consts::TAU, exp32;
    f64: normals64, std::f64::consts::TAU, exp64;
}
