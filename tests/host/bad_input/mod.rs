//! Bad input answers a typed error before anything is done, names the argument and both values, and costs no buffer.

mod buffers;
mod empty;
mod huge;
mod settings;

use crate::common;
use common::{assert_back_at, buffer, devices, down, holdings, refused, up};
use windlass::blas::{Gemv, LuBatch, Triangular};
use windlass::blaslt::{Epilogue, Operands};
use windlass::{Device, Error, Gemm, Matmul, Rejected, Side, Transpose, Uplo};

/// Asserts that `argument` was refused with a reason that holds all of `values`.
#[track_caller]
fn assert_refused(error: &Error, argument: &str, values: &[&str]) {
    let (name, reason) = refused(error);
    assert_eq!(name, argument, "{error}");
    assert!(values.iter().all(|value| reason.contains(value)), "{reason:?} does not name {values:?}");
}

/// Asserts that a rejected operation gave `len` elements back, as they were, and names itself.
#[track_caller]
fn assert_back<T: windlass::Element>(
    device: &Device,
    rejected: Rejected<(windlass::DeviceBuffer<T>,)>,
    op: &str,
    values: &[T],
) -> Error {
    let (buffer,) = rejected.back.expect("the output comes back");
    assert_eq!(down(device, &buffer), values, "a refused operation leaves its output as it was");
    let site = rejected.error.site().expect("a place");
    assert_eq!(site.op(), Some(op), "{}", rejected.error);
    rejected.error
}

#[test]
fn vectors_of_different_lengths_are_refused() {
    for device in devices() {
        let (x, blas) = (up(&device, [1.0f64; 3]), device.blas());
        let y = || up(&device, [5.0f64; 4]);
        let before = device.stats().dispatches;
        let error = assert_back(&device, buffer(blas.axpy(1.0, &x, y())).unwrap_err(), "axpy", &[5.0; 4]);
        assert_refused(&error, "x", &["3", "4"]);
        assert_eq!(device.stats().dispatches, before + 2, "only the upload and the download of the output");
        assert_refused(&blas.dot(&x, &y()).unwrap_err(), "x", &["3", "4"]);
        assert_refused(&blas.dotc(&y(), &x).unwrap_err(), "x", &["4", "3"]);
        let error = assert_back(&device, device.copy(&x, y()).unwrap_err(), "copy", &[5.0; 4]);
        assert_refused(&error, "target", &["3", "4"]);
        let error = assert_back(&device, device.upload_into([1.0; 5], y()).unwrap_err(), "upload", &[5.0; 4]);
        assert_refused(&error, "target", &["5", "4"]);
    }
}

#[test]
fn a_refused_upload_moves_no_bytes() {
    for device in devices() {
        let target = up(&device, [0u8; 4]);
        let before = device.stats().bytes_up;
        assert!(device.upload_into([1u8; 5], target).is_err());
        assert_eq!(device.stats().bytes_up, before);
    }
}

#[test]
fn sizes_that_overflow_are_refused() {
    for device in devices() {
        let base = holdings(&device);
        for len in [usize::MAX, usize::MAX / 8 + 1, isize::MAX as usize / 8 + 1] {
            assert_refused(&device.uninit::<f64>(len).unwrap_err(), "len", &[&len.to_string(), "f64"]);
            assert_refused(&device.zeros::<u64>(len).unwrap_err(), "len", &[&len.to_string(), "u64"]);
        }
        assert_refused(&device.zeros::<u8>(usize::MAX).unwrap_err(), "len", &[&usize::MAX.to_string()]);
        // As large as an address can be: no overflow, but no memory either.
        let error = device.zeros::<u8>(isize::MAX as usize).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { requested, .. } if requested == isize::MAX as u64), "{error}");
        assert_back_at(&device, base);
    }
}

#[test]
fn matrices_that_do_not_fit_their_buffers_are_refused() {
    for device in devices() {
        let (a, b) = (up(&device, [1.0f32; 6]), up(&device, [1.0f32; 12]));
        let spec = Gemm::<f32>::new(2, 4, 3); // a: 2 x 3, b: 3 x 4, c: 2 x 4
        let plain = (spec.trans_a(Transpose::No), "", ["", ""]);
        let cases = [
            (spec.lda(1), "lda", ["1", "2"]),
            (spec.ldb(2), "ldb", ["2", "3"]),
            (spec.ldc(1), "ldc", ["1", "2"]),
            (spec.lda(0), "lda", ["0", "2"]),
            (spec.lda(3), "a", ["6", "8"]),
            (spec.ldb(4), "b", ["12", "15"]),
            (spec.ldc(3), "c", ["8", "11"]),
            (spec.trans_a(Transpose::Yes), "", ["", ""]),
            (spec.trans_a(Transpose::Conjugate).lda(2), "lda", ["2", "3"]),
            (spec.trans_b(Transpose::Yes).ldb(3), "ldb", ["3", "4"]),
            plain,
        ];
        for (spec, argument, values) in cases {
            let c = up(&device, [7.0f32; 8]);
            match device.blas().gemm(spec, &a, &b, c) {
                Ok(pending) => {
                    assert_eq!(argument, "", "{spec:?}");
                    drop(pending.await_result().unwrap());
                }
                Err(rejected) => {
                    let error = assert_back(&device, rejected, "gemm", &[7.0; 8]);
                    assert_refused(&error, argument, &values);
                }
            }
        }
    }
}

#[test]
fn products_whose_spans_overflow_are_refused() {
    for device in devices() {
        let a = up(&device, [1.0f64; 4]);
        let huge = [usize::MAX, usize::MAX / 2, i64::MAX as usize, 1 << 62, 1 << 32, 1 << 31];
        let triples = huge.into_iter().flat_map(|x| [(x, 1, 1), (1, x, 1), (1, 1, x), (x, x, x), (x, x, 0), (2, x, 2)]);
        for (m, n, k) in triples {
            for trans in [Transpose::No, Transpose::Yes] {
                let spec = Gemm::<f64>::new(m, n, k).trans_a(trans).trans_b(trans);
                let error = assert_back(
                    &device,
                    device.blas().gemm(spec, &a, &a, up(&device, [7.0; 4])).unwrap_err(),
                    "gemm",
                    &[7.0; 4],
                );
                assert!(["m", "n", "k", "a", "b", "c"].contains(&&*refused(&error).0), "{error}");
            }
        }
        for ld in huge {
            let spec = Gemm::<f64>::new(2, 2, 2);
            for spec in [spec.lda(ld), spec.ldb(ld), spec.ldc(ld)] {
                let rejected = device.blas().gemm(spec, &a, &a, up(&device, [7.0; 4])).unwrap_err();
                let error = assert_back(&device, rejected, "gemm", &[7.0; 4]);
                assert!(refused(&error).1.contains(&ld.to_string()), "{error}");
            }
        }
        // A product of nothing is none of these, whatever k is.
        let none = device.blas().gemm(Gemm::<f64>::new(0, 0, 0), &a, &a, up(&device, [7.0; 4])).unwrap();
        assert_eq!(down(&device, &none.await_result().unwrap()), [7.0; 4]);
    }
}

/// A batch of nothing is nothing, whatever its count.
#[test]
fn empty_batches_of_any_count_cost_nothing() {
    for device in devices() {
        let (blas, lt) = (device.blas(), device.blas_lt());
        let (x, byte, pivots) = (up(&device, [1.0f64; 4]), up(&device, [1i8; 4]), up(&device, [1i32; 4]));
        let wait = |pending: windlass::Submitted<windlass::DeviceBuffer<f64>>| {
            assert_eq!(down(&device, &pending.unwrap().await_result().unwrap()), [7.0; 2]);
        };
        let y = || up(&device, [7.0f64; 2]);
        for count in [1 << 31, 1 << 40, 1 << 60, i64::MAX as usize] {
            wait(blas.gemm_strided_batched(Gemm::new(0, 0, 0).batch(count), &x, &x, y()));
            wait(blas.gemm_strided_batched(Gemm::new(0, 3, 0).batch(count), &x, &x, y()));
            let c = up(&device, [7i32; 2]);
            let c = blas.gemm_strided_batched(Gemm::new(3, 0, 0).batch(count), &byte, &byte, c).unwrap();
            assert_eq!(down(&device, &c.await_result().unwrap()), [7; 2]);
            let solve = Triangular::new(Side::Left, Uplo::Upper, 0, 0);
            wait(blas.trsm_strided_batched(solve.batch(count), &x, y()));
            wait(blas.gemv_strided_batched(Gemv::new(0, 0).batch(count), &x, &x, y()));
        }
        let most = i32::MAX as usize;
        wait(blas.getrs_strided_batched(LuBatch::new(0).batch(most), Transpose::No, 1, &x, &pivots, y()));
        wait(blas.getrs_strided_batched(LuBatch::new(2).batch(2).stride_a(0), Transpose::No, 0, &x, &pivots, y()));
        wait(lt.matmul(Matmul::new(0, 0, 0).batch(most), &x, &x, y()));
        wait(lt.matmul(Matmul::new(0, 3, 0).batch(most), &x, &x, y()));
        // The gradient of a bias beside no columns is zero, and there is room for two.
        let mask = up(&device, [0u8; 4]);
        let epilogue = Epilogue::drelu_bgrad(&mask, up(&device, [5.0f32; 5]));
        let spec = Matmul::new(2, 0, 3).batch(2);
        let single = up(&device, [1.0f32; 16]);
        let pending = lt.matmul_with(spec, Operands::new(&single, &single), epilogue, up(&device, [7.0f32]));
        let (d, grad) = pending.unwrap().await_result().unwrap();
        assert_eq!((down(&device, &d), down(&device, &grad)), (vec![7.0], vec![0.0, 0.0, 0.0, 0.0, 5.0]));
    }
}

/// What an operation overwrites is asked before its sizes are checked.
#[test]
fn sizes_that_overflow_beside_a_product_are_refused() {
    for device in devices() {
        let (mask, x) = (up(&device, [0u8; 4]), up(&device, [1.0f32; 4]));
        for m in [1usize << 62, 1 << 63, usize::MAX, usize::MAX / 4 + 1] {
            let epilogue = Epilogue::drelu_bgrad(&mask, up(&device, [5.0f32; 2]));
            let spec = Matmul::new(m, 0, 0).batch(4);
            let rejected =
                device.blas_lt().matmul_with(spec, Operands::new(&x, &x), epilogue, up(&device, [7.0f32])).unwrap_err();
            assert!(matches!(rejected.error, Error::InvalidArgument { .. }), "{}", rejected.error);
            let (d, grad) = rejected.back.unwrap();
            assert_eq!((down(&device, &d), down(&device, &grad)), (vec![7.0], vec![5.0; 2]));
        }
    }
}
