//! The header of a collective: each process sends it to all others before any data, and they must be the same.

use crate::libraries::collective::spec::{Kind, Layout, Spec};

/// The bytes of a header.
pub(super) const HEADER: usize = 40;
pub(super) type Header = [u8; HEADER];

/// What all processes must agree on. `fails`: the collective cannot run in this process. `after`: the bytes of each rank that
/// are sent with the header.
pub(super) fn header(spec: &Spec, layout: &Layout, sequence: u64, fails: bool, after: usize) -> Header {
    let how = spec.reduction.as_ref().map_or(u8::MAX, |reduction| reduction.how as u8);
    let (kind, transfers) = match &spec.kind {
        Kind::AllReduce => (0, 0),
        Kind::Reduce { .. } => (1, 0),
        Kind::Broadcast { .. } => (2, 0),
        Kind::AllGather => (3, 0),
        Kind::ReduceScatter => (4, 0),
        Kind::Gather { .. } => (5, 0),
        Kind::Scatter { .. } => (6, 0),
        Kind::AllToAll => (7, 0),
        Kind::Exchange(transfers) => {
            let mut hash = blake3::Hasher::new();
            for transfer in transfers {
                hash.update(&(transfer.from as u64).to_le_bytes()).update(&(transfer.to as u64).to_le_bytes());
            }
            let first = hash.finalize().as_bytes().first_chunk::<8>().copied().unwrap_or_default();
            (8, u64::from_le_bytes(first))
        }
        Kind::Barrier => (9, 0),
    };
    let root = spec.kind.root().map_or(u64::MAX, |root| root as u64);
    // What is enqueued depends on it.
    let ordered = u8::from(spec.deterministic && spec.reduction.is_some());
    let [low, high] = u16::try_from(after).unwrap_or_default().to_le_bytes();
    let flags = [kind, spec.dtype as u32 as u8, how, u8::from(fails), ordered, 0, low, high];
    let words = [sequence, u64::from_le_bytes(flags), root, layout.count as u64, transfers];
    let mut bytes = [0; HEADER];
    bytes.chunks_exact_mut(8).zip(words).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
    bytes
}

/// Whether the process that sent this header cannot carry out the collective.
pub(super) fn fails(header: &[u8]) -> bool {
    header.get(11) == Some(&1)
}

/// How many bytes of each rank follow a header.
pub(super) fn after(header: &[u8]) -> usize {
    let bytes = header.get(14..16).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u16::from_le_bytes).into()
}

/// A header in words.
pub(super) fn told(header: &[u8]) -> String {
    let word = |index: usize| {
        let bytes = header.get(index * 8..index * 8 + 8).and_then(|bytes| bytes.try_into().ok());
        u64::from_le_bytes(bytes.unwrap_or_default())
    };
    let [kind, dtype, ..] = word(1).to_le_bytes();
    let names = [
        "all_reduce",
        "reduce",
        "broadcast",
        "all_gather",
        "reduce_scatter",
        "gather",
        "scatter",
        "all_to_all",
        "exchange",
        "barrier",
    ];
    let kind = names.get(usize::from(kind)).copied().unwrap_or("an unknown collective");
    let dtype = crate::core::element::DType::from_code(u32::from(dtype)).map_or("?", |dtype| dtype.name());
    let root = if word(2) == u64::MAX { String::new() } else { format!(", root {}", word(2)) };
    format!("{kind} number {} of {} {dtype}{root}", word(0), word(3))
}
