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
use crate::device::tensor::{IntoShape, Part, Tensor, WritableTensor};
use crate::engines::op::Op;
use std::ops::RangeBounds;

/// Draws random numbers on one device from one stream: `device.rng(seed)`. Holds no native state; see [`crate::rng`].
#[derive(Clone, Debug)]
pub struct Rng {
    device: Device,
    stream: Stream,
}

/// Fronts of libraries: random numbers.
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
    /// let points = device.to_vec(&device.rng_of(Stream::sobol(2).at(1)).uniform::<f64>([2, 3])?)?;
    /// let rounded: Vec<f64> = points.iter().map(|x| (x * 1000.0).round() / 1000.0).collect();
    /// assert_eq!(rounded, [0.5, 0.75, 0.25, 0.5, 0.25, 0.75]);
    /// # Ok(()) }
    /// ```
    pub fn rng_of(&self, stream: Stream) -> Rng {
        Rng { device: self.clone(), stream }
    }
}

/// The result of a draw: the work in flight.
type Drawn<T> = Result<PendingDispatch<Tensor<T>>>;

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

    /// Fills a tensor, a part of one or a buffer with numbers from a distribution, the last axis fastest, and moves the stream on.
    /// What is filled must lie in that order, without gaps.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a tensor that is not row-major without gaps ([`draw`](Self::draw) makes one that is), a
    /// parameter of the distribution (the error names it), a length that is not a
    /// whole number of quasi-random points, or a position past the stream's end; [`Error::Unsupported`] for numbers
    /// that the generator does not support; a stale or foreign buffer. The tensor comes back, and the stream does not
    /// move.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, rng::Between};
    /// let device = Device::host()?;
    /// let dice = device.tensor([3, 100], [0u8; 300])?;
    /// let dice = device.rng(7).fill(Between::new(1..=6), dice.part(|all| all.index(0, 1))?)?.into_output();
    /// assert!(device.to_vec(dice.index(0, 1)?)?.iter().all(|n| (1..=6).contains(n)));
    /// assert_eq!(device.to_vec(dice.index(0, 2)?)?, [0; 100]);
    /// # Ok(()) }
    /// ```
    pub fn fill<T: Random>(&mut self, of: impl Distribution<T>, out: impl WritableTensor<T>) -> Submitted<Tensor<T>> {
        let (mut stream, out) = (self.stream.clone(), out.into());
        let op = count(&out).and_then(|n| {
            let (op, layout, first) = Draw::new(&stream, &of, None, n)?;
            stream.pass(layout, first, n as u64).map(|()| op)
        });
        let pending = self.submit(op, out)?;
        self.stream = stream;
        Ok(pending)
    }

    /// As [`fill`](Self::fill), beginning with number `first`, and does not move the stream.
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
    /// let all = rng.fill_from(0, Normal::standard(), device.uninit::<f32>([10, 10])?)?.into_output();
    /// let end = rng.fill_from(60, Normal::standard(), device.uninit::<f32>([4, 10])?)?.into_output();
    /// assert_eq!(device.to_vec(&all)?[60..], device.to_vec(&end)?);
    /// # Ok(()) }
    /// ```
    pub fn fill_from<T: Random>(
        &self,
        first: u64,
        of: impl Distribution<T>,
        out: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let out = out.into();
        let op = count(&out).and_then(|n| Ok(Draw::new(&self.stream, &of, Some(first), n)?.0));
        self.submit(op, out)
    }

    /// Submits a draw, or returns the tensor.
    fn submit<T: Random, D: Distribution<T>>(&self, op: Result<Draw<T, D>>, out: Part<T>) -> Submitted<Tensor<T>> {
        let site = (Draw::<T, D>::NAME, Draw::<T, D>::LIBRARY);
        out.submit(site, op, |op, out| self.draw_into(op, out))
    }

    /// Submits a draw. A device other than the CPU also gets the directions of a quasi-random sequence.
    fn draw_into<T: Random, D: Distribution<T>>(
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

    #[cold]
    fn refuse<T: Random, D: Distribution<T>>(&self, error: Error, out: DeviceBuffer<T>) -> Submitted<DeviceBuffer<T>> {
        let error = error.in_op(Draw::<T, D>::NAME, Draw::<T, D>::LIBRARY);
        Err(Rejected::new(error, (out,)))
    }

    /// A new row-major tensor of numbers from a distribution, the last axis fastest.
    ///
    /// # Errors
    /// As [`fill`](Self::fill); [`Error::InvalidArgument`] for extents that no tensor can have; too little memory.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, rng::Normal};
    /// let x = Device::host()?.rng(42).draw::<f32>(Normal::standard(), [100, 3])?.await_result()?;
    /// assert_eq!(x.shape(), [100, 3]);
    /// # Ok(()) }
    /// ```
    pub fn draw<T: Random>(&mut self, of: impl Distribution<T>, extents: impl IntoShape) -> Drawn<T> {
        let out = self.device.uninit(extents)?;
        Ok(self.fill(of, out)?)
    }

    /// The generator's own bits: `u32`, or `u64`.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn bits<T: Random>(&mut self, extents: impl IntoShape) -> Drawn<T>
    where
        Bits: Distribution<T>,
    {
        self.draw(Bits, extents)
    }

    /// Uniform numbers above 0 and up to 1, as in cuRAND; [`Uniform::below_one`] has the other convention.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn uniform<T: Random>(&mut self, extents: impl IntoShape) -> Drawn<T>
    where
        Uniform: Distribution<T>,
    {
        self.draw(Uniform::above_zero(), extents)
    }

    /// Integers in a range, without bias (Lemire's method): `choice` with replacement.
    ///
    /// # Errors
    /// As [`draw`](Self::draw); an empty range.
    pub fn integers<T: Random + Limits>(&mut self, range: impl RangeBounds<T>, extents: impl IntoShape) -> Drawn<T>
    where
        Between<T>: Distribution<T>,
    {
        self.draw(Between::new(range), extents)
    }

    /// Standard normal numbers; see [`Normal`] for other means and deviations.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn normal<T: Random>(&mut self, extents: impl IntoShape) -> Drawn<T>
    where
        Normal: Distribution<T>,
    {
        self.draw(Normal::standard(), extents)
    }

    /// Numbers whose logarithms are normal, of this mean and standard deviation.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn log_normal<T: Random>(&mut self, mean: f64, deviation: f64, extents: impl IntoShape) -> Drawn<T>
    where
        LogNormal: Distribution<T>,
    {
        self.draw(LogNormal::new(mean, deviation), extents)
    }

    /// Exponentially distributed numbers with this mean.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn exponential<T: Random>(&mut self, mean: f64, extents: impl IntoShape) -> Drawn<T>
    where
        Exponential: Distribution<T>,
    {
        self.draw(Exponential::new(mean), extents)
    }

    /// 1 with probability `p`, else 0.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn bernoulli(&mut self, p: f64, extents: impl IntoShape) -> Drawn<u8> {
        self.draw(Bernoulli::new(p), extents)
    }

    /// Numbers of events with mean `lambda` (from 0 to 2^30): below a mean of 10 by search in the distribution function,
    /// else by Hoermann's transformed rejection.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn poisson(&mut self, lambda: f64, extents: impl IntoShape) -> Drawn<u32> {
        self.draw(Poisson::new(lambda), extents)
    }

    /// Numbers of successes in `trials` trials with probability `p`: below a mean of 10 by search, else by Hoermann's
    /// transformed rejection.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn binomial(&mut self, trials: u32, p: f64, extents: impl IntoShape) -> Drawn<u32> {
        self.draw(Binomial::new(trials, p), extents)
    }
}

/// How many numbers fill a tensor, which must be row-major without gaps.
fn count<T: Random>(out: &Part<T>) -> Result<usize> {
    let layout = out.layout();
    if layout.is_row_major() {
        return Ok(layout.len());
    }
    let what = "is not row-major without gaps; `contiguous` makes a copy that is, and `assign` puts it back";
    Err(Error::invalid("out", format!("{layout:?} {what}")))
}
