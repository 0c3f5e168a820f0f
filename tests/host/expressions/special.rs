//! The special values that the array API standard demands of element-wise functions, in both precisions.

use crate::common::devices;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
use windlass::expressions::{Binary, Expr, Function, Id, Node, Op, Scalar, Unary};
use windlass::{Bool, Device, Element, tensor::AnyTensor};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
/// A finite number, and an odd and an even integer among them.
const ONES: &[f64] = &[1.0, 3.0, 4.0, 0.5, 2.5];

const fn call(function: Function) -> Op {
    Op::Call(function, 0, None)
}

const fn unary(op: Unary) -> Op {
    Op::Unary(op, 0)
}

/// Function, argument, value.
const ONE: &[(Op, &[(f64, f64)])] = &[
    (unary(Unary::Abs), &[(-0.0, 0.0), (-INF, INF), (NAN, NAN)]),
    (call(Function::Acos), &[(1.5, NAN), (-1.5, NAN), (1.0, 0.0), (NAN, NAN)]),
    (call(Function::Acosh), &[(0.5, NAN), (-INF, NAN), (1.0, 0.0), (INF, INF), (NAN, NAN)]),
    (call(Function::Asin), &[(1.5, NAN), (-1.5, NAN), (0.0, 0.0), (-0.0, -0.0), (NAN, NAN)]),
    (call(Function::Asinh), &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)]),
    (call(Function::Atan), &[(0.0, 0.0), (-0.0, -0.0), (INF, FRAC_PI_2), (-INF, -FRAC_PI_2), (NAN, NAN)]),
    (call(Function::Atanh), &[(1.5, NAN), (-1.5, NAN), (1.0, INF), (-1.0, -INF), (0.0, 0.0), (-0.0, -0.0), (NAN, NAN)]),
    (unary(Unary::Ceil), &[(-0.5, -0.0), (0.0, 0.0), (-0.0, -0.0), (3.0, 3.0), (INF, INF), (-INF, -INF), (NAN, NAN)]),
    (unary(Unary::Floor), &[(0.5, 0.0), (0.0, 0.0), (-0.0, -0.0), (3.0, 3.0), (INF, INF), (-INF, -INF), (NAN, NAN)]),
    (unary(Unary::Trunc), &[(0.5, 0.0), (-0.5, -0.0), (-0.0, -0.0), (3.0, 3.0), (INF, INF), (-INF, -INF), (NAN, NAN)]),
    (
        unary(Unary::RoundEven),
        &[(0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)],
    ),
    (call(Function::Cos), &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    (call(Function::Cosh), &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN)]),
    (call(Function::Exp), &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN)]),
    (call(Function::Exp2), &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN)]),
    (call(Function::Expm1), &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (NAN, NAN)]),
    (call(Function::Log), &[(-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (NAN, NAN)]),
    (call(Function::Log2), &[(-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (NAN, NAN)]),
    (call(Function::Log10), &[(-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (NAN, NAN)]),
    (call(Function::Log1p), &[(-2.0, NAN), (-1.0, -INF), (0.0, 0.0), (-0.0, -0.0), (INF, INF), (NAN, NAN)]),
    (unary(Unary::Sign), &[(3.0, 1.0), (-INF, -1.0), (NAN, NAN)]),
    (call(Function::Sin), &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    (call(Function::Sinh), &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)]),
    (unary(Unary::Sqrt), &[(-1.0, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF), (NAN, NAN)]),
    (call(Function::Tan), &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    (call(Function::Tanh), &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN)]),
    // Beyond the standard, as C's library has them.
    (call(Function::Cbrt), &[(0.0, 0.0), (-0.0, -0.0), (-8.0, -2.0), (INF, INF), (-INF, -INF), (NAN, NAN)]),
    (call(Function::Erf), &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN)]),
    (call(Function::Erfc), &[(0.0, 1.0), (INF, 0.0), (-INF, 2.0), (NAN, NAN)]),
    (call(Function::Rsqrt), &[(-1.0, NAN), (0.0, INF), (-0.0, -INF), (INF, 0.0), (NAN, NAN)]),
];

/// Function, arguments, value.
type Two = (Op, Vec<(f64, f64, f64)>);

fn two() -> Vec<Two> {
    let binary = |op| Op::Binary(op, 0, 1);
    let call = |function| Op::Call(function, 0, Some(1));
    let mut atan2 = vec![
        (0.0, 0.0, 0.0),
        (0.0, -0.0, PI),
        (-0.0, 0.0, -0.0),
        (-0.0, -0.0, -PI),
        (INF, INF, FRAC_PI_4),
        (INF, -INF, 3.0 * FRAC_PI_4),
        (-INF, INF, -FRAC_PI_4),
        (-INF, -INF, -3.0 * FRAC_PI_4),
    ];
    let mut pow = vec![
        (NAN, 0.0, 1.0),
        (INF, -0.0, 1.0),
        (1.0, INF, 1.0),
        (1.0, -INF, 1.0),
        (1.0, NAN, 1.0),
        (-1.0, INF, 1.0),
        (-1.0, -INF, 1.0),
        (-0.0, -3.0, -INF),
        (-0.0, 3.0, -0.0),
        (-INF, 3.0, -INF),
        (-INF, -3.0, -0.0),
        (-2.0, 0.5, NAN),
        (-2.0, 3.0, -8.0),
        (-0.0, -INF, INF),
        (-0.0, INF, 0.0),
        (0.5, INF, 0.0),
        (0.5, -INF, INF),
        (-0.5, INF, 0.0),
        (-0.5, -INF, INF),
        (2.0, INF, INF),
        (-2.0, INF, INF),
        (2.0, -INF, 0.0),
        (-2.0, -INF, 0.0),
    ];
    let mut div = vec![(0.0, 0.0, NAN), (-0.0, 0.0, NAN), (INF, INF, NAN), (INF, -INF, NAN)];
    let mut mul = vec![(INF, 0.0, NAN), (-0.0, INF, NAN), (INF, INF, INF), (INF, -INF, -INF)];
    let mut modulo = vec![(0.0, 0.0, NAN), (1.0, -0.0, NAN), (INF, 2.0, NAN), (-INF, INF, NAN)];
    let mut hypot = vec![(INF, NAN, INF), (NAN, -INF, INF), (0.0, -0.0, 0.0), (3.0, 4.0, 5.0)];
    for &x in ONES {
        atan2.extend([(x, 0.0, FRAC_PI_2), (x, -0.0, FRAC_PI_2), (-x, 0.0, -FRAC_PI_2), (-x, -0.0, -FRAC_PI_2)]);
        atan2.extend([(0.0, x, 0.0), (0.0, -x, PI), (-0.0, x, -0.0), (-0.0, -x, -PI)]);
        atan2.extend([(x, INF, 0.0), (x, -INF, PI), (-x, INF, -0.0), (-x, -INF, -PI)]);
        atan2.extend([(INF, x, FRAC_PI_2), (-INF, x, -FRAC_PI_2), (NAN, x, NAN), (x, NAN, NAN)]);
        pow.extend([(x, 0.0, 1.0), (x, -0.0, 1.0), (INF, x, INF), (INF, -x, 0.0), (0.0, x, 0.0), (0.0, -x, INF)]);
        pow.extend([(NAN, x, NAN), (x + 1.0, NAN, NAN)]);
        if x % 2.0 != 1.0 {
            pow.extend([(-INF, x, INF), (-INF, -x, 0.0), (-0.0, x, 0.0), (-0.0, -x, INF)]);
        }
        div.extend([(x, 0.0, INF), (x, -0.0, -INF), (-x, 0.0, -INF), (-x, -0.0, INF), (0.0, x, 0.0), (0.0, -x, -0.0)]);
        div.extend([(INF, x, INF), (-INF, x, -INF), (x, INF, 0.0), (x, -INF, -0.0), (-x, INF, -0.0), (NAN, x, NAN)]);
        mul.extend([(INF, x, INF), (INF, -x, -INF), (x, 0.0, 0.0), (-x, 0.0, -0.0), (x, NAN, NAN)]);
        modulo.extend([(0.0, x, 0.0), (-0.0, x, 0.0), (0.0, -x, -0.0), (-0.0, -x, -0.0), (x, NAN, NAN)]);
        modulo.extend([(x, INF, x), (-x, -INF, -x), (x, -INF, -INF), (-x, INF, INF), (x, x, 0.0), (x, -x, -0.0)]);
        hypot.extend([(INF, x, INF), (-x, -INF, INF), (-x, 0.0, x), (-0.0, x, x), (NAN, x, NAN)]);
    }
    vec![
        (
            binary(Binary::Add),
            vec![(INF, -INF, NAN), (INF, INF, INF), (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0), (3.0, -3.0, 0.0)],
        ),
        (binary(Binary::Sub), vec![(INF, INF, NAN), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (NAN, 1.0, NAN)]),
        (binary(Binary::Mul), mul),
        (binary(Binary::Div), div),
        (binary(Binary::Modulo), modulo),
        (binary(Binary::Maximum), vec![(NAN, 1.0, NAN), (1.0, NAN, NAN), (-INF, 1.0, 1.0), (-0.0, 0.0, 0.0)]),
        (binary(Binary::Minimum), vec![(NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, 1.0, 1.0), (0.0, -0.0, -0.0)]),
        (binary(Binary::Max), vec![(NAN, 1.0, 1.0), (1.0, NAN, 1.0), (NAN, NAN, NAN)]),
        (binary(Binary::Min), vec![(NAN, 1.0, 1.0), (1.0, NAN, 1.0), (NAN, NAN, NAN)]),
        (binary(Binary::Copysign), vec![(1.0, -0.0, -1.0), (-INF, 2.0, INF), (0.0, -INF, -0.0), (-0.0, 3.0, 0.0)]),
        (call(Function::Atan2), atan2),
        (call(Function::Hypot), hypot),
        (call(Function::Pow), pow),
    ]
}

/// A number as the type holds it.
trait Number: Element {
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
    const EPSILON: f64;
}

impl Number for f32 {
    fn of(x: f64) -> Self {
        x as f32
    }
    fn wide(self) -> f64 {
        self.into()
    }
    const EPSILON: f64 = f32::EPSILON as f64;
}

impl Number for f64 {
    fn of(x: f64) -> Self {
        x
    }
    fn wide(self) -> f64 {
        self
    }
    const EPSILON: f64 = f64::EPSILON;
}

fn check<T: Number>(device: &Device, op: Op, arguments: &[&[f64]], wanted: &[f64]) -> Vec<String> {
    let operands: Vec<AnyTensor> = arguments
        .iter()
        .map(|x| device.tensor([x.len()], x.iter().map(|x| T::of(*x)).collect::<Vec<T>>()).unwrap().into())
        .collect();
    let mut nodes: Vec<Node> = (0..arguments.len()).map(|k| Node { op: Op::Input(k as u8), dtype: T::DTYPE }).collect();
    nodes.push(Node { op, dtype: T::DTYPE });
    let last = nodes.len() as Id - 1;
    let expr = Expr::admit(vec![T::DTYPE; arguments.len()], vec![], nodes, vec![last]).unwrap();
    let views: Vec<_> = operands.iter().map(AnyTensor::view).collect();
    let made = device.map_any(&expr, &[], &views).unwrap().pop().unwrap().downcast::<T>().unwrap();
    let got = device.download(&made).unwrap().await_result().unwrap();
    let mut wrong = vec![];
    for (k, (got, want)) in got.iter().zip(wanted).enumerate() {
        let got = got.wide();
        // Two units where the answer is a number such as pi; a zero has its sign.
        let near =
            (got - want).abs() <= 2.0 * T::EPSILON * want.abs() && got.is_sign_negative() == want.is_sign_negative();
        let same = got == *want && got.is_sign_negative() == want.is_sign_negative();
        if !(same || near || (got.is_nan() && want.is_nan())) {
            let given: Vec<f64> = arguments.iter().map(|x| x[k]).collect();
            wrong.push(format!("{} of {given:?} in {}: {got:?}, not {want:?}", op.name(), T::DTYPE));
        }
    }
    wrong
}

#[test]
fn special_values_are_those_of_the_array_api() {
    for device in devices() {
        let mut wrong = vec![];
        for (op, rows) in ONE {
            let (x, wanted): (Vec<f64>, Vec<f64>) = rows.iter().copied().unzip();
            wrong.extend(check::<f32>(&device, *op, &[&x], &wanted));
            wrong.extend(check::<f64>(&device, *op, &[&x], &wanted));
        }
        for (op, rows) in two() {
            let column = |f: fn(&(f64, f64, f64)) -> f64| rows.iter().map(f).collect::<Vec<f64>>();
            let (x, y, wanted) = (column(|r| r.0), column(|r| r.1), column(|r| r.2));
            wrong.extend(check::<f32>(&device, op, &[&x, &y], &wanted));
            wrong.extend(check::<f64>(&device, op, &[&x, &y], &wanted));
        }
        assert!(wrong.is_empty(), "{} on {device:?}:\n{}", wrong.len(), wrong.join("\n"));
    }
}

#[test]
fn what_is_finite_and_what_is_a_number() {
    for device in devices() {
        let x = device.tensor([5], [INF, -INF, NAN, 0.0, 1.5f64]).unwrap();
        let made = device.map(&x, |x| (x.isfinite(), x.isnan(), !(x.isfinite() | x.isnan()))).unwrap();
        let (finite, nan, infinite) = made.into_output();
        let read = |x| device.download::<Bool>(x).unwrap().await_result().unwrap();
        assert_eq!(read(&finite), [0, 0, 0, 1, 1].map(Bool));
        assert_eq!(read(&nan), [0, 0, 1, 0, 0].map(Bool));
        assert_eq!(read(&infinite), [1, 1, 0, 0, 0].map(Bool));
        assert_eq!(Scalar::new(NAN).words()[0], NAN.to_bits());
    }
}
