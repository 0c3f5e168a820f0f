//! Tensors printed as NumPy prints arrays.

use super::cells::{cells, scalar};
use super::numbers::{Number, of_bytes};
use super::{AxisSlice, Layout, ReadableTensor, TensorRef};
use crate::core::element::{DType, Element};
use crate::core::error::Result;
use crate::device::Device;
use std::fmt::{self, Display};

/// Tensors with more elements are printed with the first and the last [`EDGE`] of each axis alone.
const MOST: usize = 1000;
const EDGE: usize = 3;
/// Columns of a line.
const WIDTH: usize = 75;

/// The elements of a tensor as text: see [`Device::show`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown(String);

impl Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Tensors as text.
impl Device {
    /// The elements as NumPy 2.4 prints them: of a tensor of more than 1000 elements only those at the edges, which are all that
    /// is copied to the host. Waits.
    ///
    /// # Errors
    /// As [`download`](Self::download), and the failure of what makes the tensor.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([2, 2], [1.0f32, -0.5, 10.25, 3.0])?;
    /// assert_eq!(device.show(&x)?.to_string(), "[[ 1.   -0.5 ]\n [10.25  3.  ]]");
    /// let long: Vec<i32> = (0..2000).collect();
    /// assert_eq!(device.show(&device.tensor([2000], long)?)?.to_string(), "[   0    1    2 ... 1997 1998 1999]");
    /// # Ok(()) }
    /// ```
    pub fn show<'a, T: Element>(&self, x: impl ReadableTensor<'a, T>) -> Result<Shown> {
        self.shown(T::DTYPE, &x.into())
    }

    /// The elements of a view, which are those of type `dtype`: `T` has the same size.
    pub(super) fn shown<T: Element>(&self, dtype: DType, x: &TensorRef<'_, T>) -> Result<Shown> {
        let is_long = x.len() > MOST;
        let elements = if is_long { self.edges(x)? } else { self.download(x)?.await_result()? };
        let numbers: Vec<Number> = elements.iter().map(|x| of_bytes(dtype, bytemuck::bytes_of(x))).collect();
        Ok(Self::text(dtype, x.shape(), &numbers, is_long))
    }

    /// The text of numbers; compiled once for all types.
    fn text(dtype: DType, extents: &[usize], numbers: &[Number], is_long: bool) -> Shown {
        let text = match (extents, numbers.first()) {
            ([], Some(only)) => scalar(dtype, *only),
            _ => {
                let mut lines =
                    Lines { cells: cells(dtype, numbers).into_iter(), is_long, text: String::new(), column: 0 };
                lines.axes(extents, 1);
                lines.text
            }
        };
        Shown(text)
    }

    /// The first and the last elements of each axis that is longer; brought together by the device.
    fn edges<T: Element>(&self, x: &TensorRef<'_, T>) -> Result<Vec<T>> {
        let kept: Vec<usize> = x.shape().iter().map(|n| (*n).min(2 * EDGE)).collect();
        let mut small = self.uninit::<T>(&kept)?;
        if x.shape().iter().filter(|n| **n > 2 * EDGE).count() > 0 {
            // Its corners are written one after the other.
            small = self.fill(small, T::default())?.into_output();
        }
        let mut corners: Vec<(Vec<AxisSlice>, Vec<AxisSlice>)> = vec![(vec![], vec![])];
        for n in x.shape() {
            let back = n.saturating_sub(EDGE);
            let ends: &[(AxisSlice, AxisSlice)] = match *n > 2 * EDGE {
                true => &[((..EDGE).into(), (..EDGE).into()), ((EDGE..).into(), (back..).into())],
                false => &[((..).into(), (..).into())],
            };
            let with = |(to, from): &(Vec<_>, Vec<_>), end: &(AxisSlice, AxisSlice)| {
                ([&to[..], &[end.0]].concat(), [&from[..], &[end.1]].concat())
            };
            corners = corners.iter().flat_map(|corner| ends.iter().map(move |end| with(corner, end))).collect();
        }
        for (to, from) in corners {
            let corner = small.part(|all: &Layout| all.slice(to))?;
            small = self.assign(corner, x.slice(from)?)?.into_output();
        }
        self.download(&small)?.await_result()
    }
}

/// Writes cells with brackets.
struct Lines {
    cells: std::vec::IntoIter<String>,
    is_long: bool,
    text: String,
    column: usize,
}

impl Lines {
    /// The elements of these axes; `depth` brackets are open once its own is.
    fn axes(&mut self, extents: &[usize], depth: usize) {
        let Some((n, inner)) = extents.split_first() else { return };
        if extents.contains(&0) {
            return self.text.push_str("[]");
        }
        self.text.push('[');
        let gap = (self.is_long && *n > 2 * EDGE).then_some(EDGE);
        if depth == 1 {
            self.column = 1;
        }
        for i in 0..if gap.is_some() { 2 * EDGE } else { *n } {
            match inner {
                [] => {
                    if gap == Some(i) {
                        self.cell("...".to_owned(), i == 0, depth);
                    }
                    let cell = self.cells.next().unwrap_or_default();
                    self.cell(cell, i == 0, depth);
                }
                _ => {
                    if gap == Some(i) {
                        self.lines(inner.len(), depth);
                        self.text.push_str("...");
                    }
                    if i > 0 {
                        self.lines(inner.len(), depth);
                    }
                    self.column = depth + 1;
                    self.axes(inner, depth + 1);
                }
            }
        }
        self.text.push(']');
    }

    /// A new line, and an empty one for each further axis.
    fn lines(&mut self, axes: usize, depth: usize) {
        self.text.extend(std::iter::repeat_n('\n', axes));
        self.text.extend(std::iter::repeat_n(' ', depth));
    }

    fn cell(&mut self, cell: String, is_first: bool, depth: usize) {
        if !is_first {
            // Each axis leaves place for its bracket.
            if self.column + 1 + cell.len() > WIDTH - depth.min(WIDTH) {
                self.text.truncate(self.text.trim_end_matches(' ').len());
                self.text.push('\n');
                self.text.extend(std::iter::repeat_n(' ', depth));
                self.column = depth;
            } else {
                self.text.push(' ');
                self.column += 1;
            }
        }
        self.column += cell.len();
        self.text.push_str(&cell);
    }
}
