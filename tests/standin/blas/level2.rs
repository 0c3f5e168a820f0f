//! Matrices and vectors.

use super::Bench;
use crate::common::{columns, into_columns};
use windlass::blas::{Gemv, Ger, Symv, Syr, Trmv};
use windlass::tensor::Layout;
use windlass::{Complex, Diag, Transpose, Uplo};

const Z: Complex<f64> = Complex::new(2.0, -1.0);
const C: Complex<f32> = Complex::new(2.0, -1.0);

pub(crate) fn all(bench: &Bench) {
    general(bench);
    rank_one(bench);
    symmetric(bench);
    hermitian(bench);
    updates(bench);
    triangular(bench);
    batches(bench);
}

#[test]
fn matrices_and_vectors_go_to_their_own_function_with_all_that_it_takes() {
    let bench = Bench::new();
    all(&bench);
    bench.finish();
}

/// `n` elements, `inc` apart.
fn apart(n: usize, inc: isize) -> Layout {
    let offset = if inc < 0 { (n - 1) * inc.unsigned_abs() } else { 0 };
    Layout::new([n], [inc], offset).unwrap()
}

fn general(bench: &Bench) {
    let (a, x, y) = (bench.named::<f32>("A", 15), bench.named("X", 7), bench.named("Y", 3));
    let turned = a.view(Layout::columns(4, 3).ld(5)).unwrap().transpose();
    let spec = || Gemv::new().alpha(2.0).beta(0.5);
    bench
        .calls(&["cublasSgemv_v2_64 host trans=1 m=4 n=3 alpha=2 a=A lda=5 x=X incx=2 beta=0.5 y=Y incy=-1"], |blas| {
            blas.gemv(spec(), &turned, x.view(apart(4, 2)).unwrap(), y.with_layout(apart(3, -1)).unwrap())
        });
    let (p, q, y) = (bench.named("P", 1), bench.named("Q", 1), bench.named("Y", 3));
    let x = x.slice(..4).unwrap();
    bench.calls(&["cublasSgemv_v2_64 device trans=1 m=4 n=3 alpha=P a=A lda=5 x=X incx=1 beta=Q y=Y incy=1"], |blas| {
        blas.gemv(Gemv::new().alpha(&p).beta(&q), &turned, x, y)
    });
    // The library reads both from one place: a value goes beside a number of the device.
    let y = bench.named("Y", 3);
    bench.calls(
        &["cublasSgemv_v2_64 device trans=1 m=4 n=3 alpha=P a=A lda=5 x=X incx=1 beta=scratch y=Y incy=1"],
        |blas| blas.gemv(spec().alpha(&p), &turned, x, y),
    );
    let y = bench.named("Y", 3);
    bench.calls(
        &["cublasSgemv_v2_64 device trans=1 m=4 n=3 alpha=scratch a=A lda=5 x=X incx=1 beta=Q y=Y incy=1"],
        |blas| blas.gemv(spec().beta(&q), &turned, x, y),
    );
    // And back, though the routine's scalars are what they were before.
    let y = bench.named("Y", 3);
    bench.calls(&["cublasSgemv_v2_64 host trans=1 m=4 n=3 alpha=2 a=A lda=5 x=X incx=1 beta=0.5 y=Y incy=1"], |blas| {
        blas.gemv(spec(), &turned, x, y)
    });
    // Rows are the columns of the transposed matrix.
    let y = bench.named("Y", 4);
    let rows = a.view(Layout::rows(4, 3)).unwrap();
    bench.calls(&["cublasSgemv_v2_64 host trans=1 m=3 n=4 alpha=2 a=A lda=3 x=X incx=1 beta=0.5 y=Y incy=1"], |blas| {
        blas.gemv(spec(), &rows, x.slice(..3).unwrap(), y)
    });
    let (a, x, y) = (bench.named::<f64>("A", 12), bench.named("X", 3), bench.named("Y", 4));
    let band = columns(&a, 4, 3);
    bench.calls(
        &["cublasDgbmv_v2_64 host trans=0 m=4 n=3 kl=1 ku=2 alpha=1 a=A lda=4 x=X incx=1 beta=0 y=Y incy=1"],
        |blas| blas.gemv(Gemv::banded(1, 2), &band, &x, y),
    );
    // Nothing of a real type is conjugated; of a complex one it is.
    let (x, y) = (bench.named("X", 4), bench.named("Y", 3));
    bench.calls(
        &["cublasDgbmv_v2_64 host trans=1 m=4 n=3 kl=1 ku=2 alpha=1 a=A lda=4 x=X incx=1 beta=0 y=Y incy=1"],
        |blas| blas.gemv(Gemv::banded(1, 2).trans(Transpose::Conjugate), &band, &x, y),
    );
    let (a, x, y) = (bench.named("A", 6), bench.named("X", 2), bench.named("Y", 3));
    bench.calls(
        &["cublasZgemv_v2_64 host trans=2 m=2 n=3 alpha=2-1i a=A lda=2 x=X incx=1 beta=0+0i y=Y incy=1"],
        |blas| blas.gemv(Gemv::new().conjugate_a().alpha(Z), columns(&a, 2, 3).transpose(), &x, y),
    );
}

fn rank_one(bench: &Bench) {
    let (x, y, a) = (bench.named::<f32>("X", 3), bench.named("Y", 2), bench.named("A", 8));
    bench.calls(&["cublasSger_v2_64 host m=3 n=2 alpha=2 x=X incx=1 y=Y incy=1 a=A lda=4"], |blas| {
        blas.ger(Ger::new().alpha(2.0), &x, &y, a.with_layout(Layout::columns(3, 2).ld(4)).unwrap())
    });
    let (x, y, a) = (bench.named::<f32>("X", 3), bench.named("Y", 2), bench.named("A", 12));
    bench.calls(&["cublasSger_v2_64 host m=2 n=3 alpha=2 x=Y incx=1 y=X incy=1 a=A lda=4"], |blas| {
        blas.ger(Ger::new().alpha(2.0), &x, &y, a.with_layout(Layout::rows(3, 2).ld(4)).unwrap())
    });
    let (x, y, a) = (bench.named("X", 3), bench.named("Y", 3), bench.named("A", 6));
    bench.calls(&["cublasCgeru_v2_64 host m=3 n=2 alpha=2-1i x=X incx=-1 y=Y incy=2 a=A lda=3"], |blas| {
        let (x, y) = (x.view(apart(3, -1)).unwrap(), y.view(apart(2, 2)).unwrap());
        blas.ger(Ger::new().alpha(C), x, y, into_columns(a, 3, 2))
    });
    let a = bench.named("A", 6);
    bench.calls(&["cublasCgerc_v2_64 host m=3 n=2 alpha=2-1i x=X incx=1 y=Y incy=1 a=A lda=3"], |blas| {
        blas.gerc(Ger::new().alpha(C), &x, y.slice(..2).unwrap(), into_columns(a, 3, 2))
    });
}

fn symmetric(bench: &Bench) {
    let (a, x, y) = (bench.named::<f64>("A", 12), bench.named("X", 3), bench.named("Y", 3));
    let wide = a.view(Layout::columns(3, 3).ld(4)).unwrap();
    bench.calls(&["cublasDsymv_v2_64 host uplo=1 n=3 alpha=2 a=A lda=4 x=X incx=1 beta=0.5 y=Y incy=1"], |blas| {
        blas.symv(Symv::new(Uplo::Upper).alpha(2.0).beta(0.5), &wide, &x, y)
    });
    let y = bench.named("Y", 3);
    bench.calls(&["cublasDsymv_v2_64 host uplo=0 n=3 alpha=2 a=A lda=4 x=X incx=1 beta=0.5 y=Y incy=1"], |blas| {
        blas.symv(Symv::new(Uplo::Upper).alpha(2.0).beta(0.5), wide.transpose(), &x, y)
    });
    let (p, q, y) = (bench.named("P", 1), bench.named("Q", 1), bench.named("Y", 3));
    bench.calls(&["cublasDsymv_v2_64 device uplo=0 n=3 alpha=P a=A lda=3 x=X incx=1 beta=Q y=Y incy=1"], |blas| {
        blas.symv(Symv::new(Uplo::Lower).alpha(&p).beta(&q), columns(&a, 3, 3), &x, y)
    });
    let (a, x, y) = (bench.named::<f32>("A", 8), bench.named("X", 4), bench.named("Y", 4));
    bench.calls(&["cublasSsbmv_v2_64 host uplo=0 n=4 k=1 alpha=1 a=A lda=2 x=X incx=1 beta=0 y=Y incy=1"], |blas| {
        blas.symv(Symv::banded(Uplo::Lower), columns(&a, 2, 4), &x, y)
    });
    let (a, y) = (bench.named("A", 10), bench.named("Y", 4));
    bench.calls(&["cublasSspmv_v2_64 host uplo=1 n=4 alpha=1 ap=A x=X incx=1 beta=0 y=Y incy=1"], |blas| {
        blas.symv(Symv::packed(Uplo::Upper), &a, &x, y)
    });
}

fn hermitian(bench: &Bench) {
    let (a, x, y) = (bench.named("A", 9), bench.named("X", 3), bench.named("Y", 3));
    let square = columns(&a, 3, 3);
    bench.calls(&["cublasChemv_v2_64 host uplo=0 n=3 alpha=2-1i a=A lda=3 x=X incx=1 beta=0+0i y=Y incy=1"], |blas| {
        blas.hemv(Symv::new(Uplo::Lower).alpha(C), &square, &x, y)
    });
    let y = bench.named("Y", 3);
    bench.calls(
        &["cublasChbmv_v2_64 host uplo=1 n=3 k=2 alpha=1+0i a=A lda=3 x=X incx=1 beta=2-1i y=Y incy=1"],
        |blas| blas.hemv(Symv::banded(Uplo::Upper).beta(C), &square, &x, y),
    );
    let (a, x, y) = (bench.named("A", 6), bench.named("X", 3), bench.named("Y", 3));
    bench.calls(&["cublasZhpmv_v2_64 host uplo=0 n=3 alpha=2-1i ap=A x=X incx=1 beta=0+0i y=Y incy=1"], |blas| {
        blas.hemv(Symv::packed(Uplo::Lower).alpha(Z), &a, &x, y)
    });
}

fn updates(bench: &Bench) {
    let (x, y) = (bench.named::<f32>("X", 3), bench.named("Y", 3));
    let a = bench.named("A", 12);
    bench.calls(&["cublasSsyr_v2_64 host uplo=1 n=3 alpha=2 x=X incx=1 a=A lda=4"], |blas| {
        let a = a.with_layout(Layout::columns(3, 3).ld(4)).unwrap();
        blas.syr(Syr::new(Uplo::Upper).alpha(2.0), &x, a)
    });
    let a = bench.named("A", 12);
    bench.calls(&["cublasSsyr_v2_64 host uplo=0 n=3 alpha=2 x=X incx=1 a=A lda=4"], |blas| {
        let a = a.with_layout(Layout::rows(3, 3).ld(4)).unwrap();
        blas.syr(Syr::new(Uplo::Upper).alpha(2.0), &x, a)
    });
    let a = bench.named("A", 6);
    bench.calls(&["cublasSspr_v2_64 host uplo=0 n=3 alpha=1 x=X incx=-1 ap=A"], |blas| {
        blas.syr(Syr::packed(Uplo::Lower), x.view(apart(3, -1)).unwrap(), a)
    });
    let a = bench.named("A", 9);
    bench.calls(&["cublasSsyr2_v2_64 host uplo=0 n=3 alpha=2 x=X incx=1 y=Y incy=1 a=A lda=3"], |blas| {
        blas.syr2(Syr::new(Uplo::Lower).alpha(2.0), &x, &y, into_columns(a, 3, 3))
    });
    let (p, a) = (bench.named("P", 1), bench.named("A", 6));
    bench.calls(&["cublasSspr2_v2_64 device uplo=1 n=3 alpha=P x=X incx=1 y=Y incy=1 ap=A"], |blas| {
        blas.syr2(Syr::packed(Uplo::Upper).alpha(&p), &x, &y, a)
    });
    let (x, y, a) = (bench.named("X", 3), bench.named("Y", 3), bench.named("A", 9));
    // One real factor, and a complex one.
    bench.calls(&["cublasCher_v2_64 host uplo=0 n=3 alpha=2 x=X incx=1 a=A lda=3"], |blas| {
        blas.her(Syr::new(Uplo::Lower).alpha(2.0), &x, into_columns::<Complex<f32>>(a, 3, 3))
    });
    let a = bench.named("A", 9);
    bench.calls(&["cublasCher2_v2_64 host uplo=1 n=3 alpha=2-1i x=X incx=1 y=Y incy=1 a=A lda=3"], |blas| {
        blas.her2(Syr::new(Uplo::Upper).alpha(C), &x, &y, into_columns(a, 3, 3))
    });
    let (x, y, a) = (bench.named::<Complex<f64>>("X", 3), bench.named("Y", 3), bench.named("A", 6));
    bench.calls(&["cublasZhpr_v2_64 host uplo=1 n=3 alpha=2 x=X incx=1 ap=A"], |blas| {
        blas.her(Syr::packed(Uplo::Upper).alpha(2.0), &x, a)
    });
    let a = bench.named("A", 6);
    bench.calls(&["cublasZhpr2_v2_64 host uplo=0 n=3 alpha=2-1i x=X incx=1 y=Y incy=1 ap=A"], |blas| {
        blas.her2(Syr::packed(Uplo::Lower).alpha(Z), &x, &y, a)
    });
}

fn triangular(bench: &Bench) {
    let a = bench.named::<f64>("A", 12);
    let turned = a.view(Layout::columns(3, 3).ld(4)).unwrap().transpose();
    // The lower triangle of the transposed view.
    let full = Trmv::new(Uplo::Lower).diag(Diag::Unit);
    let (banded, band) = (Trmv::banded(Uplo::Lower).diag(Diag::Unit), columns(&a, 2, 3));
    let (packed, six) = (Trmv::packed(Uplo::Upper).trans(Transpose::Yes), a.slice(..6).unwrap());
    let x = || bench.named("X", 3);
    let y = x();
    bench.calls(&["cublasDtrmv_v2_64 host uplo=1 trans=1 diag=1 n=3 a=A lda=4 x=X incx=1"], |b| {
        b.trmv(full, &turned, y)
    });
    let y = x();
    bench.calls(&["cublasDtrsv_v2_64 host uplo=1 trans=1 diag=1 n=3 a=A lda=4 x=X incx=1"], |b| {
        b.trsv(full, &turned, y)
    });
    let y = x();
    bench.calls(&["cublasDtbmv_v2_64 host uplo=0 trans=0 diag=1 n=3 k=1 a=A lda=2 x=X incx=1"], |blas| {
        blas.trmv(banded, &band, y)
    });
    let y = x();
    bench.calls(&["cublasDtbsv_v2_64 host uplo=0 trans=0 diag=1 n=3 k=1 a=A lda=2 x=X incx=1"], |blas| {
        blas.trsv(banded, &band, y)
    });
    let y = x();
    bench.calls(&["cublasDtpmv_v2_64 host uplo=1 trans=1 diag=0 n=3 ap=A x=X incx=1"], |b| b.trmv(packed, six, y));
    let y = x().with_layout(apart(3, -1)).unwrap();
    bench.calls(&["cublasDtpsv_v2_64 host uplo=1 trans=1 diag=0 n=3 ap=A x=X incx=-1"], |b| b.trsv(packed, six, y));
    let (a, x) = (bench.named("A", 9), bench.named("X", 3));
    bench.calls(&["cublasZtrsv_v2_64 host uplo=0 trans=2 diag=0 n=3 a=A lda=3 x=X incx=1"], |b| {
        b.trsv(Trmv::new(Uplo::Upper).conjugate_a(), columns::<Complex<f64>>(&a, 3, 3).transpose(), x)
    });
}

fn batches(bench: &Bench) {
    let (a, x, y) = (bench.named::<f32>("A", 24), bench.named("X", 3), bench.named::<f32>("Y", 8));
    let (of_a, of_y) = (Layout::columns(2, 3).batch(4, 6), Layout::rows(4, 2));
    bench.calls(
        &["cublasSgemvStridedBatched_64 host trans=0 m=2 n=3 alpha=1 a=A lda=2 stride_a=6 x=X incx=1 stride_x=0 \
           beta=0 y=Y incy=1 stride_y=2 batch=4"],
        |blas| blas.gemv(Gemv::new(), a.view(of_a).unwrap(), &x, y.with_layout(of_y).unwrap()),
    );
    // The product is zero: nothing of it is read, and each y is scaled as the rows of a matrix.
    let y = bench.named("Y", 8);
    let (a, twelve) = (bench.named::<f32>("A", 24), bench.named("X", 12));
    bench.calls(
        &["cublasSgemmStridedBatched_64 host trans_a=0 trans_b=0 m=1 n=2 k=0 alpha=0 a=Y lda=1 stride_a=0 b=Y ldb=1 \
           stride_b=0 beta=0.5 c=Y ldc=1 stride_c=2 batch=4"],
        |blas| {
            let x = twelve.view(Layout::rows(4, 3)).unwrap();
            let spec = Gemv::new().alpha(0.0).beta(0.5);
            blas.gemv(spec, a.view(of_a).unwrap(), x, y.with_layout(of_y).unwrap())
        },
    );
    let y = || [bench.named("Y", 2), bench.named("Y", 2)];
    let matrix = columns(&a, 2, 3);
    let outputs = y();
    bench.calls(
        &["cublasSgemvBatched_64 host trans=0 m=2 n=3 alpha=1 a=scratch lda=2 x=scratch+16 incx=1 beta=0 \
           y=scratch+32 incy=1 batch=2"],
        |blas| blas.gemv_batched(Gemv::new(), [&matrix; 2], [&x; 2], outputs),
    );
    let outputs = y();
    bench.calls(
        &["cublasSgemmBatched_64 host trans_a=0 trans_b=0 m=1 n=2 k=0 alpha=0 a=scratch+32 lda=1 b=scratch+32 ldb=1 \
           beta=0 c=scratch+32 ldc=1 batch=2"],
        |blas| blas.gemv_batched(Gemv::new().alpha(0.0), [&matrix; 2], [&x; 2], outputs),
    );
}
