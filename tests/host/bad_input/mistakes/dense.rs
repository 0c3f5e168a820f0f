//! Dense linear algebra, transforms and random numbers.

use super::{Mistake, i, said, waited, x, y};
use windlass::blas::{Geam, Gemv, Ger, Symm, Symv, Syrk, Triangular, Trmv};
use windlass::blaslt::{Epilogue, Operands};
use windlass::fft::{Convolve, Stft};
use windlass::solver::{Jacobi, Structure, SvdMethod, Vectors};
use windlass::{Complex, FftSpec, Gemm, Matmul, Side, Tensor, Transpose, Uplo};

type C = Complex<f32>;

fn z<const N: usize>(device: &windlass::Device, shape: [usize; N]) -> Tensor<C> {
    device.zeros(shape).unwrap()
}

pub(super) const OF_BLAS: &[Mistake] = &[
    ("axpy of two lengths", |d| said(d.blas().axpy(1.0, &x(d, [3]), x(d, [4]))), ["`x`", "3", "4"]),
    ("dot of two lengths", |d| said(d.blas().dot(&x(d, [3]), &x(d, [4]))), ["`x`", "3", "4"]),
    ("dot of a matrix", |d| said(d.blas().dot(&x(d, [2, 2]), &x(d, [4]))), ["`x`", "[2, 2]", "[4]"]),
    ("copy of two lengths", |d| said(d.blas().copy(&x(d, [3]), x(d, [4]))), ["`x`", "3", "4"]),
    ("swap of two lengths", |d| said(d.blas().swap(x(d, [3]), x(d, [4]))), ["`x`", "3", "4"]),
    (
        "gemv with another x",
        |d| said(d.blas().gemv(Gemv::new(), &x(d, [2, 3]), &x(d, [2]), x(d, [2]))),
        ["`x`", "[2]", "3"],
    ),
    (
        "gemv of a vector",
        |d| said(d.blas().gemv(Gemv::new(), &x(d, [6]), &x(d, [3]), x(d, [2]))),
        ["`a`", "[6]", "two axes"],
    ),
    (
        "ger into another matrix",
        |d| said(d.blas().ger(Ger::new(), &x(d, [2]), &x(d, [3]), x(d, [3, 2]))),
        ["`x`", "2", "3"],
    ),
    (
        "symv of a matrix that is not square",
        |d| said(d.blas().symv(Symv::new(Uplo::Lower), &x(d, [2, 3]), &x(d, [3]), x(d, [2]))),
        ["`a`", "[2, 3]", "square"],
    ),
    (
        "trmv of another length",
        |d| said(d.blas().trmv(Trmv::new(Uplo::Lower), &x(d, [3, 3]), x(d, [2]))),
        ["`x`", "2", "3"],
    ),
    (
        "gemm of matrices that do not fit",
        |d| said(d.blas().gemm(Gemm::new(), &x(d, [2, 3]), &x(d, [2, 4]), x(d, [2, 4]))),
        ["`b`", "2 x 4", "3 columns"],
    ),
    (
        "gemm into another matrix",
        |d| said(d.blas().gemm(Gemm::new(), &x(d, [2, 3]), &x(d, [3, 4]), x(d, [4, 2]))),
        ["`c`", "4 x 2", "2 x 4"],
    ),
    (
        "gemm of a buffer",
        |d| said(d.blas().gemm(Gemm::new(), &x(d, [6]), &x(d, [3, 4]), x(d, [2, 4]))),
        ["`a`", "[6]", "two axes"],
    ),
    (
        "gemm of other batches",
        |d| said(d.blas().gemm(Gemm::new(), &x(d, [5, 2, 3]), &x(d, [4, 3, 4]), x(d, [5, 2, 4]))),
        ["`b`", "4", "5"],
    ),
    (
        "gemm of every other column",
        |d| {
            let a = x(d, [2, 6]);
            said(d.blas().gemm(
                Gemm::new(),
                a.slice((.., windlass::tensor::AxisSlice::from(..).step(2))).unwrap(),
                &x(d, [3, 4]),
                x(d, [2, 4]),
            ))
        },
        ["`a`", "2 x 3", "`contiguous`"],
    ),
    (
        "gemm_batched of two lists",
        |d| {
            let (a, b) = (x(d, [2, 2]), x(d, [2, 2]));
            said(d.blas().gemm_batched(Gemm::new(), [&a, &a], [&b], [x(d, [2, 2]), x(d, [2, 2])]).map(drop))
        },
        ["`b`", "1", "2"],
    ),
    (
        "symm of another matrix",
        |d| said(d.blas().symm(Symm::new(Side::Left, Uplo::Lower), &x(d, [2, 2]), &x(d, [3, 3]), x(d, [3, 3]))),
        ["`a`", "2 x 2", "3 x 3"],
    ),
    (
        "syrk into another matrix",
        |d| said(d.blas().syrk(Syrk::new(Uplo::Lower), &x(d, [2, 3]), x(d, [3, 3]))),
        ["`c`", "3 x 3", "`a` of 2 x 3"],
    ),
    (
        "trsm of a triangle that is not square",
        |d| said(d.blas().trsm(Triangular::new(Side::Left, Uplo::Lower), &x(d, [3, 4]), x(d, [3, 3]))),
        ["`a`", "3 x 4", "3 x 3"],
    ),
    (
        "geam of other extents",
        |d| said(d.blas().geam(Geam::new(), &x(d, [3, 3]), &x(d, [4, 3]), x(d, [3, 3]))),
        ["`b`", "4 x 3", "3 x 3"],
    ),
    (
        "dgmm with another vector",
        |d| said(d.blas().dgmm(Side::Left, &x(d, [3, 3]), &x(d, [4]), x(d, [3, 3]))),
        ["`x`", "[4]", "[3]"],
    ),
    (
        "getrf by rows",
        |d| said(d.blas().getrf(x(d, [2, 2]), d.zeros::<i32>([2]).unwrap(), d.zeros::<i32>([]).unwrap())),
        ["`a`", "2 x 2", "`contiguous_columns`"],
    ),
    (
        "matmul of two batches",
        |d| said(d.matmul(&x(d, [2, 3, 4]), &x(d, [5, 4, 3]))),
        ["`b`", "[5, 4, 3]", "`a` has [2, 3, 4]"],
    ),
    ("matmul of two shapes", |d| said(d.matmul(&x(d, [2, 3]), &x(d, [4, 2]))), ["`b`", "[4, 2]", "3"]),
    (
        "blas_lt of two shapes",
        |d| said(d.blas_lt().matmul(Matmul::new(), &x(d, [2, 3]), &x(d, [2, 4]), x(d, [2, 4]))),
        ["`b`", "2 x 4", "2 x 3"],
    ),
    (
        "a bias of another length",
        |d| {
            let bias = x(d, [5]);
            said(
                d.blas_lt()
                    .matmul_with(
                        Matmul::new(),
                        Operands::new(&x(d, [2, 3]), &x(d, [3, 4])),
                        Epilogue::relu_bias(&bias),
                        x(d, [2, 4]),
                    )
                    .map(drop),
            )
        },
        ["`bias`", "5", "4"],
    ),
];

pub(super) const OF_SOLVER: &[Mistake] = &[
    ("solve with other rows", |d| said(d.solve(&x(d, [3, 3]), &x(d, [2])).map(drop)), ["`b`", "[2]", "[3, 3]: 3 rows"]),
    ("inverse of what is not square", |d| said(d.inverse(&x(d, [2, 3])).map(drop)), ["`a`", "2 x 3", "square"]),
    ("inverse of a singular matrix", |d| waited(d.inverse(&x(d, [2, 2]))), ["singular", "", ""]),
    ("solve of a singular matrix", |d| waited(d.solve(&x(d, [2, 2]), &x(d, [2]))), ["singular", "", ""]),
    ("lu of a vector", |d| said(d.solver().lu(&x(d, [3])).map(drop)), ["`a`", "[3]", "with_layout"]),
    (
        "cholesky of what is not square",
        |d| said(d.solver().cholesky(Uplo::Lower, &x(d, [2, 3])).map(drop)),
        ["`a`", "2 x 3", "square"],
    ),
    ("cholesky of zeros", |d| waited(d.solver().cholesky(Uplo::Lower, &x(d, [2, 2]))), ["positive definite", "1", ""]),
    ("eigh of what is not square", |d| said(d.eigh(Uplo::Lower, &x(d, [2, 3])).map(drop)), ["`a`", "2 x 3", "square"]),
    ("svd of a vector", |d| said(d.svd(Vectors::Thin, &x(d, [3])).map(drop)), ["`a`", "[3]", "with_layout"]),
    (
        "svd in no sweeps",
        |d| said(d.solver().svd_by(SvdMethod::Jacobi(Jacobi::new().sweeps(0)), Vectors::Thin, &x(d, [3, 2])).map(drop)),
        ["`sweeps`", "0", "at least one"],
    ),
    ("svd of a NaN", |d| waited(d.svd(Vectors::Thin, &d.full([2, 2], f32::NAN).unwrap())), ["not converge", "", ""]),
    (
        "lstsq with other rows",
        |d| said(d.solver().lstsq(None, &x(d, [4, 2]), &x(d, [3])).map(drop)),
        ["`b`", "[3]", "[4, 2]"],
    ),
    ("expm of what is not square", |d| said(d.expm(&x(d, [2, 3])).map(drop)), ["`a`", "[2, 3]", "square"]),
    (
        "solve_triangular with other rows",
        |d| said(d.solve_triangular(Uplo::Lower, &x(d, [3, 3]), &x(d, [2, 1]))),
        ["`b`", "[2, 1]", "[3, 3]"],
    ),
    (
        "a positive definite system that is not square",
        |d| said(d.solver().solve(Structure::PositiveDefinite(Uplo::Lower), &x(d, [2, 3]), &x(d, [2])).map(drop)),
        ["`a`", "2 x 3", "square"],
    ),
    (
        "a factor and other right sides",
        |d| {
            let lu = d.solver().lu(&d.eye::<f32>([3, 3], 0).unwrap().into_output()).unwrap().await_result().unwrap();
            said(lu.solve(&d.solver(), Transpose::No, &x(d, [4])))
        },
        ["`b`", "[4]", "[3, 3]"],
    ),
];

pub(super) const OF_TRANSFORMS: &[Mistake] = &[
    ("fft along no axis", |d| said(d.fft().fft(&z(d, [4]), &[1])), ["`axes`", "axis 1", "1 ax"]),
    ("fft along an axis twice", |d| said(d.fft().fft(&z(d, [4, 4]), &[0, -2])), ["`axes`", "axis 0", "twice"]),
    ("fft of no points", |d| said(d.fft().fft(&z(d, [4, 0]), &[1])), ["`x`", "0 points", "axis 1"]),
    (
        "c2c into another shape",
        |d| said(d.fft().c2c(&FftSpec::new(), &z(d, [4]), z(d, [5]))),
        ["`y`", "[5]", "not [4]"],
    ),
    ("r2c into as many", |d| said(d.fft().r2c(&FftSpec::new(), &x(d, [5]), z(d, [5]))), ["`y`", "[5]", "not [3]"]),
    (
        "irfft to another length",
        |d| said(d.fft().irfft(&z(d, [3]), 8, &[])),
        ["`n`", "8 points", "5 points, or of one less"],
    ),
    (
        "convolve into another shape",
        |d| said(d.fft().convolve(&Convolve::new(), &x(d, [8]), &x(d, [3]), x(d, [8]))),
        ["`y`", "[8]", "[10]"],
    ),
    (
        "stft with another window",
        |d| said(d.fft().stft(&Stft::new(8).hop(4), &x(d, [32]), &x(d, [7]), z(d, [7, 5]))),
        ["`window`", "7", "8"],
    ),
    ("stft of nothing", |_| said(Stft::new(0).frames(10)), ["`n`", "0", "at least"]),
    ("dct along no axis", |d| said(d.fft().dct(&x(d, [4]), &[2])), ["`axes`", "axis 2", "1 ax"]),
];

pub(super) const OF_RANDOM_NUMBERS: &[Mistake] = &[
    ("integers of an empty range", |d| said(d.rng(1).integers(5u8..5, [4])), ["`range`", "5..5", ""]),
    ("a probability above one", |d| said(d.rng(1).bernoulli(1.5, [4])), ["`p`", "1.5", "1"]),
    ("poisson of a negative rate", |d| said(d.rng(1).poisson(-1.0, [4])), ["`lambda`", "-1", "0"]),
    (
        "normal_each of two shapes",
        |d| said(d.rng(1).normal_each(&x(d, [3]), &x(d, [2]))),
        ["`deviation`", "[2]", "`mean` has [3]"],
    ),
    ("binomial of no probability", |d| said(d.rng(1).binomial(4, f64::NAN, [4])), ["`p`", "NaN", "1"]),
    ("exponential of a negative mean", |d| said(d.rng(1).exponential::<f32>(-1.0, [4])), ["`mean`", "-1", "negative"]),
    ("a choice of more than there are", |d| said(d.rng(1).choice(3, 4)), ["`count`", "4", "3"]),
    ("weights in a matrix", |d| said(d.rng(1).weighted_choice(&y(d, [2, 2]), 1)), ["`weights`", "[2, 2]", "vector"]),
    ("weights of nothing", |d| said(d.rng(1).weighted_choice(&y(d, [3]), 1)), ["`weights`", "all 3", "zero"]),
    ("shuffled along no axis", |d| said(d.rng(1).shuffled(&x(d, [3]), 1).map(drop)), ["`axis`", "1", "rank is 1"]),
    (
        "multinomial of negative weights",
        |d| {
            let weights = d.tensor([2], [-1.0f64, 2.0]).unwrap();
            said(d.rng(1).multinomial(5, &weights, 5))
        },
        ["`weights`", "-1", ""],
    ),
    (
        "a tensor of counts that is negative",
        |d| {
            let rates = d.tensor([2], [1.0f64, -1.0]).unwrap();
            waited(d.rng(1).poisson_each(&rates))
        },
        ["`lambda`", "element 1", "from 0 to"],
    ),
    (
        "places that are not there",
        |d| waited(d.gather_nd(&x(d, [2, 3]), i(d, [1, 5]).reshape([1, 2]).unwrap(), 0)),
        ["`indices`", "number 0", "[2, 3] elements"],
    ),
];
