//! The operations: a few of each kind, with shapes so small that they run in a moment and so large that their working
//! memory is refused.

use super::{Case, Failure, Outcome, Whole, arm, disarm};
use crate::common::{Rng, up};
use windlass::blas::{Gemv, Ger, Symm, Symv, Syr2k, Syrk, Triangular, Trmv};
use windlass::direct::Factorization;
use windlass::fft::{Convolve, Edges, FftSpec, Kind, RealTransform, Stft, Trig};
use windlass::rng::{Generator, Normal, Poisson, Stream};
use windlass::solver::{
    Eigenvectors, EighMethod, EighSpec, Jacobi, Lowest, Randomized, Structure, SvdMethod, Symmetry, Vectors,
};
use windlass::sparse::{CooBuilder, Csr, Spmm, Spmv};
use windlass::tensor::Layout;
use windlass::{Complex, Device, DeviceBuffer, Diag, Gemm, Matmul, Side, Tensor, Transpose, Uplo, f16};

/// The side of a square matrix: a few kilobytes.
const N: usize = 40;
type Z = Complex<f64>;

fn numbers(n: usize) -> Vec<f64> {
    let mut rng = Rng::new(7);
    (0..n).map(|_| rng.below(1000) as f64 / 500.0 - 1.0).collect()
}

fn real(d: &Device, n: usize) -> DeviceBuffer<f64> {
    up(d, numbers(n))
}

fn complex(d: &Device, n: usize) -> DeviceBuffer<Z> {
    up(d, numbers(2 * n).chunks(2).map(|x| Complex::new(x[0], x[1])).collect::<Vec<_>>())
}

fn halves(d: &Device, n: usize) -> DeviceBuffer<f16> {
    up(d, numbers(n).into_iter().map(f16::from_f64).collect::<Vec<_>>())
}

/// Column-major matrices, as many as there are.
fn columns<T: windlass::Element>(x: DeviceBuffer<T>, m: usize, n: usize) -> Tensor<T> {
    let (count, one) = (x.len() / (m * n), Layout::columns(m, n));
    x.with_layout(if count == 1 { one } else { one.batch(count, m * n) }).unwrap()
}

fn square(d: &Device) -> Tensor<f64> {
    columns(real(d, N * N), N, N)
}

/// `n` elements, `inc` apart.
fn apart(x: DeviceBuffer<f64>, n: usize, inc: isize) -> Tensor<f64> {
    x.with_layout(Layout::new([n], [inc], 0).unwrap()).unwrap()
}

/// Symmetric and positive definite.
fn definite(d: &Device) -> DeviceBuffer<f64> {
    let near = |i: usize, j: usize| 1.0 / (1.0 + i.abs_diff(j) as f64) + if i == j { 3.0 } else { 0.0 };
    up(d, (0..N * N).map(|k| near(k % N, k / N)).collect::<Vec<_>>())
}

/// Diagonally dominant, symmetric, of five diagonals.
fn sparse(d: &Device) -> Csr<f64, i32> {
    const ROWS: usize = 300;
    let mut a = CooBuilder::<f64>::new(ROWS, ROWS).unwrap();
    for i in 0..ROWS {
        a.push(i, i, 6.0).unwrap();
        for far in [1, 17] {
            if i + far < ROWS {
                a.push(i, i + far, -1.0).unwrap();
                a.push(i + far, i, -1.0).unwrap();
            }
        }
    }
    a.build_csr(&d.sparse()).unwrap()
}

/// A dense matrix of as many rows.
fn beside_sparse(d: &Device, count: usize) -> Tensor<f64> {
    real(d, 300 * count).with_layout(Layout::columns(300, count)).unwrap()
}

pub(super) fn of_blas() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    case!(all, "gemm", |d| { let (a, c) = (columns(real(d, N * N), N, N), columns(real(d, N * N), N, N)); }
        d.blas().gemm(Gemm::new(), &a, &a, c));
    case!(all, "gemm f16", |d| { let (a, c) = (columns(halves(d, N * N), N, N), columns(halves(d, N * N), N, N)); }
        d.blas().gemm(Gemm::new(), &a, &a, c));
    case!(all, "gemm of a batch", |d| { let (a, c) = (columns(real(d, 900), 3, 3), columns(real(d, 900), 3, 3)); }
        d.blas().gemm(Gemm::new(), &a, &a, c));
    case!(all, "gemm_batched", |d| {
            let a = columns(real(d, 9), 3, 3);
            let (c, ins) = ((0..60).map(|_| columns(real(d, 9), 3, 3)).collect::<Vec<_>>(), vec![&a; 60]);
        } d.blas().gemm_batched(Gemm::new(), ins.iter().copied(), ins.iter().copied(), c));
    case!(all, "gemv, strided vectors", |d| { let a = square(d); let (x, y) = (apart(real(d, 900), N, 9), apart(real(d, 900), N, 7)); }
        d.blas().gemv(Gemv::new(), &a, &x, y));
    case!(all, "gemv, long strided vectors", |d| {
        let a = columns(real(d, 2 * 300), 2, 300);
        let (x, y) = (apart(real(d, 3000), 300, 9), apart(real(d, 6), 2, 3));
    } d.blas().gemv(Gemv::new(), &a, &x, y));
    case!(all, "gemv_batched", |d| {
        let (a, x) = (columns(real(d, 9), 3, 3), real(d, 3));
        let (y, matrices, vectors) = ((0..60).map(|_| real(d, 3)).collect::<Vec<_>>(), vec![&a; 60], vec![&x; 60]);
    } d.blas().gemv_batched(Gemv::new(), matrices, vectors, y));
    case!(all, "ger, strided vectors", |d| {
        let (x, a) = (real(d, 1000), columns(real(d, 300 * 300), 300, 300));
        let [x, y] = [3, 2].map(|inc| x.view(Layout::new([300], [inc], 0).unwrap()).unwrap());
    } d.blas().ger(Ger::new(), &x, &y, a));
    case!(all, "symv", |d| {
        let a = columns(real(d, 300 * 300), 300, 300);
        let (x, y) = (apart(real(d, 600), 300, 2), apart(real(d, 600), 300, 2));
    } d.blas().symv(Symv::new(Uplo::Upper), &a, &x, y));
    case!(all, "trmv", |d| { let (a, x) = (columns(real(d, 300 * 300), 300, 300), apart(real(d, 600), 300, 2)); }
        d.blas().trmv(Trmv::new(Uplo::Lower), &a, x));
    case!(all, "trsv", |d| { let (a, x) = (columns(definite(d), N, N), apart(real(d, 2 * N), N, 2)); }
        d.blas().trsv(Trmv::new(Uplo::Lower), &a, x));
    case!(all, "symm", |d| { let (a, c) = (columns(real(d, N * N), N, N), columns(real(d, N * N), N, N)); }
        d.blas().symm(Symm::new(Side::Left, Uplo::Upper), &a, &a, c));
    case!(all, "syrk", |d| { let (a, c) = (columns(real(d, N * N), N, N), columns(real(d, N * N), N, N)); }
        d.blas().syrk(Syrk::new(Uplo::Upper), &a, c));
    case!(all, "syr2k", |d| { let (a, c) = (columns(real(d, N * N), N, N), columns(real(d, N * N), N, N)); }
        d.blas().syr2k(Syr2k::new(Uplo::Lower), &a, &a, c));
    case!(all, "trmm", |d| { let (a, b) = (columns(real(d, N * N), N, N), columns(real(d, N * N), N, N)); }
        d.blas().trmm(Triangular::new(Side::Right, Uplo::Lower), &a, b));
    case!(all, "trsm", |d| { let (a, b) = (columns(definite(d), N, N), columns(real(d, N * N), N, N)); }
        d.blas().trsm(Triangular::new(Side::Left, Uplo::Lower), &a, b));
    case!(all, "trsm_batched", |d| {
            let (a, b) = (columns(real(d, 9), 3, 3), (0..60).map(|_| columns(real(d, 9), 3, 3)).collect::<Vec<_>>());
            let ins = vec![&a; 60];
        } d.blas().trsm_batched(Triangular::new(Side::Left, Uplo::Lower), ins.iter().copied(), b));
    case!(all, "getrf", |d| {
            let (a, p) = (columns(real(d, 900), 3, 3), d.zeros([100, 3]).unwrap());
            let i = d.zeros([100]).unwrap();
        } d.blas().getrf(a, p, i));
    case!(all, "matinv", |d| {
            let (a, c) = (columns(definite(d), N, N), columns(real(d, N * N), N, N));
            let i = d.zeros([]).unwrap();
        } d.blas().matinv(&a, c, i));
    case!(all, "matmul", |d| { let [a, c] = [(); 2].map(|()| Tensor::from_buffer(real(d, N * N), [N, N]).unwrap()); }
        d.blas_lt().matmul(Matmul::new(), &a, &a, c));
    case!(all, "matmul f16", |d| { let [a, c] = [(); 2].map(|()| Tensor::from_buffer(halves(d, N * N), [N, N]).unwrap()); }
        d.blas_lt().matmul(Matmul::new(), &a, &a, c));
    case!(all, "matmul of a batch", |d| { let [a, c] = [(); 2].map(|()| Tensor::from_buffer(real(d, 900), [100, 3, 3]).unwrap()); }
        d.blas_lt().matmul(Matmul::new(), &a, &a, c));
    all
}

pub(super) fn of_fft() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    case!(all, "c2c", |d| { let [x, y] = [(); 2].map(|()| Tensor::from_buffer(complex(d, 720), [24, 30]).unwrap()); } d.fft().c2c(&FftSpec::new(), &x, y));
    case!(all, "c2c of a prime", |d| { let (x, y) = (complex(d, 499), complex(d, 499)); } d.fft().c2c(&FftSpec::new(), &x, y));
    case!(all, "c2c in place, strided", |d| { let x = complex(d, 1440).with_layout(Layout::new([720], [2], 0).unwrap()).unwrap(); }
        d.fft().c2c_in_place(&FftSpec::new(), x));
    case!(all, "r2c", |d| { let x = Tensor::from_buffer(real(d, 512), [16, 32]).unwrap();
        let y = Tensor::from_buffer(complex(d, 16 * 17), [16, 17]).unwrap(); } d.fft().r2c(&FftSpec::new(), &x, y));
    case!(all, "c2r", |d| { let y = Tensor::from_buffer(real(d, 512), [16, 32]).unwrap();
        let x = Tensor::from_buffer(complex(d, 16 * 17), [16, 17]).unwrap(); } d.fft().c2r(&FftSpec::new(), &x, y));
    case!(all, "c2c of halves", |d| { let [x, y] = [(); 2].map(|()| Tensor::from_buffer(halves(d, 1024), [512, 2]).unwrap()); } d.fft().c2c(&FftSpec::new(), &x, y));
    case!(all, "prepare", |d| { let x = Layout::row_major([12 * 47]).unwrap(); } d.fft().prepare::<f64>(Kind::C2c, &FftSpec::new(), &x, &x));
    case!(all, "dct 2", |d| { let (x, y) = (real(d, 500), real(d, 500)); }
        d.fft().real_transform(&RealTransform::new(Trig::Dct2), &x, y));
    case!(all, "dst 1", |d| { let [x, y] = [(); 2].map(|()| Tensor::from_buffer(real(d, 400), [20, 20]).unwrap()); }
        d.fft().real_transform(&RealTransform::new(Trig::Dst1), &x, y));
    case!(all, "dct 4", |d| { let (x, y) = (real(d, 400), real(d, 400)); }
        d.fft().real_transform(&RealTransform::new(Trig::Dct4), &x, y));
    case!(all, "convolve", |d| { let (x, h, y) = (real(d, 300), real(d, 50), real(d, 349)); }
        d.fft().convolve(&Convolve::new(), &x, &h, y));
    case!(all, "convolve_complex", |d| { let (x, h, y) = (complex(d, 300), complex(d, 50), complex(d, 349)); }
        d.fft().convolve_complex(&Convolve::new(), &x, &h, y));
    case!(all, "stft", |d| {
            let spec = Stft::new(128).edges(Edges::Mirrored);
            let y = d.uninit([spec.frames(500).unwrap(), spec.bins()]).unwrap();
            let (x, w) = (real(d, 500), real(d, 128));
        } d.fft().stft(&spec, &x, &w, y));
    case!(all, "istft of halves", |d| {
            let spec = Stft::new(128);
            let (frames, bins) = (spec.frames(500).unwrap(), spec.bins());
            let x = Tensor::from_buffer(halves(d, 2 * frames * bins), [frames, bins, 2]).unwrap();
            let (w, y) = (halves(d, 128), halves(d, 500));
        } d.fft().istft(&spec, &x, &w, y));
    case!(all, "fftshift", |d| { let x = Tensor::from_buffer(real(d, 400), [20, 20]).unwrap(); }
        d.fft().fftshift(&x, &[]));
    all
}

pub(super) fn of_rng() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    let generators = [
        Generator::Philox,
        Generator::Xorwow,
        Generator::Mrg32k3a,
        Generator::Mt19937,
        Generator::Mtgp32,
        Generator::Sobol32,
    ];
    // The jumps of MT19937 are made again after each refusal: only in `.ci/deep`.
    let deep = std::env::var_os("WINDLASS_TEST_WALK").is_some();
    for generator in generators.into_iter().filter(|one| deep || *one != Generator::Mt19937) {
        all.push((
            "normal",
            Box::new(move |d| {
                let (x, rng) = (d.uninit::<f64>(3000).unwrap(), d.rng_of(Stream::new(generator, 7)));
                arm();
                let failure = rng.fill_from(6000, Normal::new(0.0, 1.0), x).failure();
                disarm();
                failure
            }),
        ));
    }
    case!(all, "poisson", |d| { let x = d.uninit::<u32>(3000).unwrap(); } d.rng(3).fill_from(0, Poisson::new(3.0), x));
    case!(all, "permutation", |d| {} d.rng(3).permutation(2000));
    case!(all, "choice", |d| {} d.rng(3).choice(9000, 2000));
    all
}

pub(super) fn of_solver() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    case!(all, "lu", |d| { let a = real(d, N * N); } d.solver().lu(columns(a, N, N)));
    case!(all, "lu of a batch", |d| { let a = real(d, 900); } d.solver().lu(columns(a, 3, 3)));
    case!(all, "lu, solve", |d| { let b = real(d, N * N); let lu = d.solver().lu(columns(real(d, N * N), N, N)).unwrap().await_result().unwrap(); }
        lu.solve(&d.solver(), Transpose::No, columns(b, N, N)));
    case!(all, "lu, inverse", |d| { let lu = d.solver().lu(columns(real(d, N * N), N, N)).unwrap().await_result().unwrap(); }
        lu.inverse(&d.solver()));
    case!(all, "cholesky", |d| { let a = definite(d); } d.solver().cholesky(Uplo::Upper, columns(a, N, N)));
    case!(all, "cholesky, inverse", |d| { let l = d.solver().cholesky(Uplo::Lower, columns(definite(d), N, N)).unwrap().await_result().unwrap(); }
        l.inverse(&d.solver()));
    case!(all, "qr", |d| { let a = real(d, 2 * N * N); } d.solver().qr(columns(a, 2 * N, N)));
    case!(all, "qr of wide matrices", |d| { let a = real(d, 2 * N * N); } d.solver().qr(columns(a, N, 2 * N)));
    case!(all, "qr_pivoted", |d| { let a = real(d, 200 * 100); } d.solver().qr_pivoted(columns(a, 200, 100)));
    case!(all, "qr, q", |d| { let qr = d.solver().qr(columns(real(d, 2 * N * N), 2 * N, N)).unwrap().await_result().unwrap(); }
        qr.q(&d.solver()));
    case!(all, "qr, apply", |d| {
            let qr = d.solver().qr(columns(real(d, 2 * N * N), 2 * N, N)).unwrap().await_result().unwrap();
            let c = real(d, 2 * N * N);
        } qr.apply(&d.solver(), Side::Left, Transpose::Yes, columns(c, 2 * N, N)));
    case!(all, "qr, solve", |d| {
            let qr = d.solver().qr_pivoted(columns(real(d, 300 * 200), 300, 200)).unwrap().await_result().unwrap();
            let b = real(d, 300 * 2);
        } qr.solve(&d.solver(), columns(b, 300, 2)));
    case!(all, "solve", |d| { let (a, b) = (real(d, 300 * 300), real(d, 300)); }
        d.solver().solve(Structure::General, columns(a, 300, 300), b));
    case!(all, "least squares, wide", |d| { let (a, b) = (real(d, 2 * N * N), real(d, N)); }
        d.solver().solve(Structure::General, columns(a, N, 2 * N), b));
    case!(all, "solve, symmetric", |d| { let (a, b) = (definite(d), real(d, N)); }
        d.solver().solve(Structure::Symmetric(Uplo::Lower), columns(a, N, N), b));
    case!(all, "ldl", |d| { let a = definite(d); } d.solver().ldl(Uplo::Upper, Symmetry::Symmetric, columns(a, N, N)));
    case!(all, "solve_refined", |d| { let (a, b) = (columns(definite(d), N, N), columns(real(d, N * N), N, N)); }
        d.solver().solve_refined(Lowest::Single, &a, &b));
    case!(all, "solve_refined, least squares", |d| { let (a, b) = (columns(real(d, 2 * N * N), 2 * N, N), columns(real(d, 2 * N * N), 2 * N, N)); }
        d.solver().solve_refined(Lowest::Single, &a, &b));
    case!(all, "svd", |d| { let a = real(d, 2 * N * N); } d.solver().svd(Vectors::Full, columns(a, N, 2 * N)));
    case!(all, "svd, jacobi", |d| { let a = real(d, 2 * N * N); }
        d.solver().svd_by(SvdMethod::Jacobi(Jacobi::new()), Vectors::Full, columns(a, 2 * N, N)));
    case!(all, "svd, polar", |d| { let a = real(d, 2 * N * N); }
        d.solver().svd_by(SvdMethod::Polar, Vectors::Thin, columns(a, N, 2 * N)));
    case!(all, "svd, randomized", |d| { let a = real(d, 2 * N * N); }
        d.solver().svd_by(SvdMethod::Randomized(Randomized::new(9)), Vectors::Thin, columns(a, 2 * N, N)));
    case!(all, "pinv", |d| { let a = real(d, 2 * N * N); } d.solver().pinv(None, columns(a, 2 * N, N)));
    case!(all, "eigh", |d| { let a = definite(d); } d.solver().eigh(EighSpec::new(Uplo::Lower), columns(a, N, N)));
    case!(all, "eigh, jacobi", |d| { let a = definite(d); }
        d.solver().eigh(EighSpec::new(Uplo::Upper).method(EighMethod::Jacobi(Jacobi::new())), columns(a, N, N)));
    case!(all, "eigh_generalized", |d| { let (a, b) = (definite(d), definite(d)); }
        d.solver().eigh_generalized(EighSpec::new(Uplo::Lower), columns(a, N, N), columns(b, N, N)));
    case!(all, "eig", |d| { let a = real(d, N * N); } d.solver().eig(Eigenvectors::Right, columns(a, N, N)));
    case!(all, "eig, complex", |d| { let a = complex(d, N * N); } d.solver().eig(Eigenvectors::Right, columns(a, N, N)));
    all
}

pub(super) fn of_sparse() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    case!(all, "spmv", |d| { let (a, x, y) = (sparse(d), real(d, 300), real(d, 300)); } d.sparse().spmv(Spmv::new(), &a, &x, y));
    case!(all, "spmv, transposed", |d| { let (a, x, y) = (sparse(d), real(d, 300), real(d, 300)); }
        d.sparse().spmv(Spmv::new().trans(Transpose::Yes), &a, &x, y));
    case!(all, "spmm", |d| { let (a, x, y) = (sparse(d), beside_sparse(d, 5), beside_sparse(d, 5)); } d.sparse().spmm(Spmm::new(), &a, &x, y));
    case!(all, "spmm, transposed", |d| {
            let (a, x) = (sparse(d), d.tensor([300, 5], numbers(1500)).unwrap());
            let y = d.tensor([300, 5], numbers(1500)).unwrap();
        } d.sparse().spmm(Spmm::new().trans_a(Transpose::Yes), &a, &x, y));
    case!(all, "spgemm", |d| { let a = sparse(d); } Whole(d.sparse().spgemm(1.0, &a, &a)));
    case!(all, "add", |d| { let (a, b) = (sparse(d), sparse(d)); } Whole(d.sparse().add(1.0, &a, 2.0, &b)));
    case!(all, "transpose", |d| { let a = sparse(d); } Whole(d.sparse().transpose(&a)));
    case!(all, "spsv", |d| {
            let t = d.sparse().triangular(&sparse(d), Uplo::Lower, Diag::NonUnit, Transpose::No).unwrap();
            let (b, x) = (real(d, 300), real(d, 300));
        } d.sparse().spsv(&t, 1.0, &b, x));
    case!(all, "triangular", |d| { let a = sparse(d); } Whole(d.sparse().triangular(&a, Uplo::Upper, Diag::NonUnit, Transpose::No)));
    case!(all, "ilu0", |d| { let a = sparse(d); } Whole(d.sparse().ilu0(&a)));
    case!(all, "ic0", |d| { let a = sparse(d); } Whole(d.sparse().ic0(&a)));
    case!(all, "analyse, cholesky", |d| { let a = sparse(d); } Whole(d.direct().analyse(Factorization::Cholesky(Uplo::Lower), &a)));
    case!(all, "analyse, qr", |d| { let a = sparse(d); } Whole(d.direct().analyse(Factorization::Qr, &a)));
    case!(all, "analyse, lu", |d| { let a = sparse(d); } Whole(d.direct().analyse(Factorization::Lu, &a)));
    case!(all, "analyse, ldl", |d| { let a = sparse(d); } Whole(d.direct().analyse(Factorization::Ldl(Uplo::Lower, Symmetry::Symmetric), &a)));
    case!(all, "lu", |d| {
            let a = sparse(d);
            let analysis = d.direct().analyse(Factorization::Lu, &a).unwrap();
        } Whole(d.direct().factor(&analysis, &a)));
    case!(all, "ldl", |d| {
            let a = sparse(d);
            let analysis = d.direct().analyse(Factorization::Ldl(Uplo::Lower, Symmetry::Symmetric), &a).unwrap();
        } Whole(d.direct().factor(&analysis, &a)));
    case!(all, "lu, solve_checked", |d| {
            let (a, b, x) = (sparse(d), beside_sparse(d, 3), beside_sparse(d, 3));
            let analysis = d.direct().analyse(Factorization::Lu, &a).unwrap();
            let factor = d.direct().factor(&analysis, &a).unwrap();
        } factor.solve_checked(&d.direct(), Transpose::Yes, &b, x));
    case!(all, "cholesky", |d| {
            let a = sparse(d);
            let analysis = d.direct().analyse(Factorization::Cholesky(Uplo::Lower), &a).unwrap();
        } Whole(d.direct().factor(&analysis, &a)));
    case!(all, "cholesky, solve", |d| {
            let (a, b) = (sparse(d), beside_sparse(d, 3));
            let analysis = d.direct().analyse(Factorization::Cholesky(Uplo::Lower), &a).unwrap();
            let factor = d.direct().factor(&analysis, &a).unwrap();
        } factor.solve(&d.direct(), Transpose::No, b));
    case!(all, "solve_qr", |d| {
            let (a, b, x) = (sparse(d), beside_sparse(d, 3), beside_sparse(d, 3));
            let analysis = d.direct().analyse(Factorization::Qr, &a).unwrap();
        } d.direct().solve_qr(&analysis, &a, &b, x));
    case!(all, "gtsv", |d| { let (l, m, u, b) = (real(d, 300), real(d, 300), real(d, 300), real(d, 300)); }
        d.sparse().gtsv(&l, &m, &u, b));
    all
}
