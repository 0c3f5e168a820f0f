//! The plans that a step needs on a GPU, counted.

use crate::core::error::Result;
use crate::core::op::guarded;
use crate::engines::op::Prepare;
use crate::engines::op::plan::{Ask, Key};
use crate::engines::tape::Step;

/// Counts the plans that an op asks for.
struct Count(usize);

impl Ask for Count {
    fn ask(&mut self, _: &Key) {
        self.0 += 1;
    }
}

/// How many plans a step needs.
pub(super) fn plans_of(step: &Step) -> Result<usize> {
    let mut count = Count(0);
    // The code of the op's author.
    guarded(&mut || step.prepare(&mut Prepare(&mut count)))?;
    Ok(count.0)
}
