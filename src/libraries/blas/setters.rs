//! Setters of specifications.

/// Defines setters of a specification: each sets the field of its name, which has the given type or an `Option` of it.
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

/// Defines `row_major` for a specification of level 3.
///
/// A row-major matrix is the transpose of the column-major one that the library sees. So the routine computes the
/// transposed result, as `column_major` of the specification defines it. Nothing is copied.
macro_rules! row_major {
    ($Spec:ident $(<$t:ident: $bound:ident>)?) => {
        impl $(<$t: $bound>)? $Spec $(<$t>)? {
            /// All matrices are row-major: element `(i, j)` of A is at `i * lda + j`, and leading dimensions are those
            /// of rows. Nothing is copied. Errors state the sizes of the transposed matrices.
            pub fn row_major(mut self) -> Self {
                self.row_major = true;
                self
            }
        }
    };
}
pub(super) use row_major;
