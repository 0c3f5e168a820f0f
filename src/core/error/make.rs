//! How errors are made.

use super::{Error, Site, Text, Unwinding};

impl Error {
    /// Makes an [`Error::InvalidArgument`]: the argument's name, and what is wrong, with the values that conflict.
    pub fn invalid(argument: impl Into<Text>, reason: impl Into<String>) -> Self {
        Error::InvalidArgument { argument: argument.into(), reason: reason.into(), site: Site::none() }
    }

    /// Makes an [`Error::Unsupported`]: something that an engine cannot do, with the reason.
    pub fn unsupported(reason: impl Into<String>) -> Self {
        Error::Unsupported { reason: reason.into(), site: Site::none() }
    }

    /// Makes an [`Error::Panicked`] from the payload of a panic, or takes the error that an unwinding carries.
    pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        if let Some(Unwinding(error)) = panic.downcast_ref() {
            return error.clone();
        }
        let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
            (Some(text), _) => (*text).to_string(),
            (_, Some(text)) => text.clone(),
            _ => "a panic value that is not a string".to_string(),
        };
        Error::Panicked { message, site: Site::none() }
    }

    /// Makes an [`Error::LibraryError`]: a failure of a library or of an operation's own code.
    pub fn library(message: impl Into<String>) -> Self {
        Error::LibraryError { message: message.into(), site: Site::none() }
    }

    /// Makes an [`Error::OutOfMemory`], for an operation that allocates memory itself: the bytes asked for; the bytes free, in total, and
    /// allowed (0 where they are not known).
    pub fn out_of_memory(requested: u64, [free, total, limit]: [u64; 3]) -> Self {
        Error::OutOfMemory { requested, free, total, limit, largest: Box::default(), site: Site::none() }
    }

    /// Makes an [`Error::Untrusted`].
    #[allow(dead_code, reason = "a build may have no library whose processes prove who they are")]
    pub(crate) fn untrusted(peer: impl Into<Text>, reason: impl Into<String>) -> Self {
        Error::Untrusted { peer: peer.into(), reason: reason.into(), site: Site::none() }
    }

    /// Makes an [`Error::Upstream`]. If `failure` is an `Upstream` itself, its cause is taken, so that the cause is the
    /// first failure.
    pub(crate) fn upstream(operand: impl Into<String>, failure: Option<Error>) -> Self {
        let cause = failure.and_then(|failure| match failure {
            Error::Upstream { cause, .. } => cause,
            first => Some(Box::new(first)),
        });
        Error::Upstream { operand: operand.into(), cause, site: Site::none() }
    }

    /// The error for using a device, or something of one, in a forked child.
    pub(crate) fn forked() -> Self {
        Error::DeviceLost {
            cause: "this process was forked from the one that opened the device".into(),
            remedy: "open devices after the fork".into(),
            site: Site::none(),
        }
    }
}
