//! What of an op outlives its pending.

/// What of an op the device needs until its work is over. Opaque.
#[doc(hidden)]
pub struct Retention(Kept);

enum Kept {
    Nothing,
    #[cfg(feature = "cuda")]
    This(crate::sync::Arc<dyn crate::cuda::KeepAlive>),
    All,
}

impl Retention {
    pub(crate) const NOTHING: Self = Retention(Kept::Nothing);
    pub(crate) const ALL: Self = Retention(Kept::All);

    /// This alone.
    #[cfg(feature = "cuda")]
    pub(crate) fn this(cargo: crate::sync::Arc<dyn crate::cuda::KeepAlive>) -> Self {
        Retention(Kept::This(cargo))
    }

    /// What the ring gets to hold, of a task that has the op.
    #[cfg(feature = "cuda")]
    pub(crate) fn cargo<T: crate::cuda::KeepAlive + 'static>(
        self,
        task: &crate::sync::Arc<T>,
    ) -> Option<crate::sync::Arc<dyn crate::cuda::KeepAlive>> {
        match self.0 {
            Kept::Nothing => None,
            Kept::This(cargo) => Some(cargo),
            Kept::All => Some(task.clone()),
        }
    }
}
