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
