//! The front of the random numbers of one device.

use super::between::{Between, Limits};
use super::distribution::{
    Bernoulli, Binomial, Bits, Distribution, Exponential, LogNormal, Normal, Poisson, Random, Uniform,
};
use super::draw::{DIMENSIONS, Draw};
use super::stream::{Generator, Stream};
use crate::core::buffer::DeviceBuffer;
use crate::core::device_info::DeviceKind;
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::engines::op::Op;
use std::ops::RangeBounds;

/// Draws random numbers on one device from one stream: `device.rng(seed)`. Holds no native state; see [`crate::rng`].
#[derive(Clone, Debug)]
pub struct Rng {
    device: Device,
    stream: Stream,
}

impl Device {
    /// Random numbers of Philox4x32-10 with this seed.
    pub fn rng(&self, seed: u64) -> Rng {
        self.rng_of(Stream::new(Generator::Philox, seed))
    }

    /// Random numbers of a stream, from its position on.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, rng::Stream};
    /// let device = Device::host()?;
    /// // Three points of two dimensions: all of the first dimension first.
    /// let points = device.rng_of(Stream::sobol(2).at(1)).uniform::<f64>(6)?.into_output();
    /// let points = device.download(&points)?.await_result()?;
    /// let rounded: Vec<f64> = points.iter().map(|x| (x * 1000.0).round() / 1000.0).collect();
    /// assert_eq!(rounded, [0.5, 0.75, 0.25, 0.5, 0.25, 0.75]);
    /// # Ok(()) }
    /// ```
    pub fn rng_of(&self, stream: Stream) -> Rng {
        Rng { device: self.clone(), stream }
    }
}

/// The result of a draw: the work in flight.
type Drawn<T> = Result<PendingDispatch<DeviceBuffer<T>>>;

impl Rng {
    /// The stream, with its position: plain data that can be stored and used again.
    pub const fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The stream, to be changed.
    pub const fn stream_mut(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// Its device.
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// `count` generators with [independent streams](Stream::split), for example one for each thread.
    ///
    /// # Errors
    /// As [`Stream::split`].
    pub fn split(&mut self, count: usize) -> Result<Vec<Rng>> {
        let mut all = crate::core::room::with_capacity(count)?;
        let streams = self.stream.split(count)?;
        all.extend(streams.into_iter().map(|stream| self.device.rng_of(stream)));
        Ok(all)
    }

    /// Fills a buffer, or its window, with numbers from a distribution, and moves the stream on.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a parameter of the distribution (the error names it), a length that is not a
    /// whole number of quasi-random points, or a position past the stream's end; [`Error::Unsupported`] for numbers
    /// that the generator does not support; a stale or foreign buffer. The buffer comes back, and the stream does not
    /// move.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, rng::Between};
    /// let device = Device::host()?;
    /// let dice = device.rng(7).fill(Between::new(1..=6), device.uninit::<u8>(1000)?)?.into_output();
    /// assert!(device.download(&dice)?.await_result()?.iter().all(|n| (1..=6).contains(n)));
    /// # Ok(()) }
    /// ```
    pub fn fill<T: Random>(&mut self, of: impl Distribution<T>, out: DeviceBuffer<T>) -> Submitted<DeviceBuffer<T>> {
        let mut stream = self.stream.clone();
        let made = Draw::new(&stream, &of, None, out.len());
        let op = match made.and_then(|(op, layout, first)| stream.pass(layout, first, out.len() as u64).map(|()| op)) {
            Ok(op) => op,
            Err(error) => return self.refuse_of(&of, error, out),
        };
        let pending = self.submit(op, out)?;
        self.stream = stream;
        Ok(pending)
    }

    /// Fills a buffer with numbers from a distribution, beginning with number `first`, and does not move the stream.
    /// `first` counts numbers of this distribution, or points of a quasi-random sequence.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, rng::Normal};
    /// let device = Device::host()?;
    /// let rng = device.rng(7);
    /// let all = rng.fill_from(0, Normal::standard(), device.uninit::<f32>(100)?)?.into_output();
    /// let end = rng.fill_from(60, Normal::standard(), device.uninit::<f32>(40)?)?.into_output();
    /// assert_eq!(device.download(&all)?.await_result()?[60..], device.download(&end)?.await_result()?);
    /// # Ok(()) }
    /// ```
    pub fn fill_from<T: Random>(
        &self,
        first: u64,
        of: impl Distribution<T>,
        out: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        match Draw::new(&self.stream, &of, Some(first), out.len()) {
            Ok((op, ..)) => self.submit(op, out),
            Err(error) => self.refuse_of(&of, error, out),
        }
    }

    /// Submits a draw. A device other than the CPU also gets the directions of a quasi-random sequence.
    fn submit<T: Random, D: Distribution<T>>(
        &self,
        op: Draw<T, D>,
        out: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        #[cfg(feature = "host")]
        if self.device.kind() == DeviceKind::Cuda && op.is_of_the_cpu() {
            return match op.numbers() {
                Ok(numbers) => self.device.upload_into(numbers, out),
                Err(error) => self.refuse::<T, D>(error, out),
            };
        }
        // Checked before submission, so that an isolated GPU refuses the draw at the same point as a GPU of this
        // process.
        #[cfg(feature = "cuda")]
        if self.device.kind() == DeviceKind::Cuda
            && let Err(error) = op.has_kernels()
        {
            return self.refuse::<T, D>(error, out);
        }
        let dimensions = self.stream.dimensions;
        let sized = (1..=DIMENSIONS).contains(&dimensions) && !out.is_empty();
        if self.stream.generator().is_quasi_random() && self.device.kind() != DeviceKind::Host && sized {
            let scrambled = op.place.scrambled;
            let of = |dimension| super::scrambled::directions(op.place.generator, scrambled, dimension);
            let all: Vec<u64> = (0..dimensions as usize).flat_map(of).collect();
            match self.device.upload(all) {
                Ok(table) => {
                    let table = table.into_output();
                    return self.device.dispatch(op, (Some(table.as_in()),), (out,));
                }
                Err(rejected) => return Err(Rejected::new(rejected, (out,))),
            }
        }
        self.device.dispatch(op, (None,), (out,))
    }

    /// As [`refuse`](Self::refuse), where the distribution's type has no name.
    #[cold]
    fn refuse_of<T: Random, D: Distribution<T>>(
        &self,
        _: &D,
        error: Error,
        out: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.refuse::<T, D>(error, out)
    }

    #[cold]
    fn refuse<T: Random, D: Distribution<T>>(&self, error: Error, out: DeviceBuffer<T>) -> Submitted<DeviceBuffer<T>> {
        let error = error.in_op(Draw::<T, D>::NAME, Draw::<T, D>::LIBRARY);
        Err(Rejected::new(error, (out,)))
    }

    /// A new buffer of `n` numbers from a distribution.
    ///
    /// # Errors
    /// As [`fill`](Self::fill); too little memory.
    pub fn draw<T: Random>(&mut self, of: impl Distribution<T>, n: usize) -> Drawn<T> {
        let out = self.device.uninit(n)?;
        Ok(self.fill(of, out)?)
    }

    /// The generator's own bits: `u32`, or `u64`.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn bits<T: Random>(&mut self, n: usize) -> Drawn<T>
    where
        Bits: Distribution<T>,
    {
        self.draw(Bits, n)
    }

    /// Uniform numbers above 0 and up to 1, as in cuRAND; [`Uniform::below_one`] has the other convention.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn uniform<T: Random>(&mut self, n: usize) -> Drawn<T>
    where
        Uniform: Distribution<T>,
    {
        self.draw(Uniform::above_zero(), n)
    }

    /// Integers in a range, without bias (Lemire's method): `choice` with replacement.
    ///
    /// # Errors
    /// As [`draw`](Self::draw); an empty range.
    pub fn integers<T: Random + Limits>(&mut self, range: impl RangeBounds<T>, n: usize) -> Drawn<T>
    where
        Between<T>: Distribution<T>,
    {
        self.draw(Between::new(range), n)
    }

    /// Standard normal numbers; see [`Normal`] for other means and deviations.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn normal<T: Random>(&mut self, n: usize) -> Drawn<T>
    where
        Normal: Distribution<T>,
    {
        self.draw(Normal::standard(), n)
    }

    /// Numbers whose logarithms are normal, of this mean and standard deviation.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn log_normal<T: Random>(&mut self, mean: f64, deviation: f64, n: usize) -> Drawn<T>
    where
        LogNormal: Distribution<T>,
    {
        self.draw(LogNormal::new(mean, deviation), n)
    }

    /// Exponentially distributed numbers with this mean.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn exponential<T: Random>(&mut self, mean: f64, n: usize) -> Drawn<T>
    where
        Exponential: Distribution<T>,
    {
        self.draw(Exponential::new(mean), n)
    }

    /// 1 with probability `p`, else 0.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn bernoulli(&mut self, p: f64, n: usize) -> Drawn<u8> {
        self.draw(Bernoulli::new(p), n)
    }

    /// Numbers of events with mean `lambda` (from 0 to 2^30): below a mean of 10 by search in the distribution function,
    /// else by Hoermann's transformed rejection.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn poisson(&mut self, lambda: f64, n: usize) -> Drawn<u32> {
        self.draw(Poisson::new(lambda), n)
    }

    /// Numbers of successes in `trials` trials with probability `p`: below a mean of 10 by search, else by Hoermann's
    /// transformed rejection.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn binomial(&mut self, trials: u32, p: f64, n: usize) -> Drawn<u32> {
        self.draw(Binomial::new(trials, p), n)
    }
}
