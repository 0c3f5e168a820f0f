//! The operators of tensors, views and expressions.

use super::{Deferred, Term};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::device::tensor::{Tensor, TensorRef};
use crate::libraries::expressions::ir::{Binary, Op, Unary};
use num_complex::Complex;
use std::ops;

pub(super) fn unary<'a, T: Element, R: Element>(op: Unary, x: Deferred<'a, T>) -> Deferred<'a, R> {
    x.then(op.name(), |x| [x], false, |[x]| Op::Unary(op, x))
}

pub(super) fn binary<'a, T: Element>(op: Binary, x: Deferred<'a, T>, y: Term<'a, T>) -> Deferred<'a, T> {
    x.then(op.name(), |x| [x, y.operand()], false, |[x, y]| Op::Binary(op, x, y))
}

macro_rules! binary_operators { ($($trait:ident $method:ident $op:ident;)*) => { $(
    binary_operators!(@ $trait $method $op; [] &'a Tensor<T>, |x| Deferred::from_view(x.view()));
    binary_operators!(@ $trait $method $op; ['b,] &'a TensorRef<'b, T>, |x| Deferred::from_view(x.view()));
    binary_operators!(@ $trait $method $op; [] TensorRef<'a, T>, |x| Deferred::from_view(x));
    binary_operators!(@ $trait $method $op; [] Deferred<'a, T>, |x| x);
    binary_operators!(@ $trait $method $op; ['b,] &'b Deferred<'a, T>, |x| x.clone());
    binary_operators!(@ $trait $method $op; [] &'a PendingDispatch<Tensor<T>>, |x| Deferred::from_view(x.view()));
    by_value! { $trait $method $op;
        ['a,] &'a Tensor<T>, 'a;
        ['a, 'b,] &'a TensorRef<'b, T>, 'a;
        ['a,] TensorRef<'a, T>, 'a;
        ['a,] Deferred<'a, T>, 'a;
        ['a, 'b,] &'b Deferred<'a, T>, 'a;
        ['a,] &'a PendingDispatch<Tensor<T>>, 'a;
        [] PendingDispatch<Tensor<T>>, 'static;
        [] i32, 'static; [] f64, 'static; [] Complex<f32>, 'static; [] Complex<f64>, 'static;
    }
    from_the_left!($trait $method $op: i32, f64, Complex<f32>, Complex<f64>);
)* };
(@ $trait:ident $method:ident $op:ident; [$($lifetime:tt)*] $t:ty, |$x:ident| $deferred:expr) => {
    impl<'a, $($lifetime)* T: Element, R: Into<Term<'a, T>>> ops::$trait<R> for $t {
        type Output = Deferred<'a, T>;
        fn $method(self, other: R) -> Deferred<'a, T> {
            let $x = self;
            binary(Binary::$op, $deferred, other.into())
        }
    }
} }

// A pending by value has no lifetime that its right side could share: so the right sides are listed.
macro_rules! by_value { ($trait:ident $method:ident $op:ident; $([$($lifetime:tt)*] $r:ty, $of:lifetime;)*) => { $(
    impl<$($lifetime)* T: Element> ops::$trait<$r> for PendingDispatch<Tensor<T>> {
        type Output = Deferred<$of, T>;
        fn $method(self, other: $r) -> Deferred<$of, T> {
            binary(Binary::$op, Deferred::from_view(self.share()), Term::<$of, T>::from(other))
        }
    }
)* } }

// As for symbols: one type of integers and one of floating point, so that the compiler knows the type of a literal.
macro_rules! from_the_left { ($trait:ident $method:ident $op:ident: $($n:ty),*) => { $(
    from_the_left!(@ $trait $method $op $n; [] &'a Tensor<T>, |x| Deferred::from_view(x.view()));
    from_the_left!(@ $trait $method $op $n; ['b,] &'a TensorRef<'b, T>, |x| Deferred::from_view(x.view()));
    from_the_left!(@ $trait $method $op $n; [] TensorRef<'a, T>, |x| Deferred::from_view(x));
    from_the_left!(@ $trait $method $op $n; [] Deferred<'a, T>, |x| x);
    from_the_left!(@ $trait $method $op $n; ['b,] &'b Deferred<'a, T>, |x| x.clone());
    from_the_left!(@ $trait $method $op $n; [] &'a PendingDispatch<Tensor<T>>, |x| Deferred::from_view(x.view()));
    impl<T: Element> ops::$trait<PendingDispatch<Tensor<T>>> for $n {
        type Output = Deferred<'static, T>;
        fn $method(self, other: PendingDispatch<Tensor<T>>) -> Deferred<'static, T> {
            ops::$trait::$method(self, other.share())
        }
    }
)* };
(@ $trait:ident $method:ident $op:ident $n:ty; [$($lifetime:tt)*] $t:ty, |$x:ident| $deferred:expr) => {
    impl<'a, $($lifetime)* T: Element> ops::$trait<$t> for $n {
        type Output = Deferred<'a, T>;
        fn $method(self, other: $t) -> Deferred<'a, T> {
            let ($x, number) = (other, Term::<T>::from(self).operand());
            let op = Binary::$op;
            $deferred.then(op.name(), |x| [number, x], false, |[n, x]| Op::Binary(op, n, x))
        }
    }
} }

binary_operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
    Rem rem Rem;
    BitAnd bitand And;
    BitOr bitor Or;
    BitXor bitxor Xor;
    Shl shl Shl;
    Shr shr Shr;
}

macro_rules! unary_operators { ($($trait:ident $method:ident $op:ident;)*) => { $(
    unary_operators!(@ $trait $method $op; [] &'a Tensor<T>, |x| Deferred::from_view(x.view()));
    unary_operators!(@ $trait $method $op; ['b,] &'a TensorRef<'b, T>, |x| Deferred::from_view(x.view()));
    unary_operators!(@ $trait $method $op; [] TensorRef<'a, T>, |x| Deferred::from_view(x));
    unary_operators!(@ $trait $method $op; [] Deferred<'a, T>, |x| x);
    unary_operators!(@ $trait $method $op; ['b,] &'b Deferred<'a, T>, |x| x.clone());
    unary_operators!(@ $trait $method $op; [] &'a PendingDispatch<Tensor<T>>, |x| Deferred::from_view(x.view()));
    impl<T: Element> ops::$trait for PendingDispatch<Tensor<T>> {
        type Output = Deferred<'static, T>;
        fn $method(self) -> Deferred<'static, T> {
            ops::$trait::$method(self.share())
        }
    }
)* };
(@ $trait:ident $method:ident $op:ident; [$($lifetime:tt)*] $t:ty, |$x:ident| $deferred:expr) => {
    impl<'a, $($lifetime)* T: Element> ops::$trait for $t {
        type Output = Deferred<'a, T>;
        fn $method(self) -> Deferred<'a, T> {
            let $x = self;
            unary(Unary::$op, $deferred)
        }
    }
} }
unary_operators! {
    Neg neg Neg;
    Not not Not;
}
