//! Arrays of accumulators, and where a program finds its operands among them.

use super::super::space::CHAINS;
use crate::core::element::DType;
use crate::core::harsh;
use crate::libraries::expressions::host::blocks::{Array, Blocks};
use crate::libraries::expressions::low::Lane;
use crate::libraries::expressions::low::lower::computed;
use smallvec::SmallVec;

/// The parts of accumulators, in order: the number of the accumulator, the part, the lane.
pub(super) type Slots = SmallVec<[(usize, usize, Lane); 4]>;

pub(super) fn slots(types: &[DType]) -> Slots {
    let parts = |dtype: &DType| if dtype.is_complex() { 2 } else { 1 };
    let of = |(k, dtype): (usize, &DType)| (0..parts(dtype)).map(move |part| (k, part)).collect::<SmallVec<[_; 2]>>();
    let all = types.iter().enumerate().flat_map(|slot| of(slot).into_iter().zip(std::iter::repeat(computed(*slot.1))));
    all.map(|((k, part), lane)| (k, part, lane)).collect()
}

/// Arrays of equal length.
#[derive(Default)]
pub(super) struct Lanes {
    data: Vec<[u64; 8]>,
    /// Where each array begins, in bytes.
    starts: SmallVec<[usize; 4]>,
}

impl Lanes {
    /// Makes it so many arrays of `len` elements and more; what they held is lost.
    pub(super) fn resize(&mut self, sizes: impl Iterator<Item = usize>, len: usize) {
        let mut end = 0;
        self.starts.clear();
        for size in sizes {
            self.starts.push(end);
            // A chunk more: what is read beyond the last element is there.
            end += (size * (len + CHAINS)).next_multiple_of(64);
        }
        if self.data.len() < end / 64 {
            self.data.resize(end / 64, [0; 8]);
        }
        harsh::spoil_values(&mut self.data);
    }

    pub(super) fn array(&mut self, k: usize) -> *mut u8 {
        let start = self.starts.get(k).copied().unwrap_or(0);
        self.data.as_mut_ptr().cast::<u8>().wrapping_add(start)
    }

    pub(super) fn arrays(&mut self) -> SmallVec<[*mut u8; 4]> {
        (0..self.starts.len()).map(|k| self.array(k)).collect()
    }
}

/// Where a load of a program is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Feed {
    /// A slot of the first accumulators.
    Own(usize),
    /// A slot of what is joined, or a part of the element.
    Other(usize),
    /// What follows: the element's number, or the number of elements.
    Last,
}

/// Where the loads of a program are, whose inputs are accumulators, `others` more inputs, and one more.
pub(super) fn feeds(blocks: &Blocks<'_>, own: &Slots, other: &Slots, accumulators: usize, others: usize) -> Vec<Feed> {
    let find = |slots: &Slots, number: usize, part: usize| {
        slots.iter().position(|(k, p, _)| (*k, *p) == (number, part)).unwrap_or(0)
    };
    blocks
        .loads()
        .map(|load| match load.number.checked_sub(accumulators) {
            None => Feed::Own(find(own, load.number, load.part)),
            Some(number) if number < others => Feed::Other(find(other, number, load.part)),
            Some(_) => Feed::Last,
        })
        .collect()
}

/// The arrays of a program's loads.
pub(super) fn resolve(feeds: &[Feed], own: &[Array], other: &[Array], last: Array) -> SmallVec<[Array; 8]> {
    let get = |arrays: &[Array], k: usize| arrays.get(k).copied().unwrap_or(last);
    let find = |feed: &Feed| match *feed {
        Feed::Own(k) => get(own, k),
        Feed::Other(k) => get(other, k),
        Feed::Last => last,
    };
    feeds.iter().map(find).collect()
}

/// Repeats a value of a lane through a chunk of 64 bytes.
pub(super) fn splat(lane: Lane, bits: u64) -> [u64; 8] {
    let word = match lane.size() {
        1 => u64::from_ne_bytes([bits as u8; 8]),
        2 => (bits & 0xffff) * 0x0001_0001_0001_0001,
        4 => (bits & 0xffff_ffff) * 0x0000_0001_0000_0001,
        _ => bits,
    };
    [word; 8]
}
