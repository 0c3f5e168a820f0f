//! Arrays of crate `ndarray`: uploads, downloads, and operations on them.
//!
//! A buffer has no shape, so the caller always states the order of its elements: [`Order::Row`] is ndarray's own (the
//! last axis runs fastest, "C"), [`Order::Column`] that of BLAS (the first axis runs fastest, "F"). Nothing is
//! transposed implicitly: an array in another order than the stated one is copied into it, or refused, depending on the
//! function.
//!
//! `upload` copies arrays to buffers, `download` copies buffers to arrays, `product` has the sizes of products. The
//! other files take views and return arrays: `dense` for products, `sparse` for sparse matrices and their products, `numbers` for
//! random numbers. `tensor`: tensors from arrays, and back.

#[cfg(feature = "blas")]
mod dense;
mod download;
#[cfg(feature = "rng")]
mod numbers;
#[cfg(feature = "blas")]
mod product;
#[cfg(feature = "sparse")]
mod sparse;
mod tensor;
mod upload;

use crate::core::dispatch::PendingDispatch;
use crate::core::error::Result;
use crate::core::op::Verdict;
use crate::libraries::flags::Order;
use ndarray::{Array, ArrayRef, Dimension};

/// A pending download of an array.
type Coming<T, D> = Result<PendingDispatch<Array<T, D>, Verdict>>;

impl Order {
    /// The order in which the elements of an array lie in memory without gaps, if there is one. If both apply (a
    /// vector, a single row) it is [`Order::Row`].
    ///
    /// ```
    /// use windlass::{Order, ndarray::array};
    /// let a = array![[1.0, 2.0], [3.0, 4.0]];
    /// assert_eq!(Order::of_array(&a), Some(Order::Row));
    /// assert_eq!(Order::of_array(&a.t()), Some(Order::Column));
    /// assert_eq!(Order::of_array(&a.column(0)), None); // every second element
    /// ```
    pub fn of_array<T, D: Dimension>(array: &ArrayRef<T, D>) -> Option<Self> {
        [Order::Row, Order::Column].into_iter().find(|order| elements(array, *order).is_some())
    }
}

/// The elements in this order; `None` if they do not lie in it without gaps.
fn elements<T, D: Dimension>(array: &ArrayRef<T, D>, order: Order) -> Option<&[T]> {
    match order {
        Order::Row => array.as_slice(),
        Order::Column => array.view().reversed_axes().to_slice(),
    }
}
