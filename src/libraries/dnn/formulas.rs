//! Formulas whose types are known only when the program runs, so that one body is compiled for all element types.

use crate::core::cache::Memo;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::core::sync::Arc;
use crate::core::truth::Bool;
use crate::libraries::expressions::Symbol;
use crate::libraries::expressions::build::Operand;
use crate::libraries::expressions::build::recording::{select, typed};
use crate::libraries::expressions::formula::{Recorded, record};
use crate::libraries::expressions::ir::{Op, Overflow};

/// A value of a recording, which knows its type: the type here has no meaning.
pub(super) type Value = Symbol<f64>;

/// Records a formula of inputs of these types.
pub(super) fn formula(types: &[DType], f: impl FnOnce(&[Value]) -> Vec<Value>) -> Result<Recorded> {
    record(types, |open| {
        let inputs: Vec<Value> = (0..types.len()).map(|k| Symbol::new(open.input(k))).collect();
        f(&inputs).into_iter().map(|value| value.raw).collect()
    })
}

/// What a formula is made of: its name, the type of its elements, and numbers.
pub(super) type Made = (&'static str, DType, [u64; 3]);

static KNOWN: Memo<Arc<Recorded>, Made> = Memo::new();

/// As [`formula`], recorded once for all that are made of the same.
pub(super) fn kept(made: Made, types: &[DType], f: impl FnOnce(&[Value]) -> Vec<Value>) -> Result<Recorded> {
    let again = |known: &Recorded| Recorded { kept: known.kept.clone(), scalars: known.scalars.clone() };
    if let Some(known) = KNOWN.get(&made, |_| true) {
        return Ok(again(&known));
    }
    let recorded = formula(types, f)?;
    KNOWN.keep(made, Arc::new(again(&recorded)));
    Ok(recorded)
}

/// The value in another type.
pub(super) fn cast(x: Value, dtype: DType) -> Value {
    if x.raw.dtype() == Some(dtype) {
        return x;
    }
    Symbol::new(typed("cast", x.raw, dtype, |x| Op::Cast(Overflow::Saturate, x)))
}

/// `a` where the condition is true, else `b`; numbers have this type.
pub(super) fn either(
    condition: Symbol<Bool>,
    a: impl Into<Operand<f64>>,
    b: impl Into<Operand<f64>>,
    dtype: DType,
) -> Value {
    Symbol::new(select(condition.raw, a.into().raw, b.into().raw, dtype))
}

/// The complex number of two parts.
pub(super) fn complex(re: Value, im: Value) -> Value {
    Symbol::new(re.complex(im).raw)
}

/// The parts of a complex number.
pub(super) fn parts(z: Value) -> [Value; 2] {
    [z.re(), z.im()]
}
