//! What can be wrong with a structure, as the device leaves it.

/// What is wrong, and where: the smallest place of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The first offset is not 0, or one is smaller than that before it, or the last is not the number of entries.
    Offset,
    /// An index is negative or past the end.
    Range,
    /// An index is not larger than that before it.
    Order,
}

impl Fault {
    /// With its place, as one number; all ones is no fault. A kernel leaves the same.
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
