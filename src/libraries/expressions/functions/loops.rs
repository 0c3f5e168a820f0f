//! The loops of the host, in vectors. On processors without these the interpreter runs the functions' expansion.

use super::Function;
use super::real::Real;
use super::reduction::is_far;
use super::table::{self, Binary, Unary, binary_functions, unary_functions};
use crate::libraries::expressions::host::kernels::{Args, CHUNK, Kernel, Level, chunk, result};
use crate::libraries::expressions::low::Lane;

/// One number by the form for large ones.
#[inline(never)]
fn far_of<F: Unary, T: Real>(x: T) -> T {
    F::far(x)
}

/// # Safety
/// As [`Kernel`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
unsafe fn one<F: Unary, T: Real<Mask = bool>>(args: &Args) {
    for at in 0..args.chunks {
        // SAFETY: the contract of `Kernel`.
        let (y, x): (&mut [T; CHUNK], &[T; CHUNK]) = unsafe { (result(args, at), chunk(args, 0, at)) };
        for (y, x) in y.iter_mut().zip(x) {
            *y = F::call(*x);
        }
        if F::FAR && x.iter().fold(false, |any, x| any | is_far(*x)) {
            for (y, x) in y.iter_mut().zip(x).filter(|(_, x)| is_far(**x)) {
                *y = far_of::<F, T>(*x);
            }
        }
    }
}

/// # Safety
/// As [`Kernel`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
unsafe fn two<F: Binary, T: Real<Mask = bool>>(args: &Args) {
    for at in 0..args.chunks {
        // SAFETY: the contract of `Kernel`.
        let (y, a, b): (&mut [T; CHUNK], &[T; CHUNK], &[T; CHUNK]) =
            unsafe { (result(args, at), chunk(args, 0, at), chunk(args, 1, at)) };
        for ((y, a), b) in y.iter_mut().zip(a).zip(b) {
            *y = F::call(*a, *b);
        }
    }
}

/// Where the first operand is not zero, the form for large numbers of the second; elsewhere the third.
///
/// # Safety
/// As [`Kernel`].
unsafe fn where_far<F: Unary, T: Real>(args: &Args) {
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
    };
}
binary_functions!(binary_loops);

/// The loop of a function; `None` if this level has none.
pub(in super::super) fn call(function: Function, lane: Lane, level: Level) -> Option<Kernel> {
    match level {
        Level::Vectors => unary(function, lane).or_else(|| binary(function, lane)),
        Level::Scalar => None,
    }
}
