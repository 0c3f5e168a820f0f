//! `cvt`: from one type to another.

use super::floats::flush;
use super::lanes::{Lane, Row};
use super::rounding::{Rounding, direct64, to_single};
use super::types::{Kind, Type};
use half::{bf16, f16};

/// A conversion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Convert {
    pub(super) to: Type,
    pub(super) from: Type,
    pub(super) how: Rounding,
    /// `.rni`, ..: to an integer, also where the result is a float.
    pub(super) integral: bool,
    pub(super) saturate: bool,
    pub(super) flush: bool,
    pub(super) relu: bool,
}

impl Convert {
    /// Of `to.from` with these modifiers; an error is the part that is not known.
    pub(super) fn parse(mods: &[&str]) -> Option<Convert> {
        let types: Vec<Type> = mods.iter().filter_map(|m| Type::parse(m)).collect();
        let [to, from] = types.try_into().ok()?;
        let convert = Convert {
            to,
            from,
            how: Rounding::parse(mods),
            integral: mods.iter().any(|m| matches!(*m, "rni" | "rzi" | "rmi" | "rpi")),
            saturate: mods.contains(&"sat"),
            flush: mods.contains(&"ftz"),
            relu: mods.contains(&"relu"),
        };
        let known = mods.iter().all(|m| {
            let plain = ["rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "sat", "ftz", "relu"];
            plain.contains(m) || Type::parse(m).is_some()
        });
        known.then_some(convert)
    }

    /// For all lanes; pairs take both registers.
    pub(super) fn apply(&self, d: &mut Row, a: &Row, b: &Row) {
        let mut source = *a;
        if self.flush && self.from.bits == 32 && self.from.is_float() {
            flush()(&mut source, [a, a, a]);
        }
        if matches!(self.to.kind, Kind::Halves | Kind::Brains) {
            return self.pack(d, &source, b);
        }
        if !self.from.is_float() && !self.to.is_float() && !self.saturate {
            return self.extend(d, &source);
        }
        for (d, a) in d.iter_mut().zip(source) {
            *d = self.one(a);
        }
        if self.flush && self.to.bits == 32 && self.to.is_float() {
            let all = *d;
            flush()(d, [&all; 3]);
        }
    }

    /// From integers to integers: extended by zeros or by the sign, cut, and extended again.
    fn extend(&self, d: &mut Row, a: &Row) {
        let (from, to) = (64 - self.from.bits.clamp(1, 64), 64 - self.to.bits.clamp(1, 64));
        let extend = |value: u64, shift: u32, signed: bool| match signed {
            true => ((value << shift) as i64 >> shift) as u64,
            false => value << shift >> shift,
        };
        for (d, a) in d.iter_mut().zip(a) {
            *d = extend(extend(*a, from, self.from.is_signed()), to, self.to.is_signed());
        }
    }

    /// `cvt.rn.f16x2.f32 d, a, b`: `a` is above.
    fn pack(&self, d: &mut Row, a: &Row, b: &Row) {
        let narrow = Convert { to: Type { kind: narrow_kind(self.to.kind), bits: 16 }, ..*self };
        for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
            *d = narrow.one(*a) << 16 | narrow.one(*b);
        }
    }

    fn one(&self, a: u64) -> u64 {
        match (self.from.is_float(), self.to.is_float()) {
            (false, false) => self.integers(a),
            (false, true) => self.integer_to_float(a),
            (true, false) => self.float_to_integer(self.wide(a)),
            (true, true) => self.floats(a),
        }
    }

    fn signed(&self, a: u64) -> i128 {
        let shift = 64 - self.from.bits.clamp(1, 64);
        match self.from.is_signed() {
            true => ((a << shift) as i64 >> shift).into(),
            false => (a << shift >> shift).into(),
        }
    }

    fn limits(&self) -> (i128, i128) {
        match self.to.is_signed() {
            true => (-(1 << (self.to.bits - 1)), (1 << (self.to.bits - 1)) - 1),
            false => (0, (1 << self.to.bits) - 1),
        }
    }

    fn integers(&self, a: u64) -> u64 {
        let mut value = self.signed(a);
        if self.saturate {
            let (least, most) = self.limits();
            value = value.clamp(least, most);
        }
        let shift = 64 - self.to.bits.clamp(1, 64);
        let bits = (value as u64) << shift;
        if self.to.is_signed() { (bits as i64 >> shift) as u64 } else { bits >> shift }
    }

    /// A float as an `f64`, which all are.
    fn wide(&self, a: u64) -> f64 {
        match (self.from.kind, self.from.bits) {
            (Kind::Brain, _) => bf16::take(a).to_f64(),
            (_, 16) => f16::take(a).to_f64(),
            (_, 32) => f32::from_bits(a as u32).into(),
            _ => f64::from_bits(a),
        }
    }

    /// Values beyond the type become its limits; NaN becomes 0, or, if one of the types has 64 bits, the highest bit alone.
    fn float_to_integer(&self, value: f64) -> u64 {
        let (least, most) = self.limits();
        let rounded = integral(value, self.how);
        let result = match rounded.is_nan() {
            true if self.to.bits < 64 && self.from.bits < 64 => 0,
            true if self.to.is_signed() => least,
            true => 1 << (self.to.bits - 1),
            false => (rounded as i128).clamp(least, most),
        };
        result as u64
    }

    fn integer_to_float(&self, a: u64) -> u64 {
        let value = self.signed(a);
        if self.to.bits == 64 {
            let near = value as f64;
            return direct64(near, (value - near as i128) as f64, self.how).to_bits();
        }
        // Exact as the sum of two: each has at most 32 bits.
        let high = value & !0xffff_ffff;
        self.narrowed(high as f64, (value - high) as f64)
    }

    fn floats(&self, a: u64) -> u64 {
        let mut value = self.wide(a);
        if self.integral {
            value = integral(value, self.how);
        }
        if self.saturate {
            value = if value > 0.0 { value.min(1.0) } else { 0.0 };
        }
        if self.relu && value < 0.0 {
            value = 0.0;
        }
        match (self.to.bits, self.from.bits) {
            (64, _) => value.to_bits(),
            // It stays the NaN that it is.
            (32, 64) if value.is_nan() && !self.saturate => u64::from((value as f32).to_bits()),
            _ => self.narrowed(value, 0.0),
        }
    }

    /// An exact sum in 16 or 32 bits.
    fn narrowed(&self, high: f64, low: f64) -> u64 {
        match (self.to.kind, self.to.bits) {
            (_, 32) => to_single(high, low, if self.integral { Rounding::Nearest } else { self.how }).put(),
            (Kind::Brain, _) => {
                toward(high, low, self.how, bf16::from_f64, bf16::to_f64, |x| bf16::from_bits(x).to_f64()).put()
            }
            _ => toward(high, low, self.how, f16::from_f64, f16::to_f64, |x| f16::from_bits(x).to_f64()).put(),
        }
    }
}

fn narrow_kind(kind: Kind) -> Kind {
    if kind == Kind::Brains { Kind::Brain } else { Kind::Float }
}

/// Rounds to an integer.
fn integral(value: f64, how: Rounding) -> f64 {
    match how {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// A narrow float of an exact sum: to the nearest, or towards zero (the only directions of `cvt` to 16 bits that are in use; the
/// others are made from it).
fn toward<T: Lane>(
    high: f64,
    low: f64,
    how: Rounding,
    near: fn(f64) -> T,
    wide: fn(T) -> f64,
    bits: fn(u16) -> f64,
) -> T {
    let odd = super::rounding::sum_to_odd(high, low);
    let value = near(odd);
    let exact = wide(value);
    if how == Rounding::Nearest || exact.is_nan() || exact == odd || odd.is_infinite() {
        return value;
    }
    let pattern = value.put() as u16;
    let away = exact.abs() > odd.abs();
    let want_away = match how {
        Rounding::Up => odd > 0.0,
        Rounding::Down => odd < 0.0,
        _ => false,
    };
    match (away, want_away) {
        (true, false) => near(bits(pattern - 1)),
        (false, true) => near(bits(pattern + 1)),
        _ => value,
    }
}
