//! What fails in the middle of making a matrix is an error of the call, loses no memory, and the next call is right.

use crate::common::{assert_back_at, down, host, up};
use windlass::sparse::{Spmm, Spmv};
use windlass::{Device, Diag, Error, FaultPlan, Transpose, Uplo, sparse::Order};

/// Some of everything, of which each step reads the one before.
fn program(device: &Device) -> windlass::Result<Vec<f64>> {
    let (sparse, offsets, columns) = (device.sparse(), [0i32, 2, 3, 5], [0i32, 2, 1, 0, 2]);
    let a = sparse.upload_csr(3, 3, &offsets, &columns, &[1.0f64, 2.0, 3.0, 4.0, 5.0])?;
    let square = sparse.spgemm(1.0, &a, &a)?;
    let sum = sparse.add(1.0, &square, 2.0, &a)?;
    let turned = sparse.to_csr(&sparse.to_csc(&sum)?)?;
    let stacked = sparse.vstack(&[&turned, &sparse.bsr_to_csr(&sparse.to_bsr(&a, 3, Order::Row)?)?])?;
    let kept = sparse.drop_small(&stacked, 1.5)?;
    let lower = sparse.triangular(&a, Uplo::Lower, Diag::NonUnit, Transpose::No)?;
    let b = device.upload([6.0f64, 9.0, 60.0])?.into_output();
    let x = sparse.spsv(&lower, 1.0, &b, device.uninit(3)?)?.await_result()?;
    let y = sparse.spmv(Spmv::new(), &kept, &x, device.uninit(6)?)?.await_result()?;
    let rows = device.upload([2i32, 0, 2, 1])?.into_output();
    let summed = sparse.sum_duplicates(3, 6, &rows, &rows, &device.upload([1.0f64; 4])?.into_output())?;
    let z = sparse.spmm(Spmm::new(), &summed, y.unsqueeze(1)?, device.uninit([3, 1])?)?.await_result()?;
    device.download(&z)?.await_result()
}

/// Tries a plan at 0, 1, 2, .., until nothing of the program is hit.
fn each(plan: fn(u64) -> FaultPlan, isolated: bool, expected: fn(&Error) -> bool) {
    let want = program(&host(2).open().unwrap()).unwrap();
    for n in 0.. {
        let builder = host(2).fault_plan(plan(n));
        let device: Device = if isolated { builder.isolated() } else { builder }.open().unwrap();
        match program(&device) {
            Ok(got) => {
                assert_eq!(got, want);
                assert!(n > 15, "the plan at {n} hit nothing");
                return;
            }
            Err(error) => assert!(expected(&error), "{n}: {error:?}"),
        }
        assert_eq!(program(&device).unwrap(), want, "after the plan at {n}");
        assert_back_at(&device, (0, 0, 0));
        assert_eq!(down(&device, &up(&device, [1u8])), [1]);
    }
}

fn failed(error: &Error) -> bool {
    matches!(error, Error::LibraryError { .. } | Error::Upstream { .. })
}

fn no_memory(error: &Error) -> bool {
    matches!(error, Error::OutOfMemory { .. } | Error::Upstream { .. })
}

#[test]
fn whichever_operation_fails_the_call_says_so_and_the_next_one_is_right() {
    each(|n| FaultPlan::new().fail(n), false, failed);
}

#[test]
fn whichever_allocation_finds_no_memory_the_call_says_so_and_the_next_one_is_right() {
    each(|n| FaultPlan::new().out_of_memory(n), false, no_memory);
}

#[test]
#[cfg(target_os = "linux")]
fn in_a_worker_too() {
    each(|n| FaultPlan::new().fail(n), true, failed);
}
