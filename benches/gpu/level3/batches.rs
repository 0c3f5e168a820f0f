//! Batches: at fixed distances, by lists, in groups. The raw calls find their lists of addresses in device memory, made
//! ahead; ours are given buffers and make the lists themselves.

use super::Kind;
use super::letters::{GroupedProducts, ListedProducts, Solutions, StridedProducts, function};
use super::side::{Sides, buffer};
use crate::harness::Bench;
use std::ffi::c_void;
use windlass::blas::{BlasElement, Triangular};
use windlass::tensor::Layout;
use windlass::{DeviceBuffer, Gemm, Side, Tensor, TensorRef, Uplo};

/// What every type of BLAS has.
pub(super) fn every<T: Kind + BlasElement>(bench: &mut Bench, n: usize, count: usize) {
    products::<T>(bench, n, count);
    let sides = Sides::<T>::new(bench, n, count);
    let (l, blas, lists) = (n as i64, bench.device.blas(), sides.lists(bench));
    let [a, _, c] = lists.each_ref().map(|list| list.address as *const c_void);
    let (squares, each) = (Layout::columns(n, n).batch(count, n * n), count as i64);
    let of_a = sides.a.view(squares).unwrap();
    // SAFETY: the function has this signature; the lists hold the addresses of `count` matrices of n x n elements.
    unsafe {
        sides.row::<Solutions>(
            bench,
            ("trsm_strided_batched", "trsmBatched_64", 1),
            |b| {
                let b = b.with_layout(squares).unwrap();
                buffer(blas.trsm(Triangular::new(Side::Left, Uplo::Lower), &of_a, b))
            },
            |f, r| f(r.handle, 0, 0, 0, 0, l, l, r.one, a, l, c, l, each),
        );
    }
}

/// gemm, which more types have.
pub(super) fn products<T: Kind>(bench: &mut Bench, n: usize, count: usize) {
    strided::<T>(bench, n, count);
    let sides = Sides::<T>::new(bench, n, count);
    listed(bench, &sides);
    if T::TEXT.starts_with('c') {
        // No function of the library: ours calls it group by group.
        return bench.skip(&sides.name("gemm_grouped"), "the library has it for real types alone");
    }
    grouped(bench, &sides);
}

/// gemm at fixed distances.
pub(super) fn strided<T: Kind>(bench: &mut Bench, n: usize, count: usize) {
    let sides = Sides::<T>::new(bench, n, count);
    let (size, blas, all) = (n as i64, bench.device.blas(), count as i64);
    let (t, compute, stride) = (T::CODES.input, T::CODES.compute, (n * n) as i64);
    // SAFETY: the function has this signature; all buffers hold `count` matrices of n x n elements.
    unsafe {
        sides.row::<StridedProducts>(
            bench,
            ("gemm_strided_batched", "cublasGemmStridedBatchedEx_64", 1),
            |c| {
                let of = Layout::columns(n, n).batch(count, n * n);
                let (a, b, c) = (sides.a.view(of).unwrap(), sides.b.view(of).unwrap(), c.with_layout(of).unwrap());
                buffer(blas.gemm(Gemm::new(), a, b, c))
            },
            |f, r| {
                f(
                    r.handle, 0, 0, size, size, size, r.one, r.a, t, size, stride, r.b, t, size, stride, r.zero, r.c,
                    t, size, stride, all, compute, -1,
                )
            },
        );
    }
}

/// C of ours, matrix by matrix.
fn parts<T: Kind>(bench: &Bench, sides: &Sides<T>) -> Vec<Tensor<T>> {
    let square = Layout::columns(sides.n, sides.n);
    (0..sides.count).map(|_| bench.device.zeros(sides.each()).unwrap().with_layout(square).unwrap()).collect()
}

/// The matrices of a factor.
fn views<'a, T: Kind>(sides: &Sides<T>, all: &'a DeviceBuffer<T>) -> Vec<TensorRef<'a, T>> {
    let (n, each) = (sides.n, sides.each());
    (0..sides.count).map(|i| all.view(Layout::columns(n, n).offset(i * each)).unwrap()).collect()
}

fn listed<T: Kind>(bench: &mut Bench, sides: &Sides<T>) {
    let (size, blas, name) = (sides.n as i64, bench.device.blas(), sides.name("gemm_batched"));
    // SAFETY: the function has this signature.
    let function = unsafe { function::<T, ListedProducts>("cublasGemmBatchedEx_64") };
    let (true, Some(f)) = (bench.wants(&name), function) else { return };
    let (lists, start, r) = (sides.lists(bench), parts(bench, sides), sides.raw());
    let [a, b, c] = lists.each_ref().map(|list| list.address as *const c_void);
    let (t, compute, count) = (T::CODES.input, T::CODES.compute, sides.count as i64);
    let (of_a, of_b) = (views(sides, &sides.a), views(sides, &sides.b));
    let ours = |c: Vec<Tensor<T>>| blas.gemm_batched(Gemm::new(), &of_a, &of_b, c);
    // SAFETY: the lists hold the addresses of `count` matrices of n x n elements; the factors outlive the call.
    sides.measure(bench, &name, 1, start, &ours, || unsafe {
        f(r.handle, 0, 0, size, size, size, r.one, a, t, size, b, t, size, r.zero, c, t, size, count, compute, -1)
    });
}

/// Two groups of the same shape, half of the matrices each.
fn grouped<T: Kind>(bench: &mut Bench, sides: &Sides<T>) {
    let (n, blas, name) = (sides.n, bench.device.blas(), sides.name("gemm_grouped"));
    // SAFETY: the function has this signature.
    let function = unsafe { function::<T, GroupedProducts>("cublasGemmGroupedBatchedEx_64") };
    let (true, Some(f)) = (bench.wants(&name), function) else { return };
    let (lists, start, r) = (sides.lists(bench), parts(bench, sides), sides.raw());
    let [a, b, c] = lists.each_ref().map(|list| list.address as *const c_void);
    let (t, compute, half) = (T::CODES.input, T::CODES.compute, sides.count / 2);
    let (of_a, of_b) = (views(sides, &sides.a), views(sides, &sides.b));
    let counts = [half, sides.count - half];
    let groups = || counts.map(|count| (Gemm::new(), count));
    let ours = |c: Vec<Tensor<T>>| blas.gemm_grouped(groups(), &of_a, &of_b, c);
    let (flags, size, sizes) = ([0u32; 2], [n as i64; 2], counts.map(|count| count as i64));
    let (ones, zeros) = ([T::ONE; 2], [T::Scalar::default(); 2]);
    // SAFETY: as above; the arrays that describe the groups outlive the call.
    sides.measure(bench, &name, 1, start, &ours, || unsafe {
        let (flags, size) = (flags.as_ptr(), size.as_ptr());
        let (one, zero) = (ones.as_ptr().cast(), zeros.as_ptr().cast());
        f(
            r.handle,
            flags,
            flags,
            size,
            size,
            size,
            one,
            a,
            t,
            size,
            b,
            t,
            size,
            zero,
            c,
            t,
            size,
            2,
            sizes.as_ptr(),
            compute,
        )
    });
}
