//! Data exchange with other crates. One folder per crate, behind a feature of its name.

#[cfg(feature = "ndarray")]
pub(crate) mod ndarray;
