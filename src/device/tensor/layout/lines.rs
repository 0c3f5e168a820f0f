//! Matrices as BLAS describes them.

use super::Layout;
use crate::core::error::{Error, Result};

/// Matrices in the words of BLAS: sizes, a leading dimension, a batch at even distances. Made by [`Layout::columns`] and
/// [`Layout::rows`]; stands wherever a call takes a layout of a buffer ([`DeviceBuffer::view`](crate::DeviceBuffer::view),
/// [`DeviceBuffer::with_layout`](crate::DeviceBuffer::with_layout)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Lines {
    rows: usize,
    cols: usize,
    by_columns: bool,
    ld: Option<usize>,
    batch: Option<(usize, usize)>,
    offset: usize,
}

impl Layout {
    /// A column-major matrix of `m` rows and `n` columns, as BLAS and LAPACK have it: without gaps, unless
    /// [`ld`](Lines::ld) says otherwise.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, tensor::Layout};
    /// let device = Device::host()?;
    /// let a = device.buffer([1.0, 2.0, 0.0, 3.0, 4.0, 0.0])?; // two columns of a 2 x 2 matrix, three elements apart
    /// let a = a.view(Layout::columns(2, 2).ld(3))?;
    /// assert_eq!(device.show(&a)?.to_string(), "[[1. 3.]\n [2. 4.]]");
    /// # Ok(()) }
    /// ```
    pub fn columns(m: usize, n: usize) -> Lines {
        Lines { rows: m, cols: n, by_columns: true, ld: None, batch: None, offset: 0 }
    }

    /// A row-major matrix of `m` rows and `n` columns; else as [`columns`](Self::columns).
    pub fn rows(m: usize, n: usize) -> Lines {
        Lines { by_columns: false, ..Layout::columns(m, n) }
    }
}

impl Lines {
    /// The leading dimension: the distance between columns (between rows, if the matrix is row-major), in elements.
    pub fn ld(self, ld: usize) -> Self {
        Lines { ld: Some(ld), ..self }
    }

    /// `count` matrices, `stride` elements apart, as a new first axis.
    pub fn batch(self, count: usize, stride: usize) -> Self {
        Lines { batch: Some((count, stride)), ..self }
    }

    /// Where the first element is in the buffer.
    pub fn offset(self, offset: usize) -> Self {
        Lines { offset, ..self }
    }
}

impl TryFrom<Lines> for Layout {
    type Error = Error;

    /// # Errors
    /// [`Error::InvalidArgument`] for a leading dimension that is smaller than a line, and sizes that overflow.
    fn try_from(lines: Lines) -> Result<Layout> {
        let line = if lines.by_columns { lines.rows } else { lines.cols };
        let ld = lines.ld.unwrap_or(line.max(1));
        if ld < line {
            return Err(Error::invalid("ld", format!("{ld}, but a line has {line} elements")));
        }
        let step = |name, step: usize| {
            isize::try_from(step).map_err(|_| Error::invalid(name, format!("{step} is more than a tensor can have")))
        };
        let ld = step("ld", ld)?;
        let [down, right] = if lines.by_columns { [1, ld] } else { [ld, 1] };
        match lines.batch {
            None => Layout::new([lines.rows, lines.cols], [down, right], lines.offset),
            Some((count, stride)) => {
                let extents = [count, lines.rows, lines.cols];
                Layout::new(extents, [step("stride", stride)?, down, right], lines.offset)
            }
        }
    }
}

pub(crate) mod sealed {
    pub trait IntoLayout {}
    impl IntoLayout for super::Layout {}
    impl IntoLayout for &super::Layout {}
    impl IntoLayout for super::Lines {}
    impl IntoLayout for usize {}
    impl<const N: usize> IntoLayout for [usize; N] {}
    impl<const N: usize> IntoLayout for &[usize; N] {}
    impl IntoLayout for &[usize] {}
    impl IntoLayout for Vec<usize> {}
}

/// What a call takes as a layout: a [`Layout`] or a reference to one, [`Lines`], or a shape, whose layout is row-major. Sealed.
pub trait IntoLayout: sealed::IntoLayout {
    /// The layout.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a shape, or for lines, that no tensor can have.
    fn into_layout(self) -> Result<Layout>;
}

impl IntoLayout for Layout {
    fn into_layout(self) -> Result<Layout> {
        Ok(self)
    }
}

impl IntoLayout for &Layout {
    fn into_layout(self) -> Result<Layout> {
        Ok(self.clone())
    }
}

impl IntoLayout for Lines {
    fn into_layout(self) -> Result<Layout> {
        self.try_into()
    }
}

impl IntoLayout for usize {
    fn into_layout(self) -> Result<Layout> {
        Layout::row_major([self])
    }
}

macro_rules! shapes { ($([$($n:ident)?] $t:ty;)*) => { $(
    impl<$(const $n: usize)?> IntoLayout for $t {
        fn into_layout(self) -> Result<Layout> {
            Layout::row_major(self)
        }
    }
)* } }
shapes! {
    [N] [usize; N];
    [N] &[usize; N];
    [] &[usize];
    [] Vec<usize>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_columns_or_rows_with_gaps_and_batches() {
        let layout = Layout::columns(2, 3).ld(4).batch(5, 20).offset(7).into_layout().unwrap();
        assert_eq!((layout.shape(), layout.strides(), layout.offset()), (&[5, 2, 3][..], &[20, 1, 4][..], 7));
        let layout = Layout::rows(2, 3).into_layout().unwrap();
        assert!(layout.is_row_major() && layout.rank() == 2);
        assert!(Layout::columns(0, 3).into_layout().unwrap().is_empty());
        let refused = |lines: Lines| lines.into_layout().unwrap_err().to_string();
        assert!(refused(Layout::columns(5, 1).ld(4)).contains("`ld`"));
        assert!(refused(Layout::columns(1, 2).ld(usize::MAX)).contains("`ld`"));
        assert!(refused(Layout::columns(1, 1).batch(2, usize::MAX)).contains("`stride`"));
    }
}
