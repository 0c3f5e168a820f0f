//! A dispatch over several GPUs, whose kernels read each other's memory.

use crate::common::exchange::{Exchange, exchanged, open_paths, random_programs};
use crate::common::{down, seeds, up};
use crate::gpus::with_two_gpus;

#[test]
fn an_exchange_between_two_gpus_follows_and_is_followed() {
    with_two_gpus(|one, two| {
        open_paths(&[&one, &two]);
        const N: usize = 1 << 20;
        let (mut x, mut y) = (up(&one, vec![2u32; N]), up(&two, vec![3u32; N]));
        let mut outputs = vec![one.uninit(N).unwrap().into_buffer(), two.uninit(N).unwrap().into_buffer()];
        for round in 0..50 {
            let exchange = Exchange::<false>::default().submit(&[&one, &two], &[&x, &y], outputs).unwrap();
            outputs = exchange.into_output();
            // After it has read them, and before it reads them again.
            x = one.fill(x, round).unwrap().into_buffer();
            y = two.fill(y, round + 1).unwrap().into_buffer();
            if round % 10 == 9 {
                assert_eq!(down(&one, &outputs[0]), vec![exchanged(round); N]);
                assert_eq!(down(&two, &outputs[1]), vec![exchanged(round - 1); N]);
            }
        }
    });
}

#[test]
fn random_programs_over_two_gpus_equal_a_sequential_model() {
    with_two_gpus(|one, two| {
        open_paths(&[&one, &two]);
        let devices = [one, two];
        seeds(20, |rng, _| random_programs(&devices, rng, 60));
    });
}
