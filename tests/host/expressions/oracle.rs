//! One element at a time, from the definition.

use super::functions::Functions;
use windlass::expressions::{Binary, Compare, Expr, Function, Id, Node, Op, Overflow, Scalar, Unary};
use windlass::{DType, F8E4M3, F8E5M2, bf16, f16};

/// One element as it lies in memory: real and imaginary part, or the bits, zero-extended.
pub(super) type Bits = [u64; 2];

/// A value while it is computed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Truth(u8),
    Integer(i128),
    /// A half: not rounded, and the bits of one that was moved.
    Half(f32, Option<u16>),
    F32([f32; 2]),
    F64([f64; 2]),
}
use Value::{F32, F64, Half, Integer, Truth};

/// The element's place.
pub(super) struct At<'a> {
    /// The position along each axis.
    pub(super) position: &'a [usize],
    /// The extent of each axis.
    pub(super) extents: &'a [usize],
}

/// The outputs for one element.
pub(super) fn evaluate(
    expr: &Expr,
    scalars: &[Scalar],
    inputs: &[Bits],
    at: &At<'_>,
    functions: &Functions,
) -> Vec<Bits> {
    let mut values: Vec<Value> = Vec::new();
    for node in expr.nodes() {
        let value = evaluate_node(node, expr, &values, scalars, inputs, at, functions);
        values.push(value);
    }
    let output = |id: &Id| expr.dtype(*id).zip(values.get(usize::from(*id))).map(|(dtype, value)| store(dtype, *value));
    expr.outputs().iter().filter_map(output).collect()
}

fn load(dtype: DType, [re, im]: Bits) -> Value {
    match dtype {
        DType::Bool => Truth(re as u8),
        DType::I8 => Integer((re as i8).into()),
        DType::I16 => Integer((re as i16).into()),
        DType::I32 => Integer((re as i32).into()),
        DType::I64 => Integer((re as i64).into()),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => Integer(re.into()),
        DType::F16 => Half(f16::from_bits(re as u16).to_f32(), Some(re as u16)),
        DType::Bf16 => Half(f32::from_bits((re as u32) << 16), Some(re as u16)),
        DType::F8E4M3 => Half(F8E4M3::from_bits(re as u8).to_f32(), Some(re as u16)),
        DType::F8E5M2 => Half(F8E5M2::from_bits(re as u8).to_f32(), Some(re as u16)),
        DType::F32 | DType::C32 => F32([f32::from_bits(re as u32), f32::from_bits(im as u32)]),
        DType::F64 | DType::C64 => F64([f64::from_bits(re), f64::from_bits(im)]),
        other => panic!("{other}"),
    }
}

fn is_narrow(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::Bf16 | DType::F8E4M3 | DType::F8E5M2)
}

fn is_signed(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64)
}

fn store(dtype: DType, value: Value) -> Bits {
    let width = 8 * dtype.size() as u32;
    match value {
        Truth(byte) => [byte.into(), 0],
        Integer(n) => [if width == 64 { n as u64 } else { n as u64 & ((1 << width) - 1) }, 0],
        Half(_, Some(bits)) => [bits.into(), 0],
        Half(x, None) if x.is_nan() => [if width == 8 { 0x7f } else { 0x7fff }, 0],
        Half(x, None) if width == 8 => [eight(dtype, round_half(dtype, x.into())), 0],
        Half(x, None) if dtype == DType::F16 => [f16::from_f32(round_half(dtype, x.into())).to_bits().into(), 0],
        Half(x, None) => [bf16::from_f32(round_half(dtype, x.into())).to_bits().into(), 0],
        F32([re, im]) => [re.to_bits().into(), if dtype.is_complex() { im.to_bits().into() } else { 0 }],
        F64([re, im]) => [re.to_bits(), if dtype.is_complex() { im.to_bits() } else { 0 }],
    }
}

/// The nearest value of a half type, ties to even, by the definition: a multiple of the unit in the last place.
fn round_half(dtype: DType, x: f64) -> f32 {
    let (precision, lowest, max) = match dtype {
        DType::F16 => (11, -24, 65504.0),
        DType::Bf16 => (8, -133, 3.3895313892515355e38),
        DType::F8E4M3 => (4, -9, 448.0),
        _ => (3, -16, 57344.0),
    };
    // The formats of 8 bits have no overflow to infinity: the largest value takes its place.
    let far = if dtype.size() == 1 { max } else { f64::INFINITY };
    if x == 0.0 || x.is_nan() {
        return x as f32;
    }
    if x.is_infinite() {
        return far.copysign(x) as f32;
    }
    // The exponent by division, which is exact.
    let (mut exponent, mut size) = (0, x.abs());
    while size >= 2.0 {
        (size, exponent) = (size / 2.0, exponent + 1);
    }
    while size < 1.0 {
        (size, exponent) = (size * 2.0, exponent - 1);
    }
    let unit = 2f64.powi((exponent - precision + 1).max(lowest));
    let near = (x / unit).round_ties_even() * unit;
    (if near.abs() > max { far.copysign(near) } else { near }) as f32
}

/// The code of a value that a format of 8 bits has: the one code that has it.
fn eight(dtype: DType, x: f32) -> u64 {
    let value = |code: u8| match dtype {
        DType::F8E4M3 => F8E4M3::from_bits(code).to_f32(),
        _ => F8E5M2::from_bits(code).to_f32(),
    };
    (0..=u8::MAX).find(|code| value(*code).to_bits() == x.to_bits()).unwrap().into()
}

/// An integer to a half type.
fn integer_to_half(dtype: DType, n: i128) -> f32 {
    let precision = match dtype {
        DType::F16 => 11,
        DType::Bf16 => 8,
        DType::F8E4M3 => 4,
        _ => 3,
    };
    let size = n.unsigned_abs();
    let length = 128 - size.leading_zeros();
    let mut rounded = size;
    if length > precision {
        let shift = length - precision;
        let (kept, rest) = (size >> shift, size & ((1 << shift) - 1));
        let half = 1 << (shift - 1);
        let up = rest > half || (rest == half && kept % 2 == 1);
        rounded = (kept + u128::from(up)) << shift;
    }
    let x = rounded as f64 * if n < 0 { -1.0 } else { 1.0 };
    round_half(dtype, x)
}

fn nan32(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fff_ffff) } else { x }
}

fn nan64(x: f64) -> f64 {
    if x.is_nan() { f64::from_bits(u64::MAX >> 1) } else { x }
}

fn evaluate_node(
    node: &Node,
    expr: &Expr,
    values: &[Value],
    scalars: &[Scalar],
    inputs: &[Bits],
    at: &At<'_>,
    functions: &Functions,
) -> Value {
    let value = |id: Id| values.get(usize::from(id)).copied().unwrap_or(Truth(0));
    let dtype = |id: Id| expr.dtype(id).unwrap_or(DType::Bool);
    let scalar = |scalar: Scalar| match scalar.dtype() {
        dtype if is_narrow(dtype) => Half(f32::from_bits(scalar.words()[0] as u32), None),
        dtype => load(dtype, scalar.words()),
    };
    let axis = |list: &[usize], axis: u8| Integer(list.get(usize::from(axis)).map_or(0, |n| *n as i128));
    match node.op {
        Op::Input(k) => load(node.dtype, inputs.get(usize::from(k)).copied().unwrap_or_default()),
        Op::Parameter(k) => scalars.get(usize::from(k)).map_or(Truth(0), |s| scalar(*s)),
        Op::Constant(s) => scalar(s),
        Op::Position(k) => axis(at.position, k),
        Op::Extent(k) => axis(at.extents, k),
        Op::Select(c, a, b) => match value(c) {
            Truth(0) => value(b),
            _ => value(a),
        },
        Op::Bits(x) => load(node.dtype, store(dtype(x), value(x))),
        Op::Cast(overflow, x) => cast(dtype(x), node.dtype, overflow, value(x)),
        Op::Unary(op, x) => match (op, value(x)) {
            (Unary::Re, F32([re, _])) => F32([re, 0.0]),
            (Unary::Im, F32([_, im])) => F32([im, 0.0]),
            (Unary::Re, F64([re, _])) => F64([re, 0.0]),
            (Unary::Im, F64([_, im])) => F64([im, 0.0]),
            (_, x) => wrap(node.dtype, unary(op, dtype(node.op.operands().next().unwrap_or(0)), x)),
        },
        Op::Binary(op, x, y) => match (op, value(x), value(y)) {
            (Binary::Complex, F32([re, _]), F32([im, _])) => F32([re, im]),
            (Binary::Complex, F64([re, _]), F64([im, _])) => F64([re, im]),
            (Binary::Copysign, Half(a, _), y) => {
                let negative = {
                    let own = dtype(node.op.operands().next().unwrap_or(0));
                    store(own, y)[0] >> (8 * own.size() - 1) != 0
                };
                wrap(node.dtype, Half(if negative { -a.abs() } else { a.abs() }, None))
            }
            (_, a, b) => wrap(node.dtype, binary(op, dtype(x), a, b)),
        },
        Op::Compare(op, x, y) => Truth(compare(op, value(x), value(y)).into()),
        Op::Fma(a, b, c) => wrap(
            node.dtype,
            match (value(a), value(b), value(c)) {
                (Half(a, _), Half(b, _), Half(c, _)) => Half(a.mul_add(b, c), None),
                (F32([a, _]), F32([b, _]), F32([c, _])) => F32([a.mul_add(b, c), 0.0]),
                (F64([a, _]), F64([b, _]), F64([c, _])) => F64([a.mul_add(b, c), 0.0]),
                _ => Truth(0),
            },
        ),
        Op::Call(function, z, _) if node.dtype.is_complex() => wrap(node.dtype, functions.complex(function, value(z))),
        Op::Call(function, x, y) => wrap(node.dtype, call(functions, function, value(x), value(y.unwrap_or(x)))),
        other => panic!("{other:?}"),
    }
}

/// What a computed value is in its type.
fn wrap(dtype: DType, value: Value) -> Value {
    match value {
        Truth(byte) => Truth(byte),
        Integer(n) => match dtype {
            DType::I8 => Integer((n as i8).into()),
            DType::I16 => Integer((n as i16).into()),
            DType::I32 => Integer((n as i32).into()),
            DType::I64 => Integer((n as i64).into()),
            DType::U8 => Integer((n as u8).into()),
            DType::U16 => Integer((n as u16).into()),
            DType::U32 => Integer((n as u32).into()),
            _ => Integer((n as u64).into()),
        },
        Half(x, _) => Half(nan32(x), None),
        F32(x) => F32(x.map(nan32)),
        F64(x) => F64(x.map(nan64)),
    }
}

fn call(functions: &Functions, function: Function, x: Value, y: Value) -> Value {
    match (x, y) {
        (Half(x, _), Half(y, _)) => Half(functions.single(function, x, y), None),
        (F32([x, _]), F32([y, _])) => F32([functions.single(function, x, y), 0.0]),
        (F64([x, _]), F64([y, _])) => F64([functions.double(function, x, y), 0.0]),
        _ => Truth(0),
    }
}

fn cast(from: DType, to: DType, overflow: Overflow, value: Value) -> Value {
    let bits = 8 * to.size() as u32;
    let range = if is_signed(to) {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits.min(64)) - 1)
    };
    let complex = from.is_complex();
    let (real, imaginary, integer): (f64, f64, Option<i128>) = match value {
        Truth(byte) => (0.0, 0.0, Some((byte != 0).into())),
        Integer(n) => (0.0, 0.0, Some(n)),
        Half(x, _) => (x.into(), 0.0, None),
        F32([re, im]) => (re.into(), if complex { im.into() } else { 0.0 }, None),
        F64([re, im]) => (re, if complex { im } else { 0.0 }, None),
    };
    let result = match to {
        DType::Bool => return Truth(integer.map_or(real != 0.0 || imaginary != 0.0, |n| n != 0).into()),
        DType::F32 => F32([integer.map_or(real as f32, |n| n as f32), 0.0]),
        DType::F64 => F64([integer.map_or(real, |n| n as f64), 0.0]),
        DType::C32 => F32([integer.map_or(real as f32, |n| n as f32), imaginary as f32]),
        DType::C64 => F64([integer.map_or(real, |n| n as f64), imaginary]),
        _ if is_narrow(to) => Half(integer.map_or_else(|| round_half(to, real), |n| integer_to_half(to, n)), None),
        _ => match (integer, overflow) {
            (Some(n), Overflow::Saturate) => Integer(n.clamp(range.0, range.1)),
            (Some(n), Overflow::Wrap) => Integer(n),
            (None, Overflow::Saturate) => Integer((real as i128).clamp(range.0, range.1)),
            // From 2^127 on the last 64 bits are zero.
            (None, Overflow::Wrap) if real.abs() < 2f64.powi(127) => Integer(real as i128),
            (None, Overflow::Wrap) => Integer(0),
        },
    };
    wrap(to, result)
}

/// Arithmetic of one real floating point type.
macro_rules! float_arithmetic {
    ($unary:ident $binary:ident $compare:ident $t:ty) => {
        fn $unary(op: Unary, x: $t) -> $t {
            match op {
                Unary::Neg => -x,
                Unary::Abs => x.abs(),
                Unary::Sign if x > 0.0 => 1.0,
                Unary::Sign if x < 0.0 => -1.0,
                Unary::Sqrt => x.sqrt(),
                Unary::Floor => x.floor(),
                Unary::Ceil => x.ceil(),
                Unary::Trunc => x.trunc(),
                Unary::Round => x.round(),
                Unary::RoundEven => x.round_ties_even(),
                _ => x,
            }
        }

        fn $binary(op: Binary, x: $t, y: $t) -> $t {
            let below = x < y || (x == y && x.is_sign_negative());
            match op {
                Binary::Add => x + y,
                Binary::Sub => x - y,
                Binary::Mul => x * y,
                Binary::Div => x / y,
                Binary::Rem => x % y,
                Binary::Modulo => {
                    let rem = x % y;
                    if rem == 0.0 {
                        <$t>::copysign(0.0, y)
                    } else if (rem < 0.0) != (y < 0.0) {
                        rem + y
                    } else {
                        rem
                    }
                }
                Binary::Minimum | Binary::Maximum if x.is_nan() || y.is_nan() => <$t>::NAN,
                Binary::Min | Binary::Max if x.is_nan() => y,
                Binary::Min | Binary::Max if y.is_nan() => x,
                Binary::Min | Binary::Minimum => {
                    if below {
                        x
                    } else {
                        y
                    }
                }
                Binary::Max | Binary::Maximum => {
                    if below {
                        y
                    } else {
                        x
                    }
                }
                Binary::Copysign => {
                    if y.is_sign_negative() {
                        -x.abs()
                    } else {
                        x.abs()
                    }
                }
                _ => x,
            }
        }

        fn $compare(op: Compare, x: $t, y: $t) -> bool {
            match op {
                Compare::Eq => x == y,
                Compare::Ne => x != y,
                Compare::Lt => x < y,
                Compare::Le => x <= y,
                Compare::Gt => x > y,
                _ => x >= y,
            }
        }
    };
}
float_arithmetic!(unary32 binary32 compare32 f32);
float_arithmetic!(unary64 binary64 compare64 f64);

fn unary(op: Unary, dtype: DType, x: Value) -> Value {
    let complex = dtype.is_complex();
    let all = |test: fn(f64) -> bool, parts: [f64; 2]| {
        let [re, im] = parts.map(test);
        (re, if complex { im } else { re })
    };
    let parts = match x {
        Half(x, _) => [x.into(); 2],
        F32(x) => x.map(f64::from),
        F64(x) => x,
        _ => [0.0; 2],
    };
    match (op, x) {
        (Unary::IsNan, _) => {
            let (re, im) = all(f64::is_nan, parts);
            Truth((re || im).into())
        }
        (Unary::IsFinite, _) => {
            let (re, im) = all(f64::is_finite, parts);
            Truth((re && im).into())
        }
        (Unary::Not, Truth(byte)) => Truth((byte == 0).into()),
        (Unary::Not, Integer(n)) => Integer(!n),
        (Unary::Neg, Integer(n)) => Integer(-n),
        (Unary::Abs, Integer(n)) => Integer(n.abs()),
        (Unary::Sign, Integer(n)) => Integer(n.signum()),
        (Unary::Conj, F32([re, im])) => F32([re, -im]),
        (Unary::Conj, F64([re, im])) => F64([re, -im]),
        (op, Half(x, _)) => Half(unary32(op, x), None),
        (op, F32(x)) => F32(x.map(|x| unary32(op, x))),
        (op, F64(x)) => F64(x.map(|x| unary64(op, x))),
        (_, x) => x,
    }
}

fn binary(op: Binary, dtype: DType, x: Value, y: Value) -> Value {
    match (x, y) {
        (Truth(x), Truth(y)) => {
            let (x, y) = (x != 0, y != 0);
            Truth(match op {
                Binary::And => (x && y).into(),
                Binary::Or => (x || y).into(),
                _ => (x != y).into(),
            })
        }
        (Integer(x), Integer(y)) => Integer(integers(op, dtype, x, y)),
        (Half(x, _), Half(y, _)) => Half(binary32(op, x, y), None),
        (F32(x), F32(y)) if dtype.is_complex() => F32(complex32(op, x, y)),
        (F64(x), F64(y)) if dtype.is_complex() => F64(complex64(op, x, y)),
        (F32([x, _]), F32([y, _])) => F32([binary32(op, x, y), 0.0]),
        (F64([x, _]), F64([y, _])) => F64([binary64(op, x, y), 0.0]),
        (x, _) => x,
    }
}

fn integers(op: Binary, dtype: DType, x: i128, y: i128) -> i128 {
    let width = 8 * dtype.size() as i128;
    let beyond = !(0..width).contains(&y);
    match op {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x.wrapping_mul(y),
        Binary::Div | Binary::Rem | Binary::Modulo if y == 0 => 0,
        Binary::Div => x / y,
        Binary::Rem => x % y,
        Binary::Modulo => floored(x, y),
        Binary::Min | Binary::Minimum => x.min(y),
        Binary::Max | Binary::Maximum => x.max(y),
        Binary::And => x & y,
        Binary::Or => x | y,
        Binary::Xor => x ^ y,
        Binary::Shl if beyond => 0,
        Binary::Shl => x << y,
        Binary::Shr if beyond => {
            if x < 0 {
                -1
            } else {
                0
            }
        }
        Binary::Shr => x >> y,
        _ => x,
    }
}

/// What remains after the quotient is rounded down.
fn floored(x: i128, y: i128) -> i128 {
    let quotient = if x % y != 0 && (x < 0) != (y < 0) { x / y - 1 } else { x / y };
    x - quotient * y
}

macro_rules! complex_arithmetic {
    ($name:ident $t:ty) => {
        fn $name(op: Binary, [a, b]: [$t; 2], [c, d]: [$t; 2]) -> [$t; 2] {
            match op {
                Binary::Add => [a + c, b + d],
                Binary::Sub => [a - c, b - d],
                Binary::Mul => [a * c - b * d, a * d + b * c],
                _ if c.abs() >= d.abs() => {
                    let ratio = d / c;
                    let divisor = c + d * ratio;
                    [(a + b * ratio) / divisor, (b - a * ratio) / divisor]
                }
                _ => {
                    let ratio = c / d;
                    let divisor = d + c * ratio;
                    [(a * ratio + b) / divisor, (b * ratio - a) / divisor]
                }
            }
        }
    };
}
complex_arithmetic!(complex32 f32);
complex_arithmetic!(complex64 f64);

fn compare(op: Compare, x: Value, y: Value) -> bool {
    match (x, y) {
        (Truth(x), Truth(y)) => ((x != 0) == (y != 0)) == (op == Compare::Eq),
        (Integer(x), Integer(y)) => match op {
            Compare::Eq => x == y,
            Compare::Ne => x != y,
            Compare::Lt => x < y,
            Compare::Le => x <= y,
            Compare::Gt => x > y,
            _ => x >= y,
        },
        (Half(x, _), Half(y, _)) => compare32(op, x, y),
        (F32([x, x_im]), F32([y, y_im])) => match op {
            Compare::Eq => x == y && x_im == y_im,
            Compare::Ne => x != y || x_im != y_im,
            op => compare32(op, x, y),
        },
        (F64([x, x_im]), F64([y, y_im])) => match op {
            Compare::Eq => x == y && x_im == y_im,
            Compare::Ne => x != y || x_im != y_im,
            op => compare64(op, x, y),
        },
        _ => false,
    }
}
