//! Every device gives the answers of the oracles, element type by element type.
#![cfg(feature = "host")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

#[path = "conformance/copies.rs"]
mod copies;
#[path = "conformance/gemm.rs"]
mod gemm;
#[path = "conformance/integer.rs"]
mod integer;
#[path = "conformance/shape.rs"]
mod shape;
#[path = "conformance/views.rs"]
mod views;
