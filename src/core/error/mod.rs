//! One error type for the whole library.
//!
//! Decisions are made by variant and numeric code, never by text. Every variant but `LibraryMissing` and `Compile`
//! carries a [`Site`]: where it happened (operation, library, code, device, generation, the last operations before a
//! fault). An [`Error`] can be cloned and serialized, because one failure may end many pendings and may come from
//! another process. No variant can be made or taken apart completely by other crates, so that fields can be added:
//! they match with `..`, and make errors by [`Error::invalid`], [`Error::unsupported`], [`Error::library`] and
//! [`Error::out_of_memory`].

mod diagnostic;
mod finding;
mod in_file;
mod living;
mod make;
mod rejected;
mod show;
mod site;
mod stale;
#[cfg(test)]
mod tests;

pub use diagnostic::Diagnostic;
#[cfg(feature = "cuda")]
pub(crate) use diagnostic::PTX_INPUT;
pub use finding::{Finding, FindingKind};
pub use living::LivingBuffer;
pub use rejected::Rejected;
use show::{Argument, First, Largest, Named, OfMatrix, missing, within};
pub use site::Site;
pub use stale::Stale;

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// Text that is usually a literal, and owned if it came from another process.
pub type Text = Cow<'static, str>;

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any failure of a call or of its work.
#[derive(Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument cannot be used as given. Nothing was done; what was moved in is returned.
    #[error("{}: {reason}{site}", Argument(argument))]
    #[non_exhaustive]
    InvalidArgument {
        /// The argument's name.
        argument: Text,
        /// What is wrong, with both values.
        reason: String,
        /// Where it happened.
        site: Site,
    },
    /// A buffer or kernel belongs to an earlier generation of its device, or the device is gone.
    #[error("stale reference: {reason}{site}")]
    #[non_exhaustive]
    GpuRefStale {
        /// The reason.
        reason: Stale,
        /// Where it happened.
        site: Site,
    },
    /// Not enough memory, after everything that could be freed was freed.
    #[error("out of memory: {requested} bytes requested, {free} free of {}{}{site}", within(*total, *limit), Largest(largest))]
    #[non_exhaustive]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes free when it failed.
        free: u64,
        /// The size of the memory in bytes.
        total: u64,
        /// The device's memory limit in bytes.
        limit: u64,
        /// The largest living pieces of the device's memory at that time, at most 8, the largest first: buffers with a
        /// label, and those of at least 1 MiB. Empty if the memory was not the device's own, such as that for staging.
        largest: Box<[LivingBuffer]>,
        /// Where it happened.
        site: Site,
    },
    /// The device's context failed before or during this operation, or the device is being rebuilt. The supervisor is
    /// at work on it.
    #[error("the device's context is poisoned: {cause}{site}")]
    #[non_exhaustive]
    ContextPoisoned {
        /// What happened.
        cause: String,
        /// Where it happened, with the last operations before the fault.
        site: Site,
    },
    /// The device cannot be recovered in this process.
    #[error("device lost: {cause}; {remedy}{site}")]
    #[non_exhaustive]
    DeviceLost {
        /// What happened.
        cause: String,
        /// What would help.
        remedy: Text,
        /// Where it happened.
        site: Site,
    },
    /// An earlier operation that this one's input depends on, directly or indirectly, failed. This one itself did not
    /// fail.
    #[error("an earlier operation on {} failed{site}{}", Named(operand), First(cause))]
    #[non_exhaustive]
    Upstream {
        /// The operand whose contents are missing; empty if only the device knows which one it is.
        operand: String,
        /// The first failure, with its own site and code; `None` if it is no longer known.
        cause: Option<Box<Error>>,
        /// Where this error happened.
        site: Site,
    },
    /// A shared library could not be found or used. `{}` is one line; `{:#}` lists every attempt, one to a line.
    #[error(fmt = missing)]
    #[non_exhaustive]
    LibraryMissing {
        /// The library.
        library: Text,
        /// Every attempt, with the reason why it failed.
        tried: Vec<String>,
        /// What would help.
        help: String,
    },
    /// A library or the driver returned an error code, or an operation's own code failed.
    #[error("{message}{site}")]
    #[non_exhaustive]
    LibraryError {
        /// The call that failed, and what the failure means.
        message: String,
        /// Where it happened, with the code.
        site: Site,
    },
    /// The engine does not support this.
    #[error("unsupported: {reason}{site}")]
    #[non_exhaustive]
    Unsupported {
        /// Why.
        reason: String,
        /// Where it happened.
        site: Site,
    },
    /// The time limit has passed; nothing was lost.
    #[error("timed out after {waited:?}{site}")]
    #[non_exhaustive]
    Timeout {
        /// How long it waited.
        waited: Duration,
        /// Where it happened.
        site: Site,
    },
    /// The bound on work in flight ([`InFlight`](crate::op::InFlight)) is reached.
    #[error("busy: {in_flight} dispatches in flight, the bound is {limit}{site}")]
    #[non_exhaustive]
    Busy {
        /// Dispatches in flight.
        in_flight: u64,
        /// The bound.
        limit: u64,
        /// Where it happened.
        site: Site,
    },
    /// The compiler rejected the source code.
    #[error("compilation failed:\n{log}{}", diagnostic::Lines(diagnostics))]
    #[non_exhaustive]
    Compile {
        /// The compiler's complete log.
        log: String,
        /// Its messages, each with the source lines that it refers to.
        diagnostics: Vec<Diagnostic>,
    },
    /// A matrix is singular, or not a number where a pivot is chosen: a pivot is zero or NaN. For least squares: a column
    /// is, up to rounding, a combination of those before it; `Solver::lstsq` solves these.
    #[error("singular: pivot {position}{} is zero, negligible or NaN{site}", OfMatrix(*matrix))]
    #[non_exhaustive]
    Singular {
        /// The pivot's position, counted from 1 as LAPACK counts.
        position: u64,
        /// Which matrix of a batch, counted from 0; of a single matrix 0.
        matrix: u64,
        /// Where it happened.
        site: Site,
    },
    /// A matrix is not positive definite.
    #[error("not positive definite: the leading minor of order {order}{} is not positive{site}", OfMatrix(*matrix))]
    #[non_exhaustive]
    NotPositiveDefinite {
        /// The order of that minor.
        order: u64,
        /// Which matrix of a batch, counted from 0; of a single matrix 0.
        matrix: u64,
        /// Where it happened.
        site: Site,
    },
    /// An iteration did not converge.
    #[error("not converged: {count} elements{} left; does the matrix hold a NaN or an infinity?{site}", OfMatrix(*matrix))]
    #[non_exhaustive]
    NotConverged {
        /// How many elements did not converge.
        count: u64,
        /// Which matrix of a batch, counted from 0; of a single matrix 0.
        matrix: u64,
        /// Where it happened.
        site: Site,
    },
    /// A kernel that ran on the CPU did what it must not: see [`Finding`]. On a GPU the same launch is undefined.
    #[error("{finding}{site}")]
    #[non_exhaustive]
    KernelCheck {
        /// What it did, and where.
        finding: Box<Finding>,
        /// The launch.
        site: Site,
    },
    /// Ranks of a communicator between processes are gone, or do not answer: no collective of it can be carried out any
    /// more. The communicator can be rebuilt with the ranks that are left.
    #[error("lost ranks {ranks:?} in collective {sequence} ({operation}): {cause}{site}")]
    #[non_exhaustive]
    CollectiveLost {
        /// The ranks that are gone.
        ranks: Box<[usize]>,
        /// The number of the collective, counted for the communicator from 1; 0 while it was being made.
        sequence: u64,
        /// The collective.
        operation: Box<str>,
        /// How it was noticed.
        cause: Box<str>,
        /// Where it happened.
        site: Site,
    },
    /// A peer in the network did not prove that it knows the job's token, or what came from it was changed, repeated or turned
    /// round on its way. Nothing of that was used. (A communicator to which that happens is lost:
    /// [`CollectiveLost`](Self::CollectiveLost), with the code 2, `untrusted`.)
    #[error("{peer} is not to be trusted: {reason}{site}")]
    #[non_exhaustive]
    Untrusted {
        /// Who, or by which connection.
        peer: Text,
        /// What it did, or did not.
        reason: String,
        /// Where it happened.
        site: Site,
    },
    /// An operation's own code panicked. The panic was caught. The contents of its outputs are not valid, as after any
    /// failure.
    #[error("the operation panicked: {message}{site}")]
    #[non_exhaustive]
    Panicked {
        /// The panic's message.
        message: String,
        /// Where it happened.
        site: Site,
    },
}

/// The variant's name and the message: what a program that returns an error from `main` prints. `{:#?}` as `{:#}`.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.kind())?;
        std::fmt::Display::fmt(self, f)
    }
}

/// The payload of an unwinding that carries an error out of a host half.
pub(crate) struct Unwinding(pub(crate) Error);

/// The [`Site`] in an error, for the variants that have one: a shared or exclusive reference, as the one to the error
/// is.
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
            | Error::KernelCheck { site, .. }
            | Error::CollectiveLost { site, .. }
            | Error::Untrusted { site, .. }
            | Error::Panicked { site, .. } => Some(site),
            Error::LibraryMissing { .. } | Error::Compile { .. } => None,
        }
    };
}

impl Error {
    /// For an [`Upstream`](Error::Upstream): the first failure, which caused the others, if it is known. Otherwise
    /// `None`.
    pub fn first_failure(&self) -> Option<&Error> {
        match self {
            Error::Upstream { cause, .. } => cause.as_deref(),
            _ => None,
        }
    }

    /// Whether the same call may succeed later: after a rebuild, a completion, or more time.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Error::Busy { .. } | Error::Timeout { .. } | Error::ContextPoisoned { .. } | Error::OutOfMemory { .. }
        )
    }

    /// Whether data on the device is gone or was never made: the work must be done again, from what the caller has
    /// saved. [`Device::retrying`](crate::Device::retrying) does that.
    ///
    /// One device fault may appear as [`ContextPoisoned`](Error::ContextPoisoned), [`GpuRefStale`](Error::GpuRefStale)
    /// or [`Upstream`](Error::Upstream), depending on how far the work was. An `Upstream` also occurs without a device
    /// fault, after an operation that failed by itself: then the same work fails again.
    pub fn is_data_lost(&self) -> bool {
        matches!(self, Error::ContextPoisoned { .. } | Error::GpuRefStale { .. } | Error::Upstream { .. })
    }

    /// Whether the device's context is unusable after this.
    pub fn is_poisoning(&self) -> bool {
        matches!(self, Error::ContextPoisoned { .. } | Error::DeviceLost { .. })
    }

    /// Where it happened, for the variants that have a [`Site`].
    pub fn site(&self) -> Option<&Site> {
        site_of!(self)
    }

    fn site_mut(&mut self) -> Option<&mut Site> {
        site_of!(self)
    }

    /// Adds to the site what is not yet known. What is set first stays, because it was set nearest to the failure.
    pub(crate) fn locate(mut self, fill: impl FnOnce(&mut Site)) -> Self {
        if let Some(site) = self.site_mut() {
            fill(site);
        }
        self
    }

    /// The same of an argument that the caller knows by another name: each pair is a name of the code that found it, and the caller's.
    pub(crate) fn renamed(mut self, names: &[(&str, &'static str)]) -> Self {
        if let Error::InvalidArgument { argument, .. } = &mut self
            && let Some((_, name)) = names.iter().find(|(own, _)| own == argument)
        {
            *argument = Cow::Borrowed(*name);
        }
        self
    }

    /// Names the operation (and its library), unless the site names one already.
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
            Error::KernelCheck { .. } => "KernelCheck",
            Error::CollectiveLost { .. } => "CollectiveLost",
            Error::Untrusted { .. } => "Untrusted",
            Error::Panicked { .. } => "Panicked",
        }
    }
}
