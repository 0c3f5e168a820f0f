//! The operations of expressions, spelled out in machine types.

use super::eight::{E4M3, E5M2};
use super::{Lane, Low, LowOp, Value};
use crate::core::element::DType;
use crate::libraries::expressions::ir::{Binary, Compare, Unary};

/// The real and the imaginary part; what is not complex has its value twice.
pub(super) type Parts = [Value; 2];

impl Low {
    /// From the exact form to the loose one.
    pub(super) fn load(&mut self, dtype: DType, [re, im]: Parts) -> Parts {
        match dtype {
            DType::Bool => {
                let zero = self.number(Lane::U8, 0);
                [self.compare(LowOp::Ne, re, zero); 2]
            }
            DType::F16 => [self.emit(LowOp::WidenF16, Lane::F32, [re]); 2],
            DType::Bf16 => [self.emit(LowOp::WidenBf16, Lane::F32, [re]); 2],
            DType::F8E4M3 => [self.widen(&E4M3, re); 2],
            DType::F8E5M2 => [self.widen(&E5M2, re); 2],
            _ => [re, im],
        }
    }

    /// From the loose form of what was computed to the exact one.
    pub(super) fn store(&mut self, dtype: DType, [re, im]: Parts) -> Parts {
        match dtype {
            DType::F16 => [self.narrow_half([LowOp::NarrowF16, LowOp::WidenF16], re); 2],
            DType::Bf16 => [self.narrow_half([LowOp::NarrowBf16, LowOp::WidenBf16], re); 2],
            DType::F8E4M3 => [self.narrow(&E4M3, re); 2],
            DType::F8E5M2 => [self.narrow(&E5M2, re); 2],
            DType::F32 | DType::F64 => [self.same(LowOp::Canon, [re]); 2],
            DType::C32 | DType::C64 => [self.same(LowOp::Canon, [re]), self.same(LowOp::Canon, [im])],
            _ => [re, im],
        }
    }

    /// A half of a value; on the host the one that the value was widened from, if that was rounded. The compiler of PTX finds that
    /// itself.
    fn narrow_half(&mut self, [narrow, widen]: [LowOp; 2], value: Value) -> Value {
        let made = |value: Value, op: LowOp| self.instrs().get(value as usize).filter(|instr| instr.op == op);
        if let Some([half, ..]) = made(value, widen).map(|instr| instr.args).filter(|_| self.keeps)
            && made(half, narrow).is_some()
        {
            return half;
        }
        self.emit(narrow, Lane::U16, [value])
    }

    pub(super) fn select_parts(&mut self, condition: Value, [a, a_im]: Parts, [b, b_im]: Parts) -> Parts {
        let re = self.same(LowOp::Select, [condition, a, b]);
        let im = if a == a_im && b == b_im { re } else { self.same(LowOp::Select, [condition, a_im, b_im]) };
        [re, im]
    }

    /// `sign` may be 8 or 16 bits that are a narrow number.
    pub(super) fn copysign(&mut self, x: Value, sign: Value) -> Value {
        let sign = if self.lane(sign).size() < 4 {
            let distance = 32 - 8 * self.lane(sign).size() as i32;
            let wide = self.convert(sign, Lane::U32);
            let distance = self.number(Lane::U32, distance);
            let bits = self.same(LowOp::Shl, [wide, distance]);
            self.reinterpret(bits, Lane::F32)
        } else {
            sign
        };
        self.same(LowOp::Copysign, [x, sign])
    }

    pub(super) fn unary(&mut self, op: Unary, dtype: DType, [x, im]: Parts) -> Parts {
        let lane = self.lane(x);
        let complex = dtype.is_complex();
        let simple = match op {
            Unary::Neg if complex => return [self.same(LowOp::Neg, [x]), self.same(LowOp::Neg, [im])],
            Unary::Conj => return [x, self.same(LowOp::Neg, [im])],
            Unary::Re => return [x; 2],
            Unary::Im => return [im; 2],
            Unary::Neg => LowOp::Neg,
            Unary::Abs if lane.is_float() || lane.is_signed() => LowOp::Abs,
            Unary::Abs => return [x; 2],
            Unary::Not if dtype == DType::Bool => {
                let one = self.number(Lane::U8, 1);
                return [self.same(LowOp::Xor, [x, one]); 2];
            }
            Unary::Not => LowOp::Not,
            Unary::Sqrt => LowOp::Sqrt,
            Unary::Floor => LowOp::Floor,
            Unary::Ceil => LowOp::Ceil,
            Unary::Trunc => LowOp::Trunc,
            Unary::RoundEven => LowOp::RoundEven,
            Unary::Sign => return [self.sign(x); 2],
            Unary::Round => return [self.round(x); 2],
            Unary::IsNan => {
                let re = self.compare(LowOp::Ne, x, x);
                if !complex {
                    return [re; 2];
                }
                let im = self.compare(LowOp::Ne, im, im);
                return [self.same(LowOp::Or, [re, im]); 2];
            }
            Unary::IsFinite => {
                let re = self.is_finite(x);
                if !complex {
                    return [re; 2];
                }
                let im = self.is_finite(im);
                return [self.same(LowOp::And, [re, im]); 2];
            }
        };
        [self.same(simple, [x]); 2]
    }

    fn is_finite(&mut self, x: Value) -> Value {
        let lane = self.lane(x);
        let bits = if lane == Lane::F64 { f64::INFINITY.to_bits() } else { f32::INFINITY.to_bits().into() };
        let infinity = self.constant(lane, bits);
        let size = self.same(LowOp::Abs, [x]);
        self.compare(LowOp::Lt, size, infinity)
    }

    fn sign(&mut self, x: Value) -> Value {
        let lane = self.lane(x);
        let [zero, one, minus] = [0, 1, -1].map(|n| self.number(lane, n));
        let above = self.compare(LowOp::Gt, x, zero);
        let rest = if lane.is_float() || lane.is_signed() {
            let below = self.compare(LowOp::Lt, x, zero);
            self.same(LowOp::Select, [below, minus, x])
        } else {
            x
        };
        self.same(LowOp::Select, [above, one, rest])
    }

    /// Ties away from zero: what the cut took off is exact.
    fn round(&mut self, x: Value) -> Value {
        let lane = self.lane(x);
        let cut = self.same(LowOp::Trunc, [x]);
        let rest = self.same(LowOp::Sub, [x, cut]);
        let rest = self.same(LowOp::Abs, [rest]);
        let half = self.constant(lane, if lane == Lane::F64 { 0.5f64.to_bits() } else { 0.5f32.to_bits().into() });
        let away = self.compare(LowOp::Ge, rest, half);
        let one = self.number(lane, 1);
        let one = self.same(LowOp::Copysign, [one, x]);
        let next = self.same(LowOp::Add, [cut, one]);
        self.same(LowOp::Select, [away, next, cut])
    }

    pub(super) fn binary(&mut self, op: Binary, dtype: DType, x: Parts, y: Parts) -> Parts {
        if dtype.is_complex() {
            return self.complex_binary(op, x, y);
        }
        let ([x, _], [y, _]) = (x, y);
        let float = self.lane(x).is_float();
        let simple = match op {
            Binary::Add => LowOp::Add,
            Binary::Sub => LowOp::Sub,
            Binary::Mul => LowOp::Mul,
            Binary::Div => LowOp::Div,
            Binary::Rem => LowOp::Rem,
            Binary::Modulo if float => return [self.modulo_float(x, y); 2],
            Binary::Modulo => return [self.modulo(x, y); 2],
            Binary::Minimum if float => LowOp::Minimum,
            Binary::Maximum if float => LowOp::Maximum,
            Binary::Min | Binary::Minimum => LowOp::Min,
            Binary::Max | Binary::Maximum => LowOp::Max,
            Binary::And => LowOp::And,
            Binary::Or => LowOp::Or,
            Binary::Xor => LowOp::Xor,
            Binary::Shl => LowOp::Shl,
            Binary::Shr => LowOp::Shr,
            Binary::Copysign => LowOp::Copysign,
            Binary::Complex => return [x, y],
        };
        [self.same(simple, [x, y]); 2]
    }

    fn complex_binary(&mut self, op: Binary, [a, b]: Parts, [c, d]: Parts) -> Parts {
        match op {
            Binary::Add => [self.same(LowOp::Add, [a, c]), self.same(LowOp::Add, [b, d])],
            Binary::Sub => [self.same(LowOp::Sub, [a, c]), self.same(LowOp::Sub, [b, d])],
            Binary::Mul => {
                let [ac, bd, ad, bc] = [(a, c), (b, d), (a, d), (b, c)].map(|(x, y)| self.same(LowOp::Mul, [x, y]));
                [self.same(LowOp::Sub, [ac, bd]), self.same(LowOp::Add, [ad, bc])]
            }
            // No other operation has complex operands.
            _ => self.complex_division([a, b], [c, d]),
        }
    }

    /// Smith's method: by the larger part of the divisor, so that squares neither overflow nor vanish.
    fn complex_division(&mut self, [a, b]: Parts, [c, d]: Parts) -> Parts {
        let [size_c, size_d] = [c, d].map(|part| self.same(LowOp::Abs, [part]));
        let by_c = self.compare(LowOp::Ge, size_c, size_d);
        let [large, small] = [(c, d), (d, c)].map(|(x, y)| self.same(LowOp::Select, [by_c, x, y]));
        let [p, q] = [(a, b), (b, a)].map(|(x, y)| self.same(LowOp::Select, [by_c, x, y]));
        let ratio = self.same(LowOp::Div, [small, large]);
        let scaled = self.same(LowOp::Mul, [small, ratio]);
        let divisor = self.same(LowOp::Add, [large, scaled]);
        let [q_ratio, p_ratio] = [q, p].map(|x| self.same(LowOp::Mul, [x, ratio]));
        let re = self.same(LowOp::Add, [p, q_ratio]);
        let [from, less] = [(q, p_ratio), (p_ratio, q)].map(|(x, y)| self.same(LowOp::Select, [by_c, x, y]));
        let im = self.same(LowOp::Sub, [from, less]);
        [self.same(LowOp::Div, [re, divisor]), self.same(LowOp::Div, [im, divisor])]
    }

    fn modulo(&mut self, x: Value, y: Value) -> Value {
        let rem = self.same(LowOp::Rem, [x, y]);
        let lane = self.lane(x);
        if !lane.is_signed() {
            return rem;
        }
        let zero = self.number(lane, 0);
        let signs = self.same(LowOp::Xor, [rem, y]);
        let differ = self.compare(LowOp::Lt, signs, zero);
        let some = self.compare(LowOp::Ne, rem, zero);
        let fix = self.same(LowOp::And, [differ, some]);
        let next = self.same(LowOp::Add, [rem, y]);
        self.same(LowOp::Select, [fix, next, rem])
    }

    fn modulo_float(&mut self, x: Value, y: Value) -> Value {
        let rem = self.same(LowOp::Rem, [x, y]);
        let zero = self.number(self.lane(x), 0);
        let [rem_below, y_below] = [rem, y].map(|v| self.compare(LowOp::Lt, v, zero));
        let differ = self.compare(LowOp::Ne, rem_below, y_below);
        let next = self.same(LowOp::Add, [rem, y]);
        let some = self.same(LowOp::Select, [differ, next, rem]);
        let none = self.same(LowOp::Copysign, [zero, y]);
        let is_zero = self.compare(LowOp::Eq, rem, zero);
        self.same(LowOp::Select, [is_zero, none, some])
    }

    pub(super) fn comparison(&mut self, op: Compare, dtype: DType, [x, x_im]: Parts, [y, y_im]: Parts) -> Value {
        let low = match op {
            Compare::Eq => LowOp::Eq,
            Compare::Ne => LowOp::Ne,
            Compare::Lt => LowOp::Lt,
            Compare::Le => LowOp::Le,
            Compare::Gt => LowOp::Gt,
            Compare::Ge => LowOp::Ge,
        };
        let re = self.compare(low, x, y);
        if !dtype.is_complex() {
            return re;
        }
        let im = self.compare(low, x_im, y_im);
        self.same(if op == Compare::Eq { LowOp::And } else { LowOp::Or }, [re, im])
    }
}
