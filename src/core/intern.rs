//! Names, labels and lists of types that traces keep forever: each distinct one is stored once.

use crate::core::element::DType;
use crate::core::sync::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::LazyLock;

/// It has as many entries as the program has distinct kernel names, labels and lists of operand types. Each entry has a fixed
/// place that holds its reference, so that one word identifies it: two words could not be written atomically.
type Kept<T> = LazyLock<Mutex<HashMap<&'static T, &'static &'static T>>>;

static NAMES: Kept<str> = LazyLock::new(Mutex::default);
static TYPES: Kept<[DType]> = LazyLock::new(Mutex::default);

fn keep<T: ?Sized + Eq + Hash>(kept: &Kept<T>, value: &T, own: impl FnOnce() -> Box<T>) -> &'static &'static T {
    let mut kept = kept.lock();
    if let Some(known) = kept.get(value) {
        return known;
    }
    let owned: &'static T = Box::leak(own());
    let place: &'static &'static T = Box::leak(Box::new(owned));
    kept.insert(owned, place);
    place
}

pub(crate) fn name(text: &str) -> &'static &'static str {
    keep(&NAMES, text, || text.into())
}

pub(crate) fn types(types: &[DType]) -> &'static [DType] {
    keep(&TYPES, types, || types.into())
}
