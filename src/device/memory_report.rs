//! What a device's memory is used for.

use super::Device;
use crate::core::error::{LivingBuffer, Text};

/// The most buffers that a report names.
const MOST: usize = 64;

/// What the memory of a device is used for, from [`Device::memory_report`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryReport {
    /// Bytes of live buffers, as [`Stats::bytes_used`](crate::Stats::bytes_used) counts them.
    pub used: u64,
    /// The limit on `used`.
    pub limit: u64,
    /// Live allocations.
    pub allocations: u64,
    /// What each label holds, the most bytes first. The last one has no label, if there are such buffers.
    pub labels: Vec<LabelShare>,
    /// The largest buffers, the largest first, at most 64 of them. Those with a label, and those of at least 1 MiB, are known
    /// one by one; all others only by their sum.
    pub largest: Vec<LivingBuffer>,
}

/// What one label holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LabelShare {
    /// The label; `None` for all that has none.
    pub label: Option<Text>,
    /// Bytes of its live buffers.
    pub bytes: u64,
    /// Their number.
    pub buffers: u64,
}

impl Device {
    /// What the memory is used for: bytes by label, and the largest living buffers.
    ///
    /// Buffers carry the label of the handle that they were made through ([`labelled`](Self::labelled)). A dropped buffer
    /// counts until its memory is free again. Makes no driver call and does not wait. For an isolated device it tells of the
    /// buffers of this process, which is all that the worker holds for it.
    ///
    /// ```
    /// # #[cfg(feature = "host")] fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let weights = device.labelled("weights").zeros::<f32>(1000)?;
    /// let cache = device.labelled("cache").zeros::<f32>(3000)?;
    /// let report = device.memory_report();
    /// assert_eq!(report.labels[0].label.as_deref(), Some("cache"));
    /// assert_eq!((report.largest[0].bytes, report.largest[1].bytes), (12_000, 4_000));
    /// println!("{report}");
    /// # drop((weights, cache));
    /// # Ok(()) }
    /// # #[cfg(not(feature = "host"))] fn main() {}
    /// ```
    pub fn memory_report(&self) -> MemoryReport {
        let epoch = self.epoch();
        let meter = &epoch.meter;
        let (largest, labelled) = (meter.ledger().largest(MOST), meter.ledger().by_label());
        let (used, limit, allocations) = (meter.used(), meter.limit(), meter.count());
        let mut labels: Vec<LabelShare> = labelled
            .into_iter()
            .map(|(label, (bytes, buffers))| LabelShare { label: Some(label.into()), bytes, buffers })
            .collect();
        labels.sort_unstable_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.label.cmp(&b.label)));
        let known = labels.iter().fold((0, 0), |sum, share| (sum.0 + share.bytes, sum.1 + share.buffers));
        // Other threads allocate meanwhile.
        let (bytes, buffers) = (used.saturating_sub(known.0), allocations.saturating_sub(known.1));
        if bytes > 0 {
            labels.push(LabelShare { label: None, bytes, buffers });
        }
        MemoryReport { used, limit, allocations, labels, largest }
    }
}

impl std::fmt::Display for MemoryReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let MemoryReport { used, limit, allocations, labels, largest } = self;
        write!(f, "{used} bytes of {limit} in {allocations} allocations")?;
        for LabelShare { label, bytes, buffers } in labels {
            match label {
                Some(label) => write!(f, "\n  {bytes:>16}  \"{label}\", {buffers} buffers")?,
                None => write!(f, "\n  {bytes:>16}  without a label, {buffers} buffers")?,
            }
        }
        if !largest.is_empty() {
            f.write_str("\nthe largest:")?;
        }
        largest.iter().try_for_each(|one| write!(f, "\n  {one}"))
    }
}
