//! The part of an op that outlives its pending.

/// The part of an op that the device needs until the op's work is complete. Opaque.
#[doc(hidden)]
pub struct Retention(Kept);

enum Kept {
    Nothing,
    #[cfg(feature = "cuda")]
    This(crate::core::sync::Arc<dyn crate::core::order::KeepAlive>),
    All,
}

impl Retention {
    pub(crate) const NOTHING: Self = Retention(Kept::Nothing);
    pub(crate) const ALL: Self = Retention(Kept::All);

    /// Only this object.
    #[cfg(feature = "cuda")]
    pub(crate) fn this(cargo: crate::core::sync::Arc<dyn crate::core::order::KeepAlive>) -> Self {
        Retention(Kept::This(cargo))
    }

    /// The object that the slot's ring keeps alive, if there is one; `None` if that is the whole task, with its op.
    #[cfg(feature = "cuda")]
    pub(crate) fn part(self) -> Option<Option<crate::core::sync::Arc<dyn crate::core::order::KeepAlive>>> {
        match self.0 {
            Kept::Nothing => Some(None),
            Kept::This(cargo) => Some(Some(cargo)),
            Kept::All => None,
        }
    }
}
