//! Rows by their numbers, rotary embedding and dropout.

#[cfg(feature = "rng")]
mod dropout;
mod rotary;
mod table;

pub use rotary::Rotary;
