//! PyTorch's own samples of its operations: what another project says that results and gradients are.
//!
//! `make.py` wrote `cases.jsonl` and `cases.bin` once, from PyTorch's list `op_db`. `run.rs` has the table of PyTorch's operations as
//! calls of this crate, and counts: each result and gradient of a sample is compared, or counted by the reason why it is not here.
//! Each case runs twice: with dense operands, and with strides of all sorts over memory that is poison elsewhere.

mod attention;
mod cases;
mod compare;
mod convolutions;
mod losses;
mod node;
mod norms;
mod places;
mod pools;
mod run;

#[test]
fn samples_of_pytorch_pass() {
    run::all(&crate::common::devices());
}
