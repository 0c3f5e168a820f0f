//! The bits are those of cuRAND's host generators, and of what their authors published.

use super::{drawn, having};
use windlass::rng::{Bits, Generator, Normal, Ordering, Stream, Uniform};

struct Row {
    stream: Stream,
    what: String,
    n: usize,
    sum: u64,
    first: Vec<u32>,
    text: String,
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

fn rows() -> Vec<Row> {
    let text = include_str!("curand.txt").lines().filter(|line| !line.starts_with('#'));
    let row = |text: &str| {
        let field: Vec<&str> = text.split(' ').collect();
        let ordering = if field[1] == "legacy" { Ordering::Legacy } else { Ordering::Default };
        let (seed, offset) = (hex(field[2]), hex(field[3]));
        let random = |generator| Stream::new(generator, seed).ordering(ordering).at(offset);
        let quasi = |generator| Stream::new(generator, seed).dimensions(offset as u32);
        let stream = match field[0] {
            "Philox" => random(Generator::Philox),
            "Xorwow" => random(Generator::Xorwow),
            "Mrg32k3a" => random(Generator::Mrg32k3a),
            "Mt19937" => random(Generator::Mt19937),
            "Mtgp32" => random(Generator::Mtgp32),
            "Sobol32" => quasi(Generator::Sobol32),
            "Sobol64" => quasi(Generator::Sobol64),
            "ScrambledSobol32" => quasi(Generator::ScrambledSobol32),
            "ScrambledSobol64" => quasi(Generator::ScrambledSobol64),
            other => panic!("{other}"),
        };
        let first = field[7..].iter().map(|word| hex(word) as u32).collect();
        Row {
            stream,
            what: field[4].into(),
            n: field[5].parse().unwrap(),
            sum: hex(field[6]),
            first,
            text: text.into(),
        }
    };
    text.map(row).collect()
}

fn words<T: windlass::Element>(x: &[T]) -> Vec<u32> {
    bytemuck::cast_slice::<T, u8>(x).chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
}

fn sum(words: &[u32]) -> u64 {
    let term = |(i, word): (u64, &u32)| u64::from(*word).wrapping_mul(2 * i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..).zip(words).map(term).fold(0, u64::wrapping_add)
}

/// Those rows, on each device that has them; how many there were.
fn check(of: impl Fn(&Row) -> bool) -> usize {
    let rows: Vec<Row> = rows().into_iter().filter(of).collect();
    for row in &rows {
        for device in having(&row.stream) {
            let Row { stream, n, .. } = row;
            let normal = Normal::standard().curand();
            let got = match row.what.as_str() {
                "u32" => words(&drawn::<u32>(&device, stream, Bits, *n)),
                "u64" => words(&drawn::<u64>(&device, stream, Bits, *n)),
                "uf" => words(&drawn::<f32>(&device, stream, Uniform::above_zero(), *n)),
                "ud" => words(&drawn::<f64>(&device, stream, Uniform::above_zero(), *n)),
                "nf" => words(&drawn::<f32>(&device, stream, normal, *n)),
                "nd" => words(&drawn::<f64>(&device, stream, normal, *n)),
                other => panic!("{other}"),
            };
            assert_eq!(got[..4], row.first, "{device:?}: {}", row.text);
            assert_eq!(sum(&got), row.sum, "{device:?}: {}", row.text);
        }
    }
    rows.len()
}

#[test]
fn philox_has_the_bits_of_curand() {
    assert_eq!(check(|row| row.stream.generator() == Generator::Philox && !row.what.starts_with('n')), 20);
}

#[test]
fn xorwow_has_the_bits_of_curand() {
    assert_eq!(check(|row| row.stream.generator() == Generator::Xorwow && !row.what.starts_with('n')), 20);
}

#[test]
fn mrg32k3a_has_the_bits_of_curand() {
    assert_eq!(check(|row| row.stream.generator() == Generator::Mrg32k3a && !row.what.starts_with('n')), 40);
}

#[test]
fn mtgp32_has_the_bits_of_curand() {
    assert_eq!(check(|row| row.stream.generator() == Generator::Mtgp32), 18);
}

#[test]
fn mt19937_has_the_bits_of_curand() {
    assert_eq!(check(|row| row.stream.generator() == Generator::Mt19937), 9);
}

#[test]
fn sobol_sequences_have_the_bits_of_curand() {
    assert_eq!(check(|row| matches!(row.stream.generator(), Generator::Sobol32 | Generator::Sobol64)), 18);
}

/// Their tables are the library's: where it is not installed they are refused, and say so.
#[test]
fn scrambled_sequences_have_the_bits_of_curand_where_it_is_installed() {
    let scrambled = [Generator::ScrambledSobol32, Generator::ScrambledSobol64];
    for device in crate::common::devices() {
        for generator in scrambled {
            let answer = device.rng_of(Stream::new(generator, 0)).uniform::<f32>([4]);
            if let Err(error) = answer {
                assert!(matches!(error, windlass::Error::Unsupported { .. }), "{error}");
                assert!(error.to_string().contains("libcurand"), "{error}");
                println!("not compared: {error}");
                return;
            }
        }
    }
    assert_eq!(check(|row| scrambled.contains(&row.stream.generator())), 18);
}

/// They are made with the functions of the C library, as cuRAND's are.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
fn normal_numbers_by_the_name_of_curand_have_its_bits() {
    let mut host = 0;
    for row in rows().iter().filter(|row| row.what.starts_with('n')) {
        let device = windlass::Device::host().unwrap();
        let normal = Normal::standard().curand();
        let got = match row.what.as_str() {
            "nf" => words(&drawn::<f32>(&device, &row.stream, normal, row.n)),
            _ => words(&drawn::<f64>(&device, &row.stream, normal, row.n)),
        };
        assert_eq!((&got[..4], sum(&got)), (&row.first[..], row.sum), "{}", row.text);
        host += 1;
    }
    assert_eq!(host, 6);
}

#[test]
fn streams_begin_as_their_authors_published() {
    let first = |generator, seed| {
        let stream = Stream::new(generator, seed);
        having(&stream).iter().map(|device| drawn::<u32>(device, &stream, Bits, 4)).collect::<Vec<_>>()
    };
    // Random123's known answer for a counter and a key of zeros.
    for words in first(Generator::Philox, 0) {
        assert_eq!(words, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    }
    // The reference implementation's first number for its default seed.
    for words in first(Generator::Mt19937, 5489) {
        assert_eq!(words[0], 3_499_211_612);
    }
    // L'Ecuyer's first number for six seeds of 12345, to the digits that another scaling leaves.
    let stream = Stream::new(Generator::Mrg32k3a, 0);
    for device in having(&stream) {
        let x = drawn::<f64>(&device, &stream, Uniform::above_zero(), 1);
        assert!((x[0] - 0.127_011_122_046_577).abs() < 1e-10, "{x:?}");
    }
}
