//! The faults that the validation of a structure can find, and their encoding on the device.

/// What is wrong. Reported with the smallest position where something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The first offset is not 0, or an offset is smaller than the one before it, or the last is not the number of
    /// entries.
    Offset,
    /// An index is negative or past the end.
    Range,
    /// An index is not larger than the one before it.
    Order,
}

impl Fault {
    /// A fault and its position as one number; all bits set means no fault. The kernels write the same encoding.
    pub(crate) fn encode(fault: Option<(usize, Self)>) -> u64 {
        fault.map_or(u64::MAX, |(place, fault)| ((place as u64) << 2) | fault as u64)
    }

    /// The inverse of [`encode`](Self::encode).
    pub(crate) fn decode(code: u64) -> Option<(usize, Self)> {
        let fault = match code & 3 {
            0 => Fault::Offset,
            1 => Fault::Range,
            _ => Fault::Order,
        };
        (code != u64::MAX).then_some(((code >> 2) as usize, fault))
    }
}
