//! Memory of others as buffers and tensors, and ours for others: raw, and by DLPack.

mod dlpack;
mod dlpack_refusals;
mod memory;
mod producer;
