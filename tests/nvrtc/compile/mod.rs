//! Run-time compilation: what comes of a program, what is kept of it, and what is never mixed up.
//!
//! Needs libnvrtc and no GPU. It is found as the library finds it (`WINDLASS_CUDA_PATH` first; `.ci/nvrtc` gets one);
//! where there is none, each test says so and passes.

mod here;

mod binaries;
mod disk;
mod errors;
mod flights;
mod headers;
mod images;
mod links;
mod processes;
mod scalars;
mod sources;
