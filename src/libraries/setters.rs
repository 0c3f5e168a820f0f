//! Setters of specifications whose operands have fields in common: one array for all leading dimensions, one for all orders.

/// One method for each place of such an array: `lda: ld[A] = usize`.
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
