//! Contractions: `oracle.rs` has the loops that say what an expression is, `cases.rs` makes expressions and operands and compares.

mod against;
mod cases;
mod known;
mod networks;
mod numpy;
mod oracle;
mod products;
mod programs;
mod refusals;
mod update;
