//! The driver's functions (`libcuda`), looked up by the names that the library exports.
//!
//! Method names omit the prefix `cu` and the version suffix: `stream_destroy` is `cuStreamDestroy_v2`.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ushort, c_void};

use cudarc::driver::sys::{
    CUDA_MEMCPY2D, CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmemAccessDesc,
    CUmemPoolProps, CUmemoryPool, CUmodule, CUstream, CUuuid,
};

use super::Code;
use crate::engines::ffi::function_table;

/// `CUmemLocation`: where memory is. (Newer releases of the bindings have a union in it.)
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location {
    /// 1: a device; 2: the host.
    pub(crate) kind: c_int,
    /// The device's number.
    pub(crate) id: c_int,
}

/// `CUmemAccessDesc`: who may do what.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) location: Location,
    /// 1: read; 3: read and write.
    pub(crate) flags: c_int,
}

/// `CUmemAllocationProp`: what memory is asked for. Everything else of it is zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryProperties {
    /// 1: pinned, as all memory of a device.
    pub(crate) kind: c_int,
    pub(crate) handle_types: c_int,
    pub(crate) location: Location,
    pub(crate) security: *const c_void,
    pub(crate) flags: [u8; 8],
}

impl Default for MemoryProperties {
    fn default() -> Self {
        let location = Location { kind: 0, id: 0 };
        MemoryProperties { kind: 0, handle_types: 0, location, security: std::ptr::null(), flags: [0; 8] }
    }
}

function_table! {
    /// The functions of `libcuda`. All may be called from any thread. They work on the calling thread's current
    /// context.
    Driver = Driver
    required {
        /// Initializes the driver; see [`Driver::init`].
        fn init_with(flags: c_uint) = c"cuInit";
        /// The newest CUDA version that the driver supports: 13000 is 13.0. Works before `init`.
        fn driver_get_version(version: *mut c_int) = c"cuDriverGetVersion";

        /// The number of devices.
        fn device_get_count(count: *mut c_int) = c"cuDeviceGetCount";
        /// The device with the given ordinal.
        fn device_get(device: *mut CUdevice, ordinal: c_int) = c"cuDeviceGet";
        /// The device's name: at most `len` bytes, including the terminator.
        fn device_get_name(name: *mut c_char, len: c_int, device: CUdevice) = c"cuDeviceGetName";
        /// The device's UUID; for a MIG slice, the UUID of the slice.
        fn device_get_uuid(uuid: *mut CUuuid, device: CUdevice) = c"cuDeviceGetUuid_v2", c"cuDeviceGetUuid";
        /// An attribute, by its number in `CUdevice_attribute`.
        fn device_get_attribute(value: *mut c_int, attribute: u32, device: CUdevice) = c"cuDeviceGetAttribute";
        /// The device's memory in bytes.
        fn device_total_mem(bytes: *mut usize, device: CUdevice) = c"cuDeviceTotalMem_v2";
        /// The PCI address: at most `len` bytes, including the terminator.
        fn device_get_pci_bus_id(text: *mut c_char, len: c_int, device: CUdevice) = c"cuDeviceGetPCIBusId";
        /// Whether `device` can access the memory of `peer`.
        fn device_can_access_peer(can: *mut c_int, device: CUdevice, peer: CUdevice) = c"cuDeviceCanAccessPeer";
        /// Retains the device's primary context.
        fn device_primary_ctx_retain(context: *mut CUcontext, device: CUdevice) = c"cuDevicePrimaryCtxRetain";
        /// Releases one retain of the primary context.
        fn device_primary_ctx_release(device: CUdevice) = c"cuDevicePrimaryCtxRelease_v2";
        /// The primary context's flags, and whether it is active.
        fn device_primary_ctx_get_state(device: CUdevice, flags: *mut c_uint, active: *mut c_int)
            = c"cuDevicePrimaryCtxGetState";

        /// The calling thread's context.
        fn ctx_get_current(context: *mut CUcontext) = c"cuCtxGetCurrent";
        /// Sets the calling thread's context.
        fn ctx_set_current(context: CUcontext) = c"cuCtxSetCurrent";

        /// Makes a stream.
        fn stream_create(stream: *mut CUstream, flags: c_uint) = c"cuStreamCreate";
        /// Destroys a stream. Work that is already enqueued still completes.
        fn stream_destroy(stream: CUstream) = c"cuStreamDestroy_v2";
        /// 0 when the stream's work is done, 600 while it is not.
        fn stream_query(stream: CUstream) = c"cuStreamQuery";
        /// Blocks until the stream's work is done.
        fn stream_synchronize(stream: CUstream) = c"cuStreamSynchronize";
        /// Makes the stream wait for the event's most recent record.
        fn stream_wait_event(stream: CUstream, event: CUevent, flags: c_uint) = c"cuStreamWaitEvent";

        /// Makes an event.
        fn event_create(event: *mut CUevent, flags: c_uint) = c"cuEventCreate";
        /// Destroys an event.
        fn event_destroy(event: CUevent) = c"cuEventDestroy_v2";
        /// Records the event: it completes when the stream's work so far has completed.
        fn event_record(event: CUevent, stream: CUstream) = c"cuEventRecord";
        /// 0 when the recorded work is done, 600 while it is not.
        fn event_query(event: CUevent) = c"cuEventQuery";
        /// Blocks until the recorded work is done.
        fn event_synchronize(event: CUevent) = c"cuEventSynchronize";
        /// The time between two records in milliseconds.
        fn event_elapsed_time(milliseconds: *mut f32, start: CUevent, end: CUevent)
            = c"cuEventElapsedTime_v2", c"cuEventElapsedTime";

        /// Makes a memory pool.
        fn mem_pool_create(pool: *mut CUmemoryPool, properties: *const CUmemPoolProps) = c"cuMemPoolCreate";
        /// Destroys a pool.
        fn mem_pool_destroy(pool: CUmemoryPool) = c"cuMemPoolDestroy";
        /// Sets an attribute, by its number in `CUmemPool_attribute`.
        fn mem_pool_set_attribute(pool: CUmemoryPool, attribute: u32, value: *mut c_void) = c"cuMemPoolSetAttribute";
        /// Reads an attribute, by its number in `CUmemPool_attribute`.
        fn mem_pool_get_attribute(pool: CUmemoryPool, attribute: u32, value: *mut c_void) = c"cuMemPoolGetAttribute";
        /// Returns unused memory to the system; keeps up to `bytes_to_keep` bytes.
        fn mem_pool_trim_to(pool: CUmemoryPool, bytes_to_keep: usize) = c"cuMemPoolTrimTo";
        /// Sets which devices may access the pool's memory.
        fn mem_pool_set_access(pool: CUmemoryPool, map: *const CUmemAccessDesc, count: usize) = c"cuMemPoolSetAccess";
        /// Allocates from a pool, in stream order.
        fn mem_alloc_from_pool_async(pointer: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream)
            = c"cuMemAllocFromPoolAsync";
        /// Frees memory of a pool, in stream order.
        fn mem_free_async(pointer: CUdeviceptr, stream: CUstream) = c"cuMemFreeAsync";
        /// Frees device memory; synchronizes.
        fn mem_free(pointer: CUdeviceptr) = c"cuMemFree_v2";
        /// The device's free and total memory in bytes.
        fn mem_get_info(free: *mut usize, total: *mut usize) = c"cuMemGetInfo_v2";
        /// Allocates pinned memory.
        fn mem_host_alloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) = c"cuMemHostAlloc";
        /// Pins existing memory of the process, for the driver's copies.
        fn mem_host_register(pointer: *mut c_void, bytes: usize, flags: c_uint) = c"cuMemHostRegister_v2";
        /// The flags that pinned memory was allocated with. Fails if the address is not in pinned memory.
        fn mem_host_get_flags(flags: *mut c_uint, pointer: *mut c_void) = c"cuMemHostGetFlags";
        /// Frees pinned memory.
        fn mem_free_host(pointer: *mut c_void) = c"cuMemFreeHost";

        /// Copies to the device.
        fn memcpy_htod_async(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream)
            = c"cuMemcpyHtoDAsync_v2";
        /// Copies from the device.
        fn memcpy_dtoh_async(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream)
            = c"cuMemcpyDtoHAsync_v2";
        /// Copies within the device.
        fn memcpy_dtod_async(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream)
            = c"cuMemcpyDtoDAsync_v2";
        /// Copies between devices.
        fn memcpy_peer_async(
            to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize,
            stream: CUstream,
        ) = c"cuMemcpyPeerAsync";
        /// Copies a rectangle.
        fn memcpy_2d_async(copy: *const CUDA_MEMCPY2D, stream: CUstream) = c"cuMemcpy2DAsync_v2";

        /// Fills bytes.
        fn memset_d8_async(to: CUdeviceptr, value: c_uchar, count: usize, stream: CUstream) = c"cuMemsetD8Async";
        /// Fills words of 16 bits.
        fn memset_d16_async(to: CUdeviceptr, value: c_ushort, count: usize, stream: CUstream) = c"cuMemsetD16Async";
        /// Fills words of 32 bits.
        fn memset_d32_async(to: CUdeviceptr, value: c_uint, count: usize, stream: CUstream) = c"cuMemsetD32Async";

        /// The least and the most urgent priority of streams and launches. A smaller number is more urgent.
        fn ctx_get_stream_priority_range(least: *mut c_int, greatest: *mut c_int) = c"cuCtxGetStreamPriorityRange";

        /// Loads a module from PTX, CUBIN or a fat binary in memory. Options are numbers of `CUjit_option`. The value
        /// of an option is passed in place of a pointer; a size is written back to the same place.
        fn module_load_data_ex(
            module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut u32, values: *mut *mut c_void,
        ) = c"cuModuleLoadDataEx";
        /// Unloads a module.
        fn module_unload(module: CUmodule) = c"cuModuleUnload";
        /// A kernel of a module, by its name.
        fn module_get_function(function: *mut CUfunction, module: CUmodule, name: *const c_char)
            = c"cuModuleGetFunction";
        /// The address and the size of a module's variable, by its name.
        fn module_get_global(address: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule, name: *const c_char)
            = c"cuModuleGetGlobal_v2";
        /// An attribute of a kernel, by its number in `CUfunction_attribute`.
        fn func_get_attribute(value: *mut c_int, attribute: u32, function: CUfunction) = c"cuFuncGetAttribute";
        /// Sets an attribute of a kernel.
        fn func_set_attribute(function: CUfunction, attribute: u32, value: c_int) = c"cuFuncSetAttribute";
        /// How many blocks of this size can be resident on one multiprocessor.
        fn occupancy_max_active_blocks(
            blocks: *mut c_int, function: CUfunction, block_size: c_int, dynamic_shared: usize,
        ) = c"cuOccupancyMaxActiveBlocksPerMultiprocessor";
        /// The block size with the best occupancy, and the smallest grid that reaches it.
        fn occupancy_max_potential_block_size(
            min_grid: *mut c_int, block_size: *mut c_int, function: CUfunction, shared_of_size: *const c_void,
            dynamic_shared: usize, size_limit: c_int,
        ) = c"cuOccupancyMaxPotentialBlockSize";
        /// Launches a kernel.
        fn launch_kernel(
            function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
            block_z: c_uint, shared_bytes: c_uint, stream: CUstream, parameters: *mut *mut c_void,
            extra: *mut *mut c_void,
        ) = c"cuLaunchKernel";
    }
    optional {
        /// An attribute of the path from one device to another, by its number in `CUdevice_P2PAttribute`.
        fn device_get_p2p_attribute(value: *mut c_int, attribute: u32, device: CUdevice, peer: CUdevice)
            = c"cuDeviceGetP2PAttribute";
        /// Allocates managed memory. Flags: 1, any stream of any device may use it.
        fn mem_alloc_managed(pointer: *mut CUdeviceptr, bytes: usize, flags: c_uint) = c"cuMemAllocManaged";
        /// Moves pages of managed memory, in stream order. Since CUDA 12.2; the older name takes other arguments.
        fn mem_prefetch_async(
            pointer: CUdeviceptr, bytes: usize, to: Location, flags: c_uint, stream: CUstream,
        ) = c"cuMemPrefetchAsync_v2";
        /// Advice about pages of managed memory, by its number in `CUmem_advise`. Since CUDA 12.2; the older name takes other
        /// arguments.
        fn mem_advise(pointer: CUdeviceptr, bytes: usize, advice: c_uint, location: Location) = c"cuMemAdvise_v2";
        /// The granularity of mappings: 0 the least, 1 the recommended.
        fn mem_granularity(bytes: *mut usize, properties: *const MemoryProperties, which: c_uint)
            = c"cuMemGetAllocationGranularity";
        /// Reserves addresses.
        fn mem_address_reserve(
            pointer: *mut CUdeviceptr, bytes: usize, alignment: usize, wanted: CUdeviceptr, flags: u64,
        ) = c"cuMemAddressReserve";
        /// Frees reserved addresses, to which nothing is mapped.
        fn mem_address_free(pointer: CUdeviceptr, bytes: usize) = c"cuMemAddressFree";
        /// Makes memory without an address.
        fn mem_create(handle: *mut u64, bytes: usize, properties: *const MemoryProperties, flags: u64)
            = c"cuMemCreate";
        /// Releases the handle. The memory lives until it is unmapped.
        fn mem_release(handle: u64) = c"cuMemRelease";
        /// Gives reserved addresses memory, which nobody may access yet.
        fn mem_map(pointer: CUdeviceptr, bytes: usize, offset: usize, handle: u64, flags: u64) = c"cuMemMap";
        /// Takes it away again: whole mappings. Waits for no kernel.
        fn mem_unmap(pointer: CUdeviceptr, bytes: usize) = c"cuMemUnmap";
        /// Sets which devices may access what is mapped there.
        fn mem_set_access(pointer: CUdeviceptr, bytes: usize, access: *const Access, count: usize) = c"cuMemSetAccess";
        /// Begins a capture of what is enqueued on the stream. Modes: 0 global, 1 thread-local, 2 relaxed.
        fn stream_begin_capture(stream: CUstream, mode: u32) = c"cuStreamBeginCapture_v2";
        /// Ends the capture and returns its graph.
        fn stream_end_capture(stream: CUstream, graph: *mut CUgraph) = c"cuStreamEndCapture";
        /// Instantiates a graph.
        fn graph_instantiate(instance: *mut CUgraphExec, graph: CUgraph, flags: u64)
            = c"cuGraphInstantiateWithFlags";
        /// Updates an instance with the parameters of a graph that has the same nodes. `outcome` is a
        /// `CUgraphExecUpdateResultInfo`.
        fn graph_exec_update(instance: CUgraphExec, graph: CUgraph, outcome: *mut c_void) = c"cuGraphExecUpdate_v2";
        /// Launches an instance.
        fn graph_launch(instance: CUgraphExec, stream: CUstream) = c"cuGraphLaunch";
        /// Destroys an instance. A launch in flight still completes.
        fn graph_exec_destroy(instance: CUgraphExec) = c"cuGraphExecDestroy";
        /// Destroys a graph.
        fn graph_destroy(graph: CUgraph) = c"cuGraphDestroy";
        /// The offset and the size of a kernel's parameter, to check a launch. Since CUDA 12.4.
        fn func_get_param_info(function: CUfunction, index: usize, offset: *mut usize, size: *mut usize)
            = c"cuFuncGetParamInfo";
        /// Launches a kernel with attributes. Since CUDA 11.8.
        fn launch_kernel_ex(
            config: *const crate::engines::cuda::code::RawConfig, function: CUfunction, parameters: *mut *mut c_void,
            extra: *mut *mut c_void,
        ) = c"cuLaunchKernelEx";
    }
}

impl Driver {
    /// Initializes the driver in this process; may be repeated. The caller interprets a failure (100: no device, 802,
    /// 803, 999).
    pub(crate) fn init(&self) -> Code {
        // SAFETY: cuInit may be called from any thread, any number of times; 0 is the only value of its flags.
        unsafe { self.init_with(0) }
    }
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
