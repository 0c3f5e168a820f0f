//! Coordinates of the points of a grid.

use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::tensor::TensorRef;

/// Which axis of a grid the first vector of coordinates goes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// The first axis, the second vector the second one, and so on: rows, then columns.
    Ij,
    /// The second axis, and the second vector the first one, as an image has them: columns, then rows.
    Xy,
}

/// The coordinates of all points of a grid, by vectors of those along each axis: NumPy's `meshgrid`. The results are views of the
/// vectors: nothing is copied, and nothing is computed.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::arrays::{Indexing, meshgrid};
/// let device = windlass::Device::best()?;
/// let (x, y) = (device.tensor([3], [1, 2, 3])?, device.tensor([2], [10, 20])?);
/// let grid = meshgrid(&[x.view(), y.view()], Indexing::Xy)?;
/// assert_eq!(device.show(&grid[0])?.to_string(), "[[1 2 3]\n [1 2 3]]");
/// assert_eq!(device.show(&grid[1])?.to_string(), "[[10 10 10]\n [20 20 20]]");
/// let sums = device.map((&grid[0], &grid[1]), |(x, y)| x + y)?.await_result()?;
/// assert_eq!(device.show(&sums)?.to_string(), "[[11 12 13]\n [21 22 23]]");
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] for a tensor that is no vector, and more vectors than a tensor has axes, or more points than it has
/// elements.
pub fn meshgrid<'a, T: Element>(vectors: &[TensorRef<'a, T>], indexing: Indexing) -> Result<Vec<TensorRef<'a, T>>> {
    let mut extents = Vec::with_capacity(vectors.len());
    for (k, vector) in vectors.iter().enumerate() {
        let [n] = *vector.shape() else {
            let what = format!("extents {:?}, but a vector has one axis", vector.shape());
            return Err(Error::invalid(format!("vectors[{k}]"), what));
        };
        extents.push(n);
    }
    let is_turned = indexing == Indexing::Xy && vectors.len() > 1;
    if is_turned {
        extents.swap(0, 1);
    }
    let view = |(k, vector): (usize, &TensorRef<'a, T>)| {
        let axis = if is_turned && k < 2 { 1 - k } else { k };
        let thin: Vec<usize> = (0..extents.len()).map(|a| if a == axis { vector.len() } else { 1 }).collect();
        vector.reshape(thin)?.broadcast(&extents)
    };
    vectors.iter().enumerate().map(view).collect()
}
