//! Random orders: the first numbers of a permutation.

use super::Rng;
use super::distribution::Bits;
use super::draw::{Draw, supported};
use super::layout::Layout;
use super::spec::Spec;
use crate::core::buffer::DeviceBuffer;
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans, Wire};
use crate::device::tensor::{Part, Tensor};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};
use serde::{Deserialize, Serialize};

/// Up to this many numbers are sorted by 64 random bits each; more are mapped by a bijection.
const RANKED: u64 = 4096;

/// The first `len` numbers of a permutation of the numbers below `n`.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Permute {
    key: [u32; 2],
    n: u64,
    len: usize,
}

/// Checks that there are `len` different numbers below `n`, and that u32 holds them.
fn check(n: u64, len: usize) -> Result<()> {
    if n > 1 << 32 {
        return Err(Error::invalid("n", format!("{n} exceeds 2^32, the number of different u32")));
    }
    if len as u64 > n {
        return Err(Error::invalid("count", format!("cannot choose {len} different numbers below {n}")));
    }
    Ok(())
}

impl Op for Permute {
    const NAME: &'static str = "permutation";
    const OPERANDS: OperandNames = (&[], &["out"]);
    const LIBRARY: &'static str = "rng";
    type Reads = ();
    type Output = DeviceBuffer<u32>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, (out,): &Spans<(u32,)>) -> Result<()> {
        if out.len() != self.len {
            return Err(Error::invalid("out", format!("{} elements for {} numbers", out.len(), self.len)));
        }
        check(self.n, self.len)
    }

    fn overwrites(&self, _: &Spans<(u32,)>) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: (self.len as u64).saturating_mul(4) }
    }

    fn host(&self, (): Slices<'_, Self>, (out,): SlicesMut<'_, Self>) -> Result<()> {
        #[cfg(feature = "host")]
        super::host::permute::permute(self.key, self.n, RANKED, out);
        #[cfg(not(feature = "host"))]
        let _ = out;
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let (out,) = *queue.writes();
        super::cuda_half::permute(queue, (out.address(), out.len()), self.key, self.n, RANKED)
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no random numbers on a GPU (feature `rng`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Rng {
    /// The numbers below `n` in random order; `n` is at most 2^32. Uses two words of the stream.
    ///
    /// The order is a function of 64 random bits. Up to 17 numbers, every order occurs, and all have the same probability
    /// within a few percent. From 21 numbers on (21! exceeds 2^64), most of the `n!` orders never occur. Up to 4096
    /// numbers are sorted by a hash of 64 bits each; more are mapped by a bijection. No test of single places or pairs
    /// distinguishes either from a random order.
    ///
    /// # Errors
    /// As [`choice`](Self::choice).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::Device;
    /// let device = Device::host()?;
    /// let mut order = device.to_vec(&device.rng(1).permutation(10)?)?;
    /// order.sort();
    /// assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    /// # Ok(()) }
    /// ```
    pub fn permutation(&mut self, n: usize) -> Result<PendingDispatch<Tensor<u32>>> {
        self.choice(n as u64, n)
    }

    /// `count` different numbers below `n`, in random order: the first ones of a [`permutation`](Self::permutation). To
    /// draw with replacement, use [`integers`](Self::integers).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a `count` above `n`, or an `n` above 2^32; [`Error::Unsupported`] for a
    /// quasi-random sequence; too little memory.
    pub fn choice(&mut self, n: u64, count: usize) -> Result<PendingDispatch<Tensor<u32>>> {
        let name = |error: Error| error.in_op(Permute::NAME, Permute::LIBRARY);
        // The key is one 64-bit number of the stream.
        let (draw, layout, first) = Draw::<u64, Bits>::new(self.stream(), &Bits, None, 1).map_err(name)?;
        let integers = Spec::Integers { start: 0, span: 1 };
        supported(self.stream(), &integers, Layout::Wide).map_err(name)?;
        // Checked before a buffer of that size is allocated.
        check(n, count).map_err(name)?;
        let key = key(&draw).map_err(name)?;
        let mut stream = self.stream().clone();
        stream.pass(layout, first, 1).map_err(name)?;
        let (out, _, whole) = Part::from(self.device().unwritten(count)?).operand();
        let pending = whole.submitted(self.device().dispatch(Permute { key, n, len: count }, (), (out,)))?;
        *self.stream_mut() = stream;
        Ok(pending)
    }
}

#[cfg(feature = "host")]
fn key(draw: &Draw<u64, Bits>) -> Result<[u32; 2]> {
    Ok(super::host::fill::key(&draw.place))
}

/// Without the host engine there is nothing that makes the key.
#[cfg(not(feature = "host"))]
fn key(draw: &Draw<u64, Bits>) -> Result<[u32; 2]> {
    let _ = draw;
    Err(Error::unsupported("a permutation needs the host engine, which this build does not have (feature `host`)"))
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<Permute>();
}
