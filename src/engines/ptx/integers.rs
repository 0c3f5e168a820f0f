//! Arithmetic of integers and bits.

use super::lanes::{Apply, Lane, Row, lanes};
use super::types::{Kind, Type};

/// The names of the types of a formula, which may use one alone.
macro_rules! typed {
    ($T:ident = $t:ty, $U:ident = $u:ty) => {
        #[allow(dead_code, reason = "a formula may use one alone")]
        type $T = $t;
        #[allow(dead_code, reason = "a formula may use one alone")]
        type $U = $u;
    };
}

/// The same formula for each integer type: `T` is the type, `U` the unsigned one of the same width.
macro_rules! each {
    ($ty:expr, $T:ident, $U:ident, |$($x:ident: $X:ident),+| $e:expr) => {
        match ($ty.is_signed(), $ty.bits) {
            (false, 16) => { typed!($T = u16, $U = u16); Some(lanes!(|$($x: $X),+| $e)) }
            (false, 32) => { typed!($T = u32, $U = u32); Some(lanes!(|$($x: $X),+| $e)) }
            (false, 64) => { typed!($T = u64, $U = u64); Some(lanes!(|$($x: $X),+| $e)) }
            (true, 16) => { typed!($T = i16, $U = u16); Some(lanes!(|$($x: $X),+| $e)) }
            (true, 32) => { typed!($T = i32, $U = u32); Some(lanes!(|$($x: $X),+| $e)) }
            (true, 64) => { typed!($T = i64, $U = u64); Some(lanes!(|$($x: $X),+| $e)) }
            _ => None,
        }
    };
}

/// An integer instruction by its name and modifiers.
pub(super) fn integer(name: &str, mods: &[&str], ty: Type) -> Option<Apply> {
    if ty.is_float() {
        return None;
    }
    let (wide, high, saturated) = (mods.contains(&"wide"), mods.contains(&"hi"), mods.contains(&"sat"));
    match name {
        "add" if saturated => Some(lanes!(|a: i32, b: i32| a.saturating_add(b))),
        "sub" if saturated => Some(lanes!(|a: i32, b: i32| a.saturating_sub(b))),
        "add" => each!(ty, T, U, |a: T, b: T| a.wrapping_add(b)),
        "sub" => each!(ty, T, U, |a: T, b: T| a.wrapping_sub(b)),
        "mul" if wide => wide_product(ty),
        "mul" if high => high_product(ty),
        "mul" => each!(ty, T, U, |a: T, b: T| a.wrapping_mul(b)),
        "mad" if wide || high => None, // two instructions
        "mad" => each!(ty, T, U, |a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c)),
        // A division by zero gives what GPUs give; PTX leaves it open.
        "div" => each!(ty, T, U, |a: T, b: T| if b == 0 { (0 as T).wrapping_sub(1) } else { a.wrapping_div(b) }),
        "rem" => each!(ty, T, U, |a: T, b: T| if b == 0 { a } else { a.wrapping_rem(b) }),
        "min" => each!(ty, T, U, |a: T, b: T| a.min(b)),
        "max" => each!(ty, T, U, |a: T, b: T| a.max(b)),
        "neg" => Some(lanes!(|a: u64| a.wrapping_neg())),
        "abs" => each!(ty, T, U, |a: T| if a > (0 as T) { a } else { (0 as T).wrapping_sub(a) }),
        "not" if ty.kind == Kind::Predicate => Some(lanes!(|a: bool| !a)),
        "not" => Some(lanes!(|a: u64| !a)),
        "cnot" => each!(ty, T, U, |a: T| u64::from(a == 0)),
        "and" => Some(lanes!(|a: u64, b: u64| a & b)),
        "or" => Some(lanes!(|a: u64, b: u64| a | b)),
        "xor" => Some(lanes!(|a: u64, b: u64| a ^ b)),
        "shl" => each!(ty, T, U, |a: T, b: u32| if b < T::BITS { a << b } else { 0 }),
        "shr" => each!(ty, T, U, |a: T, b: u32| a >> b.min(T::BITS - 1) >> u32::from(b >= T::BITS)),
        "popc" => each!(ty, T, U, |a: U| u64::from(a.count_ones())),
        "clz" => each!(ty, T, U, |a: U| u64::from(a.leading_zeros())),
        "brev" => each!(ty, T, U, |a: U| a.reverse_bits()),
        "bfind" => bfind(ty, mods.contains(&"shiftamt")),
        "sad" => each!(ty, T, U, |a: T, b: T, c: U| c.wrapping_add(a.abs_diff(b))),
        "mul24" if high => Some(if ty.is_signed() {
            lanes!(|a: i32, b: i32| ((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) >> 16) as i32)
        } else {
            lanes!(|a: u32, b: u32| ((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) >> 16) as u32)
        }),
        "mul24" => Some(if ty.is_signed() {
            lanes!(|a: i32, b: i32| (a << 8 >> 8).wrapping_mul(b << 8 >> 8))
        } else {
            lanes!(|a: u32, b: u32| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff))
        }),
        _ => bits(name, mods, ty),
    }
}

fn wide_product(ty: Type) -> Option<Apply> {
    match (ty.is_signed(), ty.bits) {
        (false, 16) => Some(lanes!(|a: u16, b: u16| u32::from(a) * u32::from(b))),
        (true, 16) => Some(lanes!(|a: i16, b: i16| i32::from(a) * i32::from(b))),
        (false, 32) => Some(lanes!(|a: u32, b: u32| u64::from(a) * u64::from(b))),
        (true, 32) => Some(lanes!(|a: i32, b: i32| i64::from(a) * i64::from(b))),
        _ => None,
    }
}

fn high_product(ty: Type) -> Option<Apply> {
    match (ty.is_signed(), ty.bits) {
        (false, 16) => Some(lanes!(|a: u16, b: u16| (u32::from(a) * u32::from(b)) >> 16)),
        (true, 16) => Some(lanes!(|a: i16, b: i16| (i32::from(a) * i32::from(b)) >> 16)),
        (false, 32) => Some(lanes!(|a: u32, b: u32| (u64::from(a) * u64::from(b)) >> 32)),
        (true, 32) => Some(lanes!(|a: i32, b: i32| (i64::from(a) * i64::from(b)) >> 32)),
        (false, 64) => Some(lanes!(|a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64)),
        (true, 64) => Some(lanes!(|a: i64, b: i64| ((i128::from(a) * i128::from(b)) >> 64) as i64)),
        _ => None,
    }
}

/// The position of the highest bit that differs from the sign; all ones where there is none.
fn bfind(ty: Type, shift: bool) -> Option<Apply> {
    fn find(a: u64, bits: u32, shift: bool) -> u32 {
        match a.checked_ilog2() {
            None => u32::MAX,
            Some(at) if shift => bits - 1 - at,
            Some(at) => at,
        }
    }
    Some(match (ty.is_signed(), ty.bits, shift) {
        (false, 32, false) => lanes!(|a: u32| find(a.into(), 32, false)),
        (false, 32, true) => lanes!(|a: u32| find(a.into(), 32, true)),
        (true, 32, false) => lanes!(|a: i32| find(((a ^ a >> 31) as u32).into(), 32, false)),
        (true, 32, true) => lanes!(|a: i32| find(((a ^ a >> 31) as u32).into(), 32, true)),
        (false, 64, false) => lanes!(|a: u64| find(a, 64, false)),
        (false, 64, true) => lanes!(|a: u64| find(a, 64, true)),
        (true, 64, false) => lanes!(|a: i64| find((a ^ a >> 63) as u64, 64, false)),
        (true, 64, true) => lanes!(|a: i64| find((a ^ a >> 63) as u64, 64, true)),
        _ => return None,
    })
}

/// Fields of bits, and pairs of words.
fn bits(name: &str, mods: &[&str], ty: Type) -> Option<Apply> {
    Some(match (name, ty.is_signed(), ty.bits) {
        ("bfe", false, 32) => lanes!(|a: u32, b: u32, c: u32| field(a.into(), b, c, 32)),
        ("bfe", false, 64) => lanes!(|a: u64, b: u32, c: u32| field(a, b, c, 64)),
        ("bfe", true, 32) => lanes!(|a: u32, b: u32, c: u32| signed_field(a.into(), b, c, 32)),
        ("bfe", true, 64) => lanes!(|a: u64, b: u32, c: u32| signed_field(a, b, c, 64)),
        ("shf", _, 32) => match (mods.contains(&"l"), mods.contains(&"clamp")) {
            (true, false) => lanes!(|a: u32, b: u32, c: u32| (pair(a, b) << (c & 31) >> 32) as u32),
            (true, true) => lanes!(|a: u32, b: u32, c: u32| (pair(a, b) << c.min(32) >> 32) as u32),
            (false, false) => lanes!(|a: u32, b: u32, c: u32| (pair(a, b) >> (c & 31)) as u32),
            (false, true) => lanes!(|a: u32, b: u32, c: u32| (pair(a, b) >> c.min(32)) as u32),
        },
        ("prmt", ..) => match mods.first() {
            None | Some(&"b32") => match mods.get(1) {
                None => lanes!(|a: u32, b: u32, c: u32| permute(a, b, c)),
                Some(mode) => return permute_by(mode),
            },
            _ => return None,
        },
        ("slct", ..) if mods.last() == Some(&"s32") => {
            lanes!(|a: u64, b: u64, c: i32| if c >= 0 { a } else { b })
        }
        ("slct", ..) => lanes!(|a: u64, b: u64, c: f32| if c >= 0.0 { a } else { b }),
        ("bmsk", ..) => {
            lanes!(|a: u32, b: u32| field(u64::MAX, 0, b.min(32), 32).checked_shl(a).unwrap_or(0) as u32)
        }
        ("dp4a", ..) => match (mods.first(), mods.get(1)) {
            (Some(&"s32"), Some(&"s32")) => lanes!(|a: u32, b: u32, c: u32| dot(a, b, c, true, true)),
            (Some(&"u32"), Some(&"u32")) => lanes!(|a: u32, b: u32, c: u32| dot(a, b, c, false, false)),
            (Some(&"s32"), _) => lanes!(|a: u32, b: u32, c: u32| dot(a, b, c, true, false)),
            _ => lanes!(|a: u32, b: u32, c: u32| dot(a, b, c, false, true)),
        },
        _ => return None,
    })
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// `length` bits of `a` from `from` on; what is above the width is zero.
fn field(a: u64, from: u32, length: u32, _width: u32) -> u64 {
    let (from, length) = (from & 0xff, length & 0xff);
    let shifted = a.checked_shr(from).unwrap_or(0);
    if length >= 64 { shifted } else { shifted & ((1 << length) - 1) }
}

/// The same, extended by its highest bit, or by the sign of `a` where the field reaches beyond the width.
fn signed_field(a: u64, from: u32, length: u32, width: u32) -> u64 {
    let (from, length) = (from & 0xff, length & 0xff);
    if length == 0 {
        return 0;
    }
    let wide = (a << (64 - width)) as i64 >> (64 - width);
    let last = (from + length - 1).min(width - 1);
    let sign = wide >> last & 1;
    let value = wide >> from.min(63);
    let mask = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    if sign != 0 { value as u64 | !mask } else { value as u64 & mask }
}

/// `prmt`: each nibble of the selector names one of eight bytes, or its sign.
fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = pair(a, b).to_le_bytes();
    let mut out = [0u8; 4];
    for (n, out) in out.iter_mut().enumerate() {
        let nibble = selector >> (4 * n) & 0xf;
        let byte = bytes.get(nibble as usize & 7).copied().unwrap_or_default();
        *out = if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
    }
    u32::from_le_bytes(out)
}

/// `prmt` in one of its modes: two bits of the selector say where it begins.
fn permute_by(mode: &str) -> Option<Apply> {
    Some(match mode {
        "f4e" => lanes!(|a: u32, b: u32, c: u32| (pair(a, b) >> (8 * (c & 3))) as u32),
        "b4e" => lanes!(|a: u32, b: u32, c: u32| {
            let c = c & 3;
            permute(a, b, [0x5670, 0x6701, 0x7012, 0x0123].get(c as usize).copied().unwrap_or_default())
        }),
        "rc8" => lanes!(|a: u32, _b: u32, c: u32| (a >> (8 * (c & 3)) & 0xff) * 0x0101_0101),
        "ecl" => lanes!(|a: u32, b: u32, c: u32| {
            permute(a, b, [0x3210, 0x3211, 0x3222, 0x3333].get((c & 3) as usize).copied().unwrap_or_default())
        }),
        "ecr" => lanes!(|a: u32, b: u32, c: u32| {
            permute(a, b, [0x0000, 0x1110, 0x2210, 0x3210].get((c & 3) as usize).copied().unwrap_or_default())
        }),
        "rc16" => lanes!(|a: u32, _b: u32, c: u32| (a >> (16 * (c & 1)) & 0xffff) * 0x0001_0001),
        _ => return None,
    })
}

fn dot(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    let value = |byte: u8, signed: bool| if signed { i32::from(byte as i8) } else { i32::from(byte) };
    let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    let sum: i32 = products.map(|(a, b)| value(a, a_signed).wrapping_mul(value(b, b_signed))).sum();
    c.wrapping_add(sum as u32)
}

/// `bfi` has four operands: the field `a`, the target `b`, and a word with the position in its low and the length in its high half.
pub(super) fn insert(bits: u32) -> Apply {
    fn into(a: u64, b: u64, at: u64, width: u32) -> u64 {
        let (from, length) = (at as u32 & 0xff, (at >> 32) as u32 & 0xff);
        if from >= width || length == 0 {
            return b;
        }
        let mask = if length >= 64 { u64::MAX } else { (1 << length) - 1 } << from;
        b & !mask | a << from & mask
    }
    match bits {
        32 => lanes!(|a: u64, b: u64, at: u64| into(a, b, at, 32) as u32),
        _ => lanes!(|a: u64, b: u64, at: u64| into(a, b, at, 64)),
    }
}

/// The flag that is carried, and the sum: of `a + b + c`, or of a difference. A difference leaves the complement of its borrow and
/// takes it so, as a GPU does (an `addc` behind a `sub.cc` sees it; PTX itself says that the borrow is written): `next` is `subc`,
/// which takes the flag.
pub(super) fn carry(subtract: bool, next: bool, bits: u32) -> Option<(Apply, Apply)> {
    Some(match (subtract, next, bits) {
        (false, _, 32) => (
            lanes!(|a: u32, b: u32, c: bool| u64::from(a) + u64::from(b) + u64::from(c) > u64::from(u32::MAX)),
            lanes!(|a: u32, b: u32, c: bool| a.wrapping_add(b).wrapping_add(c.into())),
        ),
        (false, _, 64) => (
            lanes!(|a: u64, b: u64, c: bool| u128::from(a) + u128::from(b) + u128::from(c) > u128::from(u64::MAX)),
            lanes!(|a: u64, b: u64, c: bool| a.wrapping_add(b).wrapping_add(c.into())),
        ),
        (true, false, 32) => (lanes!(|a: u32, b: u32| a >= b), lanes!(|a: u32, b: u32| a.wrapping_sub(b))),
        (true, false, 64) => (lanes!(|a: u64, b: u64| a >= b), lanes!(|a: u64, b: u64| a.wrapping_sub(b))),
        (true, true, 32) => (
            lanes!(|a: u32, b: u32, c: bool| u64::from(a) >= u64::from(b) + u64::from(!c)),
            lanes!(|a: u32, b: u32, c: bool| a.wrapping_sub(b).wrapping_sub((!c).into())),
        ),
        (true, true, 64) => (
            lanes!(|a: u64, b: u64, c: bool| u128::from(a) >= u128::from(b) + u128::from(!c)),
            lanes!(|a: u64, b: u64, c: bool| a.wrapping_sub(b).wrapping_sub((!c).into())),
        ),
        _ => return None,
    })
}

/// A comparison of integers.
pub(super) fn compare(how: &str, ty: Type) -> Option<Apply> {
    if ty.is_float() {
        return None;
    }
    match how {
        "eq" => each!(ty, T, U, |a: T, b: T| a == b),
        "ne" => each!(ty, T, U, |a: T, b: T| a != b),
        "lt" | "lo" => each!(ty, T, U, |a: T, b: T| a < b),
        "le" | "ls" => each!(ty, T, U, |a: T, b: T| a <= b),
        "gt" | "hi" => each!(ty, T, U, |a: T, b: T| a > b),
        "ge" | "hs" => each!(ty, T, U, |a: T, b: T| a >= b),
        _ => None,
    }
}
