//! What a routine reads and writes, as data.

use crate::core::buffer::AnySpan;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;
use smallvec::SmallVec;
use std::fmt::{Display, Formatter};

/// What a routine reads and writes, in order.
#[derive(Debug, Default)]
pub(crate) struct Operands<'r> {
    pub(crate) reads: SmallVec<[Operand<'r>; 4]>,
    pub(crate) writes: SmallVec<[Operand<'r>; 2]>,
}

/// An operand, as its routine needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand<'r> {
    pub(super) name: Name,
    pub(crate) dtype: DType,
    elements: Elements<'r>,
}

/// The name of an operand in errors.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name {
    Word(&'static str),
    Numbered(&'static str, usize),
}

/// What the buffer of an operand must hold.
#[derive(Clone, Copy, Debug)]
enum Elements<'r> {
    Any,
    Exactly(usize),
    AtLeast(usize),
    Inside(&'r Layout),
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Name::Word(word) => f.write_str(word),
            Name::Numbered(word, number) => write!(f, "{word} {number}"),
        }
    }
}

impl<'r> Operand<'r> {
    /// A buffer of any length.
    pub(crate) fn any(name: &'static str, dtype: DType) -> Self {
        Operand { name: Name::Word(name), dtype, elements: Elements::Any }
    }

    /// As many elements; `usize::MAX`, which no buffer has, for a number that overflows.
    pub(crate) fn exactly(name: &'static str, dtype: DType, len: usize) -> Self {
        Operand { elements: Elements::Exactly(len), ..Self::any(name, dtype) }
    }

    /// As many elements or more.
    pub(crate) fn at_least(name: &'static str, dtype: DType, len: usize) -> Self {
        Operand { elements: Elements::AtLeast(len), ..Self::any(name, dtype) }
    }

    /// The elements that a layout names.
    pub(crate) fn inside(name: &'static str, dtype: DType, layout: &'r Layout) -> Self {
        Operand { elements: Elements::Inside(layout), ..Self::any(name, dtype) }
    }

    /// One of several of a kind, which the routine checks itself.
    pub(crate) fn numbered(kind: &'static str, number: usize, dtype: DType) -> Self {
        Operand { name: Name::Numbered(kind, number), dtype, elements: Elements::Any }
    }

    /// The elements that it needs.
    pub(crate) fn len(&self) -> usize {
        match self.elements {
            Elements::Any => 0,
            Elements::Exactly(len) | Elements::AtLeast(len) => len,
            Elements::Inside(layout) => layout.len(),
        }
    }

    fn check(&self, span: &AnySpan) -> Result<()> {
        let refused = |what: String| Err(Error::invalid(self.name.to_string(), what));
        if span.dtype() != self.dtype {
            return refused(format!("its elements are {}, not {}", span.dtype(), self.dtype));
        }
        match self.elements {
            Elements::Exactly(len) if len != span.len() => {
                refused(format!("{} elements where {len} are needed", span.len()))
            }
            Elements::AtLeast(len) if len > span.len() => {
                refused(format!("{} elements, which are too few", span.len()))
            }
            Elements::Inside(layout) => layout.check_inside(self.name, span.len()),
            _ => Ok(()),
        }
    }

    fn check_apart(&self, span: &AnySpan, other: &Operand<'_>, at: &AnySpan) -> Result<()> {
        if at.overlaps(span) {
            let what = format!("it lies in the memory of `{}`", other.name);
            return Err(Error::invalid(self.name.to_string(), what));
        }
        Ok(())
    }
}

impl<'r> Operands<'r> {
    pub(crate) fn new(
        reads: impl IntoIterator<Item = Operand<'r>>,
        writes: impl IntoIterator<Item = Operand<'r>>,
    ) -> Self {
        // Loops rather than `collect`, which makes a call for each element.
        let mut all = Operands::default();
        for operand in reads {
            all.reads.push(operand);
        }
        for operand in writes {
            all.writes.push(operand);
        }
        all
    }

    /// Checks number, types and lengths, and that what is written lies in the memory of no other operand.
    pub(crate) fn check(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        if reads.len() != self.reads.len() || writes.len() != self.writes.len() {
            return Err(Error::invalid("operands", format!("{} read and {} written", reads.len(), writes.len())));
        }
        for (operand, span) in self.reads.iter().zip(reads) {
            operand.check(span)?;
        }
        for (k, (operand, span)) in self.writes.iter().zip(writes).enumerate() {
            operand.check(span)?;
            for (other, at) in self.reads.iter().zip(reads) {
                operand.check_apart(span, other, at)?;
            }
            for (other, at) in self.writes.iter().zip(writes).take(k) {
                operand.check_apart(span, other, at)?;
            }
        }
        Ok(())
    }

    /// Whether this operand that is written has as many elements as it needs.
    pub(crate) fn is_whole(&self, writes: &[AnySpan], index: usize) -> bool {
        self.writes.get(index).zip(writes.get(index)).is_some_and(|(operand, span)| operand.len() == span.len())
    }

    /// The bytes of all operands.
    pub(crate) fn bytes(&self) -> u64 {
        let of = |operand: &Operand<'_>| (operand.len() as u64).saturating_mul(operand.dtype.size() as u64);
        self.reads.iter().chain(&self.writes).map(of).fold(0, u64::saturating_add)
    }
}
