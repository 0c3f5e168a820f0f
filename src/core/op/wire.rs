//! How an operation crosses to a worker process.

use crate::core::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How an operation is written as bytes and read again in a worker process: the result of
/// [`Op::wire`](crate::op::Op::wire).
///
/// The buffers are not part of it: they are already in the worker. An op of plain data derives serde's traits and
/// returns [`Wire::plain`]:
///
/// ```
/// use windlass::{DeviceBuffer, Result, op::{Op, Slices, SlicesMut, Spans, Wire}};
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
    /// Serialises the op's own fields with serde.
    pub fn plain() -> Option<Self> {
        Some(Wire { encode: |op, out| out.value(op), decode: |incoming| incoming.value() })
    }
}

/// An op that is being serialised.
pub(crate) struct Outgoing {
    pub(crate) bytes: Vec<u8>,
    /// Shared memory that is sent with it.
    #[cfg(target_os = "linux")]
    pub(crate) block: Option<crate::core::arena::Block>,
}

#[cfg(target_os = "linux")]
impl Outgoing {
    /// Begins an order, with a capacity of `room` bytes. It starts with the place of the shared memory that is sent
    /// with it, which `closed` fills in after the operation was written.
    pub(crate) fn opened(room: usize) -> Self {
        let mut bytes = Vec::with_capacity(room);
        bytes.extend_from_slice(&lent(None));
        Outgoing { bytes, block: None }
    }

    /// The whole order, and the shared memory that is sent with it.
    pub(crate) fn closed(mut self) -> (Vec<u8>, Option<crate::core::arena::Block>) {
        let place = lent(self.block.as_ref().map(crate::core::arena::Block::place));
        self.bytes.iter_mut().zip(place).for_each(|(to, from)| *to = from);
        (self.bytes, self.block)
    }
}

/// Offset and length of shared memory.
#[cfg(target_os = "linux")]
type Shared = (u64, u64);

/// Shared memory in an order: its offset, and its length plus one. Zeros for none.
#[cfg(target_os = "linux")]
fn lent(place: Option<Shared>) -> [u8; 16] {
    bytemuck::cast(place.map_or([0; 2], |(at, len)| [at, len.saturating_add(1)]))
}

/// Splits what [`Outgoing::closed`] has made into the shared memory and the rest.
#[cfg(target_os = "linux")]
pub(crate) fn open(order: &[u8]) -> Option<(Option<Shared>, &[u8])> {
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

/// An op that has arrived in the worker.
pub(crate) struct Incoming<'a> {
    pub(crate) bytes: &'a [u8],
    /// Shared memory that came with it.
    #[cfg(target_os = "linux")]
    pub(crate) lent: Option<crate::core::arena::Lent>,
    /// The epoch of the worker's own device.
    #[cfg(target_os = "linux")]
    pub(crate) epoch: &'a crate::core::sync::Arc<crate::core::epoch::Epoch>,
    /// Modules and programs that are loaded in the worker: a type of its own floor.
    #[cfg(target_os = "linux")]
    pub(crate) modules: &'a dyn std::any::Any,
    /// What to call when the order has come to its end, also if the op never ran.
    #[cfg(target_os = "linux")]
    pub(crate) at_end: &'a mut Option<crate::core::order::Then>,
}

impl Incoming<'_> {
    /// All of the bytes, read as one value.
    pub(crate) fn value<V: DeserializeOwned>(&self) -> Result<V> {
        postcard::from_bytes(self.bytes).map_err(garbled)
    }
}

/// The error for bytes that cannot be read.
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
