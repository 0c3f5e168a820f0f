//! The functions of the raw side.

use cudarc::cublas::sys::cublasHandle_t;
use cudarc::driver::sys::{
    CUcontext, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmemPoolProps, CUmemoryPool, CUmodule, CUstream,
};
use std::ffi::{c_char, c_int, c_void};

/// A table of functions. Those in `optional` may be missing (an older driver, a stand-in).
macro_rules! functions {
    ($(#[$meta:meta])* $Table:ident in $library:path {
        $($name:ident($($arg:ty),*) = $symbol:literal;)*
    } optional {
        $($oname:ident($($oarg:ty),*) = $osymbol:literal;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub(crate) struct $Table {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) -> c_int,)*
            $(pub(crate) $oname: Option<unsafe extern "C" fn($($oarg),*) -> c_int>,)*
        }

        impl $Table {
            /// Looks all of them up. The library must be loaded: cudarc panics when it finds none.
            pub(crate) fn load() -> Self {
                // SAFETY: the library is loaded (the caller's business), and never unloaded.
                let library = unsafe { $library() };
                $Table {
                    $(
                        // SAFETY: the signature is the one in the library's header, with its enums as integers.
                        $name: unsafe { *library.get($symbol).expect(stringify!($name)) },
                    )*
                    $(
                        // SAFETY: as above.
                        $oname: unsafe { library.get($osymbol) }.ok().map(|f| *f),
                    )*
                }
            }
        }
    };
}

functions! {
    /// Functions of `libcuda`.
    Driver in cudarc::driver::sys::culib {
        driver_get_version(*mut c_int) = b"cuDriverGetVersion\0";
        device_get(*mut c_int, c_int) = b"cuDeviceGet\0";
        primary_ctx_retain(*mut CUcontext, c_int) = b"cuDevicePrimaryCtxRetain\0";
        primary_ctx_get_state(c_int, *mut u32, *mut c_int) = b"cuDevicePrimaryCtxGetState\0";
        ctx_set_current(CUcontext) = b"cuCtxSetCurrent\0";
        ctx_synchronize() = b"cuCtxSynchronize\0";
        stream_create(*mut CUstream, u32) = b"cuStreamCreate\0";
        stream_synchronize(CUstream) = b"cuStreamSynchronize\0";
        stream_wait_event(CUstream, CUevent, u32) = b"cuStreamWaitEvent\0";
        event_create(*mut CUevent, u32) = b"cuEventCreate\0";
        event_record(CUevent, CUstream) = b"cuEventRecord\0";
        event_query(CUevent) = b"cuEventQuery\0";
        event_synchronize(CUevent) = b"cuEventSynchronize\0";
        module_load_data(*mut CUmodule, *const c_void) = b"cuModuleLoadData\0";
        module_get_function(*mut CUfunction, CUmodule, *const c_char) = b"cuModuleGetFunction\0";
        launch_kernel(CUfunction, u32, u32, u32, u32, u32, u32, u32, CUstream, *mut *mut c_void, *mut *mut c_void)
            = b"cuLaunchKernel\0";
        mem_pool_create(*mut CUmemoryPool, *const CUmemPoolProps) = b"cuMemPoolCreate\0";
        mem_pool_set_attribute(CUmemoryPool, u32, *mut c_void) = b"cuMemPoolSetAttribute\0";
        mem_alloc_from_pool_async(*mut CUdeviceptr, usize, CUmemoryPool, CUstream) = b"cuMemAllocFromPoolAsync\0";
        mem_free_async(CUdeviceptr, CUstream) = b"cuMemFreeAsync\0";
        mem_host_alloc(*mut *mut c_void, usize, u32) = b"cuMemHostAlloc\0";
        mem_free_host(*mut c_void) = b"cuMemFreeHost\0";
        mem_get_info(*mut usize, *mut usize) = b"cuMemGetInfo_v2\0";
        memcpy_htod_async(CUdeviceptr, *const c_void, usize, CUstream) = b"cuMemcpyHtoDAsync_v2\0";
        memcpy_dtoh_async(*mut c_void, CUdeviceptr, usize, CUstream) = b"cuMemcpyDtoHAsync_v2\0";
        memset_d32_async(CUdeviceptr, u32, usize, CUstream) = b"cuMemsetD32Async\0";
        stream_begin_capture(CUstream, u32) = b"cuStreamBeginCapture_v2\0";
        stream_end_capture(CUstream, *mut CUgraph) = b"cuStreamEndCapture\0";
        graph_instantiate(*mut CUgraphExec, CUgraph, u64) = b"cuGraphInstantiateWithFlags\0";
        graph_launch(CUgraphExec, CUstream) = b"cuGraphLaunch\0";
    } optional {
        mem_host_register(*mut c_void, usize, u32) = b"cuMemHostRegister_v2\0";
        mem_host_unregister(*mut c_void) = b"cuMemHostUnregister\0";
        library_load_data(
            *mut *mut c_void, *const c_void, *mut u32, *mut *mut c_void, u32, *mut u32, *mut *mut c_void, u32
        ) = b"cuLibraryLoadData\0";
        library_get_kernel(*mut *mut c_void, *mut c_void, *const c_char) = b"cuLibraryGetKernel\0";
        kernel_get_function(*mut CUfunction, *mut c_void) = b"cuKernelGetFunction\0";
        library_unload(*mut c_void) = b"cuLibraryUnload\0";
        memcpy_htod(CUdeviceptr, *const c_void, usize) = b"cuMemcpyHtoD_v2\0";
        memcpy_dtoh(*mut c_void, CUdeviceptr, usize) = b"cuMemcpyDtoH_v2\0";
        memcpy_dtod_async(CUdeviceptr, CUdeviceptr, usize, CUstream) = b"cuMemcpyDtoDAsync_v2\0";
        stream_write_value(CUstream, CUdeviceptr, u32, u32) = b"cuStreamWriteValue32_v2\0";
    }
}

functions! {
    /// Functions of `libcublas`.
    Cublas in cudarc::cublas::sys::culib {
        create(*mut cublasHandle_t) = b"cublasCreate_v2\0";
        destroy(cublasHandle_t) = b"cublasDestroy_v2\0";
        set_stream(cublasHandle_t, CUstream) = b"cublasSetStream_v2\0";
        set_workspace(cublasHandle_t, *mut c_void, usize) = b"cublasSetWorkspace_v2\0";
        set_pointer_mode(cublasHandle_t, u32) = b"cublasSetPointerMode_v2\0";
        gemm_ex(
            cublasHandle_t, u32, u32, i64, i64, i64, *const c_void, *const c_void, u32, i64, *const c_void, u32, i64,
            *const c_void, *mut c_void, u32, i64, u32, c_int
        ) = b"cublasGemmEx_64\0";
        dot_ex(
            cublasHandle_t, i64, *const c_void, u32, i64, *const c_void, u32, i64, *mut c_void, u32, u32
        ) = b"cublasDotEx_64\0";
    } optional {}
}

/// cuBLASLt, which windlass has opened by then.
///
/// # Safety
/// None is needed: the other libraries' look-ups are unsafe, and this stands in their place.
unsafe fn lt_library() -> &'static libloading::Library {
    static LIBRARY: std::sync::OnceLock<libloading::Library> = std::sync::OnceLock::new();
    let open = || {
        ["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"].into_iter().find_map(|name| {
            // SAFETY: the library is loaded already, so nothing of it runs now.
            unsafe { libloading::Library::new(name) }.ok()
        })
    };
    LIBRARY.get_or_init(|| open().expect("cuBLASLt"))
}

functions! {
    /// Functions of `libcublasLt`.
    CublasLt in lt_library {
        create(*mut *mut c_void) = b"cublasLtCreate\0";
        desc_create(*mut *mut c_void, c_int, u32) = b"cublasLtMatmulDescCreate\0";
        desc_set(*mut c_void, u32, *const c_void, usize) = b"cublasLtMatmulDescSetAttribute\0";
        layout_create(*mut *mut c_void, u32, u64, u64, i64) = b"cublasLtMatrixLayoutCreate\0";
        preference_create(*mut *mut c_void) = b"cublasLtMatmulPreferenceCreate\0";
        preference_set(*mut c_void, u32, *const c_void, usize) = b"cublasLtMatmulPreferenceSetAttribute\0";
        heuristic(
            *mut c_void, *mut c_void, *mut c_void, *mut c_void, *mut c_void, *mut c_void, *mut c_void, c_int,
            *mut c_void, *mut c_int
        ) = b"cublasLtMatmulAlgoGetHeuristic\0";
        matmul(
            *mut c_void, *mut c_void, *const c_void, *const c_void, *mut c_void, *const c_void, *mut c_void,
            *const c_void, *const c_void, *mut c_void, *mut c_void, *mut c_void, *const c_void, *mut c_void, usize,
            CUstream
        ) = b"cublasLtMatmul\0";
    } optional {}
}
