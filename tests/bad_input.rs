//! Bad input answers a typed error before anything is done, names the argument and both values, and costs no buffer.
#![cfg(feature = "host")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{assert_back_at, builders, devices, down, holdings, host, refused, up};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use windlass::blas::{Batch, Gemv, Lu, Triangular};
use windlass::blaslt::{Epilogue, Operands};
use windlass::{Device, Error, Gemm, HostPool, InFlight, Matmul, Rejected, Side, Stale, Transpose, Uplo};

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
        let error = assert_back(&device, blas.axpy(1.0, &x, y()).unwrap_err(), "axpy", &[5.0; 4]);
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

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
fn windows_out_of_range_are_refused_and_the_buffer_comes_back() {
    for device in devices() {
        let mut x = up(&device, [1i16, 2, 3, 4]);
        for range in [0..5, 5..5, 3..2, 0..usize::MAX, usize::MAX..usize::MAX, usize::MAX..0] {
            let values = [range.start.to_string(), range.end.to_string(), "4".to_string()];
            let values = values.each_ref().map(|s| &**s);
            let rejected = x.narrow(range.clone()).unwrap_err();
            assert_refused(&rejected.error, "range", &values);
            x = rejected.back.expect("the buffer");
            assert_refused(&x.as_in().slice(range.clone()).err().unwrap(), "range", &values);
            let shared = x.share();
            assert_refused(&shared.clone().slice(range).unwrap_err(), "range", &values);
            x = shared.try_unique().expect("a slice that was refused is no handle");
        }
        let rejected = x.split_at(5).unwrap_err();
        assert_refused(&rejected.error, "mid", &["5", "4"]);
        let x = rejected.back.expect("the buffer").narrow(1..3).unwrap();
        let rejected = x.narrow(0..3).unwrap_err();
        assert_refused(&rejected.error, "range", &["3", "2"]);
        assert_eq!(down(&device, &rejected.back.expect("the buffer")), [2, 3]);
    }
}

#[test]
fn buffers_of_another_device_are_refused() {
    for builder in builders() {
        let (device, other) = (builder.clone().open().unwrap(), builder.open().unwrap());
        let (x, stranger) = (up(&device, [1.0f64, 2.0]), up(&other, [3.0f64, 4.0]));
        let names = [other.name(), device.name()];
        assert_refused(&device.download(&stranger).unwrap_err(), "read 0", &names);
        assert_refused(&device.blas().dot(&x, &stranger).unwrap_err(), "read 1", &names);
        assert_refused(&device.blas().dot(&stranger, &x).unwrap_err(), "read 0", &names);
        let rejected = device.blas().axpy(1.0, &x, stranger).unwrap_err();
        assert_refused(&rejected.error, "write 0", &names);
        let (stranger,) = rejected.back.expect("the stranger comes back");
        assert_eq!(down(&other, &stranger), [3.0, 4.0]);
        let rejected = device.blas().axpy(1.0, &stranger, x).unwrap_err();
        assert_refused(&rejected.error, "read 0", &names);
        assert_eq!(down(&device, &rejected.back.expect("the output").0), [1.0, 2.0]);
    }
}

#[test]
fn buffers_of_another_generation_are_refused_with_both_generations() {
    for device in devices() {
        let (old, shared) = (up(&device, [1.0f64, 2.0]), up(&device, [1.0f64, 2.0]).share());
        device.rebuild(Duration::from_secs(60)).unwrap();
        let fresh = up(&device, [5.0f64, 6.0]);
        assert_eq!((old.generation(), fresh.generation(), device.generation()), (0, 1, 1));
        let stale = |error: &Error| {
            let reason = Stale::Generation { made: 0, now: 1 };
            assert!(matches!(error, Error::GpuRefStale { reason: r, .. } if *r == reason), "{error}");
        };
        stale(&device.download(&old).unwrap_err());
        stale(&device.blas().dot(&fresh, &shared).unwrap_err());
        stale(&device.blas().dot(&shared, &fresh).unwrap_err());
        let rejected = device.blas().axpy(1.0, &old, fresh).unwrap_err();
        stale(&rejected.error);
        let (fresh,) = rejected.back.expect("the output");
        let rejected = device.blas().axpy(1.0, &fresh, old).unwrap_err();
        stale(&rejected.error);
        let (old,) = rejected.back.expect("the stale output comes back, too");
        stale(&device.fill(old, 1.0).unwrap_err().error);
        assert_eq!(down(&device, &fresh), [5.0, 6.0]);
    }
}

#[test]
fn devices_that_do_not_exist_are_refused() {
    for name in ["hots", "cuda:", "cuda:x", "cuda:-1", "cuda:1:2", "cuda:99999999999999999999999", "gpu", "host:0"] {
        assert_refused(&Device::named(name).unwrap_err(), "device", &[name]);
    }
    assert!(Device::named(" host ").is_ok(), "white space around a name does no harm");
    // No machine has that many: what is missing is the driver or the device, and either is said.
    for ordinal in [4096, usize::MAX] {
        match Device::cuda(ordinal).unwrap_err() {
            Error::LibraryMissing { tried, .. } => assert!(!tried.is_empty()),
            Error::Unsupported { .. } if !cfg!(feature = "cuda") => {}
            error => assert!(refused(&error).1.contains(&ordinal.to_string()), "{error}"),
        }
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    for builder in builders() {
        let refusals = [
            (builder.clone().slots(0), "slots", "0"),
            (builder.clone().slots(usize::MAX), "slots", &*usize::MAX.to_string()),
            (builder.clone().memory_limit(0), "memory_limit", "0"),
            (builder.clone().staging_limit(0), "staging_limit", "0"),
            (builder.clone().in_flight(InFlight::Wait(0)), "in_flight", "0"),
            (builder.clone().in_flight(InFlight::Busy(0)), "in_flight", "0"),
        ];
        for (builder, argument, value) in refusals {
            assert_refused(&builder.open().unwrap_err(), argument, &[value]);
        }
    }
    let error = Device::builder().host().host_pool(HostPool::Threads(0)).open().unwrap_err();
    assert_refused(&error, "threads", &["0"]);
}

#[test]
fn memory_that_was_never_written_is_not_read() {
    for device in devices() {
        let x = device.uninit::<f64>(4).unwrap();
        let fresh = up(&device, [1.0f64; 4]);
        assert_refused(&device.download(&x).unwrap_err(), "read 0", &["never written"]);
        assert_refused(&device.blas().dot(&fresh, &x).unwrap_err(), "read 1", &["never written"]);
        assert_refused(&device.duplicate(&x).unwrap_err(), "read 0", &["never written"]);
        // An update reads what it writes.
        let rejected = device.blas().axpy(1.0, &fresh, x).unwrap_err();
        assert_refused(&rejected.error, "write 0", &["never written"]);
        let spec = Gemm::<f64>::new(2, 2, 2);
        let (x,) = rejected.back.unwrap();
        let rejected = device.blas().gemm(spec.beta(1.0), &fresh, &fresh, x).unwrap_err();
        assert_refused(&rejected.error, "write 0", &["never written"]);
        // So does a product that leaves gaps, or something behind its last column.
        let gaps = device.blas().gemm(Gemm::<f64>::new(1, 2, 2).ldc(2), &fresh, &fresh, device.uninit(3).unwrap());
        assert_refused(&gaps.unwrap_err().error, "write 0", &["never written"]);
        let behind = device.blas().gemm(spec, &fresh, &fresh, device.uninit(5).unwrap());
        assert_refused(&behind.unwrap_err().error, "write 0", &["never written"]);
        // One that overwrites all of it is welcome.
        let (x,) = rejected.back.unwrap();
        let x = device.blas().gemm(spec, &fresh, &fresh, x).unwrap().into_output();
        assert_eq!(down(&device, &x), [2.0; 4]);
    }
}

#[test]
fn memory_that_was_written_in_part_is_not_read() {
    for device in devices() {
        let x = device.uninit::<u8>(4).unwrap().narrow(0..2).unwrap();
        let x = device.fill(x, 1).unwrap().into_output().widen();
        assert_refused(&device.download(&x).unwrap_err(), "read 0", &["never written"]);
        // Two parts, one of them written: the whole is not.
        let (left, right) = x.split_at(2).unwrap();
        let left = device.fill(left, 2).unwrap().into_output();
        assert_eq!(down(&device, &left), [2, 2]);
        let x = left.join(right).unwrap();
        assert_refused(&device.download(&x).unwrap_err(), "read 0", &["never written"]);
        let (left, right) = x.split_at(2).unwrap();
        let left = device.fill(left, 3).unwrap().into_output();
        let right = device.fill(right, 4).unwrap().into_output();
        assert_eq!(down(&device, &left.join(right).unwrap()), [3, 3, 4, 4]);
    }
}

#[test]
fn the_memory_limit_holds_and_what_is_given_back_can_be_had_again() {
    for builder in builders() {
        let device = builder.memory_limit(1 << 20).open().unwrap();
        let half = device.zeros::<u8>(1 << 19).unwrap();
        let error = device.zeros::<u8>((1 << 19) + 1).unwrap_err();
        match &error {
            Error::OutOfMemory { requested, free, limit, .. } => {
                assert_eq!((*requested, *free, *limit), ((1 << 19) + 1, 1 << 19, 1 << 20));
            }
            other => panic!("{other}"),
        }
        assert!(error.is_retryable());
        assert_eq!(error.site().and_then(|s| s.device()), Some(device.name()));
        let rest = device.upload(vec![1u8; 1 << 19]).unwrap().into_output();
        assert!(device.upload([1u8]).is_err() && device.duplicate(&rest).is_err());
        assert_eq!(device.stats().bytes_used, 1 << 20);
        drop((half, rest));
        assert!(common::eventually(10, || device.zeros::<u8>(1 << 20).is_ok()));
        assert_eq!((device.memory().unwrap().limit, device.stats().bytes_limit), (1 << 20, 1 << 20));
    }
}

#[test]
fn a_request_that_is_refused_takes_no_memory_from_others() {
    for device in devices() {
        let stop = AtomicBool::new(false);
        let refusals = std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        assert!(device.uninit::<u8>(1 << 60).is_err());
                    }
                });
            }
            let until = Instant::now() + Duration::from_millis(300);
            let refusals = (0..).take_while(|_| Instant::now() < until).filter(|_| device.uninit::<u8>(8).is_err());
            let refusals = refusals.count();
            stop.store(true, Ordering::Relaxed);
            refusals
        });
        assert_eq!(refusals, 0, "requests for 8 bytes were refused while others asked for too much");
    }
}

#[test]
fn settings_that_work_are_accepted_at_their_least() {
    let device = host(1).slots(1).staging_limit(1).in_flight(InFlight::Wait(1)).memory_limit(8).open().unwrap();
    let x = device.upload([1.0f64]).unwrap().into_output();
    let x = device.blas().scal(2.0, x).unwrap().into_output();
    assert_eq!(down(&device, &x), [2.0]);
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
            let batch = Batch::new(count);
            wait(blas.gemm_strided_batched(Gemm::new(0, 0, 0), batch, &x, &x, y()));
            wait(blas.gemm_strided_batched(Gemm::new(0, 3, 0), batch, &x, &x, y()));
            let c = up(&device, [7i32; 2]);
            let c = blas.gemm_strided_batched(Gemm::new(3, 0, 0), batch, &byte, &byte, c).unwrap();
            assert_eq!(down(&device, &c.await_result().unwrap()), [7; 2]);
            let solve = Triangular::new(Side::Left, Uplo::Upper, 0, 0);
            wait(blas.trsm_strided_batched(solve, batch, &x, y()));
            wait(blas.gemv_strided_batched(Gemv::new(0, 0).batch(count), &x, &x, y()));
        }
        let most = i32::MAX as usize;
        wait(blas.getrs_strided_batched(Lu::new(0, most), Transpose::No, 1, &x, &pivots, y()));
        wait(blas.getrs_strided_batched(Lu::new(2, 2).stride_a(0), Transpose::No, 0, &x, &pivots, y()));
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
