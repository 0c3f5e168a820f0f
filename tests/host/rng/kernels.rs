//! The kernels of a GPU and the host half give the same bits: `kernels.txt` is what the kernels' own source gives when it is
//! compiled for the CPU (`.ci/deep kernels`), and every device agrees with it.

use super::having;
use crate::common::down;
use windlass::rng::{
    Bernoulli, Between, Binomial, Bits, Distribution, Exponential, Generator, LogNormal, Normal, Poisson, Random,
    Stream, Uniform,
};
use windlass::{Device, bf16, f16};

const SEED: u64 = 0x0123_4567_89ab_cdef;
const FIRST: u64 = 70_001;
const COUNT: usize = 30_011;

fn sum<T: Random>(device: &Device, stream: &Stream, (first, count): (u64, usize), of: impl Distribution<T>) -> u64 {
    let out =
        device.rng_of(stream.clone()).fill_from(first, of, device.uninit::<T>(count).unwrap()).unwrap().into_output();
    let x = down(device, &out);
    let bytes = bytemuck::cast_slice::<T, u8>(&x);
    bytes.iter().fold(0u64, |sum, byte| sum.wrapping_add(u64::from(*byte) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn of(device: &Device, stream: &Stream, what: &str) -> u64 {
    let (normal, log) = (Normal::new(1.5, 0.25), LogNormal::new(1.5, 20.0));
    let all = (FIRST, COUNT);
    let points = (77, 20_002);
    // Rows above 2^32: the second word of Philox's counter.
    let far = ((1 << 52) + 3, 1001);
    macro_rules! sums { ($($name:literal: $t:ty, $place:expr, $of:expr;)*) => {
        match what {
            $($name => sum::<$t>(device, stream, $place, $of),)*
            other => panic!("{other}"),
        }
    } }
    if stream.generator().is_quasi_random() {
        return sums! {
            "above_zero_f32": f32, points, Uniform::above_zero();
            "above_zero_f64": f64, points, Uniform::above_zero();
            "standard_f32": f32, points, Normal::standard();
            "standard_f64": f64, points, Normal::standard();
        };
    }
    sums! {
        "bits_u32": u32, all, Bits;
        "bits_u64": u64, all, Bits;
        "above_zero_f32": f32, all, Uniform::above_zero();
        "above_zero_f64": f64, all, Uniform::above_zero();
        "above_zero_f16": f16, all, Uniform::above_zero();
        "above_zero_bf16": bf16, all, Uniform::above_zero();
        "below_one_f32": f32, all, Uniform::below_one();
        "below_one_f64": f64, all, Uniform::below_one();
        "below_one_f16": f16, all, Uniform::below_one();
        "between_f32": f32, all, Between::new(-2.5f32..7.25);
        "between_f64": f64, all, Between::new(-2.5f64..7.25);
        "exponential_f32": f32, all, Exponential::new(3.5);
        "exponential_f64": f64, all, Exponential::new(3.5);
        "exponential_f16": f16, all, Exponential::new(3.5);
        "normal_f32": f32, all, normal;
        "normal_f16": f16, all, normal;
        "normal_bf16": bf16, all, normal;
        "normal_f64": f64, all, normal;
        "log_normal_f32": f32, all, log;
        "log_normal_f64": f64, all, LogNormal::new(1.5, 150.0);
        "quantile_f32": f32, all, normal.by_quantile();
        "quantile_f64": f64, all, normal.by_quantile();
        "integers_u8": u8, all, Between::new(3u8..10);
        "integers_i16": i16, all, Between::new(-5i16..=5);
        "integers_u32": u32, all, Between::new(0u32..1_000_000_007);
        "integers_u64": u64, all, Between::new(5u64..5 + (3 << 62));
        "bernoulli": u8, all, Bernoulli::new(0.3);
        "poisson_3.5": u32, all, Poisson::new(3.5);
        "poisson_64": u32, all, Poisson::new(64.0);
        "binomial_20": u32, all, Binomial::new(20, 0.75);
        "binomial_500": u32, all, Binomial::new(500, 0.75);
        "far_u32": u32, far, Bits;
        "far_u64": u64, far, Bits;
        "far_normal_f64": f64, far, normal;
    }
}

#[test]
fn every_device_has_the_bits_of_the_kernels() {
    let mut rows = 0;
    for line in include_str!("kernels.txt").lines().filter(|line| !line.starts_with("key ")) {
        let field: Vec<&str> = line.split(' ').collect();
        let stream = match field[0] {
            "Philox" => Stream::new(Generator::Philox, SEED),
            "Xorwow" => Stream::new(Generator::Xorwow, SEED),
            "Mrg32k3a" => Stream::new(Generator::Mrg32k3a, SEED),
            "Sobol32" => Stream::sobol(2),
            "Sobol64" => Stream::new(Generator::Sobol64, 0).dimensions(2),
            other => panic!("{other}"),
        };
        for device in having(&stream.clone().dimensions(1)) {
            assert_eq!(format!("{:016x}", of(&device, &stream, field[1])), field[2], "{device:?}: {line}");
        }
        rows += 1;
    }
    assert_eq!(rows, 3 * 31 + 3 + 4);
}
