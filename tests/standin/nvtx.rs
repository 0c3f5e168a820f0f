//! The ranges that a profiler is shown, on the stand-ins for the driver and for NVTX.

use crate::common;
use crate::standin;

use common::{down, up};
use standin::{Driver, session};
use windlass::{Device, Gemm};

/// The ranges that `f` opens and ends on this thread, and what of cuBLAS it calls.
fn told<R>(driver: &Driver, f: impl FnOnce() -> R) -> (R, Vec<String>) {
    driver.log_of_this_thread();
    let answer = f();
    driver.log(false);
    let mut lines = driver.take_whole_log();
    lines.retain(|line| line.starts_with("nvtx") || line.starts_with("cublas"));
    (answer, lines.iter().map(|line| line.split(" blas#").next().unwrap().to_owned()).collect())
}

fn device() -> Device {
    let device = standin::device(1);
    device.blas().warm().unwrap();
    device
}

#[test]
fn a_range_named_for_the_operation_is_around_the_librarys_call() {
    let driver = session();
    let device = device();
    let (x, y) = (up(&device, [1.0f32; 4]), up(&device, [2.0f32; 4]));
    let (y, lines) = told(&driver, || device.blas().axpy(1.0, &x, y).unwrap().into_buffer());
    assert_eq!(lines, ["nvtxRangePushA axpy -> 0", "cublasAxpyEx_64", "nvtxRangePop -> 0"]);
    let (_, lines) = told(&driver, || down(&device, &y));
    assert_eq!(lines, ["nvtxRangePushA download -> 0", "nvtxRangePop -> 0"]);
    drop((x, y, device));
    driver.assert_finished();
}

#[test]
fn a_label_is_the_ranges_name_up_to_a_zero() {
    let driver = session();
    let device = device();
    for (label, name) in [("layer 3", "layer 3"), ("half\0other", "half"), ("", "")] {
        let y = up(&device, [2.0f32; 4]);
        let (y, lines) = told(&driver, || device.labelled(label).fill(y, 1.0).unwrap().into_output());
        assert_eq!(lines, [format!("nvtxRangePushA {name} -> 0").replace("  ", " ").as_str(), "nvtxRangePop -> 0"]);
        drop(y);
    }
    drop(device);
    driver.assert_finished();
}

#[test]
fn a_range_ends_also_where_the_call_in_it_fails_and_what_is_refused_has_none() {
    let driver = session();
    let device = device();
    let x = device.full([2, 2], 1.0f32).unwrap();
    driver.fail("cublasGemmEx", 0, 14);
    let c = device.uninit([2, 2]).unwrap();
    let (answer, lines) = told(&driver, || device.blas().gemm(Gemm::new(), &x, &x, c).map(drop));
    assert!(answer.is_err());
    assert_eq!(lines, ["nvtxRangePushA gemm -> 0", "cublasGemmEx_64 (made to fail) -> 14", "nvtxRangePop -> 0"]);
    let c = device.uninit([2, 1]).unwrap();
    let (answer, lines) = told(&driver, || device.blas().gemm(Gemm::new(), &x, &x, c).map(drop));
    assert!(answer.is_err() && lines.is_empty(), "{lines:?}");
    drop((x, device));
    driver.assert_finished();
}
