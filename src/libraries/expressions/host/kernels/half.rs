//! The conversions of `f16` by the instructions that x86 has for them.

use super::convert::{NarrowF16, WidenF16};
#[cfg(any(test, target_arch = "x86_64"))]
use super::{Args, CHUNK};
use super::{Kernel, Level, one};
#[cfg(target_arch = "x86_64")]
use super::{chunk, result};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as x86;

pub(super) fn widen(level: Level) -> Kernel {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Vectors | Level::Wide => widen_f16c,
        _ => one::<WidenF16, u16>(level),
    }
}

/// Of `f64`, rounded once.
pub(super) fn narrow_double(level: Level) -> Option<Kernel> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Vectors | Level::Wide => Some(narrow_double_f16c),
        _ => None,
    }
}

pub(super) fn narrow(level: Level) -> Kernel {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Vectors | Level::Wide => narrow_f16c,
        _ => one::<NarrowF16, f32>(level),
    }
}

/// # Safety
/// As [`Kernel`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn widen_f16c(args: &Args) {
    for at in 0..args.chunks {
        // SAFETY: the contract of `Kernel`.
        let (dst, src): (&mut [f32; CHUNK], &[u16; CHUNK]) = unsafe { (result(args, at), chunk(args, 0, at)) };
        for (dst, src) in dst.chunks_exact_mut(8).zip(src.chunks_exact(8)) {
            // SAFETY: both have 8 elements; the loads and stores need no alignment.
            unsafe {
                x86::_mm256_storeu_ps(dst.as_mut_ptr(), x86::_mm256_cvtph_ps(x86::_mm_loadu_si128(src.as_ptr().cast())))
            }
        }
    }
}

/// # Safety
/// As [`Kernel`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn narrow_f16c(args: &Args) {
    // The instruction keeps the upper bits of a NaN's payload: those of this one are the pattern 0x7fff.
    let nan = x86::_mm256_castsi256_ps(x86::_mm256_set1_epi32(0x7fff_ffff));
    for at in 0..args.chunks {
        // SAFETY: the contract of `Kernel`.
        let (dst, src): (&mut [u16; CHUNK], &[f32; CHUNK]) = unsafe { (result(args, at), chunk(args, 0, at)) };
        for (dst, src) in dst.chunks_exact_mut(8).zip(src.chunks_exact(8)) {
            // SAFETY: both have 8 elements; the loads and stores need no alignment.
            unsafe {
                let x = x86::_mm256_loadu_ps(src.as_ptr());
                let x = x86::_mm256_blendv_ps(x, nan, x86::_mm256_cmp_ps::<{ x86::_CMP_UNORD_Q }>(x, x));
                let halves = x86::_mm256_cvtps_ph::<{ x86::_MM_FROUND_TO_NEAREST_INT }>(x);
                x86::_mm_storeu_si128(dst.as_mut_ptr().cast(), halves);
            }
        }
    }
}

/// # Safety
/// As [`Kernel`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn narrow_double_f16c(args: &Args) {
    let nan = x86::_mm256_castsi256_ps(x86::_mm256_set1_epi32(0x7fff_ffff));
    // The bits that an f32 lacks: if one is set, so becomes the last bit that it has, so that the second rounding is right. What is no normal
    // f32 is 0 or an infinity of halves, however it was rounded.
    let lacking = x86::_mm256_set1_epi64x((1 << 29) - 1);
    macro_rules! four {
        ($src:expr) => {{
            let x = x86::_mm256_loadu_si256($src.cast());
            let carried = x86::_mm256_add_epi64(x86::_mm256_and_si256(x, lacking), lacking);
            let odd = x86::_mm256_andnot_si256(lacking, x86::_mm256_or_si256(carried, x));
            x86::_mm256_cvtpd_ps(x86::_mm256_castsi256_pd(odd))
        }};
    }
    for at in 0..args.chunks {
        // SAFETY: the contract of `Kernel`.
        let (dst, src): (&mut [u16; CHUNK], &[f64; CHUNK]) = unsafe { (result(args, at), chunk(args, 0, at)) };
        for (dst, src) in dst.chunks_exact_mut(8).zip(src.chunks_exact(8)) {
            // SAFETY: both have 8 elements; the loads and stores need no alignment.
            unsafe {
                let x = x86::_mm256_set_m128(four!(src.as_ptr().add(4)), four!(src.as_ptr()));
                let x = x86::_mm256_blendv_ps(x, nan, x86::_mm256_cmp_ps::<{ x86::_CMP_UNORD_Q }>(x, x));
                let halves = x86::_mm256_cvtps_ph::<{ x86::_MM_FROUND_TO_NEAREST_INT }>(x);
                x86::_mm_storeu_si128(dst.as_mut_ptr().cast(), halves);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Map1;
    use super::CHUNK as N;
    use super::*;

    #[test]
    fn doubles_are_rounded_once() {
        let Some(kernel) = narrow_double(Level::detect()) else { return };
        // The ties of all halves and what is next to them; numbers of all exponents; the ends of what an f32 has.
        let ties = (0..0x7c00u16)
            .map(|bits| f64::from(f32::from_bits(half::f16::from_bits(bits).to_f32().to_bits() | 0x1000)));
        let near = ties.flat_map(|x| [x, x.next_up(), x.next_down(), x + x * 1e-9]);
        let spread = (0..1u64 << 18).map(|i| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let ends = [0.0, f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324, 65_504.0, 65_519.999, 65_520.0]
            .into_iter()
            .chain([
                f64::from(f32::MAX),
                f64::from(f32::MIN_POSITIVE),
                1e-40,
                1e-45,
                6.2e39,
                2f64.powi(-25),
                2f64.powi(-24),
            ])
            .chain([2f64.powi(-25).next_up(), 2f64.powi(-25).next_down(), f64::from_bits(0x7ff0_0000_0000_0001)]);
        let all: Vec<f64> = near.chain(spread).chain(ends).flat_map(|x| [x, -x]).collect();
        for src in all.chunks(N) {
            let src: [f64; N] = std::array::from_fn(|k| src.get(k).copied().unwrap_or(0.0));
            let mut dst = [0u16; N];
            let args = Args { dst: dst.as_mut_ptr().cast(), src: [src.as_ptr().cast(); 3], advance: [0; 3], chunks: 1 };
            // SAFETY: one chunk on either side; the level was detected.
            unsafe { kernel(&args) };
            for (x, half) in src.into_iter().zip(dst) {
                let want = NarrowF16::map(super::super::convert::Odd::map(x));
                assert_eq!(half, want, "{x:e}");
            }
        }
    }

    #[test]
    fn the_instructions_equal_the_definition() {
        let run = |kernel: Kernel, src: *const u8, dst: *mut u8| {
            let args = Args { dst, src: [src; 3], advance: [0; 3], chunks: 1 };
            // SAFETY: one chunk on either side; the level was detected.
            unsafe { kernel(&args) }
        };
        let level = Level::detect();
        for first in (0..=u16::MAX).step_by(N) {
            let src: [u16; N] = std::array::from_fn(|i| first + i as u16);
            let (mut wide, mut plain) = ([0f32; N], [0f32; N]);
            run(widen(level), src.as_ptr().cast(), wide.as_mut_ptr().cast());
            run(widen(Level::Scalar), src.as_ptr().cast(), plain.as_mut_ptr().cast());
            for (a, b) in wide.iter().zip(plain) {
                assert!(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()));
            }
            // Ties, their neighbours, and NaN.
            for low in [0u32, 0xfff, 0x1000, 0x1001, 0x1fff] {
                let near = wide.map(|x| f32::from_bits(x.to_bits() | low));
                let (mut a, mut b) = ([0u16; N], [0u16; N]);
                run(narrow(level), near.as_ptr().cast(), a.as_mut_ptr().cast());
                run(narrow(Level::Scalar), near.as_ptr().cast(), b.as_mut_ptr().cast());
                assert_eq!(a, b);
            }
        }
    }
}
