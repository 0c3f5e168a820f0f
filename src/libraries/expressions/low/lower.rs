//! From the nodes of an expression to machine types.
//!
//! A value can be needed in two forms. *Loose* is for arithmetic: a half is an `f32` that is not rounded, a truth value
//! is 0 or 1, a NaN has any pattern. *Exact* is what is stored or read as bits: a half is 16 bits, a computed NaN has the
//! one pattern, and what was only moved has its own bits. A first pass from the outputs back finds which forms are needed
//! of each node, a second one from the inputs on appends them. Neither recurses, so that deep formulas need no stack.

use super::rules::Parts;
use super::{Lane, Low, LowOp, Uniform, Value};
use crate::core::element::DType;
use crate::libraries::expressions::functions::{Function, expand, expand_exp};
use crate::libraries::expressions::ir::{Binary, Expr, Id, Node, Op, Unary};

/// What becomes of the elementary functions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Calls {
    /// They remain calls.
    Keep,
    /// They are expanded.
    Expand,
}

#[derive(Clone, Copy, Default)]
struct Needs {
    loose: bool,
    exact: bool,
}

/// The forms of a node that are there.
#[derive(Clone, Copy, Default)]
struct Forms {
    loose: Parts,
    exact: Parts,
}

/// The lane in which elements of a type are stored.
pub(crate) fn stored(dtype: DType) -> Lane {
    match dtype {
        DType::Bool | DType::U8 | DType::F8E4M3 | DType::F8E5M2 => Lane::U8,
        DType::I8 => Lane::I8,
        DType::I16 => Lane::I16,
        DType::I32 => Lane::I32,
        DType::I64 => Lane::I64,
        DType::U16 | DType::F16 | DType::Bf16 => Lane::U16,
        DType::U32 => Lane::U32,
        DType::U64 => Lane::U64,
        DType::F32 | DType::C32 => Lane::F32,
        DType::F64 | DType::C64 => Lane::F64,
    }
}

/// The lane in which a type is computed.
pub(crate) fn computed(dtype: DType) -> Lane {
    if dtype.is_narrow() { Lane::F32 } else { stored(dtype) }
}

pub(crate) fn lower(expr: &Expr, calls: Calls) -> Low {
    lower_as(expr, calls, true)
}

/// With outputs in the form that is stored (`exact`), or for more arithmetic.
pub(crate) fn lower_as(expr: &Expr, calls: Calls, exact: bool) -> Low {
    let nodes = expr.nodes();
    let moves = moves(nodes);
    let needs = needs(expr, &moves, exact);
    let mut low = Low { keeps: matches!(calls, Calls::Keep), ..Low::default() };
    let mut forms: Vec<Forms> = Vec::with_capacity(nodes.len());
    for (at, (node, needs)) in nodes.iter().zip(needs).enumerate() {
        let moved = moves.get(at).copied().unwrap_or_default();
        let made = if !needs.loose && !needs.exact {
            Forms::default()
        } else {
            Lowering { low: &mut low, nodes, forms: &forms, calls }.node(node, needs, moved)
        };
        forms.push(made);
    }
    low.outputs = expr
        .outputs()
        .iter()
        .map(|id| {
            let parts = if expr.dtype(*id).is_some_and(DType::is_complex) { 2 } else { 1 };
            let forms = forms.get(usize::from(*id)).copied().unwrap_or_default();
            let own = if exact { forms.exact } else { forms.loose };
            own.into_iter().take(parts).collect()
        })
        .collect();
    low
}

/// Which nodes are moves: their exact form may have bits that no operation computes.
fn moves(nodes: &[Node]) -> Vec<bool> {
    let mut moves: Vec<bool> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let of = |id: Id| moves.get(usize::from(id)).copied().unwrap_or_default();
        let moved = match node.op {
            Op::Input(_) | Op::Bits(_) => true,
            // A scalar of a half type is an f32, which has yet to be rounded.
            Op::Parameter(_) | Op::Constant(_) => !node.dtype.is_narrow(),
            Op::Select(_, a, b) | Op::Binary(Binary::Complex, a, b) => of(a) || of(b),
            Op::Unary(Unary::Re | Unary::Im, z) => of(z),
            _ => false,
        };
        moves.push(moved);
    }
    moves
}

/// The forms that are needed of each node.
fn needs(expr: &Expr, moves: &[bool], exact: bool) -> Vec<Needs> {
    let mut needs = vec![Needs::default(); expr.nodes().len()];
    for id in expr.outputs() {
        if let Some(need) = needs.get_mut(usize::from(*id)) {
            need.exact |= exact;
            need.loose |= !exact;
        }
    }
    for (at, node) in expr.nodes().iter().enumerate().rev() {
        let moved = moves.get(at).copied().unwrap_or_default();
        let Some(own) = needs.get_mut(at) else { continue };
        if own.exact && !moved {
            own.loose = true;
        }
        let own = *own;
        if !own.loose && !own.exact {
            continue;
        }
        let mut demand = |id: Id, loose: bool, exact: bool| {
            if let Some(need) = needs.get_mut(usize::from(id)) {
                need.loose |= loose;
                need.exact |= exact;
            }
        };
        let exact = own.exact && moved;
        match node.op {
            Op::Select(condition, a, b) => {
                demand(condition, true, false);
                demand(a, own.loose, exact);
                demand(b, own.loose, exact);
            }
            Op::Binary(Binary::Complex, a, b) => {
                demand(a, own.loose, exact);
                demand(b, own.loose, exact);
            }
            Op::Unary(Unary::Re | Unary::Im, z) => demand(z, own.loose, exact),
            Op::Bits(x) => demand(x, false, true),
            Op::Binary(Binary::Copysign, x, y) => {
                demand(x, true, false);
                demand(y, false, true);
            }
            op => op.operands().for_each(|id| demand(id, true, false)),
        }
    }
    needs
}

struct Lowering<'a> {
    low: &'a mut Low,
    nodes: &'a [Node],
    forms: &'a [Forms],
    calls: Calls,
}

impl Lowering<'_> {
    fn dtype(&self, id: Id) -> DType {
        self.nodes.get(usize::from(id)).map_or(DType::Bool, |node| node.dtype)
    }

    fn loose(&self, id: Id) -> Parts {
        self.forms.get(usize::from(id)).copied().unwrap_or_default().loose
    }

    fn exact(&self, id: Id) -> Parts {
        self.forms.get(usize::from(id)).copied().unwrap_or_default().exact
    }

    fn call(&mut self, function: Function, lane: Lane, x: Value, y: Option<Value>) -> Value {
        match (self.calls, y) {
            (Calls::Expand, y) => expand(function, lane, x, y.unwrap_or(x), self.low),
            (Calls::Keep, Some(y)) => self.low.same(LowOp::Call(function), [x, y]),
            (Calls::Keep, None) => self.low.same(LowOp::Call(function), [x]),
        }
    }

    /// The forms of a node that are needed.
    fn node(&mut self, node: &Node, needs: Needs, moved: bool) -> Forms {
        if !moved {
            let loose = self.compute(node);
            let exact = if needs.exact { self.low.store(node.dtype, loose) } else { loose };
            return Forms { loose, exact };
        }
        match node.op {
            Op::Select(condition, a, b) => {
                let [condition, _] = self.loose(condition);
                let (loose, exact) = ((self.loose(a), self.loose(b)), (self.exact(a), self.exact(b)));
                let mut pick = |wanted: bool, (a, b): (Parts, Parts)| {
                    let [re, im] = if wanted { self.low.select_parts(condition, a, b) } else { Parts::default() };
                    [re, im]
                };
                Forms { loose: pick(needs.loose, loose), exact: pick(needs.exact, exact) }
            }
            Op::Binary(Binary::Complex, a, b) => {
                let join = |[re, _]: Parts, [im, _]: Parts| [re, im];
                Forms { loose: join(self.loose(a), self.loose(b)), exact: join(self.exact(a), self.exact(b)) }
            }
            Op::Unary(op @ (Unary::Re | Unary::Im), z) => {
                let part = |[re, im]: Parts| if op == Unary::Re { [re; 2] } else { [im; 2] };
                Forms { loose: part(self.loose(z)), exact: part(self.exact(z)) }
            }
            _ => {
                let exact = self.leaf(node);
                let loose = if needs.loose { self.low.load(node.dtype, exact) } else { exact };
                Forms { loose, exact }
            }
        }
    }

    /// The exact form of what is not computed.
    fn leaf(&mut self, node: &Node) -> Parts {
        let lane = stored(node.dtype);
        match node.op {
            Op::Input(k) => {
                let re = self.low.emit(LowOp::Input(k, 0), lane, []);
                let im = if node.dtype.is_complex() { self.low.emit(LowOp::Input(k, 1), lane, []) } else { re };
                [re, im]
            }
            Op::Parameter(_) | Op::Constant(_) => self.scalar(node, lane),
            Op::Bits(x) => {
                let [x, _] = self.exact(x);
                [self.low.reinterpret(x, lane); 2]
            }
            _ => [self.low.number(lane, 0); 2],
        }
    }

    fn scalar(&mut self, node: &Node, lane: Lane) -> Parts {
        let mut part = |part: u8| match node.op {
            Op::Constant(scalar) => {
                let [re, im] = scalar.words();
                self.low.constant(lane, if part == 0 { re } else { im })
            }
            Op::Parameter(k) => self.low.uniform(Uniform::Parameter(k, part), lane),
            _ => self.low.number(lane, 0),
        };
        let re = part(0);
        [re, if node.dtype.is_complex() { part(1) } else { re }]
    }

    /// The loose form of what is computed.
    fn compute(&mut self, node: &Node) -> Parts {
        let lane = computed(node.dtype);
        match node.op {
            Op::Parameter(_) | Op::Constant(_) => self.scalar(node, lane),
            Op::Position(axis) => [self.low.emit(LowOp::Position(axis), Lane::I64, []); 2],
            Op::Index => [self.low.emit(LowOp::Position(Expr::INDEX), Lane::I64, []); 2],
            Op::Extent(axis) => [self.low.uniform(Uniform::Extent(axis), Lane::I64); 2],
            Op::Unary(op, x) => self.low.unary(op, self.dtype(x), self.loose(x)),
            Op::Binary(Binary::Copysign, x, y) => {
                let ([x, _], [y, _]) = (self.loose(x), self.exact(y));
                [self.low.copysign(x, y); 2]
            }
            Op::Binary(Binary::Complex, a, b) => {
                let ([re, _], [im, _]) = (self.loose(a), self.loose(b));
                [re, im]
            }
            Op::Binary(op, x, y) => self.low.binary(op, self.dtype(x), self.loose(x), self.loose(y)),
            Op::Compare(op, x, y) => [self.low.comparison(op, self.dtype(x), self.loose(x), self.loose(y)); 2],
            Op::Fma(a, b, c) => {
                let ([a, _], [b, _], [c, _]) = (self.loose(a), self.loose(b), self.loose(c));
                [self.low.same(LowOp::Fma, [a, b, c]); 2]
            }
            Op::Select(condition, a, b) => {
                let [condition, _] = self.loose(condition);
                self.low.select_parts(condition, self.loose(a), self.loose(b))
            }
            Op::Cast(overflow, x) => self.low.cast(self.dtype(x), node.dtype, overflow, self.loose(x)),
            // Of complex arguments only the exponential.
            Op::Call(_, z, _) if node.dtype.is_complex() => {
                let [re, im] = self.loose(z);
                let turn = [Function::Cos, Function::Sin].map(|function| self.call(function, lane, im, None));
                expand_exp([re, im], turn, lane, self.low)
            }
            Op::Call(function, x, y) => {
                let [x, _] = self.loose(x);
                let second = y.map(|y| self.loose(y)).map(|[y, _]| y);
                [self.call(function, lane, x, second); 2]
            }
            Op::Input(_) | Op::Bits(_) => self.leaf(node),
        }
    }
}
