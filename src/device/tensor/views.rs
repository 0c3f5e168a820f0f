//! The views of tensors and of views: each is the layout's own, of the same memory.

/// The methods of a type that has `layout()` and `view_of(Layout)`.
macro_rules! views {
    ($view:ty) => {
        /// The number of elements along each axis.
        pub fn shape(&self) -> &[usize] {
            self.layout().shape()
        }

        /// The number of axes.
        #[doc(alias = "ndim")]
        pub fn rank(&self) -> usize {
            self.layout().rank()
        }

        /// The number of elements.
        #[doc(alias = "size")]
        pub fn len(&self) -> usize {
            self.layout().len()
        }

        /// Whether there are no elements.
        pub fn is_empty(&self) -> bool {
            self.layout().is_empty()
        }

        /// A part, by ranges with steps, and indices: NumPy's basic indexing. See [`Layout::slice`] and
        /// [`AxisSlice`](crate::tensor::AxisSlice).
        ///
        /// # Errors
        /// As [`Layout::slice`].
        pub fn slice(&self, slices: impl $crate::device::tensor::AxisSlices) -> Result<$view> {
            Ok(self.view_of(self.layout().slice(slices)?))
        }

        /// The part at one index of an axis, which vanishes. See [`Layout::index`].
        ///
        /// # Errors
        /// As [`Layout::index`].
        pub fn index(&self, axis: isize, index: isize) -> Result<$view> {
            Ok(self.view_of(self.layout().index(axis, index)?))
        }

        /// The same elements, in row-major order, with other extents; only where no element has to move. See
        /// [`Layout::reshape`].
        ///
        /// # Errors
        /// As [`Layout::reshape`]; if a copy would be needed, [`Device::contiguous`](crate::Device::contiguous) makes it.
        #[doc(alias = "ravel")]
        pub fn reshape(&self, extents: impl AsRef<[usize]>) -> Result<$view> {
            Ok(self.view_of(self.layout().reshape(extents)?))
        }

        /// One axis of all elements, in row-major order; only where no element has to move.
        ///
        /// # Errors
        /// As [`reshape`](Self::reshape).
        #[doc(alias = "ravel")]
        pub fn flatten(&self) -> Result<$view> {
            self.reshape([self.layout().len()])
        }

        /// The axes in another order. See [`Layout::permute`].
        ///
        /// # Errors
        /// As [`Layout::permute`].
        pub fn permute(&self, axes: impl AsRef<[isize]>) -> Result<$view> {
            Ok(self.view_of(self.layout().permute(axes)?))
        }

        /// The axes in reverse order; for a matrix its transpose.
        #[doc(alias = "T")]
        #[must_use = "this returns a view"]
        pub fn transpose(&self) -> $view {
            self.view_of(self.layout().transpose())
        }

        /// Two axes change places. See [`Layout::swap_axes`].
        ///
        /// # Errors
        /// As [`Layout::swap_axes`].
        pub fn swap_axes(&self, one: isize, other: isize) -> Result<$view> {
            Ok(self.view_of(self.layout().swap_axes(one, other)?))
        }

        /// The elements along an axis in reverse order. See [`Layout::flip`].
        ///
        /// # Errors
        /// As [`Layout::flip`].
        pub fn flip(&self, axis: isize) -> Result<$view> {
            Ok(self.view_of(self.layout().flip(axis)?))
        }

        /// Repeated along axes of extent 1 and new axes, to these extents: NumPy's `broadcast_to`. See [`Layout::broadcast`].
        ///
        /// # Errors
        /// As [`Layout::broadcast`].
        pub fn broadcast(&self, extents: impl AsRef<[usize]>) -> Result<$view> {
            Ok(self.view_of(self.layout().broadcast(extents)?))
        }

        /// Without the axes of extent 1.
        #[must_use = "this returns a view"]
        pub fn squeeze(&self) -> $view {
            self.view_of(self.layout().squeeze())
        }

        /// Without one axis, whose extent is 1. See [`Layout::squeeze_axis`].
        ///
        /// # Errors
        /// As [`Layout::squeeze_axis`].
        pub fn squeeze_axis(&self, axis: isize) -> Result<$view> {
            Ok(self.view_of(self.layout().squeeze_axis(axis)?))
        }

        /// With a new axis of extent 1. See [`Layout::unsqueeze`].
        ///
        /// # Errors
        /// As [`Layout::unsqueeze`].
        pub fn unsqueeze(&self, axis: isize) -> Result<$view> {
            Ok(self.view_of(self.layout().unsqueeze(axis)?))
        }

        /// The diagonal of two axes, as the new last axis. See [`Layout::diagonal`].
        ///
        /// # Errors
        /// As [`Layout::diagonal`].
        pub fn diagonal(&self, above: isize, one: isize, other: isize) -> Result<$view> {
            Ok(self.view_of(self.layout().diagonal(above, one, other)?))
        }

        /// The first `mid` elements along an axis, and the others. See [`Layout::split`].
        ///
        /// # Errors
        /// As [`Layout::split`].
        pub fn split(&self, axis: isize, mid: usize) -> Result<($view, $view)> {
            let (front, back) = self.layout().split(axis, mid)?;
            Ok((self.view_of(front), self.view_of(back)))
        }

        /// Windows of `size` elements along an axis, one every `step` elements, as a new last axis. See [`Layout::windows`].
        ///
        /// # Errors
        /// As [`Layout::windows`].
        pub fn windows(&self, axis: isize, size: usize, step: usize) -> Result<$view> {
            Ok(self.view_of(self.layout().windows(axis, size, step)?))
        }
    };
}
pub(super) use views;
