//! Fused matrix products against the oracle, on every device, type by type.
#![allow(unreachable_pub, reason = "its modules share these")]

mod bad_input;
mod case;
mod check;
mod exact;
mod kept;
mod modes;
mod odd;
mod plans;
mod properties;
mod refusals;
mod sweep;
mod table;
