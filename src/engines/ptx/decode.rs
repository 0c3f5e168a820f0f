//! From the text of a kernel to its code: names become numbers, functions are put in where they are called.
//!
//! A function is decoded anew at each call, since its parameters are then those of the caller; its registers and its memory are
//! the same at all calls, for a lane is in one of them at a time.

use super::code::{Guard, Instruction, Kernel, Op, Reg, Special, Spot, ZERO};
use super::scope::{Named, Scopes};
use super::text::{Function, Parameter, Text, Variable};
use super::types::Space;
use super::{Fault, Faulty};
use crate::core::room;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// More instructions or labels than this are no kernel, nor are more registers or calls than the second figure.
pub(super) const MOST: usize = 1 << 20;
const FEW: usize = 1 << 16;

/// The most steps that decoding a kernel takes: a statement, a name that is looked up. A function is decoded anew at each call, so a
/// short text can ask for any number of them; a text of 40 MB without calls takes as many.
const STEPS: u64 = 1 << 24;

/// The most bytes of the parameters of a kernel, which CUDA allows.
const PARAMETERS: u64 = 32764;

/// The deepest call.
const DEEPEST: usize = 64;

/// Decodes the kernel `function`; `addresses` are those of the module's variables in global and constant memory.
pub(super) fn decode<'t>(
    text: &'t Text,
    function: &'t Function,
    addresses: &'t HashMap<String, u64>,
) -> Faulty<Kernel> {
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
pub(super) struct Frame<'t> {
    name: &'t str,
    /// The first of its scopes.
    first_scope: usize,
    /// Its labels, with the number of the braces in which they stand.
    pub(super) labels: BTreeMap<(&'t str, u32), usize>,
    /// Of each `.branchtargets` the labels.
    pub(super) targets: BTreeMap<(&'t str, u32), &'t [String]>,
    /// The open braces: their numbers rise.
    pub(super) braces: Vec<u32>,
    pub(super) next_brace: u32,
    /// Where a `ret` goes; `None` in a kernel.
    pub(super) end: Option<usize>,
    used: usize,
}

impl<'t> Frame<'t> {
    fn new(function: &'t Function, first_scope: usize) -> Self {
        Frame {
            name: &function.name,
            first_scope,
            labels: BTreeMap::new(),
            targets: BTreeMap::new(),
            braces: vec![0],
            next_brace: 1,
            end: None,
            used: 0,
        }
    }

    /// What has that name in the innermost of the open braces.
    fn innermost<T: Copy>(&self, all: &BTreeMap<(&str, u32), T>, name: &str, work: &mut u64) -> Option<T> {
        let last = self.braces.last().copied()?;
        let mut within = all.range((name, 0)..=(name, last)).rev().inspect(|_| *work += 1);
        within.find(|((_, brace), _)| self.braces.binary_search(brace).is_ok()).map(|(_, found)| *found)
    }
}

pub(super) struct Decoder<'t> {
    text: &'t Text,
    addresses: &'t HashMap<String, u64>,
    pub(super) kernel: Kernel,
    pub(super) scopes: Scopes<'t>,
    pub(super) frames: Vec<Frame<'t>>,
    constants: HashMap<u64, Reg>,
    specials: HashMap<Special, Reg>,
    /// By the function that declares it, and its name.
    shared: HashMap<(&'t str, &'t str), u64>,
    /// Addresses in dynamic shared memory, which begins where the declared one ends.
    dynamic: HashMap<u64, Reg>,
    labels: Vec<Option<u32>>,
    jumps: Vec<(usize, usize)>,
    /// What each function was given, in order: registers or bytes of memory.
    tapes: HashMap<&'t str, Vec<u64>>,
    pub(super) spot: Spot,
    pub(super) guard: Option<Guard>,
    /// The carry of `add.cc`.
    carry: Option<Reg>,
    /// Functions put in so far.
    calls: usize,
    /// Steps so far.
    work: u64,
    /// See [`Kernel::approximate`].
    pub(super) approximate: BTreeSet<String>,
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
            work: 0,
            approximate: BTreeSet::new(),
        }
    }

    /// Refuses a text that takes too long.
    pub(super) fn step(&mut self, more: usize) -> Faulty<()> {
        self.work += 1 + more as u64;
        match self.work > STEPS {
            true => Err(self.fault("the kernel is too long, with the functions that it calls")),
            false => Ok(()),
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
        let tape = self.tapes.entry(frame.name).or_default();
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
            kernel.local_bytes = at.saturating_add(bytes);
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
        let Kernel { places, code, .. } = &mut self.kernel;
        let made = match places.last() == Some(&self.spot) {
            true => Ok(()),
            false => room::push(places, self.spot),
        };
        let place = (places.len() as u32).saturating_sub(1);
        let one = Instruction { op, guard: self.guard, to, from, place };
        made.and_then(|()| room::push(code, one)).map_err(|error| Fault::no_memory(&error, "for the code of a kernel"))
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

    pub(super) fn find_label(&mut self, name: &str) -> Option<usize> {
        let frame = self.frames.last()?;
        frame.innermost(&frame.labels, name, &mut self.work)
    }

    /// The labels of a `.branchtargets`.
    pub(super) fn find_targets(&mut self, name: &str) -> Option<&'t [String]> {
        let frame = self.frames.last()?;
        frame.innermost(&frame.targets, name, &mut self.work)
    }

    pub(super) fn find(&mut self, name: &str) -> Option<Named> {
        let from = self.frames.last()?.first_scope;
        if let Some(named) = self.scopes.find(name, from, &mut self.work) {
            return Some(named);
        }
        if let Some(address) = self.addresses.get(name) {
            return Some(Named::Variable { space: Space::Global, at: *address, dynamic: false });
        }
        let variable = self.text.shared(name)?;
        self.shared_variable(variable, false)
    }

    /// Gives a variable in shared memory its place. Those of a function are known by its name as well.
    pub(super) fn shared_variable(&mut self, variable: &'t Variable, own: bool) -> Option<Named> {
        let space = Space::Shared;
        if variable.dynamic {
            return Some(Named::Variable { space, at: 0, dynamic: true });
        }
        let function = self.frames.last().filter(|_| own).map_or("", |frame| frame.name);
        let key = (function, &*variable.name);
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
    pub(super) fn inline(
        &mut self,
        name: &str,
        bind: impl FnOnce(&mut Self, &'t Function) -> Faulty<()>,
    ) -> Faulty<()> {
        let Some(function) = self.text.function(name) else {
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
    pub(super) fn bind_memory(&mut self, parameter: &'t Parameter, at: u64) {
        self.scopes.declare(&parameter.name, Named::Variable { space: Space::Local, at, dynamic: false });
    }

    /// Declares a parameter that is a register.
    pub(super) fn bind_register(&mut self, parameter: &'t Parameter) -> Faulty<Reg> {
        let register = self.temporary()?;
        self.scopes.declare(&parameter.name, Named::Register(register));
        Ok(register)
    }

    /// A declaration without a body: a function that the machine has itself.
    pub(super) fn is_external(&self, name: &str) -> bool {
        self.text.function(name).is_some_and(|one| one.body.is_none())
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
        kernel.approximate = self.approximate.into_iter().collect();
        Ok(self.kernel)
    }
}
