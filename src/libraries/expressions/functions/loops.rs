//! The loops of the host, in vectors. On processors without these the interpreter runs the functions' expansion.
//!
//! A NaN that they give is the one that is stored: most results of functions are.

use super::Function;
use super::real::Real;
use super::reduction::is_far;
use super::table::{self, Binary, Unary, binary_functions, unary_functions};
use crate::libraries::expressions::host::kernels::{Args, CHUNK, Canonical, Kernel, Level, chunk, result};
use crate::libraries::expressions::low::Lane;

/// A number of the host.
trait Number: Real<Mask = bool> + Canonical {}
impl<T: Real<Mask = bool> + Canonical> Number for T {}

/// One number by the form for large ones.
#[inline(never)]
fn far_of<F: Unary, T: Number>(x: T) -> T {
    F::far(x)
}

/// # Safety
/// As [`Kernel`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
unsafe fn one<F: Unary, T: Number>(args: &Args) {
    // SAFETY: the caller's promise.
    unsafe { of_one::<F, T>(args) }
}

/// The same in vectors of 512 bits: all is rounded alike, and so the bits are.
///
/// # Safety
/// As [`Kernel`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))]
unsafe fn one_wide<F: Unary, T: Number>(args: &Args) {
    // SAFETY: the caller's promise.
    unsafe { of_one::<F, T>(args) }
}

/// # Safety
/// As [`Kernel`].
#[inline(always)]
unsafe fn of_one<F: Unary, T: Number>(args: &Args) {
    for at in 0..args.chunks {
        // SAFETY: the contract of `Kernel`.
        let (y, x): (&mut [T; CHUNK], &[T; CHUNK]) = unsafe { (result(args, at), chunk(args, 0, at)) };
        for (y, x) in y.iter_mut().zip(x) {
            *y = F::call(*x).canonical();
        }
        if F::FAR && x.iter().fold(false, |any, x| any | is_far(*x)) {
            for (y, x) in y.iter_mut().zip(x).filter(|(_, x)| is_far(**x)) {
                *y = far_of::<F, T>(*x).canonical();
            }
        }
    }
}

/// # Safety
/// As [`Kernel`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
unsafe fn two<F: Binary, T: Number>(args: &Args) {
    // SAFETY: the caller's promise.
    unsafe { of_two::<F, T>(args) }
}

/// As [`one_wide`].
///
/// # Safety
/// As [`Kernel`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))]
unsafe fn two_wide<F: Binary, T: Number>(args: &Args) {
    // SAFETY: the caller's promise.
    unsafe { of_two::<F, T>(args) }
}

/// # Safety
/// As [`Kernel`].
#[inline(always)]
unsafe fn of_two<F: Binary, T: Number>(args: &Args) {
    for at in 0..args.chunks {
        // SAFETY: the contract of `Kernel`.
        let (y, a, b): (&mut [T; CHUNK], &[T; CHUNK], &[T; CHUNK]) =
            unsafe { (result(args, at), chunk(args, 0, at), chunk(args, 1, at)) };
        for ((y, a), b) in y.iter_mut().zip(a).zip(b) {
            *y = F::call(*a, *b).canonical();
        }
    }
}

/// Where the first operand is not zero, the form for large numbers of the second; elsewhere the third.
///
/// # Safety
/// As [`Kernel`].
unsafe fn where_far<F: Unary, T: Number>(args: &Args) {
    for at in 0..args.chunks {
        // SAFETY: the contract of `Kernel`.
        let (y, mask, x, near): (&mut [T; CHUNK], &[u8; CHUNK], &[T; CHUNK], &[T; CHUNK]) =
            unsafe { (result(args, at), chunk(args, 0, at), chunk(args, 1, at), chunk(args, 2, at)) };
        for (((y, mask), x), near) in y.iter_mut().zip(mask).zip(x).zip(near) {
            *y = if *mask != 0 { far_of::<F, T>(*x) } else { *near };
        }
    }
}

macro_rules! unary_loops {
    ($($type:ident $call:path $(, $far:path)?;)*) => {
        fn unary(function: Function, lane: Lane) -> Option<Kernel> {
            match (function, lane) {
                $((Function::$type, Lane::F32) => Some(one::<table::$type, f32>),
                (Function::$type, _) => Some(one::<table::$type, f64>),)*
                _ => None,
            }
        }

        fn unary_wide(function: Function, lane: Lane) -> Option<Kernel> {
            match (function, lane) {
                $((Function::$type, Lane::F32) => Some(one_wide::<table::$type, f32>),
                (Function::$type, _) => Some(one_wide::<table::$type, f64>),)*
                _ => None,
            }
        }

        /// The loop of a function's form for large numbers.
        pub(in super::super) fn far(function: Function, lane: Lane) -> Option<Kernel> {
            match (function, lane) {
                $($((Function::$type, Lane::F32) => { let _ = stringify!($far); Some(where_far::<table::$type, f32>) }
                (Function::$type, _) => Some(where_far::<table::$type, f64>),)?)*
                _ => None,
            }
        }
    };
}
unary_functions!(unary_loops);

macro_rules! binary_loops {
    ($($type:ident $call:path;)*) => {
        fn binary(function: Function, lane: Lane) -> Option<Kernel> {
            match (function, lane) {
                $((Function::$type, Lane::F32) => Some(two::<table::$type, f32>),
                (Function::$type, _) => Some(two::<table::$type, f64>),)*
                _ => None,
            }
        }

        fn binary_wide(function: Function, lane: Lane) -> Option<Kernel> {
            match (function, lane) {
                $((Function::$type, Lane::F32) => Some(two_wide::<table::$type, f32>),
                (Function::$type, _) => Some(two_wide::<table::$type, f64>),)*
                _ => None,
            }
        }
    };
}
binary_functions!(binary_loops);

/// The loop of a function; `None` if this level has none.
pub(in super::super) fn call(function: Function, lane: Lane, level: Level) -> Option<Kernel> {
    match level {
        Level::Wide => unary_wide(function, lane).or_else(|| binary_wide(function, lane)),
        Level::Vectors => unary(function, lane).or_else(|| binary(function, lane)),
        Level::Scalar => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! all { ($($type:ident $call:path $(, $far:path)?;)*) => { [$(Function::$type),*] } }

    /// The results of both levels for numbers of random bits, the second of which are the first ones in reverse.
    fn results<T: Real<Mask = bool> + PartialEq>(kernels: [Kernel; 2], numbers: &[[T; CHUNK]]) -> [Vec<T>; 2] {
        kernels.map(|kernel| {
            let mut to = numbers.to_vec();
            let turned: Vec<[T; CHUNK]> = numbers.iter().rev().copied().collect();
            let src = [numbers.as_ptr().cast(), turned.as_ptr().cast(), std::ptr::null()];
            let advance = [size_of::<[T; CHUNK]>(), size_of::<[T; CHUNK]>(), 0];
            // SAFETY: so many chunks on either side; the CPU has both levels.
            unsafe { kernel(&Args { dst: to.as_mut_ptr().cast(), src, advance, chunks: numbers.len() }) };
            to.concat()
        })
    }

    #[test]
    fn wider_vectors_make_the_same_bits() {
        if Level::detect() < Level::Wide {
            return;
        }
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state
        };
        // Bits of all kinds, and numbers of usual sizes.
        let singles: Vec<[f32; CHUNK]> = (0..256)
            .map(|k| {
                std::array::from_fn(|_| match k % 2 {
                    0 => f32::from_bits((next() >> 32) as u32),
                    _ => (next() >> 40) as f32 / 65536.0 - 128.0,
                })
            })
            .collect();
        let doubles: Vec<[f64; CHUNK]> = (0..256)
            .map(|k| {
                std::array::from_fn(|_| match k % 2 {
                    0 => f64::from_bits(next()),
                    _ => (next() >> 11) as f64 / (1u64 << 45) as f64 - 128.0,
                })
            })
            .collect();
        for function in unary_functions!(all).into_iter().chain(binary_functions!(all)) {
            let of = |lane| [Level::Vectors, Level::Wide].map(|level| call(function, lane, level).unwrap());
            let [narrow, wide] = results(of(Lane::F32), &singles);
            let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            assert!(narrow.iter().zip(&wide).all(same), "{function:?} of f32");
            let [narrow, wide] = results(of(Lane::F64), &doubles);
            let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            assert!(narrow.iter().zip(&wide).all(same), "{function:?} of f64");
        }
    }
}
