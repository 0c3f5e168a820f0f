//! Discrete distributions whose parameters are arrays: each number has its own.

use super::Rng;
use super::layout::Layout;
use super::stream::Generator;
use crate::core::buffer::DeviceBuffer;
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans, Verdict, Wire};
use crate::device::tensor::{Layout as Lay, ReadableTensor, Tensor, TensorRef};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};
use serde::{Deserialize, Serialize};

/// Numbers `first` and so on of a stream of Philox, one for each parameter. The type says whether there are numbers of trials, because
/// errors name the arguments of the call.
#[derive(Serialize, Deserialize)]
pub(super) struct Each<const TRIALS: bool> {
    seed: u64,
    first: u64,
}

impl<const TRIALS: bool> Op for Each<TRIALS> {
    const NAME: &'static str = "draw_each";
    const OPERANDS: OperandNames = (if TRIALS { &["p", "trials"] } else { &["lambda", "trials"] }, &["out"]);
    const LIBRARY: &'static str = "rng";
    /// The mean of a Poisson distribution, or the probability of a success and the number of trials.
    type Reads = (f64, Option<u32>);
    type Output = DeviceBuffer<u32>;
    /// The complement of the index of the first parameter that has no distribution; 0 if all have one.
    type Raw = u64;

    fn check(&self, (parameter, trials): &Spans<Self::Reads>, (out,): &Spans<(u32,)>) -> Result<()> {
        let trials = trials.as_ref().map_or(out.len(), |trials| trials.len());
        if parameter.len() != out.len() || trials != out.len() {
            let what =
                format!("{} numbers of {} parameters and {trials} numbers of trials", out.len(), parameter.len());
            return Err(Error::invalid("out", what));
        }
        Ok(())
    }

    fn overwrites(&self, _: &Spans<(u32,)>) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, (parameter, trials): Slices<'_, Self>, (out,): SlicesMut<'_, Self>) -> Result<u64> {
        Ok(super::host::arrays::fill((self.seed, self.first), parameter, trials, out))
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<u64> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::cuda_half::each(queue, (self.seed, self.first))
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no random numbers on a GPU (feature `rng`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, raw: u64) -> Result<()> {
        match raw {
            0 => Ok(()),
            _ if TRIALS => Err(Error::invalid("p", format!("element {} is no probability from 0 to 1", !raw))),
            _ => Err(Error::invalid("lambda", format!("element {} is no mean from 0 to 2^30", !raw))),
        }
    }
}

/// A tensor of these extents whose elements lie side by side.
fn spread<'a, T: crate::core::element::Element>(
    rng: &Rng,
    x: &TensorRef<'a, T>,
    extents: &[usize],
) -> Result<DeviceBuffer<T>> {
    Ok(rng.device().contiguous(x.broadcast(extents)?)?.into_buffer())
}

impl Rng {
    /// Numbers of events, each with a mean of its own (from 0 to 2^30): one for each element of `lambda`, in its extents. The
    /// numbers are those that [`poisson`](Self::poisson) draws with these means. Philox only.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for another generator; a position past the stream's end; as [`draw`](Self::draw). At the wait
    /// [`Error::InvalidArgument`] with the index of the first mean (the last axis counts fastest) that is negative, NaN or too
    /// large.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let lambda = device.tensor([2, 2], [0.0, 1.0, 10.0, 1e6])?;
    /// let n = device.rng(1).poisson_each(&lambda)?.await_result()?;
    /// assert_eq!((n.shape(), device.item(n.slice((0, 0))?)?), (&[2, 2][..], 0));
    /// let wrong = device.tensor([3], [1.0, 2.0, f64::NAN])?;
    /// assert!(device.rng(1).poisson_each(&wrong)?.await_result().is_err());
    /// # Ok(()) }
    /// ```
    pub fn poisson_each<'a>(
        &mut self,
        lambda: impl ReadableTensor<'a, f64>,
    ) -> Result<PendingDispatch<Tensor<u32>, Verdict>> {
        let lambda = lambda.into();
        let extents = lambda.shape().to_vec();
        self.each::<false>(&lambda, None, &extents)
    }

    /// Numbers of successes, each with trials and a probability of its own: the two are broadcast to each other. The numbers are
    /// those that [`binomial`](Self::binomial) draws with these parameters. Philox only.
    ///
    /// # Errors
    /// As [`poisson_each`](Self::poisson_each), of the probabilities; [`Error::InvalidArgument`] for tensors that are not
    /// broadcast to each other.
    pub fn binomial_each<'a, 'b>(
        &mut self,
        trials: impl ReadableTensor<'a, u32>,
        p: impl ReadableTensor<'b, f64>,
    ) -> Result<PendingDispatch<Tensor<u32>, Verdict>> {
        let (trials, p) = (trials.into(), p.into());
        let extents = Lay::broadcast_both(["trials", "p"], [trials.shape(), p.shape()])?;
        self.each::<true>(&p, Some(&trials), &extents)
    }

    fn each<const TRIALS: bool>(
        &mut self,
        parameter: &TensorRef<'_, f64>,
        trials: Option<&TensorRef<'_, u32>>,
        extents: &[usize],
    ) -> Result<PendingDispatch<Tensor<u32>, Verdict>> {
        let name = |error: Error| error.in_op(Each::<TRIALS>::NAME, Each::<TRIALS>::LIBRARY);
        if self.stream().generator() != Generator::Philox {
            let what = format!("arrays of parameters with {:?}: only Philox draws them", self.stream().generator());
            return Err(name(Error::unsupported(what)));
        }
        let layout = Lay::row_major(extents)?;
        let mut stream = self.stream().clone();
        let first = stream.begin(Layout::Wide).map_err(name)?;
        stream.pass(Layout::Wide, first, layout.len() as u64).map_err(name)?;
        let parameter = spread(self, parameter, extents)?;
        let trials = trials.map(|trials| spread(self, trials, extents)).transpose()?;
        let op = Each::<TRIALS> { seed: stream.seed(), first };
        let reads = (parameter.as_in(), trials.as_ref().map(DeviceBuffer::as_in));
        let out = self.device().unwritten(layout.len())?;
        let pending = self.device().dispatch(op, reads, (out,))?;
        *self.stream_mut() = stream;
        pending.retype(|(buffer,)| Ok::<_, Error>((Tensor::from(buffer).with_layout(layout)?,)))
    }
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<Each<false>>();
    registry.add::<Each<true>>();
}
