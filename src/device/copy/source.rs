//! What can be uploaded.

use crate::core::element::Element;

/// Host data to upload: an owned `Vec`, or a slice, which is copied before the upload returns.
#[derive(Debug)]
pub enum HostData<'a, T> {
    /// Moved in.
    Owned(Vec<T>),
    /// Copied before the call returns.
    Borrowed(&'a [T]),
}

mod sealed {
    pub trait Uploadable<'a, T> {}
}

/// Host data that a call uploads: a `Vec` or an array by value, or a reference to a slice, a `Vec` or an array, which is
/// copied before the call returns. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no host data with elements of `{T}`",
    label = "expected a `Vec<{T}>`, a `[{T}; N]`, or a reference to one or to a slice",
    note = "of an iterator make a vector: `.collect::<Vec<_>>()`; arrays of crate `ndarray` have methods of their own, with the feature `ndarray`"
)]
pub trait Uploadable<'a, T: Element>: Into<HostData<'a, T>> + sealed::Uploadable<'a, T> {}

macro_rules! uploadable { ($([$($n:ident)?] $t:ty),*) => { $(
    impl<'a, T $(, const $n: usize)?> sealed::Uploadable<'a, T> for $t {}
    impl<'a, T: Element $(, const $n: usize)?> Uploadable<'a, T> for $t {}
)* } }
uploadable!([] Vec<T>, [] &'a [T], [] &'a Vec<T>, [N] &'a [T; N], [N] [T; N], [] HostData<'a, T>);

impl<T: Element> HostData<'_, T> {
    /// The elements.
    pub fn as_slice(&self) -> &[T] {
        match self {
            HostData::Owned(data) => data,
            HostData::Borrowed(data) => data,
        }
    }
}

impl<T> From<Vec<T>> for HostData<'_, T> {
    fn from(data: Vec<T>) -> Self {
        HostData::Owned(data)
    }
}

impl<'a, T> From<&'a [T]> for HostData<'a, T> {
    fn from(data: &'a [T]) -> Self {
        HostData::Borrowed(data)
    }
}

impl<'a, T> From<&'a Vec<T>> for HostData<'a, T> {
    fn from(data: &'a Vec<T>) -> Self {
        HostData::Borrowed(data)
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for HostData<'a, T> {
    fn from(data: &'a [T; N]) -> Self {
        HostData::Borrowed(data)
    }
}

impl<T, const N: usize> From<[T; N]> for HostData<'_, T> {
    fn from(data: [T; N]) -> Self {
        HostData::Owned(data.into())
    }
}
