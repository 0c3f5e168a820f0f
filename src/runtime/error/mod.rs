//! One error type for the whole library.
//!
//! Decisions are made by variant and numeric code, never by text. Every variant carries a [`Site`]: where it happened
//! (operation, library, code, device, generation, the last operations before a fault). An [`Error`] can be cloned and
//! serialized, because one failure may answer many pendings and may come from another process.

mod diagnostic;
mod rejected;
mod site;

pub use diagnostic::Diagnostic;
#[cfg(feature = "cuda")]
pub(crate) use diagnostic::PTX_INPUT;
pub use rejected::Rejected;
pub use site::Site;

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// Text that is usually a literal, and owned after it came from another process.
pub type Text = Cow<'static, str>;

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a buffer or kernel of an earlier life of its device is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Stale {
    /// Every handle of the device was dropped: its context is gone.
    DeviceGone,
    /// The process is exiting.
    ShuttingDown,
    /// The device was rebuilt since: data does not survive a rebuild.
    Generation {
        /// The generation the buffer was made in.
        made: u64,
        /// The generation the device is in.
        now: u64,
    },
}

impl std::fmt::Display for Stale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stale::DeviceGone => f.write_str("its device is gone"),
            Stale::ShuttingDown => f.write_str("the process is shutting down"),
            Stale::Generation { made, now } => {
                write!(f, "made in generation {made}, the device is in generation {now}")
            }
        }
    }
}

/// Everything that can go wrong.
#[derive(Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument cannot be used as given. Nothing was done; what was moved in comes back.
    #[error("argument `{argument}`: {reason}{site}")]
    InvalidArgument {
        /// The argument's name.
        argument: Text,
        /// What is wrong, with both values.
        reason: String,
        /// Where.
        site: Site,
    },
    /// A buffer or kernel belongs to an earlier life of its device.
    #[error("stale reference: {reason}{site}")]
    GpuRefStale {
        /// Which of the reasons.
        reason: Stale,
        /// Where.
        site: Site,
    },
    /// No memory, after everything that could be given back was.
    #[error("out of memory: {requested} bytes requested, {free} free of {}{site}", within(*total, *limit))]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes free when it failed.
        free: u64,
        /// Bytes there are.
        total: u64,
        /// The device's memory limit in bytes.
        limit: u64,
        /// Where.
        site: Site,
    },
    /// The device's context failed while or before this was done; the supervisor is at work on it.
    #[error("the device's context is poisoned: {cause}{site}")]
    ContextPoisoned {
        /// What happened.
        cause: String,
        /// Where, with the last operations before the fault.
        site: Site,
    },
    /// The device will not come back in this process.
    #[error("device lost: {cause}; {remedy}{site}")]
    DeviceLost {
        /// What happened.
        cause: String,
        /// What would help.
        remedy: Text,
        /// Where.
        site: Site,
    },
    /// An operation that this one's input depends on failed: not this one, and perhaps not the last before it.
    #[error("an earlier operation on {} failed{site}{}", Named(operand), First(cause))]
    Upstream {
        /// The operand whose contents are missing; empty where only the device knows which one it is.
        operand: String,
        /// The first failure, with its own place and code; `None` where it is not known any more.
        cause: Option<Box<Error>>,
        /// Where this one is.
        site: Site,
    },
    /// A shared library could not be found or used.
    #[error("{library} is missing: {help}; tried {}", tried.join(", "))]
    LibraryMissing {
        /// The library.
        library: Text,
        /// Every attempt with its reason.
        tried: Vec<String>,
        /// What would help.
        help: String,
    },
    /// A library or the driver answered an error code.
    #[error("{message}{site}")]
    LibraryError {
        /// The call that failed and what it means.
        message: String,
        /// Where, with the code.
        site: Site,
    },
    /// This engine cannot do that.
    #[error("unsupported: {reason}{site}")]
    Unsupported {
        /// Why.
        reason: String,
        /// Where.
        site: Site,
    },
    /// The time given ran out; nothing was lost.
    #[error("timed out after {waited:?}{site}")]
    Timeout {
        /// How long it waited.
        waited: Duration,
        /// Where.
        site: Site,
    },
    /// As much work is in flight as the device's policy allows.
    #[error("busy: {in_flight} dispatches in flight, the bound is {limit}{site}")]
    Busy {
        /// Dispatches in flight.
        in_flight: u64,
        /// The bound.
        limit: u64,
        /// Where.
        site: Site,
    },
    /// Source code was refused by the compiler.
    #[error("compilation failed:\n{log}{}", diagnostic::Lines(diagnostics))]
    Compile {
        /// The compiler's log, whole.
        log: String,
        /// Its messages, each with the lines of source it speaks of.
        diagnostics: Vec<Diagnostic>,
    },
    /// A matrix is singular: a pivot is exactly zero.
    #[error("singular: pivot {position} is zero{site}")]
    Singular {
        /// The pivot's position, counted from 1 as LAPACK counts.
        position: u64,
        /// Where.
        site: Site,
    },
    /// A matrix is not positive definite.
    #[error("not positive definite: the leading minor of order {order} is not{site}")]
    NotPositiveDefinite {
        /// The order of that minor.
        order: u64,
        /// Where.
        site: Site,
    },
    /// An iteration did not converge.
    #[error("not converged: {count} elements left; does the matrix hold a NaN or an infinity?{site}")]
    NotConverged {
        /// How many elements did not converge.
        count: u64,
        /// Where.
        site: Site,
    },
    /// An operation's own code panicked. The panic was caught; its outputs are as unproven as after any failure.
    #[error("the operation panicked: {message}{site}")]
    Panicked {
        /// The panic's message.
        message: String,
        /// Where.
        site: Site,
    },
}

/// The first failure, behind what follows from it.
struct First<'a>(&'a Option<Box<Error>>);

impl std::fmt::Display for First<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |cause| write!(f, ": {cause}"))
    }
}

struct Named<'a>(&'a str);

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { f.write_str("one of its operands") } else { write!(f, "operand `{}`", self.0) }
    }
}

/// The variant's name and the message: what a program that returns an error from `main` prints.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {self}", self.kind())
    }
}

/// What the free bytes of an [`Error::OutOfMemory`] are a part of.
fn within(total: u64, limit: u64) -> String {
    if limit < total || total == 0 { format!("the device's limit of {limit}") } else { format!("{total}") }
}

/// The place in an error, for the variants that have one: shared or not, as the error is.
macro_rules! site_of {
    ($error:expr) => {
        match $error {
            Error::InvalidArgument { site, .. }
            | Error::GpuRefStale { site, .. }
            | Error::OutOfMemory { site, .. }
            | Error::ContextPoisoned { site, .. }
            | Error::DeviceLost { site, .. }
            | Error::Upstream { site, .. }
            | Error::LibraryError { site, .. }
            | Error::Unsupported { site, .. }
            | Error::Timeout { site, .. }
            | Error::Busy { site, .. }
            | Error::Singular { site, .. }
            | Error::NotPositiveDefinite { site, .. }
            | Error::NotConverged { site, .. }
            | Error::Panicked { site, .. } => Some(site),
            Error::LibraryMissing { .. } | Error::Compile { .. } => None,
        }
    };
}

impl Error {
    /// An argument that cannot be used: its name, and what is wrong with both values in it.
    pub fn invalid(argument: impl Into<Text>, reason: impl Into<String>) -> Self {
        Error::InvalidArgument { argument: argument.into(), reason: reason.into(), site: Site::none() }
    }

    /// Something an engine cannot do, with the reason.
    pub fn unsupported(reason: impl Into<String>) -> Self {
        Error::Unsupported { reason: reason.into(), site: Site::none() }
    }

    /// An operation's own code panicked with this.
    pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
            (Some(text), _) => (*text).to_string(),
            (_, Some(text)) => text.clone(),
            _ => "a value that is no text".to_string(),
        };
        Error::Panicked { message, site: Site::none() }
    }

    /// A failure of a library or of an operation's own code.
    pub fn library(message: impl Into<String>) -> Self {
        Error::LibraryError { message: message.into(), site: Site::none() }
    }

    /// Something that this depends on failed, perhaps because something before it had.
    pub(crate) fn upstream(operand: impl Into<String>, failure: Option<Error>) -> Self {
        let cause = failure.and_then(|failure| match failure {
            Error::Upstream { cause, .. } => cause,
            first => Some(Box::new(first)),
        });
        Error::Upstream { operand: operand.into(), cause, site: Site::none() }
    }

    /// Of an [`Upstream`](Error::Upstream), the failure that everything since follows from.
    pub fn first_failure(&self) -> Option<&Error> {
        match self {
            Error::Upstream { cause, .. } => cause.as_deref(),
            _ => None,
        }
    }

    /// A device, or something of one, in a forked child.
    pub(crate) fn forked() -> Self {
        Error::DeviceLost {
            cause: "this process was forked from the one that opened the device".into(),
            remedy: "open devices after the fork".into(),
            site: Site::none(),
        }
    }

    /// The same call may succeed when made again: after a rebuild, a completion, or more time.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Error::Busy { .. } | Error::Timeout { .. } | Error::ContextPoisoned { .. } | Error::OutOfMemory { .. }
        )
    }

    /// What was on the device is gone, or was never made: the work is to be done again from what the caller has saved.
    /// [`Device::retrying`](crate::Device::retrying) does that.
    ///
    /// One fault of a device may answer as a poisoned context, as a stale buffer, or as a failure upstream, by where it
    /// finds the work. An [`Upstream`](Error::Upstream) also comes without any fault, from an operation that failed by
    /// itself: then the same work fails again.
    pub fn is_data_lost(&self) -> bool {
        matches!(self, Error::ContextPoisoned { .. } | Error::GpuRefStale { .. } | Error::Upstream { .. })
    }

    /// The device's context is unusable after this.
    pub fn is_poisoning(&self) -> bool {
        matches!(self, Error::ContextPoisoned { .. } | Error::DeviceLost { .. })
    }

    /// Where it happened, for the variants that know.
    pub fn site(&self) -> Option<&Site> {
        site_of!(self)
    }

    fn site_mut(&mut self) -> Option<&mut Site> {
        site_of!(self)
    }

    /// Adds what is not yet known of the place: the first word wins, since it was nearest.
    pub(crate) fn locate(mut self, fill: impl FnOnce(&mut Site)) -> Self {
        if let Some(site) = self.site_mut() {
            fill(site);
        }
        self
    }

    /// Names the operation (and its library), unless a nearer place already did.
    pub(crate) fn in_op(self, op: &'static str, library: &'static str) -> Self {
        self.locate(|site| site.name_op(op, library))
    }

    /// A short name of the variant, for counting errors by kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::InvalidArgument { .. } => "InvalidArgument",
            Error::GpuRefStale { .. } => "GpuRefStale",
            Error::OutOfMemory { .. } => "OutOfMemory",
            Error::ContextPoisoned { .. } => "ContextPoisoned",
            Error::DeviceLost { .. } => "DeviceLost",
            Error::Upstream { .. } => "Upstream",
            Error::LibraryMissing { .. } => "LibraryMissing",
            Error::LibraryError { .. } => "LibraryError",
            Error::Unsupported { .. } => "Unsupported",
            Error::Timeout { .. } => "Timeout",
            Error::Busy { .. } => "Busy",
            Error::Compile { .. } => "Compile",
            Error::Singular { .. } => "Singular",
            Error::NotPositiveDefinite { .. } => "NotPositiveDefinite",
            Error::NotConverged { .. } => "NotConverged",
            Error::Panicked { .. } => "Panicked",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_small_enough_to_return_by_value() {
        assert!(size_of::<Error>() <= 72, "{}", size_of::<Error>());
    }

    #[test]
    fn the_nearest_place_wins_and_all_of_it_is_shown() {
        let e = Error::invalid("lda", "3 is less than m = 4").in_op("gemm", "blas").in_op("outer", "other");
        assert_eq!(e.site().and_then(|s| s.op()), Some("gemm"));
        let text = e.to_string();
        assert!(text.contains("lda") && text.contains("gemm") && text.contains("m = 4"), "{text}");
    }

    #[test]
    fn an_error_survives_the_way_through_another_process() {
        let e = Error::Singular { position: 3, site: Site::none() }.locate(|s| {
            s.set_code(700, "CUDA_ERROR_ILLEGAL_ADDRESS").set_device("cuda:0", 7);
        });
        let json = serde_json::to_string(&e).unwrap();
        assert_eq!(serde_json::from_str::<Error>(&json).unwrap(), e);
        assert_eq!(e.site().unwrap().code(), Some(700));
    }
}
