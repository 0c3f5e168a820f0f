//! From an instruction to its loop.

use super::arithmetic::*;
use super::convert::{NarrowBf16, Odd, To, WidenBf16};
use super::{Kernel, Level, half, one, one_alone, three, three_in_vectors, two, two_alone};
use crate::libraries::expressions::functions;
use crate::libraries::expressions::low::{Instr, Lane, LowOp};

/// Returns the loop of `$op` for a lane; is `None` if the operation does not exist there.
macro_rules! lanes { ($make:ident, $op:ty, $lane:expr, $level:expr; $($name:ident $t:ty),*) => {
    {
        $(if $lane == Lane::$name {
            return Some($make::<$op, $t>($level));
        })*
        None
    }
} }

macro_rules! floats { ($make:ident, $op:ty, $lane:expr, $level:expr) => {
    lanes!($make, $op, $lane, $level; F32 f32, F64 f64)
} }

macro_rules! bits { ($make:ident, $op:ty, $lane:expr, $level:expr) => {
    lanes!($make, $op, $lane.bits(), $level; U8 u8, U16 u16, U32 u32, U64 u64)
} }

macro_rules! integers { ($make:ident, $op:ty, $lane:expr, $level:expr) => {
    lanes!($make, $op, $lane, $level; I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)
} }

macro_rules! all { ($make:ident, $op:ty, $lane:expr, $level:expr) => {
    lanes!($make, $op, $lane, $level; I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64)
} }

/// Of integers only the width matters.
macro_rules! wrapping {
    ($make:ident, $op:ty, $lane:expr, $level:expr) => {
        if $lane.is_float() { floats!($make, $op, $lane, $level) } else { bits!($make, $op, $lane, $level) }
    };
}

/// The loop of an instruction; `None` for what is no loop: inputs, uniforms, positions.
pub(in super::super) fn find(instr: &Instr, level: Level) -> Option<Kernel> {
    let from = instr.from;
    match instr.op {
        LowOp::Input(..) | LowOp::Uniform(_) | LowOp::Position(_) => None,
        LowOp::Call(function) => functions::call(function, from, level),
        LowOp::Far(function) => functions::far(function, from),
        LowOp::Add => wrapping!(two, Add, from, level),
        LowOp::Sub => wrapping!(two, Sub, from, level),
        LowOp::Mul => wrapping!(two, Mul, from, level),
        LowOp::Div if from.is_float() => floats!(two, Div, from, level),
        LowOp::Div => integers!(two_alone, Div, from, level),
        LowOp::Rem => all!(two_alone, Rem, from, level),
        LowOp::Min => all!(two, Min, from, level),
        LowOp::Max => all!(two, Max, from, level),
        LowOp::Minimum => floats!(two, Minimum, from, level),
        LowOp::Maximum => floats!(two, Maximum, from, level),
        LowOp::And => bits!(two, And, from, level),
        LowOp::Or => bits!(two, Or, from, level),
        LowOp::Xor => bits!(two, Xor, from, level),
        LowOp::Shl if from.size() < 4 => lanes!(two_alone, Shl, from.bits(), level; U8 u8, U16 u16),
        LowOp::Shl => lanes!(two, Shl, from.bits(), level; U32 u32, U64 u64),
        LowOp::Shr if from.size() < 4 => lanes!(two_alone, Shr, from, level; I8 i8, I16 i16, U8 u8, U16 u16),
        LowOp::Shr => lanes!(two, Shr, from, level; I32 i32, I64 i64, U32 u32, U64 u64),
        LowOp::Not => bits!(one, Not, from, level),
        LowOp::Neg => wrapping!(one, Neg, from, level),
        LowOp::Abs => lanes!(one, Abs, from, level; I8 i8, I16 i16, I32 i32, I64 i64, F32 f32, F64 f64),
        LowOp::Sqrt => floats!(one, Sqrt, from, level),
        LowOp::Floor => floats!(one, Floor, from, level),
        LowOp::Ceil => floats!(one, Ceil, from, level),
        LowOp::Trunc => floats!(one, Trunc, from, level),
        LowOp::RoundEven => floats!(one, RoundEven, from, level),
        LowOp::Copysign => floats!(two, Copysign, from, level),
        LowOp::Fma => floats!(three, Fma, from, level),
        LowOp::MulAdd | LowOp::MulSub | LowOp::SubMul if level < Level::Vectors => None,
        LowOp::MulAdd => floats!(three_in_vectors, OfProduct<Add>, from, level),
        LowOp::MulSub => floats!(three_in_vectors, OfProduct<Sub>, from, level),
        LowOp::SubMul => floats!(three_in_vectors, WithProduct<Sub>, from, level),
        LowOp::Eq => wrapping!(two, Eq, from, level),
        LowOp::Ne => wrapping!(two, Ne, from, level),
        LowOp::Lt => all!(two, Lt, from, level),
        LowOp::Le => all!(two, Le, from, level),
        // The other way round they are the two above.
        LowOp::Gt | LowOp::Ge => None,
        LowOp::Select => bits!(three, Select, from, level),
        LowOp::Reinterpret => copy(from, level),
        LowOp::Convert => convert(from, instr.lane, level),
        LowOp::WidenF16 => Some(half::widen(level)),
        LowOp::WidenBf16 => Some(one::<WidenBf16, u16>(level)),
        LowOp::NarrowF16 if from == Lane::F64 => half::narrow_double(level),
        LowOp::NarrowF16 => Some(half::narrow(level)),
        LowOp::NarrowBf16 => Some(one::<NarrowBf16, f32>(level)),
        LowOp::Odd => Some(one::<Odd, f64>(level)),
        LowOp::Canon => floats!(one, Canon, from, level),
    }
}

/// The loop of an instruction whose result is stored at once; `None` if it has no loop of its own for that.
pub(in super::super) fn find_then_canon(instr: &Instr, level: Level) -> Option<Kernel> {
    let from = instr.from;
    match instr.op {
        LowOp::Add => floats!(two, Then<Add>, from, level),
        LowOp::Sub => floats!(two, Then<Sub>, from, level),
        LowOp::Mul => floats!(two, Then<Mul>, from, level),
        LowOp::Div => floats!(two, Then<Div>, from, level),
        LowOp::Min => floats!(two, Then<Min>, from, level),
        LowOp::Max => floats!(two, Then<Max>, from, level),
        LowOp::Minimum => floats!(two, Then<Minimum>, from, level),
        LowOp::Maximum => floats!(two, Then<Maximum>, from, level),
        LowOp::Fma => floats!(three, Then<Fma>, from, level),
        LowOp::MulAdd | LowOp::MulSub | LowOp::SubMul if level < Level::Vectors => None,
        LowOp::MulAdd => floats!(three_in_vectors, Then<OfProduct<Add>>, from, level),
        LowOp::MulSub => floats!(three_in_vectors, Then<OfProduct<Sub>>, from, level),
        LowOp::SubMul => floats!(three_in_vectors, Then<WithProduct<Sub>>, from, level),
        // Integers make no NaN.
        LowOp::Convert if instr.lane.is_float() && !from.is_float() => find(instr, level),
        LowOp::Convert if (from, instr.lane) == (Lane::F64, Lane::F32) => Some(one::<Then<To<f32>>, f64>(level)),
        // Their loops do it.
        LowOp::Call(function) => functions::call(function, from, level),
        _ => None,
    }
}

/// The loop that moves values of a lane.
pub(in super::super) fn copy(lane: Lane, level: Level) -> Option<Kernel> {
    bits!(one, Move, lane, level)
}

fn convert(from: Lane, to: Lane, level: Level) -> Option<Kernel> {
    if to.is_float() {
        return match to {
            Lane::F32 => {
                if matches!(from, Lane::I64 | Lane::U64) {
                    return lanes!(one_alone, To<f32>, from, level; I64 i64, U64 u64);
                }
                lanes!(one, To<f32>, from, level; I8 i8, I16 i16, I32 i32, U8 u8, U16 u16, U32 u32, F64 f64)
            }
            _ => {
                if matches!(from, Lane::I64 | Lane::U64) {
                    return lanes!(one_alone, To<f64>, from, level; I64 i64, U64 u64);
                }
                lanes!(one, To<f64>, from, level; I8 i8, I16 i16, I32 i32, U8 u8, U16 u16, U32 u32, F32 f32)
            }
        };
    }
    if from.is_float() {
        return match to {
            Lane::I32 => floats!(one, To<i32>, from, level),
            Lane::U32 => floats!(one, To<u32>, from, level),
            Lane::I64 => floats!(one_alone, To<i64>, from, level),
            Lane::U64 => floats!(one_alone, To<u64>, from, level),
            _ => None,
        };
    }
    if from.size() == to.size() {
        return copy(from, level);
    }
    let from = if from.size() > to.size() { from.bits() } else { from };
    match to.bits() {
        Lane::U8 => lanes!(one, To<u8>, from, level; U16 u16, U32 u32, U64 u64),
        Lane::U16 => lanes!(one, To<u16>, from, level; I8 i8, U8 u8, U32 u32, U64 u64),
        Lane::U32 => lanes!(one, To<u32>, from, level; I8 i8, U8 u8, I16 i16, U16 u16, U64 u64),
        _ => lanes!(one, To<u64>, from, level; I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32),
    }
}
