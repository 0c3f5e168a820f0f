//! The raw functions: by the letter of a type, in the signatures that routines share.

use super::Kind;
use cudarc::cublas::sys::cublasHandle_t;
use std::ffi::{c_int, c_void};

type In = *const c_void;
type Out = *mut c_void;

/// `gemm_ex`: any types.
pub(super) type Product = unsafe extern "C" fn(
    cublasHandle_t,
    u32,
    u32,
    i64,
    i64,
    i64,
    In,
    In,
    u32,
    i64,
    In,
    u32,
    i64,
    In,
    Out,
    u32,
    i64,
    u32,
    c_int,
) -> c_int;
/// `gemm_strided_batched_ex`.
pub(super) type StridedProducts = unsafe extern "C" fn(
    cublasHandle_t,
    u32,
    u32,
    i64,
    i64,
    i64,
    In,
    In,
    u32,
    i64,
    i64,
    In,
    u32,
    i64,
    i64,
    In,
    Out,
    u32,
    i64,
    i64,
    i64,
    u32,
    c_int,
) -> c_int;
/// `gemm_batched_ex`.
pub(super) type ListedProducts = unsafe extern "C" fn(
    cublasHandle_t,
    u32,
    u32,
    i64,
    i64,
    i64,
    In,
    In,
    u32,
    i64,
    In,
    u32,
    i64,
    In,
    In,
    u32,
    i64,
    i64,
    u32,
    c_int,
) -> c_int;
/// `gemm_grouped_batched_ex`.
pub(super) type GroupedProducts = unsafe extern "C" fn(
    cublasHandle_t,
    *const u32,
    *const u32,
    *const i64,
    *const i64,
    *const i64,
    In,
    In,
    u32,
    *const i64,
    In,
    u32,
    *const i64,
    In,
    In,
    u32,
    *const i64,
    i64,
    *const i64,
    u32,
) -> c_int;
/// symm and hemm, whose flags are side and triangle; syr2k, her2k, syrkx and herkx, whose flags are triangle and
/// transpose.
pub(super) type TwoFactors =
    unsafe extern "C" fn(cublasHandle_t, u32, u32, i64, i64, In, In, i64, In, i64, In, Out, i64) -> c_int;
/// syrk and herk.
pub(super) type OneFactor =
    unsafe extern "C" fn(cublasHandle_t, u32, u32, i64, i64, In, In, i64, In, Out, i64) -> c_int;
/// trmm.
pub(super) type Triangle =
    unsafe extern "C" fn(cublasHandle_t, u32, u32, u32, u32, i64, i64, In, In, i64, In, i64, Out, i64) -> c_int;
/// trsm.
pub(super) type Solution =
    unsafe extern "C" fn(cublasHandle_t, u32, u32, u32, u32, i64, i64, In, In, i64, Out, i64) -> c_int;
/// trsm, batched.
pub(super) type Solutions =
    unsafe extern "C" fn(cublasHandle_t, u32, u32, u32, u32, i64, i64, In, In, i64, In, i64, i64) -> c_int;
/// geam.
pub(super) type Sum =
    unsafe extern "C" fn(cublasHandle_t, u32, u32, i64, i64, In, In, i64, In, In, i64, Out, i64) -> c_int;
/// dgmm.
pub(super) type Diagonal = unsafe extern "C" fn(cublasHandle_t, u32, i64, i64, In, i64, In, i64, Out, i64) -> c_int;

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
