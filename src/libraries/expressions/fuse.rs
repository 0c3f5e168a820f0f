//! Two operations of a program made one: a map whose results only one map or reduction reads joins that one, and the results are
//! never in memory. The bits stay: what would have been stored is rounded, and its NaN made the one pattern, where it is passed on.

use super::Scalar;
use super::formula::Kept;
use super::ir::{Expr, Id, Node, Op, Unary, result_type};
use super::op::Map;
use crate::core::buffer::AnySpan;
use crate::core::element::DType;
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use crate::engines::tape::{Fused, Link, Step};
use smallvec::SmallVec;

/// What a map or a reduction computes of its operands: all that joining takes and gives.
pub(in crate::libraries) struct Computation<'a> {
    pub(in crate::libraries) expr: &'a Expr,
    pub(in crate::libraries) scalars: &'a [Scalar],
    /// How many of the first inputs are also written: these stay.
    pub(in crate::libraries) updated: usize,
    /// Of the operands that are read.
    pub(in crate::libraries) layouts: &'a [Layout],
    pub(in crate::libraries) reads: &'a [AnySpan],
}

/// Both computations as one, with the operands that it reads.
pub(in crate::libraries) struct Joined {
    pub(in crate::libraries) kept: Arc<Kept>,
    pub(in crate::libraries) scalars: Vec<Scalar>,
    pub(in crate::libraries) layouts: Vec<Layout>,
    pub(in crate::libraries) reads: SmallVec<[AnySpan; 8]>,
    /// For each of them: whether it was the maker's, and its number there.
    pub(in crate::libraries) origins: SmallVec<[(bool, usize); 8]>,
}

/// Joins a map to what reads its outputs: the two as one computation. `None` if it is not one of these operations, reads what the
/// map makes in another order, or would have too many inputs, numbers or nodes.
pub(in crate::libraries) fn join(maker: &Step, user: &Computation<'_>, link: &Link) -> Option<Joined> {
    let (map, spans) = maker.parts::<Map>()?;
    let shape = &map.shape;
    let elements_stay = |(layout, output): (&Layout, &Option<usize>)| match output {
        Some(output) => shape.outputs.get(*output) == Some(layout),
        None => true,
    };
    if shape.in_place || !user.layouts.iter().zip(&link.outputs).all(elements_stay) {
        return None;
    }
    let own = &map.formula.0.expr;
    let made = Computation { expr: own, scalars: &map.scalars, updated: 0, layouts: &shape.inputs, reads: &spans.0 };
    Both::new(user, &made, link)?.expression(user, &made, link)
}

/// The operands of both.
struct Both {
    types: Vec<DType>,
    layouts: Vec<Layout>,
    reads: SmallVec<[AnySpan; 8]>,
    origins: SmallVec<[(bool, usize); 8]>,
    /// For each of them: the number of its memory.
    memory: SmallVec<[usize; 8]>,
    updated: usize,
    /// For each operand that the maker, and the user reads: its number among all.
    numbers: [SmallVec<[usize; 8]>; 2],
}

impl Both {
    fn new(user: &Computation<'_>, maker: &Computation<'_>, link: &Link) -> Option<Both> {
        let mut both = Both {
            types: user.expr.inputs().get(..user.updated)?.to_vec(),
            layouts: Vec::new(),
            reads: SmallVec::new(),
            origins: SmallVec::new(),
            memory: SmallVec::new(),
            updated: user.updated,
            numbers: Default::default(),
        };
        for (index, (layout, span)) in user.layouts.iter().zip(user.reads).enumerate() {
            let number = match link.outputs.get(index)? {
                None => both.add(link, (false, index), layout, span)?,
                Some(_) => usize::MAX,
            };
            both.numbers[1].push(number);
        }
        for (index, (layout, span)) in maker.layouts.iter().zip(maker.reads).enumerate() {
            let number = both.add(link, (true, index), layout, span)?;
            both.numbers[0].push(number);
        }
        Some(both)
    }

    /// The number of an operand that is read, which is there once.
    fn add(&mut self, link: &Link, origin: (bool, usize), layout: &Layout, span: &AnySpan) -> Option<usize> {
        let memory = *link.memory.get(usize::from(!origin.0))?.get(origin.1)?;
        let known =
            self.layouts.iter().zip(&self.reads).zip(&self.memory).position(|((other, read), number)| {
                other == layout && (*number, read.dtype()) == (memory, span.dtype())
            });
        Some(known.unwrap_or_else(|| {
            self.types.push(span.dtype());
            self.layouts.push(layout.clone());
            self.reads.push(*span);
            self.origins.push(origin);
            self.memory.push(memory);
            self.reads.len() - 1
        }))
    }

    /// The node that an input of the user, or of the maker, is.
    fn input(&self, of_maker: bool, input: u8, updated: usize) -> Option<Op> {
        let numbers = self.numbers.get(usize::from(!of_maker))?;
        let number = match usize::from(input).checked_sub(updated) {
            Some(read) => self.updated + numbers.get(read)?,
            None => usize::from(input),
        };
        Some(Op::Input(u8::try_from(number).ok()?))
    }

    fn expression(self, user: &Computation<'_>, maker: &Computation<'_>, link: &Link) -> Option<Joined> {
        let mut nodes = Vec::with_capacity(maker.expr.nodes().len() + user.expr.nodes().len());
        for node in maker.expr.nodes() {
            let op = match node.op {
                Op::Input(input) => self.input(true, input, 0)?,
                op => op,
            };
            nodes.push(Node { op, dtype: node.dtype });
        }
        let mut seams = SmallVec::<[Id; 4]>::new();
        for output in maker.expr.outputs() {
            seams.push(seam(&mut nodes, *output)?);
        }
        let parameters = maker.expr.parameters();
        let mut places: Vec<Id> = Vec::with_capacity(user.expr.nodes().len());
        for node in user.expr.nodes() {
            let op = match node.op {
                Op::Input(input) => {
                    let linked =
                        usize::from(input).checked_sub(user.updated).and_then(|read| *link.outputs.get(read)?);
                    if let Some(output) = linked {
                        places.push(*seams.get(output)?);
                        continue;
                    }
                    self.input(false, input, user.updated)?
                }
                Op::Parameter(parameter) => {
                    Op::Parameter(parameter.checked_add(u16::try_from(parameters.len()).ok()?)?)
                }
                op => op.moved(|id| places.get(usize::from(id)).copied().unwrap_or(Id::MAX)),
            };
            places.push(push(&mut nodes, op, node.dtype)?);
        }
        let outputs =
            user.expr.outputs().iter().map(|id| places.get(usize::from(*id)).copied()).collect::<Option<_>>()?;
        let parameters = parameters.iter().chain(user.expr.parameters()).copied().collect();
        let expr = Expr::admit(self.types, parameters, nodes, outputs).ok()?;
        Some(Joined {
            kept: Kept::for_expr(expr),
            scalars: maker.scalars.iter().chain(user.scalars).copied().collect(),
            layouts: self.layouts,
            reads: self.reads,
            origins: self.origins,
        })
    }
}

fn push(nodes: &mut Vec<Node>, op: Op, dtype: DType) -> Option<Id> {
    nodes.push(Node { op, dtype });
    Id::try_from(nodes.len() - 1).ok()
}

/// What a value is once it was stored and read again.
fn seam(nodes: &mut Vec<Node>, value: Id) -> Option<Id> {
    let node = *nodes.get(usize::from(value))?;
    match node.dtype {
        _ if matches!(node.op, Op::Input(_) | Op::Bits(_)) => Some(value),
        dtype if dtype.is_complex() => {
            let mut parts = SmallVec::<[Id; 2]>::new();
            for op in [Unary::Re, Unary::Im] {
                let part = push(nodes, Op::Unary(op, value), dtype.part())?;
                parts.push(bits(nodes, part, dtype.part())?);
            }
            let [re, im] = parts[..] else { return None };
            push(nodes, Op::Binary(super::ir::Binary::Complex, re, im), dtype)
        }
        dtype if dtype.is_float() => bits(nodes, value, dtype),
        _ => Some(value),
    }
}

/// The value as bits, and these as a value.
fn bits(nodes: &mut Vec<Node>, value: Id, dtype: DType) -> Option<Id> {
    let word = match dtype.size() {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        _ => DType::U64,
    };
    result_type(&Op::Bits(value), [dtype; 3], word).ok()?;
    let stored = push(nodes, Op::Bits(value), word)?;
    push(nodes, Op::Bits(stored), dtype)
}

/// Joins a map to the map that reads its outputs.
pub(super) fn maps(maker: &Step, user: &Step, link: &Link) -> Option<Fused> {
    let (map, spans) = user.parts::<Map>()?;
    let shape = &map.shape;
    let computation = Computation {
        expr: &map.formula.0.expr,
        scalars: &map.scalars,
        updated: shape.updated(),
        layouts: &shape.inputs,
        reads: &spans.0,
    };
    let Joined { kept, scalars, layouts, reads, origins } = join(maker, &computation, link)?;
    let shape = kept.shape(&shape.outputs, &layouts, shape.in_place);
    let joined = Map::new(super::formula::Shared(kept), scalars, shape);
    Some(Fused { step: Step::checked(joined, (reads, spans.1)).ok()?, origins })
}
