//! Instructions that touch memory, and calls.

use super::code::{Access, Atomic, Combine, Op, Order, Reg, ZERO};
use super::decode::Decoder;
use super::scope::Named;
use super::text::{Operand, Parameter};
use super::types::{Kind, Space, Type};
use super::{Faulty, lanes};

/// What says nothing that is modelled here: caches and levels of them.
const HINTS: [&str; 22] = [
    "nc",
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "gpu",
    "cta",
    "sys",
    "cluster",
    "weak",
    "L1::evict_last",
    "L1::no_allocate",
    "L1::evict_first",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "noftz",
];

impl<'t> Decoder<'t> {
    pub(super) fn memory(&mut self, name: &str, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        let whole = format!("`{name}.{}`", mods.join("."));
        let mut space = mods.iter().find_map(|m| Space::parse(m)).unwrap_or(Space::Generic);
        let Some(ty) = mods.last().and_then(|m| Type::parse(m)) else { return Err(self.unsupported(whole)) };
        let mut order = Order::Weak;
        let mut combine = None;
        for one in mods.iter().take(mods.len().saturating_sub(1)) {
            match *one {
                "relaxed" | "volatile" | "mmio" => order = Order::Relaxed,
                "acquire" => order = Order::Acquire,
                "release" => order = Order::Release,
                "acq_rel" => order = Order::Release,
                "v2" | "v4" | "v8" => {}
                m if Space::parse(m).is_some() || HINTS.contains(&m) => {}
                m => match parse_combine(m).filter(|_| matches!(name, "atom" | "red")) {
                    Some(found) => combine = Some(found),
                    None => return Err(self.unsupported(format!("`.{m}` of {whole}"))),
                },
            }
        }
        let place = usize::from(!matches!(name, "st" | "red"));
        let Some(Operand::Address(base, offset)) = o.get(place) else { return Err(self.fault("it has no address")) };
        let (base, offset) = self.base(base.as_deref(), *offset, &mut space)?;
        if matches!(name, "atom" | "red") && (combine.is_none() || ty.bits < 16 || ty.kind == Kind::Predicate) {
            return Err(self.unsupported(whole));
        }
        if let Some(combine) = combine {
            let returns = name == "atom";
            let to = if returns { self.result(o.first())? } else { ZERO };
            let mut values = [ZERO; 2];
            for (value, operand) in values.iter_mut().zip(o.iter().skip(place + 1)) {
                *value = self.value(operand, ty)?;
            }
            let [b, c] = values;
            let atomic = Atomic { space, combine, ty, offset, returns, order };
            return self.emit(Op::Atomic(Box::new(atomic)), to, [base, b, c]);
        }
        let Some(data) = o.get(1 - place) else { return Err(self.fault("it has too few operands")) };
        let list = match data {
            Operand::List(list) => list,
            one => std::slice::from_ref(one),
        };
        let elements = ["v2", "v4", "v8"].iter().position(|m| mods.contains(m)).map_or(1, |n| 2 << n);
        if list.len() != elements || ty.kind == Kind::Predicate {
            return Err(self.fault(format!("{whole} of {} elements", list.len())));
        }
        let mut registers = Vec::new();
        for one in list {
            registers.push(match one {
                Operand::Nothing => None,
                one if name == "st" => Some(self.value(one, ty)?),
                one => Some(self.register(one)?),
            });
        }
        let (bytes, signed) = (ty.bytes(), ty.is_signed());
        let access = Box::new(Access { space, bytes, signed, registers: registers.into(), offset, order });
        let op = if name == "st" { Op::Store(access) } else { Op::Load(access) };
        self.emit(op, ZERO, [base, ZERO, ZERO])
    }

    /// The register and the offset of an address. A variable tells its space better than the instruction: a parameter of a call
    /// is in memory of the thread.
    fn base(&mut self, base: Option<&str>, offset: i64, space: &mut Space) -> Faulty<(Reg, i64)> {
        let Some(name) = base else { return Ok((ZERO, offset)) };
        match self.find(name) {
            Some(Named::Register(register)) => {
                if *space == Space::Param && self.frames.len() > 1 {
                    *space = Space::Local;
                }
                Ok((register, offset))
            }
            Some(Named::Variable { space: own, at, dynamic }) => {
                *space = own;
                Ok((self.address(at, dynamic), offset))
            }
            _ => Err(self.fault(format!("`{name}` is neither a register nor a variable"))),
        }
    }

    /// `call (results), name, (arguments)`.
    pub(super) fn call(&mut self, o: &[Operand]) -> Faulty<()> {
        let (results, name, arguments): (&[Operand], _, &[Operand]) = match o {
            [Operand::List(results), Operand::Name(name), Operand::List(arguments)] => (results, name, arguments),
            [Operand::List(results), Operand::Name(name)] => (results, name, &[]),
            [Operand::Name(name), Operand::List(arguments)] => (&[], name, arguments),
            [Operand::Name(name)] => (&[], name, &[]),
            _ => return Err(self.unsupported("a call of a function that is not named")),
        };
        if self.is_external(name) {
            return self.built_in(name, results, arguments);
        }
        // Lanes for which the guard is false go past the call.
        let after = self.new_label();
        if let Some(guard) = self.guard.as_mut() {
            guard.negated = !guard.negated;
            self.jump(after)?;
            self.guard = None;
        }
        // The values of the caller, before its names are hidden.
        let mut given = Vec::new();
        for argument in arguments {
            given.push(self.argument(argument)?);
        }
        let mut returned = Vec::new();
        for result in results {
            returned.push(self.argument(result)?);
        }
        let mut back = Vec::new();
        self.inline(name, |decoder, function| {
            if (function.parameters.len(), function.results.len()) != (given.len(), returned.len()) {
                return Err(decoder.fault(format!("`{}` is called with other operands than it has", function.name)));
            }
            for (parameter, given) in function.parameters.iter().zip(given) {
                decoder.bind(parameter, given, true)?;
            }
            for (result, returned) in function.results.iter().zip(returned) {
                back.extend(decoder.bind(result, returned, false)?);
            }
            Ok(())
        })?;
        for (to, from) in back {
            self.copy(to, from)?;
        }
        self.place_label(after);
        Ok(())
    }

    /// What a call names: memory of the thread, or a register.
    fn argument(&mut self, operand: &Operand) -> Faulty<Given> {
        if let Operand::Name(name) = operand
            && let Some(Named::Variable { space: Space::Local, at, .. }) = self.find(name)
        {
            return Ok(Given::Memory(at));
        }
        Ok(Given::Register(self.value(operand, Type::B64)?))
    }

    /// Gives a parameter its value; of a result in a register the copy that follows the call.
    fn bind(&mut self, parameter: &'t Parameter, given: Given, copied: bool) -> Faulty<Option<(Reg, Reg)>> {
        match given {
            Given::Memory(at) if !parameter.register => {
                self.bind_memory(parameter, at);
                Ok(None)
            }
            Given::Register(from) if parameter.register => {
                let own = self.bind_register(parameter)?;
                if copied {
                    self.copy(own, from)?;
                    return Ok(None);
                }
                Ok(Some((from, own)))
            }
            _ => Err(self.unsupported(format!("`{}` in a register here and in memory there", parameter.name))),
        }
    }

    fn copy(&mut self, to: Reg, from: Reg) -> Faulty<()> {
        self.emit(Op::Map(lanes::identity()), to, [from, ZERO, ZERO])
    }

    /// The functions that the system gives to kernels.
    fn built_in(&mut self, name: &str, results: &[Operand], arguments: &[Operand]) -> Faulty<()> {
        let mut from = [ZERO; 3];
        for (from, argument) in from.iter_mut().zip(arguments) {
            *from = match self.argument(argument)? {
                Given::Memory(at) => self.constant(at),
                Given::Register(register) => register,
            };
        }
        match name {
            "vprintf" => {
                self.emit(Op::Print, ZERO, from)?;
                if let Some(Given::Memory(at)) = results.first().map(|one| self.argument(one)).transpose()? {
                    let to = self.constant(at);
                    let registers = Box::new([Some(ZERO)]);
                    let (space, order) = (Space::Local, Order::Weak);
                    let access = Access { space, bytes: 4, signed: false, registers, offset: 0, order };
                    self.emit(Op::Store(Box::new(access)), ZERO, [to, ZERO, ZERO])?;
                }
                Ok(())
            }
            "__assertfail" => self.emit(Op::Assert, ZERO, from),
            _ => Err(self.unsupported(format!("the function `{name}`, whose body is not here"))),
        }
    }
}

/// An argument of a call.
enum Given {
    /// At this address of the thread's own memory.
    Memory(u64),
    Register(Reg),
}

fn parse_combine(name: &str) -> Option<Combine> {
    Some(match name {
        "add" => Combine::Add,
        "min" => Combine::Min,
        "max" => Combine::Max,
        "and" => Combine::And,
        "or" => Combine::Or,
        "xor" => Combine::Xor,
        "exch" => Combine::Exchange,
        "cas" => Combine::Compare,
        "inc" => Combine::Increment,
        "dec" => Combine::Decrement,
        _ => return None,
    })
}
