//! Rotary embedding and dropout: each one formula of the elements.

#[cfg(feature = "rng")]
mod dropout;
mod rotary;

pub use rotary::Rotary;
