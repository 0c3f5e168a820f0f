//! Elements by their indices, elements by a condition that get values, and membership.
//!
//! All of it is made of formulas, sorts, searches and moves, and has no kernel.

mod along;
mod fill;
mod isin;
mod tuples;
