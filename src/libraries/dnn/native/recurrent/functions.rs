//! The functions of cuDNN's recurrent nets. The same names and signatures in every 9.x.

use super::super::functions::RawHandle;
use crate::engines::cuda::{AnyThread, opaque_handles};
use crate::engines::library::function_table;
use std::ffi::c_void;

opaque_handles! {
    /// `cudnnRNNDescriptor_t`.
    RawNet;
    /// `cudnnDropoutDescriptor_t`.
    RawDropout;
    /// `cudnnRNNDataDescriptor_t`.
    RawData;
    /// `cudnnTensorDescriptor_t`.
    RawTensor;
}

// SAFETY: descriptors are memory of the library that is bound to no thread; one owner has each, and those of a plan are under its lock.
unsafe impl AnyThread for RawNet {}
// SAFETY: as above.
unsafe impl AnyThread for RawDropout {}

function_table! {
    /// The functions of recurrent nets, all of which return a status.
    RecurrentFunctions = Cudnn
    required {
        /// Loads the part of the library that has recurrent nets.
        fn version_check() = c"cudnnAdvVersionCheck";

        /// Makes the description of a net.
        fn net_create(net: *mut RawNet) = c"cudnnCreateRNNDescriptor";
        /// Frees it.
        fn net_destroy(net: RawNet) = c"cudnnDestroyRNNDescriptor";
        /// Algorithm, cell, biases, directions, input mode; type, type of sums, rule of arithmetic; input, hidden, projection, layers;
        /// dropout; flags.
        fn net_set(net: RawNet, algorithm: i32, cell: i32, biases: i32, directions: i32, mode: i32, of: i32, sums: i32, math: i32,
            input: i32, hidden: i32, projection: i32, layers: i32, dropout: RawDropout, flags: u32)
            = c"cudnnSetRNNDescriptor_v8";
        /// Makes a dropout, which drops nothing until it is set.
        fn dropout_create(dropout: *mut RawDropout) = c"cudnnCreateDropoutDescriptor";
        /// Frees it.
        fn dropout_destroy(dropout: RawDropout) = c"cudnnDestroyDropoutDescriptor";

        /// Makes the description of sequences.
        fn data_create(data: *mut RawData) = c"cudnnCreateRNNDataDescriptor";
        /// Frees it.
        fn data_destroy(data: RawData) = c"cudnnDestroyRNNDataDescriptor";
        /// Type, order, steps, sequences, elements; lengths, and what is written behind the ends.
        fn data_set(data: RawData, of: i32, order: i32, time: i32, batch: i32, width: i32, lengths: *const i32, fill: *mut c_void)
            = c"cudnnSetRNNDataDescriptor";
        /// Makes the description of a tensor.
        fn tensor_create(tensor: *mut RawTensor) = c"cudnnCreateTensorDescriptor";
        /// Frees it.
        fn tensor_destroy(tensor: RawTensor) = c"cudnnDestroyTensorDescriptor";
        /// Type, axes, extents and strides.
        fn tensor_set(tensor: RawTensor, of: i32, rank: i32, extents: *const i32, strides: *const i32)
            = c"cudnnSetTensorNdDescriptor";

        /// The bytes of the workspace and of the reserve of a pass.
        fn spaces(handle: RawHandle, net: RawNet, training: i32, x: RawData, workspace: *mut usize, reserve: *mut usize)
            = c"cudnnGetRNNTempSpaceSizes";
        /// The bytes of all parameters.
        fn weight_bytes(handle: RawHandle, net: RawNet, bytes: *mut usize) = c"cudnnGetRNNWeightSpaceSize";
        /// Where the matrix and the bias of a gate lie.
        fn weight(handle: RawHandle, net: RawNet, layer: i32, bytes: usize, weights: u64, gate: i32, matrix: RawTensor,
            at: *mut u64, bias: RawTensor, bias_at: *mut u64) = c"cudnnGetRNNWeightParams";

        /// Enqueues a forward pass. Device lengths are null since 8.9.1: the library copies those of the descriptor.
        fn forward(handle: RawHandle, net: RawNet, training: i32, lengths: u64, of_x: RawData, x: u64, of_y: RawData, y: u64,
            of_h: RawTensor, h0: u64, h: u64, of_c: RawTensor, c0: u64, c: u64, weight_bytes: usize, weights: u64,
            workspace_bytes: usize, workspace: u64, reserve_bytes: usize, reserve: u64) = c"cudnnRNNForward";
        /// Enqueues the gradients of the input and of the initial states.
        fn backward_data(handle: RawHandle, net: RawNet, lengths: u64, of_y: RawData, y: u64, dy: u64, of_x: RawData, dx: u64,
            of_h: RawTensor, h0: u64, dh: u64, dh0: u64, of_c: RawTensor, c0: u64, dc: u64, dc0: u64, weight_bytes: usize,
            weights: u64, workspace_bytes: usize, workspace: u64, reserve_bytes: usize, reserve: u64)
            = c"cudnnRNNBackwardData_v8";
        /// Enqueues the gradients of the parameters, which are added to what is there.
        fn backward_weights(handle: RawHandle, net: RawNet, mode: i32, lengths: u64, of_x: RawData, x: u64, of_h: RawTensor,
            h0: u64, of_y: RawData, y: u64, weight_bytes: usize, dweights: u64, workspace_bytes: usize, workspace: u64,
            reserve_bytes: usize, reserve: u64) = c"cudnnRNNBackwardWeights_v8";
    }
    optional { }
}
