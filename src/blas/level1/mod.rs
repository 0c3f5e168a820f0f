//! Vectors: level 1.

mod asum;
mod axpy;
mod copy;
mod dot;
mod extreme;
mod modified;
mod nrm2;
mod reduction;
mod rot;
mod scal;
