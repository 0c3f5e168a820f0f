//! Operators on tensors, which build an expression until it is asked for.
//!
//! `tape.rs` is what was built, `operators.rs` has the operators and `methods.rs` the functions; `choice.rs` is what `select`
//! takes.

mod choice;
mod methods;
mod operators;
mod tape;

use super::formula::{Kept, Recorded};
use super::front::{make_one, write};
use super::ir::{Id, Op};
use super::operands::{Read, Target};
use super::scalar::Scalar;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::core::sync::Arc;
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Tensor, TensorRef};
use crate::libraries::expressions::op::Map;
use crate::libraries::tensor_routine::TensorRoutine;
pub use choice::TermChoice;
use smallvec::SmallVec;
use std::marker::PhantomData;
use tape::{Link, Step, Tape};

/// An expression of tensors that is not computed yet: what operators on tensors give.
///
/// `&a + &b`, `a.exp()` and so on compute nothing: [`eval`](Self::eval) makes one kernel of the whole chain. Operators and
/// methods never fail or panic. An error (of a shape, a type, a device) comes at `eval`, and names the operator and its operands:
/// inputs count in the order in which the expression meets them.
///
/// The rules are those of a [`Symbol`](super::Symbol): nothing is promoted, a number takes the type of what it meets, operands
/// are broadcast to each other. What is used twice is computed once.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// let device = windlass::Device::best()?;
/// let x = device.tensor([2, 2], [0.0f32, 1.0, 2.0, 3.0])?;
/// let mean = device.tensor([2], [1.0f32, 2.0])?;
/// let centred = &x - &mean;
/// let y = ((&centred * &centred) * -0.5).exp().eval(&device)?.into_output();
/// assert!(device.allclose(&y, &device.full([2, 2], (-0.5f32).exp())?, 1e-6, 0.0)?);
/// let error = (&x + &device.zeros::<f32>([3])?).eval(&device).unwrap_err();
/// assert!(error.to_string().contains("add of input 0 and input 1: extents [[2, 2], [3]]"), "{error}");
/// # Ok(()) }
/// ```
#[must_use = "nothing is computed until `eval`"]
pub struct Deferred<'a, T> {
    link: Link<'a>,
    element: PhantomData<fn() -> T>,
}

/// What an expression stands on: its nodes and its tensors.
pub(in crate::libraries) struct Whole<'a> {
    tape: Tape<'a>,
    id: Option<Id>,
}

impl Whole<'_> {
    /// The formula with the values of its parameters, and the extents.
    pub(in crate::libraries) fn recorded(&self) -> Result<(Recorded, Vec<usize>)> {
        let (expr, scalars, extents) = self.tape.finish(self.id)?;
        Ok((Recorded { kept: Kept::for_expr(expr), scalars }, extents))
    }

    /// The operands that are read.
    pub(in crate::libraries) fn reads(&self) -> Result<SmallVec<[Read<'_>; 8]>> {
        self.tape.reads()
    }
}

impl<T> Clone for Deferred<'_, T> {
    fn clone(&self) -> Self {
        Deferred { link: self.link.clone(), element: PhantomData }
    }
}

impl<T: Element> std::fmt::Debug for Deferred<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Deferred<{}>({} nodes)", T::DTYPE, Tape::record(&self.link).0.recording.nodes.len())
    }
}

impl<'a, T: Element> Deferred<'a, T> {
    fn from_view(view: TensorRef<'a, T>) -> Self {
        Deferred { link: Link::View(Arc::new(view), T::DTYPE), element: PhantomData }
    }

    /// The expression with one more operation on this and others, which gives `R`.
    fn then<R: Element, const N: usize>(
        self,
        name: &'static str,
        others: impl FnOnce(Link<'a>) -> [Link<'a>; N],
        chosen: bool,
        op: impl FnOnce([Id; N]) -> Op,
    ) -> Deferred<'a, R> {
        let places = std::array::from_fn(|k| k as Id);
        let link = Step::link(name, others(self.link), (None, chosen.then_some(R::DTYPE)), op(places));
        Deferred { link, element: PhantomData }
    }

    /// All that it stands on, numbered.
    pub(in crate::libraries) fn whole(&self) -> Whole<'a> {
        let (tape, id) = Tape::record(&self.link);
        Whole { tape, id }
    }

    /// Computes it, as a new row-major tensor: one kernel. Does not wait.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) that names the operator and its operands: extents that are not
    /// broadcast to each other, an operation that the type does not have, more than 8 tensors or 4096 operations; a stale tensor,
    /// or one of another device; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn eval(&self, device: &Device) -> Result<PendingDispatch<Tensor<T>>> {
        let whole = self.whole();
        let (recorded, extents) = whole.recorded().map_err(Map::refused)?;
        let reads = whole.reads().map_err(Map::refused)?;
        make_one(device, recorded, &reads, &extents)
    }

    /// Computes it into a tensor, or a [`part`](Tensor::part) of one, to whose extents it is broadcast.
    ///
    /// # Errors
    /// As [`eval`](Self::eval) and [`Device::map_into`]. The target comes back.
    pub fn eval_into<P: Target<Element = T>>(&self, device: &Device, target: P) -> Submitted<Tensor<T>> {
        let part: crate::device::tensor::Part<T> = target.into();
        let whole = self.whole();
        let recorded = whole.recorded().map(|(recorded, _)| recorded);
        match whole.reads() {
            Ok(reads) => write(device, recorded, Ok(&reads), part, false),
            Err(error) => write(device, recorded, Err(error), part, false),
        }
    }
}

/// Where the condition is true `a`, elsewhere `b`.
fn select<'a, T: Element>(
    condition: Deferred<'a, crate::core::truth::Bool>,
    [a, b]: [Term<'a, T>; 2],
) -> Deferred<'a, T> {
    // A number has nothing but the other one to take its type from.
    let [a, b] = [a, b].map(|term| match term.0 {
        Link::Number(scalar) => Link::Number(scalar.adopt(T::DTYPE).unwrap_or(scalar)),
        link => link,
    });
    let link = Step::link("select", [condition.link, a, b], (Some(T::DTYPE), None), Op::Select(0, 1, 2));
    Deferred { link, element: PhantomData }
}

/// What stands beside a tensor: another one, an expression, or a number.
pub struct Term<'a, T>(Link<'a>, PhantomData<fn() -> T>);

impl<T> std::fmt::Debug for Term<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Link::Number(scalar) => scalar.fmt(f),
            _ => f.write_str("an expression"),
        }
    }
}

impl<'a, T> Term<'a, T> {
    fn operand(self) -> Link<'a> {
        self.0
    }
}

impl<'a, T: Element> From<Deferred<'a, T>> for Term<'a, T> {
    fn from(expression: Deferred<'a, T>) -> Self {
        Term(expression.link, PhantomData)
    }
}

impl<'a, T: Element> From<&Deferred<'a, T>> for Term<'a, T> {
    fn from(expression: &Deferred<'a, T>) -> Self {
        expression.clone().into()
    }
}

impl<'a, T: Element> From<&'a Tensor<T>> for Term<'a, T> {
    fn from(tensor: &'a Tensor<T>) -> Self {
        Deferred::from_view(tensor.view()).into()
    }
}

impl<'a, T: Element> From<&'a TensorRef<'_, T>> for Term<'a, T> {
    fn from(view: &'a TensorRef<'_, T>) -> Self {
        Deferred::from_view(view.view()).into()
    }
}

impl<'a, T: Element> From<TensorRef<'a, T>> for Term<'a, T> {
    fn from(view: TensorRef<'a, T>) -> Self {
        Deferred::from_view(view).into()
    }
}

impl<'a, T: Element> From<&'a PendingDispatch<Tensor<T>>> for Term<'a, T> {
    fn from(pending: &'a PendingDispatch<Tensor<T>>) -> Self {
        Deferred::from_view(pending.view()).into()
    }
}

impl<T: Element> From<PendingDispatch<Tensor<T>>> for Term<'_, T> {
    fn from(pending: PendingDispatch<Tensor<T>>) -> Self {
        Deferred::from_view(pending.share()).into()
    }
}

macro_rules! numbers { ($($t:ty),*) => { $(
    impl<T> From<$t> for Term<'_, T> {
        fn from(value: $t) -> Self {
            Term(Link::Number(value.into()), PhantomData)
        }
    }
)* } }
numbers!(
    Scalar,
    bool,
    crate::core::truth::Bool,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    half::f16,
    half::bf16,
    f32,
    f64,
    num_complex::Complex<f32>,
    num_complex::Complex<f64>
);
