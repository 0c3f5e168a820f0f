//! cuDNN 9: handles, and the backend of graphs. The same names and signatures in every 9.x.

use crate::engines::cuda::{AnyThread, opaque_handles};
use crate::engines::library::function_table;
use cudarc::driver::sys::CUstream;
use std::ffi::c_void;

opaque_handles! {
    /// `cudnnHandle_t`.
    RawHandle;
    /// `cudnnBackendDescriptor_t`.
    RawDescriptor;
}

// SAFETY: a handle of cuDNN may be used from any thread, by one at a time: the holder of its slot's lease.
unsafe impl AnyThread for RawHandle {}
// SAFETY: a descriptor is memory of the library that is bound to no thread; one owner has it, and a plan is under a lock.
unsafe impl AnyThread for RawDescriptor {}

function_table! {
    /// The functions of `libcudnn` that return a status.
    CudnnFunctions = Cudnn
    required {
        /// Makes a handle on the current context. The first of a process loads the library's parts.
        fn create(handle: *mut RawHandle) = c"cudnnCreate";
        /// Destroys a handle; waits for the device.
        fn destroy(handle: RawHandle) = c"cudnnDestroy";
        /// Sets the stream of the next executions.
        fn set_stream(handle: RawHandle, stream: CUstream) = c"cudnnSetStream";

        /// Makes a descriptor of a kind, by its number.
        fn descriptor_create(kind: i32, descriptor: *mut RawDescriptor) = c"cudnnBackendCreateDescriptor";
        /// Frees a descriptor; that of a plan unloads its kernels.
        fn descriptor_destroy(descriptor: RawDescriptor) = c"cudnnBackendDestroyDescriptor";
        /// Sets an attribute: its number, the type of its elements and how many there are.
        fn attribute_set(descriptor: RawDescriptor, name: i32, of: i32, count: i64, values: *const c_void)
            = c"cudnnBackendSetAttribute";
        /// Reads an attribute.
        fn attribute(descriptor: RawDescriptor, name: i32, of: i32, room: i64, count: *mut i64, values: *mut c_void)
            = c"cudnnBackendGetAttribute";
        /// Checks a descriptor, after which it does not change.
        fn finalize(descriptor: RawDescriptor) = c"cudnnBackendFinalize";
        /// Enqueues a plan on the stream of the handle.
        fn execute(handle: RawHandle, plan: RawDescriptor, pack: RawDescriptor) = c"cudnnBackendExecute";
    }
    optional { }
}
