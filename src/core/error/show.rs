//! Parts of the messages of errors.

use super::{Error, LivingBuffer, Text};

/// What a missing library shows: one line, and in the alternate form every attempt below it.
pub(super) fn missing(
    library: &Text,
    tried: &[String],
    help: &str,
    f: &mut std::fmt::Formatter<'_>,
) -> std::fmt::Result {
    write!(f, "{library} is missing: {help}")?;
    if f.alternate() {
        return tried.iter().try_for_each(|line| write!(f, "\n  - {line}"));
    }
    match tried {
        [] => Ok(()),
        [one] => write!(f, "; tried {one}"),
        all => write!(f, "; {} attempts, which `{{:#}}` and the program `windlass-doctor` list", all.len()),
    }
}

/// Names an argument; one without a name by its position.
pub(super) struct Argument<'a>(pub(super) &'a str);

impl std::fmt::Display for Argument<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.starts_with("argument ") { f.write_str(self.0) } else { write!(f, "argument `{}`", self.0) }
    }
}

/// Which matrix of a batch; nothing for the first, which may be the only one.
pub(super) struct OfMatrix(pub(super) u64);

impl std::fmt::Display for OfMatrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, " of matrix {}", self.0) }
    }
}

/// Shows the first failure after the error that follows from it.
pub(super) struct First<'a>(pub(super) &'a Option<Box<Error>>);

impl std::fmt::Display for First<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |cause| write!(f, ": {cause}"))
    }
}

/// Names an operand, if its name is known.
pub(super) struct Named<'a>(pub(super) &'a str);

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { f.write_str("one of its operands") } else { write!(f, "operand `{}`", self.0) }
    }
}

/// Names the amount that the free bytes of an [`Error::OutOfMemory`] are a part of: the limit or the total.
pub(super) fn within(total: u64, limit: u64) -> String {
    if limit < total || total == 0 { format!("the device's limit of {limit}") } else { format!("{total}") }
}

/// Lists the largest living buffers, if any are known.
pub(super) struct Largest<'a>(pub(super) &'a [LivingBuffer]);

impl std::fmt::Display for Largest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some((first, others)) = self.0.split_first() else { return Ok(()) };
        write!(f, "; the largest living: {first}")?;
        others.iter().try_for_each(|one| write!(f, ", {one}"))
    }
}
