//! Recurrent nets and their gradients against the definition, on every device under test.

mod check;
mod edges;
mod larger;
mod oracle;
mod places;
mod speed;

use crate::common::{Rng, devices};
use crate::convolution::oracle::Real;
use check::{backward, difference, down, each, forward, none_differs, report, small};
use oracle::Case;
use windlass::dnn::RecurrentCell;
use windlass::{bf16, f16};

#[test]
fn random_nets_equal_the_definition() {
    each(&devices(), 96, |seed, device, rng, case| match seed % 4 {
        0 => forward::<f32>(device, rng, case),
        1 => forward::<f64>(device, rng, case),
        2 => forward::<f16>(device, rng, case),
        _ => forward::<bf16>(device, rng, case),
    });
}

#[test]
fn nets_that_cudnn_lacks_equal_the_definition() {
    check::beyond_cudnn(&devices(), 96);
}

#[test]
fn gradients_of_nets_that_cudnn_lacks_are_slopes() {
    check::gradients_beyond_cudnn(&devices(), 64);
}

#[test]
fn gradients_of_random_nets_are_slopes() {
    each(&devices(), 64, |seed, device, rng, case| match seed % 4 {
        0 => backward::<f32>(device, rng, &small(case)),
        1 => backward::<f64>(device, rng, &small(case)),
        2 => backward::<f16>(device, rng, &small(case)),
        _ => backward::<bf16>(device, rng, &small(case)),
    });
}

/// A relu has no slope at 0: only nets without such a place can be compared.
#[test]
fn gradients_of_a_clipped_net_are_slopes() {
    each(&devices(), 24, |_, device, rng, case| {
        let clipped = Case {
            cell: RecurrentCell::Relu,
            projection: None,
            peepholes: false,
            initial: [case.initial[0], false],
            ..small(case)
        };
        let operands = clipped.operands(&mut Rng::new(1), |x| x);
        let near_zero = clipped.forward(&operands)[0].iter().any(|y| *y > 0.0 && *y < 1e-3);
        if near_zero { None } else { backward::<f64>(device, rng, &clipped) }
    });
}
