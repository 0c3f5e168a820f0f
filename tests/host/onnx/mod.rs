//! ONNX's node tests: what another project says that each operation gives.
//!
//! `make.py` turned the cases of a release into `cases.jsonl` and `cases.bin`, once. `table.rs` is **the** table of ONNX's nodes
//! as calls of this crate: a library that comes adds its rows there, and takes its nodes out of the lists in `run.rs`. The counts
//! are a part of the test, so that no case vanishes. `tests/standin/onnx` runs the same on the stand-in for a GPU.

mod attention;
mod cases;
mod compare;
mod convolutions;
mod libraries;
mod moves;
mod networks;
mod node;
mod optimizers;
mod ordered;
mod quantized;
mod reductions;
mod run;
mod sampling;
mod scans;
mod shapes;
mod table;
mod value;

#[test]
fn the_node_tests_pass() {
    run::all(&crate::common::devices(), true);
}

#[test]
fn a_node_is_in_one_list() {
    run::lists();
}
