//! Truth values as elements.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// A truth value in one byte: zero is false, every other value is true. Computed values are 0 or 1.
///
/// Rust's `bool` has only two valid bit patterns. A slice of it over bytes that a device wrote would be undefined
/// behaviour if one of them were another value; every byte is a valid `Bool`.
///
/// ```
/// use windlass::Bool;
/// assert!(bool::from(Bool(7)) && Bool(7) == Bool::from(true));
/// ```
#[derive(Clone, Copy, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
#[serde(transparent)]
pub struct Bool(
    /// The byte.
    pub u8,
);

impl From<bool> for Bool {
    fn from(truth: bool) -> Self {
        Bool(truth.into())
    }
}

impl From<Bool> for bool {
    fn from(truth: Bool) -> Self {
        truth.0 != 0
    }
}

impl PartialEq for Bool {
    fn eq(&self, other: &Self) -> bool {
        bool::from(*self) == bool::from(*other)
    }
}

impl Eq for Bool {}

impl PartialEq<bool> for Bool {
    fn eq(&self, other: &bool) -> bool {
        bool::from(*self) == *other
    }
}

impl std::fmt::Debug for Bool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", bool::from(*self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_but_zero_is_true() {
        assert_eq!(Bool(7), Bool::from(true));
        assert!(!bool::from(Bool(0)) && Bool(0) == false);
        assert_eq!(format!("{:?}", [Bool(2), Bool(0)]), "[true, false]");
    }
}
