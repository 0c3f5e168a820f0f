//! Fourier transforms against the oracle, on every device, type by type.
#![allow(unreachable_pub, reason = "its modules share these")]

mod case;
mod convolve;
mod engines;
mod frames;
mod frequencies;
mod known;
mod number;
mod refusals;
mod relations;
mod shifts;
mod sweep;
mod trigonometric;
