//! Integers by rejection. An element uses two words of the stream. If it needs more, they come from its own Philox
//! stream ([`further`]), so that every element is a function of its own words alone, on every engine.

use super::super::spec::{BinomialPlan, FEW, PoissonPlan};
use super::math::{further, ln_factorial, ln64, unit};

/// A limit on rejections in a row. It is never reached: the probability of each is below a half.
const PATIENCE: u32 = 1 << 12;

/// One of `span` integers from `start` on (0 means 2^64), without bias (Lemire 2019).
#[inline(always)]
pub(super) fn integer(key: [u32; 2], start: u64, span: u64) -> u64 {
    let x = u64::from(key[0]) | u64::from(key[1]) << 32;
    if span == 0 {
        return start.wrapping_add(x);
    }
    let mut product = u128::from(x) * u128::from(span);
    if (product as u64) < span {
        let least = span.wrapping_neg() % span;
        let mut attempt = 0;
        while (product as u64) < least && attempt < PATIENCE {
            let [x, _] = further(key, attempt);
            product = u128::from(x) * u128::from(span);
            attempt += 1;
        }
    }
    start.wrapping_add((product >> 64) as u64)
}

/// 1 if 64 random bits are below `threshold`, or `always`; else 0.
#[inline(always)]
pub(super) fn bernoulli(key: [u32; 2], threshold: u64, always: bool) -> u8 {
    let x = u64::from(key[0]) | u64::from(key[1]) << 32;
    u8::from(always || x < threshold)
}

impl PoissonPlan {
    /// One number (Hoermann 1993, algorithm PTRS; by search in the distribution function if the mean is small).
    pub(super) fn draw(&self, key: [u32; 2]) -> u32 {
        if self.lambda < FEW {
            let u = unit(u64::from(key[0]) | u64::from(key[1]) << 32);
            let (mut k, mut p) = (0u32, self.zero);
            let mut sum = p;
            while u >= sum && k < 200 {
                k += 1;
                p *= self.lambda / f64::from(k);
                sum += p;
            }
            return k;
        }
        for attempt in 0..PATIENCE {
            let [x, y] = further(key, attempt);
            let (u, v) = (unit(x) - 0.5, 1.0 - unit(y));
            let us = 0.5 - u.abs();
            let k = ((2.0 * self.a / us + self.b) * u + self.lambda + 0.43).floor();
            if us >= 0.07 && v <= self.v_r {
                return k as u32;
            }
            if k < 0.0 || (us < 0.013 && v > us) {
                continue;
            }
            let left = ln64(v) + self.ln_inverse_alpha - ln64(self.a / (us * us) + self.b);
            if left <= k * self.ln_lambda - self.lambda - ln_factorial(k) {
                return k as u32;
            }
        }
        self.lambda as u32
    }
}

impl BinomialPlan {
    /// One number (Hoermann 1993, algorithm BTRS; by search in the distribution function if the mean is small).
    pub(super) fn draw(&self, key: [u32; 2]) -> u32 {
        let k = self.count(key);
        (if self.flipped { self.n - k } else { k }) as u32
    }

    fn count(&self, key: [u32; 2]) -> f64 {
        if self.search {
            let u = unit(u64::from(key[0]) | u64::from(key[1]) << 32);
            let (mut k, mut p) = (0.0, self.zero);
            let mut sum = p;
            while u >= sum && k < self.n && k < 200.0 {
                k += 1.0;
                p *= (self.n - k + 1.0) / k * self.odds;
                sum += p;
            }
            return k;
        }
        for attempt in 0..PATIENCE {
            let [x, y] = further(key, attempt);
            let (u, v) = (unit(x) - 0.5, 1.0 - unit(y));
            let us = 0.5 - u.abs();
            let k = ((2.0 * self.a / us + self.b) * u + self.c).floor();
            if us >= 0.07 && v <= self.v_r {
                return k;
            }
            if !(k >= 0.0 && k <= self.n) {
                continue;
            }
            let left = ln64(v * self.alpha / (self.a / (us * us) + self.b));
            let right = self.h - ln_factorial(k) - ln_factorial(self.n - k) + (k - self.mode) * self.ln_odds;
            if left <= right {
                return k;
            }
        }
        self.mode
    }
}
