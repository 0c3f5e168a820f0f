//! Neural networks: the same program on every device (`WINDLASS_TEST_DEVICE`).
#![cfg(all(feature = "host", feature = "dnn", feature = "blas"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod attention;
mod convolution;
mod formulas;
mod gates;
mod gradients;
mod loops;
mod norms;
mod opdb;
mod places;
mod plans;
mod pooling;
mod recurrent;
mod rows;
mod sample;
mod threads;
mod timing;
mod values;
mod within;

use common::devices;

#[test]
fn windows_are_those_of_the_definition() {
    pooling::cases(&devices(), 0, 400);
}

#[test]
fn softmax_is_that_of_the_definition() {
    rows::cases(&devices(), 0, 120);
}

#[test]
fn normalised_elements_are_those_of_the_definition() {
    norms::cases(&devices(), 0, 150);
}

#[test]
fn rows_of_many_are_those_that_are_alone() {
    norms::rows_beside_themselves(&devices());
}

#[test]
fn statistics_of_a_training_are_mixed() {
    norms::statistics(&devices());
}

#[test]
fn derivatives_of_activations_are_slopes() {
    formulas::activations(&devices());
}

#[test]
fn gradients_of_losses_are_slopes() {
    formulas::losses(&devices());
}

#[test]
fn other_gradients_are_slopes() {
    formulas::others(&devices());
}

#[test]
fn gradients_of_rows_and_places_are_slopes() {
    gradients::slopes(&devices());
}

#[test]
fn gradients_are_sums_in_any_layout() {
    gradients::cases(&devices(), 0, 60);
}

#[test]
fn gradients_of_nothing_are_zeros() {
    gradients::of_nothing(&devices());
}

#[test]
fn what_does_not_fit_is_told() {
    let device = &devices()[0];
    pooling::what_does_not_fit_is_told(device);
    gradients::what_does_not_fit(device);
    norms::axes_that_do_not_fit_are_told(device);
}

#[test]
fn elements_at_places_are_those_of_the_definition() {
    places::cases(&devices(), 0, 60);
}

#[test]
fn gradients_of_tables_and_biases_are_sums() {
    places::tables(&devices());
    places::biases(&devices());
}

#[test]
fn largest_elements_go_back_to_their_places() {
    places::unpooled(&devices());
}

#[test]
#[cfg(feature = "rng")]
fn dropout_is_the_same_everywhere() {
    places::dropout(&devices());
}

#[test]
fn loops_make_the_bits_of_the_general_path() {
    loops::cases(&devices(), 0, 60);
}

#[test]
fn places_that_do_not_fit_are_told() {
    places::what_does_not_fit(&devices()[0]);
}
