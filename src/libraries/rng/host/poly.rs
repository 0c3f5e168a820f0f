//! Polynomials over GF(2), modulo the characteristic polynomial of MT19937.

use crate::core::room::{OrUnwind, array, collected, grown, push};

/// The degree of the modulus.
const DEGREE: usize = 19937;
/// How many words of 64 coefficients a residue takes.
pub(super) const LIMBS: usize = DEGREE.div_ceil(64);

/// A residue: bit `i` is the coefficient of `x^i`.
pub(super) struct Poly(pub(super) Box<[u64; LIMBS]>);

impl Poly {
    pub(super) fn x() -> Self {
        let mut x = array::<u64, LIMBS>(0).or_unwind();
        x.first_mut().into_iter().for_each(|limb| *limb = 2);
        Poly(x)
    }
}

/// The exponents of the modulus below its degree.
pub(super) struct Modulus(Vec<usize>);

/// Adds `terms` times `x^shift` to `sum`; equal terms cancel.
fn toggle(sum: &mut Vec<bool>, terms: &[bool], shift: usize) {
    grown(sum, terms.len() + shift, false).or_unwind();
    sum.iter_mut().skip(shift).zip(terms).for_each(|(to, from)| *to ^= from);
}

impl Modulus {
    /// With `P = x^624 + x^397` and `Q = x^623 + x^396` it is `P Q^31 + sum a_i P Q^(30-i) + a_31`, the last sum over i from
    /// 0 to 30, where `a_i` are the bits of the twist.
    pub(super) fn new() -> Self {
        let twist = 0x9908_b0df_u32;
        // Horner: ((Q + a_0) Q + a_1) Q + ..., times P, plus a_31.
        let mut all = Vec::new();
        push(&mut all, true).or_unwind();
        for i in 0..31 {
            let before = std::mem::take(&mut all);
            toggle(&mut all, &before, 623);
            toggle(&mut all, &before, 396);
            if twist >> i & 1 == 1 {
                toggle(&mut all, &[true], 0);
            }
        }
        let before = std::mem::take(&mut all);
        toggle(&mut all, &before, 624);
        toggle(&mut all, &before, 397);
        if twist >> 31 == 1 {
            toggle(&mut all, &[true], 0);
        }
        let exponents = all.iter().take(DEGREE).enumerate().filter(|(_, there)| **there).map(|(i, _)| i);
        Modulus(collected(exponents).or_unwind())
    }

    /// The square of a residue.
    pub(super) fn square(&self, x: &Poly) -> Poly {
        let halves = x.0.iter().flat_map(|limb| [spread(*limb as u32), spread((*limb >> 32) as u32)]);
        let mut wide: Vec<u64> = collected(halves).or_unwind();
        grown(&mut wide, 2 * LIMBS + 1, 0).or_unwind();
        // Reduces from the top, 64 coefficients at a time: the second highest exponent of the modulus is more than 64
        // below its degree.
        let mut top = 2 * LIMBS * 64;
        while top > DEGREE {
            let low = top.saturating_sub(64).max(DEGREE);
            let bits = take(&mut wide, low, top - low);
            if bits != 0 {
                for term in &self.0 {
                    let to = low - DEGREE + term;
                    let (limb, shift) = (to / 64, to % 64);
                    wide.get_mut(limb).into_iter().for_each(|limb| *limb ^= bits << shift);
                    if shift > 0 {
                        wide.get_mut(limb + 1).into_iter().for_each(|limb| *limb ^= bits >> (64 - shift));
                    }
                }
            }
            top = low;
        }
        let mut square = array::<u64, LIMBS>(0).or_unwind();
        square.iter_mut().zip(wide).for_each(|(to, from)| *to = from);
        Poly(square)
    }
}

/// Inserts a zero between each two bits.
fn spread(x: u32) -> u64 {
    let mut x = u64::from(x);
    for (shift, mask) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555_u64),
    ] {
        x = (x | x << shift) & mask;
    }
    x
}

/// Takes `count` bits from `low` on out of `wide`, 64 at most, and clears them there.
fn take(wide: &mut [u64], low: usize, count: usize) -> u64 {
    let (limb, shift) = (low / 64, low % 64);
    let mask = if count == 64 { u64::MAX } else { (1 << count) - 1 };
    let mut bits = 0;
    if let Some(limb) = wide.get_mut(limb) {
        bits = (*limb >> shift) & mask;
        *limb &= !(mask << shift);
    }
    if shift > 0
        && let Some(limb) = wide.get_mut(limb + 1)
    {
        let part = *limb << (64 - shift) & mask;
        bits |= part;
        *limb &= !(part >> (64 - shift));
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::Modulus;

    #[test]
    fn the_characteristic_polynomial_has_its_135_terms() {
        let Modulus(below) = Modulus::new();
        assert_eq!(below.len() + 1, 135);
    }
}
