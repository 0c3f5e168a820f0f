//! Fused matrix products against the oracle, on every device, type by type.
#![cfg(feature = "host")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(unreachable_pub, reason = "its modules share these")]

mod common;

#[path = "blaslt/bad_input.rs"]
mod bad_input;
#[path = "blaslt/case.rs"]
mod case;
#[path = "blaslt/check.rs"]
mod check;
#[path = "blaslt/exact.rs"]
mod exact;
#[path = "blaslt/modes.rs"]
mod modes;
#[path = "blaslt/plans.rs"]
mod plans;
#[path = "blaslt/properties.rs"]
mod properties;
#[path = "blaslt/refusals.rs"]
mod refusals;
#[path = "blaslt/sweep.rs"]
mod sweep;
#[path = "blaslt/table.rs"]
mod table;
