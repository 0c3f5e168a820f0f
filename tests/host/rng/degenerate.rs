//! Draws of mixed widths and laws from one stream, at places near its ends: each is what the stream has at that place, whatever
//! was drawn before it.

use super::{drawn, having};
use crate::common::degenerate::degenerate_seeds;
use crate::common::{Rng, assert_same_bits, down};
use windlass::rng::{Between, Bits, Distribution, Exponential, Generator, Normal, Poisson, Random, Stream, Uniform};
use windlass::{Device, Element};

/// Places at which a counter carries, or a product of a place and a width overflows.
const EDGES: [u64; 8] = [0, 1, (1 << 32) - 3, 1 << 34, (1 << 50) - 1, (1 << 50) + 5, 1 << 61, (1 << 62) + 3];

fn drawn_in_turn<T: Random + Element>(
    device: &Device,
    front: &mut windlass::rng::Rng,
    of: impl Distribution<T>,
    n: usize,
    what: &str,
) {
    let here = front.stream().clone();
    let got = down(device, &front.draw::<T>(of, [n]).unwrap().into_output());
    assert_same_bits(&got, &drawn::<T>(device, &here, of, n), &format!("{what}, {n} of {} at {here:?}", T::DTYPE));
}

fn case(rng: &mut Rng, seed: u64) {
    let generator =
        rng.pick(&[Generator::Philox, Generator::Xorwow, Generator::Mrg32k3a, Generator::Mt19937, Generator::Mtgp32]);
    let far = matches!(generator, Generator::Philox | Generator::Xorwow | Generator::Mrg32k3a);
    let at = if far { rng.pick(&EDGES) } else { rng.below(700) as u64 };
    let stream = Stream::new(generator, rng.below(usize::MAX) as u64).at(at);
    let laws: Vec<(usize, usize)> =
        (0..1 + rng.below(6)).map(|_| (rng.below(9), rng.pick(&[0, 1, 2, 7, 256, 300]))).collect();
    for device in having(&stream) {
        let mut front = device.rng_of(stream.clone());
        for (law, n) in &laws {
            let (what, n) = (format!("seed {seed}: {generator:?} from {at:#x}, {laws:?}"), *n);
            match law {
                0 => drawn_in_turn::<u32>(&device, &mut front, Bits, n, &what),
                1 => drawn_in_turn::<u64>(&device, &mut front, Bits, n, &what),
                2 => drawn_in_turn::<f32>(&device, &mut front, Uniform::above_zero(), n, &what),
                3 => drawn_in_turn::<f64>(&device, &mut front, Uniform::below_one(), n, &what),
                4 => drawn_in_turn::<f32>(&device, &mut front, Normal::standard(), n, &what),
                5 => drawn_in_turn::<f64>(&device, &mut front, Normal::new(0.0, 3.0), n, &what),
                6 => drawn_in_turn::<u16>(&device, &mut front, Between::new(..), n, &what),
                7 => drawn_in_turn::<u32>(&device, &mut front, Poisson::new(3.5), n, &what),
                _ => drawn_in_turn::<f32>(&device, &mut front, Exponential::new(2.0), n, &what),
            }
        }
    }
}

#[test]
fn draws_of_mixed_widths_are_those_of_their_places() {
    degenerate_seeds(12, case);
}
