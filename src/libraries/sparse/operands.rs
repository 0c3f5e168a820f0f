//! Dense operands: tensors as the vectors and matrices of an operation.

#[cfg(feature = "host")]
use super::host::spmm::Steps;
use crate::core::buffer::In;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, Part, TensorRef};
use crate::libraries::flags::Order;
use crate::libraries::operands::{Matrices, Vector};
use serde::{Deserialize, Serialize};
use std::fmt::Arguments;

/// The elements of a vector that is read, which must be neighbours.
pub(super) fn vector<'x, T: Element>(name: &'static str, x: &'x TensorRef<'_, T>) -> Result<In<'x, T>> {
    let (part, layout) = x.operand()?;
    Vector::from_layout(name, &layout)?.neighbours(name)?;
    Ok(part)
}

/// Checks that what is written is a vector of neighbours.
pub(super) fn check_vector<T: Element>(name: &'static str, x: &Part<T>) -> Result<()> {
    Vector::from_layout(name, x.layout())?.neighbours(name).map(drop)
}

/// A dense matrix in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DenseAt {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) ld: usize,
    pub(crate) order: Order,
}

impl DenseAt {
    /// A tensor of two axes, in either order; if both are possible, in `wanted`.
    pub(super) fn from_matrix(name: &'static str, layout: &Layout, wanted: Order) -> Result<Self> {
        let matrix = matrix(name, layout)?;
        let (order, ld) = matrix.lines(name, wanted)?;
        Ok(DenseAt { rows: matrix.rows, cols: matrix.cols, ld, order })
    }

    /// A tensor of one axis as a matrix of one column. Its elements may be apart, if they run forwards.
    pub(super) fn from_vector(name: &'static str, layout: &Layout) -> Result<Self> {
        let vector = Vector::from_layout(name, layout)?;
        let (ld, order) = match usize::try_from(vector.step) {
            Ok(step @ 2..) => (step, Order::Row),
            _ => (vector.neighbours(name)?.max(1), Order::Column),
        };
        Ok(DenseAt { rows: vector.len, cols: 1, ld, order })
    }

    /// Right-hand sides: a tensor of two axes whose columns are contiguous, or of one as a single column.
    pub(crate) fn from_columns(name: &'static str, layout: &Layout) -> Result<Self> {
        if layout.rank() != 2 {
            let rows = Vector::from_layout(name, layout)?.neighbours(name)?;
            return Ok(DenseAt { rows, cols: 1, ld: rows.max(1), order: Order::Column });
        }
        let matrix = matrix(name, layout)?;
        Ok(DenseAt { rows: matrix.rows, cols: matrix.cols, ld: matrix.columns(name)?, order: Order::Column })
    }

    /// The length of a line (a column, or a row in row-major order), and the number of lines.
    pub(super) fn lines(&self) -> (usize, usize) {
        match self.order {
            Order::Column => (self.rows, self.cols),
            Order::Row => (self.cols, self.rows),
        }
    }

    /// Checks that the matrix has this shape, which `what` has or asks for.
    pub(crate) fn check_shape(
        &self,
        name: &'static str,
        (rows, cols): (usize, usize),
        what: Arguments<'_>,
    ) -> Result<()> {
        if (self.rows, self.cols) == (rows, cols) {
            return Ok(());
        }
        Err(Error::invalid(name, format!("{} x {}, but {what} {rows} x {cols}", self.rows, self.cols)))
    }

    /// Checks that the matrix lies inside a buffer of `len` elements.
    pub(crate) fn check(&self, name: &'static str, len: usize) -> Result<()> {
        let DenseAt { rows, cols, ld, .. } = *self;
        let (line, count) = self.lines();
        let need = match (line, count) {
            (0, _) | (_, 0) => Some(0),
            _ => ld.checked_mul(count - 1).and_then(|before| before.checked_add(line)),
        };
        match need {
            Some(need) if need <= len && ld >= line.max(1) => Ok(()),
            _ => {
                let what = format!("{len} elements do not hold a {rows} x {cols} matrix whose lines are {ld} apart");
                Err(Error::invalid(name, what))
            }
        }
    }

    /// Whether the matrix has no gaps and occupies all of a buffer of `len` elements.
    pub(crate) fn fills(&self, len: usize) -> bool {
        let (line, count) = self.lines();
        (self.ld == line || count <= 1) && line.checked_mul(count) == Some(len)
    }

    /// The transposed matrix.
    #[cfg(feature = "cuda")]
    pub(super) fn turned(&self) -> Self {
        let order = if self.order == Order::Row { Order::Column } else { Order::Row };
        DenseAt { rows: self.cols, cols: self.rows, ld: self.ld, order }
    }

    /// The distances between rows and between columns.
    #[cfg(feature = "cuda")]
    pub(super) fn strides(&self) -> (usize, usize) {
        match self.order {
            Order::Column => (1, self.ld),
            Order::Row => (self.ld, 1),
        }
    }

    #[cfg(feature = "host")]
    pub(super) fn steps(&self) -> Steps {
        super::layout::steps(self.order, self.ld)
    }
}

fn matrix(name: &'static str, layout: &Layout) -> Result<Matrices> {
    match layout.rank() {
        2 => Matrices::from_layout(name, layout),
        rank => Err(Error::invalid(name, format!("{layout:?} has {rank} axes, not two"))),
    }
}
