//! Square matrices.

use super::Kind;
use super::letters::{Diagonal, OneFactor, Product, Solution, Sum, Triangle, TwoFactors};
use super::side::{Raw, Sides, buffer};
use crate::harness::Bench;
use std::ffi::c_int;
use windlass::blas::{BlasElement, ComplexElement, Geam, GemmElement, Her2k, Herk, Symm, Syr2k, Syrk, Triangular};
use windlass::tensor::Layout;
use windlass::{DeviceBuffer, Gemm, Side, Submitted, Uplo};

const LEFT: Side = Side::Left;
const LOWER: Uplo = Uplo::Lower;
/// What only moves memory is over so quickly that a wait would be most of it: so many calls, and one wait.
const CHAIN: usize = 32;

/// gemm, which more types have.
pub(super) fn products<T: Kind>(bench: &mut Bench, n: usize) {
    let sides = Sides::<T>::new(bench, n, 1);
    product(bench, &sides);
}

fn product<T: Kind>(bench: &mut Bench, sides: &Sides<T>) {
    let (square, size, blas) = (Layout::columns(sides.n, sides.n), sides.n as i64, bench.device.blas());
    let (element, compute) = (T::CODES.input, T::CODES.compute);
    // SAFETY: the function has this signature; all matrices have n x n elements; the factors outlive the call.
    unsafe {
        sides.row::<Product>(
            bench,
            ("gemm", "cublasGemmEx_64", 1),
            |c| {
                let (a, b, c) =
                    (sides.a.view(square).unwrap(), sides.b.view(square).unwrap(), c.with_layout(square).unwrap());
                buffer(blas.gemm(Gemm::new(), a, b, c))
            },
            |f, r| {
                f(
                    r.handle, 0, 0, size, size, size, r.one, r.a, element, size, r.b, element, size, r.zero, r.c,
                    element, size, compute, -1,
                )
            },
        );
    }
}

/// The signature of what updates C from one matrix or two, called with flags of zero.
trait Update: 'static {
    /// # Safety
    /// The function is of the library, all matrices have n x n elements, and the factors outlive the call.
    unsafe fn call(self, raw: Raw, n: i64) -> c_int;
}

impl Update for TwoFactors {
    unsafe fn call(self, r: Raw, l: i64) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { self(r.handle, 0, 0, l, l, r.one, r.a, l, r.b, l, r.zero, r.c, l) }
    }
}

impl Update for OneFactor {
    unsafe fn call(self, r: Raw, l: i64) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { self(r.handle, 0, 0, l, l, r.one, r.a, l, r.zero, r.c, l) }
    }
}

impl<T: Kind> Sides<T> {
    /// A row of an update, from flags of zero.
    ///
    /// # Safety
    /// The function has the signature `F`.
    unsafe fn update<F: Update + Copy>(
        &self,
        bench: &mut Bench,
        (name, symbol): (&str, &str),
        ours: impl Fn(DeviceBuffer<T>) -> Submitted<DeviceBuffer<T>>,
    ) {
        // SAFETY: the caller's promise; all matrices have n x n elements; the factors outlive the call.
        unsafe { self.row::<F>(bench, (name, symbol, 1), ours, |f, raw| f.call(raw, self.n as i64)) };
    }
}

/// What every type of BLAS has.
pub(super) fn every<T: Kind + BlasElement>(bench: &mut Bench, n: usize) {
    let sides = Sides::<T>::new(bench, n, 1);
    let (l, blas, square) = (n as i64, bench.device.blas(), Layout::columns(n, n));
    let (a, b) = (&sides.a.view(square).unwrap(), &sides.b.view(square).unwrap());
    let (triangular, x) = (|| Triangular::new(LEFT, LOWER), || a.index(1, 0).unwrap());
    let of = |c: DeviceBuffer<T>| c.with_layout(square).unwrap();
    product(bench, &sides);
    // SAFETY: of all rows: the functions have these signatures; all matrices have n x n elements, and a vector is the
    // first column of one; the factors outlive the calls.
    unsafe {
        sides.update::<TwoFactors>(bench, ("symm", "symm_v2_64"), |c| {
            buffer(blas.symm(Symm::new(LEFT, LOWER), a, b, of(c)))
        });
        sides.update::<OneFactor>(bench, ("syrk", "syrk_v2_64"), |c| buffer(blas.syrk(Syrk::new(LOWER), a, of(c))));
        sides.update::<TwoFactors>(bench, ("syr2k", "syr2k_v2_64"), |c| {
            buffer(blas.syr2k(Syr2k::new(LOWER), a, b, of(c)))
        });
        sides
            .update::<TwoFactors>(bench, ("syrkx", "syrkx_64"), |c| buffer(blas.syrkx(Syr2k::new(LOWER), a, b, of(c))));
        sides.row::<Triangle>(
            bench,
            ("trmm", "trmm_v2_64", 1),
            |c| buffer(blas.trmm_into(triangular(), a, b, of(c))),
            |f, r| f(r.handle, 0, 0, 0, 0, l, l, r.one, r.a, l, r.b, l, r.c, l),
        );
        sides.row::<Solution>(
            bench,
            ("trsm", "trsm_v2_64", 1),
            |c| buffer(blas.trsm(triangular(), a, of(c))),
            |f, r| f(r.handle, 0, 0, 0, 0, l, l, r.one, r.a, l, r.c, l),
        );
        sides.row::<Sum>(
            bench,
            ("geam", "geam_64", CHAIN),
            |c| buffer(blas.geam(Geam::new().beta(<T as GemmElement>::ONE), a, b, of(c))),
            |f, r| f(r.handle, 0, 0, l, l, r.one, r.a, l, r.one, r.b, l, r.c, l),
        );
        sides.row::<Diagonal>(
            bench,
            ("dgmm", "dgmm_64", CHAIN),
            |c| buffer(blas.dgmm(LEFT, b, x(), of(c))),
            |f, r| f(r.handle, 0, l, l, r.b, l, r.a, 1, r.c, l),
        );
    }
}

/// What only complex types have.
pub(super) fn hermitian<T: Kind + ComplexElement>(bench: &mut Bench, n: usize) {
    let sides = Sides::<T>::new(bench, n, 1);
    let (blas, square) = (bench.device.blas(), Layout::columns(n, n));
    let (a, b) = (&sides.a.view(square).unwrap(), &sides.b.view(square).unwrap());
    let of = |c: DeviceBuffer<T>| c.with_layout(square).unwrap();
    // SAFETY: of all rows: as above.
    unsafe {
        sides.update::<TwoFactors>(bench, ("hemm", "hemm_v2_64"), |c| {
            buffer(blas.hemm(Symm::new(LEFT, LOWER), a, b, of(c)))
        });
        sides.update::<OneFactor>(bench, ("herk", "herk_v2_64"), |c| buffer(blas.herk(Herk::new(LOWER), a, of(c))));
        sides.update::<TwoFactors>(bench, ("her2k", "her2k_v2_64"), |c| {
            buffer(blas.her2k(Her2k::new(LOWER), a, b, of(c)))
        });
        sides
            .update::<TwoFactors>(bench, ("herkx", "herkx_64"), |c| buffer(blas.herkx(Her2k::new(LOWER), a, b, of(c))));
    }
}
