//! Casts between all types, rounded once.

use super::rules::Parts;
use super::{Lane, Low, LowOp, Value};
use crate::core::element::DType;
use crate::libraries::expressions::ir::Overflow;
use crate::libraries::expressions::low::lower::computed;

impl Low {
    /// From the loose form of one type to that of another.
    pub(super) fn cast(&mut self, from: DType, to: DType, overflow: Overflow, [re, im]: Parts) -> Parts {
        match to {
            DType::Bool => {
                let zero = self.number(self.lane(re), 0);
                let truth = self.compare(LowOp::Ne, re, zero);
                if !from.is_complex() {
                    return [truth; 2];
                }
                let other = self.compare(LowOp::Ne, im, zero);
                [self.same(LowOp::Or, [truth, other]); 2]
            }
            DType::C32 | DType::C64 => {
                let lane = computed(to);
                let im = if from.is_complex() { self.convert(im, lane) } else { self.number(lane, 0) };
                [self.convert(re, lane), im]
            }
            DType::F32 | DType::F64 => [self.convert(re, computed(to)); 2],
            _ if to.is_narrow() => {
                let near = self.near_half(re);
                let bits = self.store(to, [near; 2]);
                self.load(to, bits)
            }
            _ => {
                let (lane, source) = (computed(to), self.lane(re));
                let result = match overflow {
                    _ if from == DType::Bool => self.convert(re, lane),
                    Overflow::Saturate if source.is_float() => self.saturate_float(re, lane),
                    Overflow::Saturate => self.saturate(re, lane),
                    Overflow::Wrap if source.is_float() => self.wrap_float(re, lane),
                    Overflow::Wrap => self.convert(re, lane),
                };
                [result; 2]
            }
        }
    }

    /// The nearest value that the integer type `to` has.
    fn saturate(&mut self, x: Value, to: Lane) -> Value {
        let from = self.lane(x);
        let ((lowest, highest), (floor, ceiling)) = (range(from), range(to));
        let mut x = x;
        if floor > lowest {
            let bound = self.constant(from, floor as u64);
            x = self.same(LowOp::Max, [x, bound]);
        }
        if ceiling < highest {
            let bound = self.constant(from, ceiling as u64);
            x = self.same(LowOp::Min, [x, bound]);
        }
        self.convert(x, to)
    }

    fn saturate_float(&mut self, x: Value, to: Lane) -> Value {
        let wide = if to.size() < 4 { Lane::I32 } else { to };
        let wide = self.convert(x, wide);
        self.saturate(wide, to)
    }

    /// The value cut to an integer, modulo 2^64 and then 2^width: the significand shifted by the exponent. Of the two
    /// shifts the one with a negative distance gives 0, and both do for infinities, NaN and magnitudes below 1.
    fn wrap_float(&mut self, x: Value, to: Lane) -> Value {
        let x = self.convert(x, Lane::F64);
        let bits = self.reinterpret(x, Lane::U64);
        let [width, mask, bias] = [52, 0x7ff, 1075].map(|n| self.number(Lane::U64, n));
        let exponent = self.same(LowOp::Shr, [bits, width]);
        let exponent = self.same(LowOp::And, [exponent, mask]);
        let fraction = self.constant(Lane::U64, (1 << 52) - 1);
        let fraction = self.same(LowOp::And, [bits, fraction]);
        let hidden = self.constant(Lane::U64, 1 << 52);
        let significand = self.same(LowOp::Or, [fraction, hidden]);
        let up = self.same(LowOp::Sub, [exponent, bias]);
        let down = self.same(LowOp::Sub, [bias, exponent]);
        let left = self.same(LowOp::Shl, [significand, up]);
        let right = self.same(LowOp::Shr, [significand, down]);
        let size = self.same(LowOp::Or, [left, right]);
        let signed = self.reinterpret(bits, Lane::I64);
        let distance = self.number(Lane::I64, 63);
        let sign = self.same(LowOp::Shr, [signed, distance]);
        let sign = self.reinterpret(sign, Lane::U64);
        let flipped = self.same(LowOp::Xor, [size, sign]);
        let value = self.same(LowOp::Sub, [flipped, sign]);
        self.convert(value, to)
    }

    /// An `f32` that rounds to a half as the value does: equal, or rounded to odd.
    fn near_half(&mut self, x: Value) -> Value {
        match self.lane(x) {
            Lane::F32 => x,
            Lane::F64 => self.odd(x),
            lane if lane.size() < 4 => self.convert(x, Lane::F32),
            lane if lane.size() == 4 => {
                let exact = self.convert(x, Lane::F64);
                self.odd(exact)
            }
            lane => {
                // Of a large value the last bits become one that tells whether they are all zero.
                let [mask, bit, zero, bound] = [0x7ff, 0x800, 0, 1 << 53].map(|bits: u64| self.constant(lane, bits));
                let cut = self.same(LowOp::Not, [mask]);
                let cut = self.same(LowOp::And, [x, cut]);
                let rest = self.same(LowOp::And, [x, mask]);
                let inexact = self.compare(LowOp::Ne, rest, zero);
                let bit = self.same(LowOp::Select, [inexact, bit, zero]);
                let jammed = self.same(LowOp::Or, [cut, bit]);
                let from_bound = self.same(LowOp::Add, [x, bound]);
                let distance = self.reinterpret(from_bound, Lane::U64);
                let limit = self.constant(Lane::U64, 1 << 54);
                let is_small = self.compare(LowOp::Lt, distance, limit);
                let exact = self.same(LowOp::Select, [is_small, x, jammed]);
                let exact = self.convert(exact, Lane::F64);
                self.odd(exact)
            }
        }
    }

    /// `f64` to `f32`: toward zero, and the last bit is set if that was inexact, so that a second rounding sees no false
    /// tie.
    fn odd(&mut self, x: Value) -> Value {
        if self.keeps {
            return self.emit(LowOp::Odd, Lane::F32, [x]);
        }
        let near = self.convert(x, Lane::F32);
        let back = self.convert(near, Lane::F64);
        let [size, near_size] = [x, back].map(|v| self.same(LowOp::Abs, [v]));
        let above = self.compare(LowOp::Gt, near_size, size);
        let below = self.compare(LowOp::Lt, near_size, size);
        let inexact = self.same(LowOp::Or, [above, below]);
        let [above, inexact] = [above, inexact].map(|v| self.convert(v, Lane::U32));
        let bits = self.reinterpret(near, Lane::U32);
        let cut = self.same(LowOp::Sub, [bits, above]);
        let odd = self.same(LowOp::Or, [cut, inexact]);
        self.reinterpret(odd, Lane::F32)
    }
}

/// The least and the largest value of an integer type.
fn range(lane: Lane) -> (i128, i128) {
    let bits = 8 * lane.size() as u32;
    if lane.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}
