//! Each instruction of a body: its name, its modifiers and its operands.

use super::code::{Guard, Op, Reg, Special, ZERO};
use super::convert::Convert;
use super::decode::Decoder;
use super::lanes::{Apply, Lane, Row, lanes};
use super::scope::Named;
use super::text::{Instruction, Operand};
use super::types::{Kind, Space, Type};
use super::{Faulty, floats, halves, integers};

/// Modifiers of arithmetic that have a meaning here; another one is refused.
const KNOWN: [&str; 27] = [
    "rn", "rz", "rm", "rp", "ftz", "sat", "lo", "hi", "wide", "approx", "full", "NaN", "relu", "shiftamt", "l", "r",
    "wrap", "clamp", "cc", "finite", "infinite", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16",
];

impl Decoder<'_> {
    pub(super) fn instruction(&mut self, one: &Instruction) -> Faulty<()> {
        self.guard = match &one.guard {
            None => None,
            Some((name, negated)) => {
                Some(Guard { predicate: self.register(&Operand::Name(name.clone()))?, negated: *negated })
            }
        };
        let mut parts = one.opcode.split('.');
        let name = parts.next().unwrap_or_default();
        let mods: Vec<&str> = parts.collect();
        let o = &one.operands[..];
        match name {
            "mov" => self.mov(o, &mods),
            "ld" | "ldu" | "st" | "atom" | "red" => self.memory(name, &mods, o),
            "bra" => self.branch(o),
            "brx" => self.branch_by_index(o),
            "call" => self.call(o),
            "ret" | "exit" => match self.frames.last().and_then(|frame| frame.end) {
                Some(end) if name == "ret" => self.jump(end),
                _ => self.emit(Op::Exit, ZERO, [ZERO; 3]),
            },
            "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "activemask" => self.together(name, &mods, o),
            "membar" | "fence" => self.emit(Op::Fence, ZERO, [ZERO; 3]),
            "nanosleep" | "prefetch" | "prefetchu" | "discard" | "pmevent" | "brkpt" | "applypriority" => Ok(()),
            "trap" => self.emit(Op::Trap, ZERO, [ZERO; 3]),
            "cvta" => self.cvta(&mods, o),
            "isspacep" => self.is_space(&mods, o),
            "cvt" => self.cvt(&mods, o),
            "setp" | "set" => self.compare(name, &mods, o),
            "selp" => {
                let (to, from) = self.operands(o, 3)?;
                self.emit(Op::Map(lanes!(|a: u64, b: u64, p: bool| if p { a } else { b })), to, from)
            }
            "bfi" => self.insert(&mods, o),
            "lop3" => self.logic(o),
            "addc" | "subc" | "madc" => self.with_carry(name, &mods, o),
            "add" | "sub" | "mad" if mods.contains(&"cc") => self.with_carry(name, &mods, o),
            _ => self.arithmetic(name, &mods, o),
        }
    }

    /// The register of an operand: a constant has one too.
    pub(super) fn value(&mut self, operand: &Operand, ty: Type) -> Faulty<Reg> {
        Ok(match operand {
            Operand::Integer(value) if ty.is_float() && ty.bits == 32 && ty.kind == Kind::Float => {
                self.constant(*value)
            }
            Operand::Integer(value) => self.constant(*value),
            Operand::Single(bits) if ty.bits == 64 && ty.is_float() => {
                self.constant(f64::from(f32::from_bits(*bits)).to_bits())
            }
            Operand::Single(bits) => self.constant((*bits).into()),
            Operand::Double(bits) if ty.bits == 32 => self.constant((f64::from_bits(*bits) as f32).to_bits().into()),
            Operand::Double(bits) => self.constant(*bits),
            Operand::Name(name) => match self.find(name) {
                Some(Named::Register(register)) => register,
                Some(Named::Variable { at, dynamic, .. }) => self.address(at, dynamic),
                _ => self.special_value(name)?,
            },
            Operand::Offset(name, offset) => match self.find(name) {
                Some(Named::Variable { at, dynamic, .. }) => self.address(at.wrapping_add(*offset as u64), dynamic),
                _ => return Err(self.fault(format!("`{name}` is no variable"))),
            },
            Operand::Not(name) => {
                let from = self.register(&Operand::Name(name.clone()))?;
                let to = self.temporary()?;
                self.emit(Op::Map(lanes!(|a: bool| !a)), to, [from, ZERO, ZERO])?;
                to
            }
            other => return Err(self.fault(format!("{other:?} is no value"))),
        })
    }

    fn special_value(&mut self, name: &str) -> Faulty<Reg> {
        if let Some(special) = Special::parse(name) {
            return Ok(self.special(special));
        }
        if matches!(name, "%clock" | "%clock_hi" | "%clock64" | "%globaltimer" | "%globaltimer_lo") {
            let to = self.temporary()?;
            self.emit(Op::Clock, to, [ZERO; 3])?;
            return Ok(to);
        }
        match name.starts_with('%') && name.contains(['.', '_']) || name.starts_with("%envreg") {
            true => Err(self.unsupported(format!("the special register `{name}`"))),
            false => Err(self.fault(format!("`{name}` is not declared"))),
        }
    }

    /// A register that is declared.
    pub(super) fn register(&mut self, operand: &Operand) -> Faulty<Reg> {
        if let Operand::Name(name) = operand
            && let Some(Named::Register(register)) = self.find(name)
        {
            return Ok(register);
        }
        Err(self.fault(format!("{operand:?} is no register that is declared")))
    }

    /// The result: a register, or one that nobody reads.
    pub(super) fn result(&mut self, operand: Option<&Operand>) -> Faulty<Reg> {
        match operand {
            Some(Operand::Nothing) => self.temporary(),
            Some(operand) => self.register(operand),
            None => Err(self.fault("it has too few operands")),
        }
    }

    fn typed_operands(&mut self, o: &[Operand], count: usize, ty: Type) -> Faulty<(Reg, [Reg; 3])> {
        if o.len() != count + 1 {
            return Err(self.fault(format!("{} operands, not {}", o.len(), count + 1)));
        }
        let to = self.result(o.first())?;
        let mut from = [ZERO; 3];
        for (from, operand) in from.iter_mut().zip(o.iter().skip(1)) {
            *from = self.value(operand, ty)?;
        }
        Ok((to, from))
    }

    /// A result and so many values.
    pub(super) fn operands(&mut self, o: &[Operand], count: usize) -> Faulty<(Reg, [Reg; 3])> {
        self.typed_operands(o, count, Type::B64)
    }

    pub(super) fn map(&mut self, apply: Apply, to: Reg, from: [Reg; 3]) -> Faulty<()> {
        self.emit(Op::Map(apply), to, from)
    }

    fn mov(&mut self, o: &[Operand], mods: &[&str]) -> Faulty<()> {
        let Some(ty) = mods.last().and_then(|m| Type::parse(m)) else {
            return Err(self.unsupported(format!("`mov.{}`", mods.join("."))));
        };
        let identity: Apply = lanes!(|a: u64| a);
        match o {
            [Operand::List(to), from] => {
                let from = self.value(from, ty)?;
                let width = ty.bits / (to.len() as u32).max(1);
                for (n, to) in to.iter().enumerate() {
                    if *to == Operand::Nothing {
                        continue;
                    }
                    let (to, shift) = (self.register(to)?, self.constant(u64::from(width) * n as u64));
                    let mask = self.constant(u64::MAX >> (64 - width.clamp(1, 64)));
                    self.map(lanes!(|a: u64, b: u32, c: u64| a >> (b & 63) & c), to, [from, shift, mask])?;
                }
                Ok(())
            }
            [to, Operand::List(parts)] => {
                let to = self.result(Some(to))?;
                let width = ty.bits / (parts.len() as u32).max(1);
                let whole = self.temporary()?;
                self.map(identity, whole, [ZERO; 3])?;
                for (n, part) in parts.iter().enumerate() {
                    let (part, shift) = (self.value(part, ty)?, self.constant(u64::from(width) * n as u64));
                    let masked = self.temporary()?;
                    let mask = self.constant(u64::MAX >> (64 - width.clamp(1, 64)));
                    self.map(lanes!(|a: u64, b: u32, c: u64| (a & c) << (b & 63)), masked, [part, shift, mask])?;
                    self.map(lanes!(|a: u64, b: u64| a | b), whole, [whole, masked, ZERO])?;
                }
                self.map(identity, to, [whole, ZERO, ZERO])
            }
            _ => {
                let (to, from) = self.typed_operands(o, 1, ty)?;
                self.map(identity, to, from)
            }
        }
    }

    fn cvta(&mut self, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        let (to, from) = self.operands(o, 1)?;
        let space = mods.iter().find_map(|m| Space::parse(m));
        let base = self.constant(match space {
            Some(Space::Shared) => super::memory::SHARED_WINDOW,
            Some(Space::Local) => super::memory::LOCAL_WINDOW,
            Some(Space::Param) => super::memory::PARAMETER_WINDOW,
            Some(_) => 0,
            None => return Err(self.unsupported(format!("`cvta.{}`", mods.join(".")))),
        });
        let apply: Apply = match mods.contains(&"to") {
            true => lanes!(|a: u64, b: u64| a.wrapping_sub(b)),
            false => lanes!(|a: u64, b: u64| a.wrapping_add(b)),
        };
        let [a, ..] = from;
        self.map(apply, to, [a, base, ZERO])
    }

    fn is_space(&mut self, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        let (to, from) = self.operands(o, 1)?;
        match mods.first().and_then(|m| Space::parse(m)) {
            Some(space) => self.emit(Op::IsSpace(space), to, from),
            None => Err(self.unsupported(format!("`isspacep.{}`", mods.join(".")))),
        }
    }

    fn cvt(&mut self, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        let Some(convert) = Convert::parse(mods) else {
            return Err(self.unsupported(format!("`cvt.{}`", mods.join("."))));
        };
        let pair = matches!(convert.to.kind, Kind::Halves | Kind::Brains);
        let (to, from) = self.typed_operands(o, if pair { 2 } else { 1 }, convert.from)?;
        self.emit(Op::Convert(convert), to, from)
    }

    /// `setp.lt.and.f32 p|q, a, b, c` and `set.lt.u32.f32 d, a, b`.
    fn compare(&mut self, name: &str, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        let Some((how, ty)) = mods.first().zip(mods.last().and_then(|m| Type::parse(m))) else {
            return Err(self.unsupported(format!("`{name}.{}`", mods.join("."))));
        };
        let Some(apply) = integers::compare(how, ty).or_else(|| floats::compare(how, ty)) else {
            return Err(self.unsupported(format!("`{name}.{}`", mods.join("."))));
        };
        let [to, a, b, rest @ ..] = o else { return Err(self.fault("it has too few operands")) };
        let mut from = [self.value(a, ty)?, self.value(b, ty)?, ZERO];
        if let Some(flush) = mods.contains(&"ftz").then(|| floats::flush_of(ty)).flatten() {
            from = self.flushed(from, flush)?;
        }
        let outcome = self.temporary()?;
        self.map(apply, outcome, from)?;
        if name == "set" {
            let to = self.result(Some(to))?;
            let float = mods.iter().find_map(|m| Type::parse(m)).is_some_and(Type::is_float);
            let full: Apply = if float {
                lanes!(|a: bool| f32::from(u8::from(a)))
            } else {
                lanes!(|a: bool| 0u32.wrapping_sub(a.into()))
            };
            return self.map(full, to, [outcome, ZERO, ZERO]);
        }
        let (first, second) = match to {
            Operand::Pair(p, q) => {
                let (p, q) = (Operand::Name(p.clone()), Operand::Name(q.clone()));
                (self.result(Some(&p))?, Some(self.result(Some(&q))?))
            }
            _ => (self.result(Some(to))?, None),
        };
        let combine: Apply = match (mods.get(1), rest) {
            (Some(&"and"), [_]) => lanes!(|a: bool, c: bool| a & c),
            (Some(&"or"), [_]) => lanes!(|a: bool, c: bool| a | c),
            (Some(&"xor"), [_]) => lanes!(|a: bool, c: bool| a ^ c),
            (_, []) => lanes!(|a: bool| a),
            _ => return Err(self.unsupported(format!("`setp.{}`", mods.join(".")))),
        };
        let with = rest.first().map(|c| self.value(c, Type::PRED)).transpose()?.unwrap_or(ZERO);
        if let Some(second) = second {
            let opposite = self.temporary()?;
            self.map(lanes!(|a: bool| !a), opposite, [outcome, ZERO, ZERO])?;
            // The second before the first: the third operand may be the first.
            let kept = self.temporary()?;
            self.map(combine, kept, [outcome, with, ZERO])?;
            self.map(combine, second, [opposite, with, ZERO])?;
            return self.map(lanes!(|a: bool| a), first, [kept, ZERO, ZERO]);
        }
        self.map(combine, first, [outcome, with, ZERO])
    }

    fn flushed(&mut self, mut from: [Reg; 3], flush: Apply) -> Faulty<[Reg; 3]> {
        for one in from.iter_mut().filter(|one| **one != ZERO) {
            let to = self.temporary()?;
            self.map(flush, to, [*one, ZERO, ZERO])?;
            *one = to;
        }
        Ok(from)
    }

    /// `bfi d, a, b, position, length`.
    fn insert(&mut self, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        let [to, a, b, at, length] = o else { return Err(self.fault("bfi has five operands")) };
        let to = self.result(Some(to))?;
        let (a, b) = (self.value(a, Type::B64)?, self.value(b, Type::B64)?);
        let (at, length) = (self.value(at, Type::U32)?, self.value(length, Type::U32)?);
        let both = self.temporary()?;
        self.map(lanes!(|a: u8, b: u8| u64::from(a) | u64::from(b) << 32), both, [at, length, ZERO])?;
        let bits = mods.last().and_then(|m| Type::parse(m)).map_or(32, |ty| ty.bits);
        self.map(integers::insert(bits), to, [a, b, both])
    }

    fn logic(&mut self, o: &[Operand]) -> Faulty<()> {
        let [values @ .., Operand::Integer(table)] = o else { return Err(self.unsupported("this form of `lop3`")) };
        let (to, from) = self.operands(values, 3)?;
        self.emit(Op::Logic(*table as u8), to, from)
    }

    /// `add.cc`, `addc`, `mad.lo.cc`, ..: through the carry.
    fn with_carry(&mut self, name: &str, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        let Some(ty) = mods.last().and_then(|m| Type::parse(m)) else { return Err(self.fault("no type")) };
        let multiply = name.starts_with("mad");
        let (to, [mut a, mut b, c]) = self.typed_operands(o, if multiply { 3 } else { 2 }, ty)?;
        if multiply {
            let part: Vec<&str> = mods.iter().copied().filter(|m| matches!(*m, "lo" | "hi")).collect();
            let Some(apply) = integers::integer("mul", &part, ty) else { return Err(self.fault("no product")) };
            let product = self.temporary()?;
            self.map(apply, product, [a, b, ZERO])?;
            (a, b) = (product, c);
        }
        let next = name.ends_with('c');
        let Some((carry, sum)) = integers::carry(name.starts_with("sub"), next, ty.bits) else {
            return Err(self.unsupported(format!("`{name}.{}`", mods.join("."))));
        };
        let held = self.carry()?;
        let before = if next { held } else { ZERO };
        let after = self.temporary()?;
        self.map(carry, after, [a, b, before])?;
        self.map(sum, to, [a, b, before])?;
        match mods.contains(&"cc") {
            true => self.map(lanes!(|a: bool| a), held, [after, ZERO, ZERO]),
            false => Ok(()),
        }
    }

    /// What only computes.
    fn arithmetic(&mut self, name: &str, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        let whole = || format!("`{name}{}{}`", if mods.is_empty() { "" } else { "." }, mods.join("."));
        let Some(ty) = mods.iter().find_map(|m| Type::parse(m)) else { return Err(self.unsupported(whole())) };
        let test = name == "testp";
        if let Some(strange) = mods.iter().find(|m| !KNOWN.contains(m) && Type::parse(m).is_none() && !test) {
            return Err(self.unsupported(format!("`.{strange}` of {}", whole())));
        }
        if name == "mad" && !ty.is_float() && (mods.contains(&"wide") || mods.contains(&"hi")) {
            return self.multiply_add(mods, ty, o);
        }
        let apply = integers::integer(name, mods, ty);
        let apply = apply.or_else(|| floats::float(name, mods, ty)).or_else(|| halves::half(name, mods, ty));
        let Some(apply) = apply else { return Err(self.unsupported(whole())) };
        if floats::is_approximate(mods) || matches!(name, "ex2" | "tanh") {
            self.approximate.insert(whole().trim_matches('`').to_owned());
        }
        let (to, mut from) = self.typed_operands(o, o.len().saturating_sub(1).min(3), ty)?;
        let flush = mods.contains(&"ftz").then(|| floats::flush_of(ty)).flatten();
        if let Some(flush) = flush {
            from = self.flushed(from, flush)?;
        }
        if name == "slct" && mods.contains(&"ftz") {
            let [a, b, c] = from;
            let [_, _, c] = self.flushed([ZERO, ZERO, c], floats::flush())?;
            from = [a, b, c];
        }
        let mut tiny = None;
        if flush.is_some() && floats::is_rounded(name, mods, ty) {
            let ([mut a, b, mut c], large) = (from, self.temporary()?);
            for one in [&mut a, &mut c].into_iter().filter(|one| **one != ZERO) {
                let to = self.temporary()?;
                self.map(floats::enlarge(), to, [*one, ZERO, ZERO])?;
                *one = to;
            }
            self.map(apply, large, [a, b, c])?;
            tiny = Some(large);
        }
        self.map(apply, to, from)?;
        if let Some(flush) = flush {
            self.map(flush, to, [to, ZERO, ZERO])?;
        }
        if let Some(large) = tiny {
            self.map(floats::unless_tiny(), to, [to, large, ZERO])?;
        }
        if mods.contains(&"sat") && ty.is_float() {
            let Some(saturate) = floats::saturate(ty) else { return Err(self.unsupported(whole())) };
            self.map(saturate, to, [to, ZERO, ZERO])?;
        }
        Ok(())
    }

    /// `mad.wide` and `mad.hi`.
    fn multiply_add(&mut self, mods: &[&str], ty: Type, o: &[Operand]) -> Faulty<()> {
        let (to, [a, b, c]) = self.typed_operands(o, 3, ty)?;
        let wide = mods.contains(&"wide");
        let sum = Type { bits: if wide { ty.bits * 2 } else { ty.bits }, ..ty };
        match (integers::integer("mul", mods, ty), integers::integer("add", &[], sum)) {
            (Some(product), Some(add)) => {
                let between = self.temporary()?;
                self.map(product, between, [a, b, ZERO])?;
                self.map(add, to, [between, c, ZERO])
            }
            _ => Err(self.unsupported(format!("`mad.{}`", mods.join(".")))),
        }
    }
}
