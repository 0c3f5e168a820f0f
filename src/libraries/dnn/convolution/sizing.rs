//! What calls that are alike have in common: found once for all of them.

use super::problem::{Direction, Problem};
use super::run::Call;
use super::spec::Convolution;
use crate::core::cache::{Memo, Words};
use crate::core::element::DType;
use crate::core::error::Result;
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::ops::Deref;
use std::sync::OnceLock;

/// A problem that operations and plans share. It is hashed and checked once, and compared by where it lies first.
#[derive(Clone, Debug)]
pub(in super::super) struct Sizing(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    problem: Problem,
    hash: u64,
    /// Set once the sizes were checked.
    checked: OnceLock<Checked>,
}

#[derive(Clone, Copy, Debug)]
struct Checked {
    /// The elements of the operands that are read, and of the result.
    lens: [usize; 3],
    /// Something is to be computed that is no sum of nothing.
    is_some: bool,
}

impl Sizing {
    pub(in super::super) fn new(problem: Problem) -> Self {
        let hash = BuildHasherDefault::<Words>::default().hash_one(&problem);
        Sizing(Arc::new(Inner { problem, hash, checked: OnceLock::new() }))
    }

    /// Checks what may have come from elsewhere.
    pub(super) fn check(&self) -> Result<()> {
        if self.0.checked.get().is_none() {
            self.0.problem.check()?;
            let _ = self.0.checked.set(self.counted());
        }
        Ok(())
    }

    /// The elements of the operands that are read, and of the result.
    pub(super) fn lens(&self) -> [usize; 3] {
        self.checked().lens
    }

    /// Whether the library has something to compute.
    #[cfg(feature = "cuda")]
    pub(in super::super) fn is_planned(&self) -> bool {
        self.checked().is_some
    }

    fn checked(&self) -> Checked {
        self.0.checked.get().copied().unwrap_or_else(|| self.counted())
    }

    fn counted(&self) -> Checked {
        let ([one, other], result) = self.operands();
        let lens @ [.., len] = [one, other, result].map(|sizes| self.count(sizes));
        Checked { lens, is_some: len > 0 && !self.is_empty_sum() }
    }
}

impl Deref for Sizing {
    type Target = Problem;
    fn deref(&self) -> &Problem {
        &self.0.problem
    }
}

impl PartialEq for Sizing {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.problem == other.0.problem
    }
}
impl Eq for Sizing {}

impl Hash for Sizing {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

/// It crosses as the problem, which is checked where it arrives.
impl Serialize for Sizing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.problem.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sizing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Problem::deserialize(deserializer).map(Sizing::new)
    }
}

/// The layouts of the operands that a call reads, each if it is there, and of its target.
pub(super) type Layouts<'c> = [Option<&'c Layout>; 5];

/// A call whose operands were all taken as they lie, and what its sizes are.
pub(super) struct Known {
    conv: Convolution,
    direction: Direction,
    dtype: DType,
    spatial: Option<Vec<usize>>,
    relu: bool,
    layouts: [Option<Layout>; 5],
    pub(super) sizing: Sizing,
    /// The layout of the result.
    pub(super) result: Layout,
}

static KNOWN: Memo<Arc<Known>> = Memo::new();

impl Known {
    fn is(&self, call: &Call<'_>, layouts: &Layouts<'_>) -> bool {
        self.direction == call.direction
            && self.dtype == call.dtype()
            && self.relu == call.relu()
            && self.spatial == call.spatial
            && self.layouts.each_ref().map(Option::as_ref) == *layouts
            && self.conv == *call.conv
    }

    /// Of the layouts alone: a program has few convolutions of the same tensors.
    fn hash(call: &Call<'_>, layouts: &Layouts<'_>) -> u64 {
        let hasher = &mut BuildHasherDefault::<Words>::default().build_hasher();
        (call.direction as u8).hash(hasher);
        (call.dtype() as u8).hash(hasher);
        for layout in layouts.iter().flatten() {
            layout.shape().iter().for_each(|n| hasher.write_usize(*n));
            layout.strides().iter().for_each(|n| hasher.write_usize(n.unsigned_abs()));
        }
        for given in [&call.conv.stride, &call.conv.dilation].into_iter().flatten() {
            given.iter().for_each(|n| hasher.write_usize(*n));
        }
        call.conv.padding.iter().flatten().for_each(|(before, _)| hasher.write_usize(*before));
        hasher.finish()
    }

    /// What an earlier call has found.
    pub(super) fn of(call: &Call<'_>, layouts: &Layouts<'_>) -> Option<Arc<Self>> {
        KNOWN.get(&Known::hash(call, layouts), |known| known.is(call, layouts))
    }

    /// Keeps what was found for later calls.
    pub(super) fn keep(call: &Call<'_>, layouts: &Layouts<'_>, sizing: &Sizing, result: &Layout) {
        let known = Known {
            conv: call.conv.clone(),
            direction: call.direction,
            dtype: call.dtype(),
            spatial: call.spatial.clone(),
            relu: call.relu(),
            layouts: layouts.map(Option::<&Layout>::cloned),
            sizing: sizing.clone(),
            result: result.clone(),
        };
        KNOWN.keep(Known::hash(call, layouts), Arc::new(known));
    }
}
