//! A kernel's own parameters, and whether what is packed fits them.

use super::packed::{PackedArguments, Slot, ValueKind};
use crate::launch::{Parameter, ParameterClass as Class};
use crate::{DType, Error, Result};

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

/// As many arguments as parameters.
pub(super) fn count(name: &str, passed: usize, wanted: usize) -> Result<()> {
    if passed == wanted {
        return Ok(());
    }
    Err(Error::invalid("args", format!("{passed} arguments, but `{name}` has {wanted} parameters")))
}

/// Bytes and class of what is packed.
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
        // Structs in CUDA C++, and so bits in PTX.
        DType::F16 | DType::Bf16 | DType::C32 | DType::C64 => Class::Bits,
        _ => Class::Integer,
    }
}

/// What is packed, for a message.
pub(super) fn words(slot: &Slot) -> String {
    match slot {
        Slot::Read(dtype, _) => format!("a buffer of {dtype} to be read (an address of 8 bytes)"),
        Slot::Write(dtype, ..) => format!("a buffer of {dtype} to be written (an address of 8 bytes)"),
        Slot::Value { kind: ValueKind::Scalar(dtype), .. } => format!("a scalar {dtype} ({} bytes)", dtype.size()),
        Slot::Value { kind: ValueKind::Pointer, .. } => "a device pointer (8 bytes)".into(),
        Slot::Value { len, kind: ValueKind::Plain, .. } => format!("a plain struct ({len} bytes)"),
    }
}
