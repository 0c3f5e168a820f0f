//! Launches: kernels of PTX text on a GPU, their twins on the host engine, checked against plain computations.
//!
//! `nvrtc_launch/kernels.cu` and `globals.cu` are the sources of the PTX beside them.

mod buffers;
mod compiled;
mod generations;
mod globals;
mod kernels;
mod launches;
mod order;
mod refusals;
mod signatures;
mod twins;
