//! Plans: which engine of cuDNN computes what, as data that is kept, sent and explained.
//!
//! `recipe.rs`: a plan as data; `store.rs`: where plans are kept, in memory and on disk; `front.rs`: what a caller asks of them.
//! `../native/recipes.rs` makes plans of what is kept, `../native/answer.rs` answers the front where the device is.

mod front;
mod recipe;
#[cfg(feature = "cuda")]
mod store;

#[cfg(feature = "cuda")]
pub(super) use front::ask;
pub use front::{PlanCandidate, PlanInfo, PlanTuning, Planned};
pub use recipe::PlanSource;
#[cfg(feature = "cuda")]
pub(super) use recipe::Question;
pub(super) use recipe::{Pin, Recipe, Wanted};
#[cfg(feature = "cuda")]
pub(super) use store::{Store, material};
