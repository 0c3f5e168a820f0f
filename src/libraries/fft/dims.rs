//! A short list of sizes that is `Copy`, so that a specification is plain data without an allocation.

use serde::{Deserialize, Serialize};

/// The most axes an array may have.
pub(super) const MOST_AXES: usize = 8;

/// Sizes, strides or axes: up to eight numbers. A longer list is marked as too long, and the checks refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Dims {
    len: u8,
    at: [usize; MOST_AXES],
}

impl Dims {
    /// The numbers; of a list that is too long, the first eight.
    pub(super) fn as_slice(&self) -> &[usize] {
        self.at.get(..usize::from(self.len)).unwrap_or(&self.at)
    }

    /// Whether the list has more than eight numbers.
    pub(super) fn is_too_long(&self) -> bool {
        usize::from(self.len) > MOST_AXES
    }

    pub(super) fn get(&self, index: usize) -> Option<usize> {
        self.as_slice().get(index).copied()
    }

    pub(super) fn set(&mut self, index: usize, value: usize) {
        if let Some(at) = self.at.get_mut(index) {
            *at = value;
        }
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.len)
    }
}

impl<S: AsRef<[usize]>> From<S> for Dims {
    fn from(list: S) -> Self {
        let list = list.as_ref();
        let mut dims = Dims { len: u8::try_from(list.len()).unwrap_or(u8::MAX), at: [0; MOST_AXES] };
        for (to, from) in dims.at.iter_mut().zip(list) {
            *to = *from;
        }
        dims
    }
}

impl std::fmt::Display for Dims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.as_slice())
    }
}
