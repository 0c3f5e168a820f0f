//! Discrete numbers with parameters of their own.

use super::super::distribution::{Binomial, Poisson, spec};
use super::super::spec::Spec;
use super::philox;
use crate::numerics::parallel::{Parts, each_part};
use std::sync::atomic::{AtomicU64, Ordering};

/// The size of a part, in numbers.
const PART: usize = 1 << 12;

/// The two words of a number of 64 bits.
fn words(at: u64, seed: u64) -> [u32; 2] {
    let quad = at >> 2;
    let (row, lane) = (2 * (quad >> 16) + (at >> 1 & 1), (quad & 0xffff) as u32);
    let [a, b, c, d] = philox::block([row as u32, (row >> 32) as u32, lane, 0], philox::key(seed));
    if at & 1 == 1 { [c, d] } else { [a, b] }
}

/// Fills `out`. Returns the complement of the index of the first parameter that has no distribution, or 0.
pub(in crate::libraries::rng) fn fill(
    (seed, first): (u64, u64),
    parameter: &[f64],
    trials: Option<&[u32]>,
    out: &mut [u32],
) -> u64 {
    let verdict = AtomicU64::new(0);
    each_part(out, Parts::with_size(PART), &|part, out| {
        let begin = part * PART;
        for (i, out) in (begin..).zip(out) {
            let parameter = parameter.get(i).copied().unwrap_or(f64::NAN);
            let plan = match trials {
                None => spec::<u32, _>(&Poisson::new(parameter)),
                Some(trials) => spec::<u32, _>(&Binomial::new(trials.get(i).copied().unwrap_or(0), parameter)),
            };
            let key = words(first.wrapping_add(i as u64), seed);
            *out = match plan {
                Ok(Spec::Poisson(plan)) => plan.draw(key),
                Ok(Spec::Binomial(plan)) => plan.draw(key),
                _ => {
                    verdict.fetch_max(!(i as u64), Ordering::Relaxed);
                    0
                }
            };
        }
    });
    verdict.into_inner()
}
