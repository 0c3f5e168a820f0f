//! An error together with the buffers that were moved in.

use crate::core::error::Error;

/// A dispatch that failed, at submission or at the wait, with the buffers that were moved into it.
///
/// A bad argument or a singular matrix must not cost a 10 GB buffer. `back` is `None` only if the state of the buffers
/// is not known.
///
/// In a function that returns [`windlass::Result`](crate::Result), `?` drops the buffers. An error type that takes any
/// error (`Box<dyn Error>`, `anyhow::Error`) would keep them, and their device memory, for as long as the error lives:
/// drop them with [`into_error`](Self::into_error).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use windlass::{Device, Gemm, Rejected};
/// let device = Device::host()?;
/// let (a, c) = (device.zeros::<f32>([2, 2])?, device.uninit([2, 2])?);
/// let c = device.blas().gemm(Gemm::new(), &a, &a, c).map_err(Rejected::into_error)?.into_output();
/// # assert_eq!(c.len(), 4);
/// # Ok(()) }
/// ```
#[must_use]
pub struct Rejected<B> {
    /// What went wrong.
    pub error: Error,
    /// The buffers that were moved in.
    pub back: Option<B>,
}

impl<B> Rejected<B> {
    pub(crate) fn new(error: Error, back: B) -> Self {
        Rejected { error, back: Some(back) }
    }

    /// The error alone. The buffers are dropped, and their memory is freed.
    #[must_use]
    pub fn into_error(self) -> Error {
        self.error
    }

    /// The same error with the buffers in another shape.
    pub fn map<C>(self, f: impl FnOnce(B) -> C) -> Rejected<C> {
        Rejected { error: self.error, back: self.back.map(f) }
    }
}

impl<B> From<Error> for Rejected<B> {
    fn from(error: Error) -> Self {
        Rejected { error, back: None }
    }
}

impl<B> From<Rejected<B>> for Error {
    fn from(rejected: Rejected<B>) -> Self {
        rejected.into_error()
    }
}

impl<B> std::fmt::Debug for Rejected<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rejected").field("error", &self.error).field("back", &self.back.is_some()).finish()
    }
}

impl<B> std::fmt::Display for Rejected<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.error, f)
    }
}

impl<B> std::error::Error for Rejected<B> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // Its text is this one's own text, so a chain of causes would show it twice.
        self.error.source()
    }
}
