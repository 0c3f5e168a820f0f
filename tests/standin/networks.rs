//! Pooling, normalisation and what else of `device.dnn()` is a kernel of our own: the stand-in runs the text, and the bits are those of
//! the host.

#[path = "../dnn/formulas.rs"]
mod formulas;
#[path = "../dnn/norms.rs"]
mod norms;
#[path = "../dnn/pooling.rs"]
mod pooling;
#[path = "../dnn/rows.rs"]
mod rows;

use crate::standin::{device, session};
use windlass::Device;

fn on_kernels(run: impl FnOnce(&[Device])) {
    let driver = session();
    let devices = [device(2), Device::host().unwrap()];
    run(&devices);
    drop(devices);
    driver.assert_finished();
}

#[test]
fn the_text_of_random_windows_computes_what_they_say() {
    on_kernels(|devices| pooling::cases(devices, 0, 60));
}

#[test]
fn the_text_of_rows_computes_what_they_say() {
    on_kernels(|devices| rows::cases(devices, 1, 40));
}

#[test]
fn the_text_of_normalisations_computes_what_they_say() {
    on_kernels(|devices| {
        norms::cases(devices, 0, 40);
        norms::statistics(devices);
    });
}

#[test]
fn the_text_of_other_formulas_computes_what_they_say() {
    on_kernels(|devices| {
        formulas::activations(devices);
        formulas::losses(devices);
        formulas::others(devices);
    });
}
