//! An expression of Einstein's sum convention, as plain data.

use super::known::Spec;
use super::label::{Label, Row};
use super::path::Path;
use crate::core::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The axes of one operand, or of the result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Term {
    pub(super) front: Vec<Label>,
    /// The axes after `...`, if it is there.
    pub(super) back: Option<Vec<Label>>,
}

impl Term {
    /// The names, without what `...` stands for.
    pub(super) fn labels(&self) -> impl Iterator<Item = Label> + '_ {
        self.front.iter().chain(self.back.iter().flatten()).copied()
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Row(&self.front).fmt(f)?;
        match &self.back {
            Some(back) => write!(f, "...{}", Row(back)),
            None => Ok(()),
        }
    }
}

/// A sum of products of tensors: which axes of the operands run together, and which are left in the result.
///
/// It is plain data, which is read once and used often. Letters that are not in the result are summed. A letter that stands
/// twice in an operand takes its diagonal. Without `->` the result has the letters that occur once, sorted. `...` stands for
/// any number of axes, which are broadcast to each other. Spaces do not matter; every alphabetic character is a letter.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::tensor_ops::Einsum;
/// assert_eq!(Einsum::parse("ij, jk")?.to_string(), "ij,jk->ik");
/// assert_eq!(Einsum::lists([&[0, 1][..], &[1, 2]], Some(&[2, 0]))?.to_string(), "[0][1],[1][2]->[2][0]");
/// let error = Einsum::parse("ij,jk->il").unwrap_err();
/// assert!(error.to_string().contains("`l` of the result is in no operand"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[must_use]
pub struct Einsum {
    pub(super) inputs: Vec<Term>,
    pub(super) output: Term,
    pub(super) path: Option<Path>,
    pub(super) memory_limit: Option<u64>,
    pub(super) minimize: Minimize,
}

/// What the path that is found has least of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Minimize {
    /// Operations.
    #[default]
    Operations,
    /// Elements of the largest intermediate. Products are then often less oblong, and so faster than fewer operations.
    Size,
}

impl Einsum {
    /// The expression of sub-lists: each axis has a number in the place of a letter, of which there are more. Without an output the
    /// result has the numbers that occur once, sorted.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no operand, and a number of the result that is in no operand, or twice in the result.
    pub fn lists<'a>(inputs: impl IntoIterator<Item = &'a [u32]>, output: Option<&[u32]>) -> Result<Self> {
        let term = |list: &[u32]| Term { front: list.iter().map(|n| Label::Number(*n)).collect(), back: None };
        Einsum::new(inputs.into_iter().map(term).collect(), output.map(term))
    }

    /// In this order, instead of the one that is found.
    ///
    /// The path is compared with the number of operands when it is used.
    pub fn path(mut self, path: Path) -> Self {
        self.path = Some(path);
        self
    }

    /// The path that is found makes no intermediate of more elements than this, if there is such a path; the result itself may
    /// have more.
    pub fn memory_limit(mut self, elements: u64) -> Self {
        self.memory_limit = Some(elements);
        self
    }

    /// What the path that is found has least of, unless it is operations.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::tensor_ops::{Einsum, Minimize};
    /// let (ring, of) = (Einsum::parse("abc,cd,bd,ae->e")?, [&[9, 8, 2][..], &[2, 3], &[8, 3], &[9, 4]]);
    /// let (few, small) = (ring.search(&of)?, ring.clone().minimize(Minimize::Size).search(&of)?);
    /// assert_eq!(few.steps().count(), small.steps().count());
    /// # Ok(()) }
    /// ```
    pub fn minimize(mut self, what: Minimize) -> Self {
        self.minimize = what;
        self
    }

    /// The number of operands.
    pub fn operands(&self) -> usize {
        self.inputs.len()
    }

    /// What an expression must hold before it meets tensors.
    pub(super) fn new(inputs: Vec<Term>, output: Option<Term>) -> Result<Self> {
        if inputs.is_empty() {
            return Err(Error::invalid("expression", "it has no operand"));
        }
        let output = output.unwrap_or_else(|| implicit(&inputs));
        let mut seen: Vec<Label> = Vec::new();
        for label in output.labels() {
            if seen.contains(&label) {
                let what = format!("`{label}` is twice in the result `{output}`: it can be there once");
                return Err(Error::invalid("expression", what));
            }
            if !inputs.iter().any(|term| term.labels().any(|other| other == label)) {
                let what = format!("`{label}` of the result is in no operand: an axis of the result comes from one");
                return Err(Error::invalid("expression", what));
            }
            seen.push(label);
        }
        if output.back.is_some() && inputs.iter().all(|term| term.back.is_none()) {
            let what = "`...` of the result is in no operand: it stands for axes of operands that have it too";
            return Err(Error::invalid("expression", what));
        }
        Ok(Einsum { inputs, output, path: None, memory_limit: None, minimize: Minimize::Operations })
    }
}

/// The axes of `...`, then the labels that occur once, sorted.
fn implicit(inputs: &[Term]) -> Term {
    let mut all: Vec<Label> = inputs.iter().flat_map(Term::labels).collect();
    all.sort_unstable();
    let once = all.chunk_by(|a, b| a == b).filter(|same| same.len() == 1).flatten().copied().collect();
    match inputs.iter().any(|term| term.back.is_some()) {
        true => Term { front: Vec::new(), back: Some(once) },
        false => Term { front: once, back: None },
    }
}

impl fmt::Display for Einsum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, term) in self.inputs.iter().enumerate() {
            write!(f, "{}{term}", if k == 0 { "" } else { "," })?;
        }
        write!(f, "->{}", self.output)
    }
}

mod sealed {
    pub trait Expression {}
}

/// An [`Einsum`], or a text that is one. Sealed.
pub trait Expression: sealed::Expression {
    #[doc(hidden)]
    fn spec(&self) -> Spec<'_>;
}

impl sealed::Expression for &str {}
impl Expression for &str {
    fn spec(&self) -> Spec<'_> {
        Spec::Text(self)
    }
}

impl sealed::Expression for &Einsum {}
impl Expression for &Einsum {
    fn spec(&self) -> Spec<'_> {
        Spec::Whole(self)
    }
}

impl sealed::Expression for Einsum {}
impl Expression for Einsum {
    fn spec(&self) -> Spec<'_> {
        Spec::Whole(self)
    }
}
