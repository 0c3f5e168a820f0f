//! The floor: the driver's and cuBLAS's own functions, called through plain function pointers.
//!
//! Same GPU, same primary context, own non-blocking streams, and everything set as windlass sets it: events without
//! timing, a pool of its own that gives nothing back, the same workspace, math mode and pointer mode. The functions are
//! looked up once, through the libraries that windlass has opened (by then their names are known to the loader, so the
//! bare names that cudarc tries are found). Statuses are integers here: a number that the bindings do not know must not
//! become an enum.

pub(crate) use crate::functions::Cublas;
use crate::functions::Driver;
use cudarc::cublas::sys::cublasHandle_t;
use cudarc::driver::sys::{CUcontext, CUdeviceptr, CUevent, CUfunction, CUmemPoolProps, CUmemoryPool, CUstream};
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

/// Stops the section when a raw call failed.
#[track_caller]
#[inline(always)]
pub(crate) fn ok(code: c_int) {
    assert_eq!(code, 0, "a raw call failed");
}

/// Flags of an event: no timing; no timing and a wait that sleeps.
pub(crate) const NO_TIMING: u32 = 2;
pub(crate) const NO_TIMING_BLOCKING: u32 = 3;
/// What windlass gives each cuBLAS handle.
pub(crate) const WORKSPACE: usize = 32 << 20;

/// The raw side: the context, the functions, the kernels and a pool.
#[derive(Clone, Copy)]
pub(crate) struct Raw {
    pub(crate) driver: Driver,
    context: CUcontext,
    device: c_int,
    pub(crate) empty: CUfunction,
    pub(crate) add_one: CUfunction,
    pub(crate) sixteen: CUfunction,
    pub(crate) busy: CUfunction,
    pub(crate) pool: CUmemoryPool,
}

// SAFETY: addresses of objects of the driver, which may be used from any thread.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

impl Raw {
    /// On the primary context of GPU 0, which stays current for the calling thread. A windlass device must be open.
    pub(crate) fn open(kernels: &CStr) -> Self {
        let driver = Driver::load();
        let (mut device, mut context, mut module) = (0, null_mut(), null_mut());
        // SAFETY: all pointers are valid for their writes; the driver is initialised, because a device is open.
        unsafe {
            ok((driver.device_get)(&mut device, 0));
            ok((driver.primary_ctx_retain)(&mut context, device));
            ok((driver.ctx_set_current)(context));
            ok((driver.module_load_data)(&mut module, kernels.as_ptr().cast()));
        }
        let function = |name: &CStr| {
            let mut function = null_mut();
            // SAFETY: as above; the module stays loaded.
            ok(unsafe { (driver.module_get_function)(&mut function, module, name.as_ptr()) });
            function
        };
        let (empty, add_one, busy) = (function(c"empty"), function(c"add_one_f32"), function(c"busy"));
        let sixteen = function(c"sixteen");
        let pool = make_pool(&driver, device);
        Raw { driver, context, device, empty, add_one, sixteen, busy, pool }
    }

    /// The context is current for the calling thread.
    pub(crate) fn enter(&self) {
        // SAFETY: retained, never released.
        ok(unsafe { (self.driver.ctx_set_current)(self.context) });
    }

    /// No context is current for the calling thread, as on any thread that knows nothing of CUDA.
    pub(crate) fn leave(&self) {
        // SAFETY: null is allowed.
        ok(unsafe { (self.driver.ctx_set_current)(null_mut()) });
    }

    /// Waits until the whole context is idle.
    pub(crate) fn settle(&self) {
        // SAFETY: the context is current.
        ok(unsafe { (self.driver.ctx_synchronize)() });
    }

    /// The driver's version and the primary context's flags.
    pub(crate) fn about(&self) -> (c_int, u32) {
        let (mut version, mut flags, mut active) = (0, 0, 0);
        // SAFETY: the pointers are valid for the writes.
        unsafe {
            ok((self.driver.driver_get_version)(&mut version));
            ok((self.driver.primary_ctx_get_state)(self.device, &mut flags, &mut active));
        }
        (version, flags)
    }

    /// Free bytes of the GPU.
    pub(crate) fn free_bytes(&self) -> usize {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are valid for the writes.
        ok(unsafe { (self.driver.mem_get_info)(&mut free, &mut total) });
        free
    }

    /// A non-blocking stream.
    pub(crate) fn stream(&self) -> CUstream {
        let mut stream = null_mut();
        // SAFETY: the pointer is valid for the write.
        ok(unsafe { (self.driver.stream_create)(&mut stream, 1) });
        stream
    }

    pub(crate) fn event(&self, flags: u32) -> CUevent {
        let mut event = null_mut();
        // SAFETY: the pointer is valid for the write.
        ok(unsafe { (self.driver.event_create)(&mut event, flags) });
        event
    }

    #[inline(always)]
    pub(crate) fn launch(&self, function: CUfunction, stream: CUstream, args: &mut [*mut c_void]) {
        // SAFETY: one thread of a kernel of ours, with the arguments that it has.
        ok(unsafe {
            (self.driver.launch_kernel)(function, 1, 1, 1, 1, 1, 1, 0, stream, args.as_mut_ptr(), null_mut())
        });
    }

    /// The empty kernel.
    #[inline(always)]
    pub(crate) fn launch_empty(&self, stream: CUstream) {
        self.launch(self.empty, stream, &mut []);
    }

    /// The kernel that runs for so long.
    pub(crate) fn launch_busy(&self, stream: CUstream, mut nanoseconds: u64) {
        self.launch(self.busy, stream, &mut [(&raw mut nanoseconds).cast()]);
    }

    #[inline(always)]
    pub(crate) fn record(&self, event: CUevent, stream: CUstream) {
        // SAFETY: both are alive.
        ok(unsafe { (self.driver.event_record)(event, stream) });
    }

    /// Waits as the event's flags say.
    #[inline(always)]
    pub(crate) fn synchronize(&self, event: CUevent) {
        // SAFETY: the event is alive.
        ok(unsafe { (self.driver.event_synchronize)(event) });
    }

    /// Whether it is over.
    #[inline(always)]
    pub(crate) fn is_past(&self, event: CUevent) -> bool {
        const NOT_READY: c_int = 600;
        // SAFETY: the event is alive.
        let code = unsafe { (self.driver.event_query)(event) };
        assert!(code == 0 || code == NOT_READY, "cuEventQuery answered {code}");
        code == 0
    }

    #[inline(always)]
    pub(crate) fn alloc(&self, bytes: usize, stream: CUstream) -> CUdeviceptr {
        let mut address = 0;
        // SAFETY: the pointer is valid for the write; pool and stream are alive.
        ok(unsafe { (self.driver.mem_alloc_from_pool_async)(&mut address, bytes, self.pool, stream) });
        address
    }

    #[inline(always)]
    pub(crate) fn free(&self, address: CUdeviceptr, stream: CUstream) {
        // SAFETY: from `alloc`, freed once, behind its uses.
        ok(unsafe { (self.driver.mem_free_async)(address, stream) });
    }

    /// Fills `count` words of 32 bits with zeros.
    #[inline(always)]
    pub(crate) fn zero(&self, address: CUdeviceptr, count: usize, stream: CUstream) {
        // SAFETY: the memory holds that many words.
        ok(unsafe { (self.driver.memset_d32_async)(address, 0, count, stream) });
    }

    /// Pinned memory, touched.
    pub(crate) fn pinned(&self, bytes: usize) -> *mut u8 {
        let mut at = null_mut();
        // SAFETY: valid for the write; then the bytes are ours.
        unsafe {
            ok((self.driver.mem_host_alloc)(&mut at, bytes, 1));
            at.cast::<u8>().write_bytes(0, bytes);
        }
        at.cast()
    }

    /// Frees pinned memory.
    pub(crate) fn free_pinned(&self, at: *mut u8) {
        // SAFETY: from `pinned`, freed once, in no use.
        ok(unsafe { (self.driver.mem_free_host)(at.cast()) });
    }

    /// Registers memory with the driver, and takes that back. False where the driver has no such calls.
    pub(crate) fn register(&self, memory: &mut [u8]) -> bool {
        let (Some(register), Some(unregister)) = (self.driver.mem_host_register, self.driver.mem_host_unregister)
        else {
            return false;
        };
        // SAFETY: the caller's memory, which no copy uses.
        unsafe {
            ok(register(memory.as_mut_ptr().cast(), memory.len(), 1));
            ok(unregister(memory.as_mut_ptr().cast()));
        }
        true
    }

    /// Loads a text of one kernel as a library, independent of contexts, and unloads it. False where the driver has no such
    /// calls.
    pub(crate) fn library(&self, text: &CStr, name: &CStr) -> bool {
        let Driver { library_load_data, library_get_kernel, kernel_get_function, library_unload, .. } = self.driver;
        let (Some(load), Some(find), Some(function_of), Some(unload)) =
            (library_load_data, library_get_kernel, kernel_get_function, library_unload)
        else {
            return false;
        };
        let (mut library, mut kernel, mut function) = (null_mut(), null_mut(), null_mut());
        let none = || (null_mut(), null_mut());
        let ((options, values), (more, others)) = (none(), none());
        // SAFETY: all pointers are valid for their writes; the text and the name end with a zero; there are no options.
        unsafe {
            ok(load(&mut library, text.as_ptr().cast(), options, values, 0, more, others, 0));
            ok(find(&mut kernel, library, name.as_ptr()));
            ok(function_of(&mut function, kernel));
            ok(unload(library));
        }
        true
    }

    /// Device memory that holds `data`.
    pub(crate) fn upload<T: bytemuck::Pod>(&self, data: &[T], stream: CUstream) -> Memory {
        let memory = Memory::new(self, size_of_val(data), stream);
        let staging = self.pinned(size_of_val(data));
        // SAFETY: the staging block is as long as `data`; it is freed when the copy is over.
        unsafe {
            staging.copy_from_nonoverlapping(data.as_ptr().cast(), size_of_val(data));
            ok((self.driver.memcpy_htod_async)(memory.address, staging.cast(), size_of_val(data), stream));
            ok((self.driver.stream_synchronize)(stream));
            ok((self.driver.mem_free_host)(staging.cast()));
        }
        memory
    }

    /// Copies one piece of device memory over another of the same length, and waits.
    pub(crate) fn copy(&self, from: &Memory, to: &Memory, stream: CUstream) {
        assert_eq!(from.bytes, to.bytes);
        let copy = self.driver.memcpy_dtod_async.expect("cuMemcpyDtoDAsync");
        // SAFETY: both are as long as the copy, and alive until it is over.
        unsafe {
            ok(copy(to.address, from.address, from.bytes, stream));
            ok((self.driver.stream_synchronize)(stream));
        }
    }

    /// What device memory holds.
    pub(crate) fn download<T: bytemuck::Pod>(&self, memory: &Memory) -> Vec<T> {
        let mut data = vec![T::zeroed(); memory.bytes / size_of::<T>()];
        let staging = self.pinned(memory.bytes);
        // SAFETY: the staging block is as long as the memory, and read when the copy is over.
        unsafe {
            ok((self.driver.memcpy_dtoh_async)(staging.cast(), memory.address, memory.bytes, memory.stream));
            ok((self.driver.stream_synchronize)(memory.stream));
            data.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(staging, memory.bytes);
            ok((self.driver.mem_free_host)(staging.cast()));
        }
        data
    }
}

/// A pool with the properties of windlass's own.
fn make_pool(driver: &Driver, device: c_int) -> CUmemoryPool {
    const REUSE_ALLOW_INTERNAL_DEPENDENCIES: u32 = 3;
    const RELEASE_THRESHOLD: u32 = 4;
    let mut pool = null_mut();
    let (mut threshold, mut internal) = (u64::MAX, 0i32);
    let create = |pool: &mut CUmemoryPool, handles: u32| {
        // SAFETY: a plain C struct for which zero is a value of every field; the enums are written as integers.
        unsafe {
            let mut properties: CUmemPoolProps = std::mem::zeroed();
            (&raw mut properties.allocType).cast::<u32>().write(1);
            (&raw mut properties.handleTypes).cast::<u32>().write(handles);
            (&raw mut properties.location).cast::<u32>().write(1);
            (&raw mut properties.location).cast::<c_int>().add(1).write(device);
            (driver.mem_pool_create)(pool, &properties)
        }
    };
    if create(&mut pool, 1) != 0 {
        ok(create(&mut pool, 0));
    }
    // SAFETY: the attributes have these types.
    unsafe {
        ok((driver.mem_pool_set_attribute)(pool, RELEASE_THRESHOLD, (&raw mut threshold).cast()));
        ok((driver.mem_pool_set_attribute)(pool, REUSE_ALLOW_INTERNAL_DEPENDENCIES, (&raw mut internal).cast()));
    }
    pool
}

/// Device memory of the raw side.
pub(crate) struct Memory {
    pub(crate) address: CUdeviceptr,
    pub(crate) bytes: usize,
    stream: CUstream,
    raw: Raw,
}

impl Memory {
    pub(crate) fn new(raw: &Raw, bytes: usize, stream: CUstream) -> Self {
        Memory { address: raw.alloc(bytes, stream), bytes, stream, raw: *raw }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.raw.enter();
        self.raw.free(self.address, self.stream);
    }
}

/// A cuBLAS handle as windlass makes one: the stream first, then a workspace of its own.
pub(crate) struct Blas {
    pub(crate) api: Cublas,
    pub(crate) handle: cublasHandle_t,
    _workspace: Memory,
}

impl Blas {
    pub(crate) fn new(raw: &Raw, stream: CUstream) -> Self {
        let (api, mut handle) = (Cublas::load(), null_mut());
        let workspace = Memory::new(raw, WORKSPACE, stream);
        // SAFETY: the pointer is valid for the write; handle, stream and workspace live as long as this object.
        unsafe {
            ok((api.create)(&mut handle));
            ok((api.set_stream)(handle, stream));
            ok((api.set_workspace)(handle, workspace.address as *mut c_void, WORKSPACE));
        }
        Blas { api, handle, _workspace: workspace }
    }

    /// Scalars on the host (0) or on the device (1).
    pub(crate) fn pointer_mode(&self, mode: u32) {
        // SAFETY: the handle is alive.
        ok(unsafe { (self.api.set_pointer_mode)(self.handle, mode) });
    }

    /// `C = A * B` of square matrices; `codes` are the types of the matrices and of the computation.
    #[inline(always)]
    pub(crate) fn gemm<S>(&self, n: usize, codes: (u32, u32), one: &S, zero: &S, [a, b, c]: [&Memory; 3]) {
        let (n, (element, compute)) = (n as i64, codes);
        let (a, b, c) = (a.address as *const c_void, b.address as *const c_void, c.address as *mut c_void);
        let (one, zero) = ((&raw const *one).cast(), (&raw const *zero).cast());
        // SAFETY: the matrices hold n x n elements; the scalars are read before the call returns.
        ok(unsafe {
            (self.api.gemm_ex)(
                self.handle,
                0,
                0,
                n,
                n,
                n,
                one,
                a,
                element,
                n,
                b,
                element,
                n,
                zero,
                c,
                element,
                n,
                compute,
                -1,
            )
        });
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once; the library waits for its work itself.
        let _ = unsafe { (self.api.destroy)(self.handle) };
    }
}
