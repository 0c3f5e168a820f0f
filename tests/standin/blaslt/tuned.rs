//! The ways that were measured: by every slot, whatever lies beside the product, and of what may be multiplied at all.

use super::{ASK, MATMUL, device};
use crate::common::{down, up};
use crate::standin::session;
use std::time::Duration;
use windlass::blaslt::{Epilogue, Operands};
use windlass::{Error, Matmul, Transpose};

#[test]
fn a_measured_way_is_used_by_every_slot_from_then_on() {
    let driver = session();
    let device = device(4);
    let x = up(&device, vec![1.0f32; 64]);
    let spec = Matmul::new(8, 8, 8).trans_a(Transpose::Yes);
    // Each slot has a plan of the guessed way first.
    for _ in 0..8 {
        let ds: Vec<_> = (0..4).map(|_| device.uninit(64).unwrap()).collect();
        ds.into_iter().for_each(|d| drop(device.blas_lt().matmul(spec, &x, &x, d).unwrap().into_output()));
    }
    let d = up(&device, vec![7.0f32; 64]);
    let (d, tuning) = device.blas_lt().autotune(spec, Operands::new(&x, &x), Epilogue::none(), d).unwrap();
    assert_eq!(down(&device, &d), [7.0; 64]);
    assert_eq!(tuning.candidates.len(), 3);
    assert!(tuning.chosen.is_some());
    let asked = driver.calls_of(ASK);
    for _ in 0..8 {
        let d = device.blas_lt().matmul(spec, &x, &x, device.uninit(64).unwrap()).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &d), [8.0; 64]);
    }
    assert_eq!(driver.calls_of(ASK), asked);
    assert_eq!(device.stats().plans_pinned, 1);
    drop((x, d, device));
    driver.assert_finished();
}

/// What is tuned is admitted before anything is measured.
#[test]
fn tuning_asks_the_library_nothing_about_buffers_that_a_product_refuses() {
    let driver = session();
    let device = device(1);
    let (x, spec) = (up(&device, [1.0f32; 4]), Matmul::new(2, 2, 2));
    let stale = up(&device, [1.0f32; 4]);
    device.rebuild(Duration::from_secs(60)).unwrap();
    let fresh = up(&device, [1.0f32; 4]);
    let asked = driver.calls_of(ASK) + driver.calls_of(MATMUL);
    let operands = Operands::new(&fresh, &fresh);
    let error = device.blas_lt().autotune(spec, operands, Epilogue::none(), stale).unwrap_err().error;
    assert!(matches!(error, Error::GpuRefStale { .. }), "{error}");
    let d = || device.zeros::<f32>(4).unwrap();
    let error = device.blas_lt().autotune(spec, Operands::new(&x, &x), Epilogue::none(), d()).unwrap_err().error;
    assert!(matches!(error, Error::GpuRefStale { .. }), "{error}");
    let unread = device.blas_lt().autotune(spec.beta(1.0), operands, Epilogue::none(), device.uninit(4).unwrap());
    assert!(matches!(unread.unwrap_err().error, Error::InvalidArgument { .. }));
    assert_eq!(driver.calls_of(ASK) + driver.calls_of(MATMUL), asked);
    drop((x, fresh, device));
    driver.assert_finished();
}

/// A gradient that the library could not store to is written aside: to be measured too.
#[test]
fn a_measured_way_is_used_whatever_the_alignment_of_the_gradient() {
    let driver = session();
    let device = device(1);
    let lt = device.blas_lt();
    let x = up(&device, vec![1.0f32; 1024]);
    for (batch, stride) in [(1, 8), (2, 8), (2, 9)] {
        let spec = Matmul::new(8, 8, 8).trans_a(Transpose::Yes).batch(batch).stride_bias(stride);
        let mask = up(&device, vec![255u8; spec.mask_len().unwrap()]);
        for from in [0, 1] {
            let len = stride * (batch - 1) + 8;
            let grad = || up(&device, vec![7.0f32; len + from]).narrow(from..from + len).unwrap();
            let d = || up(&device, vec![7.0f32; 64 * batch]);
            let operands = Operands::new(&x, &x);
            let outcome = lt.autotune(spec, operands, Epilogue::drelu_bgrad(&mask, grad()), d()).unwrap();
            let ((d_back, grad_back), tuning) = outcome;
            assert_eq!((down(&device, &d_back), down(&device, &grad_back)), (vec![7.0; 64 * batch], vec![7.0; len]));
            assert!(tuning.chosen.is_some());
            let asked = driver.calls_of(ASK);
            let pending = lt.matmul_with(spec, operands, Epilogue::drelu_bgrad(&mask, grad()), d()).unwrap();
            let (d, grad) = pending.await_result().unwrap();
            assert_eq!(driver.calls_of(ASK), asked, "batch {batch}, {stride} apart, {from} past an aligned address");
            assert_eq!(down(&device, &d), vec![8.0; 64 * batch]);
            let grad = down(&device, &grad);
            for (at, value) in grad.iter().enumerate() {
                assert_eq!(*value, if at % stride < 8 { 64.0 } else { 7.0 }, "{at}");
            }
        }
    }
    drop((x, lt, device));
    driver.assert_finished();
}
