//! The raw functions: by the letter of a type, in the signatures that routines share.

use super::Kind;
use cudarc::cublas::sys::cublasHandle_t;
use std::ffi::{c_int, c_void};

type In = *const c_void;
type Out = *mut c_void;
type Of<T> = *const T;

/// A function of the library: what it takes behind the handle.
macro_rules! function {
    ($($argument:ty),*) => { unsafe extern "C" fn(cublasHandle_t, $($argument),*) -> c_int };
}

/// `gemm_ex`: any types.
pub(super) type Product =
    function!(u32, u32, i64, i64, i64, In, In, u32, i64, In, u32, i64, In, Out, u32, i64, u32, c_int);
/// `gemm_strided_batched_ex`.
pub(super) type StridedProducts = function!(
    u32, u32, i64, i64, i64, In, In, u32, i64, i64, In, u32, i64, i64, In, Out, u32, i64, i64, i64, u32, c_int
);
/// `gemm_batched_ex`.
pub(super) type ListedProducts =
    function!(u32, u32, i64, i64, i64, In, In, u32, i64, In, u32, i64, In, In, u32, i64, i64, u32, c_int);
/// `gemm_grouped_batched_ex`: an array for each number of `gemm_batched_ex`.
pub(super) type GroupedProducts = function!(
    Of<u32>,
    Of<u32>,
    Of<i64>,
    Of<i64>,
    Of<i64>,
    In,
    In,
    u32,
    Of<i64>,
    In,
    u32,
    Of<i64>,
    In,
    In,
    u32,
    Of<i64>,
    i64,
    Of<i64>,
    u32
);
/// symm and hemm, whose flags are side and triangle; syr2k, her2k, syrkx and herkx, whose flags are triangle and
/// transpose.
pub(super) type TwoFactors = function!(u32, u32, i64, i64, In, In, i64, In, i64, In, Out, i64);
/// syrk and herk.
pub(super) type OneFactor = function!(u32, u32, i64, i64, In, In, i64, In, Out, i64);
/// trmm.
pub(super) type Triangle = function!(u32, u32, u32, u32, i64, i64, In, In, i64, In, i64, Out, i64);
/// trsm.
pub(super) type Solution = function!(u32, u32, u32, u32, i64, i64, In, In, i64, Out, i64);
/// trsm, batched.
pub(super) type Solutions = function!(u32, u32, u32, u32, i64, i64, In, In, i64, In, i64, i64);
/// geam.
pub(super) type Sum = function!(u32, u32, i64, i64, In, In, i64, In, In, i64, Out, i64);
/// dgmm.
pub(super) type Diagonal = function!(u32, i64, i64, In, i64, In, i64, Out, i64);
/// getrf, batched: A, pivots, infos.
pub(super) type Factors = function!(c_int, In, c_int, Out, Out, c_int);
/// getrs, batched: A, pivots, B, one info on the host.
pub(super) type Systems = function!(u32, c_int, c_int, In, c_int, In, In, c_int, *mut c_int, c_int);
/// getri, batched: A, pivots, C, infos.
pub(super) type Inverses = function!(c_int, In, c_int, In, In, c_int, Out, c_int);
/// matinv, batched: A, C, infos.
pub(super) type DirectInverses = function!(c_int, In, c_int, In, c_int, Out, c_int);

/// The function `cublas<letter><name>`, or `name` itself where that begins with `cublas`; `None` where the library (an
/// older one, the stand-in) has no such function.
///
/// # Safety
/// `F` is the function's type.
pub(super) unsafe fn function<T: Kind, F: Copy>(name: &str) -> Option<F> {
    let letter = match T::TEXT {
        "f32" => "S",
        "f64" => "D",
        "c32" => "C",
        _ => "Z",
    };
    let symbol = if name.starts_with("cublas") { format!("{name}\0") } else { format!("cublas{letter}{name}\0") };
    // SAFETY: the library is loaded, and never unloaded; the type is the caller's promise.
    unsafe { cudarc::cublas::sys::culib().get::<F>(symbol.as_bytes()) }.ok().map(|found| *found)
}
