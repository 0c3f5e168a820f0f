//! Products of i8 matrices, exact in i32.

use super::shape::Shape;
use crate::common::{Rng, assert_same_bits, devices, down, seeds, up};
use windlass::{Device, reference};

fn check(device: &Device, shape: Shape, rng: &mut Rng) {
    let (alpha, beta) = (rng.pick(&[0, 1, -3]), rng.pick(&[0, 1, 5]));
    // The extremes often: that is where a sum reaches its largest.
    let mut sample = || [-128, 127, rng.next() as i8][rng.below(3)];
    let a: Vec<i8> = shape.matrix(0, 99, &mut sample);
    let b: Vec<i8> = shape.matrix(1, 99, &mut sample);
    let c: Vec<i32> = shape.matrix(2, i32::MIN, || rng.below(2000) as i32 - 1000);
    let mut want = c.clone();
    reference::gemm_i8(&shape.spec(alpha, beta), &a, &b, &mut want);
    let (a, b, c) = (up(device, a), up(device, b), up(device, c));
    let (alpha_at, beta_at) = (up(device, [alpha]), up(device, [beta]));
    let spec = shape.call::<i8>(alpha, beta);
    let spec = match rng.below(4) {
        0 => spec,
        1 => spec.alpha(&alpha_at),
        2 => spec.beta(&beta_at),
        _ => spec.alpha(&alpha_at).beta(&beta_at),
    };
    let [of_a, of_b] = shape.factors(&a, &b);
    let pending = device.blas().gemm(spec, of_a, of_b, shape.c(c));
    let pending = pending.unwrap_or_else(|e| panic!("{shape:?} alpha {alpha} beta {beta} on {device:?}: {e}"));
    let c = pending.await_result().unwrap();
    // Padding included: the oracle leaves it alone.
    assert_same_bits(&down(device, c.buffer()), &want, &format!("{shape:?} alpha {alpha} beta {beta} on {device:?}"));
}

#[test]
fn products_of_i8_are_exact_in_i32_and_leave_padding_alone() {
    for device in devices() {
        seeds(150, |rng, _| check(&device, Shape::random(rng), rng));
    }
}
