//! Scalars in device memory, of every routine that takes them; and row-major order, of every form of the product. All in
//! small whole numbers, which every engine, type and order of sums computes exactly.

use crate::common::{Rng, Sample, devices, down, seeds, up};
use std::fmt::Debug;
use windlass::blas::{
    BlasElement, ComplexElement, Geam, GemmElement, Gemv, Her, Her2k, Herk, MixedElement, Scaled, Spec, Symm, Symv,
    Syr2, Syr2k, Syrk, Triangular,
};
use windlass::{Complex, Device, DeviceBuffer, Diag, Element, Gemm, In, Side, Transpose, Uplo, bf16, f16};

/// Random whole numbers, from -3 to 3.
pub(crate) trait Whole: Sample {
    fn whole(rng: &mut Rng) -> Self;
}

macro_rules! whole { ($($t:ty, |$part:ident| $of:expr;)*) => { $(
    impl Whole for $t {
        fn whole(rng: &mut Rng) -> Self {
            let mut $part = || rng.below(7) as f64 - 3.0;
            $of
        }
    }
)* } }
whole! {
    f32, |part| part() as f32;
    f64, |part| part();
    f16, |part| f16::from_f64(part());
    bf16, |part| bf16::from_f64(part());
    Complex<f32>, |part| Complex::new(part() as f32, part() as f32);
    Complex<f64>, |part| Complex::new(part(), part());
}

pub(crate) fn whole<T: Whole>(rng: &mut Rng, n: usize) -> Vec<T> {
    (0..n).map(|_| T::whole(rng)).collect()
}

/// Asserts that a call gives the same with its scalars in either place. Those that are not to be looked at are NaN.
#[track_caller]
fn agree<'a, S: Spec, R: PartialEq + Debug>(
    what: &str,
    [by_value, on_device]: [Scaled<'a, S>; 2],
    call: impl Fn(Scaled<'a, S>) -> R,
) {
    assert_eq!(call(on_device), call(by_value), "{what}");
}

/// A specification with both of its scalars by value, and in device memory.
macro_rules! both {
    ($spec:expr, $alpha:expr, $beta:expr) => {{
        let ((alpha, on_alpha), (beta, on_beta)) = ($alpha, $beta);
        let nan = $spec.alpha(Sample::NAN).beta(Sample::NAN);
        [Scaled::from($spec.alpha(alpha).beta(beta)), nan.scalars_at(on_alpha, on_beta)]
    }};
    ($spec:expr, $alpha:expr) => {{
        let (alpha, on_alpha) = $alpha;
        [Scaled::from($spec.alpha(alpha)), $spec.alpha(Sample::NAN).alpha_at(on_alpha)]
    }};
    ($spec:expr; $count:literal, $alpha:expr, $beta:expr) => {{
        let ((alpha, on_alpha), (beta, on_beta)) = ($alpha, $beta);
        let nan = $spec.alpha(Sample::NAN).beta(Sample::NAN).batch($count);
        [Scaled::from($spec.alpha(alpha).beta(beta).batch($count)), nan.scalars_at(on_alpha, on_beta)]
    }};
    ($spec:expr; $count:literal, $alpha:expr) => {{
        let (alpha, on_alpha) = $alpha;
        let nan = $spec.alpha(Sample::NAN).batch($count);
        [Scaled::from($spec.alpha(alpha).batch($count)), nan.alpha_at(on_alpha)]
    }};
}

/// The elements of what a submission gives.
macro_rules! got {
    ($device:expr, $pending:expr) => {
        $crate::common::down($device, &$pending.unwrap().await_result().unwrap())
    };
}
pub(crate) use got;

const N: usize = 5;

fn all<T: Whole + BlasElement>(device: &Device, rng: &mut Rng) {
    let blas = device.blas();
    let of = |rng: &mut Rng| whole::<T>(rng, 3 * N * N);
    let (a, b, c) = (up(device, of(rng)), up(device, of(rng)), of(rng));
    let (alpha, beta) = (T::whole(rng), T::whole(rng));
    let (on_alpha, on_beta) = (up(device, [alpha]), up(device, [beta]));
    let (alpha, beta) = ((alpha, &on_alpha), (beta, &on_beta));
    let (uplo, c) = (rng.pick(&[Uplo::Upper, Uplo::Lower]), || up(device, &c[..]));
    let side = rng.pick(&[Side::Left, Side::Right]);

    agree("symm", both!(Symm::new(side, uplo, N, N), alpha, beta), |s| got!(device, blas.symm(s, &a, &b, c())));
    agree("syrk", both!(Syrk::new(uplo, N, N), alpha, beta), |s| got!(device, blas.syrk(s, &a, c())));
    agree("syr2k", both!(Syr2k::new(uplo, N, N), alpha, beta), |s| got!(device, blas.syr2k(s, &a, &b, c())));
    agree("syrkx", both!(Syr2k::new(uplo, N, N), alpha, beta), |s| got!(device, blas.syrkx(s, &a, &b, c())));
    agree("geam", both!(Geam::new(N, N), alpha, beta), |s| got!(device, blas.geam(s, &a, &b, c())));
    agree("gemv", both!(Gemv::new(N, N), alpha, beta), |s| {
        got!(device, blas.gemv(s, &a, b.strided(N, 1), c().into_strided(N, 1)))
    });
    agree("symv", both!(Symv::new(N, uplo), alpha, beta), |s| {
        got!(device, blas.symv(s, &a, b.strided(N, 1), c().into_strided(N, 1)))
    });
    agree("gemv_strided_batched", both!(Gemv::new(N, N); 3, alpha, beta), |s| {
        got!(device, blas.gemv_strided_batched(s, &a, &b, c()))
    });
    agree("gemv_batched", both!(Gemv::new(N, N), alpha, beta), |s| {
        let (matrices, vectors) = ([a.as_in(), b.as_in()], [b.strided(N, 1), a.strided(N, 1)]);
        let y = vec![c().into_strided(N, 1), c().into_strided(N, 1)];
        each(device, blas.gemv_batched(s, &matrices, &vectors, y).unwrap().await_result().unwrap())
    });
    agree("syr2", both!(Syr2::new(N, uplo), alpha), |s| {
        got!(device, blas.syr2(s, a.strided(N, 1), b.strided(N, 1), c()))
    });

    // With ones on its diagonal the inverse of a triangle of whole numbers is one too.
    let spec = Triangular::new(side, uplo, N, N).diag(Diag::Unit).trans(Transpose::Yes);
    agree("trmm", both!(spec, alpha), |s| got!(device, blas.trmm(s, &a, c())));
    agree("trmm_into", both!(spec, alpha), |s| got!(device, blas.trmm_into(s, &a, &b, c())));
    agree("trsm", both!(spec, alpha), |s| got!(device, blas.trsm(s, &a, c())));
    agree("trsm_strided_batched", both!(spec; 3, alpha), |s| got!(device, blas.trsm_strided_batched(s, &a, c())));
}

fn complex<T: Whole + ComplexElement<Real = R>, R: Whole + BlasElement>(device: &Device, rng: &mut Rng) {
    let blas = device.blas();
    let of = |rng: &mut Rng| whole::<T>(rng, N * N);
    let (a, b, c) = (up(device, of(rng)), up(device, of(rng)), of(rng));
    let (alpha, beta, real_alpha, real_beta) = (T::whole(rng), T::whole(rng), R::whole(rng), R::whole(rng));
    let (on_alpha, on_beta) = (up(device, [alpha]), up(device, [beta]));
    let (on_real_alpha, on_real_beta) = (up(device, [real_alpha]), up(device, [real_beta]));
    let (alpha, beta) = ((alpha, &on_alpha), (beta, &on_beta));
    let (real_alpha, real_beta) = ((real_alpha, &on_real_alpha), (real_beta, &on_real_beta));
    let (uplo, c) = (rng.pick(&[Uplo::Upper, Uplo::Lower]), || up(device, &c[..]));

    agree("hemm", both!(Symm::new(Side::Right, uplo, N, N), alpha, beta), |s| got!(device, blas.hemm(s, &a, &b, c())));
    agree("hemv", both!(Symv::new(N, uplo), alpha, beta), |s| {
        got!(device, blas.hemv(s, &a, b.strided(N, 1), c().into_strided(N, 1)))
    });
    agree("herk", both!(Herk::<T>::new(uplo, N, N), real_alpha, real_beta), |s| got!(device, blas.herk(s, &a, c())));
    let twice = Her2k::<T>::new(uplo, N, N);
    agree("her2k", both!(twice, alpha, real_beta), |s| got!(device, blas.her2k(s, &a, &b, c())));
    // The caller knows that the product is Hermitian: A times itself is, with a real factor.
    let real = (T::real(2.0), &up(device, [T::real(2.0)]));
    agree("herkx", both!(twice, real, real_beta), |s| got!(device, blas.herkx(s, &a, &a, c())));
    // A zero factor by value writes nothing at all, not even the imaginary parts of the diagonal.
    let some = (T::real(-2.0), &up(device, [T::real(-2.0)]));
    agree("her2", both!(Syr2::<T>::new(N, uplo), some), |s| {
        got!(device, blas.her2(s, a.strided(N, 1), b.strided(N, 1), c()))
    });
    let some = (R::real(-2.0), &up(device, [R::real(-2.0)]));
    agree("her", both!(Her::<T>::new(N, uplo), some), |s| got!(device, blas.her(s, a.strided(N, 1), c())));
}

/// What each of a list of buffers holds.
fn each<T: Element>(device: &Device, all: Vec<DeviceBuffer<T>>) -> Vec<Vec<T>> {
    all.iter().map(|one| down(device, one)).collect()
}

/// The sizes of a product: sums of so few terms fit in a bf16.
const M: usize = 3;
const P: usize = 4;
const K: usize = 2;

/// A batch of factors in one buffer each, their parts as lists, and outputs.
struct Factors<T: Element> {
    a: DeviceBuffer<T>,
    b: DeviceBuffer<T>,
    on_host: [Vec<T>; 2],
}

impl<T: Whole> Factors<T> {
    fn new(device: &Device, rng: &mut Rng) -> Self {
        let on_host = [whole::<T>(rng, 2 * M * K), whole::<T>(rng, 2 * K * P)];
        let [a, b] = on_host.each_ref().map(|x| up(device, &x[..]));
        Factors { a, b, on_host }
    }

    fn lists(&self) -> [[In<'_, T>; 2]; 2] {
        [(&self.a, M * K), (&self.b, K * P)].map(|(x, n)| [0, 1].map(|i| x.as_in().slice(i * n..(i + 1) * n).unwrap()))
    }

    /// Both products with all matrices in row-major order.
    fn by_rows(&self) -> Vec<[f64; 2]> {
        let [a, b] = self.on_host.each_ref().map(|x| x.iter().map(|x| x.parts()).collect::<Vec<_>>());
        let mut all = Vec::new();
        for (at, i, j) in (0..2).flat_map(|at| (0..M).flat_map(move |i| (0..P).map(move |j| (at, i, j)))) {
            let terms = (0..K).map(|l| (a[at * M * K + i * K + l], b[at * K * P + l * P + j]));
            let sum = |sum: [f64; 2], ([re, im], [r, s]): ([f64; 2], [f64; 2])| {
                [sum[0] + re * r - im * s, sum[1] + re * s + im * r]
            };
            all.push(terms.fold([0.0; 2], sum));
        }
        all
    }
}

fn parts<T: Sample>(all: impl IntoIterator<Item = T>) -> Vec<[f64; 2]> {
    all.into_iter().map(|x| x.parts()).collect()
}

/// Every form of a product: with scalars by value and in device memory, and by rows.
macro_rules! forms {
    ($device:ident, $rng:ident, $t:ty => $out:ty, $s:ty; $gemm:ident, $strided:ident, $listed:ident, $grouped:ident) => {
        let (blas, factors) = ($device.blas(), Factors::<$t>::new($device, $rng));
        let old = whole::<$out>($rng, 2 * M * P);
        let (alpha, beta) = (<$s>::whole($rng), <$s>::whole($rng));
        let (on_alpha, on_beta) = (up($device, [alpha]), up($device, [beta]));
        let (alpha, beta) = ((alpha, &on_alpha), (beta, &on_beta));
        let (Factors { a, b, .. }, [list_a, list_b]) = (&factors, factors.lists());
        let c = || up($device, &old[..]);
        let lists = || old.chunks(M * P).map(|one| up($device, one)).collect::<Vec<_>>();
        let spec = Gemm::<$t>::new(M, P, K);
        agree(stringify!($gemm), both!(spec, alpha, beta), |s| got!($device, blas.$gemm(s, a, b, c())));
        agree(stringify!($strided), both!(spec; 2, alpha, beta), |s| got!($device, blas.$strided(s, a, b, c())));
        agree(stringify!($listed), both!(spec, alpha, beta), |s| {
            each($device, blas.$listed(s, &list_a, &list_b, lists()).unwrap().await_result().unwrap())
        });

        let (spec, want) = (spec.row_major(), factors.by_rows());
        assert_eq!(parts(got!($device, blas.$gemm(spec, a, b, c())))[..M * P], want[..M * P]);
        assert_eq!(parts(got!($device, blas.$strided(spec.batch(2), a, b, c()))), want);
        let listed = blas.$listed(spec, &list_a, &list_b, lists()).unwrap().await_result().unwrap();
        assert_eq!(parts(each($device, listed).concat()), want);
        // Two groups of one: as one call where the library has it.
        let grouped = blas.$grouped(&[(spec, 1), (spec, 1)], &list_a, &list_b, lists()).unwrap();
        assert_eq!(parts(each($device, grouped.await_result().unwrap()).concat()), want);
    };
}

fn products<T: Whole + GemmElement<Scalar = S, Out = T>, S: Whole>(device: &Device, rng: &mut Rng) {
    forms!(device, rng, T => T, S; gemm, gemm_strided_batched, gemm_batched, gemm_grouped);
}

fn mixed<T: Whole + MixedElement>(device: &Device, rng: &mut Rng) {
    forms!(device, rng, T => f32, f32; gemm_mixed, gemm_mixed_strided_batched, gemm_mixed_batched, gemm_mixed_grouped);
    // More than a half holds stays what it is.
    let large = up(device, [T::real(256.0); 8]);
    let list = [large.as_in()];
    let blas = device.blas();
    let c = blas.gemm_mixed_batched(Gemm::new(1, 1, 8), &list, &list, vec![device.uninit(1).unwrap()]).unwrap();
    assert_eq!(each(device, c.await_result().unwrap()), [[524_288.0]]);
}

#[test]
fn scalars_of_every_routine_may_lie_on_the_device() {
    for device in devices() {
        seeds(6, |rng, _| {
            all::<f32>(&device, rng);
            all::<f64>(&device, rng);
            all::<Complex<f32>>(&device, rng);
            all::<Complex<f64>>(&device, rng);
            complex::<Complex<f32>, f32>(&device, rng);
            complex::<Complex<f64>, f64>(&device, rng);
        });
    }
}

#[test]
fn scalars_and_rows_of_every_form_of_the_product() {
    for device in devices() {
        seeds(6, |rng, _| {
            products::<f32, f32>(&device, rng);
            products::<f64, f64>(&device, rng);
            products::<Complex<f32>, Complex<f32>>(&device, rng);
            products::<Complex<f64>, Complex<f64>>(&device, rng);
            products::<f16, f32>(&device, rng);
            products::<bf16, f32>(&device, rng);
            mixed::<f16>(&device, rng);
            mixed::<bf16>(&device, rng);
        });
    }
}
