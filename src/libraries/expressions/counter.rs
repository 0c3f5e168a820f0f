//! A place in a stream that lies on the device, so that recorded draws go on.

use super::build::{index, random};
use crate::core::buffer::DeviceBuffer;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{IntoShape, Layout, Tensor};
use crate::libraries::rng::Stream;
use random::Drawn;
use std::marker::PhantomData;

/// A stream whose place is one `u64` in memory of the device, which each draw moves on: a recorded program that draws from it
/// draws the next numbers in each replay. (What [`Rng`](crate::Rng) draws in a program repeats.) The place counts numbers of type
/// `T` from the stream's position on.
///
/// The place is a buffer that each replay is given and gives back, so it can be read and set between replays, and saved beside
/// the program's file, which has the stream. The place itself is not in the file, for a file holds no memory: what a program reads and
/// writes is given to each replay, so that one file serves any number of replays, each at a place of its own. Each draw moves it on by the number of its numbers, rounded up to an even one, so
/// that uniform and normal numbers never use the same bits.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::{Device, expressions::random::Counter, rng::{Generator, Stream}};
/// let device = Device::best()?;
/// let stream = Stream::new(Generator::Philox, 42);
/// let (program, _) = device.record(|r| {
///     let counter = Counter::<f32>::of_buffer(&stream, r.operand(1)?.into_buffer())?;
///     let (noise, _) = counter.normal(r, [100])?;
///     r.copy(&noise, r.output(100)?)?;
///     Ok(())
/// })?;
/// let mut place = device.zeros::<u64>(1)?;
/// let mut drawn = Vec::new();
/// for _ in 0..2 {
///     let (next, out) = program.replay((), (place, device.uninit::<f32>(100)?))?.await_result()?.operands;
///     (place, drawn) = (next, [drawn, device.to_vec(&out)?].concat());
/// }
/// assert_eq!(device.to_vec(&place)?, [200]);
/// assert_eq!(drawn, device.to_vec(&device.rng_of(stream).normal::<f32>([200])?)?);
/// # Ok(()) }
/// ```
pub struct Counter<T> {
    stream: Stream,
    place: Tensor<u64>,
    _of: PhantomData<fn() -> T>,
}

impl<T: Drawn + Element> Counter<T> {
    /// A place of its own, at the stream's position.
    ///
    /// # Errors
    /// As [`Device::zeros`](crate::Device::zeros).
    pub fn new(device: &Device, stream: &Stream) -> Result<Self> {
        Ok(Self::of_buffer(stream, device.zeroed(1)?)?)
    }

    /// A place that is in this buffer of one element: an operand of a recording, for example. It is even: an odd one counts as the
    /// next.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the buffer has another length; it comes back.
    pub fn of_buffer(stream: &Stream, place: DeviceBuffer<u64>) -> Result<Self, Rejected<DeviceBuffer<u64>>> {
        if place.len() != 1 {
            let error = Error::invalid("place", format!("{} elements; a place is one", place.len()));
            return Err(Rejected::new(error, place));
        }
        Ok(Counter { stream: stream.clone(), place: place.into(), _of: PhantomData })
    }

    /// The place.
    pub fn into_buffer(self) -> DeviceBuffer<u64> {
        self.place.into_buffer()
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The place, which is read: waits for all draws before.
    ///
    /// # Errors
    /// The failure of one of them; an error of the device.
    pub fn position(&self, device: &Device) -> Result<u64> {
        device.item(&self.place)
    }

    /// Uniform numbers above 0 and up to 1: those that [`Rng::fill_from`](crate::Rng::fill_from) gives at the place. Does not wait.
    ///
    /// # Errors
    /// [`Error::Unsupported`] or [`Error::InvalidArgument`] for a stream of another generator than Philox; else as
    /// [`map`](crate::Device::map).
    pub fn uniform(self, device: &Device, extents: impl IntoShape) -> Result<(Tensor<T>, Self)> {
        self.draw(device, extents.axes().as_ref(), false)
    }

    /// Normal numbers of mean 0 and deviation 1, as [`uniform`](Self::uniform).
    ///
    /// # Errors
    /// As there.
    pub fn normal(self, device: &Device, extents: impl IntoShape) -> Result<(Tensor<T>, Self)> {
        self.draw(device, extents.axes().as_ref(), true)
    }

    fn draw(self, device: &Device, extents: &[usize], normal: bool) -> Result<(Tensor<T>, Self)> {
        let Counter { stream, place, .. } = self;
        let len = Layout::row_major(extents)?.len() as u64;
        let numbers = {
            let spread = place.index(0, 0)?.broadcast(extents)?;
            let drawn = device.map(&spread, |place| {
                let at = (place + (place & 1u64)) + index().bits::<u64>();
                if normal { random::normal_at::<T>(&stream, at) } else { random::uniform_at::<T>(&stream, at) }
            });
            drawn?.into_output()
        };
        let step = len.next_multiple_of(2);
        let place = device.update(place, (), |place, ()| (place + (place & 1u64)) + step)?.into_output();
        Ok((numbers, Counter { stream, place, _of: PhantomData }))
    }
}
