//! Mistakes of a new user, as tables: what was called, and what the text of its error holds.
//!
//! Each text has the name that the caller wrote (an argument, an operand, a variable), what was given, and what would do. The tables
//! are run on the CPU: that the same is refused on every device is tested beside each operation.

mod dense;
mod nets;
mod setup;
mod sparse;
mod tensors;

use crate::common::host;
use windlass::op::Output;
use windlass::{Device, Error, PendingDispatch, Tensor};

/// What was called; the call, which gives the text of its error; and what the text holds: the name, what was given, what would do.
type Mistake = (&'static str, fn(&Device) -> String, [&'static str; 3]);

/// The text of the error of a call.
fn said<O>(answer: Result<O, impl Into<Error>>) -> String {
    answer.map_or_else(|error| error.into().to_string(), |_| "(no error)".to_owned())
}

/// The text of the error of a call, or of its wait.
fn waited<O: Output, V>(answer: Result<PendingDispatch<O, V>, impl Into<Error>>) -> String {
    match answer {
        Ok(pending) => said(pending.await_result()),
        Err(error) => error.into().to_string(),
    }
}

/// A tensor of zeros.
fn x<const N: usize>(device: &Device, shape: [usize; N]) -> Tensor<f32> {
    device.zeros(shape).unwrap()
}

/// The same in f64.
fn y<const N: usize>(device: &Device, shape: [usize; N]) -> Tensor<f64> {
    device.zeros(shape).unwrap()
}

/// Numbers of places.
fn i<const N: usize>(device: &Device, numbers: [i64; N]) -> Tensor<i64> {
    device.tensor([N], numbers).unwrap()
}

#[track_caller]
fn all_say_what_is_wrong(table: &[Mistake]) {
    let device = host(2).open().unwrap();
    let mut silent = Vec::new();
    for (what, call, parts) in table {
        let text = call(&device);
        if parts.iter().any(|part| !text.contains(part)) {
            silent.push(format!("{what}: {text:?} does not hold all of {parts:?}"));
        }
    }
    assert!(silent.is_empty(), "{} of {}:\n{}", silent.len(), table.len(), silent.join("\n"));
}

#[test]
fn of_devices_and_data() {
    all_say_what_is_wrong(setup::MISTAKES);
}

#[test]
fn of_views() {
    all_say_what_is_wrong(tensors::OF_VIEWS);
}

#[test]
fn of_formulas_and_reductions() {
    all_say_what_is_wrong(tensors::OF_ELEMENTS);
}

#[test]
fn of_sorts_and_choices() {
    all_say_what_is_wrong(tensors::OF_CHOICES);
}

#[test]
fn of_blas() {
    all_say_what_is_wrong(dense::OF_BLAS);
}

#[test]
fn of_the_solver() {
    all_say_what_is_wrong(dense::OF_SOLVER);
}

#[test]
fn of_transforms() {
    all_say_what_is_wrong(dense::OF_TRANSFORMS);
}

#[test]
fn of_random_numbers() {
    all_say_what_is_wrong(dense::OF_RANDOM_NUMBERS);
}

#[test]
fn of_sparse_matrices() {
    all_say_what_is_wrong(sparse::MISTAKES);
}

#[test]
fn of_contractions_networks_kernels_and_collectives() {
    all_say_what_is_wrong(nets::MISTAKES);
}
