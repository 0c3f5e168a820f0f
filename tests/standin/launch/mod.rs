//! What loading, launching and unloading ask of the driver, call by call, and what happens when one of the calls fails.

mod calls;
mod failures;
mod unloading;
