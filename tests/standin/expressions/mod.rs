//! Formulas on the CUDA engine: when kernels are made, how long they live, and what becomes of failures. The stand-in runs the
//! text of the kernels, so that what they compute is held against the definition here as well.

#[path = "../../host/expressions/compare.rs"]
mod compare;
#[path = "../../host/expressions/functions.rs"]
mod functions;
mod kernels;
#[path = "../../host/expressions/oracle.rs"]
mod oracle;
#[path = "../../host/expressions/random.rs"]
mod random;
mod takes;
