//! From the text of a kernel to its code: names become numbers, functions are put in where they are called.
//!
//! A function is decoded anew at each call, since its parameters are then those of the caller; its registers and its memory are
//! the same at all calls, for a lane is in one of them at a time.

use super::code::{Guard, Instruction, Kernel, Op, Reg, Special, Spot, ZERO};
use super::scope::{Named, Scopes};
use super::text::{Function, Parameter, Text, Variable};
use super::types::Space;
use super::{Fault, Faulty};
use std::collections::HashMap;

/// More instructions than this are no kernel, nor are more registers or calls than the second figure.
const MOST: usize = 4 << 20;
const FEW: usize = 1 << 16;

/// The most bytes of the parameters of a kernel, which CUDA allows.
const PARAMETERS: u64 = 32764;

/// The deepest call.
const DEEPEST: usize = 64;

/// Decodes the kernel `function`; `addresses` are those of the module's variables in global and constant memory.
pub(super) fn decode(text: &Text, function: &Function, addresses: &HashMap<String, u64>) -> Faulty<Kernel> {
    let mut decoder = Decoder::new(text, addresses);
    decoder.kernel.name = function.name.clone();
    decoder.kernel.most_threads = function.most_threads;
    decoder.scopes.push();
    let mut at = 0u64;
    for parameter in &function.parameters {
        at = at.next_multiple_of(parameter.align.max(1));
        decoder.scopes.declare(&parameter.name, Named::Variable { space: Space::Param, at, dynamic: false });
        decoder.kernel.parameters.push((at, parameter.bytes));
        at += parameter.bytes;
    }
    if at > PARAMETERS {
        return Err(Fault::text(function.place, format!("{at} bytes of parameters are more than {PARAMETERS}")));
    }
    decoder.kernel.parameter_bytes = at;
    decoder.frames.push(Frame::new(function, 0));
    decoder.body(function)?;
    decoder.emit(Op::Exit, ZERO, [ZERO; 3])?;
    decoder.finish()
}

/// A function while its body is decoded.
pub(super) struct Frame {
    name: String,
    /// The first of its scopes.
    first_scope: usize,
    /// Its labels, by the number of the braces in which they stand.
    pub(super) labels: HashMap<(u32, String), usize>,
    /// Of each `.branchtargets` the labels.
    pub(super) targets: HashMap<(u32, String), Vec<String>>,
    pub(super) braces: Vec<u32>,
    pub(super) next_brace: u32,
    /// Where a `ret` goes; `None` in a kernel.
    pub(super) end: Option<usize>,
    used: usize,
}

impl Frame {
    fn new(function: &Function, first_scope: usize) -> Self {
        let name = function.name.clone();
        Frame {
            name,
            first_scope,
            labels: HashMap::new(),
            targets: HashMap::new(),
            braces: vec![0],
            next_brace: 1,
            end: None,
            used: 0,
        }
    }
}

pub(super) struct Decoder<'t> {
    text: &'t Text,
    addresses: &'t HashMap<String, u64>,
    pub(super) kernel: Kernel,
    pub(super) scopes: Scopes,
    pub(super) frames: Vec<Frame>,
    constants: HashMap<u64, Reg>,
    specials: HashMap<Special, Reg>,
    shared: HashMap<String, u64>,
    /// Addresses in dynamic shared memory, which begins where the declared one ends.
    dynamic: HashMap<u64, Reg>,
    labels: Vec<Option<u32>>,
    jumps: Vec<(usize, usize)>,
    /// What each function was given, in order: registers or bytes of memory.
    tapes: HashMap<String, Vec<u64>>,
    pub(super) spot: Spot,
    pub(super) guard: Option<Guard>,
    /// The carry of `add.cc`.
    carry: Option<Reg>,
    /// Functions put in so far.
    calls: usize,
}

impl<'t> Decoder<'t> {
    fn new(text: &'t Text, addresses: &'t HashMap<String, u64>) -> Self {
        let kernel = Kernel { registers: 1, constants: vec![(ZERO, 0)], ..Kernel::default() };
        Decoder {
            text,
            addresses,
            kernel,
            scopes: Scopes::default(),
            frames: Vec::new(),
            constants: HashMap::from([(0, ZERO)]),
            specials: HashMap::new(),
            shared: HashMap::new(),
            dynamic: HashMap::new(),
            labels: Vec::new(),
            jumps: Vec::new(),
            tapes: HashMap::new(),
            spot: Spot::default(),
            guard: None,
            carry: None,
            calls: 0,
        }
    }

    pub(super) fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault::text(self.spot.text, reason.into())
    }

    pub(super) fn unsupported(&self, what: impl Into<String>) -> Fault {
        Fault::unsupported(self.spot.text, what.into())
    }

    /// As many as are wanted: of a function the same ones at each call.
    fn taped(&mut self, fresh: impl FnOnce(&mut Kernel) -> Faulty<u64>) -> Faulty<u64> {
        let inlined = self.frames.len() > 1;
        let Some(frame) = self.frames.last_mut().filter(|_| inlined) else { return fresh(&mut self.kernel) };
        let tape = self.tapes.entry(frame.name.clone()).or_default();
        frame.used += 1;
        if let Some(known) = tape.get(frame.used - 1) {
            return Ok(*known);
        }
        let value = fresh(&mut self.kernel)?;
        tape.push(value);
        Ok(value)
    }

    /// New registers; the first of them.
    pub(super) fn registers(&mut self, count: u32) -> Faulty<Reg> {
        let place = self.spot.text;
        let first = self.taped(|kernel| {
            let first = kernel.registers;
            kernel.registers = first.checked_add(count).filter(|all| *all as usize <= FEW).ok_or_else(|| {
                Fault::text(place, format!("{count} more registers than the {first} before are too many"))
            })?;
            Ok(first.into())
        })?;
        Ok(first as Reg)
    }

    pub(super) fn temporary(&mut self) -> Faulty<Reg> {
        self.registers(1)
    }

    /// Memory of each thread: its address.
    pub(super) fn local(&mut self, bytes: u64, align: u64) -> Faulty<u64> {
        let place = self.spot.text;
        self.taped(|kernel| {
            let at = kernel.local_bytes.next_multiple_of(align.max(1));
            kernel.local_bytes = at + bytes;
            match kernel.local_bytes <= 512 << 10 {
                true => Ok(at),
                false => Err(Fault::text(place, "more than 512 KiB of memory for each thread".into())),
            }
        })
    }

    /// The register with this value.
    pub(super) fn constant(&mut self, value: u64) -> Reg {
        let kernel = &mut self.kernel;
        *self.constants.entry(value).or_insert_with(|| {
            kernel.registers += 1;
            kernel.constants.push((kernel.registers - 1, value));
            kernel.registers - 1
        })
    }

    pub(super) fn special(&mut self, special: Special) -> Reg {
        let kernel = &mut self.kernel;
        *self.specials.entry(special).or_insert_with(|| {
            kernel.registers += 1;
            kernel.specials.push((kernel.registers - 1, special));
            kernel.registers - 1
        })
    }

    /// What holds the carry.
    pub(super) fn carry(&mut self) -> Faulty<Reg> {
        if self.carry.is_none() {
            self.kernel.registers += 1;
            self.carry = Some(self.kernel.registers - 1);
        }
        self.carry.ok_or_else(|| self.fault("no carry"))
    }

    pub(super) fn emit(&mut self, op: Op, to: Reg, from: [Reg; 3]) -> Faulty<()> {
        if self.kernel.code.len() >= MOST {
            return Err(self.fault("the kernel is too long"));
        }
        if self.kernel.places.last() != Some(&self.spot) {
            self.kernel.places.push(self.spot);
        }
        let place = self.kernel.places.len() as u32 - 1;
        self.kernel.code.push(Instruction { op, guard: self.guard, to, from, place });
        Ok(())
    }

    /// A jump to a label that may not be placed yet.
    pub(super) fn jump(&mut self, label: usize) -> Faulty<()> {
        self.jumps.push((self.kernel.code.len(), label));
        self.emit(Op::Jump(0), ZERO, [ZERO; 3])
    }

    pub(super) fn new_label(&mut self) -> usize {
        self.labels.push(None);
        self.labels.len() - 1
    }

    pub(super) fn place_label(&mut self, label: usize) {
        let here = self.kernel.code.len() as u32;
        if let Some(place) = self.labels.get_mut(label) {
            *place = Some(here);
        }
    }

    pub(super) fn find_label(&self, name: &str) -> Option<usize> {
        let frame = self.frames.last()?;
        let known = |brace: &u32| frame.labels.get(&(*brace, name.to_owned()));
        frame.braces.iter().rev().find_map(known).copied()
    }

    /// The labels of a `.branchtargets`.
    pub(super) fn find_targets(&self, name: &str) -> Option<Vec<String>> {
        let frame = self.frames.last()?;
        let known = |brace: &u32| frame.targets.get(&(*brace, name.to_owned()));
        frame.braces.iter().rev().find_map(known).cloned()
    }

    pub(super) fn find(&mut self, name: &str) -> Option<Named> {
        let from = self.frames.last()?.first_scope;
        if let Some(named) = self.scopes.find(name, from) {
            return Some(named);
        }
        if let Some(address) = self.addresses.get(name) {
            return Some(Named::Variable { space: Space::Global, at: *address, dynamic: false });
        }
        let text = self.text;
        let variable = text.variables.iter().find(|one| one.name == name && one.space == Space::Shared)?;
        self.shared_variable(variable, false)
    }

    /// Gives a variable in shared memory its place. Those of a function are known by its name as well.
    pub(super) fn shared_variable(&mut self, variable: &Variable, own: bool) -> Option<Named> {
        let space = Space::Shared;
        if variable.dynamic {
            return Some(Named::Variable { space, at: 0, dynamic: true });
        }
        let key = match self.frames.last() {
            Some(frame) if own => format!("{}/{}", frame.name, variable.name),
            _ => variable.name.clone(),
        };
        if let Some(at) = self.shared.get(&key) {
            return Some(Named::Variable { space, at: *at, dynamic: false });
        }
        let at = self.kernel.shared_bytes.next_multiple_of(variable.align.max(1));
        self.kernel.shared_bytes = at.checked_add(variable.bytes)?;
        self.kernel.shared.push((variable.name.clone(), at, variable.bytes));
        self.shared.insert(key, at);
        Some(Named::Variable { space, at, dynamic: false })
    }

    /// The register with the address of a variable.
    pub(super) fn address(&mut self, at: u64, dynamic: bool) -> Reg {
        if !dynamic {
            return self.constant(at);
        }
        let kernel = &mut self.kernel;
        *self.dynamic.entry(at).or_insert_with(|| {
            kernel.registers += 1;
            kernel.registers - 1
        })
    }

    /// Puts in the body of a function. `arguments` and `results` are what the call names.
    pub(super) fn inline(&mut self, name: &str, bind: impl FnOnce(&mut Self, &Function) -> Faulty<()>) -> Faulty<()> {
        let text = self.text;
        let Some(function) = text.functions.iter().find(|one| one.name == name) else {
            return Err(self.fault(format!("no function is called `{name}`")));
        };
        if self.frames.iter().any(|frame| frame.name == name) || self.frames.len() > DEEPEST {
            return Err(self.unsupported(format!("`{name}`, which calls itself")));
        }
        self.calls += 1;
        if self.calls > FEW {
            return Err(self.fault("more calls than a kernel has, with those inside of functions"));
        }
        let (guard, spot) = (self.guard.take(), self.spot);
        let end = self.new_label();
        let first_scope = self.scopes.depth();
        self.scopes.push();
        self.frames.push(Frame { end: Some(end), ..Frame::new(function, first_scope) });
        bind(self, function)?;
        self.body(function)?;
        self.place_label(end);
        self.frames.pop();
        self.scopes.pop();
        (self.guard, self.spot) = (guard, spot);
        Ok(())
    }

    /// Declares a parameter that is in memory of the caller.
    pub(super) fn bind_memory(&mut self, parameter: &Parameter, at: u64) {
        self.scopes.declare(&parameter.name, Named::Variable { space: Space::Local, at, dynamic: false });
    }

    /// Declares a parameter that is a register.
    pub(super) fn bind_register(&mut self, parameter: &Parameter) -> Faulty<Reg> {
        let register = self.temporary()?;
        self.scopes.declare(&parameter.name, Named::Register(register));
        Ok(register)
    }

    /// A declaration without a body: a function that the machine has itself.
    pub(super) fn is_external(&self, name: &str) -> bool {
        self.text.functions.iter().any(|one| one.name == name && one.body.is_none())
    }

    fn finish(mut self) -> Faulty<Kernel> {
        for (at, label) in std::mem::take(&mut self.jumps) {
            let target = self.labels.get(label).copied().flatten();
            let target = target.ok_or_else(|| self.fault("a jump to a label that stands nowhere"))?;
            if let Some(Op::Jump(to)) = self.kernel.code.get_mut(at).map(|one| &mut one.op) {
                *to = target;
            }
        }
        let kernel = &mut self.kernel;
        kernel.dynamic_at = kernel.shared_bytes.next_multiple_of(16);
        for (at, register) in self.dynamic {
            kernel.constants.push((register, kernel.dynamic_at.wrapping_add(at)));
        }
        kernel.approximate.sort();
        kernel.approximate.dedup();
        Ok(self.kernel)
    }
}
