//! What does not fit is refused by name, with both shapes, and what was moved in comes back.

use crate::common::{columns, devices, down, is_host, refused, routine, up};
use windlass::blas::{Gemv, Ger, Symv, Syr, Trmv};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Error, Rejected, Tensor, Transpose, Uplo};

const UP: Uplo = Uplo::Upper;
const LO: Uplo = Uplo::Lower;

/// The name and what the reason must say; and that the tensor comes back as it was.
#[track_caller]
fn says(device: &Device, rejected: Rejected<(Tensor<f64>,)>, name: &str, parts: &[&str]) {
    let (argument, reason) = refused(&rejected.error);
    assert_eq!(argument, name, "{reason}");
    assert!(parts.iter().all(|part| reason.contains(part)), "{reason:?} lacks one of {parts:?}");
    let (back,) = rejected.back.expect("the tensor comes back");
    assert!(down(device, back.buffer()).iter().all(|x| *x == 7.0), "as it was");
}

/// A tensor to read and one to write, of any shape.
#[expect(clippy::type_complexity, reason = "two closures")]
fn tensors(device: &Device) -> (impl Fn(&[usize]) -> Tensor<f64>, impl Fn(&[usize]) -> Tensor<f64>) {
    (move |shape| device.full(shape, 1.0).unwrap(), move |shape| device.full(shape, 7.0).unwrap())
}

#[test]
fn shapes_that_do_not_agree_are_refused() {
    for device in devices() {
        let (blas, (x, y)) = (device.blas(), tensors(&device));
        let gemv =
            |a: &[usize], of_x: &[usize], of_y: &[usize]| blas.gemv(Gemv::new(), &x(a), &x(of_x), y(of_y)).unwrap_err();
        says(&device, gemv(&[3, 3], &[2], &[3]), "x", &["[2]", "[3, 3]"]);
        says(&device, gemv(&[2, 3], &[3], &[3]), "y", &["[3]", "[2, 3]"]);
        says(&device, gemv(&[3], &[3], &[3]), "a", &["less than two axes"]);
        says(&device, gemv(&[3, 3], &[], &[3]), "x", &["no axis"]);
        says(&device, gemv(&[3, 3], &[3], &[]), "y", &["no axis"]);
        says(
            &device,
            blas.gemv(Gemv::banded(1, 1), &x(&[2, 3]), &x(&[3]), y(&[3])).unwrap_err(),
            "a",
            &["[2, 3]", "1"],
        );
        let huge = Gemv::banded(usize::MAX, usize::MAX);
        says(&device, blas.gemv(huge, &x(&[1, 3]), &x(&[3]), y(&[3])).unwrap_err(), "a", &["[1, 3]"]);
        let band = device.contiguous_columns(&x(&[3, 3])).unwrap();
        says(&device, blas.gemv(Gemv::banded(1, 1), &band, &x(&[2]), y(&[3])).unwrap_err(), "x", &["[2]", "[3, 3]"]);
        let turned = Gemv::banded(1, 1).trans(Transpose::Yes);
        says(&device, blas.gemv(turned, &band, &x(&[3]), y(&[2])).unwrap_err(), "y", &["[2]", "[3, 3]"]);

        let symv =
            |spec, a: &[usize], of_x: &[usize], of_y: &[usize]| blas.symv(spec, &x(a), &x(of_x), y(of_y)).unwrap_err();
        says(&device, symv(Symv::new(LO), &[3, 3], &[2], &[3]), "x", &["[2]", "[3, 3]"]);
        says(&device, symv(Symv::new(LO), &[3, 3], &[3], &[2]), "y", &["[2]", "[3, 3]"]);
        says(&device, symv(Symv::new(LO), &[3, 3], &[1, 3], &[3]), "x", &["[1, 3]", "2 axes"]);
        says(&device, symv(Symv::new(LO), &[3, 2], &[3], &[3]), "a", &["[3, 2]", "square"]);
        says(&device, symv(Symv::new(LO), &[1, 3, 3], &[3], &[3]), "a", &["[1, 3, 3]", "of two"]);
        says(&device, symv(Symv::packed(LO), &[9], &[3], &[3]), "a", &["[9]", "order 3", "6 elements"]);
        says(&device, symv(Symv::packed(LO), &[3, 3], &[3], &[3]), "a", &["2 axes"]);
        says(&device, symv(Symv::packed(LO), &[6], &[3], &[2]), "y", &["[2]", "[6]"]);
        says(&device, symv(Symv::banded(LO), &[1, 3], &[2], &[3]), "x", &["[2]", "[1, 3]"]);
        says(&device, symv(Symv::banded(LO), &[0, 3], &[3], &[3]), "a", &["[0, 3]", "diagonal"]);
        says(&device, symv(Symv::banded(LO), &[3], &[3], &[3]), "a", &["[3]", "of two"]);

        says(&device, blas.trmv(Trmv::new(LO), &x(&[2, 2]), y(&[3])).unwrap_err(), "x", &["[3]", "[2, 2]"]);
        says(&device, blas.trsv(Trmv::packed(UP), &x(&[10]), y(&[3])).unwrap_err(), "a", &["[10]", "6"]);
        says(&device, blas.trsv(Trmv::banded(UP), &x(&[1, 4]), y(&[3])).unwrap_err(), "x", &["[3]", "[1, 4]"]);
        says(&device, blas.ger(Ger::new(), &x(&[2]), &x(&[2]), y(&[3, 2])).unwrap_err(), "x", &["[2]", "[3, 2]"]);
        says(&device, blas.ger(Ger::new(), &x(&[3]), &x(&[3]), y(&[3, 2])).unwrap_err(), "y", &["[3]", "[3, 2]"]);
        says(&device, blas.ger(Ger::new(), &x(&[3]), &x(&[2]), y(&[1, 3, 2])).unwrap_err(), "a", &["of two"]);
        says(&device, blas.syr(Syr::new(UP), &x(&[2]), y(&[3, 3])).unwrap_err(), "x", &["[2]", "[3, 3]"]);
        says(&device, blas.syr(Syr::packed(UP), &x(&[3]), y(&[5])).unwrap_err(), "a", &["[5]", "6 elements"]);
        says(&device, blas.syr2(Syr::new(UP), &x(&[3]), &x(&[2]), y(&[3, 3])).unwrap_err(), "y", &["[2]", "[3, 3]"]);
        says(&device, blas.syr2(Syr::packed(UP), &x(&[3]), &x(&[3]), y(&[5])).unwrap_err(), "a", &["[5]", "6"]);
    }
}

#[test]
fn layouts_that_no_call_can_name_are_refused_with_the_remedy() {
    for device in devices() {
        let (blas, (x, y)) = (device.blas(), tensors(&device));
        let remedy = &["`contiguous"][..];
        let every_other = Layout::new([3, 3], [6, 2], 0).unwrap();
        let apart = || y(&[17]).with_layout(every_other.clone()).unwrap();
        let (wide, three) = (x(&[17]), x(&[3]));
        let a = wide.buffer().view(&every_other).unwrap();
        says(&device, blas.gemv(Gemv::new(), &a, &three, y(&[3])).unwrap_err(), "a", remedy);
        says(&device, blas.symv(Symv::new(UP), &a, &three, y(&[3])).unwrap_err(), "a", remedy);
        says(&device, blas.trmv(Trmv::new(UP), &a, y(&[3])).unwrap_err(), "a", remedy);
        says(&device, blas.trsv(Trmv::new(UP), &a, y(&[3])).unwrap_err(), "a", remedy);
        says(&device, blas.ger(Ger::new(), &three, &three, apart()).unwrap_err(), "a", remedy);
        says(&device, blas.syr(Syr::new(UP), &three, apart()).unwrap_err(), "a", remedy);
        says(&device, blas.syr2(Syr::new(UP), &three, &three, apart()).unwrap_err(), "a", remedy);
        // The columns of bands and packed triangles are neighbours.
        let rows = x(&[3, 3]);
        says(
            &device,
            blas.gemv(Gemv::banded(1, 1), &rows, &three, y(&[3])).unwrap_err(),
            "a",
            &["`contiguous_columns`"],
        );
        says(&device, blas.symv(Symv::banded(UP), &rows, &three, y(&[3])).unwrap_err(), "a", &["`contiguous_columns`"]);
        let six = wide.slice((windlass::tensor::AxisSlice::from(..12).step(2),)).unwrap();
        says(&device, blas.trmv(Trmv::packed(UP), &six, y(&[3])).unwrap_err(), "a", remedy);
        let flipped = y(&[6]).part(|all| all.flip(0)).unwrap();
        says(&device, blas.syr(Syr::packed(UP), &three, flipped).unwrap_err(), "a", remedy);

        // Vectors that show one element again and again.
        let one = x(&[1]);
        let same = || one.broadcast([3]).unwrap();
        let parts = &["increment of 0", "`contiguous`"][..];
        says(&device, blas.gemv(Gemv::new(), &rows, same(), y(&[3])).unwrap_err(), "x", parts);
        says(&device, blas.symv(Symv::new(UP), &rows, same(), y(&[3])).unwrap_err(), "x", parts);
        says(&device, blas.ger(Ger::new(), same(), &three, y(&[3, 3])).unwrap_err(), "x", parts);
        says(&device, blas.ger(Ger::new(), &three, same(), y(&[3, 3])).unwrap_err(), "y", parts);
        says(&device, blas.syr(Syr::new(UP), same(), y(&[3, 3])).unwrap_err(), "x", parts);
        says(&device, blas.syr2(Syr::new(UP), &three, same(), y(&[3, 3])).unwrap_err(), "y", parts);
        let written = || y(&[1]).part(|all| all.broadcast([3])).unwrap();
        says(&device, blas.gemv(Gemv::new(), &rows, &three, written()).unwrap_err(), "y", parts);
        says(&device, blas.trsv(Trmv::new(UP), &rows, written()).unwrap_err(), "x", parts);
    }
}

/// A view transposes a full matrix; only what has no such view is transposed by the specification.
#[test]
fn a_transposition_of_a_full_matrix_is_refused_in_favour_of_its_view() {
    for device in devices() {
        let (blas, (x, y)) = (device.blas(), tensors(&device));
        for trans in [Transpose::Yes, Transpose::Conjugate] {
            let parts = &["`a.transpose()`"];
            let rejected = blas.gemv(Gemv::new().trans(trans), &x(&[3, 3]), &x(&[3]), y(&[3])).unwrap_err();
            says(&device, rejected, "trans", parts);
            says(&device, blas.trmv(Trmv::new(UP).trans(trans), &x(&[3, 3]), y(&[3])).unwrap_err(), "trans", parts);
            says(&device, blas.trsv(Trmv::new(UP).trans(trans), &x(&[3, 3]), y(&[3])).unwrap_err(), "trans", parts);
        }
    }
}

/// BLAS reads columns, and of complex matrices conjugates only what it also transposes.
#[test]
fn what_would_need_a_conjugate_alone_is_refused_with_the_remedy() {
    for device in devices() {
        let blas = device.blas();
        let number = Complex::new(7.0, 0.0);
        let (x, rows) = (device.full([3], number).unwrap(), || device.full([3, 3], number).unwrap());
        let by_columns = device.contiguous_columns(&rows()).unwrap();
        let y = || device.full([3], number).unwrap();
        let refuses = |rejected: Rejected<(Tensor<Complex<f64>>,)>, remedy: &str| {
            match &rejected.error {
                Error::Unsupported { reason, .. } => assert!(reason.contains(remedy), "{reason} lacks {remedy}"),
                error => panic!("{error}"),
            }
            let (back,) = rejected.back.expect("the tensor comes back");
            assert!(down(&device, back.buffer()).iter().all(|x| *x == number), "as it was");
        };
        refuses(blas.trmv(Trmv::new(UP).conjugate_a(), &by_columns, y()).unwrap_err(), "`conj().eval()`");
        refuses(blas.trsv(Trmv::new(UP).conjugate_a(), &by_columns, y()).unwrap_err(), "`conj().eval()`");
        let packed = device.full([6], number).unwrap();
        refuses(blas.trsv(Trmv::packed(UP).conjugate_a(), &packed, y()).unwrap_err(), "`conj().eval()`");
        refuses(blas.hemv(Symv::new(UP), &rows(), &x, y()).unwrap_err(), "`contiguous_columns`");
        refuses(blas.her(Syr::new(UP), &x, rows()).unwrap_err(), "`contiguous_columns`");
        refuses(blas.her2(Syr::new(UP), &x, &x, rows()).unwrap_err(), "`contiguous_columns`");
        refuses(blas.gerc(Ger::new(), &x, &x, rows()).unwrap_err(), "`conj().eval()`");
        // What it serves: rows are the columns that it transposes, and a single row is a column.
        drop(blas.trmv(Trmv::new(UP).conjugate_a(), &rows(), y()).unwrap());
        drop(blas.trsv(Trmv::packed(UP).trans(Transpose::Yes).conjugate_a(), &packed, y()).unwrap());
        let row = rows().part(|all| all.slice((..1,))).unwrap();
        drop(blas.gerc(Ger::new(), x.slice((..1,)).unwrap(), &x, row).unwrap());
    }
}

#[test]
fn scalars_without_an_element_and_buffers_of_another_device_are_refused() {
    for device in devices() {
        let (blas, none, one) = (device.blas(), up(&device, Vec::<f64>::new()), up(&device, [1.0f64]));
        let a = columns(&one, 1, 1);
        let (y, square) = (|| up(&device, [7.0f64]), || device.tensor([1, 1], [7.0f64]).unwrap());
        let parts = &["0 elements"];
        says(&device, blas.gemv(Gemv::new().alpha(&none), &a, &one, y()).unwrap_err(), "alpha", parts);
        says(&device, blas.gemv(Gemv::new().beta(&none), &a, &one, y()).unwrap_err(), "beta", parts);
        says(&device, blas.ger(Ger::new().alpha(&none), &one, &one, square()).unwrap_err(), "alpha", parts);
        let z = device.tensor([1], [Complex::new(7.0f64, 0.0)]).unwrap();
        let rejected = blas.her(Syr::packed(UP).alpha(&none), &z, device.zeros([1]).unwrap()).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "alpha");

        let other = Device::builder().host().open().unwrap();
        let theirs = up(&other, [1.0f64]);
        let rejected = blas.symv(Symv::new(UP), columns(&theirs, 1, 1), &one, y()).unwrap_err();
        assert!(matches!(rejected.error, Error::InvalidArgument { .. }) && rejected.back.is_some());
        let rejected = blas.gemv(Gemv::new().alpha(&theirs).beta(&one), &a, &one, y()).unwrap_err();
        assert!(matches!(rejected.error, Error::InvalidArgument { .. }) && rejected.back.is_some());
        let rejected = blas.trsv(Trmv::new(UP), &a, theirs).unwrap_err();
        assert!(matches!(rejected.error, Error::InvalidArgument { .. }) && rejected.back.is_some());
    }
}

/// On a GPU; the host engine does it.
#[test]
fn what_blas_has_no_routine_for_is_unsupported_on_a_gpu_and_leaves_the_output() {
    for device in devices() {
        let (blas, one) = (device.blas(), Complex::new(1f32, 0.0));
        let (x, y) = (device.full([2], one).unwrap(), |n: usize| up(&device, vec![Complex::new(7f32, 0.0); n]));
        let (packed, band) = (device.full([3], one).unwrap(), device.full([2, 2], one).unwrap());
        for uplo in [UP, LO] {
            let all = [
                blas.symv(Symv::packed(uplo), &packed, &x, y(2)),
                blas.symv(Symv::banded(uplo), band.transpose(), &x, y(2)),
                blas.syr(Syr::packed(uplo), &x, y(3)),
                blas.syr2(Syr::packed(uplo), &x, &x, y(3)),
            ];
            for (i, submitted) in all.into_iter().enumerate() {
                match submitted.and_then(|pending| pending.await_result()) {
                    Ok(y) => {
                        assert!(is_host(&device), "{i} was done");
                        assert_ne!(down(&device, &y)[0].re, 7.0);
                    }
                    Err(Rejected { error, back }) => {
                        assert!(matches!(error, Error::Unsupported { .. }) && !is_host(&device), "{i}: {error}");
                        let (y,) = back.expect("y comes back");
                        // What a worker has begun with and refuses, it does not say to be whole.
                        if !device.is_isolated() {
                            assert!(down(&device, &y).iter().all(|y| y.re == 7.0), "{i}: as it was");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_refusal_names_the_routine_that_was_called() {
    for device in devices() {
        let (blas, x) = (device.blas(), up(&device, [Complex::new(1f32, 0.0); 1]));
        let a = || device.full([2, 2], Complex::new(1f32, 0.0)).unwrap();
        let y = || up(&device, [Complex::new(1f32, 0.0); 1]);
        assert_eq!(routine(blas.gemv(Gemv::new(), &a(), &x, y())), "gemv");
        assert_eq!(routine(blas.gemv_batched(Gemv::new(), [&a()], [&x], [y()])), "gemv_batched");
        assert_eq!(routine(blas.symv(Symv::new(UP), &a(), &x, y())), "symv");
        assert_eq!(routine(blas.hemv(Symv::new(UP), &a(), &x, y())), "hemv");
        assert_eq!(routine(blas.trmv(Trmv::new(UP), &a(), y())), "trmv");
        assert_eq!(routine(blas.trsv(Trmv::new(UP), &a(), y())), "trsv");
        assert_eq!(routine(blas.ger(Ger::new(), &x, &x, a())), "ger");
        assert_eq!(routine(blas.gerc(Ger::new(), &x, &x, a())), "gerc");
        assert_eq!(routine(blas.syr(Syr::new(UP), &x, a())), "syr");
        assert_eq!(routine(blas.her(Syr::new(UP), &x, a())), "her");
        assert_eq!(routine(blas.syr2(Syr::new(UP), &x, &x, a())), "syr2");
        assert_eq!(routine(blas.her2(Syr::new(UP), &x, &x, a())), "her2");
    }
}
