//! Setters of specifications that store the same property of several operands in one array: all leading dimensions, or
//! all orders.

/// Defines one method for each element of such an array: `lda: ld[A] = usize`.
macro_rules! array_setters { ($($(#[$doc:meta])* $name:ident: $field:ident[$at:expr] = $t:ty;)*) => { $(
    $(#[$doc])*
    pub fn $name(mut self, $name: $t) -> Self {
        if let Some(place) = self.$field.get_mut($at) {
            *place = $name.into();
        }
        self
    }
)* } }
pub(crate) use array_setters;
