//! What a closure has done with its symbols so far.

use crate::core::cache::Words;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::libraries::expressions::ir::{Expr, Id, Node, Op, check, describe, result_type};
use crate::libraries::expressions::scalar::Scalar;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// A value of a closure, without its type: an element of an input, or what was computed.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    recording: u64,
    /// `None` if making it failed; the recording knows why.
    id: Option<Id>,
}

/// What an operation takes, without its type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RawOperand {
    /// A value of the closure.
    Symbol(Raw),
    /// A number that becomes a parameter.
    Parameter(Scalar),
    /// A number that becomes a part of the formula.
    Constant(Scalar),
}

impl RawOperand {
    /// A node of a recording that is not one of a closure's.
    pub(crate) fn node(id: Id) -> Self {
        RawOperand::Symbol(Raw { recording: 0, id: Some(id) })
    }
}

impl From<Raw> for RawOperand {
    fn from(raw: Raw) -> Self {
        RawOperand::Symbol(raw)
    }
}

/// Why an operation is not recorded.
enum Fault {
    /// What follows the names of the operation and its operands.
    Of(String),
    /// The whole message.
    Whole(String),
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Fault::Whole(message)
    }
}

/// Nodes that are looked through one by one: in a formula of a few operations a table costs more than all else.
const FEW: usize = 16;

/// What was recorded.
#[derive(Clone)]
pub(crate) struct Recording {
    serial: u64,
    pub(crate) inputs: Vec<DType>,
    pub(crate) scalars: Vec<Scalar>,
    pub(crate) nodes: Vec<Node>,
    /// Equal nodes are one node: the nodes, once there are more than are looked through faster one by one.
    seen: HashMap<Node, Id, BuildHasherDefault<Words>>,
    /// The first error.
    pub(crate) error: Option<String>,
}

thread_local! {
    /// The recordings that are open on this thread and the serial number of the last one. A closure may call `expr`
    /// itself: the innermost recording is the last.
    static OPEN: RefCell<(u64, Vec<Recording>)> = const { RefCell::new((0, Vec::new())) };
}

/// Keeps a recording open; closes it even if the closure panics.
pub struct Open {
    serial: u64,
}

impl Open {
    pub(crate) fn new(inputs: &[DType]) -> Self {
        OPEN.with_borrow_mut(|(last, open)| {
            *last += 1;
            open.push(Recording::new(*last, inputs));
            Open { serial: *last }
        })
    }

    pub(crate) fn input(&self, k: usize) -> Raw {
        within(self.serial, |recording| {
            let dtype = recording.inputs.get(k).copied().ok_or("no such input")?;
            let k = u8::try_from(k).map_err(|_| format!("at most {} inputs", Expr::MAX_INPUTS))?;
            recording.push(Op::Input(k), dtype)
        })
    }

    pub(crate) fn finish(self, outputs: &[Raw]) -> Result<(Expr, Vec<Scalar>)> {
        let serial = self.serial;
        let invalid = |message: String| Error::invalid("formula", message);
        let Some(recording) = OPEN.with_borrow_mut(|(_, open)| {
            let at = open.iter().position(|recording| recording.serial == serial)?;
            Some(open.remove(at))
        }) else {
            return Err(invalid("its recording is closed".into()));
        };
        if let Some(error) = recording.error {
            return Err(invalid(error));
        }
        let ids = outputs.iter().map(|symbol| symbol.id.filter(|_| symbol.recording == serial));
        let ids: Option<Vec<Id>> = ids.collect();
        let ids = ids.ok_or_else(|| invalid("an output is a symbol of another closure".into()))?;
        let parameters = recording.scalars.iter().map(|scalar| scalar.dtype()).collect();
        let expr = Expr::of_checked(recording.inputs, parameters, recording.nodes, ids)?;
        Ok((expr, recording.scalars))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        OPEN.with_borrow_mut(|(_, open)| open.retain(|recording| recording.serial != self.serial));
    }
}

impl Recording {
    pub(crate) fn new(serial: u64, inputs: &[DType]) -> Self {
        let (scalars, nodes, seen) = (Vec::new(), Vec::with_capacity(FEW / 2), HashMap::default());
        Recording { serial, inputs: inputs.to_vec(), scalars, nodes, seen, error: None }
    }

    /// Records, and keeps the first error.
    pub(crate) fn note(&mut self, f: impl FnOnce(&mut Recording) -> Result<Id, String>) -> Option<Id> {
        match f(self) {
            Ok(id) => Some(id),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }

    /// Appends a node, which is checked.
    pub(crate) fn push(&mut self, op: Op, dtype: DType) -> Result<Id, String> {
        self.insert(Node { op, dtype }, true)
    }

    /// Appends a node, unless there is an equal one.
    fn insert(&mut self, node: Node, is_checked: bool) -> Result<Id, String> {
        let known = match self.nodes.len() {
            ..=FEW => self.nodes.iter().position(|known| *known == node).map(|at| at as Id),
            _ => self.seen.get(&node).copied(),
        };
        if let Some(id) = known {
            return Ok(id);
        }
        if self.nodes.len() >= Expr::MAX_NODES {
            return Err(format!("more than {} nodes: split it into several formulas", Expr::MAX_NODES));
        }
        let id = self.nodes.len() as Id;
        if is_checked {
            let parameters: SmallVec<[DType; 8]> = match node.op {
                Op::Parameter(_) => self.scalars.iter().map(|scalar| scalar.dtype()).collect(),
                _ => SmallVec::new(),
            };
            check(&node, &self.nodes, &self.inputs, &parameters)?;
        }
        self.nodes.push(node);
        match self.nodes.len() {
            ..=FEW => {}
            one_more if one_more == FEW + 1 => {
                self.seen.extend(self.nodes.iter().zip(0..).map(|(node, id)| (*node, id)))
            }
            _ => drop(self.seen.insert(node, id)),
        }
        Ok(id)
    }

    fn dtype(&self, id: Id) -> DType {
        self.nodes.get(usize::from(id)).map_or(DType::Bool, |node| node.dtype)
    }

    /// The node of an operand that meets a value of `partner`'s type.
    fn operand(&mut self, operand: RawOperand, partner: Option<DType>) -> Result<Id, Fault> {
        let (scalar, constant) = match operand {
            RawOperand::Symbol(symbol) if symbol.recording != self.serial => {
                return Err(Fault::Of(" uses a symbol of another closure".into()));
            }
            RawOperand::Symbol(symbol) => {
                return symbol.id.ok_or_else(|| Fault::Of(" uses a value that failed".into()));
            }
            RawOperand::Parameter(scalar) => (scalar, false),
            RawOperand::Constant(scalar) => (scalar, true),
        };
        let dtype = partner.unwrap_or(scalar.dtype());
        let Some(scalar) = scalar.adopt(dtype) else {
            let own = scalar.dtype();
            let what = format!(": the number {scalar:?} ({own}) is no value of {dtype}: cast the other operand");
            return Err(Fault::Of(what));
        };
        if constant {
            return Ok(self.push(Op::Constant(scalar), dtype)?);
        }
        Ok(self.number(scalar, dtype)?)
    }

    /// A new parameter of this value, which has its type.
    pub(crate) fn number(&mut self, scalar: Scalar, dtype: DType) -> Result<Id, String> {
        if self.scalars.len() >= Expr::MAX_PARAMETERS {
            return Err(format!("more than {} numbers: bake some in by constant(..)", Expr::MAX_PARAMETERS));
        }
        self.scalars.push(scalar);
        self.push(Op::Parameter((self.scalars.len() - 1) as u16), dtype)
    }

    /// The type of an operand that is a node.
    pub(crate) fn dtype_of(&self, operand: &RawOperand) -> Option<DType> {
        match operand {
            RawOperand::Symbol(raw) => raw.id.map(|id| self.dtype(id)),
            _ => None,
        }
    }

    /// Appends an operation on operands, whose nodes go to `ids`; `chosen` is the type of one that chooses it.
    pub(crate) fn apply<const N: usize>(
        &mut self,
        name: &str,
        operands: &[RawOperand],
        partner: Option<DType>,
        ids: &mut [Id; N],
        chosen: Option<DType>,
        op: impl FnOnce([Id; N]) -> Op,
    ) -> Result<Id, String> {
        let found = self.nodes_of(operands, partner, ids);
        let appended = found.and_then(|()| match chosen {
            Some(dtype) => Ok(self.push(op(*ids), dtype)?),
            None => self.append(op(*ids)),
        });
        appended.map_err(|fault| self.told(fault, name, operands))
    }

    /// Appends an operation on these nodes.
    fn append(&mut self, op: Op) -> Result<Id, Fault> {
        let mut types = [DType::Bool; 3];
        for (k, id) in op.operands().enumerate() {
            types.iter_mut().skip(k).for_each(|dtype| *dtype = self.dtype(id));
        }
        // Which checks the operands' types, too.
        let dtype = result_type(&op, types, DType::Bool).map_err(|reason| Fault::Of(format!(": {reason}")))?;
        Ok(self.insert(Node { op, dtype }, false)?)
    }

    /// The message of a fault in an operation on these operands.
    fn told(&self, fault: Fault, name: &str, operands: &[RawOperand]) -> String {
        match fault {
            Fault::Whole(message) => message,
            Fault::Of(rest) => {
                let texts: Vec<String> = operands.iter().map(|operand| self.text(operand)).collect();
                format!("{name} of {}{rest}", texts.join(" and "))
            }
        }
    }

    /// The nodes of operands.
    fn nodes_of(&mut self, operands: &[RawOperand], partner: Option<DType>, ids: &mut [Id]) -> Result<(), Fault> {
        for (id, operand) in ids.iter_mut().zip(operands) {
            *id = self.operand(*operand, partner)?;
        }
        Ok(())
    }

    /// Text for an operand in an error.
    fn text(&self, operand: &RawOperand) -> String {
        match operand {
            RawOperand::Symbol(Raw { id: Some(id), .. }) => describe(&self.nodes, *id, 2),
            RawOperand::Symbol(_) => "a failed value".into(),
            RawOperand::Parameter(scalar) | RawOperand::Constant(scalar) => format!("{scalar:?}"),
        }
    }
}

/// Records in the recording of this number, and keeps the first error.
fn within(serial: u64, f: impl FnOnce(&mut Recording) -> Result<Id, String>) -> Raw {
    let id = OPEN.with_borrow_mut(|(_, open)| {
        let recording = open.iter_mut().find(|recording| recording.serial == serial)?;
        recording.note(f)
    });
    Raw { recording: serial, id }
}

fn is_open(serial: u64) -> bool {
    OPEN.with_borrow(|(_, open)| open.iter().any(|recording| recording.serial == serial))
}

/// Records an operation; numbers among the operands take the type of a symbol among them.
pub(crate) fn operation<const N: usize>(
    name: &'static str,
    operands: [RawOperand; N],
    op: impl FnOnce([Id; N]) -> Op,
) -> Raw {
    let mut ids = [0; N];
    // The part that does not depend on `N` is compiled once.
    match serial_of(&operands) {
        None => Raw { recording: 0, id: None },
        Some((serial, partner)) => {
            within(serial, |recording| recording.apply(name, &operands, partner, &mut ids, None, op))
        }
    }
}

/// The recording of an operation on these operands, and the type of a symbol among them. Where symbols of several closures
/// meet, the innermost one that is open has the error.
fn serial_of(operands: &[RawOperand]) -> Option<(u64, Option<DType>)> {
    let symbols = operands.iter().filter_map(|operand| match operand {
        RawOperand::Symbol(symbol) => Some(*symbol),
        _ => None,
    });
    let symbol = symbols.filter(|symbol| is_open(symbol.recording)).max_by_key(|symbol| symbol.recording)?;
    Some((symbol.recording, symbol.dtype()))
}

/// Records an operation on one value that chooses its type.
pub(crate) fn typed(name: &'static str, x: Raw, dtype: DType, op: impl FnOnce(Id) -> Op) -> Raw {
    within(x.recording, |recording| {
        let id = recording.operand(x.into(), None);
        id.and_then(|id| Ok(recording.push(op(id), dtype)?)).map_err(|fault| recording.told(fault, name, &[x.into()]))
    })
}

/// Records `a` where `condition` is true, `b` elsewhere. A number takes the type of the other one, or `dtype`.
pub(crate) fn select(condition: Raw, a: RawOperand, b: RawOperand, dtype: DType) -> Raw {
    within(condition.recording, |recording| {
        let mut record = || {
            let condition = recording.operand(condition.into(), None)?;
            let (a, b) = (recording.operand(a, Some(dtype))?, recording.operand(b, Some(dtype))?);
            let op = Op::Select(condition, a, b);
            let types = [condition, a, b].map(|id| recording.dtype(id));
            let dtype = result_type(&op, types, DType::Bool).map_err(|reason| Fault::Of(format!(": {reason}")))?;
            Ok(recording.push(op, dtype)?)
        };
        record().map_err(|fault| recording.told(fault, "select", &[condition.into(), a, b]))
    })
}

/// A leaf of the innermost recording.
pub(crate) fn index(op: Op) -> Raw {
    let innermost = OPEN.with_borrow(|(_, open)| open.last().map(|recording| recording.serial));
    within(innermost.unwrap_or(0), |recording| recording.push(op, DType::I64))
}

/// A number of the innermost recording, as a parameter.
#[cfg(any(feature = "dnn", feature = "rng"))]
pub(crate) fn leaf(scalar: Scalar) -> Raw {
    let innermost = OPEN.with_borrow(|(_, open)| open.last().map(|recording| recording.serial));
    within(innermost.unwrap_or(0), |recording| recording.number(scalar, scalar.dtype()))
}

/// An error of the innermost recording.
#[cfg(feature = "rng")]
pub(crate) fn fail(error: String) -> Raw {
    let innermost = OPEN.with_borrow(|(_, open)| open.last().map(|recording| recording.serial));
    within(innermost.unwrap_or(0), |_| Err(error))
}

impl Raw {
    /// The type of the value; `None` if making it failed, or outside of its closure.
    pub fn dtype(self) -> Option<DType> {
        OPEN.with_borrow(|(_, open)| {
            let recording = open.iter().find(|recording| recording.serial == self.recording)?;
            self.id.map(|id| recording.dtype(id))
        })
    }
}
