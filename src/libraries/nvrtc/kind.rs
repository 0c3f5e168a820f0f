//! The kind of a parameter of a signature at run time, to compare it with arguments and with a kernel's own parameters.

use super::packed::{PackedArguments, Slot, Slots, ValueKind, Written};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::launch::Parameter;

/// The kind of a parameter, at run time.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read(DType),
    Write(DType),
    Out(DType),
    Scalar(DType),
    Plain(usize),
    Pointer,
}

/// Counts of the preceding parameters of each sort.
struct Before {
    reads: u16,
    writes: u16,
    words: u16,
}

/// The slots of arguments for parameters of these kinds, with the positions that [`Args`](super::Args) gives them.
#[expect(clippy::indexing_slicing, reason = "in a constant: it would not compile")]
pub(super) const fn slots<const N: usize>(kinds: [Kind; N]) -> [Slot; N] {
    let mut slots = [Slot::Value { at: 0, len: 0, kind: ValueKind::Plain }; N];
    let mut before = Before { reads: 0, writes: 0, words: 0 };
    let mut i = 0;
    while i < N {
        slots[i] = kinds[i].slot(&before);
        match slots[i] {
            Slot::Read(..) => before.reads += 1,
            Slot::Write(..) => before.writes += 1,
            Slot::Value { len, .. } => before.words = before.words.saturating_add(len.div_ceil(8)),
        }
        i += 1;
    }
    slots
}

impl Kind {
    /// The slot of an argument for this kind.
    const fn slot(self, before: &Before) -> Slot {
        let (len, kind) = match self {
            Kind::Read(dtype) => return Slot::Read(dtype, before.reads),
            Kind::Write(dtype) => return Slot::Write(dtype, before.writes, Written::Some),
            Kind::Out(dtype) => return Slot::Write(dtype, before.writes, Written::All),
            Kind::Scalar(dtype) => (dtype.size(), ValueKind::Scalar(dtype)),
            Kind::Plain(len) => (len, ValueKind::Plain),
            Kind::Pointer => (8, ValueKind::Pointer),
        };
        // A larger value is refused later, because no kernel takes so many bytes.
        let len = if len > u16::MAX as usize { u16::MAX } else { len as u16 };
        Slot::Value { at: before.words, len, kind }
    }

    fn alone(self) -> Slot {
        self.slot(&Before { reads: 0, writes: 0, words: 0 })
    }

    fn takes(self, slot: &Slot) -> bool {
        match (self.alone(), slot) {
            (Slot::Read(a, _), Slot::Read(b, _)) => a == *b,
            (Slot::Write(a, ..), Slot::Write(b, ..)) => a == *b,
            (Slot::Value { len: a, kind: x, .. }, Slot::Value { len: b, kind: y, .. }) => a == *b && x == *y,
            _ => false,
        }
    }
}

/// Checks that the arguments match the signature.
pub(super) fn check(name: &str, packed: &PackedArguments, kinds: &[Kind]) -> Result<()> {
    super::parameters::count(name, packed.slots.len(), kinds.len())?;
    for (i, (slot, kind)) in packed.slots.iter().zip(kinds).enumerate() {
        if !kind.takes(slot) {
            let (got, want) = (super::parameters::words(slot), super::parameters::words(&kind.alone()));
            let reason = format!("{got} passed, but this parameter of `{name}` is {want}");
            return Err(Error::invalid(format!("argument {i}"), reason));
        }
    }
    Ok(())
}

/// Checks that a signature fits a kernel's own parameters.
pub(super) fn fits(name: &str, kinds: &[Kind], parameters: &[Parameter]) -> Result<()> {
    let slots = Slots::Found(kinds.iter().map(|kind| kind.alone()).collect());
    super::parameters::check(name, &PackedArguments { slots, ..PackedArguments::default() }, parameters)
}

/// Whether two signatures take the same arguments.
pub(super) fn same(a: &[Kind], b: &[Kind]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.takes(&b.alone()))
}
