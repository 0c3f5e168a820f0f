//! What is known of a kernel's parameters, and of a kernel that a worker process has found.

use super::limits::{DeviceLimits, KernelAttributes};
use serde::{Deserialize, Serialize};

/// One parameter of a kernel, as far as the kernel's code describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parameter {
    pub(crate) bytes: usize,
    pub(crate) class: ParameterClass,
}

/// What the PTX says about a parameter's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ParameterClass {
    Integer,
    Float,
    /// Any bits: a struct, or a type that is not known.
    Bits,
}

impl Parameter {
    pub(crate) fn new(bytes: usize, class: ParameterClass) -> Self {
        Parameter { bytes, class }
    }

    /// A parameter of which only the size is known.
    pub(crate) fn of_size(bytes: usize) -> Self {
        Parameter { bytes, class: ParameterClass::Bits }
    }
}

impl std::fmt::Display for Parameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.class {
            ParameterClass::Integer => write!(f, "an integer or address of {} bytes", self.bytes),
            ParameterClass::Float => write!(f, "a float of {} bytes", self.bytes),
            ParameterClass::Bits => write!(f, "{} bytes", self.bytes),
        }
    }
}

/// What a worker reports about a kernel.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) number: u32,
    pub(crate) attributes: KernelAttributes,
    pub(crate) limits: DeviceLimits,
    pub(crate) parameters: Option<Vec<Parameter>>,
}
