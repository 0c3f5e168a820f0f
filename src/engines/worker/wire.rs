//! How an operation crosses to a worker process.

use crate::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How an operation is written as bytes and read again in a worker process: what [`Op::wire`](crate::Op::wire) gives.
///
/// The buffers are not part of it: they live in the worker already. An op of plain data derives serde's traits and
/// answers [`Wire::plain`]:
///
/// ```
/// use windlass::{DeviceBuffer, Op, Result, Slices, SlicesMut, Spans, Wire};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Shift(f64);
///
/// impl Op for Shift {
///     const NAME: &'static str = "shift";
///     type Reads = ();
///     type Output = DeviceBuffer<f64>;
///     type Raw = ();
///
///     fn check(&self, (): &Spans<()>, _: &Spans<(f64,)>) -> Result<()> {
///         Ok(())
///     }
///     fn host(&self, (): Slices<'_, Self>, (x,): SlicesMut<'_, Self>) -> Result<()> {
///         x.iter_mut().for_each(|x| *x += self.0);
///         Ok(())
///     }
///     fn finish(&self, (): ()) -> Result<()> {
///         Ok(())
///     }
///     fn wire() -> Option<Wire<Self>> {
///         Wire::plain()
///     }
/// }
/// ```
pub struct Wire<O> {
    pub(crate) encode: fn(&O, &mut Outgoing) -> Result<()>,
    pub(crate) decode: fn(Incoming<'_>) -> Result<O>,
}

impl<O: Serialize + DeserializeOwned> Wire<O> {
    /// The op's own fields, by serde.
    pub fn plain() -> Option<Self> {
        Some(Wire { encode: |op, out| out.value(op), decode: |incoming| incoming.value() })
    }
}

/// An op on its way out.
pub(crate) struct Outgoing {
    pub(crate) bytes: Vec<u8>,
    /// Shared memory that goes with it.
    #[cfg(target_os = "linux")]
    pub(crate) block: Option<super::Block>,
}

#[cfg(target_os = "linux")]
impl Outgoing {
    /// Begins an order, with capacity for so many bytes. It names first the shared memory that goes with it, which the operation
    /// only fills in when it is written.
    pub(super) fn opened(room: usize) -> Self {
        let mut bytes = Vec::with_capacity(room);
        bytes.extend_from_slice(&lent(None));
        Outgoing { bytes, block: None }
    }

    /// The whole order, and the memory that goes with it.
    pub(super) fn closed(mut self) -> (Vec<u8>, Option<super::Block>) {
        let place = lent(self.block.as_ref().map(super::Block::place));
        self.bytes.iter_mut().zip(place).for_each(|(to, from)| *to = from);
        (self.bytes, self.block)
    }
}

/// Where shared memory lies, and how long it is.
#[cfg(target_os = "linux")]
type Shared = (u64, u64);

/// Shared memory as an order says it: where, and one more than how long; zero for none.
#[cfg(target_os = "linux")]
fn lent(place: Option<Shared>) -> [u8; 16] {
    bytemuck::cast(place.map_or([0; 2], |(at, len)| [at, len.saturating_add(1)]))
}

/// Takes apart what [`Outgoing::closed`] has made: the shared memory, and the rest.
#[cfg(target_os = "linux")]
pub(super) fn open(order: &[u8]) -> Option<(Option<Shared>, &[u8])> {
    let (place, rest) = order.split_first_chunk::<16>()?;
    let [at, len] = bytemuck::cast::<[u8; 16], [u64; 2]>(*place);
    Some((len.checked_sub(1).map(|len| (at, len)), rest))
}

impl Outgoing {
    /// Appends a value.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> Result<()> {
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = postcard::to_extend(value, bytes)
            .map_err(|e| Error::unsupported(format!("the operation could not be serialised: {e}")))?;
        Ok(())
    }
}

/// An op that has arrived.
pub(crate) struct Incoming<'a> {
    pub(crate) bytes: &'a [u8],
    /// Shared memory that came with it.
    #[cfg(target_os = "linux")]
    pub(crate) lent: Option<super::Lent>,
    /// The life of the worker's own device.
    #[cfg(target_os = "linux")]
    pub(crate) epoch: &'a crate::sync::Arc<crate::engine::Epoch>,
    /// Code that is loaded in it.
    #[cfg(target_os = "linux")]
    pub(crate) modules: &'a super::Modules,
}

impl Incoming<'_> {
    /// All of the bytes as one value.
    pub(crate) fn value<V: DeserializeOwned>(&self) -> Result<V> {
        postcard::from_bytes(self.bytes).map_err(garbled)
    }
}

/// Bytes that say nothing.
pub(crate) fn garbled(e: postcard::Error) -> Error {
    Error::library(format!("an order could not be read: {e}"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn an_order_says_what_goes_with_it_ahead_of_what_was_written() {
        for place in [None, Some((4096, 100)), Some((0, 0)), Some((1 << 40, u64::MAX - 1))] {
            let mut bytes = lent(place).to_vec();
            bytes.extend([7, 8]);
            assert_eq!(open(&bytes), Some((place, &[7u8, 8][..])));
        }
        assert_eq!(open(&[0; 15]), None);
        let mut order = Outgoing::opened(64);
        order.value(&5u8).unwrap();
        let (bytes, block) = order.closed();
        assert!(block.is_none());
        assert_eq!(open(&bytes), Some((None, &[5u8][..])));
    }
}
