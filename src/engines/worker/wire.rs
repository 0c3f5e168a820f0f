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

impl Outgoing {
    /// Appends a value.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> Result<()> {
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = postcard::to_extend(value, bytes)
            .map_err(|e| Error::unsupported(format!("the operation cannot be written as bytes: {e}")))?;
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
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "none is"))]
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
    Error::library(format!("an order that cannot be read: {e}"))
}
