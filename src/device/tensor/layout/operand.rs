//! Whether the operand of an operation has the elements that a layout names.

use super::Layout;
use crate::core::buffer::AnySpan;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use std::fmt::Display;

impl Layout {
    /// Whether the layout lies inside a buffer of `len` elements.
    pub(crate) fn is_inside(&self, len: usize) -> bool {
        self.reach().is_none_or(|(_, highest)| highest < len)
    }

    /// Checks that the layout lies inside the operand `name`, a buffer of `len` elements.
    pub(crate) fn check_inside(&self, name: impl Display, len: usize) -> Result<()> {
        match self.reach() {
            Some((_, highest)) if highest >= len => {
                Err(Error::invalid(name.to_string(), format!("{self:?} reaches element {highest} of {len}")))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the operand `name` has elements of type `dtype`, and that the layout lies inside it.
    pub(crate) fn check_operand(&self, name: impl Display, span: &AnySpan, dtype: DType) -> Result<()> {
        if span.dtype() != dtype {
            return Err(Error::invalid(name.to_string(), format!("its elements are {}, not {dtype}", span.dtype())));
        }
        self.check_inside(name, span.len())
    }

    /// Checks that the operand `name` can be written: different indices are different elements.
    pub(crate) fn check_distinct(&self, name: impl Display) -> Result<()> {
        if self.is_distinct() {
            return Ok(());
        }
        Err(Error::invalid(
            name.to_string(),
            format!("{self:?}: different indices lie at one place, so it cannot be written"),
        ))
    }
}
