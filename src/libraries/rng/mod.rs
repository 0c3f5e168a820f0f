//! Random numbers: streams that are values, with the same bits on every engine.
//!
//! A [`Stream`] is a generator, a seed and a position. [`Rng`] (`device.rng(seed)`) draws from one: each call fills a
//! tensor on the device and moves the position on at submission. A stream has no state on the device, so a rebuilt
//! device continues where it was. [`Rng::fill_from`] draws at a position that the caller gives.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::Device;
//! let device = Device::best()?;
//! let mut rng = device.rng(42);
//! let x = rng.normal::<f32>([10, 100])?;
//! let y = rng.normal::<f32>([10, 100])?; // the next thousand
//! assert_ne!(device.to_vec(&x)?, device.to_vec(&y)?);
//! # Ok(()) }
//! ```
//!
//! # Reproducibility
//! A stream gives the same bits on the host engine, in a worker and on a GPU, with any number of threads. On a GPU our
//! own kernels make the numbers, and keep no state there. There are no kernels for MT19937, MTGP32 and
//! [`Normal::curand`]: the calling thread makes these numbers on the CPU before the call returns, and they are copied.
//! They are the same numbers, but not faster; this needs the feature `host`.
//!
//! | numbers | bits |
//! |---|---|
//! | raw `u32` of Philox, XORWOW, MRG32k3a, MT19937, MTGP32, Sobol32; raw `u64` of Sobol64 | cuRAND's (default or legacy order) |
//! | [`Uniform::above_zero`] of f32 and f64, of all of these | cuRAND's |
//! | raw `u64` of a random generator | two of its `u32`, the low half first: our own |
//! | [`Uniform::below_one`], halves, ranges | our own, from the same words |
//! | [`Normal`], [`LogNormal`] | our own functions of cuRAND's uniforms (accuracy: see below) |
//! | [`Normal::curand`] | those of cuRAND's host generators, if the C library is glibc |
//! | [`Exponential`], [`Bernoulli`], [`Poisson`], [`Binomial`], [`Rng::permutation`], [`Rng::choice`] | our own |
//!
//! [`Normal`] and [`LogNormal`] are within 3e-6 (f32) and 3e-15 (f64) of cuRAND's for Philox, XORWOW and MRG32k3a. A
//! uniform f64 of MRG32k3a, MT19937, MTGP32 or Sobol32 has 32 random bits, as in cuRAND; with `below_one` it has 53,
//! except for Sobol32.
//!
//! # Quasi-random sequences
//! `n` numbers of a sequence of `d` dimensions are `n / d` points: all of the first dimension first. The first point is
//! 0 (2^-33 as a uniform f32), except for a scrambled sequence. A scrambled sequence has cuRAND's bits; it needs an
//! installed `libcurand`. A sequence gives its own bits, of its own width, and floats; its normal numbers are
//! quantiles.
//!
//! `stream` is the value, `seeds` those of the streams split off, `scrambled` cuRAND's tables for a sequence, `layout` how
//! draws use its words, `distribution` and `between` the distributions, `parameter` checks their parameters in the element's
//! type, `spec` is their plain data; `draw`, `arrays` and `permute` are the ops, `front` the caller's side, `host` the arithmetic,
//! `cuda_half` and `kernels` the same on a GPU.

mod arrays;
mod between;
#[cfg(feature = "cuda")]
mod cuda_half;
mod distribution;
mod draw;
mod front;
mod host;
mod layout;
mod parameter;
mod permute;
mod scrambled;
mod seeds;
mod spec;
mod stream;

pub use between::{Between, Limits};
pub use distribution::{
    Bernoulli, Binomial, Bits, Distribution, Ends, Exponential, LogNormal, Normal, Poisson, Random, Uniform,
};
pub use front::Rng;
#[cfg(feature = "expressions")]
pub(crate) use stream::Draws;
pub use stream::{Generator, Ordering, Stream};

/// Registers the operations of this folder in the registry of a worker program: one line for each distribution and its
/// types.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    use half::{bf16, f16};
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
    arrays::register(registry);
    permute::register(registry);
}
