//! Bad input: a typed error that names the argument, before anything is done, and all buffers back.

use crate::common::{devices, down, up};
use windlass::solver::{Lu, Structure};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Error, Rejected, Side, Tensor, Transpose, Uplo};

/// The argument that a refusal names, and the reason; the tensors must be back.
#[track_caller]
fn refused<O, B>(answer: Result<O, Rejected<B>>) -> (String, String) {
    let Err(Rejected { error, back }) = answer else { panic!("it was not refused") };
    assert!(back.is_some(), "tensors come back with {error}");
    match error {
        Error::InvalidArgument { argument, reason, .. } => (argument.to_string(), reason),
        other => panic!("{other}"),
    }
}

fn ones(device: &Device, extents: &[usize]) -> Tensor<f64> {
    device.full(extents, 1.0).unwrap()
}

#[test]
fn shapes_that_are_no_matrices_or_too_large_are_refused() {
    for device in devices() {
        let (solver, x) = (device.solver(), |extents: &[usize]| ones(&device, extents));
        let large = i32::MAX as usize + 1;
        let one = || up(&device, vec![1.0f64; 1]);
        let layouts = [
            Layout::row_major([1]).unwrap(),
            Layout::new([0usize; 0], [0isize; 0], 0).unwrap(),
            Layout::new([large, 0], [1, 1], 0).unwrap(),
            Layout::new([0, large], [1, 1], 0).unwrap(),
            Layout::new([large, 1, 0], [0, 1, 1], 0).unwrap(),
        ];
        for layout in layouts {
            let a = || one().with_layout(&layout).unwrap();
            assert_eq!(refused(solver.lu(a())).0, "a", "{layout:?}");
            assert_eq!(refused(solver.cholesky(Uplo::Lower, &a())).0, "a", "{layout:?}");
            assert_eq!(refused(solver.qr(a())).0, "a", "{layout:?}");
            assert_eq!(refused(solver.solve(Structure::General, a(), &x(&[2, 1]))).0, "a", "{layout:?}");
        }
        let (argument, reason) = refused(solver.cholesky(Uplo::Upper, x(&[2, 3])));
        assert!(argument == "a" && reason.contains("2 x 3"), "{reason}");
        assert!(solver.inverse(&x(&[2, 3])).unwrap_err().to_string().contains("2 x 3"));
    }
}

#[test]
fn parts_of_factors_that_do_not_agree_are_refused() {
    for device in devices() {
        let (solver, x) = (device.solver(), |extents: &[usize]| ones(&device, extents));
        let pivots = |n| device.full([n], 1i64).unwrap();
        let lu = |a: &[usize], n| Lu::from_parts(x(a), pivots(n), device.zeros([1]).unwrap());
        let solved = |lu: &Lu<f64>, b| refused(lu.solve(&solver, Transpose::No, b)).0;
        assert_eq!(solved(&lu(&[2, 2], 2), x(&[2])), "a", "rows are no columns");
        let columns = |n| x(&[2, 2]).with_layout(Layout::columns(2, n)).unwrap();
        let of = |a, pivots| Lu::from_parts(a, pivots, device.zeros([1]).unwrap());
        assert_eq!(solved(&of(columns(2), pivots(1)), x(&[2])), "pivots");
        assert_eq!(solved(&of(columns(1), pivots(1)), x(&[2])), "a", "not square");
        let flipped = Layout::row_major([2]).unwrap().flip(0).unwrap();
        assert_eq!(solved(&of(columns(2), pivots(2).with_layout(flipped).unwrap()), x(&[2])), "pivots");
    }
}

#[test]
fn operands_that_do_not_agree_are_refused_with_both_shapes_and_come_back_whole() {
    for device in devices() {
        let (solver, x) = (device.solver(), |extents: &[usize]| ones(&device, extents));
        let lu = solver.lu(&x(&[2, 1, 1])).unwrap().await_result().unwrap();
        for of_b in [&[2, 2, 1][..], &[3, 1, 1], &[2], &[2, 2, 1, 1]] {
            let rejected = lu.solve(&solver, Transpose::No, x(of_b)).unwrap_err();
            let says = format!("`b`: {of_b:?}, but a is [2, 1, 1]");
            assert!(rejected.error.to_string().contains(&says), "{}", rejected.error);
            let (back,) = rejected.back.expect("B comes back");
            assert_eq!((back.shape(), down(&device, &back)), (of_b, vec![1.0; back.len()]));
            // Of what was only borrowed there is nothing to give back.
            let (none,) = lu.solve(&solver, Transpose::No, &back).unwrap_err().back.unwrap();
            assert!(none.is_empty());
        }
        let qr = solver.qr(device.full([3, 2], Complex::new(1.0f32, 2.0)).unwrap()).unwrap().await_result().unwrap();
        let apply = |side, trans, of_c: [usize; 2]| {
            refused(qr.apply(&solver, side, trans, &device.full(of_c, Complex::new(1.0f32, 0.0)).unwrap()))
        };
        assert_eq!(apply(Side::Left, Transpose::Yes, [3, 3]).0, "trans");
        assert_eq!(
            apply(Side::Left, Transpose::No, [2, 3]),
            ("c".into(), "[2, 3], but a is [3, 2]: 3 rows go with it".into())
        );
        let (argument, reason) = apply(Side::Right, Transpose::No, [3, 2]);
        assert!(argument == "c" && reason.contains("3 x 2") && reason.contains("3 x 3"), "{reason}");
        let wide = solver.qr(x(&[1, 2])).unwrap().await_result().unwrap();
        assert_eq!(refused(wide.solve(&solver, x(&[1, 1]))).0, "a");
        let refused_b = refused(solver.solve(Structure::General, x(&[1, 2]), x(&[2, 1])));
        assert_eq!(refused_b, ("b".into(), "[2, 1], but a is [1, 2]: 1 rows go with it".into()));
        // What was given by value comes back as it was, whichever is refused.
        let (a, b, _) = solver.solve(Structure::General, x(&[2, 3]), x(&[3])).unwrap_err().back.unwrap();
        assert_eq!((a.shape(), b.shape()), (&[2, 3][..], &[3][..]));
        assert_eq!(refused(solver.solve(Structure::PositiveDefinite(Uplo::Lower), x(&[2, 3]), x(&[2]))).0, "a");
    }
}

#[test]
fn pivots_that_are_no_rows_break_nothing() {
    for device in devices() {
        if device.kind() != windlass::DeviceKind::Host {
            continue; // The library follows them: what they are is the caller's promise there.
        }
        let pivots = device.tensor([3], [i64::MAX, -5, 0]).unwrap();
        let a = device.contiguous_columns(&ones(&device, &[3, 3])).unwrap().into_output();
        let lu = Lu::from_parts(a, pivots, device.zeros([]).unwrap());
        lu.solve(&device.solver(), Transpose::No, ones(&device, &[3])).unwrap().await_result().unwrap();
    }
}
