//! Reductions along axes: `oracle.rs` writes the tree and what it joins down plainly, `cases.rs` makes operands and compares,
//! bit for bit.

mod against;
mod cases;
mod direct;
mod ends;
mod oracle;
mod refusals;
mod results;
mod scans;
