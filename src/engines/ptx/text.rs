//! A module as its text says it, before anything is resolved.

use super::token::Place;
use super::types::Space;
use std::collections::HashMap;

/// A module.
#[derive(Debug, Default)]
pub(crate) struct Text {
    pub(super) variables: Vec<Variable>,
    pub(super) functions: Vec<Function>,
    /// The names of the sources, by the number that `.loc` uses.
    pub(super) files: Vec<(u32, String)>,
    /// Where a function stands in the list, by its name; a variable in shared memory, and one in global or constant memory.
    pub(super) functions_by_name: HashMap<String, usize>,
    pub(super) shared_by_name: HashMap<String, usize>,
    pub(super) globals_by_name: HashMap<String, usize>,
}

impl Text {
    pub(super) fn function(&self, name: &str) -> Option<&Function> {
        self.functions.get(*self.functions_by_name.get(name)?)
    }

    /// The kernel of that name, if it is not only declared.
    pub(super) fn kernel(&self, name: &str) -> Option<&Function> {
        self.function(name).filter(|one| one.kernel && one.body.is_some())
    }

    pub(super) fn shared(&self, name: &str) -> Option<&Variable> {
        self.variables.get(*self.shared_by_name.get(name)?)
    }

    pub(super) fn global(&self, name: &str) -> Option<&Variable> {
        self.variables.get(*self.globals_by_name.get(name)?)
    }

    pub(super) fn add(&mut self, variable: Variable) {
        let names = match variable.space {
            Space::Shared => &mut self.shared_by_name,
            Space::Global | Space::Const => &mut self.globals_by_name,
            _ => return self.variables.push(variable),
        };
        names.entry(variable.name.clone()).or_insert(self.variables.len());
        self.variables.push(variable);
    }
}

/// A variable in global, constant, shared or local memory.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) space: Space,
    pub(super) align: u64,
    pub(super) bytes: u64,
    /// Its first bytes; the rest is zero.
    pub(super) initial: Vec<u8>,
    /// Where the address of another variable stands in it: byte, name, offset.
    pub(super) addresses: Vec<(usize, String, i64)>,
    /// `.extern .shared x[]`: as large as the launch says.
    pub(super) dynamic: bool,
    pub(super) place: Place,
}

/// A parameter of a kernel or a function, or what a function returns.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) align: u64,
    pub(super) bytes: u64,
    /// In a register; else in parameter memory.
    pub(super) register: bool,
}

/// A kernel or a function.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) kernel: bool,
    pub(super) parameters: Vec<Parameter>,
    pub(super) results: Vec<Parameter>,
    /// None of a declaration.
    pub(super) body: Option<Vec<Statement>>,
    /// `.maxntid` or `.reqntid`: the most threads of a block.
    pub(super) most_threads: Option<u64>,
    pub(super) place: Place,
}

/// A line of a body.
#[derive(Clone, Debug)]
pub(super) enum Statement {
    Label(String, Place),
    /// The labels to which a `brx.idx` that names them goes.
    Targets(String, Vec<String>),
    /// Registers: names without numbers, or a prefix and how many follow from 0.
    Registers {
        names: Vec<(String, Option<u32>)>,
        place: Place,
    },
    Variable(Variable),
    Open,
    Close,
    Instruction(Instruction),
    /// The line of the source from here on: file and line.
    Line(u32, u32),
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Instruction {
    /// The predicate, and whether it is negated.
    pub(super) guard: Option<(String, bool)>,
    /// The opcode with its modifiers, separated by dots.
    pub(super) opcode: String,
    pub(super) operands: Vec<Operand>,
    pub(super) place: Place,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    /// A register, a special register, a label, a variable or a function.
    Name(String),
    /// The same, negated (`!%p`).
    Not(String),
    /// The address of a variable and an offset, outside brackets.
    Offset(String, i64),
    /// An integer, as 64 bits.
    Integer(u64),
    /// A number whose bits were written (`0f`, `0d`), or a decimal as the bits of an `f64`.
    Single(u32),
    Double(u64),
    /// `[base + offset]`; a base that is a number is `None`.
    Address(Option<String>, i64),
    /// `{a, b}`, also `(a, b)` of a call.
    List(Vec<Operand>),
    /// `p|q`.
    Pair(String, String),
    /// `_`.
    Nothing,
}
