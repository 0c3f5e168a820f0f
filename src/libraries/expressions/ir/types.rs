//! The type of each operation's result.

use super::{Binary, Compare, Op, Unary};
use crate::core::element::DType;
use crate::libraries::expressions::functions::Function;

/// The type of the result of `op`, whose operands have the types `x`, `y` and `z` (as many as it has; the rest repeats
/// the last). `declared` is the type of nodes that choose their own: leaves, casts and bit casts.
///
/// # Errors
/// What is wrong and what helps, without the operands' names.
pub(crate) fn result_type(op: &Op, [x, y, z]: [DType; 3], declared: DType) -> Result<DType, String> {
    let same = |x: DType, y: DType| if x == y { Ok(()) } else { Err(differ(x, y)) };
    match *op {
        Op::Input(_) | Op::Parameter(_) => Ok(declared),
        Op::Constant(scalar) => Ok(scalar.dtype()),
        Op::Position(_) | Op::Extent(_) | Op::Index => Ok(DType::I64),
        Op::Unary(op, _) => unary(op, x),
        Op::Binary(op, ..) => same(x, y).and_then(|()| binary(op, x)),
        Op::Compare(op, ..) => {
            same(x, y)?;
            let ordered = x.is_float() || x.is_integer();
            match op {
                Compare::Eq | Compare::Ne => Ok(DType::Bool),
                _ if ordered => Ok(DType::Bool),
                _ => Err(format!("{x} has no order")),
            }
        }
        Op::Fma(..) => {
            same(x, y).and_then(|()| same(y, z))?;
            float(x)
        }
        Op::Select(..) if x != DType::Bool => Err(format!("the condition is {x}, but must be bool: compare it with 0")),
        Op::Select(..) => same(y, z).map(|()| y),
        Op::Cast(..) => Ok(declared),
        Op::Bits(_) => {
            let plain = |t: DType| t.is_float() || t.is_integer();
            if plain(x) && plain(declared) && x.size() == declared.size() {
                Ok(declared)
            } else {
                Err(format!("the bits of {x} are not those of {declared}: take real types of the same size"))
            }
        }
        Op::Call(function, _, second) => {
            if function.arity() != 1 + usize::from(second.is_some()) {
                return Err(format!("it has {} arguments", function.arity()));
            }
            same(x, y)?;
            match function {
                Function::Exp if x.is_complex() => Ok(x),
                _ => float(x),
            }
        }
    }
}

fn unary(op: Unary, x: DType) -> Result<DType, String> {
    let complex = |result: DType| if x.is_complex() { Ok(result) } else { Err(format!("{x} is not complex")) };
    match op {
        Unary::Neg => number(x),
        Unary::Abs | Unary::Sign => real(x),
        Unary::Not => bits(x),
        Unary::Sqrt | Unary::Floor | Unary::Ceil | Unary::Trunc | Unary::Round | Unary::RoundEven => float(x),
        Unary::IsNan | Unary::IsFinite if x.is_float() || x.is_complex() => Ok(DType::Bool),
        Unary::IsNan | Unary::IsFinite => Err(format!("{x} has no NaN and no infinity")),
        Unary::Conj => complex(x),
        Unary::Re | Unary::Im => complex(x.part()),
    }
}

fn binary(op: Binary, x: DType) -> Result<DType, String> {
    match op {
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Div => number(x),
        Binary::Rem | Binary::Modulo | Binary::Min | Binary::Max | Binary::Minimum | Binary::Maximum => real(x),
        Binary::And | Binary::Or | Binary::Xor => bits(x),
        Binary::Shl | Binary::Shr if x.is_integer() => Ok(x),
        Binary::Shl | Binary::Shr => Err(format!("{x} is no integer")),
        Binary::Copysign => float(x),
        Binary::Complex => match x {
            DType::F32 => Ok(DType::C32),
            DType::F64 => Ok(DType::C64),
            _ => Err(format!("{x} is not the type of a part: cast to f32 or f64")),
        },
    }
}

fn differ(x: DType, y: DType) -> String {
    format!("{x} and {y} differ: cast one of them, as in x.cast({y:?})")
}

fn number(x: DType) -> Result<DType, String> {
    if x == DType::Bool { Err("bool is no number: cast it, or select".into()) } else { Ok(x) }
}

fn real(x: DType) -> Result<DType, String> {
    if x.is_float() || x.is_integer() { Ok(x) } else { Err(format!("{x} is no real number")) }
}

fn float(x: DType) -> Result<DType, String> {
    if x.is_float() { Ok(x) } else { Err(format!("{x} is no floating point number: cast it")) }
}

fn bits(x: DType) -> Result<DType, String> {
    if x == DType::Bool || x.is_integer() { Ok(x) } else { Err(format!("{x} has no bits: cast it, or take bits()")) }
}
