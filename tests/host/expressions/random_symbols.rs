//! Random symbols: the numbers of the front.

use crate::common::devices;
use windlass::expressions::random;
use windlass::rng::{Bits, Generator, Normal, Stream, Uniform};
use windlass::{Device, Element, Tensor};

fn read<T: Element>(device: &Device, x: &Tensor<T>) -> Vec<T> {
    device.download(x).unwrap().await_result().unwrap()
}

#[test]
fn random_symbols_have_the_bits_of_the_front() {
    const N: usize = 3 * 700;
    for device in devices() {
        // The lanes take turns every 2^16 blocks.
        for first in [0u64, 1, 2, 7, (4 << 16) - 900, (8 << 16) - 601, (1 << 40) - 3] {
            let rng = device.rng(0x0123_4567_89ab_cdef);
            let stream = Stream::new(Generator::Philox, 0x0123_4567_89ab_cdef).at(first);
            macro_rules! check {
                ($t:ty, $of:expr, $each:literal, |$s:ident| $symbol:expr) => {
                    let drawn = rng.fill_from(first.div_ceil($each), $of, device.uninit::<$t>(N).unwrap()).unwrap();
                    let drawn = device.download(&drawn.into_output()).unwrap().await_result().unwrap();
                    let $s = &stream;
                    let made = device.tabulate([3, 700], || $symbol).unwrap().into_output();
                    assert_eq!(read::<$t>(&device, &made), drawn, "{} from {first}", stringify!($symbol));
                };
            }
            check!(u32, Bits, 1, |s| random::words(s));
            check!(f32, Uniform::above_zero(), 1, |s| random::uniform(s));
            check!(f32, Normal::standard(), 1, |s| random::normal(s));
            check!(f64, Uniform::above_zero(), 2, |s| random::uniform(s));
            check!(f64, Normal::standard(), 2, |s| random::normal(s));
        }
    }
}

#[test]
fn other_generators_are_refused() {
    let device = Device::host().unwrap();
    let stream = Stream::new(Generator::Xorwow, 1);
    let error = device.tabulate([4], || random::uniform::<f32>(&stream)).unwrap_err();
    assert!(error.to_string().contains("only those of Philox"), "{error}");
}
