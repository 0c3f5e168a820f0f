//! What level 3 refuses: an error that names the argument and both values, before anything runs, with the buffers back.

use crate::common::{columns, devices, down, refused, routine, up};
use windlass::blas::{Geam, Her2k, Herk, Symm, Syr2k, Syrk, Triangular};
use windlass::tensor::Layout;
use windlass::{Complex, Element, Gemm, Rejected, Side, Submitted, Tensor, Transpose, Uplo, f16};

/// The refusal names `argument` and says `text`; the tensor is back.
#[track_caller]
fn refuses<T: Element>(answer: Submitted<Tensor<T>>, argument: &str, texts: &[&str]) -> Tensor<T> {
    let Err(Rejected { error, back, .. }) = answer else { panic!("{argument} was not refused") };
    let (name, reason) = refused(&error);
    assert_eq!(name, argument, "{reason}");
    texts.iter().for_each(|text| assert!(reason.contains(text), "{reason} does not say {text}"));
    back.expect("the tensor").0
}

#[test]
fn shapes_that_do_not_go_together_are_named() {
    for device in devices() {
        let (blas, x) = (device.blas(), device.full([3, 3], 1f64).unwrap());
        let (left, right, lower) = (Side::Left, Side::Right, Uplo::Lower);
        let (two, wide) = (device.full([2, 2], 1f64).unwrap(), device.full([3, 4], 1f64).unwrap());
        let batch = device.full([2, 3, 3], 1f64).unwrap();
        let mut c = device.full([3, 3], 5f64).unwrap();
        c = refuses(blas.symm(Symm::new(left, lower), &two, &x, c), "a", &["2 x 2", "`c` of 3 x 3", "be 3 x 3"]);
        c = refuses(blas.symm(Symm::new(right, lower), &x, &wide, c), "b", &["3 x 4", "`c` of 3 x 3"]);
        c = refuses(blas.symm(Symm::new(left, lower), &batch, &x, c), "a", &["[2, 3, 3]", "3 axes"]);
        c = refuses(blas.syrk(Syrk::new(lower), &two, c), "c", &["3 x 3", "`a` of 2 x 2"]);
        c = refuses(blas.syr2k(Syr2k::new(lower), &x, &wide, c), "b", &["3 x 4", "`a` of 3 x 3"]);
        c = refuses(blas.syrkx(Syr2k::new(lower), &wide, &x, c), "b", &["3 x 3", "`a` of 3 x 4"]);
        c = refuses(blas.syrkx(Syr2k::new(lower), wide.transpose(), wide.transpose(), c), "c", &["3 x 3", "4 x 3"]);
        c = refuses(blas.trsm(Triangular::new(right, lower), &two, c), "a", &["2 x 2", "`b` of 3 x 3"]);
        c = refuses(blas.trmm(Triangular::new(left, lower), &wide, c), "a", &["3 x 4", "be 3 x 3"]);
        c = refuses(blas.trmm_into(Triangular::new(left, lower), &x, &wide, c), "b", &["3 x 4", "`c` of 3 x 3"]);
        c = refuses(blas.trsm(Triangular::new(left, lower), &batch, c), "a", &["[2, 3, 3]", "[]"]);
        c = refuses(blas.geam(Geam::new(), &wide, &x, c), "a", &["3 x 4", "`c` of 3 x 3"]);
        c = refuses(blas.geam(Geam::new(), &x, wide.transpose(), c), "b", &["4 x 3", "`c` of 3 x 3"]);
        let row = |n: usize| device.full([n], 1f64).unwrap();
        c = refuses(blas.dgmm(left, &wide, &row(3), c), "a", &["3 x 4", "`c` of 3 x 3"]);
        c = refuses(blas.dgmm(left, &x, &row(4), c), "x", &["[4]", "3 x 3", "[3]"]);
        c = refuses(blas.dgmm(left, &x, &x, c), "x", &["2 axes"]);
        c = refuses(blas.dgmm(left, &x, row(1).broadcast([3]).unwrap(), c), "x", &["increment of 0"]);
        assert_eq!(down(&device, &c), vec![5.0; 9], "nothing ran");
        // Buffers are vectors.
        let buffer = up(&device, vec![1f64; 9]);
        c = refuses(blas.syrk(Syrk::new(lower), &buffer, c), "a", &["1 axes"]);
        refuses(blas.trsm(Triangular::new(left, lower), &x, buffer), "b", &["less than two axes"]);
        drop(c);
    }
}

/// A number on the device is one element.
#[test]
fn scalars_of_no_element_are_refused() {
    for device in devices() {
        let (blas, x) = (device.blas(), device.full([1, 1], Complex::new(1f64, 0.0)).unwrap());
        let (none, real) = (device.zeros::<Complex<f64>>(0).unwrap(), device.zeros::<f64>(2).unwrap());
        let (left, lower) = (Side::Left, Uplo::Lower);
        let says = |answer: Submitted<Tensor<Complex<f64>>>, name: &str, n: &str| {
            refuses(answer, name, &[n, "takes 1"]);
        };
        let c = || device.full([1, 1], Complex::new(1f64, 0.0)).unwrap();
        says(blas.symm(Symm::new(left, lower).alpha(&none), &x, &x, c()), "alpha", "0 elements");
        says(blas.hemm(Symm::new(left, lower).beta(&none), &x, &x, c()), "beta", "0 elements");
        says(blas.syrk(Syrk::new(lower).alpha(&none), &x, c()), "alpha", "0 elements");
        says(blas.herk(Herk::new(lower).beta(&real), &x, c()), "beta", "2 elements");
        says(blas.her2k(Her2k::new(lower).beta(&real), &x, &x, c()), "beta", "2 elements");
        says(blas.trmm(Triangular::new(left, lower).alpha(&none), &x, c()), "alpha", "0 elements");
        says(blas.trmm_into(Triangular::new(left, lower).alpha(&none), &x, &x, c()), "alpha", "0 elements");
        says(blas.trsm(Triangular::new(left, lower).alpha(&none), &x, c()), "alpha", "0 elements");
        says(blas.geam(Geam::new().beta(&none), &x, &x, c()), "beta", "0 elements");
    }
}

#[test]
fn batches_that_overlap_or_reach_too_far_are_refused() {
    for device in devices() {
        let blas = device.blas();
        let x = up(&device, vec![1f32; 12]);
        let c = up(&device, vec![1f32; 12]);
        let of = |stride| Layout::columns(2, 2).batch(3, stride);
        let square = x.view(of(4)).unwrap();
        let overlapping = c.with_layout(of(3)).unwrap();
        let c = refuses(blas.gemm(Gemm::new(), &square, &square, overlapping), "c", &["4 elements", "3"]).into_buffer();
        assert!(x.view(Layout::columns(2, 2).batch(4, 4)).is_err(), "no view reaches beyond its buffer");
        let solve = || Triangular::new(Side::Left, Uplo::Lower);
        let square_of_x = columns(&x, 2, 2);
        refuses(blas.trsm(solve(), square_of_x, c.with_layout(of(0)).unwrap()), "b", &["overlap"]);
        // Lists: all of them come back.
        let views = [columns(&x, 2, 2), columns(&x, 2, 2)];
        let c =
            |shapes: &[[usize; 2]]| shapes.iter().map(|shape| device.full(shape, 1f32).unwrap()).collect::<Vec<_>>();
        let said = |answer: Submitted<Vec<Tensor<f32>>>, count: usize| {
            let Err(rejected) = answer else { panic!("it was not refused") };
            assert_eq!(rejected.back.unwrap().0.len(), count);
            refused(&rejected.error)
        };
        let gemm = Gemm::new;
        assert_eq!(
            said(blas.gemm_batched(gemm(), &views, &views, c(&[[2, 2]])), 1).0,
            "a",
            "two factors for one product"
        );
        let (name, reason) = said(blas.gemm_batched(gemm(), &views, &views, c(&[[2, 2], [2, 1]])), 2);
        assert!(name == "c[1]" && reason.contains("2 x 1") && reason.contains("2 x 2"), "{name}: {reason}");
        let three = [views[0].view(), square.view()];
        let (name, reason) = said(blas.gemm_batched(gemm(), &views, &three, c(&[[2, 2], [2, 2]])), 2);
        assert!(name == "b[1]" && reason.contains("[3, 2, 2]") && reason.contains("two axes"), "{name}: {reason}");
        let groups = [(gemm(), usize::MAX), (gemm(), 3)];
        assert_eq!(said(blas.gemm_grouped(groups, &views, &views, c(&[[2, 2], [2, 2]])), 2).0, "a");
        let empty = up(&device, Vec::<f32>::new());
        let groups = [(gemm(), 1), (gemm().alpha(x.as_in().slice(..1).unwrap()).beta(&empty), 1)];
        let refusal = said(blas.gemm_grouped(groups, &views, &views, c(&[[2, 2], [2, 2]])), 2);
        assert_eq!(refusal.0, "beta", "a scalar of no element");
        let (name, reason) = said(blas.trsm_batched(solve(), &views[..1], c(&[[2, 2], [2, 2]])), 2);
        assert!(name == "a" && reason.contains("1 matrices") && reason.contains("of 2"), "{reason}");
        let (name, reason) = said(blas.trsm_batched(solve(), &views, c(&[[2, 2], [2, 1]])), 2);
        assert!(name == "b[1]" && reason.contains("[2, 1]") && reason.contains("[2, 2]"), "{name}: {reason}");
        let three = [views[0].view(), square.view()];
        let (name, reason) = said(blas.trsm_batched(solve(), &three, c(&[[2, 2], [2, 2]])), 2);
        assert!(name == "a[1]" && reason.contains("3 axes"), "{name}: {reason}");
        let orders = [views[0].view(), views[0].transpose()];
        let (name, reason) = said(blas.trsm_batched(solve(), &orders, c(&[[2, 2], [2, 2]])), 2);
        assert!(name == "a[1]" && reason.contains("one layout"), "{name}: {reason}");
    }
}

#[test]
fn factorizations_take_pivots_and_infos_of_their_shapes() {
    for device in devices() {
        let blas = device.blas();
        let numbers = |shape: &[usize]| device.full(shape, 1).unwrap();
        let matrices =
            |shape: &[usize]| device.contiguous_columns(&device.full(shape, 1f64).unwrap()).unwrap().into_output();
        let refused_with = |a: Tensor<f64>, pivots: &[usize], info: &[usize]| {
            let shape = a.shape().to_vec();
            let Err(rejected) = blas.getrf(a, numbers(pivots), numbers(info)) else { panic!("{shape:?}") };
            assert_eq!(rejected.back.unwrap().0.shape(), shape);
            refused(&rejected.error)
        };
        assert_eq!(refused_with(matrices(&[3, 2, 3]), &[3, 2], &[3]).0, "a");
        let (name, reason) = refused_with(matrices(&[3, 2, 2]), &[5], &[3]);
        assert!(name == "pivots" && reason.contains("[5]") && reason.contains("[3, 2]"), "{reason}");
        assert_eq!(refused_with(matrices(&[3, 2, 2]), &[6], &[3]).0, "pivots");
        let (name, reason) = refused_with(matrices(&[3, 2, 2]), &[3, 2], &[2]);
        assert!(name == "info" && reason.contains("[2]") && reason.contains("[3]"), "{reason}");
        let overlapping = up(&device, vec![1f64; 12]).with_layout(Layout::columns(2, 2).batch(3, 3)).unwrap();
        assert_eq!(refused_with(overlapping, &[3, 2], &[3]).0, "a");
        let turned = numbers(&[2, 3]).with_layout(numbers(&[2, 3]).layout().transpose()).unwrap();
        let rejected = blas.getrf(matrices(&[3, 2, 2]), turned, numbers(&[3])).unwrap_err();
        let (name, reason) = refused(&rejected.error);
        assert!(name == "pivots" && reason.contains("`contiguous`"), "{reason}");
        assert_eq!(rejected.back.unwrap().1.shape(), [3, 2]);
        let (x, places) = (matrices(&[3, 2, 2]), numbers(&[3, 2]));
        refuses(
            blas.getrs(Transpose::No, &x, &places, matrices(&[3, 3, 1])),
            "b",
            &["3 matrices of 3 x 1", "3 of 2 x 2"],
        );
        refuses(
            blas.getrs(Transpose::No, &x, &places, matrices(&[2, 2, 1])),
            "b",
            &["2 matrices of 2 x 1", "3 of 2 x 2"],
        );
        let rejected = blas.getri(&x, &places, matrices(&[3, 2, 1]), numbers(&[3])).unwrap_err();
        assert!(refused(&rejected.error).0 == "c" && rejected.back.is_some());
        let rejected = blas.matinv(&x, matrices(&[3, 2, 2]), numbers(&[2])).unwrap_err();
        assert!(refused(&rejected.error).0 == "info" && rejected.back.is_some());
        // Lists: as many as there are to be, all alike.
        let lists = |n: usize| (0..n).map(|_| matrices(&[2, 2])).collect::<Vec<_>>();
        let rejected =
            blas.getrf_batched([matrices(&[2, 2]), matrices(&[1, 1])], numbers(&[2, 2]), numbers(&[2])).unwrap_err();
        let (name, reason) = refused(&rejected.error);
        assert!(name == "a[1]" && reason.contains("[1, 1]") && reason.contains("[2, 2]"), "{name}: {reason}");
        assert_eq!(rejected.back.unwrap().0.len(), 2);
        let rejected = blas.getrf_batched(lists(2), numbers(&[2, 3]), numbers(&[2])).unwrap_err();
        assert_eq!((refused(&rejected.error).0.as_str(), rejected.back.unwrap().0.len()), ("pivots", 2));
        let (a, b) = (lists(3), (0..3).map(|_| matrices(&[3, 1])));
        let rejected = blas.getrs_batched(Transpose::No, &a, &places, b).unwrap_err();
        assert_eq!((refused(&rejected.error).0.as_str(), rejected.back.unwrap().0.len()), ("b", 3));
        let rejected = blas.getri_batched(&a[..2], &places, lists(3), numbers(&[3])).unwrap_err();
        let (name, reason) = refused(&rejected.error);
        assert!(name == "a" && reason.contains("2 matrices") && reason.contains("of 3"), "{reason}");
        assert_eq!(rejected.back.unwrap().0.len(), 3);
    }
}

#[test]
fn a_refusal_names_the_routine_that_was_called() {
    for device in devices() {
        let (blas, x) = (device.blas(), up(&device, [Complex::new(1f32, 0.0)]));
        let c = || up(&device, [Complex::new(1f32, 0.0)]);
        let (symm, lower) = (|| Symm::new(Side::Left, Uplo::Lower), Uplo::Lower);
        let triangular = || Triangular::new(Side::Left, Uplo::Lower);
        assert_eq!(routine(blas.gemm(Gemm::new(), &x, &x, c())), "gemm");
        assert_eq!(routine(blas.symm(symm(), &x, &x, c())), "symm");
        assert_eq!(routine(blas.hemm(symm(), &x, &x, c())), "hemm");
        assert_eq!(routine(blas.syrk(Syrk::new(lower), &x, c())), "syrk");
        assert_eq!(routine(blas.herk(Herk::new(lower), &x, c())), "herk");
        assert_eq!(routine(blas.syr2k(Syr2k::new(lower), &x, &x, c())), "syr2k");
        assert_eq!(routine(blas.her2k(Her2k::new(lower), &x, &x, c())), "her2k");
        assert_eq!(routine(blas.syrkx(Syr2k::new(lower), &x, &x, c())), "syrkx");
        assert_eq!(routine(blas.herkx(Her2k::new(lower), &x, &x, c())), "herkx");
        assert_eq!(routine(blas.trmm(triangular(), &x, c())), "trmm");
        assert_eq!(routine(blas.trmm_into(triangular(), &x, &x, c())), "trmm");
        assert_eq!(routine(blas.trsm(triangular(), &x, c())), "trsm");
        assert_eq!(routine(blas.geam(Geam::new(), &x, &x, c())), "geam");
        assert_eq!(routine(blas.dgmm(Side::Left, &x, &x, c())), "dgmm");
        // Lists, and products of halves into f32.
        assert_eq!(routine(blas.gemm_batched(Gemm::new(), [&x], [&x], [c()])), "gemm_batched");
        assert_eq!(routine(blas.gemm_grouped([(Gemm::new(), 1)], [&x], [&x], [c()])), "gemm_grouped");
        assert_eq!(routine(blas.trsm_batched(triangular(), [&x], [c()])), "trsm_batched");
        let (pivots, beside, no) = (up(&device, [1, 2]), || up(&device, [1, 2]), Transpose::No);
        assert_eq!(routine(blas.getrf_batched([c()], beside(), beside())), "getrf_batched");
        assert_eq!(routine(blas.getrf(c(), beside(), beside())), "getrf");
        assert_eq!(routine(blas.getrs_batched(no, [&x], &pivots, [c()])), "getrs_batched");
        assert_eq!(routine(blas.getrs(no, &x, &pivots, c())), "getrs");
        assert_eq!(routine(blas.getri_batched([&x], &pivots, [c()], beside())), "getri_batched");
        assert_eq!(routine(blas.getri(&x, &pivots, c(), beside())), "getri");
        assert_eq!(routine(blas.matinv_batched([&x], [c()], beside())), "matinv_batched");
        assert_eq!(routine(blas.matinv(&x, c(), beside())), "matinv");
        let (x, c) = (up(&device, [f16::ONE]), || up(&device, [1f32]));
        assert_eq!(routine(blas.gemm_mixed(Gemm::new(), &x, &x, c())), "gemm_mixed");
        assert_eq!(routine(blas.gemm_mixed_batched(Gemm::new(), [&x], [&x], [c()])), "gemm_mixed_batched");
        assert_eq!(routine(blas.gemm_mixed_grouped([(Gemm::new(), 1)], [&x], [&x], [c()])), "gemm_mixed_grouped");
    }
}
