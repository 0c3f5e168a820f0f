//! The frequencies of the points of a spectrum, and lengths for which transforms are fast.

use crate::core::error::{Error, Result};
use crate::core::room::collected;

/// Checks that the spacing is finite and not zero.
fn check_spacing(d: f64) -> Result<()> {
    if d.is_finite() && d != 0.0 {
        return Ok(());
    }
    Err(Error::invalid("d", format!("the sample spacing {d} is zero or not finite")))
}

/// The frequencies of the `n` points of a spectrum, of samples that are `d` apart: `0, 1, .., -2, -1` over `n * d`.
///
/// # Errors
/// [`Error::InvalidArgument`] for a spacing that is zero or not finite, or no points; [`Error::OutOfMemory`].
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// assert_eq!(windlass::fft::fftfreq(4, 0.5)?, [0.0, 0.5, -1.0, -0.5]);
/// # Ok(()) }
/// ```
pub fn fftfreq(n: usize, d: f64) -> Result<Vec<f64>> {
    check_spacing(d)?;
    if n == 0 {
        return Err(Error::invalid("n", "0, but a transform has at least one point"));
    }
    let step = 1.0 / (n as f64 * d);
    let positive = n.div_ceil(2);
    collected((0..n).map(|k| if k < positive { k as f64 * step } else { -((n - k) as f64) * step }))
}

/// The frequencies of the `n / 2 + 1` points of half a spectrum, of `n` samples that are `d` apart.
///
/// # Errors
/// As [`fftfreq`].
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// assert_eq!(windlass::fft::rfftfreq(5, 0.2)?, [0.0, 1.0, 2.0]);
/// # Ok(()) }
/// ```
pub fn rfftfreq(n: usize, d: f64) -> Result<Vec<f64>> {
    check_spacing(d)?;
    if n == 0 {
        return Err(Error::invalid("n", "0, but a transform has at least one point"));
    }
    let step = 1.0 / (n as f64 * d);
    collected((0..n / 2 + 1).map(|k| k as f64 * step))
}

/// The smallest length from `n` on without a prime factor above 7: cuFFT and the CPU have special kernels for these.
/// `None` if it does not fit into `usize`.
///
/// ```
/// assert_eq!(windlass::fft::next_fast_len(1021), Some(1024));
/// assert_eq!(windlass::fft::next_fast_len(0), Some(1));
/// ```
pub fn next_fast_len(n: usize) -> Option<usize> {
    let n = n.max(1);
    let mut best = n.checked_next_power_of_two();
    let mut sevens = 1usize;
    loop {
        let mut fives = sevens;
        loop {
            let mut threes = fives;
            loop {
                // The least power of two that brings this to n.
                let twos = n.div_ceil(threes).checked_next_power_of_two();
                if let Some(len) = twos.and_then(|twos| twos.checked_mul(threes)) {
                    best = Some(best.map_or(len, |best| best.min(len)));
                }
                match threes.checked_mul(3).filter(|_| threes < n) {
                    Some(more) => threes = more,
                    None => break,
                }
            }
            match fives.checked_mul(5).filter(|_| fives < n) {
                Some(more) => fives = more,
                None => break,
            }
        }
        match sevens.checked_mul(7).filter(|_| sevens < n) {
            Some(more) => sevens = more,
            None => return best,
        }
    }
}
