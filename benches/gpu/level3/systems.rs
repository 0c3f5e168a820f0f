//! Many small systems: factors, solutions, inverses. The raw calls find their lists of addresses in device memory, made
//! ahead, and follow their pivots as they are; ours makes the lists, and looks at pivots first.

use super::Kind;
use super::letters::{DirectInverses, Factors, Inverses, Systems, function};
use super::side::Sides;
use crate::harness::Bench;
use std::ffi::{c_int, c_void};
use windlass::blas::{BlasElement, LuBatch};
use windlass::{DeviceBuffer, Transpose};

/// The most rows that the library inverts without factors.
const MATINV_MOST: usize = 32;

/// What every type of BLAS has.
pub(super) fn every<T: Kind + BlasElement>(bench: &mut Bench, n: usize, count: usize) {
    let sides = Sides::<T>::new(bench, n, count);
    let (blas, lu, lists) = (bench.device.blas(), LuBatch::new(n).batch(count), sides.lists(bench));
    let [a, b, c] = lists.each_ref().map(|list| list.address as *const c_void);
    let (rows, all, handle) = (n as c_int, count as c_int, sides.raw().handle);
    // Each row is its own pivot, so that any of the matrices will do for factors.
    let places: Vec<i32> = (0..n * count).map(|at| (at % n) as i32 + 1).collect();
    let (their_pivots, their_info) = (sides.numbers(bench, &places), sides.numbers(bench, &vec![0; count]));
    let (at_pivots, at_info) = (their_pivots.address as *mut c_void, their_info.address as *mut c_void);
    let up = |data: &[i32]| bench.device.upload(data).unwrap().await_result().unwrap();
    let (pivots, spare, infos) = (up(&places), up(&places), [(); 3].map(|()| up(&vec![0; count])));
    let [first, second, third] = infos;

    // SAFETY: of all functions: their signatures.
    let getrf = unsafe { function::<T, Factors>("getrfBatched") };
    if let (true, Some(f)) = (bench.wants(&sides.name("getrf_strided_batched")), getrf) {
        let ours = |(a, pivots, info)| blas.getrf_strided_batched(lu, a, pivots, info);
        // SAFETY: of all calls: the lists hold the addresses of `count` matrices of n x n elements, with so many pivots
        // and infos; a number on the host outlives the call.
        let raw = || unsafe { f(handle, rows, c, rows, at_pivots, at_info, all) };
        sides.measure(bench, &sides.name("getrf_strided_batched"), 1, (sides.c(bench), spare, first), &ours, raw);
        bench.raw.copy(&sides.numbers(bench, &places), &their_pivots, sides.stream());
    }
    // SAFETY: as above.
    unsafe {
        let mut info: c_int = 0;
        let info = &raw mut info;
        sides.row::<Systems>(
            bench,
            ("getrs_strided_batched", "getrsBatched", 1),
            |b| blas.getrs_strided_batched(lu, Transpose::No, n, &sides.a, &pivots, b),
            |f, r| f(r.handle, 0, rows, rows, a, rows, at_pivots, c, rows, info, all),
        );
    }
    // SAFETY: as above.
    let getri = unsafe { function::<T, Inverses>("getriBatched") };
    if let (true, Some(f)) = (bench.wants(&sides.name("getri_strided_batched")), getri) {
        let ours = |(c, info): (DeviceBuffer<T>, _)| blas.getri_strided_batched(lu, &sides.a, &pivots, c, info);
        // SAFETY: as above.
        let raw = || unsafe { f(handle, rows, a, rows, at_pivots, b, rows, at_info, all) };
        sides.measure(bench, &sides.name("getri_strided_batched"), 1, (sides.c(bench), second), &ours, raw);
    }
    // SAFETY: as above.
    let matinv = unsafe { function::<T, DirectInverses>("matinvBatched") };
    if let (true, true, Some(f)) = (n <= MATINV_MOST, bench.wants(&sides.name("matinv_strided_batched")), matinv) {
        let ours = |(c, info): (DeviceBuffer<T>, _)| blas.matinv_strided_batched(lu, &sides.a, c, info);
        // SAFETY: as above.
        let raw = || unsafe { f(handle, rows, a, rows, b, rows, at_info, all) };
        sides.measure(bench, &sides.name("matinv_strided_batched"), 1, (sides.c(bench), third), &ours, raw);
    }
}
