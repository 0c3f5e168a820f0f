//! The operation: a polynomial of every element.

use rayon::prelude::*;
use windlass::{
    Device, DeviceBuffer, Error, PendingDispatch, Rejected, Result,
    op::{Cost, Op, Readable, Slices, SlicesMut, Spans},
};

type Buffer = DeviceBuffer<f32>;

/// `y[i] = c[0] + c[1] x[i] + c[2] x[i]^2 + ...`
///
/// Plain data: what is not a buffer. The buffers are named by their element types and handed to `dispatch`.
pub(crate) struct Poly {
    elements: usize,
    terms: usize,
}

impl Op for Poly {
    const NAME: &'static str = "poly";
    type Reads = (f32, f32); // x, c
    type Output = DeviceBuffer<f32>; // y
    type Raw = ();

    /// Runs before anything else: an error here costs nothing, and the caller gets `y` back.
    fn check(&self, (x, c): &Spans<Self::Reads>, (y,): &Spans<(f32,)>) -> Result<()> {
        if x.len() != y.len() {
            return Err(Error::invalid("y", format!("{} elements, but x has {}", y.len(), x.len())));
        }
        if u32::try_from(c.len()).is_err() {
            return Err(Error::invalid("c", format!("{} terms, but the kernel counts them in 32 bits", c.len())));
        }
        Ok(())
    }

    /// Every element of `y` is written and none is read, so `y` may be memory that was never written.
    fn overwrites(&self, _: &Spans<(f32,)>) -> bool {
        true
    }

    /// For traces: what the device has to do at least.
    fn cost(&self) -> Cost {
        let (n, terms) = (self.elements as u64, self.terms as u64);
        Cost { flops: 2 * n * terms, bytes: size_of::<f32>() as u64 * (2 * n + terms) }
    }

    /// The CPU's half. It runs on the device's own pool, so rayon is welcome here; dispatching or waiting is not.
    fn host(&self, (x, c): Slices<'_, Self>, (y,): SlicesMut<'_, Self>) -> Result<()> {
        const PIECE: usize = 1 << 14; // long enough to be worth a job, many enough to spread
        y.par_chunks_mut(PIECE).zip(x.par_chunks(PIECE)).for_each(|(y, x)| {
            y.iter_mut().zip(x).for_each(|(y, &x)| *y = horner(c, x));
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut windlass::op::Enqueue<'_, Self>) -> Result<()> {
        super::kernel::enqueue(queue)
    }

    /// Nothing is left to report. An op with a verdict (a matrix was singular) would give it here.
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Horner's rule with fused multiply-adds: the kernel does the same, so both engines give the same bits.
pub(crate) fn horner(c: &[f32], x: f32) -> f32 {
    c.iter().rev().fold(0.0, |sum, &factor| sum.mul_add(x, factor))
}

/// A front of one's own: `device.poly(&x, &c)` beside `device.blas()`.
pub(crate) trait PolyExt {
    /// The polynomial with the coefficients `c`, lowest power first, of every element of `x`.
    fn poly<'a>(&self, x: impl Readable<'a, f32>, c: impl Readable<'a, f32>) -> Result<PendingDispatch<Buffer>>;

    /// The same into a buffer that the caller has.
    fn poly_into<'a>(
        &self,
        x: impl Readable<'a, f32>,
        c: impl Readable<'a, f32>,
        y: Buffer,
    ) -> Result<PendingDispatch<Buffer>, Rejected<(Buffer,)>>;
}

impl PolyExt for Device {
    fn poly<'a>(&self, x: impl Readable<'a, f32>, c: impl Readable<'a, f32>) -> Result<PendingDispatch<Buffer>> {
        let x = x.into();
        let y = self.uninit(x.len())?;
        Ok(self.poly_into(x, c, y.into_buffer())?)
    }

    fn poly_into<'a>(
        &self,
        x: impl Readable<'a, f32>,
        c: impl Readable<'a, f32>,
        y: Buffer,
    ) -> Result<PendingDispatch<Buffer>, Rejected<(Buffer,)>> {
        let (x, c) = (x.into(), c.into());
        self.dispatch(Poly { elements: x.len(), terms: c.len() }, (x, c), (y,))
    }
}
