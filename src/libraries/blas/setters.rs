//! Setters of specifications.

/// Gives a specification setters: each sets the field of its name, of the type named or an `Option` of it.
macro_rules! setters {
    ($Spec:ident $(<$t:ident: $bound:ident>)? { $($(#[$doc:meta])* $name:ident: $ty:ty;)* }) => {
        impl $(<$t: $bound>)? $Spec $(<$t>)? {
            $(
                $(#[$doc])*
                pub fn $name(mut self, $name: $ty) -> Self {
                    self.$name = $name.into();
                    self
                }
            )*
        }
    };
}
pub(super) use setters;
