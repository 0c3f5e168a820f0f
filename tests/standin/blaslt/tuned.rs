//! The ways that were measured: by every slot, whatever lies beside the product, and of what may be multiplied at all.

use super::{ASK, MATMUL, device};
use crate::common::{columns, down, new_columns, rows, up};
use crate::standin::session;
use std::time::Duration;
use windlass::blaslt::{Epilogue, Operands};
use windlass::tensor::Layout;
use windlass::{Error, Matmul};

#[test]
fn a_measured_way_is_used_by_every_slot_from_then_on() {
    let driver = session();
    let device = device(4);
    let on_x = up(&device, vec![1.0f32; 64]);
    let (a, b) = (rows(&on_x, 8, 8), columns(&on_x, 8, 8));
    // Each slot has a plan of the guessed way first.
    for _ in 0..8 {
        let ds: Vec<_> = (0..4).map(|_| new_columns(&device, 8, 8)).collect();
        ds.into_iter().for_each(|d| drop(device.blas_lt().matmul(Matmul::new(), &a, &b, d).unwrap().into_output()));
    }
    let d = up(&device, vec![7.0f32; 64]).with_layout(Layout::columns(8, 8)).unwrap();
    let (d, tuning) = device.blas_lt().autotune(Matmul::new(), Operands::new(&a, &b), Epilogue::none(), d).unwrap();
    assert_eq!(down(&device, &d), [7.0; 64]);
    assert_eq!(tuning.candidates.len(), 3);
    assert!(tuning.chosen.is_some());
    let asked = driver.calls_of(ASK);
    for _ in 0..8 {
        let d = device.blas_lt().matmul(Matmul::new(), &a, &b, new_columns(&device, 8, 8)).unwrap();
        assert_eq!(down(&device, &d.await_result().unwrap()), [8.0; 64]);
    }
    assert_eq!(driver.calls_of(ASK), asked);
    assert_eq!(device.stats().plans_pinned, 1);
    drop((a, b));
    drop((on_x, d, device));
    driver.assert_finished();
}

/// What is tuned is admitted before anything is measured.
#[test]
fn tuning_asks_the_library_nothing_about_buffers_that_a_product_refuses() {
    let driver = session();
    let device = device(1);
    let x = device.full([2, 2], 1.0f32).unwrap();
    let stale = device.full([2, 2], 1.0f32).unwrap();
    device.rebuild(Duration::from_secs(60)).unwrap();
    let fresh = device.full([2, 2], 1.0f32).unwrap();
    let asked = driver.calls_of(ASK) + driver.calls_of(MATMUL);
    let operands = || Operands::new(&fresh, &fresh);
    let error = device.blas_lt().autotune(Matmul::new(), operands(), Epilogue::none(), stale).unwrap_err().error;
    assert!(matches!(error, Error::GpuRefStale { .. }), "{error}");
    let d = || device.full([2, 2], 0.0f32).unwrap();
    let error =
        device.blas_lt().autotune(Matmul::new(), Operands::new(&x, &x), Epilogue::none(), d()).unwrap_err().error;
    assert!(matches!(error, Error::GpuRefStale { .. }), "{error}");
    let new = new_columns(&device, 2, 2);
    let unread = device.blas_lt().autotune(Matmul::new().beta(1.0), operands(), Epilogue::none(), new);
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
    for (batch, m) in [(1, 8), (2, 8), (2, 9)] {
        let x = device.full([batch, m, 8], 1.0f32).unwrap();
        let ones = device.full([8, 8], 1.0f32).unwrap();
        let d = || device.full([batch, 8, m], 7.0f32).unwrap();
        let operands = || Operands::new(&ones, x.swap_axes(1, 2).unwrap());
        let (_, mask) = lt.matmul_with(Matmul::new(), operands(), Epilogue::relu_aux(), d()).unwrap().into_output();
        let epilogue = || Epilogue::drelu_bgrad(&mask);
        let (back, tuning) = lt.autotune(Matmul::new(), operands(), epilogue(), d()).unwrap();
        assert_eq!(down(&device, &back), vec![7.0; 8 * m * batch]);
        assert!(tuning.chosen.is_some());
        let asked = driver.calls_of(ASK);
        let (d, grad) = lt.matmul_with(Matmul::new(), operands(), epilogue(), d()).unwrap().await_result().unwrap();
        assert_eq!(driver.calls_of(ASK), asked, "batch {batch}, {m} columns");
        assert_eq!(down(&device, &d), vec![8.0; 8 * m * batch]);
        assert_eq!((down(&device, &grad), grad.shape()), (vec![64.0; m * batch], &[batch, m][..]));
    }
    drop((lt, device));
    driver.assert_finished();
}
