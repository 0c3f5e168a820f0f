//! Vectors: level 1.

mod axpy;
mod dot;
mod nrm2;
mod reduction;
mod scal;
