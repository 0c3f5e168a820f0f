//! What fails in the middle of a program of factorizations is an error of the call, loses no memory, and the next one is right.

use crate::common::{assert_back_at, down, host, up};
use windlass::solver::{Eigenvectors, EighSpec, Jacobi, Lowest, Norm, Structure, SvdMethod, Symmetry, Vectors};
use windlass::tensor::Layout;
use windlass::{Device, Error, FaultPlan, Transpose, Uplo};

const A: [f64; 9] = [4.0, 1.0, 0.5, 1.0, 5.0, 2.0, 0.5, 2.0, 6.0];

/// Some of everything, of which each step reads the one before.
fn program(device: &Device) -> windlass::Result<Vec<f64>> {
    let (solver, a) = (device.solver(), || device.tensor([3, 3], A)); // symmetric
    let a = || a()?.with_layout(Layout::column_major([3, 3])?).map_err(Error::from);
    let b = device.tensor([3], [1.0, 2.0, 3.0])?;
    let lu = solver.lu(a()?)?.await_result()?;
    let x = lu.solve(&solver, Transpose::No, b)?.await_result()?;
    let mut numbers = vec![lu.det(&solver)?.await_result()?[0].value().re];
    let cholesky = solver.cholesky(Uplo::Lower, a()?)?.await_result()?;
    let x = cholesky.solve(&solver, x)?.await_result()?;
    let ldl = solver.ldl(Uplo::Upper, Symmetry::Symmetric, a()?)?.await_result()?;
    let x = ldl.solve(&solver, x)?.await_result()?;
    let qr = solver.qr(&a()?)?.await_result()?;
    let x = qr.solve(&solver, x)?.await_result()?.x;
    let x = solver.solve(Structure::General, a()?, x)?.await_result()?.x;
    let x = solver.solve_refined(Lowest::Single, &a()?, &x)?.await_result()?.x;
    let svd = solver.svd_by(SvdMethod::Jacobi(Jacobi::new()), Vectors::Thin, a()?)?.await_result()?;
    let eigh = solver.eigh(EighSpec::new(Uplo::Lower), a()?)?.await_result()?;
    let eig = solver.eig(Eigenvectors::None, a()?)?.await_result()?;
    numbers.push(solver.norm(Norm::Nuclear, a()?)?.await_result()?[0]);
    let inverse = lu.inverse(&solver)?.await_result()?;
    for tensor in [&svd.values, &eigh.values, &inverse.matrix, &x] {
        numbers.extend(device.download(tensor)?.await_result()?);
    }
    numbers.extend(device.download(&eig.values)?.await_result()?.iter().map(|w| w.re));
    Ok(numbers)
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
