//! Elements of a row that are normalised, and their gradients: see `../../pairs.rs`; what a formula does not have is a number that changes
//! no bit.

use super::plain::Real;
use crate::libraries::reductions::space::CHAINS;

/// A row.
pub(in super::super) struct Row {
    /// Elements and gradients.
    pub(in super::super) elements: [*const u8; 2],
    /// Weights and biases.
    pub(in super::super) weights: [*const u8; 2],
    /// From [`CHAINS`] of these to the next ones: as many, or 0 if they are all there are.
    pub(in super::super) steps: [usize; 2],
    /// Of the row: its mean, its inverse deviation, and the means of its sums.
    pub(in super::super) numbers: [*const u8; 4],
    pub(in super::super) len: usize,
    pub(in super::super) out: *mut u8,
}

/// An element of `x`, `dy`, a weight and a bias, by the numbers of its row.
pub(super) trait Spread {
    fn of<R: Real>(elements: [R; 4], numbers: [R; 4]) -> R;
}

pub(super) struct Normal;
pub(super) struct Gradient;

impl Spread for Normal {
    #[inline(always)]
    fn of<R: Real>([x, _, weight, bias]: [R; 4], [mean, inverse, ..]: [R; 4]) -> R {
        ((x - mean) * inverse).fma(weight, bias)
    }
}

impl Spread for Gradient {
    #[inline(always)]
    fn of<R: Real>([x, dy, weight, _]: [R; 4], [mean, inverse, g, both]: [R; 4]) -> R {
        let normal = (x - mean) * inverse;
        (R::NO_SUMMAND - normal).fma(both, dy * weight - g) * inverse
    }
}

/// Elements that are computed together.
const SOME: usize = 16;

/// [`SOME`] elements.
///
/// # Safety
/// The operands have as many, and so does what is written.
#[inline(always)]
unsafe fn some<S: Spread, R: Real>(out: *mut R, operands: [*const R; 4], numbers: [R; 4]) {
    // SAFETY: the caller's promise.
    let [x, dy, weight, bias]: [[R; SOME]; 4] =
        unsafe { [*operands[0].cast(), *operands[1].cast(), *operands[2].cast(), *operands[3].cast()] };
    let mut made = [R::ZERO; SOME];
    for k in 0..SOME {
        // SAFETY: all of them have so many numbers.
        unsafe {
            let elements =
                [*x.get_unchecked(k), *dy.get_unchecked(k), *weight.get_unchecked(k), *bias.get_unchecked(k)];
            *made.get_unchecked_mut(k) = S::of(elements, numbers).canonical();
        }
    }
    // SAFETY: the caller's promise.
    unsafe { *out.cast() = made };
}

/// Computes a row.
///
/// # Safety
/// The operands are there and aligned, and nothing else uses what is written. The CPU has the vectors.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn row<S: Spread, R: Real>(row: &Row) {
    let Row { elements: [x, dy], weights: [weight, bias], steps: [a, b], numbers, len, out } = *row;
    // SAFETY: the caller's promise.
    let numbers: [R; 4] = unsafe { [*numbers[0].cast(), *numbers[1].cast(), *numbers[2].cast(), *numbers[3].cast()] };
    for first in (0..len).step_by(SOME) {
        let (step, lane) = (first / CHAINS, first % CHAINS);
        let [x, dy] = [x.cast::<R>().wrapping_add(first), dy.cast::<R>().wrapping_add(first)];
        let weight = weight.cast::<R>().wrapping_add(step * a + lane);
        let operands = [x, dy, weight, bias.cast::<R>().wrapping_add(step * b + lane)];
        let out = out.cast::<R>().wrapping_add(first);
        let rest = len - first;
        // SAFETY: so many elements are there; the last ones are computed in copies.
        unsafe {
            if rest >= SOME {
                some::<S, R>(out, operands, numbers);
            } else {
                let mut copies = [[R::ZERO; SOME]; 4];
                std::ptr::copy_nonoverlapping(operands[0], copies[0].as_mut_ptr(), rest);
                std::ptr::copy_nonoverlapping(operands[1], copies[1].as_mut_ptr(), rest);
                std::ptr::copy_nonoverlapping(operands[2], copies[2].as_mut_ptr(), rest);
                std::ptr::copy_nonoverlapping(operands[3], copies[3].as_mut_ptr(), rest);
                let operands = [copies[0].as_ptr(), copies[1].as_ptr(), copies[2].as_ptr(), copies[3].as_ptr()];
                let mut made = [R::ZERO; SOME];
                some::<S, R>(made.as_mut_ptr(), operands, numbers);
                std::ptr::copy_nonoverlapping(made.as_ptr(), out, rest);
            }
        }
    }
}
