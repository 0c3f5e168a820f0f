//! Random shapes, axes, lengths, batches, layouts, directions and normalisations of every kind and type.

use super::case::Case;
use super::number::Real;
use crate::common::{devices, seeds};
use windlass::fft::{Direction, Kind, Normalization};
use windlass::{bf16, f16};

const KINDS: [Kind; 3] = [Kind::C2c, Kind::R2c, Kind::C2r];

fn sweep<R: Real>(count: u64, most: usize) {
    for device in devices() {
        for kind in KINDS {
            seeds(count, |rng, _| Case::random(rng, kind, most).check::<R>(&device, rng));
        }
    }
}

#[test]
fn any_transform_of_f32_is_what_the_definition_says() {
    sweep::<f32>(60, 4);
}

#[test]
fn any_transform_of_f64_is_what_the_definition_says() {
    sweep::<f64>(60, 5);
}

#[test]
fn any_transform_of_halves_is_what_the_definition_says() {
    sweep::<f16>(25, 3);
    sweep::<bf16>(25, 3);
}

/// Powers of two, small and large factors, primes with and without a smooth neighbour.
const LENGTHS: [usize; 26] =
    [1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 31, 64, 97, 100, 120, 127, 128, 131, 243, 360, 509, 512, 625, 1000, 1021];

fn lengths<R: Real>() {
    for device in devices() {
        for kind in KINDS {
            for n in LENGTHS {
                seeds(1, |rng, _| {
                    let mut case = Case::new(kind, &[n]);
                    case.batch = 2;
                    case.check::<R>(&device, rng);
                });
            }
        }
    }
}

#[test]
fn every_length_of_f32_is_done() {
    lengths::<f32>();
}

#[test]
fn every_length_of_f64_is_done() {
    lengths::<f64>();
}

#[test]
fn every_length_of_halves_is_done() {
    lengths::<f16>();
    lengths::<bf16>();
}

#[test]
fn more_axes_than_a_library_takes_at_once_are_done_in_turn() {
    for device in devices() {
        for kind in KINDS {
            seeds(2, |rng, _| {
                for shape in [&[3, 2, 4, 3][..], &[2, 3, 2, 2, 3], &[2, 2, 2, 2, 2, 2, 2, 3]] {
                    let mut case = Case::new(kind, shape);
                    case.direction = rng.pick(&[Direction::Forward, Direction::Inverse]);
                    case.norm = Normalization::Ortho;
                    case.batch = if shape.len() < 8 { rng.pick(&[1, 2]) } else { 1 };
                    case.check::<f64>(&device, rng);
                    case.check::<f32>(&device, rng);
                }
            });
        }
    }
}
