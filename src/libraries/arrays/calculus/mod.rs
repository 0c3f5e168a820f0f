//! Differences, gradients and integrals along an axis, values between given ones, angles without jumps, and vectors across others.
//!
//! All of it is made of formulas, reductions, scans, searches and moves, and has no kernel.

mod cross;
mod diff;
mod gradient;
mod interp;
mod spacing;
mod trapezoid;
mod unwrap;

pub use spacing::Spacing;
