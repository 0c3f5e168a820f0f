//! Orders: what the client asks of the worker.
//!
//! The orders of a lane are carried out in the order in which they were written. Orders of different lanes are carried
//! out as they name each other (`follows.rs`). No order waits for the work of another: an operation is a dispatch on the
//! worker's own device, which derives the order on the device from the buffers, as in any process.
//!
//! **Windows.** The client splits and joins buffers without telling the worker. An operand names the allocation, and
//! the region of it that its handle owns. The worker keeps the regions of each allocation, and cuts or joins them when
//! an operand names one that it does not know (`memory.rs`). Both sides then have the same regions, because on the
//! client a split or a join consumes the handles of the old ones.

use super::follows;
use crate::core::error::Text;
use serde::{Deserialize, Serialize};

/// The kinds of orders: the first byte of a frame.
pub(crate) const ALLOC: u8 = 1;
pub(crate) const FREE: u8 = 2;
pub(crate) const RUN: u8 = 3;
pub(crate) const MEMORY: u8 = 4;
pub(crate) const ASK: u8 = 5;

/// The head of every frame: kind, number of orders that it follows, padding, place of the answer. The orders that it
/// follows come next (`follows.rs`), then the body.
pub(crate) fn head(kind: u8, after: usize, place: u32) -> [u8; 8] {
    let [a, b, c, d] = place.to_le_bytes();
    [kind, after as u8, 0, 0, a, b, c, d]
}

/// A parsed frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Opened<'a> {
    pub(crate) kind: u8,
    /// The place of its answer.
    pub(crate) place: u32,
    after: &'a [[u8; 8]],
    pub(crate) body: &'a [u8],
}

impl Opened<'_> {
    /// The orders that must be carried out before this one: lanes and numbers.
    pub(crate) fn after(&self) -> impl Iterator<Item = (usize, u64)> {
        self.after.iter().map(|word| follows::unpack(u64::from_ne_bytes(*word)))
    }
}

/// Parses a frame; `None` if it is too short.
pub(crate) fn open(frame: &[u8]) -> Option<Opened<'_>> {
    let (head, rest) = frame.split_first_chunk::<8>()?;
    let [kind, after, _, _, a, b, c, d] = *head;
    let (after, body) = rest.split_at_checked(usize::from(after) * 8)?;
    let (after, _) = after.as_chunks::<8>();
    Some(Opened { kind, place: u32::from_le_bytes([a, b, c, d]), after, body })
}

/// New memory.
#[derive(Serialize, Deserialize)]
pub(crate) struct Alloc {
    pub(crate) id: u64,
    /// Elements.
    pub(crate) len: u64,
    /// Bytes of an element.
    pub(crate) size: u32,
    /// Bytes of its memory before it.
    pub(crate) lead: u32,
    /// Only addresses, so many of them; memory comes later.
    pub(crate) reserve: Option<u64>,
    /// What it is for, for the worker's errors.
    pub(crate) label: Option<Text>,
    /// Orders of other lanes that free memory. The worker waits for them only if there is no memory.
    pub(crate) freeing: Vec<u64>,
}

/// Memory to free.
#[derive(Serialize, Deserialize)]
pub(crate) struct Free {
    pub(crate) id: u64,
}

/// Where an operand lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The allocation.
    pub(crate) id: u64,
    /// Its handle's region, in bytes from the allocation's beginning.
    pub(crate) region: (u64, u64),
    /// The operand's own window: offset from the allocation's beginning, and length. `None` for all of the region.
    pub(crate) window: Option<(u64, u64)>,
}

/// A fault that a fault plan injects into an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum InjectedFault {
    Fail,
    Poison,
    /// Nanoseconds.
    Delay(u64),
}

/// An operation; the op's own bytes follow. Written from borrowed lists and read into owned ones.
#[derive(Serialize, Deserialize)]
pub(crate) struct Run<P, S> {
    /// The number that names the operation: see `handler.rs`.
    pub(crate) code: u64,
    /// Measure the time on the device.
    pub(crate) timed: bool,
    /// The stream slot that it must use; `None` for any.
    pub(crate) seat: Option<u8>,
    pub(crate) fault: Option<InjectedFault>,
    /// Reads, then writes.
    pub(crate) places: P,
    /// How many leading places stay valid if the order is not carried out: the reads, or all if the op preserves its
    /// outputs on failure.
    pub(crate) read_count: u32,
    /// What the operands' own types leave open: `Elems::shape` of the reads, then of the writes.
    pub(crate) shape: S,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_read_as_it_was_written_with_its_own_bytes_behind() {
        let places = [Place { id: 1 << 46, region: (0, 9), window: Some((3, 4)) }];
        let run = Run {
            code: 77,
            timed: true,
            seat: Some(3),
            fault: Some(InjectedFault::Delay(5)),
            places: &places[..],
            read_count: 1,
            shape: &[2u32][..],
        };
        let mut bytes = postcard::to_stdvec(&run).unwrap();
        bytes.extend([9, 8, 7]);
        let (read, rest) = postcard::take_from_bytes::<Run<Vec<Place>, Vec<u32>>>(&bytes).unwrap();
        assert_eq!((read.code, read.timed, read.fault), (77, true, run.fault));
        assert_eq!(read.read_count, 1);
        assert_eq!((&read.places[..], &read.shape[..], rest), (&places[..], &[2][..], &[9u8, 8, 7][..]));
        for cut in 0..bytes.len() - 3 {
            let whole = postcard::take_from_bytes::<Run<Vec<Place>, Vec<u32>>>(&bytes[..cut]);
            assert!(whole.is_err(), "read although it was cut at {cut}");
        }
    }

    #[test]
    fn a_frame_that_is_too_short_for_its_head_is_refused() {
        assert!(open(&[1, 2, 3]).is_none());
        let mut frame = head(RUN, 2, 0x0102_0304).to_vec();
        [follows::pack(15, 7), follows::pack(3, (1 << 56) - 1)]
            .iter()
            .for_each(|word| frame.extend(word.to_ne_bytes()));
        assert!(open(&frame[..23]).is_none(), "what it follows was cut");
        frame.push(9);
        let opened = open(&frame).unwrap();
        assert_eq!((opened.kind, opened.place, opened.body), (RUN, 0x0102_0304, &[9][..]));
        assert_eq!(opened.after().collect::<Vec<_>>(), [(15, 7), (3, (1 << 56) - 1)]);
    }
}
