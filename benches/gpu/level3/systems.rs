//! Many small systems: factors, solutions, inverses. The raw calls find their lists of addresses in device memory, made
//! ahead, and follow their pivots as they are; ours makes the lists, and looks at pivots first.

use super::Kind;
use super::letters::{DirectInverses, Factors, Inverses, Systems, function};
use super::side::{Sides, buffer};
use crate::harness::Bench;
use std::ffi::{c_int, c_void};
use windlass::blas::BlasElement;
use windlass::tensor::Layout;
use windlass::{DeviceBuffer, Tensor, Transpose};

/// The most rows that the library inverts without factors.
const MATINV_MOST: usize = 32;

/// What every type of BLAS has.
pub(super) fn every<T: Kind + BlasElement>(bench: &mut Bench, n: usize, count: usize) {
    let sides = Sides::<T>::new(bench, n, count);
    let (blas, squares, lists) = (bench.device.blas(), Layout::columns(n, n).batch(count, n * n), sides.lists(bench));
    let (factors, of) = (sides.a.view(squares).unwrap(), |x: DeviceBuffer<T>| x.with_layout(squares).unwrap());
    let [a, b, c] = lists.each_ref().map(|list| list.address as *const c_void);
    let (rows, all, handle) = (n as c_int, count as c_int, sides.raw().handle);
    // Each row is its own pivot, so that any of the matrices will do for factors.
    let places: Vec<i32> = (0..n * count).map(|at| (at % n) as i32 + 1).collect();
    let (their_pivots, their_info) = (sides.numbers(bench, &places), sides.numbers(bench, &vec![0; count]));
    let (at_pivots, at_info) = (their_pivots.address as *mut c_void, their_info.address as *mut c_void);
    let up = || bench.device.tensor([count, n], &places[..]).unwrap();
    let (pivots, spare, infos) = (up(), up(), [(); 3].map(|()| bench.device.zeros::<i32>([count]).unwrap()));
    let [first, second, third] = infos;

    // SAFETY: of all functions: their signatures.
    let getrf = unsafe { function::<T, Factors>("getrfBatched") };
    if let (true, Some(f)) = (bench.wants(&sides.name("getrf_strided_batched")), getrf) {
        let ours = |(a, pivots, info): (Tensor<T>, Tensor<i32>, Tensor<i32>)| blas.getrf(a, pivots, info);
        // SAFETY: of all calls: the lists hold the addresses of `count` matrices of n x n elements, with so many pivots
        // and infos; a number on the host outlives the call.
        let raw = || unsafe { f(handle, rows, c, rows, at_pivots, at_info, all) };
        sides.measure(bench, &sides.name("getrf_strided_batched"), 1, (of(sides.c(bench)), spare, first), &ours, raw);
        bench.raw.copy(&sides.numbers(bench, &places), &their_pivots, sides.stream());
    }
    // SAFETY: as above.
    unsafe {
        let mut info: c_int = 0;
        let info = &raw mut info;
        sides.row::<Systems>(
            bench,
            ("getrs_strided_batched", "getrsBatched", 1),
            |b| buffer(blas.getrs(Transpose::No, &factors, &pivots, of(b))),
            |f, r| f(r.handle, 0, rows, rows, a, rows, at_pivots, c, rows, info, all),
        );
    }
    // SAFETY: as above.
    let getri = unsafe { function::<T, Inverses>("getriBatched") };
    if let (true, Some(f)) = (bench.wants(&sides.name("getri_strided_batched")), getri) {
        let ours = |(c, info): (Tensor<T>, Tensor<i32>)| blas.getri(&factors, &pivots, c, info);
        // SAFETY: as above.
        let raw = || unsafe { f(handle, rows, a, rows, at_pivots, b, rows, at_info, all) };
        sides.measure(bench, &sides.name("getri_strided_batched"), 1, (of(sides.c(bench)), second), &ours, raw);
    }
    // SAFETY: as above.
    let matinv = unsafe { function::<T, DirectInverses>("matinvBatched") };
    if let (true, true, Some(f)) = (n <= MATINV_MOST, bench.wants(&sides.name("matinv_strided_batched")), matinv) {
        let ours = |(c, info): (Tensor<T>, Tensor<i32>)| blas.matinv(&factors, c, info);
        // SAFETY: as above.
        let raw = || unsafe { f(handle, rows, a, rows, b, rows, at_info, all) };
        sides.measure(bench, &sides.name("matinv_strided_batched"), 1, (of(sides.c(bench)), third), &ours, raw);
    }
}
