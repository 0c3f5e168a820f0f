//! What windlass and other crates of the field hand to each other. One folder a crate, behind a feature of its name.

#[cfg(feature = "ndarray")]
pub(crate) mod ndarray;
