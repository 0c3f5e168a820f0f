//! The structs of the ABI, and its numbers.

use std::ffi::c_void;

/// The memory of the process.
pub(super) const CPU: i32 = 1;
/// Memory of an NVIDIA GPU.
pub(super) const CUDA: i32 = 2;
/// Pinned memory of the process.
pub(super) const CUDA_HOST: i32 = 3;

/// The flag of a tensor that must not be written.
pub(super) const READ_ONLY: u64 = 1;

/// The version that is written. Others of the same major version have the same structs.
pub(super) const VERSION: (u32, u32) = (1, 0);

/// A kind of memory, and which one of it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Device {
    pub(super) kind: i32,
    pub(super) id: i32,
}

/// An element type.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DataType {
    pub(super) code: u8,
    pub(super) bits: u8,
    pub(super) lanes: u16,
}

/// A view of memory.
#[repr(C)]
pub(super) struct Tensor {
    pub(super) data: *mut c_void,
    pub(super) device: Device,
    pub(super) rank: i32,
    pub(super) dtype: DataType,
    pub(super) extents: *mut i64,
    /// In elements; null for row-major ones.
    pub(super) strides: *mut i64,
    pub(super) byte_offset: u64,
}

/// What frees a managed tensor.
pub(super) type Deleter<M> = Option<unsafe extern "C" fn(*mut M)>;

/// A managed tensor of the old form.
#[repr(C)]
pub(super) struct Legacy {
    pub(super) tensor: Tensor,
    pub(super) context: *mut c_void,
    pub(super) deleter: Deleter<Legacy>,
}

/// A managed tensor with a version. What follows the deleter depends on the major version.
#[repr(C)]
pub(super) struct Versioned {
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) context: *mut c_void,
    pub(super) deleter: Deleter<Versioned>,
    pub(super) flags: u64,
    pub(super) tensor: Tensor,
}
