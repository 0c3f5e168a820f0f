//! Random numbers: streams that are values, with the same bits on every engine.
//!
//! A [`Stream`] is a generator, a seed and a position. [`Rng`] (`device.rng(seed)`) draws from one: each call fills a buffer
//! on the device and moves the position on at submission, so nothing of a stream lives on the device, and a device that is
//! rebuilt goes on where it was. [`Rng::fill_at`] draws at a position that the caller names.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::Device;
//! let device = Device::best()?;
//! let mut rng = device.rng(42);
//! let x = rng.normal::<f32>(1000)?.into_output();
//! let y = rng.normal::<f32>(1000)?.into_output(); // the next thousand
//! assert_ne!(device.download(&x)?.await_result()?, device.download(&y)?.await_result()?);
//! # Ok(()) }
//! ```
//!
//! # What holds
//! *The same bits* means: on the host engine and in a worker, whatever its threads, and on a GPU. On a GPU kernels of our own make
//! them, which keep no state there. For MT19937, MTGP32 and [`Normal::curand`] there are none: whoever asks for those makes
//! them on the CPU before the call returns, and they are copied. That gives the same numbers, not speed; it needs the feature
//! `host`.
//!
//! | numbers | bits |
//! |---|---|
//! | raw `u32` of Philox, XORWOW, MRG32k3a, MT19937, MTGP32, Sobol32; raw `u64` of Sobol64 | cuRAND's, of its default or legacy order |
//! | [`Uniform::above_zero`] of f32 and f64, of all of these | cuRAND's |
//! | raw `u64` of a random generator | two of its `u32`, the low half first: our own |
//! | [`Uniform::below_one`], halves, ranges | our own, of the same words |
//! | [`Normal`], [`LogNormal`] | our own functions, of cuRAND's uniforms: within 3e-6 (f32) and 3e-15 (f64) of cuRAND's for Philox, XORWOW and MRG32k3a |
//! | [`Normal::curand`] | cuRAND's host generators', where the C library is glibc |
//! | [`Exponential`], [`Bernoulli`], [`Poisson`], [`Binomial`], [`Rng::permutation`], [`Rng::choice`] | our own |
//!
//! Of MT19937, MTGP32 and Sobol32 a uniform f64 has 32 random bits, as cuRAND makes it. `below_one` has 53, but of Sobol32.
//!
//! # Quasi-random sequences
//! `n` numbers of a sequence of `d` dimensions are `n / d` points: all of the first dimension first. The first point is 0
//! (2^-33 as a uniform f32), but of a scrambled sequence, which has cuRAND's bits where `libcurand` is installed. There are the sequence's own bits, of its own width, and floats; normal numbers are quantiles.
//!
//! `stream` is the value, `scrambled` cuRAND's tables for a sequence, `layout` how its words are taken, `distribution` the specifications, `spec` what they become;
//! `draw` and `permute` are the ops, `front` the caller's side, `host` the arithmetic, `cuda_half` and `kernels` the same on a
//! GPU.

#[cfg(feature = "rng")]
mod cuda_half;
mod distribution;
mod draw;
mod front;
mod host;
mod layout;
mod permute;
mod scrambled;
mod spec;
mod stream;

pub use distribution::{
    Bernoulli, Between, Binomial, Bits, Distribution, Ends, Exponential, Limits, LogNormal, Normal, Poisson, Random,
    Uniform,
};
pub use front::Rng;
pub use stream::{Generator, Ordering, Stream};

/// What another executable may be asked for: a line a distribution and its types.
#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::worker::Registry) {
    use crate::{bf16, f16};
    macro_rules! each { ($($d:ty: $($t:ty),*;)*) => { $($(registry.add::<draw::Draw<$t, $d>>();)*)* } }
    macro_rules! between { ($($t:ty),*) => { $(registry.add::<draw::Draw<$t, Between<$t>>>();)* } }
    each! {
        Bits: u32, u64;
        Uniform: f16, bf16, f32, f64;
        Normal: f16, bf16, f32, f64;
        LogNormal: f16, bf16, f32, f64;
        Exponential: f16, bf16, f32, f64;
        Bernoulli: u8;
        Poisson: u32;
        Binomial: u32;
    }
    between!(f16, bf16, f32, f64, u8, i8, u16, i16, u32, i32, u64, i64);
    permute::register(registry);
}
