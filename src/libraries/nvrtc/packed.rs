//! What is passed to a kernel, without the buffers: what stays with the launch, and crosses to a worker.

use crate::DType;
use bytemuck::Pod;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The arguments without their buffers: what stays with the op.
#[derive(Debug, Default)]
pub(crate) struct PackedArguments {
    pub(super) slots: Slots,
    /// The values of all that are no buffers, each in words of its own; what is left of a value's last word is zero.
    pub(super) words: SmallVec<[u64; 12]>,
    /// The words where the length is to be filled in.
    pub(super) len_at: SmallVec<[u16; 1]>,
    /// One bit for each of the first 64 written operands: every element of it is.
    pub(super) overwritten: u64,
}

impl PackedArguments {
    /// Every element of the written operand of this number is written, and none is read.
    pub(super) fn overwrites(&self, index: usize) -> bool {
        match u32::try_from(index).ok().and_then(|index| self.overwritten.checked_shr(index)) {
            Some(bits) => bits & 1 == 1,
            // Too far for the bits.
            None => self.slots.iter().any(|s| matches!(s, Slot::Write(_, i, Written::All) if *i as usize == index)),
        }
    }

    /// The bytes of a value.
    pub(super) fn bytes_of(&self, at: u16, len: u16) -> &[u8] {
        let words = self.words.get(at as usize..).unwrap_or_default();
        bytemuck::cast_slice(words).get(..len as usize).unwrap_or_default()
    }

    /// A value of argument `index`; `None` when it is of another size.
    pub(super) fn read_value<S: Pod>(&self, index: usize) -> Option<S> {
        match self.slots.get(index)? {
            Slot::Value { at, len, .. } => bytemuck::try_pod_read_unaligned(self.bytes_of(*at, *len)).ok(),
            _ => None,
        }
    }
}

/// What the arguments are, one by one.
#[derive(Debug)]
pub(super) enum Slots {
    /// As a signature says.
    Declared(&'static [Slot]),
    /// As they were passed.
    Found(SmallVec<[Slot; 16]>),
}

impl Default for Slots {
    fn default() -> Self {
        Slots::Found(SmallVec::new())
    }
}

impl Slots {
    pub(super) fn push(&mut self, slot: Slot) {
        match self {
            Slots::Found(slots) => slots.push(slot),
            Slots::Declared(_) => {} // a signature has said what follows
        }
    }
}

impl std::ops::Deref for Slots {
    type Target = [Slot];
    #[inline]
    fn deref(&self) -> &[Slot] {
        match self {
            Slots::Declared(slots) => slots,
            Slots::Found(slots) => slots,
        }
    }
}

/// One argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Slot {
    /// The read operand of this number.
    Read(DType, u16),
    /// The written operand of this number.
    Write(DType, u16, Written),
    /// A value of `len` bytes that begins with this word.
    Value { at: u16, len: u16, kind: ValueKind },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ValueKind {
    Scalar(DType),
    Pointer,
    Plain,
}

impl Slot {
    /// Of the parameter.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Slot::Read(..) | Slot::Write(..) => 8,
            Slot::Value { len, .. } => *len as usize,
        }
    }
}

/// What a kernel does to a buffer that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Written {
    /// Parts of it, or it reads them first.
    Some,
    /// Every element, and it reads none.
    All,
}

/// Bytes in words, the last one filled up with zeroes.
pub(super) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        u64::from_ne_bytes(word)
    })
}
