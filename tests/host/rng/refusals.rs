//! What is refused, by name.

use super::having;
use crate::common::{devices, refused};
use std::ops::Bound;
use windlass::rng::{Between, Bits, Exponential, Generator, LogNormal, Normal, Ordering, Stream};
use windlass::{Error, bf16, f16};

fn argument<T>(answer: Result<T, impl Into<Error>>) -> String {
    refused(&answer.err().expect("a refusal").into()).0
}

fn unsupported<T>(answer: Result<T, impl Into<Error>>) -> String {
    match answer.err().expect("a refusal").into() {
        error @ Error::Unsupported { .. } => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn parameters_that_no_distribution_has_are_named() {
    for device in devices() {
        let mut rng = device.rng(1);
        for bad in [f64::NAN, f64::INFINITY] {
            assert_eq!(argument(rng.draw::<f32>(Normal::new(bad, 1.0), [4])), "mean");
            assert_eq!(argument(rng.draw::<f64>(Normal::new(0.0, bad), [4])), "deviation");
            assert_eq!(argument(rng.draw::<f64>(LogNormal::new(bad, 1.0), [4])), "mean");
            assert_eq!(argument(rng.draw::<f32>(Exponential::new(bad), [4])), "mean");
            assert_eq!(argument(rng.bernoulli(bad, [4])), "p");
            assert_eq!(argument(rng.poisson(bad, [4])), "lambda");
            assert_eq!(argument(rng.binomial(4, bad, [4])), "p");
        }
        assert_eq!(argument(rng.draw::<f32>(Normal::new(0.0, -1.0), [4])), "deviation");
        assert_eq!(argument(rng.draw::<f32>(Exponential::new(-1.0), [4])), "mean");
        assert_eq!(argument(rng.bernoulli(-1e-9, [4])), "p");
        assert_eq!(argument(rng.bernoulli(1.0 + 1e-9, [4])), "p");
        assert_eq!(argument(rng.poisson(-1e-9, [4])), "lambda");
        assert_eq!(argument(rng.poisson(2e9, [4])), "lambda");
        assert_eq!(argument(rng.integers::<u8>(5..5, [4])), "range");
        #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
        let backwards = 6..=5;
        assert_eq!(argument(rng.integers::<i64>(backwards, [4])), "range");
        assert_eq!(argument(rng.integers::<u8>(..0, [4])), "range");
        assert_eq!(argument(rng.draw::<f32>(Between::new(1.0f32..1.0), [4])), "range");
        assert_eq!(argument(rng.draw::<f32>(Between::new(0.0f32..=1.0), [4])), "range");
        assert_eq!(argument(rng.draw::<f32>(Between::new(f32::MIN..f32::MAX), [4])), "range");
        assert_eq!(argument(rng.draw::<f64>(Between::new(f64::NAN..1.0), [4])), "range");
        let excluded = |low, high| Between::new((Bound::Excluded(low), high));
        assert_eq!(argument(rng.draw::<i32>(excluded(5, Bound::Included(5)), [4])), "range");
        assert_eq!(argument(rng.draw::<i32>(excluded(5, Bound::Excluded(6)), [4])), "range");
        assert_eq!(argument(rng.draw::<i32>(excluded(i32::MAX, Bound::Unbounded), [4])), "range");
        let next = (Bound::Excluded(1.0f32), Bound::Excluded(1.0f32.next_up()));
        assert_eq!(argument(rng.draw::<f32>(Between::new(next), [4])), "range");
        assert_eq!(argument(rng.choice(3, 4)), "count");
        assert_eq!(argument(rng.choice((1 << 32) + 1, 4)), "n");
    }
}

/// What the type of the numbers cannot hold: they would be infinite, not a number, or all equal.
#[test]
fn parameters_are_checked_in_the_type_of_the_numbers() {
    for device in devices() {
        let mut rng = device.rng(1);
        assert_eq!(argument(rng.draw::<f32>(Normal::new(-1e39, 1e39), [4])), "mean");
        assert_eq!(argument(rng.draw::<f32>(Normal::new(0.0, 1e39), [4])), "deviation");
        assert_eq!(argument(rng.draw::<f32>(Normal::new(3e38, 3e38), [4])), "deviation");
        assert_eq!(argument(rng.draw::<f32>(Normal::new(0.0, 1e-50), [4])), "deviation");
        assert_eq!(argument(rng.draw::<f32>(LogNormal::new(1e39, 1.0), [4])), "mean");
        assert_eq!(argument(rng.draw::<f32>(Exponential::new(1e39), [4])), "mean");
        assert_eq!(argument(rng.draw::<f32>(Exponential::new(1e38), [4])), "mean");
        assert_eq!(argument(rng.draw::<f32>(Exponential::new(1e-50), [4])), "mean");
        assert_eq!(argument(rng.draw::<f64>(Exponential::new(1e308), [4])), "mean");
        assert_eq!(argument(rng.draw::<f16>(Normal::new(1e5, 1.0), [4])), "mean");
        assert_eq!(argument(rng.draw::<f16>(Exponential::new(1e-9), [4])), "mean");
        assert_eq!(argument(rng.draw::<bf16>(Normal::new(0.0, 1e39), [4])), "deviation");
    }
    for device in having(&Stream::new(Generator::Philox, 1)) {
        let mut rng = device.rng(1);
        assert!(rng.draw::<f64>(Normal::new(-1e39, 1e39), [4]).is_ok());
        assert!(rng.draw::<f64>(Exponential::new(1e-50), [4]).is_ok());
        assert!(rng.draw::<f32>(Normal::new(1e-50, 1.0), [4]).is_ok());
        assert!(rng.draw::<f32>(Normal::new(3.0, 0.0), [4]).is_ok());
    }
}

#[test]
fn a_stream_has_no_more_children_than_there_are_seeds() {
    for generator in [Generator::Mt19937, Generator::Mtgp32] {
        let mut stream = Stream::new(generator, 1);
        let before = stream.clone();
        assert_eq!(argument(stream.split(1 << 32)), "count");
        assert_eq!(stream, before);
        assert!(stream.split(2).is_ok());
    }
    for count in [1 << 59, usize::MAX] {
        let mut stream = Stream::new(Generator::Philox, 1);
        assert!(matches!(stream.split(count), Err(Error::OutOfMemory { .. })));
        let device = windlass::Device::host().unwrap();
        assert!(matches!(device.rng(1).split(count), Err(Error::OutOfMemory { .. })));
    }
}

#[test]
fn streams_end_where_their_positions_do() {
    for device in devices() {
        let mut rng = device.rng_of(Stream::new(Generator::Philox, 1).at(u64::MAX - 3));
        assert_eq!(argument(rng.bits::<u32>([5])), "stream");
        assert_eq!(argument(rng.bits::<u64>([2])), "stream");
        assert_eq!(argument(device.rng(1).fill_from(u64::MAX, Bits, device.uninit::<u32>(1).unwrap())), "stream");
        assert_eq!(argument(device.rng(1).fill_from(1 << 63, Bits, device.uninit::<u64>(1).unwrap())), "stream");
    }
    for device in having(&Stream::new(Generator::Philox, 1)) {
        let mut rng = device.rng_of(Stream::new(Generator::Philox, 1).at(u64::MAX - 4));
        assert!(rng.bits::<u32>([4]).is_ok());
        for generator in [Generator::Mt19937, Generator::Mtgp32] {
            unsupported(device.rng_of(Stream::new(generator, 1).at(1 << 40)).bits::<u32>([1]));
        }
        let sequence = |at| device.rng_of(Stream::sobol(1).at(at)).bits::<u32>([2]);
        assert_eq!(argument(sequence((1 << 32) - 1)), "stream");
        assert!(sequence((1 << 32) - 2).is_ok());
    }
}

#[test]
fn sequences_refuse_what_would_take_them_apart() {
    for device in devices() {
        let of = |dimensions| device.rng_of(Stream::sobol(dimensions));
        assert_eq!(argument(of(0).uniform::<f32>([4])), "dimensions");
        assert_eq!(argument(of(20_001).uniform::<f32>([20_001])), "dimensions");
        assert_eq!(argument(of(3).uniform::<f32>([4])), "len");
        unsupported(of(2).bits::<u64>([4]));
        unsupported(of(2).poisson(3.0, [4]));
        unsupported(of(2).integers::<u32>(0..4, [4]));
        unsupported(of(2).permutation(4));
        unsupported(of(2).split(2));
        unsupported(device.rng_of(Stream::new(Generator::Sobol64, 0)).bits::<u32>([4]));
    }
}

#[test]
fn what_cannot_be_known_to_the_bit_is_unsupported_with_its_reason() {
    for device in devices() {
        for ordering in [Ordering::Seeded, Ordering::Dynamic] {
            let stream = Stream::new(Generator::Xorwow, 1).ordering(ordering);
            assert!(unsupported(device.rng_of(stream).uniform::<f32>([4])).contains(&format!("{ordering:?}")));
        }
        let stream = Stream::new(Generator::Mt19937, 1);
        unsupported(device.rng_of(stream).draw::<f32>(Normal::standard().curand(), [4]));
    }
}
