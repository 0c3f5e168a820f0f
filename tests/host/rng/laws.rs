//! What holds of every stream: it is a function of its plain data and of a place.

use super::{GENERATORS, drawn, having};
use crate::common::{assert_same_bits, down, up};
use windlass::rng::{Between, Bits, Distribution, Exponential, Generator, Normal, Poisson, Random, Stream, Uniform};

/// `n` numbers are `a` numbers and then the rest, and the numbers from any place on are those that follow there.
fn continues<T: Random>(stream: &Stream, of: impl Distribution<T>, n: usize) {
    for device in having(stream) {
        let all = drawn::<T>(&device, stream, of, n);
        for cut in [0, 1, n / 3, n - 1, n] {
            let mut rng = device.rng_of(stream.clone());
            let one = rng.draw::<T>(of, [cut]).unwrap().into_output();
            let two = rng.draw::<T>(of, [n - cut]).unwrap().into_output();
            let mut both = down(&device, &one);
            both.extend(down(&device, &two));
            assert_same_bits(&both, &all, &format!("{device:?} {stream:?} cut at {cut}"));
            if stream.position() == 0 {
                let rng = device.rng_of(stream.clone());
                let rest = rng.fill_from(cut as u64, of, device.uninit(n - cut).unwrap()).unwrap();
                let what = format!("{device:?} {stream:?} from {cut} on");
                assert_same_bits(&down(&device, &rest.into_output()), &all[cut..], &what);
            }
        }
    }
}

#[test]
fn numbers_of_one_kind_continue_without_a_gap() {
    for (generator, n) in GENERATORS {
        let stream = Stream::new(generator, 99);
        let n = n.min(90_001);
        continues::<u32>(&stream, Bits, n);
        continues::<f64>(&stream, Uniform::above_zero(), n / 4);
        continues::<f32>(&stream, Normal::standard(), n / 2);
        continues::<f64>(&stream, Normal::new(1.0, 2.0), n / 8);
        continues::<u16>(&stream, Between::new(..), n / 8);
    }
    let far = Stream::new(Generator::Philox, 5).at((1 << 40) + 3);
    continues::<f32>(&far, Exponential::new(2.0), 70_001);
    continues::<u32>(&far, Poisson::new(3.5), 5000);
}

#[test]
fn points_of_a_sequence_are_those_of_their_places() {
    let stream = Stream::sobol(5);
    for device in having(&stream) {
        let all = drawn::<u32>(&device, &stream, Bits, 5 * 300);
        let part = drawn::<u32>(&device, &stream.clone().at(77), Bits, 5 * 200);
        for dimension in 0..5 {
            assert_eq!(part[dimension * 200..][..200], all[dimension * 300 + 77..][..200], "dimension {dimension}");
        }
    }
}

#[test]
fn where_the_width_changes_no_word_is_used_twice() {
    // The words that a number of 64 bits is made of are seen in it.
    for (generator, n) in GENERATORS {
        let stream = Stream::new(generator, 7);
        let n = n.min(5000);
        for device in having(&stream) {
            let mut rng = device.rng_of(stream.clone());
            let mut seen = std::collections::HashSet::new();
            let mut words = 0;
            for round in 0..4 {
                let narrow = rng.bits::<u32>([n / 4 + round]).unwrap().into_output();
                let wide = rng.bits::<u64>([n / 8 + round]).unwrap().into_output();
                seen.extend(down(&device, &narrow));
                seen.extend(down(&device, &wide).iter().flat_map(|x| [*x as u32, (*x >> 32) as u32]));
                words += n / 4 + round + 2 * (n / 8 + round);
            }
            // By chance some are equal: n^2 / 2^33 of them.
            assert!(words - seen.len() <= 8, "{generator:?}: {} of {words} twice", words - seen.len());
        }
    }
}

/// The words that a draw used are not those of a later draw, whatever kept the generator's state.
#[test]
fn draws_of_all_widths_continue_where_the_stream_stands() {
    for generator in [Generator::Mtgp32, Generator::Mt19937, Generator::Philox] {
        let stream = Stream::new(generator, 9);
        let n = if generator == Generator::Mt19937 { 64 } else { 512 };
        for device in having(&stream) {
            let bits = |position: u64, n: usize| drawn::<u32>(&device, &stream.clone().at(position), Bits, n);
            // Kept states of three draws, at words n, 2 n and 2 n + 16.
            let mut rng = device.rng_of(stream.clone());
            drop(rng.normal::<f32>([n]).unwrap().into_output());
            let narrow = rng.bits::<u32>([n]).unwrap().into_output();
            assert_eq!(down(&device, &narrow), bits(n as u64, n), "{device:?} {generator:?}");
            let wide = rng.bits::<u64>([8]).unwrap().into_output();
            let at = rng.stream().position() - 16;
            let wide: Vec<u32> = down(&device, &wide).iter().flat_map(|x| [*x as u32, (*x >> 32) as u32]).collect();
            if generator != Generator::Philox {
                assert_eq!(at, 2 * n as u64);
                assert_eq!(wide, bits(at, 16), "{device:?} {generator:?}");
            }
            // By another handle of the same seed, and at places that the caller gives.
            let rng = device.rng_of(stream.clone());
            let alone = device.rng_of(stream.clone());
            let of = Normal::standard();
            let late = n as u64;
            let want = alone.fill_from(late, of, device.uninit::<f64>(n).unwrap()).unwrap().into_output();
            drop(rng.fill_from(0, Between::<u64>::new(..), device.uninit(n).unwrap()).unwrap().into_output());
            let got = rng.fill_from(late, of, device.uninit::<f64>(n).unwrap()).unwrap().into_output();
            assert_same_bits(&down(&device, &got), &down(&device, &want), &format!("{device:?} {generator:?}"));
        }
    }
}

#[test]
fn far_positions_of_philox_have_numbers_of_their_own() {
    let stream = Stream::new(Generator::Philox, 7);
    for device in having(&stream) {
        let mut seen = std::collections::HashSet::new();
        for position in std::iter::once(0).chain((50..64).map(|k| 1 << k)) {
            let at = stream.clone().at(position);
            assert!(seen.insert(drawn::<u32>(&device, &at, Bits, 8)), "{device:?}: {position:#x}");
            assert!(
                seen.insert(
                    drawn::<f64>(&device, &at, Uniform::below_one(), 4)
                        .iter()
                        .map(|x| (x.to_bits() >> 20) as u32)
                        .collect()
                )
            );
        }
    }
}

#[test]
fn children_have_different_seeds_as_far_as_seeds_count() {
    for generator in GENERATORS.map(|(generator, _)| generator) {
        let mut stream = Stream::new(generator, 0x0123_4567_89ab_cdef);
        let counts = |seed: u64| match generator {
            Generator::Mt19937 => seed & 0xffff_ffff,
            Generator::Mtgp32 => (seed ^ seed >> 32) & 0xffff_ffff,
            _ => seed,
        };
        let mut seeds: std::collections::HashSet<u64> = [counts(stream.seed())].into();
        for count in [1, 0, 65_535, 100_000] {
            for child in stream.split(count).unwrap() {
                assert!(seeds.insert(counts(child.seed())), "{generator:?}: {:#x} twice", child.seed());
            }
        }
    }
}

#[test]
fn a_refused_draw_leaves_the_stream_where_it_stood() {
    for device in having(&Stream::new(Generator::Philox, 1)) {
        let mut rng = device.rng(1);
        drop(rng.uniform::<f32>([10]).unwrap());
        let before = rng.stream().clone();
        assert!(rng.normal::<f32>([10]).is_ok());
        assert_ne!(*rng.stream(), before);
        let before = rng.stream().clone();
        let refused = rng.fill(Normal::new(f64::NAN, 1.0), up(&device, [1.0f32, 2.0])).unwrap_err();
        assert_eq!(down(&device, &refused.back.unwrap().0), [1.0, 2.0]);
        assert!(rng.integers::<i32>(3..3, [10]).is_err());
        assert!(rng.choice(3, 4).is_err());
        assert_eq!(*rng.stream(), before);
    }
}

#[test]
fn a_stream_is_plain_data() {
    let mut stream = Stream::new(Generator::Mtgp32, 3).at(1000);
    let children = stream.split(3).unwrap();
    let bytes = postcard::to_stdvec(&(&stream, &children)).unwrap();
    let (again, small): (Stream, Vec<Stream>) = postcard::from_bytes(&bytes).unwrap();
    assert_eq!((&again, &small), (&stream, &children));
    // Splitting again gives others.
    let more = stream.split(2).unwrap();
    assert!(more.iter().all(|child| !children.contains(child)));
}

#[test]
fn split_streams_have_nothing_in_common() {
    let mut stream = Stream::new(Generator::Philox, 11);
    for device in having(&stream.clone()) {
        let children = stream.split(8).unwrap();
        let all: Vec<Vec<f64>> =
            children.iter().map(|child| drawn::<f64>(&device, child, Uniform::below_one(), 4096)).collect();
        for (i, x) in all.iter().enumerate() {
            for y in &all[..i] {
                let product: f64 = x.iter().zip(y).map(|(x, y)| (x - 0.5) * (y - 0.5)).sum();
                // Its deviation is sqrt(4096) / 12.
                assert!(product.abs() < 6.0 * 64.0 / 12.0, "{product}");
            }
        }
    }
}

#[test]
fn no_numbers_are_no_numbers() {
    for (generator, _) in GENERATORS {
        let stream = Stream::new(generator, 1);
        for device in having(&stream) {
            let mut rng = device.rng_of(stream.clone());
            for pending in [rng.bits::<u32>([0]), rng.poisson(3.0, [0]), rng.permutation(0), rng.choice(5, 0)] {
                assert!(down(&device, &pending.unwrap().await_result().unwrap()).is_empty());
            }
            assert!(down(&device, &rng.normal::<f64>([0]).unwrap().await_result().unwrap()).is_empty());
        }
    }
    for device in having(&Stream::sobol(3)) {
        assert!(down(&device, &device.rng_of(Stream::sobol(3)).uniform::<f32>([0]).unwrap().into_output()).is_empty());
    }
}
