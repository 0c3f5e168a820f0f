//! What a status code of a library means.
//!
//! Each library has its own table: the same number means something else in another library. After a failure the stream
//! is queried first, because a sticky code of the driver takes precedence over the library's own code.

use super::Code;
use crate::core::error::{Error, Text};

/// One status code: its number, its name in the header, and what it means for the caller.
pub(crate) type Status = (i32, &'static str, Class);

/// What a status means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The library found no memory: `OutOfMemory`. If nothing was enqueued yet, the operation is tried again after
    /// memory was freed.
    OutOfMemory,
    /// The library, or this GPU, does not support it: `Unsupported`.
    Unsupported,
    /// The library was not initialized, or the driver refuses it.
    NotInitialized,
    /// The library refuses an argument that our checks accepted.
    InvalidValue,
    /// A kernel could not be launched or failed.
    ExecutionFailed,
    /// A numerical failure: a zero pivot, no convergence.
    Numerical,
    /// An internal failure of the library, or anything else.
    Internal,
}

impl Class {
    fn words(self) -> &'static str {
        match self {
            Class::OutOfMemory => "out of memory",
            Class::Unsupported => "not supported",
            Class::NotInitialized => "the library is not initialized",
            Class::InvalidValue => "an invalid argument",
            Class::ExecutionFailed => "a kernel could not be executed",
            Class::Numerical => "a numerical failure",
            Class::Internal => "an internal failure",
        }
    }
}

/// The table row of a code.
pub(crate) fn find(table: &'static [Status], code: Code) -> Option<&'static Status> {
    table.binary_search_by_key(&code.0, |row| row.0).ok().and_then(|at| table.get(at))
}

/// The name of a code in the library's header.
pub(crate) fn name(table: &'static [Status], code: Code) -> &'static str {
    find(table, code).map_or("an unknown status", |row| row.1)
}

/// The error for a failed call, by the library's own table.
#[cold]
pub(crate) fn error(table: &'static [Status], call: &str, code: Code) -> Error {
    let (name, class) = find(table, code).map_or(("an unknown status", Class::Internal), |row| (row.1, row.2));
    let error = match class {
        Class::OutOfMemory => Error::out_of_memory(0, [0; 3]),
        Class::Unsupported => Error::unsupported(format!("{call} returned {name}")),
        class => Error::library(format!("{call} failed: {name} ({})", class.words())),
    };
    error.locate(|site| {
        site.set_code(code.0, Text::Borrowed(name));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Status] =
        &[(2, "X_ALLOC_FAILED", Class::OutOfMemory), (3, "X_BUSY", Class::Internal), (9, "X_NO", Class::Unsupported)];

    #[test]
    fn a_code_means_what_the_librarys_own_table_says() {
        assert!(matches!(error(TABLE, "xMake", Code(2)), Error::OutOfMemory { .. }));
        assert!(matches!(error(TABLE, "xMake", Code(9)), Error::Unsupported { .. }));
        // In this table the number that cuBLAS uses for a failed allocation means something else.
        let Error::LibraryError { message, site } = error(TABLE, "xMake", Code(3)) else { panic!("a failure") };
        assert_eq!(message, "xMake failed: X_BUSY (an internal failure)");
        assert_eq!((site.code(), site.code_name()), (Some(3), Some("X_BUSY")));
    }

    #[test]
    fn a_code_that_is_not_listed_is_a_failure_with_its_number() {
        let failure = error(TABLE, "xMake", Code(77));
        assert!(matches!(failure, Error::LibraryError { .. }), "{failure}");
        assert_eq!(failure.site().and_then(|site| site.code()), Some(77));
    }
}
