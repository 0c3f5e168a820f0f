//! Matrices, and their batches.

use super::Bench;
use crate::common::{columns, into_columns, op};
use windlass::blas::{Her2k, Herk, Symm, Syr2k, Syrk, Triangular};
use windlass::tensor::Layout;
use windlass::{Complex, Diag, Gemm, Side, Transpose, Uplo, f16};

const C: Complex<f32> = Complex::new(2.0, -1.0);
const Z: Complex<f64> = Complex::new(2.0, -1.0);

pub(crate) fn all(bench: &Bench) {
    symmetric(bench);
    rank_k(bench);
    hermitian(bench);
    triangular(bench);
    without_a_product(bench);
    batches(bench);
}

#[test]
fn matrices_go_to_their_own_function_with_all_that_it_takes() {
    let bench = Bench::new();
    all(&bench);
    bench.finish();
}

fn symmetric(bench: &Bench) {
    let (a, b) = (bench.named::<f32>("A", 20), bench.named("B", 20));
    let c = bench.named("C", 20).with_layout(Layout::columns(2, 3).ld(6)).unwrap();
    bench.calls(
        &["cublasSsymm_v2_64 host side=1 uplo=0 m=2 n=3 alpha=2 a=A lda=4 b=B ldb=5 beta=0.5 c=C ldc=6"],
        |blas| {
            let (a, b) = (op(&a, Transpose::No, (3, 3), 4), op(&b, Transpose::No, (2, 3), 5));
            blas.symm(Symm::new(Side::Right, Uplo::Lower).alpha(2.0).beta(0.5), a, b, c)
        },
    );
    let (p, q) = (bench.named("P", 1), bench.named("Q", 1));
    let (of_a, of_b) = (columns(&a, 2, 2), columns(&b, 2, 3));
    let symm = || Symm::new(Side::Left, Uplo::Upper);
    let [c, d, e, f] = [(); 4].map(|()| into_columns(bench.named("C", 6), 2, 3));
    bench.calls(
        &["cublasSsymm_v2_64 device side=0 uplo=1 m=2 n=3 alpha=P a=A lda=2 b=B ldb=2 beta=Q c=C ldc=2"],
        |blas| blas.symm(symm().alpha(&p).beta(&q), &of_a, &of_b, c),
    );
    // The library reads both scalars in one place: a value is written beside the other one's.
    bench.calls(
        &["cublasSsymm_v2_64 device side=0 uplo=1 m=2 n=3 alpha=P a=A lda=2 b=B ldb=2 beta=scratch c=C ldc=2"],
        |blas| blas.symm(symm().alpha(&p).beta(0.5), &of_a, &of_b, d),
    );
    bench.calls(
        &["cublasSsymm_v2_64 device side=0 uplo=1 m=2 n=3 alpha=scratch a=A lda=2 b=B ldb=2 beta=Q c=C ldc=2"],
        |blas| blas.symm(symm().alpha(0.5).beta(&q), &of_a, &of_b, e),
    );
    // A by rows: the other triangle.
    bench.calls(
        &["cublasSsymm_v2_64 host side=0 uplo=0 m=2 n=3 alpha=1 a=A lda=2 b=B ldb=2 beta=0 c=C ldc=2"],
        |blas| blas.symm(symm(), of_a.transpose(), &of_b, f),
    );
    let (a, b, c) = (bench.named("A", 4), bench.named("B", 6), into_columns(bench.named("C", 6), 2, 3));
    bench.calls(
        &["cublasZhemm_v2_64 host side=0 uplo=1 m=2 n=3 alpha=2-1i a=A lda=2 b=B ldb=2 beta=0+0i c=C ldc=2"],
        |blas| blas.hemm(symm_of(Z), columns(&a, 2, 2), columns(&b, 2, 3), c),
    );
}

fn symm_of(alpha: Complex<f64>) -> Symm<'static, Complex<f64>> {
    Symm::new(Side::Left, Uplo::Upper).alpha(alpha)
}

fn rank_k(bench: &Bench) {
    let (a, b) = (bench.named::<f64>("A", 12), bench.named("B", 15));
    let c = || into_columns(bench.named("C", 9), 3, 3);
    let d = c();
    bench.calls(&["cublasDsyrk_v2_64 host uplo=1 trans=1 n=3 k=4 alpha=2 a=A lda=4 beta=0.5 c=C ldc=3"], |blas| {
        blas.syrk(Syrk::new(Uplo::Upper).alpha(2.0).beta(0.5), op(&a, Transpose::Yes, (3, 4), 4), d)
    });
    // A zero factor leaves nothing of A to read.
    let d = bench.named("C", 16).with_layout(Layout::columns(3, 3).ld(4)).unwrap();
    bench.calls(&["cublasDsyrk_v2_64 host uplo=0 trans=0 n=3 k=0 alpha=0 a=A lda=3 beta=0 c=C ldc=4"], |blas| {
        blas.syrk(Syrk::new(Uplo::Lower).alpha(0.0), columns(&a, 3, 4), d)
    });
    let d = c();
    bench.calls(
        &["cublasDsyr2k_v2_64 host uplo=0 trans=0 n=3 k=2 alpha=2 a=A lda=3 b=B ldb=5 beta=0 c=C ldc=3"],
        |blas| {
            let (a, b) = (columns(&a, 3, 2), op(&b, Transpose::No, (3, 2), 5));
            blas.syr2k(Syr2k::new(Uplo::Lower).alpha(2.0), a, b, d)
        },
    );
    let d = c();
    let (a, b) = (op(&a, Transpose::Yes, (3, 2), 2), op(&b, Transpose::Yes, (3, 2), 2));
    bench.calls(
        &["cublasDsyrkx_64 host uplo=1 trans=1 n=3 k=2 alpha=1 a=A lda=2 b=B ldb=2 beta=0.5 c=C ldc=3"],
        |blas| blas.syrkx(Syr2k::new(Uplo::Upper).beta(0.5), a, b, d),
    );
}

fn hermitian(bench: &Bench) {
    let (a, b) = (bench.named("A", 6), bench.named("B", 6));
    let turned = |x| op(x, Transpose::Yes, (3, 2), 2);
    let c = || into_columns(bench.named("C", 9), 3, 3);
    let d = c();
    // Both factors are real; of two products only that of the old matrix is.
    bench.calls(&["cublasCherk_v2_64 host uplo=0 trans=2 n=3 k=2 alpha=2 a=A lda=2 beta=0.5 c=C ldc=3"], |blas| {
        let spec = Herk::<Complex<f32>>::new(Uplo::Lower).conjugate_a();
        blas.herk(spec.alpha(2.0).beta(0.5), turned(&a), d)
    });
    let d = c();
    bench.calls(
        &["cublasCher2k_v2_64 host uplo=1 trans=0 n=3 k=2 alpha=2-1i a=A lda=3 b=B ldb=3 beta=0.5 c=C ldc=3"],
        |blas| blas.her2k(Her2k::new(Uplo::Upper).alpha(C).beta(0.5), columns(&a, 3, 2), columns(&b, 3, 2), d),
    );
    // By rows the transposed product: the other triangle, and the factors change places.
    let d = bench.named("C", 9).with_layout(Layout::rows(3, 3)).unwrap();
    bench.calls(
        &["cublasCher2k_v2_64 host uplo=0 trans=2 n=3 k=2 alpha=2-1i a=B lda=2 b=A ldb=2 beta=0.5 c=C ldc=3"],
        |blas| blas.her2k(Her2k::new(Uplo::Upper).alpha(C).beta(0.5), turned(&a), turned(&b), d),
    );
    let (p, q) = (bench.named("P", 1), bench.named("Q", 1));
    let (d, e) = (c(), c());
    let herkx = || Her2k::new(Uplo::Upper).conjugate().alpha(&p);
    bench.calls(
        &["cublasCherkx_64 device uplo=1 trans=2 n=3 k=2 alpha=P a=A lda=2 b=B ldb=2 beta=Q c=C ldc=3"],
        |blas| blas.herkx(herkx().beta(&q), turned(&a), turned(&b), d),
    );
    bench.calls(
        &["cublasCherkx_64 device uplo=1 trans=2 n=3 k=2 alpha=P a=A lda=2 b=B ldb=2 beta=scratch c=C ldc=3"],
        |blas| blas.herkx(herkx().beta(0.5), turned(&a), turned(&b), e),
    );
}

fn triangular(bench: &Bench) {
    let a = bench.named::<f32>("A", 12);
    // The upper triangle of what is stored is the lower one of its transpose.
    let of_a = || op(&a, Transpose::Yes, (3, 3), 4);
    let spec = || Triangular::new(Side::Right, Uplo::Lower).diag(Diag::Unit).alpha(2.0);
    let b = into_columns(bench.named("B", 6), 2, 3);
    bench.calls(
        &["cublasStrmm_v2_64 host side=1 uplo=1 trans=1 diag=1 m=2 n=3 alpha=2 a=A lda=4 b=B ldb=2 c=B ldc=2"],
        |blas| blas.trmm(spec(), of_a(), b),
    );
    let (b, c) = (bench.named("B", 6), bench.named("C", 9).with_layout(Layout::columns(2, 3).ld(3)).unwrap());
    bench.calls(
        &["cublasStrmm_v2_64 host side=1 uplo=1 trans=1 diag=1 m=2 n=3 alpha=2 a=A lda=4 b=B ldb=2 c=C ldc=3"],
        |blas| blas.trmm_into(spec(), of_a(), columns(&b, 2, 3), c),
    );
    let b = || bench.named("B", 6).with_layout(Layout::rows(2, 3)).unwrap();
    let (c, d) = (b(), b());
    bench.calls(
        &["cublasStrmm_v2_64 host side=0 uplo=1 trans=0 diag=1 m=3 n=2 alpha=2 a=A lda=4 b=B ldb=3 c=B ldc=3"],
        |blas| blas.trmm(spec(), of_a(), c),
    );
    bench.calls(
        &["cublasStrmm_v2_64 host side=0 uplo=0 trans=1 diag=1 m=3 n=2 alpha=2 a=A lda=4 b=B ldb=3 c=B ldc=3"],
        |blas| blas.trmm(spec(), of_a().transpose(), d),
    );
    let lower = || Triangular::new(Side::Left, Uplo::Lower);
    let b = bench.named("B", 9).with_layout(Layout::columns(2, 3).ld(3)).unwrap();
    bench.calls(&["cublasStrsm_v2_64 host side=0 uplo=0 trans=0 diag=0 m=2 n=3 alpha=1 a=A lda=2 b=B ldb=3"], |blas| {
        blas.trsm(lower(), columns(&a, 2, 2), b)
    });
    let (b, p) = (into_columns(bench.named("B", 6), 2, 3), bench.named("P", 1));
    bench.calls(
        &["cublasStrsm_v2_64 device side=0 uplo=0 trans=0 diag=0 m=2 n=3 alpha=P a=A lda=2 b=B ldb=2"],
        |blas| blas.trsm(lower().alpha(&p), columns(&a, 2, 2), b),
    );
    let (a, b) = (bench.named::<f64>("A", 8), bench.named("B", 12));
    let upper = || Triangular::new(Side::Left, Uplo::Upper);
    let b = b.with_layout(Layout::columns(2, 3).batch(2, 6)).unwrap();
    bench.calls(
        &["cublasDtrsmBatched_64 host side=0 uplo=1 trans=0 diag=1 m=2 n=3 alpha=2 a=scratch lda=2 b=scratch+16 ldb=2 \
           batch=2"],
        |blas| {
            let a = a.view(Layout::columns(2, 2).batch(2, 4)).unwrap();
            blas.trsm(upper().diag(Diag::Unit).alpha(2.0), a, b)
        },
    );
    let (p, b) = (bench.named("P", 1), [bench.named("B", 6), bench.named("C", 6)].map(|b| into_columns(b, 2, 3)));
    bench.calls(
        &["cublasDtrsmBatched_64 device side=0 uplo=1 trans=0 diag=0 m=2 n=3 alpha=P a=scratch lda=2 b=scratch+16 ldb=2 \
           batch=2"],
        |blas| blas.trsm_batched(upper().alpha(&p), [columns(&a, 2, 2), columns(&a, 2, 2)], b),
    );
}

/// `alpha == 0`: what is left is `C = beta * C`, by a product that has no columns and reads nothing.
fn without_a_product(bench: &Bench) {
    let (a, b, q) = (bench.named::<f32>("A", 4), bench.named("B", 6), bench.named("Q", 1));
    let c = || bench.named("C", 9).with_layout(Layout::columns(2, 3).ld(3)).unwrap();
    let (d, e) = (c(), c());
    let symm = || Symm::new(Side::Left, Uplo::Upper).alpha(0.0);
    bench.calls(
        &["cublasSgemm_v2_64 host trans_a=0 trans_b=0 m=2 n=3 k=0 alpha=0 a=C lda=2 b=C ldb=1 beta=0.5 c=C ldc=3"],
        |blas| blas.symm(symm().beta(0.5), columns(&a, 2, 2), columns(&b, 2, 3), d),
    );
    // With a beta on the device, both factors are there; that of no columns is any.
    bench.calls(
        &["cublasSgemm_v2_64 device trans_a=0 trans_b=0 m=2 n=3 k=0 alpha=Q a=C lda=2 b=C ldb=1 beta=Q c=C ldc=3"],
        |blas| blas.symm(symm().beta(&q), columns(&a, 2, 2), columns(&b, 2, 3), e),
    );
    let b = into_columns(bench.named("B", 6), 2, 3);
    bench.calls(
        &["cublasSgemm_v2_64 host trans_a=0 trans_b=0 m=2 n=3 k=0 alpha=0 a=B lda=2 b=B ldb=1 beta=0 c=B ldc=2"],
        |blas| blas.trsm(Triangular::new(Side::Left, Uplo::Upper).alpha(0.0), columns(&a, 2, 2), b),
    );
}

fn batches(bench: &Bench) {
    let (a, b, c) = (bench.named::<f64>("A", 12), bench.named("B", 24), bench.named("C", 16));
    let c = c.with_layout(Layout::columns(2, 4).batch(2, 8)).unwrap();
    let b = b.view(Layout::columns(3, 4).batch(2, 12)).unwrap();
    bench.calls(
        &["cublasGemmStridedBatchedEx_64 host trans_a=1 trans_b=0 m=2 n=4 k=3 alpha=2 a=A a_type=1 lda=3 stride_a=0 \
           b=B b_type=1 ldb=3 stride_b=12 beta=0.5 c=C c_type=1 ldc=2 stride_c=8 batch=2 compute=70 algo=-1"],
        |blas| blas.gemm(Gemm::new().alpha(2.0).beta(0.5), columns(&a, 3, 2).transpose(), &b, c),
    );
    // Halves are scaled by f32, and may be summed into f32.
    let (a, b, c) = (bench.named::<f16>("A", 12), bench.named("B", 12), bench.named("C", 8));
    bench.calls(
        &["cublasGemmStridedBatchedEx_64 host trans_a=0 trans_b=0 m=2 n=2 k=3 alpha=1 a=A a_type=2 lda=2 stride_a=6 \
           b=B b_type=2 ldb=3 stride_b=6 beta=0 c=C c_type=0 ldc=2 stride_c=4 batch=2 compute=68 algo=-1"],
        |blas| {
            let [of_a, of_b, of_c] =
                [(2, 3, 6), (3, 2, 6), (2, 2, 4)].map(|(m, n, far)| Layout::columns(m, n).batch(2, far));
            let (a, b) = (a.view(of_a).unwrap(), b.view(of_b).unwrap());
            blas.gemm_mixed(Gemm::new(), a, b, c.with_layout(of_c).unwrap())
        },
    );
    let (a, b) = (bench.named::<Complex<f32>>("A", 6), bench.named("B", 6));
    let c = vec![bench.named("C", 4), bench.named("C", 4), bench.named("C", 4)];
    bench.calls(
        &["cublasGemmBatchedEx_64 host trans_a=0 trans_b=2 m=2 n=2 k=3 alpha=2-1i a=scratch a_type=4 lda=2 b=scratch+24 \
           b_type=4 ldb=2 beta=0+0i c=scratch+48 c_type=4 ldc=2 batch=3 compute=68 algo=-1"],
        |blas| {
            let (a, b) = (columns(&a, 2, 3), columns(&b, 2, 3).transpose());
            let c = c.into_iter().map(|c| into_columns(c, 2, 2));
            blas.gemm_batched(Gemm::new().conjugate_b().alpha(C), [&a; 3], [&b; 3], c)
        },
    );
    let (a, b) = (bench.named::<f32>("A", 12), bench.named("B", 12));
    let c = vec![bench.named("C", 4), bench.named("C", 4), bench.named("C", 1)];
    let c = c.into_iter().zip([2, 2, 1]).map(|(c, n)| into_columns(c, n, n));
    let (first, second) = (columns(&a, 2, 3), columns(&b, 3, 2));
    let (row, column) = (columns(&a, 4, 1).transpose(), columns(&b, 4, 1));
    bench.calls(
        &["cublasGemmGroupedBatchedEx_64 host trans_a=[0,0] trans_b=[0,0] m=[2,1] n=[2,1] k=[3,4] alpha=[2,1] \
           a=scratch a_type=0 lda=[2,1] b=scratch+24 b_type=0 ldb=[3,4] beta=[0,0.5] c=scratch+48 c_type=0 ldc=[2,1] \
           groups=2 sizes=[2,1] compute=68"],
        |blas| {
            let groups = [(Gemm::new().alpha(2.0), 2), (Gemm::new().beta(0.5), 1)];
            blas.gemm_grouped(groups, [&first, &first, &row], [&second, &second, &column], c)
        },
    );
    // A group with scalars in device memory: a batch for each group, each in its own pointer mode.
    let (p, q, c) = (bench.named("P", 1), bench.named("Q", 1), vec![bench.named("C", 4), bench.named("C", 1)]);
    let c = c.into_iter().zip([2, 1]).map(|(c, n)| into_columns(c, n, n));
    let (row, column) = (columns(&a, 1, 4), columns(&b, 4, 1));
    bench.calls(
        &[
            "cublasGemmBatchedEx_64 host trans_a=0 trans_b=0 m=2 n=2 k=3 alpha=2 a=scratch a_type=0 lda=2 b=scratch+16 \
             b_type=0 ldb=3 beta=0 c=scratch+32 c_type=0 ldc=2 batch=1 compute=68 algo=-1",
            "cublasGemmBatchedEx_64 device trans_a=0 trans_b=0 m=1 n=1 k=4 alpha=P a=scratch+8 a_type=0 lda=1 \
             b=scratch+24 b_type=0 ldb=4 beta=Q c=scratch+40 c_type=0 ldc=1 batch=1 compute=68 algo=-1",
        ],
        |blas| {
            let groups = [(Gemm::new().alpha(2.0), 1), (Gemm::new().alpha(&p).beta(&q), 1)];
            blas.gemm_grouped(groups, [&first, &row], [&second, &column], c)
        },
    );
    // One scalar in device memory, the other by value: that is copied to the device too, and read there.
    let (c, d) = (into_columns(bench.named("C", 4), 2, 2), into_columns(bench.named("D", 4), 2, 2));
    bench.calls(&["cublasGemmEx_64 NN 2x2x3 types 0 0 0 compute 68 C = A * B"], |blas| {
        blas.gemm(Gemm::new().alpha(&p).beta(0.5), &first, &second, c)
    });
    bench.calls(&["cublasGemmEx_64 NN 2x2x3 types 0 0 0 compute 68 D = A * B"], |blas| {
        blas.gemm(Gemm::new().alpha(2.0).beta(&q), &first, &second, d)
    });
}
