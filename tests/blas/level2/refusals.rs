//! What does not fit is refused by name, with both values, and what was moved in comes back.

use crate::common::{devices, down, is_host, refused, routine, up};
use windlass::blas::{Gemv, Ger, Her, Symv, Syr, Syr2, Trmv};
use windlass::{Complex, Device, DeviceBuffer, Error, Rejected, Uplo};

/// The name and what the reason must say; and that the buffer comes back as it was.
#[track_caller]
fn says(device: &Device, rejected: Rejected<(DeviceBuffer<f64>,)>, name: &str, parts: &[&str]) {
    let (argument, reason) = refused(&rejected.error);
    assert_eq!(argument, name, "{reason}");
    assert!(parts.iter().all(|part| reason.contains(part)), "{reason:?} lacks one of {parts:?}");
    let (back,) = rejected.back.expect("the buffer comes back");
    assert!(down(device, &back).iter().all(|x| *x == 7.0), "as it was");
}

#[test]
fn leading_dimensions_and_matrices_that_do_not_fit_are_refused() {
    const UP: Uplo = Uplo::Upper;
    for device in devices() {
        let (blas, a, x) = (device.blas(), up(&device, [1.0f64; 8]), up(&device, [1.0f64; 3]));
        let y = |n: usize| up(&device, vec![7.0f64; n]);
        let huge = usize::MAX / 2 + 5;
        for (spec, name, parts) in [
            (Gemv::new(3, 3).lda(2), "lda", &["2 is less than the 3 elements"][..]),
            (Gemv::new(3, 3), "a", &["8 elements", "3 x 3", "9"]),
            (Gemv::new(3, 3).lda(huge), "lda", &["64-bit"]),
            (Gemv::new(3, 3).lda(i64::MAX as usize), "a", &["overflows"]),
            (Gemv::banded(3, 3, 1, 1).lda(2), "lda", &["2 is less than the 3 elements"]),
            (Gemv::banded(3, 3, 1, 1), "a", &["8 elements", "9"]),
            (Gemv::banded(3, 3, huge, 1), "kl", &["64-bit"]),
            (Gemv::banded(3, 3, 1, i64::MAX as usize), "lda", &["64-bit"]),
        ] {
            says(&device, blas.gemv(spec, &a, &x, y(3)).unwrap_err(), name, parts);
        }
        for (spec, name, parts) in [
            (Symv::new(3, UP).lda(2), "lda", &["2 is less than the 3 elements"][..]),
            (Symv::new(3, UP), "a", &["8 elements", "9"]),
            (Symv::banded(3, 2, UP), "a", &["8 elements", "9"]),
            (Symv::banded(3, huge, UP), "k", &["64-bit"]),
            (Symv::packed(4, UP), "a", &["8 elements", "10"]),
            (Symv::packed(3, UP).lda(3), "lda", &["3", "packed"]),
            (Symv::packed(1 << 33, UP), "a", &["overflows"]),
        ] {
            says(&device, blas.symv(spec, &a, &x, y(3)).unwrap_err(), name, parts);
        }
        says(&device, blas.trmv(Trmv::new(3, UP), &a, y(3)).unwrap_err(), "a", &["8 elements", "9"]);
        says(&device, blas.trsv(Trmv::packed(4, UP), &a, y(3)).unwrap_err(), "a", &["8 elements", "10"]);
        says(&device, blas.trsv(Trmv::banded(3, 1, UP).lda(1), &a, y(3)).unwrap_err(), "lda", &["2 elements"]);
        says(&device, blas.ger(Ger::new(3, 3), &x, &x, y(8)).unwrap_err(), "a", &["8 elements", "9"]);
        says(&device, blas.ger(Ger::new(3, 3).lda(2), &x, &x, y(9)).unwrap_err(), "lda", &["2", "3"]);
        says(&device, blas.syr(Syr::new(3, UP), &x, y(8)).unwrap_err(), "a", &["8 elements", "9"]);
        says(&device, blas.syr(Syr::packed(3, UP), &x, y(5)).unwrap_err(), "a", &["5 elements", "6"]);
        says(&device, blas.syr2(Syr2::new(3, UP).lda(2), &x, &x, y(9)).unwrap_err(), "lda", &["2", "3"]);
        says(&device, blas.syr2(Syr2::packed(3, UP), &x, &x, y(5)).unwrap_err(), "a", &["5 elements", "6"]);
    }
}

#[test]
fn vectors_of_other_lengths_or_outside_their_buffers_are_refused() {
    const LO: Uplo = Uplo::Lower;
    for device in devices() {
        let (blas, a) = (device.blas(), up(&device, [1.0f64; 9]));
        let (two, three) = (up(&device, [1.0f64; 2]), up(&device, [1.0f64; 3]));
        let y = || up(&device, [7.0f64; 3]);
        let short = &["2 elements", "3"][..];
        says(&device, blas.gemv(Gemv::new(3, 3), &a, &two, y()).unwrap_err(), "x", short);
        says(&device, blas.gemv(Gemv::new(2, 3), &a, &three, y()).unwrap_err(), "y", &["3 elements", "2"]);
        says(
            &device,
            blas.gemv(Gemv::new(2, 3).trans(windlass::Transpose::Yes), &a, &three, y()).unwrap_err(),
            "x",
            &["3", "2"],
        );
        says(&device, blas.symv(Symv::new(3, LO), &a, &two, y()).unwrap_err(), "x", short);
        says(&device, blas.symv(Symv::packed(2, LO), &a, &two, y()).unwrap_err(), "y", &["3 elements", "2"]);
        says(&device, blas.trmv(Trmv::new(2, LO), &a, y()).unwrap_err(), "x", &["3 elements", "2"]);
        says(&device, blas.ger(Ger::new(3, 1), &two, &two, y()).unwrap_err(), "x", short);
        says(&device, blas.ger(Ger::new(3, 1), &three, &two, y()).unwrap_err(), "y", &["2 elements", "1"]);
        says(&device, blas.syr(Syr::packed(1, LO), &two, y()).unwrap_err(), "x", &["2 elements", "1"]);
        says(&device, blas.syr2(Syr2::packed(2, LO), &two, &three, y()).unwrap_err(), "y", &["3 elements", "2"]);

        let spaced = || two.strided(3, 1);
        says(&device, blas.gemv(Gemv::new(3, 3), &a, spaced(), y()).unwrap_err(), "x", &["2 elements", "3"]);
        says(
            &device,
            blas.gemv(Gemv::new(3, 3), &a, &three, y().into_strided(3, 0)).unwrap_err(),
            "y",
            &["increment of 0"],
        );
        says(
            &device,
            blas.symv(Symv::new(3, LO), &a, &three, y().into_strided(3, 2)).unwrap_err(),
            "y",
            &["3 elements", "5"],
        );
        says(&device, blas.trsv(Trmv::new(3, LO), &a, y().into_strided(3, -2)).unwrap_err(), "x", &["3 elements", "5"]);
        says(&device, blas.syr(Syr::packed(2, LO), three.strided(2, -3), y()).unwrap_err(), "x", &["3 elements", "4"]);
        says(
            &device,
            blas.ger(Ger::new(3, 1), three.strided(3, isize::MAX), &two, y()).unwrap_err(),
            "x",
            &["3 elements"],
        );
    }
}

#[test]
fn scalars_without_an_element_and_buffers_of_another_device_are_refused() {
    for device in devices() {
        let (blas, none, one) = (device.blas(), up(&device, Vec::<f64>::new()), up(&device, [1.0f64]));
        let y = || up(&device, [7.0f64]);
        let spec = Gemv::new(1, 1);
        says(&device, blas.gemv(spec.scalars_at(&none, &one), &one, &one, y()).unwrap_err(), "alpha", &["0 elements"]);
        says(&device, blas.gemv(spec.scalars_at(&one, &none), &one, &one, y()).unwrap_err(), "beta", &["0 elements"]);
        let spec = Ger::new(1, 1).alpha_at(&none);
        says(&device, blas.ger(spec, &one, &one, y()).unwrap_err(), "alpha", &["0 elements"]);
        let z = up(&device, [Complex::new(7.0f64, 0.0)]);
        let rejected =
            blas.her(Her::new(1, Uplo::Upper).alpha_at(&none), &z, up(&device, [Complex::new(7.0, 0.0)])).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "alpha");

        let other = Device::builder().host().open().unwrap();
        let theirs = up(&other, [1.0f64]);
        let rejected = blas.symv(Symv::new(1, Uplo::Upper), &theirs, &one, y()).unwrap_err();
        assert!(matches!(rejected.error, Error::InvalidArgument { .. }) && rejected.back.is_some());
        let rejected = blas.gemv(Gemv::new(1, 1).scalars_at(&theirs, &one), &one, &one, y()).unwrap_err();
        assert!(matches!(rejected.error, Error::InvalidArgument { .. }) && rejected.back.is_some());
        let rejected = blas.trsv(Trmv::new(1, Uplo::Upper), &one, theirs).unwrap_err();
        assert!(matches!(rejected.error, Error::InvalidArgument { .. }) && rejected.back.is_some());
    }
}

/// On a GPU; the host engine does it.
#[test]
fn what_blas_has_no_routine_for_is_unsupported_on_a_gpu_and_leaves_the_output() {
    for device in devices() {
        let (blas, one) = (device.blas(), Complex::new(1f32, 0.0));
        let (x, y) = (up(&device, [one; 4]), || up(&device, [Complex::new(7f32, 0.0); 3]));
        for uplo in [Uplo::Upper, Uplo::Lower] {
            let all = [
                blas.symv(Symv::packed(2, uplo), &x, x.strided(2, 1), y().into_strided(2, 1)),
                blas.symv(Symv::banded(2, 1, uplo), &x, x.strided(2, 1), y().into_strided(2, 1)),
                blas.syr(Syr::packed(2, uplo), x.strided(2, 1), y()),
                blas.syr2(Syr2::packed(2, uplo), x.strided(2, 1), x.strided(2, 1), y()),
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
    const UP: Uplo = Uplo::Upper;
    for device in devices() {
        let (blas, x) = (device.blas(), up(&device, [Complex::new(1f32, 0.0); 1]));
        let y = || up(&device, [Complex::new(1f32, 0.0); 1]);
        assert_eq!(routine(blas.gemv(Gemv::new(2, 2), &x, &x, y())), "gemv");
        assert_eq!(routine(blas.symv(Symv::new(2, UP), &x, &x, y())), "symv");
        assert_eq!(routine(blas.hemv(Symv::new(2, UP), &x, &x, y())), "hemv");
        assert_eq!(routine(blas.trmv(Trmv::new(2, UP), &x, y())), "trmv");
        assert_eq!(routine(blas.trsv(Trmv::new(2, UP), &x, y())), "trsv");
        assert_eq!(routine(blas.ger(Ger::new(2, 2), &x, &x, y())), "ger");
        assert_eq!(routine(blas.gerc(Ger::new(2, 2), &x, &x, y())), "gerc");
        assert_eq!(routine(blas.syr(Syr::new(2, UP), &x, y())), "syr");
        assert_eq!(routine(blas.her(Her::new(2, UP), &x, y())), "her");
        assert_eq!(routine(blas.syr2(Syr2::new(2, UP), &x, &x, y())), "syr2");
        assert_eq!(routine(blas.her2(Syr2::new(2, UP), &x, &x, y())), "her2");
    }
}
