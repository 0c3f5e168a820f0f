//! What an expression calls the axes of its operands.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of an axis in an expression. Axes of the same name have the same extent, and run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Label {
    /// A letter of a text such as `"ij,jk->ik"`.
    Letter(char),
    /// A number of a list.
    Number(u32),
    /// An axis that `...` stands for, counted from the last one.
    Ellipsis(u8),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Letter(letter) => write!(f, "{letter}"),
            Label::Number(number) => write!(f, "[{number}]"),
            Label::Ellipsis(number) => write!(f, "…{number}"),
        }
    }
}

/// Several names in a row.
pub(super) struct Row<'a>(pub(super) &'a [Label]);

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|label| label.fmt(f))
    }
}
