//! Formulas for the elements of tensors: what they compute, on which operands, and what is refused. `oracle.rs` evaluates an
//! expression from the definition, `random.rs` makes some.

mod accuracy;
mod against;
mod compare;
mod deferred;
mod functions;
mod histories;
mod maps;
mod oracle;
mod programs;
mod random;
mod random_symbols;
mod refusals;
mod special;
