//! The parameters that a kernel declares, and the comparison with the packed arguments.

use super::packed::{PackedArguments, Slot, ValueKind};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::launch::{Parameter, ParameterClass as Class};

/// Compares number, sizes and kinds, in order.
pub(super) fn check(name: &str, packed: &PackedArguments, parameters: &[Parameter]) -> Result<()> {
    count(name, packed.slots.len(), parameters.len())?;
    for (i, (slot, parameter)) in packed.slots.iter().zip(parameters).enumerate() {
        let (bytes, class) = shape(slot);
        let other_kind =
            matches!((class, parameter.class), (Class::Integer, Class::Float) | (Class::Float, Class::Integer));
        if bytes != parameter.bytes || other_kind {
            let reason = format!("{} passed, but this parameter of `{name}` is {parameter}", words(slot));
            return Err(Error::invalid(format!("argument {i}"), reason));
        }
    }
    Ok(())
}

/// Checks that there are as many arguments as parameters.
pub(super) fn count(name: &str, passed: usize, wanted: usize) -> Result<()> {
    if passed == wanted {
        return Ok(());
    }
    Err(Error::invalid("args", format!("{passed} arguments, but `{name}` has {wanted} parameters")))
}

/// Size in bytes and class of a packed argument.
fn shape(slot: &Slot) -> (usize, Class) {
    match slot {
        Slot::Read(..) | Slot::Write(..) => (8, Class::Integer),
        Slot::Value { kind: ValueKind::Pointer, .. } => (8, Class::Integer),
        Slot::Value { len, kind: ValueKind::Plain, .. } => (*len as usize, Class::Bits),
        Slot::Value { kind: ValueKind::Scalar(dtype), .. } => (dtype.size(), class_of(*dtype)),
    }
}

fn class_of(dtype: DType) -> Class {
    match dtype {
        DType::F32 | DType::F64 => Class::Float,
        // These are structs in CUDA C++, so PTX declares them as bits.
        DType::F16 | DType::Bf16 | DType::C32 | DType::C64 => Class::Bits,
        _ => Class::Integer,
    }
}

/// A packed argument in words, for a message.
pub(super) fn words(slot: &Slot) -> String {
    match slot {
        Slot::Read(dtype, _) => format!("a buffer of {dtype} to be read (an address of 8 bytes)"),
        Slot::Write(dtype, ..) => format!("a buffer of {dtype} to be written (an address of 8 bytes)"),
        Slot::Value { kind: ValueKind::Scalar(dtype), .. } => format!("a scalar {dtype} ({} bytes)", dtype.size()),
        Slot::Value { kind: ValueKind::Pointer, .. } => "a device pointer (8 bytes)".into(),
        Slot::Value { len, kind: ValueKind::Plain, .. } => format!("a plain struct ({len} bytes)"),
    }
}
