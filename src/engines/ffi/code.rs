//! Status codes as numbers.

use std::fmt;

/// A status code of a CUDA library. 0 is success; what other values mean depends on the library.
#[must_use = "a status code tells whether the call did anything"]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Code(pub(crate) i32);

impl Code {
    /// Success, in every library.
    pub(crate) const SUCCESS: Code = Code(0);
    /// `CUDA_ERROR_INVALID_VALUE`: for an address, that it is not one of the driver's.
    pub(crate) const INVALID_VALUE: Code = Code(1);
    /// `CUDA_ERROR_INVALID_CONTEXT`: none is current, or another than the call needs.
    pub(crate) const INVALID_CONTEXT: Code = Code(201);
    /// `CUDA_ERROR_NOT_READY`: returned by queries; not a failure.
    pub(crate) const NOT_READY: Code = Code(600);

    /// The code as an error, unless it is 0.
    pub(crate) fn ok(self) -> Result<(), Code> {
        if self.is_success() { Ok(()) } else { Err(self) }
    }

    /// As [`ok`](Self::ok), but the error also has the name of the call that returned the code.
    pub(crate) fn by(self, call: &'static str) -> Result<(), (&'static str, Code)> {
        self.ok().map_err(|code| (call, code))
    }

    /// Whether the code is 0.
    pub(crate) fn is_success(self) -> bool {
        self == Code::SUCCESS
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zero_is_success() {
        assert_eq!(Code(0).ok(), Ok(()));
        assert_eq!(Code(600).ok(), Err(Code::NOT_READY));
        assert_eq!(Code(-1).ok(), Err(Code(-1)));
    }
}
