//! New matrices whose number of entries depends on the data: the entries are counted first, then written.
//!
//! This takes two operations. The first writes the offsets of the new matrix and returns the number of entries to the
//! host. The front waits for that number, allocates, and submits the second operation, which follows on the device.

use super::Sparse;
use super::element::{SparseElement, SparseIndex};
use super::routine::{Call, Routine};
use crate::core::buffer::{DeviceBuffer, Elems};
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Output, Spans};
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One way to produce a matrix, as plain data.
pub(super) trait Producer: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// The name of the counting operation, and of the filling one.
    const NAMES: [&'static str; 2];
    /// The names of the operands read.
    const READS: &'static [&'static str];
    /// The element types of the operands read.
    type Reads: Elems;
    /// The element type of the new values.
    type Value: SparseElement;
    /// The type of the new indices.
    type Index: SparseIndex;

    /// Rows (or columns) of the new matrix: the number of offsets less one.
    fn count_of_rows(&self) -> usize;

    /// Number of values for each index: more than 1 for blocks.
    fn area(&self) -> usize {
        1
    }

    /// As [`Routine::check`].
    fn check(&self, reads: &Spans<Self::Reads>) -> Result<()>;

    /// As [`Routine::cost`].
    fn cost(&self) -> Cost;

    /// Enqueues a kernel. Without output addresses it counts the indices of each row and writes the counts behind the
    /// first offset; with the addresses it writes indices and values.
    #[cfg(feature = "cuda")]
    fn cuda<O: crate::engines::op::Op>(
        &self,
        queue: &mut Enqueue<'_, O>,
        reads: &Spans<Self::Reads>,
        offsets: u64,
        made: [u64; 2],
    ) -> Result<()> {
        let (_, _, _, [_, name]) = (queue, reads, (offsets, made), Self::NAMES);
        Err(Error::unsupported(format!("`{name}` is not implemented on a GPU yet, only on the host engine")))
    }

    /// Writes the offsets and returns the number of indices.
    #[cfg(feature = "host")]
    fn count(&self, reads: <Self::Reads as Elems>::Slices<'_>, offsets: &mut [Self::Index]) -> usize;

    /// Writes indices and values.
    #[cfg(feature = "host")]
    fn fill(
        &self,
        reads: <Self::Reads as Elems>::Slices<'_>,
        offsets: &[Self::Index],
        indices: &mut [Self::Index],
        values: &mut [Self::Value],
    );
}

/// Offsets, and the number of indices.
pub(super) struct Counted<I: SparseIndex> {
    offsets: DeviceBuffer<I>,
    total: u64,
}

impl<I: SparseIndex> Output for Counted<I> {
    type Writes = (I,);
    type Host = u64;
    fn join((offsets,): (DeviceBuffer<I>,), total: u64) -> Result<Self> {
        Ok(Counted { offsets, total })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "P: Producer")]
pub(super) struct Count<P>(P);

fn check_offsets<P: Producer>(producer: &P, offsets: usize) -> Result<()> {
    match producer.count_of_rows().checked_add(1) {
        Some(need) if need == offsets => Ok(()),
        _ => Err(Error::invalid("offsets", format!("{offsets} elements for {} rows", producer.count_of_rows()))),
    }
}

impl<P: Producer> Routine for Count<P> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = {
        let [name, _] = P::NAMES;
        name
    };
    const OPERANDS: OperandNames = (P::READS, &["offsets"]);
    type Reads = P::Reads;
    type Output = Counted<P::Index>;
    type Raw = u64;

    fn check(&self, reads: &Spans<P::Reads>, (offsets,): &Spans<(P::Index,)>) -> Result<()> {
        check_offsets(&self.0, offsets.len())?;
        self.0.check(reads)
    }

    fn overwrites_each(&self, _: &Spans<(P::Index,)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        self.0.cost()
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: <P::Reads as Elems>::Slices<'_>, (offsets,): (&mut [P::Index],)) -> Result<u64> {
        Ok(self.0.count(reads, offsets) as u64)
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((offsets,), reads) = (*queue.writes(), queue.reads());
        self.0.cuda(queue, reads, offsets.address(), [0; 2])?;
        let total = queue.result()?;
        // SAFETY: the offsets are one more than the rows (checked); the result is a u64.
        unsafe { kernels::accumulate::<P::Index>(queue, offsets.address(), self.0.count_of_rows(), total) }
    }

    fn finish(&self, total: u64) -> Result<u64> {
        let most = <P::Index as SparseIndex>::LARGEST;
        if total.checked_mul(self.0.area() as u64).is_none_or(|values| values > most as u64) {
            let kind = <P::Index as crate::core::element::Element>::DTYPE;
            return Err(Error::invalid(
                "indices",
                format!("{total} entries exceed the limit of {kind} indices, {most}"),
            ));
        }
        Ok(total)
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "P: Producer")]
pub(super) struct Fill<P>(P);

/// Offsets, indices and values.
pub(super) type Arrays<P> =
    (DeviceBuffer<<P as Producer>::Index>, DeviceBuffer<<P as Producer>::Index>, DeviceBuffer<<P as Producer>::Value>);

impl<P: Producer> Routine for Fill<P> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = {
        let [_, name] = P::NAMES;
        name
    };
    const OPERANDS: OperandNames = (P::READS, &["offsets", "indices", "values"]);
    type Reads = P::Reads;
    type Output = Arrays<P>;
    type Raw = ();

    fn check(
        &self,
        reads: &Spans<P::Reads>,
        (offsets, indices, values): &Spans<(P::Index, P::Index, P::Value)>,
    ) -> Result<()> {
        check_offsets(&self.0, offsets.len())?;
        if indices.len().checked_mul(self.0.area()) != Some(values.len()) {
            return Err(Error::invalid("values", format!("{} elements for {} indices", values.len(), indices.len())));
        }
        self.0.check(reads)
    }

    fn overwrites_each(&self, _: &Spans<(P::Index, P::Index, P::Value)>, index: usize) -> bool {
        index > 0
    }

    fn cost(&self) -> Cost {
        self.0.cost()
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        reads: <P::Reads as Elems>::Slices<'_>,
        (offsets, indices, values): (&mut [P::Index], &mut [P::Index], &mut [P::Value]),
    ) -> Result<()> {
        self.0.fill(reads, offsets, indices, values);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((offsets, indices, values), reads) = (*queue.writes(), queue.reads());
        if indices.is_empty() {
            return Ok(());
        }
        self.0.cuda(queue, reads, offsets.address(), [indices.address(), values.address()])
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Sparse {
    /// Counts, waits for the number, allocates, and fills. `reads` gives the same operands twice.
    pub(super) fn produce<'a, P: Producer>(
        &self,
        producer: P,
        reads: impl Fn() -> <P::Reads as Elems>::Ins<'a>,
    ) -> Result<Arrays<P>> {
        let len = producer.count_of_rows().checked_add(1);
        let len = len.ok_or_else(|| Error::invalid("rows", "the number of rows overflows"))?;
        let offsets = self.device.unwritten(len)?;
        let Counted { offsets, total } = self.submit(Count(producer.clone()), reads(), (offsets,))?.await_result()?;
        // It fits the index type, and that fits the address space or the allocation fails.
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        let values = self.device.unwritten(total.saturating_mul(producer.area()))?;
        let arrays = (offsets, self.device.unwritten(total)?, values);
        Ok(self.submit(Fill(producer), reads(), arrays)?.into_output())
    }
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register<P: Producer>(registry: &mut crate::engines::worker::Registry) {
    registry.call::<Count<P>>();
    registry.call::<Fill<P>>();
}
