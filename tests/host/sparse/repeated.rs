//! Matrices that are used again, on the devices under test; the stand-in for cuSPARSE takes the same through its calls.

use super::kept;
use crate::common::devices;

#[test]
fn a_matrix_is_multiplied_again_with_its_own_values_and_with_others() {
    kept::multiply_again(devices());
}

#[test]
fn a_matrix_in_the_memory_of_another_is_seen_as_it_is() {
    kept::multiply_many(devices());
}
