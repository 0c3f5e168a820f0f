//! From words to numbers in the unit interval, as cuRAND does it for each generator.

use super::super::stream::Generator;
use crate::numerics::isa::Loop;

/// 2^-32, 2^-33, 2^-53, 2^-54.
pub(super) const P32: f32 = 2.328_306_4e-10;
pub(super) const P33: f32 = 1.164_153_2e-10;
const P32D: f64 = 2.328_306_436_538_696_3e-10;
const P53: f64 = 1.110_223_024_625_156_5e-16;
const P54: f64 = 5.551_115_123_125_783e-17;
/// The factors for MRG32k3a's words: the inverse of its modulus plus one, and 2^32 times the inverse of its modulus.
const MRG: f64 = 2.328_306_549_837_829e-10;
const MRG_BITS: f64 = 1.000_000_048_662;

/// 32 random bits of a generator's word.
#[inline(always)]
pub(super) fn bits_of(generator: Generator, word: u32) -> u32 {
    match generator {
        Generator::Mrg32k3a => (f64::from(word) * MRG_BITS) as u32,
        _ => word,
    }
}

/// Replaces words by random bits.
pub(super) struct Bits<'a> {
    pub(super) generator: Generator,
    pub(super) words: &'a mut [u32],
}

impl Loop for Bits<'_> {
    type Output = ();
    #[inline(always)]
    fn body(self) {
        if self.generator == Generator::Mrg32k3a {
            self.words.iter_mut().for_each(|word| *word = bits_of(Generator::Mrg32k3a, *word));
        }
    }
}

/// Numbers of single precision, one word each.
pub(super) struct Single<'a> {
    pub(super) generator: Generator,
    /// From 0 on and below 1; otherwise above 0 and up to 1.
    pub(super) lower: bool,
    pub(super) words: &'a [u32],
    pub(super) out: &'a mut [f32],
}

impl Loop for Single<'_> {
    type Output = ();
    #[inline(always)]
    fn body(self) {
        let Single { generator, lower, words, out } = self;
        let pairs = out.iter_mut().zip(words);
        match (lower, generator) {
            (true, Generator::Mrg32k3a) => {
                pairs.for_each(|(out, x)| *out = (bits_of(generator, *x) >> 8) as f32 * 5.960_464_5e-8);
            }
            (true, _) => pairs.for_each(|(out, x)| *out = (*x >> 8) as f32 * 5.960_464_5e-8),
            (false, Generator::Mrg32k3a) => pairs.for_each(|(out, x)| *out = (f64::from(*x) * MRG) as f32),
            (false, Generator::Mt19937) => pairs.for_each(|(out, x)| *out = ((f64::from(*x) + 0.5) * P32D) as f32),
            (false, _) => pairs.for_each(|(out, x)| *out = *x as f32 * P32 + P33),
        }
    }
}

/// Numbers with few enough bits for f16 or bf16.
pub(super) struct Coarse<'a> {
    pub(super) generator: Generator,
    pub(super) lower: bool,
    pub(super) bits: u32,
    pub(super) words: &'a [u32],
    pub(super) out: &'a mut [f32],
}

impl Loop for Coarse<'_> {
    type Output = ();
    #[inline(always)]
    fn body(self) {
        let Coarse { generator, lower, bits, words, out } = self;
        let (shift, unit, add) = (32 - bits, 1.0 / (1u32 << bits) as f32, u32::from(!lower));
        for (out, x) in out.iter_mut().zip(words) {
            *out = ((bits_of(generator, *x) >> shift) + add) as f32 * unit;
        }
    }
}

/// Numbers of double precision, one or two words each.
pub(super) struct Double<'a> {
    pub(super) generator: Generator,
    pub(super) lower: bool,
    pub(super) words: &'a [u32],
    /// Empty if a number takes one word.
    pub(super) more: &'a [u32],
    pub(super) out: &'a mut [f64],
}

impl Loop for Double<'_> {
    type Output = ();
    #[inline(always)]
    fn body(self) {
        let Double { generator, lower, words, more, out } = self;
        let half = if lower { 0.0 } else { P54 };
        if more.is_empty() {
            let add = match (lower, generator) {
                (true, _) => 0.0,
                (false, Generator::Mt19937) => 0.5,
                (false, _) => 1.0,
            };
            let pairs = out.iter_mut().zip(words);
            match generator {
                Generator::Mrg32k3a if !lower => pairs.for_each(|(out, x)| *out = f64::from(*x) * MRG),
                _ => pairs.for_each(|(out, x)| *out = (f64::from(bits_of(generator, *x)) + add) * P32D),
            }
            return;
        }
        let all = out.iter_mut().zip(words).zip(more);
        match generator {
            Generator::Sobol64 => all.for_each(|((out, x), y)| {
                *out = ((u64::from(*y) << 32 | u64::from(*x)) >> 11) as f64 * P53 + half;
            }),
            Generator::Mrg32k3a => all.for_each(|((out, x), y)| {
                let (x, y) = (bits_of(generator, *x), bits_of(generator, *y));
                *out = (u64::from(x) ^ u64::from(y) << 21) as f64 * P53 + half;
            }),
            _ => all.for_each(|((out, x), y)| *out = (u64::from(*x) ^ u64::from(*y) << 21) as f64 * P53 + half),
        }
    }
}

/// Numbers of double precision strictly inside the interval, symmetric about its middle, one word each: for quantiles.
pub(super) struct Middle<'a> {
    pub(super) generator: Generator,
    pub(super) words: &'a [u32],
    pub(super) out: &'a mut [f64],
}

impl Loop for Middle<'_> {
    type Output = ();
    #[inline(always)]
    fn body(self) {
        let Middle { generator, words, out } = self;
        match generator {
            Generator::Mrg32k3a => out.iter_mut().zip(words).for_each(|(out, x)| *out = f64::from(*x) * MRG),
            _ => out.iter_mut().zip(words).for_each(|(out, x)| *out = (f64::from(*x) + 0.5) * P32D),
        }
    }
}
