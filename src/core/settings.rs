//! Settings that the fronts of libraries add to a device's configuration: one value for each type, which only the front
//! knows.

use crate::core::sync::Arc;
use std::any::Any;

/// Settings of fronts, by type.
#[derive(Clone, Default)]
pub(crate) struct Settings(Vec<Arc<dyn Any + Send + Sync>>);

impl Settings {
    /// Replaces an earlier value of the same type.
    pub(crate) fn set<T: Any + Send + Sync>(&mut self, value: T) {
        self.0.retain(|other| !other.is::<T>());
        self.0.push(Arc::new(value));
    }

    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.iter().find_map(|value| value.downcast_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_type_is_its_value() {
        let mut settings = Settings::default();
        settings.set(1u8);
        settings.set("one");
        settings.set(2u8);
        let copy = settings.clone();
        settings.set(3u8);
        assert_eq!(
            (copy.get::<u8>(), settings.get::<u8>(), settings.get::<&str>()),
            (Some(&2), Some(&3), Some(&"one"))
        );
        assert_eq!(settings.get::<u16>(), None);
    }
}
