//! Elements that fulfil a condition, and the different ones: results whose number of elements the device finds.
//!
//! All of it is made of stable sorts: a falling one of truth values brings those that are true to the front, in their order.

mod choose;
mod found;
mod unique;

pub use found::Found;
pub(super) use found::{first, flat, vector};
pub use unique::Unique;
