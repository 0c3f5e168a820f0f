//! Guides: one for each task.
//!
//! | to ... | read |
//! |---|---|
//! | submit work, wait for it, chain it, keep many pieces in flight | [`dispatch`] |
//! | record operations once and replay them as one | [`programs`] |
//! | move data, slice buffers, share them, stay within memory | [`memory`] |
//! | give buffers extents and strides, as NumPy's arrays have | [`tensors`] |
//! | know what a fault does, and go on after one | [`faults`] |
//! | survive faults of a GPU in a worker process | [`isolated`] |
//! | launch kernels of your own, or write an operation | [`kernels`] |
//! | make it fast, and see where the time goes | [`performance`] |
//! | know what each engine can do, and the cargo features | [`engines`] |
//! | come from cudarc | [`from_cudarc`] |
//! | come from PyTorch, CuPy or numpy | [`from_python`] |

#[doc = include_str!("dispatch.md")]
pub mod dispatch {}
#[doc = include_str!("programs.md")]
pub mod programs {}
#[doc = include_str!("memory.md")]
pub mod memory {}
#[doc = include_str!("tensors.md")]
pub mod tensors {}
#[doc = include_str!("faults.md")]
pub mod faults {}
#[doc = include_str!("isolated.md")]
pub mod isolated {}
#[doc = include_str!("kernels.md")]
pub mod kernels {}
#[doc = include_str!("performance.md")]
pub mod performance {}
#[doc = include_str!("engines.md")]
pub mod engines {}
#[doc = include_str!("from_cudarc.md")]
pub mod from_cudarc {}
#[doc = include_str!("from_python.md")]
pub mod from_python {}
