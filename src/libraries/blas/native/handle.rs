//! A slot's cuBLAS handle.
//!
//! Each slot has one, made by the first operation that needs it (15 ms for the first of a process, 0.2 to 0.3 ms and 64
//! MiB for each further one on an H200). The stream is set once, and **then** the workspace: setting a stream drops it.

use super::super::modes::Modes;
use super::super::status;
use super::{Called, CublasFunctions, CublasTyped};
use crate::core::error::{Error, Result};
use crate::engines::cuda::{AnyThread, Native, Queue};
use crate::engines::library::{Code, CudaLibrary, LoadError, Refusal, Seat, Status, WORKSPACE};
use cudarc::cublas::sys::cublasHandle_t;
use std::sync::OnceLock;

/// cuBLAS as a library of the core.
pub(crate) struct Cublas;

// SAFETY: a handle of cuBLAS may be used from any thread, by one at a time: by the holder of its slot's lease.
unsafe impl AnyThread for cublasHandle_t {}

/// All functions of the library.
pub(crate) struct Functions {
    regular: &'static CublasFunctions,
    typed: &'static CublasTyped,
}

/// Where scalars are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(in crate::libraries::blas) enum PointerMode {
    /// Read from host memory before the call returns.
    Host = 0,
    /// Read from and written to device memory in stream order.
    Device = 1,
}

/// The handle, and the modes that are set on it; `None` if a mode is unknown, after a call that failed.
pub(crate) struct Handle {
    raw: Native<cublasHandle_t>,
    pointer: Option<PointerMode>,
    math: Option<u32>,
    atomics: Option<u32>,
}

/// What an operation needs to call the library.
#[derive(Clone, Copy)]
pub(in crate::libraries::blas) struct BlasCall {
    pub(in crate::libraries::blas) api: &'static CublasFunctions,
    pub(in crate::libraries::blas) typed: &'static CublasTyped,
    pub(in crate::libraries::blas) handle: cublasHandle_t,
}

impl CudaLibrary for Cublas {
    const NAME: &'static str = "blas";
    const STATUS: &'static [Status] = status::STATUS;
    type Api = Functions;
    type Handle = Handle;
    type Shared = ();

    fn kernels() -> &'static [&'static crate::engines::cuda::Ptx] {
        static ALL: &[&crate::engines::cuda::Ptx] = &[&super::super::gemm_i8::KERNEL, &super::super::level3::PIVOTS];
        ALL
    }

    fn load() -> Result<&'static Functions, LoadError> {
        static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
        if let Some(functions) = FUNCTIONS.get() {
            return Ok(functions);
        }
        let (regular, typed) = (CublasFunctions::load()?, CublasTyped::load()?);
        Ok(FUNCTIONS.get_or_init(|| Functions { regular, typed }))
    }

    fn create(api: &'static Functions, seat: &mut Seat<'_>) -> Result<Handle, Refusal> {
        let api = api.regular;
        let mut raw: cublasHandle_t = std::ptr::null_mut();
        // SAFETY: `raw` is valid for the write; the context is current.
        unsafe { api.create(&mut raw) }.by("cublasCreate")?;
        let bind = || {
            // SAFETY: handle and stream are alive; the stream first, because it drops the workspace.
            unsafe { api.set_stream(raw, seat.stream()) }.by("cublasSetStream")?;
            // Without a workspace of its own the library uses its default pool: slower, not wrong.
            let Some(address) = seat.workspace() else { return Ok(()) };
            // SAFETY: the workspace lives as long as the handle, and is used on this stream only.
            unsafe { api.set_workspace(raw, address as *mut _, WORKSPACE) }.by("cublasSetWorkspace")
        };
        let bound: Result<(), Refusal> = { bind }();
        if let Err(refusal) = bound {
            // SAFETY: made above, not used yet.
            let _ = unsafe { api.destroy(raw) };
            return Err(refusal);
        }
        Ok(Handle { raw: Native(raw), pointer: Some(PointerMode::Host), math: Some(0), atomics: Some(0) })
    }

    fn destroy(api: &'static Functions, handle: Handle) -> Code {
        // SAFETY: made by `create`, destroyed once, idle. It synchronizes the device.
        unsafe { api.regular.destroy(handle.raw.0) }
    }
}

/// Sets a mode, unless it has this value already. During the call, and after one that failed, the mode is unknown.
fn set<V: Copy + PartialEq>(known: &mut Option<V>, value: V, call: impl FnOnce(V) -> Code) -> Code {
    if *known == Some(value) {
        return Code::SUCCESS;
    }
    *known = None;
    let code = call(value);
    if code.is_success() {
        *known = Some(value);
    }
    code
}

/// The slot's handle, set to the pointer mode `pointer` and to `modes`, for a call that enqueues work.
pub(in crate::libraries::blas) fn blas(queue: &mut Queue<'_>, pointer: PointerMode, modes: Modes) -> Result<BlasCall> {
    let call = blas_set(queue, pointer, modes)?;
    queue.touch();
    Ok(call)
}

/// Sets each mode only if the handle's current one differs or is unknown.
fn blas_set(queue: &mut Queue<'_>, pointer: PointerMode, modes: Modes) -> Result<BlasCall> {
    let (api, handle) = queue.consult::<Cublas>()?;
    let call = BlasCall { api: api.regular, typed: api.typed, handle: handle.raw.0 };
    let (math, atomics) = (modes.math_code(), modes.atomics_code());
    // SAFETY: the handle is this slot's, which is leased.
    let code = set(&mut handle.pointer, pointer, |p| unsafe { call.api.set_pointer_mode(call.handle, p as u32) });
    if !code.is_success() {
        return blas_status(queue, "cublasSetPointerMode", code).map(|()| call);
    }
    // SAFETY: as above.
    let code = set(&mut handle.math, math, |math| unsafe { call.api.set_math_mode(call.handle, math) });
    if !code.is_success() {
        return math_status(queue, modes, code).map(|()| call);
    }
    // SAFETY: as above.
    let code = set(&mut handle.atomics, atomics, |a| unsafe { call.api.set_atomics_mode(call.handle, a) });
    blas_status(queue, "cublasSetAtomicsMode", code).map(|()| call)
}

/// The result of setting a math mode: a mode that the library does not know is unsupported.
#[cold]
fn math_status(queue: &Queue<'_>, modes: Modes, code: Code) -> Result<()> {
    blas_status(queue, "cublasSetMathMode", code).map_err(|error| match (code.0, error) {
        (status::INVALID_VALUE, Error::LibraryError { .. }) => {
            Error::unsupported(format!("this cuBLAS has no math mode {:?}", modes.math))
        }
        (_, error) => error,
    })
}

/// Makes one call of a typed routine. If the library lacks the routine, the stream was not touched.
pub(in crate::libraries::blas) fn blas_typed(
    queue: &mut Queue<'_>,
    pointer: PointerMode,
    modes: Modes,
    call: impl FnOnce(&CublasTyped, cublasHandle_t) -> Called,
) -> Result<()> {
    let blas = blas_set(queue, pointer, modes)?;
    let called = call(blas.typed, blas.handle);
    if called.code.is_some() {
        queue.touch();
    }
    blas_called(queue, called)
}

/// Computes LU factors of `count` matrices whose addresses are in a table, in default modes, for other libraries.
///
/// # Safety
/// The matrices, `n` pivots for each and one info for each lie in memory that this dispatch may write.
#[cfg(feature = "solver")]
pub(in crate::libraries) unsafe fn batched_lu(
    queue: &mut Queue<'_>,
    letter: crate::core::element::Letter,
    (n, lda, count): (i32, i32, i32),
    table: u64,
    pivots: u64,
    info: u64,
) -> Result<()> {
    // SAFETY: the caller's promise.
    blas_typed(queue, PointerMode::Host, Modes::DEFAULT, |api, handle| unsafe {
        api.getrf_batched(letter, handle, n, table as *const _, lda, pivots as *mut _, info as *mut _, count)
    })
}

/// `C = alpha * op(A) * op(B) + beta * C`, in default modes, for other libraries: takes addresses with leading
/// dimensions, and for A and B whether `op` is the adjoint. C is `m x n`, and each element is a sum of `k` products.
///
/// # Safety
/// The matrices lie in memory that this dispatch may read, or write for C.
#[cfg(feature = "solver")]
pub(in crate::libraries) unsafe fn product<T: crate::libraries::blas::BlasElement>(
    queue: &mut Queue<'_>,
    (adjoint_a, adjoint_b): (bool, bool),
    (alpha, beta): (f64, f64),
    (m, n, k): (usize, usize, usize),
    [(a, lda), (b, ldb), (c, ldc)]: [(u64, usize); 3],
) -> Result<()> {
    use super::super::scalar::Scalar;
    use crate::core::element::DType;
    use num_complex::Complex;
    let [m, n, k, lda, ldb, ldc] = [m, n, k, lda, ldb, ldc].map(|size| i64::try_from(size).unwrap_or(i64::MAX));
    // A routine of real numbers reads only the first part of a complex scalar.
    let single = [alpha, beta].map(|x| Scalar::new(Complex::<f32>::new(x as f32, 0.0), &None));
    let double = [alpha, beta].map(|x| Scalar::new(Complex::<f64>::new(x, 0.0), &None));
    let [alpha, beta] = match T::DTYPE {
        DType::F32 | DType::C32 => single.each_ref().map(Scalar::pointer),
        _ => double.each_ref().map(Scalar::pointer),
    };
    // For real types the adjoint is a transpose.
    let op = |adjoint: bool| match (adjoint, T::DTYPE.is_complex()) {
        (false, _) => 0,
        (true, false) => 1,
        (true, true) => 2,
    };
    // SAFETY: the caller's promise; scalars in host memory are read before the call returns.
    blas_typed(queue, PointerMode::Host, Modes::DEFAULT, |api, handle| unsafe {
        let (a, b, c) = (a as *const _, b as *const _, c as *mut _);
        api.gemm(T::LETTER, handle, op(adjoint_a), op(adjoint_b), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
    })
}

/// `C = op(A) * op(B) + beta * C` of f32 or f64, for other libraries: takes addresses with leading dimensions, for A and B whether `op` is
/// the transpose, and whether factors of f32 may be rounded to TF32. C is `m x n`, and each element is a sum of `k` products.
///
/// # Safety
/// The matrices lie in memory that this dispatch may read, or write for C.
#[cfg(feature = "dnn")]
pub(in crate::libraries) unsafe fn real_product(
    queue: &mut Queue<'_>,
    (dtype, tf32): (crate::core::element::DType, bool),
    (turned_a, turned_b): (bool, bool),
    beta: f64,
    (m, n, k): (usize, usize, usize),
    [(a, lda), (b, ldb), (c, ldc)]: [(u64, usize); 3],
) -> Result<()> {
    use super::super::scalar::Scalar;
    use crate::core::element::DType;
    let [m, n, k, lda, ldb, ldc] = [m, n, k, lda, ldb, ldc].map(|size| i64::try_from(size).unwrap_or(i64::MAX));
    let single = [1.0, beta].map(|x| Scalar::new(x as f32, &None));
    let double = [1.0, beta].map(|x| Scalar::new(x, &None));
    // `cudaDataType_t` and `cublasComputeType_t`.
    let (of, compute, [alpha, beta]) = match dtype {
        DType::F64 => (1, 70, double.each_ref().map(Scalar::pointer)),
        _ => (0, if tf32 { 77 } else { 68 }, single.each_ref().map(Scalar::pointer)),
    };
    let BlasCall { api, handle, .. } = blas(queue, PointerMode::Host, Modes::DEFAULT)?;
    let (a, b, c) = (a as *const _, b as *const _, c as *mut _);
    // SAFETY: the handle is this slot's, whose lease is held; the caller's promise; scalars in host memory are read before the call
    // returns.
    let code = unsafe {
        let (op_a, op_b) = (turned_a.into(), turned_b.into());
        api.gemm_ex(handle, op_a, op_b, m, n, k, alpha, a, of, lda, b, of, ldb, beta, c, of, ldc, compute, -1)
    };
    blas_status(queue, "cublasGemmEx_64", code)
}

/// The result of a call of a function that not every cuBLAS has.
pub(in crate::libraries::blas) fn blas_called(queue: &Queue<'_>, called: Called) -> Result<()> {
    match called.code {
        Some(code) => blas_status(queue, called.name, code),
        None if called.name.is_empty() => Err(Error::unsupported("cuBLAS has no such routine for this type")),
        None => Err(Error::unsupported(format!("the cuBLAS of this machine has no function {}", called.name))),
    }
}

/// Converts a status to a result.
pub(in crate::libraries::blas) fn blas_status(queue: &Queue<'_>, call: &str, code: Code) -> Result<()> {
    queue.status::<Cublas>(call, code)
}
