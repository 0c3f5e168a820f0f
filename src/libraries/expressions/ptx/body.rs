//! The operations as instructions.

use super::{far, remainder};
use crate::libraries::expressions::low::{Instr, Lane, LowOp};
use crate::libraries::kernel::{Class, Reg, Writer, ptx};

/// The type of a load or a store.
pub(in crate::libraries) fn memory(lane: Lane) -> &'static str {
    match lane {
        Lane::I8 => "s8",
        Lane::I16 => "s16",
        Lane::U8 => "u8",
        Lane::U16 => "u16",
        _ => arithmetic(lane),
    }
}

/// The type of arithmetic in a lane. Narrow integers are computed in 32 bits.
pub(in crate::libraries) fn arithmetic(lane: Lane) -> &'static str {
    match lane {
        Lane::I8 | Lane::I16 | Lane::I32 => "s32",
        Lane::U8 | Lane::U16 | Lane::U32 => "u32",
        Lane::I64 => "s64",
        Lane::U64 => "u64",
        Lane::F32 => "f32",
        Lane::F64 => "f64",
    }
}

pub(in crate::libraries) fn bits(lane: Lane) -> &'static str {
    if lane.size() == 8 { "b64" } else { "b32" }
}

/// Bits of the sign, of all but the sign, and of a computed NaN.
fn masks(lane: Lane) -> [&'static str; 2] {
    if lane == Lane::F64 { ["0x8000000000000000", "0x7fffffffffffffff"] } else { ["0x80000000", "0x7fffffff"] }
}

impl Class {
    /// The registers of a lane.
    pub(in crate::libraries) fn for_lane(lane: Lane) -> Self {
        match lane {
            Lane::F32 => Class::Single,
            Lane::F64 => Class::Double,
            Lane::I64 | Lane::U64 => Class::Long,
            _ => Class::Word,
        }
    }
}

impl Writer {
    /// A constant.
    pub(in crate::libraries) fn constant(&mut self, lane: Lane, bits: u64) -> Reg {
        let register = self.reg(Class::for_lane(lane));
        match lane {
            Lane::I8 => ptx!(self, "mov.b32 {register}, {}", bits as i8),
            Lane::I16 => ptx!(self, "mov.b32 {register}, {}", bits as i16),
            _ if lane.size() == 8 => ptx!(self, "mov.b64 {register}, {bits:#x}"),
            _ => ptx!(self, "mov.b32 {register}, {bits:#x}"),
        }
        register
    }

    /// Appends an operation on registers; inputs, uniforms and positions are not among them.
    pub(in crate::libraries) fn operation(&mut self, instr: &Instr, args: [Reg; 3]) -> Reg {
        let [a, b, c] = args;
        let (lane, from) = (instr.lane, instr.from);
        let (t, float) = (arithmetic(from), from.is_float());
        let rn = if float { ".rn" } else { "" };
        match instr.op {
            LowOp::Add => self.simple(&format!("add{rn}.{t}"), lane, &[a, b]),
            LowOp::Sub => self.simple(&format!("sub{rn}.{t}"), lane, &[a, b]),
            LowOp::Mul if float => self.simple(&format!("mul.rn.{t}"), lane, &[a, b]),
            LowOp::Mul => self.simple(&format!("mul.lo.{t}"), lane, &[a, b]),
            LowOp::Div if float => self.simple(&format!("div.rn.{t}"), lane, &[a, b]),
            LowOp::Div | LowOp::Rem if !float => self.quotient(instr.op == LowOp::Div, lane, a, b),
            LowOp::Div | LowOp::Rem => remainder::call(self, lane, a, b),
            LowOp::Min | LowOp::Max if !float => {
                self.simple(&format!("{}.{t}", if instr.op == LowOp::Min { "min" } else { "max" }), lane, &[a, b])
            }
            LowOp::Min | LowOp::Max | LowOp::Minimum | LowOp::Maximum => self.extreme(instr.op, lane, a, b),
            LowOp::And => self.simple(&format!("and.{}", bits(lane)), lane, &[a, b]),
            LowOp::Or => self.simple(&format!("or.{}", bits(lane)), lane, &[a, b]),
            LowOp::Xor => self.simple(&format!("xor.{}", bits(lane)), lane, &[a, b]),
            LowOp::Not => self.simple(&format!("not.{}", bits(lane)), lane, &[a]),
            LowOp::Shl | LowOp::Shr => self.shift(instr.op, lane, a, b),
            LowOp::Neg if float => self.simple(&format!("neg.{t}"), lane, &[a]),
            LowOp::Neg => self.simple(&format!("neg.s{}", 8 * from.size().max(4)), lane, &[a]),
            LowOp::Abs if float => self.simple(&format!("abs.{t}"), lane, &[a]),
            LowOp::Abs => {
                let (negative, turned) = (self.reg(Class::Predicate), self.simple(&format!("neg.{t}"), lane, &[a]));
                ptx!(self, "setp.lt.{t} {negative}, {a}, 0");
                self.selected(lane, turned, a, negative)
            }
            LowOp::Sqrt => self.simple(&format!("sqrt.rn.{t}"), lane, &[a]),
            LowOp::Floor => self.simple(&format!("cvt.rmi.{t}.{t}"), lane, &[a]),
            LowOp::Ceil => self.simple(&format!("cvt.rpi.{t}.{t}"), lane, &[a]),
            LowOp::Trunc => self.simple(&format!("cvt.rzi.{t}.{t}"), lane, &[a]),
            LowOp::RoundEven => self.simple(&format!("cvt.rni.{t}.{t}"), lane, &[a]),
            LowOp::Copysign => self.copysign(lane, a, b),
            LowOp::Fma => self.simple(&format!("fma.rn.{t}"), lane, &[a, b, c]),
            LowOp::Eq | LowOp::Ne | LowOp::Lt | LowOp::Le | LowOp::Gt | LowOp::Ge => {
                self.comparison(instr.op, from, a, b)
            }
            LowOp::Select => {
                let condition = self.reg(Class::Predicate);
                ptx!(self, "setp.ne.u32 {condition}, {a}, 0");
                self.selected(lane, b, c, condition)
            }
            LowOp::Convert => self.convert(from, lane, a),
            LowOp::Reinterpret => self.moved(lane, a),
            LowOp::WidenF16 => {
                let (half, wide) = (self.reg(Class::Half), self.reg(Class::Single));
                let [up, bits] = self.regs(Class::Word);
                // The compiler (CUDA 13.0, for all GPUs from sm_80 on) takes the 1 of `selp 1, 0` for the number 1 when a half of
                // these bits is widened, not for the smallest half. Not so behind shifts.
                ptx!(self, "shl.b32 {up}, {a}, 16");
                ptx!(self, "shr.u32 {bits}, {up}, 16");
                ptx!(self, "cvt.u16.u32 {half}, {bits}");
                ptx!(self, "cvt.f32.f16 {wide}, {half}");
                wide
            }
            LowOp::WidenBf16 => {
                let (word, wide) = (self.reg(Class::Word), self.reg(Class::Single));
                ptx!(self, "shl.b32 {word}, {a}, 16");
                ptx!(self, "mov.b32 {wide}, {word}");
                wide
            }
            LowOp::NarrowF16 => {
                let (half, word) = (self.reg(Class::Half), self.reg(Class::Word));
                ptx!(self, "cvt.rn.f16.f32 {half}, {a}");
                ptx!(self, "cvt.u32.u16 {word}, {half}");
                self.unless_nan(Lane::U16, "f32", a, word, "0x7fff")
            }
            LowOp::NarrowBf16 if self.takes_ampere() => {
                let (half, word) = (self.reg(Class::Half), self.reg(Class::Word));
                ptx!(self, "cvt.rn.bf16.f32 {half}, {a}");
                ptx!(self, "cvt.u32.u16 {word}, {half}");
                self.unless_nan(Lane::U16, "f32", a, word, "0x7fff")
            }
            LowOp::NarrowBf16 => {
                let [word, odd, rounded] = self.regs(Class::Word);
                ptx!(self, "mov.b32 {word}, {a}");
                ptx!(self, "shr.u32 {odd}, {word}, 16");
                ptx!(self, "and.b32 {odd}, {odd}, 1");
                ptx!(self, "add.u32 {odd}, {odd}, 0x7fff");
                ptx!(self, "add.u32 {rounded}, {word}, {odd}");
                ptx!(self, "shr.u32 {rounded}, {rounded}, 16");
                self.unless_nan(Lane::U16, "f32", a, rounded, "0x7fff")
            }
            LowOp::Canon => self.canonical(lane, a),
            // Inputs and the like come from memory, calls were expanded; the others are not in a form for PTX.
            LowOp::Input(..) | LowOp::Uniform(_) | LowOp::Position(_) | LowOp::Call(_) | LowOp::Odd => a,
            LowOp::MulAdd | LowOp::MulSub | LowOp::SubMul => a,
            LowOp::Far(function) => far::call(self, function, lane, [a, b, c]),
        }
    }

    /// One instruction; the result of narrow integers is brought into their range.
    fn simple(&mut self, opcode: &str, lane: Lane, args: &[Reg]) -> Reg {
        let result = self.reg(Class::for_lane(lane));
        let args: Vec<String> = args.iter().map(Reg::to_string).collect();
        ptx!(self, "{opcode} {result}, {}", args.join(", "));
        self.narrowed(lane, result)
    }

    /// Extends the low bits of a word by the lane's sign or by zeros.
    fn narrowed(&mut self, lane: Lane, word: Reg) -> Reg {
        let opcode = match lane {
            Lane::I8 => "cvt.s32.s8",
            Lane::I16 => "cvt.s32.s16",
            Lane::U8 => "cvt.u32.u8",
            Lane::U16 => "cvt.u32.u16",
            _ => return word,
        };
        let narrow = self.reg(Class::Word);
        ptx!(self, "{opcode} {narrow}, {word}");
        narrow
    }

    /// The bits in another register.
    fn moved(&mut self, lane: Lane, a: Reg) -> Reg {
        let result = self.reg(Class::for_lane(lane));
        ptx!(self, "mov.{} {result}, {a}", bits(lane));
        self.narrowed(lane, result)
    }

    pub(super) fn selected(&mut self, lane: Lane, a: Reg, b: Reg, condition: Reg) -> Reg {
        let result = self.reg(Class::for_lane(lane));
        ptx!(self, "selp.{} {result}, {a}, {b}, {condition}", bits(lane));
        self.narrowed(lane, result)
    }

    /// `value`, or the bits `instead` where `x` of the type `t` is NaN.
    fn unless_nan(&mut self, lane: Lane, t: &str, x: Reg, value: Reg, instead: &str) -> Reg {
        let (nan, result) = (self.reg(Class::Predicate), self.reg(Class::for_lane(lane)));
        ptx!(self, "setp.nan.{t} {nan}, {x}, {x}");
        ptx!(self, "selp.{} {result}, {instead}, {value}, {nan}", bits(lane));
        result
    }

    /// A computed NaN gets the one pattern.
    pub(in crate::libraries) fn canonical(&mut self, lane: Lane, x: Reg) -> Reg {
        if !lane.is_float() {
            return x;
        }
        let [_, nan] = masks(lane);
        self.unless_nan(lane, arithmetic(lane), x, x, nan)
    }

    /// By 0 and by -1 the divisor is 1, and the result is corrected; so no instruction has an undefined result.
    fn quotient(&mut self, is_division: bool, lane: Lane, a: Reg, b: Reg) -> Reg {
        let (t, bits, class) = (arithmetic(lane), bits(lane), Class::for_lane(lane));
        let [is_zero, is_minus] = self.regs(Class::Predicate);
        let mut divisor = self.reg(class);
        ptx!(self, "setp.eq.{t} {is_zero}, {b}, 0");
        ptx!(self, "selp.{bits} {divisor}, 1, {b}, {is_zero}");
        if lane.is_signed() {
            let other = self.reg(class);
            ptx!(self, "setp.eq.{t} {is_minus}, {b}, -1");
            ptx!(self, "selp.{bits} {other}, 1, {divisor}, {is_minus}");
            divisor = other;
        }
        if !is_division {
            return self.simple(&format!("rem.{t}"), lane, &[a, divisor]);
        }
        let mut quotient = self.reg(class);
        ptx!(self, "div.{t} {quotient}, {a}, {divisor}");
        if lane.is_signed() {
            let turned = self.reg(class);
            ptx!(self, "neg.{t} {turned}, {a}");
            quotient = self.selected(lane, turned, quotient, is_minus);
        }
        let result = self.reg(class);
        ptx!(self, "selp.{bits} {result}, 0, {quotient}, {is_zero}");
        result
    }

    fn extreme(&mut self, op: LowOp, lane: Lane, a: Reg, b: Reg) -> Reg {
        let (t, bits, class) = (arithmetic(lane), bits(lane), Class::for_lane(lane));
        let is_min = matches!(op, LowOp::Min | LowOp::Minimum);
        let name = if is_min { "min" } else { "max" };
        if lane == Lane::F32 && self.takes_ampere() {
            // Of these -0 is said to be below +0.
            let nan = if matches!(op, LowOp::Minimum | LowOp::Maximum) { ".NaN" } else { "" };
            return self.simple(&format!("{name}{nan}.f32"), lane, &[a, b]);
        }
        let unequal = self.simple(&format!("{name}.{t}"), lane, &[a, b]);
        // Of equal operands only zeros differ, in the sign.
        let word = if lane == Lane::F64 { Class::Long } else { Class::Word };
        let [x, y, joined] = self.regs(word);
        let (equal, zero) = (self.reg(Class::Predicate), self.reg(class));
        ptx!(self, "setp.eq.{t} {equal}, {a}, {b}");
        ptx!(self, "mov.{bits} {x}, {a}");
        ptx!(self, "mov.{bits} {y}, {b}");
        ptx!(self, "{}.{bits} {joined}, {x}, {y}", if is_min { "or" } else { "and" });
        ptx!(self, "mov.{bits} {zero}, {joined}");
        let result = self.selected(lane, zero, unequal, equal);
        if matches!(op, LowOp::Min | LowOp::Max) {
            return result;
        }
        let (nan, carried) = (self.reg(Class::Predicate), self.reg(class));
        let [_, pattern] = masks(lane);
        ptx!(self, "setp.nan.{t} {nan}, {a}, {b}");
        ptx!(self, "selp.{bits} {carried}, {pattern}, {result}, {nan}");
        carried
    }

    fn shift(&mut self, op: LowOp, lane: Lane, a: Reg, b: Reg) -> Reg {
        let opcode = match op {
            LowOp::Shl => format!("shl.{}", bits(lane)),
            _ => format!("shr.{}", arithmetic(lane)),
        };
        let distance = if lane.size() == 8 {
            let (clamped, word) = (self.reg(Class::Long), self.reg(Class::Word));
            ptx!(self, "min.u64 {clamped}, {b}, 64");
            ptx!(self, "cvt.u32.u64 {word}, {clamped}");
            word
        } else {
            b
        };
        self.simple(&opcode, lane, &[a, distance])
    }

    fn copysign(&mut self, lane: Lane, a: Reg, b: Reg) -> Reg {
        let (bits, word) = (bits(lane), if lane == Lane::F64 { Class::Long } else { Class::Word });
        let [sign_mask, size_mask] = masks(lane);
        let [size, sign, joined] = self.regs(word);
        let result = self.reg(Class::for_lane(lane));
        ptx!(self, "mov.{bits} {size}, {a}");
        ptx!(self, "and.{bits} {size}, {size}, {size_mask}");
        ptx!(self, "mov.{bits} {sign}, {b}");
        ptx!(self, "and.{bits} {sign}, {sign}, {sign_mask}");
        ptx!(self, "or.{bits} {joined}, {size}, {sign}");
        ptx!(self, "mov.{bits} {result}, {joined}");
        result
    }

    fn comparison(&mut self, op: LowOp, from: Lane, a: Reg, b: Reg) -> Reg {
        let name = match op {
            LowOp::Eq => "eq",
            // Unequal or unordered.
            LowOp::Ne if from.is_float() => "neu",
            LowOp::Ne => "ne",
            LowOp::Lt => "lt",
            LowOp::Le => "le",
            LowOp::Gt => "gt",
            _ => "ge",
        };
        let (truth, result) = (self.reg(Class::Predicate), self.reg(Class::Word));
        ptx!(self, "setp.{name}.{} {truth}, {a}, {b}", arithmetic(from));
        ptx!(self, "selp.b32 {result}, 1, 0, {truth}");
        result
    }

    fn convert(&mut self, from: Lane, to: Lane, a: Reg) -> Reg {
        let (source, target) = (arithmetic(from), arithmetic(to));
        match (from.is_float(), to.is_float()) {
            (true, true) if to.size() > from.size() => self.simple("cvt.f64.f32", to, &[a]),
            (_, true) => self.simple(&format!("cvt.rn.{target}.{source}"), to, &[a]),
            (true, false) => {
                let value = self.simple(&format!("cvt.rzi.{target}.{source}"), to, &[a]);
                self.unless_nan(to, source, a, value, "0")
            }
            (false, false) => match (from.size() == 8, to.size() == 8) {
                (false, true) if from.is_signed() => self.simple("cvt.s64.s32", to, &[a]),
                (false, true) => self.simple("cvt.u64.u32", to, &[a]),
                (true, false) => self.simple("cvt.u32.u64", to, &[a]),
                _ => self.moved(to, a),
            },
        }
    }
}
