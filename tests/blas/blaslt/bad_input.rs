//! What does not fit is refused by name, with both values, before anything is done, and costs no buffer.

use crate::common::{devices, down, refused, up};
use windlass::blaslt::{Epilogue, Operands, Order};
use windlass::{Complex, Device, Error, F8E4M3, Matmul, Rejected, Transpose, bf16};

/// Asserts that `argument` was refused with a reason that holds all of `values`.
#[track_caller]
fn assert_refused(error: &Error, argument: &str, values: &[&str]) {
    let (name, reason) = refused(error);
    assert_eq!(name, argument, "{error}");
    assert!(values.iter().all(|value| reason.contains(value)), "{reason:?} does not name {values:?}");
    let site = error.site().expect("a place");
    assert_eq!(site.op(), Some("matmul"), "{error}");
}

/// A 4 x 3 product of k = 2 whose D has `len` elements.
fn product(device: &Device, spec: Matmul, len: usize) -> Error {
    let (a, b) = (up(device, [1.0f32; 8]), up(device, [1.0f32; 6]));
    let Rejected { error, back, .. } =
        device.blas_lt().matmul(spec, &a, &b, up(device, vec![7.0f32; len])).unwrap_err();
    let (d,) = back.expect("d comes back");
    assert_eq!(down(device, &d), vec![7.0; len]);
    error
}

#[test]
fn matrices_that_do_not_fit_are_refused() {
    let spec = || Matmul::new(4, 3, 2);
    for device in devices() {
        assert_refused(&product(&device, spec(), 11), "d", &["11", "12", "4 x 3"]);
        assert_refused(&product(&device, spec().lda(3), 12), "lda", &["3", "4"]);
        assert_refused(&product(&device, spec().lda(7), 12), "a", &["8", "11"]);
        assert_refused(&product(&device, spec().ldb(3), 12), "b", &["6", "8"]);
        assert_refused(&product(&device, spec().ldd(5), 12), "d", &["12", "14"]);
        assert_refused(&product(&device, spec().row_major().ldd(2), 12), "ldd", &["2", "3 columns"]);
        assert_refused(&product(&device, spec().trans_a(Transpose::Yes).lda(1), 12), "lda", &["1", "2"]);
        assert_refused(&product(&device, spec().batch(2), 12), "a", &["8", "16", "2 x"]);
        assert_refused(&product(&device, spec().batch(2).stride_a(0).stride_b(0), 12), "d", &["12", "24"]);
        let overlapping = spec().batch(2).stride_a(0).stride_b(0).stride_d(11);
        assert_refused(&product(&device, overlapping, 40), "stride_d", &["11", "12"]);
    }
}

#[test]
fn sizes_that_overflow_are_refused() {
    let huge = usize::MAX / 2;
    for device in devices() {
        assert_refused(&product(&device, Matmul::new(usize::MAX, 1, 1), 12), "m", &[&usize::MAX.to_string()]);
        assert_refused(&product(&device, Matmul::new(huge, huge, 0), 12), "c", &["overflows"]);
        assert_refused(&product(&device, Matmul::new(4, 3, 2).lda(huge), 12), "a", &[&huge.to_string()]);
        assert_refused(&product(&device, Matmul::new(4, 3, 2).batch(usize::MAX), 12), "batch", &["32-bit"]);
        assert_refused(&product(&device, Matmul::new(4, 3, 2).batch(3).stride_a(huge), 12), "stride_a", &["overflow"]);
    }
}

#[test]
fn operands_of_an_epilogue_must_have_their_lengths() {
    for device in devices() {
        let lt = device.blas_lt();
        let (a, b) = (up(&device, [1.0f32; 8]), up(&device, [1.0f32; 6]));
        let (operands, spec) = (Operands::new(&a, &b), Matmul::new(4, 3, 2));
        let d = || up(&device, [7.0f32; 12]);
        let short = up(&device, [0.0f32; 3]);

        let rejected = lt.matmul_with(spec, operands, Epilogue::bias(&short), d()).unwrap_err();
        assert_refused(&rejected.error, "bias", &["3", "4"]);
        assert_eq!(down(&device, &rejected.back.unwrap().0), [7.0; 12]);

        let epilogue = Epilogue::relu_aux(up(&device, [9u8; 47]));
        let rejected = lt.matmul_with(spec, operands, epilogue, d()).unwrap_err();
        assert_refused(&rejected.error, "mask", &["47", "48"]);
        let (d_back, mask) = rejected.back.unwrap();
        assert_eq!((down(&device, &d_back), down(&device, &mask)), (vec![7.0; 12], vec![9; 47]));

        for (ld, unit) in [(100, "128"), (129, "128")] {
            let epilogue = Epilogue::relu_aux(up(&device, [0u8; 64]));
            let error = lt.matmul_with(spec.ld_aux(ld), operands, epilogue, d()).unwrap_err().error;
            assert_refused(&error, "ld_aux", &[&ld.to_string(), unit]);
            assert_eq!(refused(&spec.ld_aux(ld).mask_len().unwrap_err()).0, "ld_aux");
        }
        let epilogue = Epilogue::gelu_aux(up(&device, [0.0f32; 64]));
        let error = lt.matmul_with(spec.ld_aux(12), operands, epilogue, d()).unwrap_err().error;
        assert_refused(&error, "ld_aux", &["12", "8"]);
        let epilogue = Epilogue::gelu_aux(up(&device, [0.0f32; 23]));
        let error = lt.matmul_with(spec, operands, epilogue, d()).unwrap_err().error;
        assert_refused(&error, "preactivation", &["23", "24"]);
        let error = lt.matmul_with(spec, operands, Epilogue::dgelu(&short), d()).unwrap_err().error;
        assert_refused(&error, "preactivation", &["3", "24"]);
        let epilogue = Epilogue::bgrad_b(up(&device, [0.0f32; 2]));
        let error = lt.matmul_with(spec, operands, epilogue, d()).unwrap_err().error;
        assert_refused(&error, "grad", &["2", "3"]);

        let error = lt.matmul_with(spec, operands.c(&short), Epilogue::none(), d()).unwrap_err().error;
        assert_refused(&error, "c", &["3", "12"]);
        let error = lt.matmul_with(spec, operands.scalars_at(&short, &a), Epilogue::none(), d()).unwrap_err().error;
        assert_refused(&error, "alpha", &["3", "1"]);

        let twice = spec.batch(2).stride_a(0).stride_b(0);
        let mask = up(&device, [0u8; 96]);
        let epilogue = Epilogue::drelu_bgrad(&mask, up(&device, [0.0f32; 8]));
        let d = up(&device, [7.0f32; 24]);
        let error = lt.matmul_with(twice.stride_bias(2), operands, epilogue, d).unwrap_err().error;
        assert_refused(&error, "stride_bias", &["2", "4"]);
    }
}

#[test]
fn scales_are_of_8_bit_floats_alone_and_have_their_lengths() {
    for device in devices() {
        let lt = device.blas_lt();
        let (a, b) = (up(&device, [1.0f32; 8]), up(&device, [1.0f32; 6]));
        let (one, spec) = (up(&device, [1.0f32]), Matmul::new(4, 3, 2));
        let d = || up(&device, [7.0f32; 12]);
        let error = lt.matmul_with(spec, Operands::new(&a, &b).scale_b(&one), Epilogue::none(), d()).unwrap_err().error;
        assert_refused(&error, "scale_b", &["f32"]);
        let epilogue = Epilogue::none().amax(up(&device, [0.0f32]));
        let error = lt.matmul_with(spec, Operands::new(&a, &b), epilogue, d()).unwrap_err().error;
        assert_refused(&error, "amax", &["f32"]);

        let (a, b) = (up(&device, [F8E4M3::ONE; 8]), up(&device, [F8E4M3::ONE; 6]));
        let two = up(&device, [1.0f32; 2]);
        let d = || up(&device, [bf16::ONE; 12]);
        let with = |operands, d| lt.matmul_with(spec, operands, Epilogue::none(), d).unwrap_err().error;
        assert_refused(&with(Operands::new(&a, &b).scale_a(&two), d()), "scale_a", &["2", "1"]);
        assert_refused(&with(Operands::new(&a, &b).scale_d(&one), d()), "scale_d", &["bf16"]);
        let (rows, columns) = (up(&device, [1.0f32; 4]), up(&device, [1.0f32; 3]));
        assert_refused(&with(Operands::new(&a, &b).outer_scales(&rows, &two), d()), "scale_b", &["2", "3"]);
        assert_refused(&with(Operands::new(&a, &b).outer_scales(&columns, &columns), d()), "scale_a", &["3", "4"]);
        // C has another type than such a D, so D cannot be its own C.
        let error = lt.matmul(spec.beta(1.0), &a, &b, up(&device, [F8E4M3::ONE; 12])).unwrap_err().error;
        assert_refused(&error, "c", &["bf16", "f8e4m3"]);
        assert_refused(&lt.matmul(spec.tf32(true), &a, &b, d()).unwrap_err().error, "tf32", &["f8e4m3"]);
    }
}

#[test]
fn what_has_no_meaning_is_unsupported() {
    #[track_caller]
    fn unsupported<B>(outcome: Result<windlass::PendingDispatch<B>, Rejected<windlass::Bufs<B>>>, word: &str)
    where
        B: windlass::Output,
    {
        match outcome {
            Err(Rejected { error: Error::Unsupported { reason, .. }, back: Some(_), .. }) => {
                assert!(reason.contains(word), "{reason}");
            }
            Err(Rejected { error, .. }) => panic!("{error}"),
            Ok(_) => panic!("it was done"),
        }
    }
    for device in devices() {
        let lt = device.blas_lt();
        let i = up(&device, [Complex::new(0.0f32, 1.0)]);
        let d = up(&device, [Complex::new(0.0f32, 0.0)]);
        unsupported(lt.matmul_with(Matmul::new(1, 1, 1), Operands::new(&i, &i), Epilogue::relu(), d), "c32");
        let x = up(&device, [1i8]);
        let operands = Operands::new(&x, &x);
        unsupported(lt.matmul_with(Matmul::new(1, 1, 1), operands, Epilogue::gelu(), up(&device, [1i32])), "integers");
        let x = up(&device, [1.0f32]);
        let spec = Matmul::new(1, 1, 1).order_d(Order::Row);
        let epilogue = Epilogue::relu_aux(up(&device, [0u8; 16]));
        unsupported(lt.matmul_with(spec, Operands::new(&x, &x), epilogue, up(&device, [1.0f32])), "column-major");
    }
}

#[test]
fn buffers_of_another_device_or_without_contents_are_refused() {
    for device in devices() {
        let other = crate::common::inline().open().unwrap();
        let (x, y) = (up(&device, [1.0f32; 4]), up(&other, [1.0f32; 4]));
        let d = || up(&device, [1.0f32; 4]);
        let lt = device.blas_lt();
        assert!(matches!(
            lt.matmul(Matmul::new(2, 2, 2), &x, &y, d()).unwrap_err().error,
            Error::InvalidArgument { .. }
        ));
        let empty = device.uninit::<f32>(4).unwrap();
        let error = lt.matmul(Matmul::new(2, 2, 2), &x, &empty, d()).unwrap_err().error;
        assert_eq!(refused(&error).0, "b");
        // D is read where beta is not zero, or not known.
        let error = lt.matmul(Matmul::new(2, 2, 2).beta(1.0), &x, &x, device.uninit(4).unwrap()).unwrap_err().error;
        assert_eq!(refused(&error).0, "d");
        let one = up(&device, [1.0f32]);
        let operands = Operands::new(&x, &x).scalars_at(&one, &one);
        let pending = lt.matmul_with(Matmul::new(2, 2, 2), operands, Epilogue::none(), device.uninit(4).unwrap());
        assert_eq!(refused(&pending.unwrap_err().error).0, "d");
        // ... and a C of its own makes D new.
        let pending = lt.matmul_with(Matmul::new(2, 2, 2), operands.c(&x), Epilogue::none(), device.uninit(4).unwrap());
        assert_eq!(down(&device, &pending.unwrap().await_result().unwrap()), [3.0; 4]);
    }
}
