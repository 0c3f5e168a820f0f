//! Every device gives the answers of the oracles, element type by element type.

mod copies;
mod gemm;
mod integer;
mod shape;
mod views;
mod windows;
