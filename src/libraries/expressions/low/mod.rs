//! The common form from which both engines work: operations on machine types.
//!
//! [`Low`] is an expression after lowering: complex numbers are pairs, halves are `f32` between a widening and a
//! rounding, truth values are 0 or 1, and casts, `modulo`, rounding and complex division are spelled out. So these rules
//! are written once, and an engine only has to get [`LowOp`] right. `lower.rs` decides what is needed of each node and
//! walks the list, `rules.rs` spells out operations, `cast.rs` the casts, `eight.rs` the floating point of 8 bits.

mod cast;
mod eight;
pub(crate) mod lower;
mod rules;

pub(crate) use lower::{Calls, lower, lower_as};

use super::functions::Function;
use std::collections::HashMap;

/// The number of an instruction, which is its result.
pub(crate) type Value = u32;

/// A machine type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Lane {
    /// Bytes of one value.
    pub(crate) const fn size(self) -> usize {
        match self {
            Lane::I8 | Lane::U8 => 1,
            Lane::I16 | Lane::U16 => 2,
            Lane::I32 | Lane::U32 | Lane::F32 => 4,
            Lane::I64 | Lane::U64 | Lane::F64 => 8,
        }
    }

    /// Whether it is floating point.
    pub(crate) const fn is_float(self) -> bool {
        matches!(self, Lane::F32 | Lane::F64)
    }

    /// Whether it is a signed integer.
    pub(crate) const fn is_signed(self) -> bool {
        matches!(self, Lane::I8 | Lane::I16 | Lane::I32 | Lane::I64)
    }

    /// The unsigned integer of the same size.
    pub(crate) const fn bits(self) -> Lane {
        match self.size() {
            1 => Lane::U8,
            2 => Lane::U16,
            4 => Lane::U32,
            _ => Lane::U64,
        }
    }
}

/// An operation on machine types. The rules are those of [`Expr`](crate::expressions::Expr), except that a NaN may have any pattern
/// before [`Canon`](LowOp::Canon) and the narrowing operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LowOp {
    /// A part of the element of an input, as it is stored.
    Input(u8, u8),
    /// A value that is the same for all elements: its number in [`Low::uniforms`].
    Uniform(u16),
    /// The position along an axis.
    Position(u8),
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
    /// Of floating point only.
    Minimum,
    /// Of floating point only.
    Maximum,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Not,
    Neg,
    Abs,
    Sqrt,
    Floor,
    Ceil,
    Trunc,
    RoundEven,
    /// On the bits alone: a NaN has a sign.
    Copysign,
    Fma,
    /// `a * b + c`, both rounded. This and the next two are in no lowered form: the host engine joins a product and its only use.
    MulAdd,
    /// `a * b - c`, both rounded.
    MulSub,
    /// `c - a * b`, both rounded.
    SubMul,
    /// Comparisons give 0 or 1 as `U8`.
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// The first operand is 0 or 1.
    Select,
    /// To the lane: integers wrap, floating point to an integer of 32 or 64 bits saturates and NaN gives 0, all else is
    /// rounded to nearest even.
    Convert,
    /// The bits in a lane of the same size.
    Reinterpret,
    WidenF16,
    WidenBf16,
    /// Rounds to nearest even; NaN gives 0x7fff.
    NarrowF16,
    /// Rounds to nearest even; NaN gives 0x7fff.
    NarrowBf16,
    /// `F64` to `F32` so that a second rounding is right: what is inexact is rounded to odd. Not in a form for PTX.
    Odd,
    /// Gives each NaN the one pattern.
    Canon,
    /// An elementary function; not in a form for PTX.
    Call(Function),
    /// Where the first operand is 1, the function's form for large numbers of the second; elsewhere the third.
    Far(Function),
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Instr {
    /// The operation.
    pub(crate) op: LowOp,
    /// The lane of the result.
    pub(crate) lane: Lane,
    /// The lane of the operands; of a select, of its second and third one.
    pub(crate) from: Lane,
    /// The operands; those that the operation does not have repeat the first one.
    pub(crate) args: [Value; 3],
    /// The number of operands.
    pub(crate) arity: u8,
}

impl Instr {
    /// The operands.
    pub(crate) fn operands(&self) -> impl Iterator<Item = Value> + use<> {
        self.args.into_iter().take(self.arity.into())
    }
}

/// Where a value that is the same for all elements comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Uniform {
    /// A part of a parameter: real or imaginary.
    Parameter(u16, u8),
    /// These bits.
    Constant(u64),
    /// The number of elements along an axis.
    Extent(u8),
}

/// An expression in machine types, in single static assignment. Equal instructions are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Low {
    instrs: Vec<Instr>,
    uniforms: Vec<(Uniform, Lane)>,
    /// The parts of each output.
    outputs: Vec<Vec<Value>>,
    /// Whether what one loop does on the host stays one operation.
    keeps: bool,
    seen: HashMap<Instr, Value>,
    seen_uniforms: HashMap<(Uniform, Lane), u16>,
}

impl Low {
    /// The operations in order.
    pub(crate) fn instrs(&self) -> &[Instr] {
        &self.instrs
    }

    /// What is the same for all elements.
    pub(crate) fn uniforms(&self) -> &[(Uniform, Lane)] {
        &self.uniforms
    }

    /// The parts of each output, in the form that is stored.
    pub(crate) fn outputs(&self) -> &[Vec<Value>] {
        &self.outputs
    }

    /// The lane of a value.
    pub(crate) fn lane(&self, value: Value) -> Lane {
        self.instrs.get(value as usize).map_or(Lane::U8, |instr| instr.lane)
    }

    fn push(&mut self, instr: Instr) -> Value {
        let Low { instrs, seen, .. } = self;
        *seen.entry(instr).or_insert_with(|| {
            instrs.push(instr);
            (instrs.len() - 1) as Value
        })
    }

    /// Appends an operation on values of one lane, which gives `lane`.
    pub(crate) fn emit<const N: usize>(&mut self, op: LowOp, lane: Lane, operands: [Value; N]) -> Value {
        self.emit_list(op, lane, &operands)
    }

    /// The same with up to three operands.
    pub(crate) fn emit_list(&mut self, op: LowOp, lane: Lane, operands: &[Value]) -> Value {
        let mut args = [operands.first().copied().unwrap_or_default(); 3];
        args.iter_mut().zip(operands).for_each(|(arg, operand)| *arg = *operand);
        let from = match operands.last() {
            Some(last) => self.lane(*last),
            None => lane,
        };
        self.push(Instr { op, lane, from, args, arity: operands.len() as u8 })
    }

    /// Appends an operation whose result has the lane of its operands.
    pub(crate) fn same<const N: usize>(&mut self, op: LowOp, operands: [Value; N]) -> Value {
        let lane = operands.last().map_or(Lane::U8, |last| self.lane(*last));
        self.emit_list(op, lane, &operands)
    }

    /// Appends a comparison.
    pub(crate) fn compare(&mut self, op: LowOp, a: Value, b: Value) -> Value {
        self.emit(op, Lane::U8, [a, b])
    }

    /// Appends a conversion; none if the value has that lane.
    pub(crate) fn convert(&mut self, value: Value, lane: Lane) -> Value {
        if self.lane(value) == lane { value } else { self.emit(LowOp::Convert, lane, [value]) }
    }

    /// Appends the reading of the bits; none if the value has that lane.
    pub(crate) fn reinterpret(&mut self, value: Value, lane: Lane) -> Value {
        if self.lane(value) == lane { value } else { self.emit(LowOp::Reinterpret, lane, [value]) }
    }

    pub(crate) fn uniform(&mut self, uniform: Uniform, lane: Lane) -> Value {
        let Low { uniforms, seen_uniforms, .. } = self;
        let number = *seen_uniforms.entry((uniform, lane)).or_insert_with(|| {
            uniforms.push((uniform, lane));
            (uniforms.len() - 1) as u16
        });
        self.emit(LowOp::Uniform(number), lane, [])
    }

    /// A constant of these bits.
    pub(crate) fn constant(&mut self, lane: Lane, bits: u64) -> Value {
        let width = 8 * lane.size() as u32;
        self.uniform(Uniform::Constant(if width == 64 { bits } else { bits & ((1 << width) - 1) }), lane)
    }

    /// An integer, or a small integer as floating point.
    pub(crate) fn number(&mut self, lane: Lane, value: i32) -> Value {
        let bits = match lane {
            Lane::F32 => (value as f32).to_bits().into(),
            Lane::F64 => f64::from(value).to_bits(),
            _ => i64::from(value) as u64,
        };
        self.constant(lane, bits)
    }
}
