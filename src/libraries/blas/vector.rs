//! Vectors: elements of a buffer at a fixed distance.

use super::matrix::check_size;
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;
use crate::libraries::operands;

/// How many elements a vector has, and how far apart they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Strided {
    pub(super) n: usize,
    pub(super) inc: isize,
}

impl Strided {
    /// The elements of a tensor of one axis.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for other tensors.
    pub(super) fn vector(name: &'static str, layout: &Layout) -> Result<Strided> {
        let operands::Vector { len, step } = operands::Vector::from_layout(name, layout)?;
        Ok(Strided { n: len, inc: step })
    }

    /// The elements along the last axis of a tensor.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a tensor without an axis.
    pub(super) fn last(name: &'static str, layout: &Layout) -> Result<Strided> {
        let operands::Vector { len, step } = operands::Vector::last(name, layout)?;
        Ok(Strided { n: len, inc: step })
    }

    /// The same, of a vector that is to have the `n` elements of one side of A.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another length.
    pub(super) fn beside(self, name: &'static str, layout: &Layout, n: usize, of_a: &Layout) -> Result<Strided> {
        if self.n == n {
            return Ok(self);
        }
        let what =
            format!("shape {:?}, but {n} elements go with `a`, which has shape {:?}", layout.shape(), of_a.shape());
        Err(Error::invalid(name, what))
    }

    /// The elements of tensors, of each the same number: those of one axis, or all of dense ones that have one layout.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for other tensors.
    pub(super) fn of<const N: usize>(operands: [(&'static str, &Layout); N]) -> Result<[Strided; N]> {
        let mut all = [Strided { n: 0, inc: 1 }; N];
        let [(first, of_first), ..] = operands.as_slice() else { return Ok(all) };
        for (at, (name, layout)) in all.iter_mut().zip(operands) {
            if of_first.rank() == 1 && layout.rank() == 1 {
                *at = Strided::vector(name, layout)?;
                continue;
            }
            if layout.shape() != of_first.shape() {
                let what = format!("shape {:?}, but `{first}` has {:?}", layout.shape(), of_first.shape());
                return Err(Error::invalid(name, what));
            }
            let dense = layout.span().1 == layout.len() && layout.is_distinct();
            let alike =
                |k: usize| layout.shape().get(k) == Some(&1) || layout.strides().get(k) == of_first.strides().get(k);
            let forwards = layout.strides().iter().zip(layout.shape()).all(|(step, n)| *n <= 1 || *step > 0);
            let fits = layout.is_empty() || dense && forwards && (0..layout.rank()).all(alike);
            if !fits {
                let what =
                    "tensors of several axes must be dense, and all in one order; `contiguous` makes a copy that is";
                return Err(Error::invalid(name, format!("{layout:?}: {what}")));
            }
            *at = Strided { n: layout.len(), inc: 1 };
        }
        Ok(all)
    }

    /// The number of elements from the first to the last; `None` on overflow.
    pub(super) fn span(&self) -> Option<usize> {
        match self.n.checked_sub(1) {
            None => Some(0),
            Some(last) => last.checked_mul(self.inc.unsigned_abs())?.checked_add(1),
        }
    }

    /// Checks that the vector lies inside a buffer of `len` elements.
    pub(super) fn check(&self, name: &'static str, len: usize) -> Result<()> {
        let Strided { n, inc } = *self;
        if inc == 0 {
            let what =
                format!("an increment of 0, with {n} elements; `contiguous` makes a copy whose elements lie apart");
            return Err(Error::invalid(name, what));
        }
        check_size(name, n)?;
        match self.span() {
            Some(need) if need <= len => Ok(()),
            Some(need) => Err(Error::invalid(
                name,
                format!("{len} elements do not hold a vector of {n} with an increment of {inc}, which spans {need}"),
            )),
            None => Err(Error::invalid(name, format!("a vector of {n} with an increment of {inc} overflows"))),
        }
    }

    /// Checks that the vector lies inside a buffer of `len` elements and has the `n` elements that `what` has.
    pub(super) fn check_n(&self, name: &'static str, len: usize, n: usize, what: &str) -> Result<()> {
        if self.n != n {
            return Err(Error::invalid(name, format!("{} elements, but {what} is {n}", self.n)));
        }
        self.check(name, len)
    }

    /// Whether writing the vector writes every element of a buffer of `len`.
    pub(super) fn fills(&self, len: usize) -> bool {
        self.n == len && (self.inc.unsigned_abs() == 1 || len <= 1)
    }

    /// The same elements in the order of memory, for routines to which the order does not matter. (BLAS treats a vector that runs
    /// backwards as empty there.)
    pub(super) fn ascending(self) -> Self {
        Strided { inc: self.inc.saturating_abs(), ..self }
    }

    /// Elements, as the library counts them.
    #[cfg(feature = "cuda")]
    pub(super) fn len64(&self) -> i64 {
        self.n as i64 // checked to fit
    }

    /// The increment, as the library has it.
    #[cfg(feature = "cuda")]
    pub(super) fn inc64(&self) -> i64 {
        // The increment of a single element is not used, whatever the caller gives.
        if self.n > 1 { self.inc as i64 } else { 1 }
    }
}
