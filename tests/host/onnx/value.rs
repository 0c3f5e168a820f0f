//! Values of formulas whose types are known only when the program runs: an expression is written down as plain data.

use std::cell::RefCell;
use std::ops;
use windlass::DType;
use windlass::expressions::{Binary, Compare, Expr, Function, Id, Node, Op, Overflow, Scalar, Unary};

/// The nodes so far.
pub(super) struct Formula {
    inputs: Vec<DType>,
    nodes: RefCell<Vec<Node>>,
}

impl Formula {
    pub(super) fn new(inputs: Vec<DType>) -> Self {
        let nodes = inputs.iter().enumerate().map(|(k, dtype)| Node { op: Op::Input(k as u8), dtype: *dtype });
        let nodes = RefCell::new(nodes.collect());
        Formula { inputs, nodes }
    }

    pub(super) fn inputs(&self) -> Vec<Value<'_>> {
        (0..self.inputs.len() as Id).map(|id| Value { formula: self, id }).collect()
    }

    pub(super) fn expr(&self, outputs: &[Value<'_>]) -> Expr {
        let outputs = outputs.iter().map(|value| value.id).collect();
        Expr::admit(self.inputs.clone(), vec![], self.nodes.borrow().clone(), outputs).unwrap()
    }

    fn push(&self, op: Op, declared: DType) -> Value<'_> {
        let mut nodes = self.nodes.borrow_mut();
        let mut types = [DType::Bool; 3];
        for (k, id) in op.operands().enumerate() {
            types.iter_mut().skip(k).for_each(|dtype| *dtype = nodes[usize::from(id)].dtype);
        }
        let dtype = Expr::result_type(&op, types, declared).unwrap_or_else(|e| panic!("{}: {e}", op.name()));
        nodes.push(Node { op, dtype });
        Value { formula: self, id: nodes.len() as Id - 1 }
    }

    /// The position of the element along an axis.
    pub(super) fn position(&self, axis: usize) -> Value<'_> {
        self.push(Op::Position(axis as u8), DType::I64)
    }

    /// A number in this type.
    pub(super) fn number(&self, dtype: DType, x: f64) -> Value<'_> {
        match dtype {
            DType::I64 | DType::U64 => self.push(Op::Constant(Scalar::new(x as i64)), DType::I64).cast(dtype),
            _ => self.push(Op::Constant(Scalar::new(x)), DType::F64).cast(dtype),
        }
    }
}

/// A value of a formula.
#[derive(Clone, Copy)]
pub(super) struct Value<'f> {
    formula: &'f Formula,
    id: Id,
}

impl<'f> Value<'f> {
    pub(super) fn dtype(self) -> DType {
        self.formula.nodes.borrow()[usize::from(self.id)].dtype
    }

    pub(super) fn formula(self) -> &'f Formula {
        self.formula
    }

    /// A number in this value's type.
    pub(super) fn number(self, x: f64) -> Self {
        self.formula.number(self.dtype(), x)
    }

    pub(super) fn unary(self, op: Unary) -> Self {
        self.formula.push(Op::Unary(op, self.id), self.dtype())
    }

    pub(super) fn binary(self, op: Binary, other: Self) -> Self {
        self.formula.push(Op::Binary(op, self.id, other.id), self.dtype())
    }

    pub(super) fn compare(self, op: Compare, other: impl Into<Beside<'f>>) -> Self {
        let other = other.into().value(self);
        self.formula.push(Op::Compare(op, self.id, other.id), DType::Bool)
    }

    pub(super) fn lt(self, other: impl Into<Beside<'f>>) -> Self {
        self.compare(Compare::Lt, other)
    }

    pub(super) fn gt(self, other: impl Into<Beside<'f>>) -> Self {
        self.compare(Compare::Gt, other)
    }

    pub(super) fn call(self, function: Function) -> Self {
        self.formula.push(Op::Call(function, self.id, None), self.dtype())
    }

    pub(super) fn pow(self, other: Self) -> Self {
        self.formula.push(Op::Call(Function::Pow, self.id, Some(other.id)), self.dtype())
    }

    pub(super) fn minimum(self, other: impl Into<Beside<'f>>) -> Self {
        self.binary(Binary::Minimum, other.into().value(self))
    }

    pub(super) fn maximum(self, other: impl Into<Beside<'f>>) -> Self {
        self.binary(Binary::Maximum, other.into().value(self))
    }

    /// `a` where this is true, `b` elsewhere; a number takes the type of the other one.
    pub(super) fn select(self, a: impl Into<Beside<'f>>, b: impl Into<Beside<'f>>) -> Self {
        let (a, b) = match (a.into(), b.into()) {
            (Beside::Value(a), b) => (a, b.value(a)),
            (a, Beside::Value(b)) => (a.value(b), b),
            _ => panic!("two numbers have no type"),
        };
        self.formula.push(Op::Select(self.id, a.id, b.id), a.dtype())
    }

    pub(super) fn cast(self, dtype: DType) -> Self {
        self.formula.push(Op::Cast(Overflow::Saturate, self.id), dtype)
    }

    pub(super) fn bits(self, dtype: DType) -> Self {
        self.formula.push(Op::Bits(self.id), dtype)
    }
}

/// What stands beside a value.
#[derive(Clone, Copy)]
pub(super) enum Beside<'f> {
    Value(Value<'f>),
    Number(f64),
}

impl<'f> Beside<'f> {
    fn value(self, beside: Value<'f>) -> Value<'f> {
        match self {
            Beside::Value(value) => value,
            Beside::Number(x) => beside.number(x),
        }
    }
}

impl<'f> From<Value<'f>> for Beside<'f> {
    fn from(value: Value<'f>) -> Self {
        Beside::Value(value)
    }
}

impl From<f64> for Beside<'_> {
    fn from(x: f64) -> Self {
        Beside::Number(x)
    }
}

macro_rules! operators { ($($trait:ident $method:ident $op:ident;)*) => { $(
    impl<'f, R: Into<Beside<'f>>> ops::$trait<R> for Value<'f> {
        type Output = Value<'f>;
        fn $method(self, other: R) -> Value<'f> {
            let other = other.into().value(self);
            self.binary(Binary::$op, other)
        }
    }
)* } }
operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
}
