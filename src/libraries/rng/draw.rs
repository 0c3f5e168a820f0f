//! A draw as an op: its checks, and its implementations for both engines.

use super::distribution::{Distribution, Random, name};
use super::layout::Layout;
use super::spec::{Method, Spec, Start};
use super::stream::{Generator, Stream, spent};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans, Wire};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// The most dimensions of a quasi-random sequence.
pub(super) const DIMENSIONS: u32 = 20_000;
/// The most points of a scrambled sequence: the last two of its 64 directions have another use.
const SCRAMBLED_POINTS: u64 = 1 << 62;
/// The last position of MT19937 and MTGP32, which must make all words before a position to reach it.
const FAR: u64 = 1 << 36;

/// Fills a buffer with numbers of type `T` from `D`.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Draw<T, D> {
    pub(super) place: Start,
    pub(super) spec: Spec,
    len: usize,
    _of: PhantomData<fn() -> (T, D)>,
}

impl<T: Random, D: Distribution<T>> Draw<T, D> {
    /// A draw of `len` numbers of `stream`, from its position or from number `at` on; with its layout and the index of
    /// its first number.
    pub(super) fn new(stream: &Stream, of: &D, at: Option<u64>, len: usize) -> Result<(Self, Layout, u64)> {
        let mut spec = super::distribution::spec(of)?;
        let (generator, scrambled) = stream.generator.plain();
        if let (true, Spec::Normal { method, .. }) = (generator.is_quasi_random(), &mut spec)
            && *method == Method::BoxMuller
        {
            // Box and Muller's method would make two numbers from a pair of points.
            *method = Method::Quantile;
        }
        let layout = Layout::new(generator, &spec, T::KIND);
        let first = at.map_or_else(|| stream.begin(layout), Ok)?;
        let (lanes, dimensions) = (stream.lanes(), stream.dimensions);
        let place = Start { generator, seed: stream.seed, lanes, dimensions, scrambled, first };
        supported(stream, &spec, layout)?;
        Ok((Draw { place, spec, len, _of: PhantomData }, layout, first))
    }

    /// There are no kernels for this draw: for a GPU the CPU makes the numbers.
    #[cfg(feature = "host")]
    pub(super) fn is_of_the_cpu(&self) -> bool {
        matches!(self.place.generator, Generator::Mt19937 | Generator::Mtgp32)
            || matches!(self.spec, Spec::Normal { method: Method::Curand, .. })
    }

    /// Makes the numbers on the CPU.
    #[cfg(feature = "host")]
    pub(super) fn numbers(&self) -> Result<Vec<T>> {
        check(&self.place, Layout::new(self.place.generator, &self.spec, T::KIND), self.len)?;
        let mut numbers = Vec::new();
        if numbers.try_reserve_exact(self.len).is_err() {
            return Err(crate::core::op::raw::no_memory(self.len.saturating_mul(size_of::<T>())));
        }
        numbers.resize(self.len, T::zeroed());
        super::host::fill::fill(&self.place, &self.spec, &mut numbers);
        Ok(numbers)
    }
}

/// Fails for a draw that no engine supports.
pub(super) fn supported(stream: &Stream, spec: &Spec, layout: Layout) -> Result<()> {
    use super::stream::Ordering;
    use Generator::{Mrg32k3a, Philox, Sobol32, Xorwow};
    let (generator, scrambled) = stream.generator.plain();
    if scrambled {
        super::scrambled::available()?;
    }
    match stream.ordering {
        Ordering::Seeded => {
            return Err(Error::unsupported("the ordering `Seeded`: cuRAND does not document how it seeds its lanes"));
        }
        Ordering::Dynamic => {
            return Err(Error::unsupported(
                "the ordering `Dynamic`: it depends on the GPU, so other engines cannot reproduce it",
            ));
        }
        _ => {}
    }
    if generator.is_quasi_random() {
        let integers = match spec {
            Spec::Bits => (generator == Sobol32) != (layout == Layout::Word),
            Spec::Integers { .. } | Spec::Bernoulli { .. } | Spec::Poisson(_) | Spec::Binomial(_) => true,
            _ => false,
        };
        if integers {
            let reason = format!(
                "{generator:?} gives only `Bits` of its own width and floats: an integer would take two points"
            );
            return Err(Error::unsupported(reason));
        }
    }
    if let Spec::Normal { method: Method::Curand, .. } = spec
        && !matches!(generator, Philox | Xorwow | Mrg32k3a)
    {
        return Err(Error::unsupported(format!(
            "it is not known bit for bit how cuRAND makes normal numbers from {generator:?}"
        )));
    }
    Ok(())
}

/// The checks of a draw of `len` numbers that hold for every engine.
fn check(place: &Start, layout: Layout, len: usize) -> Result<()> {
    let len = len as u64;
    let count = if place.generator.is_quasi_random() {
        let dimensions = place.dimensions;
        if dimensions == 0 || dimensions > DIMENSIONS {
            return Err(Error::invalid("dimensions", format!("{dimensions}, but it must be from 1 to {DIMENSIONS}")));
        }
        if !len.is_multiple_of(dimensions.into()) {
            return Err(Error::invalid("len", format!("{len} numbers are not a multiple of {dimensions} dimensions")));
        }
        len / u64::from(dimensions)
    } else {
        len
    };
    let each = if place.generator.is_quasi_random() { 1 } else { (layout.words() / layout.outputs()) as u64 };
    let end = place.first.checked_add(count).and_then(|end| end.checked_mul(each)).ok_or_else(spent)?;
    if place.generator == Generator::Sobol32 && end > 1 << 32 {
        return Err(Error::invalid("stream", format!("the draw ends at point {end}, but the sequence has 2^32")));
    }
    if place.scrambled && end > SCRAMBLED_POINTS {
        return Err(Error::unsupported(format!(
            "the draw ends at point {end} of a scrambled sequence, more than 2^62"
        )));
    }
    if matches!(place.generator, Generator::Mt19937 | Generator::Mtgp32) && end > FAR {
        let reason =
            format!("the draw ends at position {end}, more than 2^36: {:?} cannot jump ahead", place.generator);
        return Err(Error::unsupported(reason));
    }
    Ok(())
}

impl<T: Random, D: Distribution<T>> Op for Draw<T, D> {
    const NAME: &'static str = name::<T, D>();
    const OPERANDS: OperandNames = (&["table"], &["out"]);
    const LIBRARY: &'static str = "rng";
    /// The directions of a quasi-random sequence, for a GPU.
    type Reads = (Option<u64>,);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (table,): &Spans<Self::Reads>, (out,): &Spans<(T,)>) -> Result<()> {
        if out.len() != self.len {
            return Err(Error::invalid("out", format!("{} elements for {} numbers", out.len(), self.len)));
        }
        if let Some(table) = table
            && (table.len() as u64) != 64 * u64::from(self.place.dimensions)
        {
            return Err(Error::invalid(
                "directions",
                format!("{} direction numbers for {} dimensions", table.len(), self.place.dimensions),
            ));
        }
        check(&self.place, Layout::new(self.place.generator, &self.spec, T::KIND), self.len)
    }

    fn overwrites(&self, _: &Spans<(T,)>) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: (self.len as u64).saturating_mul(size_of::<T>() as u64) }
    }

    fn host(&self, _: Slices<'_, Self>, (out,): SlicesMut<'_, Self>) -> Result<()> {
        if self.place.scrambled {
            // This may be another process than the one that ran the checks.
            super::scrambled::available()?;
        }
        #[cfg(feature = "host")]
        super::host::fill::fill(&self.place, &self.spec, out);
        #[cfg(not(feature = "host"))]
        let _ = out;
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        self.enqueue(queue)
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
