//! Bad input answers a typed error before anything is done, names the argument and both values, and costs no buffer.

mod buffers;
mod empty;
mod huge;
mod mistakes;
mod settings;

use crate::common;
use common::{assert_back_at, buffer, columns, devices, down, holdings, refused, up};
use windlass::blas::{Gemv, Triangular};
use windlass::blaslt::{Epilogue, Operands};
use windlass::tensor::Layout;
use windlass::{Device, Error, Gemm, Matmul, Rejected, Side, TensorRef, Transpose, Uplo};

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
        let error = assert_back(&device, buffer(device.copy(&x, y())).unwrap_err(), "copy", &[5.0; 4]);
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
            let name = if len > isize::MAX as usize { "extents" } else { "len" };
            assert_refused(&device.uninit::<f64>(len).unwrap_err(), name, &[&len.to_string()]);
            assert_refused(&device.zeros::<u64>(len).unwrap_err(), name, &[&len.to_string()]);
        }
        assert_refused(&device.zeros::<u8>(usize::MAX).unwrap_err(), "extents", &[&usize::MAX.to_string()]);
        // As large as an address can be: no overflow, but no memory either.
        let error = device.zeros::<u8>(isize::MAX as usize).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { requested, .. } if requested == isize::MAX as u64), "{error}");
        assert_back_at(&device, base);
    }
}

#[test]
fn matrices_that_do_not_go_together_are_refused() {
    for device in devices() {
        let (a, b) = (up(&device, [1.0f32; 6]), up(&device, [1.0f32; 12]));
        for layout in [Layout::columns(2, 3).ld(1), Layout::rows(2, 3).ld(2), Layout::columns(2, 3).ld(3)] {
            assert!(a.view(layout).is_err(), "{layout:?} of 6 elements");
        }
        let (of_a, of_b) = (columns(&a, 2, 3), columns(&b, 3, 4));
        let c = |m, n| up(&device, [7.0f32; 8]).with_layout(Layout::columns(m, n)).unwrap();
        let two = |x: TensorRef<'_, f32>| x.broadcast([2, x.shape()[0], x.shape()[1]]).unwrap().layout().clone();
        let cases = [
            (of_a.view(), of_b.view(), c(2, 4), "", ["", ""]),
            (of_a.transpose(), of_b.view(), c(2, 4), "b", ["3 x 4", "3 x 2"]),
            (of_a.view(), of_b.transpose(), c(2, 4), "b", ["4 x 3", "2 x 3"]),
            (of_a.view(), of_b.view(), c(4, 2), "c", ["4 x 2", "2 x 4"]),
            (of_a.view(), of_b.view(), c(2, 3), "c", ["2 x 3", "2 x 4"]),
            (of_a.reshape([6]).unwrap_or_else(|_| (&a).into()), of_b.view(), c(2, 4), "a", ["[6]", "two axes"]),
            (a.view(two(of_a.view())).unwrap(), of_b.view(), c(2, 4), "a", ["[2, 2, 3]", "[]"]),
        ];
        for (a, b, c, argument, values) in cases {
            match buffer(device.blas().gemm(Gemm::new(), a, b, c)) {
                Ok(pending) => {
                    assert_eq!(argument, "");
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

/// No view reaches beyond its buffer, and none has more elements than can be counted; what has no elements may have any size.
#[test]
fn products_of_matrices_of_any_size_without_elements_are_nothing() {
    for device in devices() {
        let none = device.zeros::<f64>(0).unwrap().into_buffer();
        let c = |m, n| up(&device, [7.0; 4]).with_layout(Layout::columns(m, n));
        for x in [usize::MAX, usize::MAX / 2, i64::MAX as usize, 1 << 62, 1 << 32, 1 << 31] {
            assert!(none.view(Layout::columns(x, 1)).is_err() && none.view(Layout::columns(1, x)).is_err());
            assert!(c(x, x).is_err() && c(2, 2).unwrap().shape() == [2, 2]);
            let views = |m, n| none.view(Layout::columns(m, n)).ok();
            for (m, n, k) in [(x, 0, 0), (0, x, 0), (0, 0, x)] {
                let Some((a, b)) = views(m, k).zip(views(k, n)) else { continue };
                let answer = device.blas().gemm(Gemm::new(), a, b, c(m, n).unwrap()).unwrap();
                assert_eq!(down(&device, answer.await_result().unwrap().buffer()), [7.0; 4], "{m} {n} {k}");
            }
        }
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
            let of = |m, n| Layout::columns(m, n).batch(if m + n > 0 { count / 3 } else { count }, 0);
            let (nothing, wide) = (x.view(of(0, 0)).unwrap(), x.view(of(0, 3)).unwrap());
            wait(buffer(blas.gemm(Gemm::new(), &nothing, &nothing, y().with_layout(of(0, 0)).unwrap())));
            let shared = x.view(Layout::columns(0, 0)).unwrap();
            wait(buffer(blas.gemm(Gemm::new(), &shared, &wide, y().with_layout(of(0, 3)).unwrap())));
            let (tall, none) = (byte.view(of(3, 0)).unwrap(), byte.view(Layout::columns(0, 0)).unwrap());
            let c = up(&device, [7i32; 2]).with_layout(of(3, 0)).unwrap();
            let c = blas.gemm(Gemm::new(), &tall, &none, c).unwrap();
            assert_eq!(down(&device, c.await_result().unwrap().buffer()), [7; 2]);
            let solve = Triangular::new(Side::Left, Uplo::Upper);
            wait(buffer(blas.trsm(solve, &nothing, y().with_layout(of(0, 0)).unwrap())));
            let vectors = Layout::new([count, 0], [0, 1], 0).unwrap();
            let (a, v) = (x.view(Layout::columns(0, 0).batch(count, 0)).unwrap(), x.view(&vectors).unwrap());
            wait(buffer(blas.gemv(Gemv::new(), &a, v, y().with_layout(&vectors).unwrap())));
        }
        let most = i32::MAX as usize;
        let solve = |n: usize, count, nrhs| {
            let a = x.view(Layout::columns(n, n).batch(count, 0)).unwrap();
            let pivots = pivots.view(Layout::row_major([count, n]).unwrap()).unwrap();
            let b = y().with_layout(Layout::columns(n, nrhs).batch(count, 0)).unwrap();
            buffer(blas.getrs(Transpose::No, a, pivots, b))
        };
        wait(solve(0, most, 1));
        wait(solve(2, 2, 0));
        for n in [0, 3] {
            let (lines, b) = (|m, n| Layout::columns(m, n).batch(most, 0), x.view(Layout::columns(0, n)).unwrap());
            let d = y().with_layout(lines(0, n)).unwrap();
            let d = lt.matmul(Matmul::new(), x.view(lines(0, 0)).unwrap(), b, d).unwrap();
            assert_eq!(down(&device, d.await_result().unwrap().buffer()), [7.0; 2]);
        }
        // The gradient of a bias beside no columns is zero.
        let (a, b) = (device.zeros::<f32>([2, 2, 3]).unwrap(), device.zeros::<f32>([3, 0]).unwrap());
        let d = || device.zeros::<f32>([2, 2, 0]).unwrap();
        let pending = lt.matmul_with(Matmul::new(), Operands::new(&a, &b), Epilogue::relu_aux(), d());
        let (_, mask) = pending.unwrap().into_output();
        let epilogue = Epilogue::drelu_bgrad(&mask).per_row();
        let pending = lt.matmul_with(Matmul::new(), Operands::new(&a, &b), epilogue, d());
        assert_eq!(down(&device, &pending.unwrap().await_result().unwrap().1), [0.0; 4]);
    }
}

/// What an operation overwrites is asked before its sizes are checked.
#[test]
fn sizes_that_overflow_beside_a_product_are_refused() {
    for device in devices() {
        let (lt, x) = (device.blas_lt(), up(&device, [1.0f32; 4]));
        let nothing = |extents: &[usize]| Layout::new(extents, vec![0; extents.len()], 0).unwrap();
        for m in [1usize << 60, isize::MAX as usize / 4] {
            let (a, b) = (x.view(nothing(&[m, 0])).unwrap(), x.view(nothing(&[0, 0])).unwrap());
            let d = || up(&device, [7.0f32]).with_layout(nothing(&[4, m, 0])).unwrap();
            let operands = || Operands::new(&a, &b);
            let back = [
                lt.matmul_with(Matmul::new(), operands(), Epilogue::bgrad_a(), d()).unwrap_err(),
                lt.matmul_with(Matmul::new(), operands(), Epilogue::relu_aux(), d()).unwrap_err(),
                lt.matmul_with(Matmul::new(), operands(), Epilogue::gelu_aux(), d()).unwrap_err(),
            ];
            for rejected in back {
                assert!(!matches!(rejected.error, Error::LibraryError { .. }), "{}", rejected.error);
                assert_eq!(down(&device, rejected.back.unwrap().0.buffer()), [7.0]);
            }
        }
    }
}
