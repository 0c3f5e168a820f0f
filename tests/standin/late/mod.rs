//! Work on the CUDA engine that is enqueued after its submission: calls that block, plans, and all that follows them.

mod blocking;
mod drops;
mod ends;
mod failures;
mod ops;
mod phases;
mod plans;
mod random;
