//! What is refused: with the operation or the operand and the axis named, and the tensors back.

use crate::common::{devices, host};
use windlass::expressions::{Expr, Formula, Node, Op, Scalar, Symbol, Unary, constant, extent, position};
use windlass::tensor::Layout;
use windlass::{Bool, Complex, DType, Error, Tensor};

fn reason(error: impl Into<Error>) -> String {
    match error.into() {
        Error::InvalidArgument { argument, reason, .. } => format!("{argument}: {reason}"),
        other => panic!("{other}"),
    }
}

#[test]
fn the_first_error_of_a_closure_names_operation_and_operands() {
    let refused = |error: Result<Formula<Symbol<i32>, Symbol<i32>>, Error>| reason(error.unwrap_err());
    assert_eq!(
        refused(Formula::new(|n: Symbol<i32>| n.sqrt())),
        "formula: sqrt of input 0: i32 is no floating point number: cast it"
    );
    assert_eq!(
        refused(Formula::new(|n: Symbol<i32>| n + 1_000_000_000_000i64)),
        "formula: add of input 0 and 1000000000000: the number 1000000000000 (i64) is no value of i32: cast the other operand"
    );
    assert_eq!(
        refused(Formula::new(|n: Symbol<i32>| constant(0.5) * n)),
        "formula: mul of 0.5 and input 0: the number 0.5 (f64) is no value of i32: cast the other operand"
    );
    let complex = Formula::new(|z: Symbol<Complex<f32>>| z.lt(z)).unwrap_err();
    assert_eq!(reason(complex), "formula: lt of input 0 and input 0: c32 has no order");
    let truth = Formula::new(|c: Symbol<Bool>| c + c).unwrap_err();
    assert_eq!(reason(truth), "formula: add of input 0 and input 0: bool is no number: cast it, or select");
    let bits = Formula::new(|x: Symbol<f64>| x.bits::<f32>()).unwrap_err();
    assert_eq!(
        reason(bits),
        "formula: bits of input 0: the bits of f64 are not those of f32: take real types of the same size"
    );
}

#[test]
fn symbols_of_other_closures_are_refused() {
    let mut stray = None;
    Formula::new(|x: Symbol<f32>| *stray.insert(x)).unwrap();
    let stray = stray.unwrap();
    let refused = |error: Result<Formula<Symbol<f32>, Symbol<f32>>, Error>| reason(error.unwrap_err());
    assert_eq!(
        refused(Formula::new(|x: Symbol<f32>| x + stray)),
        "formula: add of input 0 and input 0 uses a symbol of another closure"
    );
    assert_eq!(refused(Formula::new(|_: Symbol<f32>| stray)), "formula: an output is a symbol of another closure");
    assert_eq!(
        refused(Formula::new(|x: Symbol<f32>| (stray + 1.0) * x)),
        "formula: mul of a failed value and input 0 uses a symbol of another closure"
    );
    let outer = Formula::new(|x: Symbol<f32>| {
        assert!(Formula::new(|y: Symbol<f32>| y + x).is_err());
        x + x
    });
    assert_eq!(outer.unwrap().expr().nodes().len(), 2);
}

#[test]
fn too_much_is_refused() {
    let refused = |error: Result<Formula<Symbol<f32>, Symbol<f32>>, Error>| reason(error.unwrap_err());
    assert_eq!(
        refused(Formula::new(|x: Symbol<f32>| (0..4096).fold(x, |y, _| y + x))),
        "formula: more than 4096 nodes: split it into several formulas"
    );
    assert_eq!(
        refused(Formula::new(|x: Symbol<f32>| (0..129).fold(x, |y, _| y + 1.0))),
        "formula: more than 128 numbers: bake some in by constant(..)"
    );
    assert!(Formula::new(|()| extent(64)).is_err());
    let formula = Formula::new(|x: Symbol<f32>| x * 2.0).unwrap();
    assert!(reason(formula.with_scalars([1.0, 2.0]).unwrap_err()).contains("1 parameters"));
    assert!(reason(formula.with_scalars::<f32>([]).unwrap_err()).contains("0 values"));
}

#[test]
fn operands_that_do_not_fit_are_named_with_their_shapes_and_come_back() {
    for device in devices() {
        let (x, y) = (device.zeros::<f32>([2, 3]).unwrap(), device.zeros::<f32>([2, 4]).unwrap());
        let apart = device.map((&x, &y), |(x, y)| x + y).unwrap_err();
        assert!(reason(apart).contains("operand 1 has shape [2, 4], but operand 0 has [2, 3]"));
        let rejected = device.map_into(&x, y, |x| x).unwrap_err();
        let y = rejected.back.unwrap().0;
        assert!(reason(rejected.error).starts_with("input 0"));
        let wide = y.part(|all| all.broadcast([5, 2, 4])).unwrap();
        let rejected = device.map_into((), wide, |()| position(0).cast::<f32>()).unwrap_err();
        let y = rejected.back.unwrap().0;
        assert_eq!(y.shape(), [2, 4]);
        assert!(reason(rejected.error).contains("one place"));
        let rejected = device.map_into((), y, |()| position(2).cast::<f32>()).unwrap_err();
        let y = rejected.back.unwrap().0;
        assert!(reason(rejected.error).contains("axis 2 of 2 axes"));
        let short = device.zeros::<f32>([2, 3]).unwrap();
        let rejected = device.update((y, short), (), |(a, b), ()| (a + b, b)).unwrap_err();
        assert!(rejected.back.is_some());
        assert_eq!(reason(rejected.error), "output 1: 3 elements on axis 1, but the first output has 4: broadcast it");
    }
}

#[test]
fn tensors_of_other_devices_and_generations_are_refused() {
    let (one, other) = (host(1).open().unwrap(), host(1).open().unwrap());
    let (x, y) = (one.zeros::<f32>([2]).unwrap(), other.zeros::<f32>([2]).unwrap());
    let error = one.map((&x, &y), |(x, y)| x + y).unwrap_err();
    assert!(error.to_string().contains("input 1"), "{error}");
    one.rebuild(crate::common::LONG).unwrap();
    assert!(matches!(one.map(&x, |x| x), Err(Error::GpuRefStale { .. })));
}

/// What is written lies in memory that is read, or written by another output.
#[test]
fn operands_that_overlap_are_named_and_come_back() {
    for device in devices() {
        let buffer = device.upload(vec![1.0f32; 8]).unwrap().into_output();
        // SAFETY: no operation is submitted on the alias: each is refused.
        let (alias, second) = unsafe { (buffer.alias(), buffer.alias()) };
        let x = Tensor::from_buffer(buffer, [2, 4]).unwrap();
        let target = Tensor::from_buffer(alias, [2, 4]).unwrap();
        let half = target.part(|all| all.index(0, 1)).unwrap();
        let rejected = device.map_into(x.index(0, 1).unwrap(), half, |x| x + 1.0).unwrap_err();
        let target = rejected.back.unwrap().0;
        assert_eq!(
            reason(rejected.error),
            "output 0: it lies in the memory of input 0: write another tensor, or update in place"
        );
        let two = (target, Tensor::from_buffer(second, [2, 4]).unwrap());
        let rejected =
            device.map_into((), two, |()| (position(0).cast::<f32>(), position(1).cast::<f32>())).unwrap_err();
        let (target, second) = rejected.back.unwrap();
        assert!(reason(rejected.error).starts_with("output 1: it lies in the memory of output 0"));
        let rejected = device.update(target, &x, |y, x| y + x).unwrap_err();
        let target = rejected.back.unwrap().0;
        assert!(reason(rejected.error).starts_with("output 0: it lies in the memory of input 0"));
        // Of different elements, in one buffer, nothing overlaps.
        let below = target.part(|all| all.index(0, 0)).unwrap();
        let written = device.map_into(x.index(0, 1).unwrap(), below, |x| x + 1.0).unwrap().await_result().unwrap();
        assert_eq!(device.download(&written).unwrap().await_result().unwrap()[..5], [2.0, 2.0, 2.0, 2.0, 1.0]);
        drop(second);
    }
}

#[test]
fn targets_that_are_stale_foreign_or_never_written_come_back() {
    let (one, other) = (host(1).open().unwrap(), host(1).open().unwrap());
    let x = one.zeros::<f32>([2]).unwrap();
    let rejected = one.map_into(&x, other.zeros::<f32>([2]).unwrap(), |x| x).unwrap_err();
    assert!(rejected.back.is_some() && rejected.error.to_string().contains("output 0"), "{}", rejected.error);
    let rejected = one.update(one.uninit::<f32>([2]).unwrap(), (), |x, ()| x + 1.0).unwrap_err();
    assert!(rejected.back.is_some() && rejected.error.to_string().contains("never written"), "{}", rejected.error);
    let old = one.zeros::<f32>([2]).unwrap();
    one.rebuild(crate::common::LONG).unwrap();
    let rejected = one.map_into((), old, |()| position(0).cast::<f32>()).unwrap_err();
    assert!(matches!(rejected.error, Error::GpuRefStale { .. }) && rejected.back.is_some());
    assert!(matches!((&x + 1.0).eval(&one), Err(Error::GpuRefStale { .. })));
}

#[test]
fn more_operands_and_extents_than_there_can_be() {
    let device = host(1).open().unwrap();
    let f = DType::F32;
    let inputs: Vec<Node> = (0..9).map(|k| Node { op: Op::Input(k), dtype: f }).collect();
    let nine = Expr::admit(vec![f; 9], vec![], inputs.clone(), vec![0]).unwrap_err();
    assert!(reason(nine).contains("at most 8"));
    let five = Expr::admit(vec![f; 8], vec![], inputs[..8].to_vec(), vec![0, 1, 2, 3, 4]).unwrap_err();
    assert!(reason(five).contains("at most 4"));
    assert!(reason(device.tabulate([usize::MAX, 2], || position(0)).unwrap_err()).contains("more elements"));
    assert!(reason(device.tabulate([1; 65], || position(0)).unwrap_err()).contains("at most 64"));
    let x = device.zeros::<f32>([1]).unwrap();
    let wide = x.broadcast([1 << 40, 1]).unwrap();
    let error = device.map((&wide, x.broadcast([1, 1 << 40]).unwrap()), |(x, y)| x + y).unwrap_err();
    assert!(reason(error).contains("more elements"));
    let whole = Formula::new(|n: Symbol<i32>| n + 1).unwrap();
    let refused = whole.with_scalars([1.5]).unwrap_err();
    assert_eq!(reason(refused), "scalars: 1.5 is no value of i32 (parameter 0)");
}

#[test]
fn plain_data_is_admitted_by_the_same_checks() {
    let device = host(1).open().unwrap();
    let double = Formula::new(|x: Symbol<f32>| x * 2.0).unwrap();
    let layout = |n: usize| Layout::row_major([n]).unwrap();
    let x = device.upload(vec![1.0f32; 4]).unwrap().into_output();
    let run = |scalars: &[Scalar], reads: usize, n: usize| {
        let inputs = (0..reads).map(|_| ((&x).into(), layout(n))).collect();
        let out = device.uninit::<f32>(4).unwrap();
        reason(
            device.evaluate(double.expr(), scalars, inputs, vec![(out.into_buffer().into(), layout(4))]).unwrap_err(),
        )
    };
    assert_eq!(run(&[], 1, 4), "scalars: 0, but the formula has 1");
    assert_eq!(run(&[Scalar::new(1i32)], 1, 4), "scalars: number 0 is i32, not f32");
    assert_eq!(run(double.scalars(), 2, 4), "inputs: 2, but the formula has 1");
    assert_eq!(run(double.scalars(), 1, 3), "input 0: 3 elements on axis 0, but the first output has 4: broadcast it");
    let far = Layout::new([4], [2], 0).unwrap();
    let out = device.uninit::<f32>(4).unwrap();
    let rejected = device.evaluate(
        double.expr(),
        double.scalars(),
        vec![((&x).into(), far)],
        vec![(out.into_buffer().into(), layout(4))],
    );
    assert!(reason(rejected.unwrap_err()).contains("reaches element 6 of 4"));
    let integers = device.uninit::<i32>(4).unwrap();
    let rejected = device.evaluate(
        double.expr(),
        double.scalars(),
        vec![((&x).into(), layout(4))],
        vec![(integers.into_buffer().into(), layout(4))],
    );
    assert_eq!(reason(rejected.unwrap_err()), "output 0: its elements are i32, but the formula has f32");
    assert!(Scalar::from_words(DType::U8, [256, 0]).is_err());
}

#[test]
fn each_defect_of_an_expression_is_named() {
    let f = DType::F32;
    let node = |op, dtype| Node { op, dtype };
    let refused =
        |nodes: Vec<Node>, outputs: &[u16]| reason(Expr::admit(vec![f], vec![], nodes, outputs.to_vec()).unwrap_err());
    let late = refused(vec![node(Op::Unary(Unary::Neg, 0), f)], &[0]);
    assert_eq!(late, "nodes: node 0, neg: uses node 0, which does not come before it");
    let wrong = refused(vec![node(Op::Input(0), DType::F64)], &[0]);
    assert_eq!(wrong, "nodes: node 0, input 0 is f32, not f64");
    let lie = refused(vec![node(Op::Input(0), f), node(Op::Unary(Unary::Neg, 0), DType::F64)], &[1]);
    assert_eq!(lie, "nodes: node 1, neg: its result is f32, not f64");
    let axis = refused(vec![node(Op::Position(64), DType::I64)], &[0]);
    assert_eq!(axis, "nodes: node 0, position: axis 64, but there are at most 64 axes");
    assert_eq!(refused(vec![node(Op::Input(0), f)], &[]), "outputs: an expression has at least one output");
    assert_eq!(refused(vec![node(Op::Input(0), f)], &[1]), "outputs: node 1, but there are 1");
    let many = refused(vec![node(Op::Input(0), f); 4097], &[0]);
    assert_eq!(many, "nodes: 4097, but at most 4096 are allowed");
}

/// Bytes that say an expression are read by the function that admits one.
#[test]
fn bytes_are_admitted_as_lists_are() {
    let sound = Formula::new(|(x, y): (Symbol<f32>, Symbol<f32>)| (x * y + 1.0).max(0.0)).unwrap();
    let bytes = postcard::to_allocvec(sound.expr()).unwrap();
    assert_eq!(&postcard::from_bytes::<Expr>(&bytes).unwrap(), sound.expr());
    let mut refused = 0;
    for at in 0..bytes.len() {
        for value in [0u8, 1, 7, 0x7f, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            refused += usize::from(postcard::from_bytes::<Expr>(&bytes).is_err());
        }
    }
    assert!(refused > bytes.len());
}
