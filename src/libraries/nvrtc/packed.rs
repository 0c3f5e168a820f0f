//! The arguments of a kernel without its buffers: the part that stays with the launch, and is sent to a worker.

use crate::core::element::DType;
use bytemuck::Pod;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The arguments without their buffers, which stay with the op.
#[derive(Debug, Default)]
pub(crate) struct PackedArguments {
    pub(super) slots: Slots,
    /// The values of all arguments except buffers. Each begins in a word of its own; the unused bytes of its last word
    /// are zero.
    pub(super) words: SmallVec<[u64; 12]>,
    /// The words into which the length is written.
    pub(super) len_at: SmallVec<[u16; 1]>,
    /// One bit for each of the first 64 written operands: the kernel writes every element of it.
    pub(super) overwritten: u64,
}

impl PackedArguments {
    /// Whether the kernel writes every element of the written operand with this number, and reads none.
    pub(super) fn overwrites(&self, index: usize) -> bool {
        match u32::try_from(index).ok().and_then(|index| self.overwritten.checked_shr(index)) {
            Some(bits) => bits & 1 == 1,
            // The operand has no bit.
            None => self.slots.iter().any(|s| matches!(s, Slot::Write(_, i, Written::All) if *i as usize == index)),
        }
    }

    /// The bytes of a value.
    pub(super) fn bytes_of(&self, at: u16, len: u16) -> &[u8] {
        let words = self.words.get(at as usize..).unwrap_or_default();
        bytemuck::cast_slice(words).get(..len as usize).unwrap_or_default()
    }

    /// The value of argument `index`; `None` if its size is different.
    pub(super) fn read_value<S: Pod>(&self, index: usize) -> Option<S> {
        match self.slots.get(index)? {
            Slot::Value { at, len, .. } => bytemuck::try_pod_read_unaligned(self.bytes_of(*at, *len)).ok(),
            _ => None,
        }
    }
}

/// The descriptions of the arguments.
#[derive(Debug)]
pub(super) enum Slots {
    /// From a signature.
    Declared(&'static [Slot]),
    /// From the arguments as they were passed.
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
            Slots::Declared(_) => {} // a signature has already declared the slots
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
    /// The number of a read operand.
    Read(DType, u16),
    /// The number of a written operand.
    Write(DType, u16, Written),
    /// A value of `len` bytes that begins at word `at`.
    Value { at: u16, len: u16, kind: ValueKind },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ValueKind {
    Scalar(DType),
    Pointer,
    Plain,
}

impl Slot {
    /// The size of the parameter in bytes.
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
    /// It writes parts of the buffer, or reads it first.
    Some,
    /// It writes every element, and reads none.
    All,
}

/// Bytes as words; the last word is filled up with zeros.
pub(super) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        u64::from_ne_bytes(word)
    })
}
