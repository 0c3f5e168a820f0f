//! What is done to A before it is used.

use super::super::prelude::*;
use crate::core::element::Element;

/// Whether A is transposed and conjugated, as a specification says it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    /// Only of a matrix whose view cannot be transposed.
    pub(super) trans: Transpose,
    pub(super) conjugate: bool,
}

impl Turn {
    /// The order in which a full matrix is best read: only one that is also transposed can be conjugated.
    pub(super) fn wanted<T: Element>(self) -> Order {
        if self.conjugate && T::DTYPE.is_complex() { Order::Row } else { Order::Column }
    }

    /// What the library, which reads columns, does to a full matrix that lies in this order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a transposition, which is the view's; [`Error::Unsupported`] for a conjugate alone.
    pub(super) fn of_full<T: Element>(self, order: Order) -> Result<Transpose> {
        if self.trans != Transpose::No {
            return Err(Error::invalid("trans", "a full matrix is transposed by its view, `a.transpose()`"));
        }
        operation::<T>(order == Order::Row, self.conjugate)
    }

    /// What the library does to a matrix that is stored by bands or packed.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a conjugate alone.
    pub(super) fn of_stored<T: Element>(self) -> Result<Transpose> {
        operation::<T>(self.trans != Transpose::No, self.conjugate != (self.trans == Transpose::Conjugate))
    }
}

fn operation<T: Element>(transposed: bool, conjugate: bool) -> Result<Transpose> {
    match (transposed, conjugate && T::DTYPE.is_complex()) {
        (false, false) => Ok(Transpose::No),
        (true, false) => Ok(Transpose::Yes),
        (true, true) => Ok(Transpose::Conjugate),
        (false, true) => Err(Error::unsupported(
            "BLAS conjugates only a matrix that it also transposes, and `a` is read by columns, as it is; `conj().eval()` \
             makes a conjugate copy",
        )),
    }
}
