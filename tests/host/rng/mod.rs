//! Random numbers: the bits of each stream, the laws of streams, the distributions, what is refused.

mod arrays;
mod curand;
mod degenerate;
mod distributions;
mod engines;
mod kernels;
mod laws;
mod refusals;
mod statistics;
mod weighted;

use crate::common::{devices, down};
use windlass::rng::{Distribution, Generator, Random, Stream};
use windlass::{Device, Error};

/// The random generators, and how many numbers of them are cheap to have.
const GENERATORS: [(Generator, usize); 5] = [
    (Generator::Philox, 300_000),
    (Generator::Xorwow, 70_000),
    (Generator::Mrg32k3a, 170_000),
    (Generator::Mt19937, 400),
    (Generator::Mtgp32, 100_000),
];

/// `n` numbers of a stream from where it stands.
fn drawn<T: Random>(device: &Device, stream: &Stream, of: impl Distribution<T>, n: usize) -> Vec<T> {
    let out = device.rng_of(stream.clone()).draw::<T>(of, [n]).unwrap().into_output();
    down(device, &out)
}

/// The devices that have a stream's numbers: scrambled sequences want `libcurand`.
fn having(stream: &Stream) -> Vec<Device> {
    let unable = |answer| matches!(answer, Err(Error::Unsupported { .. }));
    let able = |device: &Device| !unable(device.rng_of(stream.clone()).uniform::<f32>([1]));
    devices().into_iter().filter(able).collect()
}
